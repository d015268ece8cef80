/** Sums up the history: how much stock came and went, by cause, pet, person or day. */
import type { Change } from '../state/journal.ts';
import { mayBeApplied } from '../state/journal-rows.ts';
import { dayOf } from '../view/progress.ts';
import { list, type RowsView } from '../view/view.ts';

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
 * Sums up changes that were applied. `unsized`: how many have no old quantity and so neither plus nor minus;
 * `uncertain`: how many may have been applied, and are left out.
 * @param isForPeople false in formats for programs, which have the environment in every row, no names and no `none`
 */
export function sumsView(
  batches: Iterable<readonly Change[]>,
  { by, isForPeople, limit }: { readonly by: SumBy; readonly isForPeople: boolean; readonly limit: number },
): RowsView<Sum> & { readonly unsized: number; readonly uncertain: number } {
  const [column, keyOf] = KEYS[by];
  const { sums, ...left } = sumUp(batches, by);
  const rows = sums.sort(
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
  return { ...list(rows.slice(0, limit), members, { looks: { net: { isSigned: true } } }), ...left };
}

function sumUp(batches: Iterable<readonly Change[]>, by: SumBy) {
  const sums = new Map<string, Sum>();
  const left = { unsized: 0, uncertain: 0 };
  for (const batch of batches) {
    for (const change of batch) {
      if (change.state !== 'applied') {
        if (mayBeApplied(change)) left.uncertain++;
        continue;
      }
      const { before, after } = change;
      if (before === undefined) left.unsized++;
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
  return { sums: [...sums.values()], ...left };
}

/** Sorts missing values last. */
function compare<T extends string | bigint>(a: T | undefined, b: T | undefined): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return a < b ? -1 : 1;
}
