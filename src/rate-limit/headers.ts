/**
 * Reads the rate-limit headers of a response (service spec, part 8; the IETF drafts `RateLimit`, 6 to 8).
 *
 * A wait is read generously, and always to the longer side: sending too early can get the key banned, waiting a little
 * longer cannot. Dates and `Reset` are instants on the server's clock; the response's own `Date` turns them into waits,
 * so that a wrong clock on this machine changes nothing.
 */
import { parseHttpDate } from './http-date.ts';

export interface LimitHeaders {
  /** Present only where limit and remaining make sense together. */
  readonly window?: {
    /** Requests per window. */
    readonly limit: number;
    readonly remaining: number;
    /** From receipt until the window has certainly ended, in ms. */
    readonly resetInMs: number;
  };
  /** The longest wait that a Retry-After names, from receipt, in ms. */
  readonly retryAfterMs?: number;
  /** The longest wait that a Reset names, whatever limit and remaining say, from receipt, in ms. */
  readonly resetMs?: number;
  /** True where requests are left: a refusal has another reason than this window, so its Reset does not name the wait. */
  readonly hasRemaining?: boolean;
  /** True where a Retry-After cannot be read, or nothing else than a Reset names a wait and cannot be read. */
  readonly unreadable?: boolean;
}

type Headers = ReadonlyMap<string, readonly string[]>;

/** The server's clock and this machine's at the moment of receipt, epoch ms. `hasDate`: the first comes from the response. */
interface Clocks {
  readonly server: number;
  readonly local: number;
  readonly hasDate: boolean;
}

/** Length of a window whose end the headers do not tell, ms. */
const UNKNOWN_RESET_MS = 60_000;
/** Allows for times that were cut to whole seconds. */
const ROUNDING_MS = 1_000;
/** A Reset further ahead is not believed: no known quota lasts longer than a month. */
const LONGEST_WINDOW_MS = 32 * 86_400_000;
/** No wait is counted beyond a hundred years. */
const LONGEST_WAIT_MS = 100 * 365 * 86_400_000;
/** As long as a wait that cannot be read. */
const LEAST_GUESS_MS = 60_000;
/** Clocks that differ by less are taken to agree, ms. */
const AGREEING_MS = 60_000;

/** Seconds below this are a number of seconds from now, above it an instant (1973). */
const SMALLEST_EPOCH_S = 100_000_000;
/** Above each bound an instant is in the next smaller unit. `perMs`: how many of the unit make one ms. */
const EPOCH_UNITS = [
  { upTo: 1e11, perMs: 1e-3 }, // seconds, to the year 5138
  { upTo: 1e14, perMs: 1 },
  { upTo: 1e17, perMs: 1e3 },
  { upTo: 1e20, perMs: 1e6 },
] as const;

/** Where limit, remaining and reset are found, in order of preference. The drafts' members are in one header. */
const DIALECTS: readonly ((
  headers: Headers,
) => Readonly<Record<'limit' | 'remaining' | 'reset', readonly string[]>>)[] = [
  separate('x-ratelimit-'),
  separate('x-rate-limit-'),
  separate('ratelimit-'),
  draftMembers,
];

/** Headers that name a wait like Retry-After does; the value's unit in ms. */
const RETRY_HEADERS = [
  ['retry-after', 1_000],
  ['x-retry-after', 1_000],
  ['retry-after-ms', 1],
  ['x-ratelimit-reset-after', 1_000],
  ['x-rate-limit-retry-after-seconds', 1_000],
] as const;

