/** The history as rows: for people a table, with names where a catalog has them. */
import { stringifyJson } from '../api/json.ts';
import type { Names } from '../session/catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import type { HistoryFilter } from '../state/history.ts';
import type { Change, Journal } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import type { Column, RowsView, ChartLine, ChartView } from '../view/view.ts';

/** Decides which columns a table has. */
interface Layout {
  /** Columns to leave out. */
  readonly hidden?: readonly string[];
  readonly names?: Names;
  /** Columns that make room for the names where the terminal is narrow. */
  readonly yielding?: readonly string[];
}

/** Returns the columns that tell the rows apart: on a screen of 80 columns, room is for what differs from row to row. */
export function layoutOf(journal: Journal, filter: HistoryFilter, names: Names): Layout {
  const hidden = journal.uniform(filter, ['who', 'environment']);
  return names.size === 0 ? { hidden } : { hidden, names, yielding: journal.uniform(filter, ['run', 'outcome']) };
}

export function historyView(
  rows: RowsView<Change>['rows'],
  { clock, globals }: CommandContext,
  { hidden = [], names, yielding = [] }: Layout = {},
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
    ...(names === undefined ? [] : [nameColumn(names)]),
    { name: 'before', cell: ({ before }) => before ?? '' },
    { name: 'after', cell: ({ after }) => after },
    { name: 'outcome', cell: ({ state }) => outcomeOf(state) },
    { name: 'command', cell: ({ command }) => commandWords(command) },
  ];
  return {
    view: 'rows',
    columns: columns
      .filter(({ name }) => !hidden.includes(name))
      .map((column) =>
        yielding.includes(column.name) ? { ...column, yields: yielding.indexOf(column.name) } : column,
      ),
    rows,
    jsonText,
    header: true,
    empty: '',
  };
}

function nameColumn(names: Names): Column<Change> {
  return {
    name: 'name',
    cell: ({ origin, petId }) => names.get(origin)?.get(petId) ?? '',
    yields: Number.POSITIVE_INFINITY,
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
