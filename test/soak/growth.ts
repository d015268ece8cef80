/** Bounds for growth in a long run. */
import { median } from '../bench/report.ts';

/** One look at everything that is measured, by its name, at a time in ms since the start. */
export interface Sample {
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

export interface Soaked {
  readonly lines: string[];
  /** What must not be. */
  readonly problems: string[];
  readonly samples: readonly Sample[];
}

/** What a value may be at the end. `early`: its median after the warm-up; `work`: how much was recorded in between. */
interface Bound {
  readonly of: RegExp;
  readonly says: string;
  most(early: number, work: number): number;
}

const MB = 1_000_000;

const BOUNDS: readonly Bound[] = [
  { of: /memory$/, says: 'a quarter more, and 16 MB', most: (early) => early * 1.25 + 16 * MB },
  { of: /handles$/, says: '40 more, because an import opens up to 32 connections', most: (early) => early + 40 },
  // SQLite copies it back at 1 MB; a reader may hold that up for a moment.
  { of: /^log of state\.db$/, says: '8 MB', most: () => 8 * MB },
  { of: /^state\.db$/, says: '500 bytes for each change', most: (early, work) => early + MB + work * 500 },
  { of: /^reports$/, says: '100 bytes for each change', most: (early, work) => early + MB + work * 100 },
];

/** The name of the value that counts the changes that were recorded. */
export const WORK = 'changes';

/** V8 lets the heap of a busy program grow for about two minutes before it collects in earnest. */
export function warmUpOf(lengthMs: number): number {
  return Math.max(lengthMs / 5, Math.min(120_000, lengthMs / 2));
}

/**
 * Compares the first and the last third of the time after the warm-up, by their medians. Returns a line for each value
 * that has a bound, and apart those that exceed theirs.
 * @throws where too few samples were taken
 */
export function judge(samples: readonly Sample[], warmUpMs: number): { lines: string[]; problems: string[] } {
  const warm = samples.filter(({ at }) => at >= warmUpMs);
  const third = Math.floor(warm.length / 3);
  if (third < 3) throw new Error(`${warm.length} samples after the warm-up are too few.`);
  const [first, last] = [warm.slice(0, third), warm.slice(-third)];
  const middle = (part: readonly Sample[], name: string): number => median(part.map(({ values }) => values[name] ?? 0));
  const work = middle(last, WORK) - middle(first, WORK);
  const found = { lines: [] as string[], problems: [] as string[] };
  for (const name of Object.keys(warm[0]!.values)) {
    const bound = BOUNDS.find(({ of }) => of.test(name));
    if (bound === undefined) continue;
    const [early, late] = [middle(first, name), middle(last, name)];
    const most = bound.most(early, work);
    const [from, to, end] = [early, late, most].map((value) =>
      name.endsWith('handles') ? `${Math.round(value)}` : `${(value / MB).toFixed(1)} MB`,
    );
    found[late <= most ? 'lines' : 'problems'].push(`${name}: ${from} → ${to}, at most ${end} (${bound.says})`);
  }
  return found;
}
