import { list, type RecordView, type RowsView, type View } from '../view/view.ts';
import { defineCommand, flag, option, optionalArgument, under } from '../cli/command.ts';
import { integerValue, textValue } from '../cli/values.ts';
import type { CommandContext } from '../session/globals.ts';

export const inventoryImport = defineCommand({
  path: 'inventory import',
  summary: 'Set the stock of many pets from a file',
  description:
    'Reads CSV (petId, quantity and, as a guard, current; any order, any delimiter) or JSON (an array, or one object ' +
    'a line). All rows are checked, then compared with the present stock: only what differs is sent, within the ' +
    "key's allowance. Every row is journaled before it is sent, so that a run that was stopped, by Ctrl-C, a power " +
    'cut or a spent allowance, goes on with --resume, and no row is sent again that was acknowledged.',
  examples: [
    { says: 'What would change', command: 'petstore inventory import stock.csv --dry-run' },
    { says: 'A delivery', command: 'petstore inventory import delivery.csv' },
    { says: 'Ten thousand rows, for as long as it takes', command: 'petstore inventory import stock.csv --wait --yes' },
    { says: 'What was left unfinished', command: 'petstore inventory import --resume --wait' },
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
      journal: option('--journal <file>', textValue, 'keep the journal there in place of the state folder'),
    }),
    ...under('After a stop', {
      resume: option(
        '--resume [run]',
        integerValue,
        'go on with a run that was stopped; the newest, unless its number is given',
        { conflicts: ['dryRun', 'status'] },
      ),
      status: flag('--status', 'list the runs that were stopped', { conflicts: ['dryRun', 'events'] }),
    }),
  },
  experimental: true,
  more: ['environments', 'rate-limits', 'exit-codes'],
  async run(input, context): Promise<View> {
    const bulk = await import('../bulk/import.ts');
    if (input.status === true) return unfinished(await bulk.unfinishedRuns(context, input.journal), context);
    if (input.dryRun === true) return bulk.dryRun(context, input);
    const work = (onOutcome?: Parameters<typeof bulk.runImport>[2]): Promise<RecordView> =>
      input.resume === undefined
        ? bulk.runImport(context, input, onOutcome)
        : bulk.resumeImport(context, input, onOutcome);
    if (input.events !== true) return work();
    const { eventsView } = await import('../bulk/events.ts');
    return eventsView(work);
  },
});

interface RunRow {
  readonly run: bigint;
  readonly kind: string;
  readonly environment: string;
  readonly started: string;
  readonly source: string;
  readonly left: number;
}

function unfinished(rows: readonly RunRow[], _context: CommandContext): RowsView<RunRow> {
  return list(
    rows,
    {
      run: ({ run }) => run,
      kind: ({ kind }) => kind,
      environment: ({ environment }) => environment,
      started: ({ started }) => started,
      source: ({ source }) => source,
      left: ({ left }) => left,
    },
    { empty: 'No run was left unfinished.' },
  );
}
