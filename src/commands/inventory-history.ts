import type { JsonValue } from '../api/json.ts';
import { defineCommand, flag, option, optionalArgument } from '../cli/command.ts';
import { countValue, integerValue, listOf, petIdValue, textValue } from '../cli/values.ts';
import type { CommandContext } from '../session/globals.ts';
import type { Change } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import type { Column, RecordView, RowsView } from '../view/view.ts';

export const inventoryHistory = defineCommand({
  path: 'inventory history',
  common: 'environment',
  summary: 'Show changes made from this machine',
  description:
    'Shows every write that petstore sent from this machine for this user, newest first, without a request. ' +
    'Changes made elsewhere are not included.',
  examples: [
    { says: 'The newest fifty', command: 'petstore inventory history' },
    { says: 'All about one pet', command: 'petstore inventory history --pet 7 --limit 1000' },
    { says: 'For a spreadsheet', command: 'petstore inventory history -o csv > history.csv' },
  ],
  options: {
    pet: option('--pet <id...>', listOf(petIdValue), 'only these pets'),
    import: option('--import <run>', integerValue, 'only this run'),
    limit: option('--limit <count>', countValue(1), 'number of changes to show', { default: 50 }),
    journal: option('--journal <file>', textValue, 'read another journal file'),
  },
  more: ['output', 'exit-codes'],
  async run({ pet, import: run, limit, journal: path }, context) {
    const { withJournal } = await import('../bulk/open-journal.ts');
    const { env } = context.globals;
    const changes = await withJournal(context, path, (journal) =>
      journal.history({ limit, pet, run, environment: env }),
    );
    return historyView(changes, context);
  },
});

function historyView(changes: readonly Change[], { clock, globals }: CommandContext): RowsView<Change> {
  const now = clock.now();
  const when = (at: number | undefined): string =>
    at === undefined ? '' : globals.output === 'table' ? clockTime(at, now) : new Date(at).toISOString();
  // On a screen of 80 columns what is the same in every row takes the room of what is not.
  const isMixed = new Set(changes.map(({ environment }) => environment)).size > 1 || globals.output === 'csv';
  const environment: Column<Change> = { name: 'environment', cell: (change) => change.environment };
  return {
    view: 'rows',
    columns: [
      { name: 'change', cell: ({ id }) => id },
      { name: 'when', cell: ({ sentAt }) => when(sentAt) },
      { name: 'who', cell: ({ person }) => person },
      ...(isMixed ? [environment] : []),
      { name: 'petId', cell: ({ petId }) => petId },
      { name: 'before', cell: ({ before }) => before ?? '' },
      { name: 'after', cell: ({ after }) => after },
      { name: 'outcome', cell: ({ state }) => outcomeOf(state) },
      { name: 'command', cell: ({ command, run }) => commandWords(command, run) },
    ],
    rows: [changes],
    json: (change) =>
      new Map<string, JsonValue>([
        ['change', change.id],
        ['when', change.sentAt === undefined ? null : new Date(change.sentAt).toISOString()],
        ['who', change.person],
        ['environment', change.environment],
        ['petId', change.petId],
        ['before', change.before ?? null],
        ['after', change.after],
        ['outcome', outcomeOf(change.state)],
        ['reason', change.reason ?? null],
        ['command', change.command],
        ['run', change.run ?? null],
      ]),
    header: true,
    empty: 'This machine has changed nothing yet.',
  };
}

/** `count (run 1)`, `import stock.csv (run 2)`: that it is about the inventory goes without saying. */
function commandWords(command: string, run: bigint | undefined): string {
  // Of a file the name alone: the way to it is in JSON.
  const words = command.replace(/^inventory /, '').replace(/ \S*\//, ' ');
  return run === undefined ? words : `${words} (run ${run})`;
}

/** What was sent and never settled: its process was killed. */
function outcomeOf(state: Change['state']): string {
  return state === 'sent' ? 'unknown' : state;
}

export const inventoryUndo = defineCommand({
  path: 'inventory undo',
  summary: 'Undo changes made from this machine',
  description:
    'Sets a pet to its quantity before a change, or all pets of a run. Pets changed by someone else since are reported ' +
    'as conflicts and skipped.',
  examples: [
    { says: 'The last change', command: 'petstore inventory undo --last' },
    { says: 'One that the history shows', command: 'petstore inventory undo 12' },
    { says: 'A whole import', command: 'petstore inventory undo --import 3' },
  ],
  arguments: { changeId: optionalArgument(integerValue, 'number of the change') },
  options: {
    last: flag('--last', 'the last change'),
    import: option('--import <run>', integerValue, 'all changes of a run', { conflicts: ['last'] }),
  },
  experimental: true,
  more: ['output', 'exit-codes'],
  async run(input, context): Promise<RecordView> {
    const { undo } = await import('../bulk/undo.ts');
    return undo(context, input);
  },
});
