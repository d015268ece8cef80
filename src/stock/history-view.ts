/** Shows the history as rows: for people as a table, with names from the catalog. */
import { jsonObject, stringifyJson } from '../api/json.ts';
import type { Change } from '../state/journal.ts';
import { outcomeOf } from '../state/journal-rows.ts';
import { type CellValue, type Column, list, type RowsView } from '../view/view.ts';

/** On a terminal that is too narrow, these make room for the names if they are the same in all rows. */
const YIELDING: readonly string[] = ['run', 'outcome'];

/**
 * @param uniform columns that are the same in all rows, from `Journal.uniform`: a table only has room for what differs.
 * Undefined in formats for programs, which have all columns and no names
 */
export function historyView(
  rows: RowsView<Change>['rows'],
  { uniform, empty = '' }: { readonly uniform?: readonly string[]; readonly empty?: string } = {},
): RowsView<Change> {
  const hidden = uniform?.filter((name) => !YIELDING.includes(name)) ?? ['name'];
  const yielding = hidden.includes('name') ? [] : YIELDING.filter((name) => uniform?.includes(name));
  const members: Readonly<Record<string, (change: Change) => CellValue | undefined>> = {
    change: ({ id }) => id,
    run: ({ run }) => run,
    when: ({ sentAt }) => (sentAt === undefined ? undefined : new Date(sentAt)),
    who: ({ person }) => person,
    environment: ({ environment }) => environment,
    petId: ({ petId }) => petId,
    name: ({ name }) => name,
    before: ({ before }) => before,
    after: ({ after }) => after,
    outcome: outcomeOf,
    cause: ({ cause }) => cause,
    note: ({ note }) => note,
    command: ({ command }) => commandWords(command),
  };
  const shown = Object.entries(members).filter(([name]) => !hidden.includes(name));
  const looks = {
    name: { yields: Number.POSITIVE_INFINITY },
    note: { yields: -1 },
    ...Object.fromEntries(yielding.map((name, yields) => [name, { yields }])),
  };
  return { ...list<Change>([], Object.fromEntries(shown), { looks, jsonText, empty }), rows };
}

function jsonText(change: Change): string {
  const { id, sentAt, person, environment, petId, before = null, after, command, run = null } = change;
  const { reason = null, cause = null, note = null } = change;
  const when = sentAt === undefined ? null : new Date(sentAt).toISOString();
  const outcome = { outcome: outcomeOf(change), reason, cause, note, command, run };
  return stringifyJson(jsonObject({ change: id, when, who: person, environment, petId, before, after, ...outcome }));
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
