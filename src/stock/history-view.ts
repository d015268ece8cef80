/** Shows the history as rows: for people as a table, with names from the catalog. */
import { stringifyJson } from '../api/json.ts';
import type { Names } from '../session/open-catalog.ts';
import type { HistoryFilter } from '../state/history.ts';
import type { Change, Journal } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import type { Column, RowsView, ChartLine, ChartView } from '../view/view.ts';

/** Columns of the table: 80 columns only have room for what differs from row to row. */
interface Table {
  readonly journal: Journal;
  readonly filter: HistoryFilter;
  readonly names: Names;
}

/** @param table undefined in formats for programs, which have all columns and no names */
export function historyView(
  rows: RowsView<Change>['rows'],
  now: number,
  { table, empty = '' }: { readonly table?: Table; readonly empty?: string } = {},
): RowsView<Change> {
  const timeOf = (at: number): string => (table === undefined ? new Date(at).toISOString() : clockTime(at, now));
  const hasNames = table !== undefined && table.names.size > 0;
  const hidden: readonly string[] = table?.journal.uniform(table.filter, ['who', 'environment', 'cause', 'note']) ?? [];
  // On a narrow terminal, these make room for the names.
  const yielding: readonly string[] = hasNames ? table.journal.uniform(table.filter, ['run', 'outcome']) : [];
  const columns: Readonly<Record<string, Column<Change>['cell']>> = {
    change: ({ id }) => id,
    run: ({ run }) => run ?? '',
    when: ({ sentAt }) => (sentAt === undefined ? '' : timeOf(sentAt)),
    who: ({ person }) => person,
    environment: ({ environment }) => environment,
    petId: ({ petId }) => petId,
    ...(hasNames && { name: ({ origin, petId }: Change) => table.names.get(origin)?.get(petId) ?? '' }),
    before: ({ before }) => before ?? '',
    after: ({ after }) => after,
    outcome: ({ state }) => outcomeOf(state),
    cause: ({ cause = '' }) => cause,
    note: ({ note = '' }) => note,
    command: ({ command }) => commandWords(command),
  };
  const yieldsOf = (name: string): Pick<Column<Change>, 'yields'> => {
    if (name === 'name') return { yields: Number.POSITIVE_INFINITY };
    if (name === 'note') return { yields: -1 };
    return yielding.includes(name) ? { yields: yielding.indexOf(name) } : {};
  };
  return {
    view: 'rows',
    columns: Object.entries(columns)
      .filter(([name]) => !hidden.includes(name))
      .map(([name, cell]) => ({ name, cell, ...yieldsOf(name) })),
    rows,
    jsonText,
    header: true,
    empty,
  };
}

/** Returns the change as one line of JSON, in a third of the time that an object takes. */
function jsonText(change: Change): string {
  const { id, sentAt, person, environment, petId, before = null, after, state, command, run } = change;
  const { reason = null, cause = null, note = null } = change;
  const at = sentAt === undefined ? null : new Date(sentAt).toISOString();
  return (
    `{"change":${id},"when":${stringifyJson(at)},"who":${stringifyJson(person)},` +
    `"environment":${stringifyJson(environment)},"petId":${petId},"before":${before},"after":${after},` +
    `"outcome":"${outcomeOf(state)}","reason":${stringifyJson(reason)},"cause":${stringifyJson(cause)},` +
    `"note":${stringifyJson(note)},"command":${stringifyJson(command)},` +
    `"run":${run ?? null}}`
  );
}

/** Shortens a command to `count` or `import stock.csv`; JSON has the whole path. */
export function commandWords(command: string): string {
  return command.replace(/^inventory /, '').replace(/ (?!-)(?:(?:[A-Za-z]:|\\\\).*[\\/]|.*\/)/, ' ');
}

/** Returns the outcome: `unknown` for a change whose process was killed after sending it. */
function outcomeOf(state: Change['state']): string {
  return state === 'sent' ? 'unknown' : state;
}

interface Options {
  readonly names: Names;
  /** Epoch ms. */
  readonly now: number;
  /** Shown instead of a chart without lines. */
  readonly empty: string;
}

/**
 * Returns a chart of one pet's changes, newest first, each with the quantity after it. A change that may not have been
 * applied has no bar. Each service has its own section, because the same id is another pet there. `failed`: how many
 * changes failed; they have no line.
 */
export function quantityChart(
  changes: Iterable<readonly Change[]>,
  { names, now, empty }: Options,
): ChartView & { readonly failed: number } {
  const services = new Map<string, { readonly first: Change; readonly lines: ChartLine[] }>();
  let failed = 0;
  for (const batch of changes) {
    for (const change of batch) {
      if (change.state === 'failed') {
        failed++;
        continue;
      }
      const key = `${change.environment} ${change.origin}`;
      const service = services.get(key) ?? { first: change, lines: [] };
      services.set(key, service);
      service.lines.push(lineOf(change));
    }
  }
  const all = [...services.values()];
  const sections = all.map(({ first, lines }) => {
    const { environment, origin, petId } = first;
    const name = names.get(origin)?.get(petId) ?? '';
    const isAmbiguous = all.some((other) => other.first !== first && other.first.environment === environment);
    const title = `Pet ${petId}${name === '' ? '' : ` (${name})`} in ${environment}${isAmbiguous ? `, ${origin}` : ''}`;
    return { title, lines: lines.toReversed() };
  });
  return { view: 'chart', sections, now, empty: failed === 0 ? empty : 'None of these changes was applied.', failed };
}

function lineOf({ after, sentAt = 0, state }: Change): ChartLine {
  return { at: sentAt, value: after, ...(state !== 'applied' && { note: outcomeOf(state) }) };
}
