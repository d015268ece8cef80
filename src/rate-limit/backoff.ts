/** Waits after network failures and server errors: full jitter, so that many clients do not return together. */
import type { Random } from '../ports.ts';

const BASE_MS = 500;
const CAP_MS = 20_000;

/** Before the attempt that follows the given one (from 1), in ms: anything from 0 to 0.5 s, 1 s, 2 s, … 20 s. */
export function backoffMs(attempt: number, random: Random): number {
  return random() * longestBackoffMs(attempt);
}

export function longestBackoffMs(attempt: number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
}
