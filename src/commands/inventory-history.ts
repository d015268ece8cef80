import { stringifyJson } from '../api/json.ts';
import { defineCommand, flag, option } from '../cli/command.ts';
import { countValue, instantValue, integerValue, listOf, petIdValue, textValue } from '../cli/values.ts';
import type { CommandContext } from '../session/globals.ts';
import { namedEnvironment } from '../session/resolve.ts';
import type { Change } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import type { Column, RowsView } from '../view/view.ts';

export const inventoryHistory = defineCommand({
  path: 'inventory history',
  common: 'environment',
  summary: 'Show changes made from this machine',
  description:
    'Shows the writes that petstore sent from this machine for this user, newest first, without a request. ' +
    'Changes made elsewhere are not included. Where --env, PETSTORE_ENV or the config names an environment, only its ' +
    'changes are shown; --all-environments shows all of them.',
  examples: [
    { says: 'The newest fifty', command: 'petstore inventory history' },
    { says: 'All about one pet', command: 'petstore inventory history --pet 7 --limit 1000' },
    { says: 'Since yesterday', command: 'petstore inventory history --since 1d' },
    { says: 'One run', command: 'petstore inventory history --run 3' },
    { says: 'For a spreadsheet', command: 'petstore inventory history -o csv > history.csv' },
  ],
  options: {
    pet: option('--pet <id...>', listOf(petIdValue), 'only these pets'),
    run: option('--run <run>', integerValue, 'only this run, in whichever environment it was', {
      conflicts: ['import'],
    }),
    import: option('--import <run>', integerValue, 'same as --run'),
    since: option(
      '--since <time>',
      instantValue('its start'),
      'from this time on: 2026-03-01, 2026-03-01T14:00, 2h, 7d',
    ),
    until: option('--until <time>', instantValue('its end'), 'until this time; a date includes its whole day'),
    limit: option('-n, --limit <count>', countValue(1), 'number of changes to show', { default: 50 }),
    allEnvironments: flag('--all-environments', 'changes of every environment'),
    journal: option('--journal <file>', textValue, 'read another journal file'),
  },
  more: ['output', 'exit-codes'],
  async run({ pet, run, import: sameAsRun, since, until, limit, allEnvironments, journal: path }, context) {
    const { readJournal, withJournal } = await import('../bulk/open-journal.ts');
    const now = context.clock.now();
    const number = run ?? sameAsRun;
    const isMixed = allEnvironments === true || number !== undefined;
    const environment = isMixed ? undefined : namedEnvironment(await context.settings());
    const filter = { limit, pet, run: number, environment, since: since?.(now), until: until?.(now) };
    const rows = readJournal(context, path, (journal) => journal.history(filter));
    if (context.globals.output !== 'table') return historyView(rows, context);
    // On a screen of 80 columns, room is for what differs from row to row.
    return withJournal(context, path, (journal) => ({
      ...historyView(rows, context, journal.uniform(filter)),
      empty: journal.hasSent() ? emptyText(environment) : 'This machine has not changed any stock yet.',
    }));
  },
});

function emptyText(environment: string | undefined): string {
  if (environment === undefined) return 'No change matches.';
  return `No change in ${environment} matches. To see other environments, add --all-environments.`;
}

/** @param hidden columns to leave out */
function historyView(
  rows: RowsView<Change>['rows'],
  { clock, globals }: CommandContext,
  hidden: readonly string[] = [],
): RowsView<Change> {
  const now = clock.now();
  const when = (at: number | undefined): string =>
    at === undefined ? '' : globals.output === 'table' ? clockTime(at, now) : new Date(at).toISOString();
  const columns: readonly Column<Change>[] = [
    { name: 'change', cell: ({ id }) => id },
    { name: 'run', cell: ({ run }) => run ?? '' },
    { name: 'when', cell: ({ sentAt }) => when(sentAt) },
    { name: 'who', cell: ({ person }) => person },
    { name: 'environment', cell: ({ environment }) => environment },
    { name: 'petId', cell: ({ petId }) => petId },
    { name: 'before', cell: ({ before }) => before ?? '' },
    { name: 'after', cell: ({ after }) => after },
    { name: 'outcome', cell: ({ state }) => outcomeOf(state) },
    { name: 'command', cell: ({ command }) => commandWords(command) },
  ];
  return {
    view: 'rows',
    columns: columns.filter(({ name }) => !hidden.includes(name)),
    rows,
    jsonText,
    header: true,
    empty: '',
  };
}

/** Returns the change as one line of JSON: for a million of them a third of the time that an object takes. */
function jsonText(change: Change): string {
  const { id, sentAt, person, environment, petId, before = null, after, state, reason = null, command, run } = change;
  const at = sentAt === undefined ? null : new Date(sentAt).toISOString();
  return (
    `{"change":${id},"when":${stringifyJson(at)},"who":${stringifyJson(person)},` +
    `"environment":${stringifyJson(environment)},"petId":${petId},"before":${before},"after":${after},` +
    `"outcome":"${outcomeOf(state)}","reason":${stringifyJson(reason)},"command":${stringifyJson(command)},` +
    `"run":${run ?? null}}`
  );
}

/** `count`, `import stock.csv`: of a file the name alone, the path is in JSON. */
function commandWords(command: string): string {
  return command.replace(/^inventory /, '').replace(/ \S*\//, ' ');
}

/** Returns `unknown` for a change that was sent and got no outcome, because its process was killed. */
function outcomeOf(state: Change['state']): string {
  return state === 'sent' ? 'unknown' : state;
}
