import { defineCommand, flag, option } from '../cli/command.ts';
import { countValue, instantValue, listOf, nameValue, numberValue, petIdValue, wordValue } from '../value-parsers.ts';
import { usageFailure } from '../errors.ts';
import type { CommandContext } from '../session/globals.ts';
import { namedEnvironment } from '../session/resolve.ts';
import type { HistoryFilter } from '../state/history.ts';
import { CAUSES, type Journal } from '../state/journal.ts';
import { historyView, quantityChart, SUMS, sumsView } from '../stock/history-view.ts';
import { openJournal, requireProfile } from '../stock/open-journal.ts';
import { FORMAT_FACTS, type View } from '../view/view.ts';

export const inventoryHistory = defineCommand({
  path: 'inventory history',
  common: 'environment',
  summary: 'Show changes made from this machine',
  description:
    'Shows the writes that petstore sent from this machine for this user, newest first, without a request. Changes ' +
    'made elsewhere are not included. If --env, PETSTORE_ENV, a profile or the config names an environment, only ' +
    'its changes are shown; --all-environments shows all. The table has names from the catalog; on a narrow ' +
    'terminal, it omits the outcome if all changes were applied. --chart draws a bar for the quantity after each ' +
    'change, oldest first, but none for a change that may not have been applied. --by sums up the applied changes: ' +
    'how many, plus, minus and net.',
  examples: {
    'The newest fifty': 'petstore inventory history',
    'All about one pet': 'petstore inventory history --pet 7 --limit 1000',
    'The last 24 hours': 'petstore inventory history --since 1d',
    'The quantity of one pet as bars': 'petstore inventory history --pet 7 --chart',
    'One run': 'petstore inventory history --run 3',
    'What died in the last 30 days': 'petstore inventory history --cause died --since 30d --by pet',
    'Each day, by sums': 'petstore inventory history --by day',
    'For a spreadsheet': 'petstore inventory history -o csv > history.csv',
  },
  options: {
    pet: option('--pet <id...>', listOf(petIdValue), 'only these pets'),
    run: option('--run <run>', numberValue, 'only this run, in any environment'),
    cause: option('--cause <cause>', wordValue(CAUSES), `only this cause: ${CAUSES.join(', ')}`),
    person: option('--person <name>', nameValue, 'only changes of this person'),
    since: option('--since <time>', instantValue('its start'), 'from this time: 2026-03-01, 2026-03-01T14:00, 2h, 7d'),
    until: option('--until <time>', instantValue('its end'), 'until this time; a date includes its whole day'),
    limit: option('-n, --limit <count>', countValue(1), 'number of rows to show', {
      shownDefault: '50; with --by, all',
    }),
    by: option('--by <what>', wordValue(SUMS), `sum up by ${SUMS.join(', ')}`, { conflicts: ['chart'] }),
    allEnvironments: flag('--all-environments', 'changes of every environment'),
    chart: flag('--chart', 'draw the quantity of one pet after each change', { needs: 'pet' }),
  },
  async run({ pet, run, cause, person, since, until, limit, by, allEnvironments, chart }, context): Promise<View> {
    if (chart === true) requireOnePet(pet, context);
    const now = context.clock.now();
    const instants = { since: since?.(now), until: until?.(now) };
    if (Number(instants.since) >= Number(instants.until)) throw usageFailure('--since must be before --until.');
    const isMixed = allEnvironments === true || run !== undefined;
    const environment = isMixed ? undefined : namedEnvironment(await context.settings());
    const isSum = by !== undefined;
    const rows = limit ?? (isSum ? EVERY : 50);
    const filter = { run, cause, person, pet, environment, ...instants, limit: isSum ? EVERY : rows, isNet: isSum };
    const { isForPeople } = FORMAT_FACTS[context.globals.output];
    // Stays open: the rows are read as they are printed.
    const journal = await openJournal(context);
    if (environment !== undefined) await requireProfile(context, journal);
    if (!isForPeople && !isSum) return historyView(journal.history(filter));
    const uniform = journal.uniform(filter);
    const [[newest] = []] = journal.history({ ...filter, limit: 1 });
    if (environment === undefined && newest?.environment === 'sandbox' && uniform.includes('environment'))
      context.notices.info('These changes were made in the sandbox.');
    const empty = emptyText(journal, filter);
    if (isSum) return sumsView(journal.history(filter), { by, isForPeople, limit: rows }, context.notices, empty);
    if (chart !== true) return historyView(journal.history(filter), { uniform, empty });
    return quantityChart([...journal.history(filter)].flat(), empty);
  },
});

/** @throws {Failure} `usage` */
function requireOnePet(pets: readonly bigint[] = [], { globals }: CommandContext): void {
  if (!FORMAT_FACTS[globals.output].isForPeople) {
    throw usageFailure(
      `--chart cannot be used with ${globals.output}, which is for programs.`,
      'Add -o table, or leave out --chart.',
    );
  }
  const count = new Set(pets).size;
  if (count !== 1) {
    throw usageFailure(
      `--chart draws one pet, and --pet names ${count}.`,
      'Name one pet: petstore inventory history --pet 7 --chart',
    );
  }
}

const EVERY = Number.MAX_SAFE_INTEGER;

function emptyText(journal: Journal, { environment }: HistoryFilter): string {
  if ([...journal.history({ limit: 1 })].flat().length === 0) return 'This machine has not changed any stock yet.';
  if (environment === undefined) return 'No change matches.';
  return `No change in ${environment} matches. To see other environments, add --all-environments.`;
}
