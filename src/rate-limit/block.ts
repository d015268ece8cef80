/** How long a refusal keeps a key from sending. */
import type { LimitHeaders } from './headers.ts';

/** Where a refusal names no wait that can be read. */
const UNNAMED_WAIT_MS = 60_000;
const SHORTEST_WAIT_MS = 2_000;
/** Allows for times that were cut to whole seconds. */
const AFTER_WAIT_MS = 1_000;
const LONGEST_JITTER_MS = 5_000;
/** A ban that names no end. */
const BAN_MS = 3_600_000;
/** A hostile or mistaken wait is kept for a day; then one probe asks again. */
export const LONGEST_BLOCK_MS = 86_400_000;

/**
 * Returns how long to send nothing after a 429, in ms: never shorter than what the service named, up to a day, and
 * twice as long for each further 429 in a row. A Reset counts where nothing is left, or where nothing else names a wait.
 */
export function blockMs(headers: LimitHeaders, consecutive429s: number, random: number): number {
  const named = namedMs(headers) ?? headers.resetMs;
  const least = named === undefined || headers.unreadable === true ? UNNAMED_WAIT_MS : SHORTEST_WAIT_MS;
  const wait = Math.max(named ?? 0, least) * 2 ** Math.min(consecutive429s - 1, 30);
  const jitter = Math.min(wait * 0.1, LONGEST_JITTER_MS) * random;
  return Math.min(wait + AFTER_WAIT_MS + jitter, LONGEST_BLOCK_MS);
}

/** Returns how long to send nothing after a 403, in ms: as long as it names, at least a minute; an hour where it names nothing. */
export function banMs(headers: LimitHeaders): number {
  const named = namedMs(headers);
  if (named === undefined) return Math.min(Math.max(BAN_MS, headers.resetMs ?? 0), LONGEST_BLOCK_MS);
  return Math.min(Math.max(named, UNNAMED_WAIT_MS) + AFTER_WAIT_MS, LONGEST_BLOCK_MS);
}

/** Returns how long to send nothing after a 503, in ms; undefined where it names no time. */
export function pauseMs(headers: LimitHeaders): number | undefined {
  const named = namedMs(headers) ?? (headers.unreadable === true ? UNNAMED_WAIT_MS : undefined);
  return named === undefined ? undefined : Math.min(named + AFTER_WAIT_MS, LONGEST_BLOCK_MS);
}

/** The wait that Retry-After names, or a Reset of a window with nothing left. */
function namedMs({ retryAfterMs, resetMs, hasRemaining }: LimitHeaders): number | undefined {
  const reset = hasRemaining === true ? undefined : resetMs;
  return retryAfterMs === undefined && reset === undefined ? undefined : Math.max(retryAfterMs ?? 0, reset ?? 0);
}
