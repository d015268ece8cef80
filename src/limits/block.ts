import type { LimitHeaders } from './headers.ts';

const NO_HEADER_WAIT_MS = 60_000;
const SHORTEST_WAIT_MS = 2_000;
const AFTER_WAIT_MS = 1_000;
const LONGEST_JITTER_MS = 5_000;
/** A hostile or mistaken wait is kept for a day; then one probe asks again. */
const LONGEST_BLOCK_MS = 86_400_000;

/** How long to send nothing after a 429, in ms: never shorter than what the service asked for, up to a day. */
export function blockMs({ retryAfterMs, window }: LimitHeaders, strikes: number, random: number): number {
  const reset = window?.remaining === 0 ? window.resetInMs : undefined;
  const silent = retryAfterMs === undefined && reset === undefined;
  const base = silent ? NO_HEADER_WAIT_MS : Math.max(retryAfterMs ?? 0, reset ?? 0, SHORTEST_WAIT_MS);
  const wait = base * 2 ** Math.min(strikes - 1, 30);
  const jitter = Math.min(wait * 0.1, LONGEST_JITTER_MS) * random;
  return Math.min(wait + AFTER_WAIT_MS + jitter, LONGEST_BLOCK_MS);
}
