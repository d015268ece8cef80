/** Shows the history as rows: for people as a table, with names from the catalog. */
import { stringifyJson } from '../api/json.ts';
import type { Names } from '../session/open-catalog.ts';
import type { HistoryFilter } from '../state/history.ts';
import type { Change, Journal } from '../state/journal.ts';
import { outcomeOf } from '../state/journal-rows.ts';
import { type Column, list, type RowsView } from '../view/view.ts';

/** Columns of the table: 80 columns only have room for what differs from row to row. */
interface Table {
  readonly journal: Journal;
  readonly filter: HistoryFilter;
  readonly names: Names;
}

/** @param table undefined in formats for programs, which have all columns and no names */
export function historyView(
  rows: RowsView<Change>['rows'],
  { table, empty = '' }: { readonly table?: Table; readonly empty?: string } = {},
): RowsView<Change> {
  const hasNames = table !== undefined && table.names.size > 0;
  const hidden: readonly string[] = table?.journal.uniform(table.filter, ['who', 'environment', 'cause', 'note']) ?? [];
  // On a narrow terminal, these make room for the names.
  const yielding: readonly string[] = hasNames ? table.journal.uniform(table.filter, ['run', 'outcome']) : [];
  const columns: Readonly<Record<string, Column<Change>['cell']>> = {
    change: ({ id }) => id,
    run: ({ run }) => run ?? '',
    when: ({ sentAt }) => (sentAt === undefined ? '' : new Date(sentAt)),
    who: ({ person }) => person,
    environment: ({ environment }) => environment,
    petId: ({ petId }) => petId,
    ...(hasNames && { name: ({ origin, petId }: Change) => table.names.get(origin)?.get(petId) ?? '' }),
    before: ({ before }) => before ?? '',
    after: ({ after }) => after,
    outcome: outcomeOf,
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
  const { id, sentAt, person, environment, petId, before = null, after, command, run } = change;
  const { reason = null, cause = null, note = null } = change;
  const at = sentAt === undefined ? null : new Date(sentAt).toISOString();
  return (
    `{"change":${id},"when":${stringifyJson(at)},"who":${stringifyJson(person)},` +
    `"environment":${stringifyJson(environment)},"petId":${petId},"before":${before},"after":${after},` +
    `"outcome":"${outcomeOf(change)}","reason":${stringifyJson(reason)},"cause":${stringifyJson(cause)},` +
    `"note":${stringifyJson(note)},"command":${stringifyJson(command)},` +
    `"run":${run ?? null}}`
  );
}

/** Shortens a command to `count` or `import stock.csv`; JSON has the whole path. */
export function commandWords(command: string): string {
  return command.replace(/^inventory /, '').replace(/ (?!-)(?:(?:[A-Za-z]:|\\\\).*[\\/]|.*\/)/, ' ');
}

/**
 * Returns a chart of one pet's changes, oldest first: each with the quantity after it, and a bar unless it may not have
 * been applied. Changes that failed are left out. Each service has its own scale, because the same id is another pet
 * there.
 */
export function quantityChart(changes: readonly Change[], empty: string): RowsView<Change> {
  const shown = changes.filter(({ state }) => state !== 'failed').toReversed();
  const serviceOf = ({ environment, origin }: Change): string => `${environment}, ${origin}`;
  const most = new Map<string, bigint>();
  for (const change of shown) {
    const whole = most.get(serviceOf(change)) ?? 0n;
    most.set(serviceOf(change), change.state === 'applied' && change.after > whole ? change.after : whole);
  }
  const bar: Column<Change>['bar'] = (change) =>
    change.state === 'applied' ? [change.after, most.get(serviceOf(change))!] : undefined;
  return list(
    shown,
    {
      when: ({ sentAt = 0 }) => new Date(sentAt),
      ...(most.size > 1 && { service: serviceOf }),
      quantity: ({ after }) => after,
      '': outcomeOf,
    },
    { looks: { '': { bar, yields: 1 } }, empty: changes.length === 0 ? empty : 'None of these changes was applied.' },
  );
}
