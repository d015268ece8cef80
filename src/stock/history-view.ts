/** The history as rows: for people a table, with names where a catalog has them. */
import { stringifyJson } from '../api/json.ts';
import type { Names } from '../session/open-catalog.ts';
import type { HistoryFilter } from '../state/history.ts';
import type { Change, Journal } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import type { Column, RowsView, ChartLine, ChartView } from '../view/view.ts';

/** What a table shows: on a screen of 80 columns, room is for what differs from row to row. */
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
  // They make room for the names where the terminal is narrow.
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

/** Returns the change as one line of JSON: for a million of them a third of the time that an object takes. */
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

/** `count`, `import stock.csv`: of a file the name alone, the path is in JSON. */
export function commandWords(command: string): string {
  return command.replace(/^inventory /, '').replace(/ (?!-)(?:(?:[A-Za-z]:|\\\\).*[\\/]|.*\/)/, ' ');
}

/** Returns `unknown` for a change that was sent and got no outcome, because its process was killed. */
function outcomeOf(state: Change['state']): string {
  return state === 'sent' ? 'unknown' : state;
}

interface Options {
  readonly names: Names;
  /** Epoch ms. */
  readonly now: number;
  /** Of a chart without lines. */
  readonly empty: string;
}

/**
 * Returns a chart of changes of one pet, newest first, each line with what was there after the change. Where it is not
 * certain that a change was applied, the line has no bar. Each service has a section of its own: in another one, the
 * same id is another pet. `failed`: how many changes failed; they have no line.
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