/** Reads any headers without failing. `receivedAt`: epoch ms on this machine's clock. */
export function readLimitHeaders(headers: Headers, receivedAt: number): LimitHeaders {
  const date = parseHttpDate(valuesOf(headers, 'date')[0] ?? '', receivedAt);
  const clocks = { server: date ?? receivedAt, local: receivedAt, hasDate: date !== undefined };
  const found = DIALECTS.map((read) => read(headers)).filter(
    ({ limit, remaining, reset }) => limit.length + remaining.length + reset.length > 0,
  );
  const windows = found.map((each) => readWindow(each, clocks));
  const window = windows.find((each) => each !== undefined);

  const named = RETRY_HEADERS.flatMap(([name, unit]) =>
    listOf(valuesOf(headers, name)).map((text) => ({ text, unit })),
  );
  const retries = named.map(({ text, unit }) => readRetryAfter(text, unit, clocks));
  const guesses = named.flatMap(({ text, unit }, i) => (retries[i] === undefined ? [guessDelay(text, unit)] : []));
  const resets = found.flatMap(({ reset }) => listOf(reset).map((text) => readReset(text, clocks)));
  const retryAfterMs = longest([...retries, ...guesses]);
  const resetMs = longest(resets);
  const remaining = found.map((each) => least(each.remaining)).find((each) => each !== undefined);
  return {
    ...(window !== undefined && { window }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(resetMs !== undefined && { resetMs }),
    ...(remaining !== undefined && remaining > 0 && { hasRemaining: true }),
    ...((retries.includes(undefined) || (retries.length === 0 && resets.includes(undefined))) && { unreadable: true }),
  };
}

/** Returns a reader of headers of their own for each count. */
function separate(prefix: string): (headers: Headers) => Record<'limit' | 'remaining' | 'reset', readonly string[]> {
  const [limit, remaining, reset] = [`${prefix}limit`, `${prefix}remaining`, `${prefix}reset`];
  return (headers) => ({
    limit: valuesOf(headers, limit),
    remaining: valuesOf(headers, remaining),
    reset: valuesOf(headers, reset),
  });
}

/**
 * Reads `RateLimit: limit=60, remaining=3, reset=23` (draft 7) and `RateLimit: "name"; r=3; t=23` with
 * `RateLimit-Policy: "name"; q=60; w=60` (draft 8). Of several policies the one with the least left counts.
 */
function draftMembers(headers: Headers): Record<'limit' | 'remaining' | 'reset', readonly string[]> {
  if (!headers.has('ratelimit') && !headers.has('ratelimit-policy')) return { limit: [], remaining: [], reset: [] };
  const text = valuesOf(headers, 'ratelimit').join(', ');
  const member = (from: string, names: string): string[] =>
    [...from.matchAll(new RegExp(`(?:^|[,;])\\s*(?:${names})=([^,;\\s]+)`, 'gi'))].map(([, value]) => value ?? '');
  const left = member(text, 'remaining|r');
  const at = left.indexOf(`${least(left) ?? ''}`);
  const limits = member(text, 'limit').concat(member(valuesOf(headers, 'ratelimit-policy').join(', '), 'q'));
  const resets = member(text, 'reset|t');
  const one = (values: readonly string[]): readonly string[] => values.slice(Math.max(at, 0)).slice(0, 1);
  return { limit: one(limits), remaining: one(left), reset: left.length === resets.length ? one(resets) : resets };
}

/** The values of a header, one for each line, without the white space around them (RFC 9110, 5.5). */
function valuesOf(headers: Headers, name: string): readonly string[] {
  return headers.get(name)?.map((each) => each.trim()) ?? [];
}

/** Splits comma-joined values, but not at the comma within a date. A value that is empty as a whole stays. */
function listOf(values: readonly string[]): string[] {
  return values.flatMap((value) => {
    if (!value.includes(',')) return value.trim();
    const parts = value.split(/,(?!\s*[0-9]{1,2}[ -][a-z]{3})/i).map((each) => each.trim());
    const filled = parts.filter((each) => each !== '');
    return filled.length === 0 ? [''] : filled;
  });
}

function longest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Reads delay-seconds or a date (RFC 9110, 10.2.3), with a fraction, a leading `+` or a trailing `s` as some send it. */
function readRetryAfter(text: string, unitMs: number, clocks: Clocks): number | undefined {
  const seconds = /^\+?([0-9]+(?:\.[0-9]+)?)\s*s?$/i.exec(text)?.[1];
  if (seconds !== undefined) return Math.min(Math.ceil(Number(seconds) * unitMs), LONGEST_WAIT_MS);
  const date = parseHttpDate(text, clocks.server);
  return date === undefined ? undefined : waitUntil(date, clocks);
}

// At most one blank at a time: of many, a long header would take for ever.
const AMOUNT = String.raw`([0-9]+(?:\.[0-9]+)?(?:e\+?[0-9]+)?) ?`;
const DELAY = new RegExp(
  `^p?(?:${AMOUNT}d(?:ays?)?)? ?t?(?:${AMOUNT}h(?:rs?|ours?)?)? ?(?:${AMOUNT}m(?:in(?:ute)?s?)?)? ?` +
    `(?:${AMOUNT}s(?:ec(?:ond)?s?)?)? ?(?:${AMOUNT}(?:ms|msecs?|milliseconds?))?(?:${AMOUNT})?$`,
  'i',
);

/** Reads `"7200"`, `7200 seconds`, `7200; why`, `7200 (why)`, `2h 30m`, `PT2H`, `7200000ms`, `7.2e3`, as a minute at least. */
function guessDelay(text: string, unitMs: number): number | undefined {
  const amounts = DELAY.exec(
    text
      .replace(/[;(].*$/, '')
      .trim()
      .replace(/^"(.*)"$/, '$1'),
  )?.slice(1);
  if (amounts === undefined || !amounts.some(Boolean)) return undefined;
  const units = [86_400_000, 3_600_000, 60_000, 1_000, 1, unitMs];
  const ms = units.reduce((sum, unit, i) => sum + Number(amounts[i] ?? 0) * unit, 0);
  return Math.min(Math.max(Math.ceil(ms), LEAST_GUESS_MS), LONGEST_WAIT_MS);
}

/** Reads seconds from now, or an instant as epoch seconds, ms, µs, ns or a date. Undefined where it cannot be right. */
function readReset(text: string, clocks: Clocks): number | undefined {
  const instant = instantOf(text, clocks);
  if (instant === undefined) return undefined;
  const wait = 'fromNow' in instant ? instant.fromNow : waitFor(instant.at, clocks);
  return wait !== undefined && wait + ROUNDING_MS <= LONGEST_WINDOW_MS ? wait : undefined;
}

/** A Reset within the server's present second may still be ahead. */
function waitFor(at: number, clocks: Clocks): number | undefined {
  const passed = clocks.server - at;
  return passed >= 0 && passed < ROUNDING_MS ? 0 : waitUntil(at, clocks);
}

function instantOf(text: string, clocks: Clocks): { fromNow: number } | { at: number } | undefined {
  if (!/^[0-9]{1,20}(?:\.[0-9]+)?$/.test(text)) {
    const at = parseHttpDate(text, clocks.server);
    return at === undefined ? undefined : { at };
  }
  const value = Number(text);
  if (value < SMALLEST_EPOCH_S) return { fromNow: Math.ceil(value * 1_000) };
  const unit = EPOCH_UNITS.find(({ upTo }) => value <= upTo);
  return unit === undefined ? undefined : { at: Math.ceil(value / unit.perMs) };
}

/**
 * Turns an instant into a wait. The server's `Date` counts; the local clock only where it agrees with it, or where by
 * the server's the instant has passed, and only to make the wait longer.
 */
function waitUntil(at: number, { server, local, hasDate }: Clocks): number | undefined {
  const byServer = at - server;
  const byLocal = at - local;
  const agree = Math.abs(server - local) <= AGREEING_MS;
  if (agree && hasDate && Math.max(byServer, byLocal) > 0)
    return Math.min(Math.max(byServer, byLocal), LONGEST_WAIT_MS);
  if (byServer > 0) return Math.min(byServer, LONGEST_WAIT_MS);
  return byLocal > 0 && byLocal <= 86_400_000 ? byLocal : undefined;
}

function readWindow(
  texts: Readonly<Record<'limit' | 'remaining' | 'reset', readonly string[]>>,
  { server }: Clocks,
): LimitHeaders['window'] {
  // A count on two lines is ambiguous: a proxy may have added one of them.
  if (texts.limit.length > 1 || texts.remaining.length > 1) return undefined;
  const limit = least(texts.limit);
  const remaining = least(texts.remaining);
  if (limit === undefined || remaining === undefined || remaining > limit) return undefined;
  // Only the server's clock: a window must not be thought longer because the clocks differ.
  const only = { server, local: server, hasDate: true };
  const resets = listOf(texts.reset).map((text) => readReset(text, only));
  return { limit, remaining, resetInMs: (longest(resets) ?? UNKNOWN_RESET_MS - ROUNDING_MS) + ROUNDING_MS };
}

/** The least of the counts: `60`, `3, 3;w=90`, `0.0`. */
function least(texts: readonly string[]): number | undefined {
  const counts = listOf(texts).map((text) => /^([0-9]{1,15})(?:\.[0-9]+)?(?:\s*;.*)?$/.exec(text)?.[1]);
  return counts.length === 0 || counts.includes(undefined) ? undefined : Math.min(...counts.map(Number));
}
