/** Shows the history as rows (for people as a table, with names from the catalog), as a chart, or summed up. */
import { jsonObject, stringifyJson } from '../api/json.ts';
import type { CommandContext } from '../session/globals.ts';
import { type Change, mayBeApplied, outcomeOf } from '../state/journal.ts';
import { dayOf } from '../view/progress.ts';
import { type CellValue, type Column, list, type RowsView } from '../view/view.ts';
import { plural } from '../view/words.ts';

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
 * been applied.
 */
export function quantityChart(changes: readonly Change[], empty: string): RowsView<Change> {
  const serviceOf = ({ environment, origin }: Change): string => `${environment}, ${origin}`;
  // The same id is another pet there.
  const isMixed = new Set(changes.map(serviceOf)).size > 1;
  const most = changes.reduce((all, { after, state }) => (state === 'applied' && after > all ? after : all), 0n);
  const bar: Column<Change>['bar'] = ({ after, state }) => (state === 'applied' ? [after, most] : undefined);
  return list(
    changes.toReversed(),
    {
      when: ({ sentAt = 0 }) => new Date(sentAt),
      ...(isMixed && { service: serviceOf }),
      quantity: ({ after }) => after,
      '': outcomeOf,
    },
    { looks: { '': { bar, yields: 1 } }, empty },
  );
}

export const SUMS = ['cause', 'pet', 'person', 'day'] as const;

type SumBy = (typeof SUMS)[number];

interface Sum {
  /** One of the summed changes, which all have the same environment and key. */
  readonly first: Change;
  changes: number;
  plus: bigint;
  minus: bigint;
}

/** What the changes of a sum have in common: column and value. */
const KEYS: Readonly<Record<SumBy, readonly [name: string, of: (change: Change) => string | bigint | undefined]>> = {
  cause: ['cause', ({ cause }) => cause],
  pet: ['petId', ({ petId }) => petId],
  person: ['who', ({ person }) => person],
  day: ['day', ({ sentAt = 0 }) => dayOf(new Date(sentAt))],
};

/**
 * Sums up changes that were applied. Warns of those without an old quantity, which have neither plus nor minus, and of
 * those that may have been applied, which are left out.
 * @param isForPeople false in formats for programs, which have the environment in every row, no names and no `none`
 */
export function sumsView(
  batches: Iterable<readonly Change[]>,
  { by, isForPeople, limit }: { readonly by: SumBy; readonly isForPeople: boolean; readonly limit: number },
  notices: CommandContext['notices'],
  empty: string,
): RowsView<Sum> {
  const [column, keyOf] = KEYS[by];
  const rows = sumUp(batches, by, notices).sort(
    ({ first: a }, { first: b }) => compare(a.environment, b.environment) || compare(keyOf(a), keyOf(b)),
  );
  const isMixed = !isForPeople || rows.some(({ first }) => first.environment !== rows[0]?.first.environment);
  const hasNames = isForPeople && by === 'pet' && rows.some(({ first }) => first.name !== undefined);
  const members = {
    [column]: ({ first }: Sum) => keyOf(first) ?? (isForPeople ? 'none' : undefined),
    ...(hasNames && { name: ({ first }: Sum) => first.name }),
    ...(isMixed && { environment: ({ first }: Sum) => first.environment }),
    changes: ({ changes }: Sum) => changes,
    plus: ({ plus }: Sum) => plus,
    minus: ({ minus }: Sum) => minus,
    net: ({ plus, minus }: Sum) => plus - minus,
  };
  const shown = by === 'day' ? rows.slice(-limit) : rows.slice(0, limit);
  return list(shown, members, { looks: { net: { isSigned: true } }, empty });
}

function sumUp(batches: Iterable<readonly Change[]>, by: SumBy, notices: CommandContext['notices']): Sum[] {
  const sums = new Map<string, Sum>();
  let [unsized, uncertain] = [0, 0];
  for (const batch of batches) {
    for (const change of batch) {
      if (change.state !== 'applied') {
        if (mayBeApplied(change)) uncertain++;
        continue;
      }
      const { before, after } = change;
      if (before === undefined) unsized++;
      // The same id is another pet in another service.
      const where = [change.environment, by === 'pet' ? change.origin : ''];
      const key = JSON.stringify([...where, KEYS[by][1](change)?.toString()]);
      const sum = sums.get(key) ?? { first: change, changes: 0, plus: 0n, minus: 0n };
      sums.set(key, sum);
      sum.changes++;
      const difference = after - (before ?? after);
      if (difference > 0n) sum.plus += difference;
      else sum.minus -= difference;
    }
  }
  if (unsized > 0) notices.warning(`${plural(unsized, 'change')} without an old quantity: not in plus, minus and net.`);
  if (uncertain > 0) notices.warning(`Left out: ${plural(uncertain, 'change')} of unknown outcome.`);
  return [...sums.values()];
}

/** Sorts missing values last. */
function compare<T extends string | bigint>(a: T | undefined, b: T | undefined): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return a < b ? -1 : 1;
}
