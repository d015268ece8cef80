/** Rows against the present stock: what is to be changed, what is already so, and what must not be touched. */
import type { InventoryItem } from '../api/item.ts';
import { NO_SUCH_PET } from '../report/failure-meaning.ts';
import type { RateLimit } from '../rate-limit/gate.ts';
import type { Row } from './rows.ts';

export type Stock = ReadonlyMap<bigint, InventoryItem>;

export interface Step {
  readonly line?: number;
  readonly petId: bigint;
  readonly before: bigint;
  readonly after: bigint;
}

/** A row that is not carried out, and why. */
export interface Obstacle {
  readonly line?: number;
  readonly petId: bigint;
  readonly after: bigint;
  readonly state: 'conflict' | 'failed';
  readonly before?: bigint;
  readonly reason: string;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** How many are as they should be. */
  readonly unchanged: number;
  readonly obstacles: readonly Obstacle[];
}

export function makePlan(rows: readonly Row[], stock: Stock): Plan {
  const steps: Step[] = [];
  const obstacles: Obstacle[] = [];
  let unchanged = 0;
  for (const { line, petId, quantity: after, current } of rows) {
    const before = stock.get(petId)?.quantity;
    if (before === undefined) {
      obstacles.push({ line, petId, after, state: 'failed', reason: NO_SUCH_PET });
    } else if (before === after) {
      unchanged++;
    } else if (current !== undefined && current !== before) {
      const reason = `the file expects ${current}, but there are ${before}`;
      obstacles.push({ line, petId, after, state: 'conflict', before, reason });
    } else steps.push({ line, petId, before, after });
  }
  return { steps, unchanged, obstacles };
}

/** How long a window lasts is not told: to its end at least, and the service counts by the minute. */
const MINUTE_MS = 60_000;

/** How long so many requests take at the pace of the allowance, in ms: at least, for a day has its limit too. */
export function forecastMs(requests: number, allowance: RateLimit | undefined, reserve: number, now: number): number {
  if (allowance === undefined) return requests * 1_000;
  const left = Math.max(0, allowance.remaining - reserve);
  if (requests <= left) return 0;
  const each = Math.max(1, allowance.limit - reserve);
  const toEnd = Math.max(0, allowance.resetAt - now);
  const further = Math.ceil((requests - left) / each) - 1;
  return toEnd + further * Math.max(MINUTE_MS, toEnd);
}
