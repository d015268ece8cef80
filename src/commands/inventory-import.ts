import type { RecordView, View } from '../view/view.ts';
import { defineCommand, flag, option, optionalArgument, under } from '../cli/command.ts';
import { integerValue, textValue } from '../cli/values.ts';

export const inventoryImport = defineCommand({
  path: 'inventory import',
  summary: 'Set the stock of many pets from a file',
  description:
    'Reads CSV (columns petId, quantity and optionally current; any order, any delimiter) or JSON (an array, or one ' +
    'object per line). All rows are checked, then compared with the current stock, and only what differs is sent. ' +
    'Each row is recorded before it is sent, so an interrupted import continues with "inventory runs resume", and no acknowledged ' +
    'row is sent twice.',
  examples: [
    { says: 'What would change', command: 'petstore inventory import stock.csv --dry-run' },
    { says: 'A delivery', command: 'petstore inventory import delivery.csv' },
    {
      says: 'Ten thousand rows, waiting as often as needed',
      command: 'petstore inventory import stock.csv --wait --yes',
    },
    { says: 'Continue what was interrupted', command: 'petstore inventory runs resume --wait' },
  ],
  arguments: { file: optionalArgument(textValue, 'CSV or JSON; - for stdin') },
  options: {
    ...under('Before', {
      dryRun: flag('--dry-run', 'show what would change and send nothing'),
      exitCode: flag('--exit-code', 'with --dry-run: exit 13 if anything would change, or a row cannot be applied'),
      allowNegative: flag('--allow-negative', 'allow quantities below zero'),
    }),
    ...under('While it runs', {
      events: flag('--events', 'print one JSON object for each row as it is done, and one at the end'),
      journal: option('--journal <file>', textValue, 'keep the journal in this file instead of the state folder'),
    }),
    ...under('After a stop', {
      resume: option('--resume [run]', integerValue, 'same as: petstore inventory runs resume [run]', {
        conflicts: ['dryRun', 'status'],
      }),
      status: flag('--status', 'list unfinished runs; all of them: petstore inventory runs', {
        conflicts: ['dryRun', 'events'],
      }),
    }),
  },
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<View> {
    const bulk = await import('../bulk/import.ts');
    const runs = await import('../bulk/runs.ts');
    if (input.status === true) return runs.listRuns(context, input.journal, { isUnfinished: true });
    if (input.dryRun === true) return bulk.dryRun(context, input);
    const work = (onOutcome?: Parameters<typeof bulk.runImport>[2]): Promise<RecordView> =>
      input.resume === undefined
        ? bulk.runImport(context, input, onOutcome)
        : runs.resumeStopped(context, input, onOutcome);
    if (input.events !== true) return work();
    const { eventsView } = await import('../bulk/events.ts');
    return eventsView(work);
  },
});
