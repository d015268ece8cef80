/**
 * The rate-limit headers of a response (service spec, part 8) as waits.
 *
 * `Retry-After` dates and `X-RateLimit-Reset` are instants on the server's clock: the response's own `Date`
 * turns them into waits, so that a wrong clock here changes nothing. Whatever cannot be read counts as missing.
 */
import { parseHttpDate } from './http-date.ts';

export interface LimitHeaders {
  /** Only where limit and remaining make sense together. */
  readonly window?: {
    /** Requests per window. */
    readonly limit: number;
    readonly remaining: number;
    /** From the moment of receipt until the window is certainly over, in ms. */
    readonly resetInMs: number;
  };
  /** From the moment of receipt, in ms. Absent where missing, junk, or in the past. */
  readonly retryAfterMs?: number;
}

type Headers = ReadonlyMap<string, readonly string[]>;

/** The end of a window that the headers do not tell. */
const UNKNOWN_RESET_MS = 60_000;
/** Whole seconds are rounded down somewhere. */
const ROUNDING_MS = 1_000;
/** A quota over more than a month is none we know of. */
const LONGEST_WINDOW_MS = 32 * 86_400_000;
/** No wait is counted beyond a hundred years. */
const LONGEST_WAIT_MS = 100 * 365 * 86_400_000;

/** Epoch seconds of 1973: whatever is smaller is no instant but a number of seconds from now. */
const SMALLEST_EPOCH_S = 100_000_000;
/** Epoch seconds of the year 5138: whatever is larger is in ms. */
const LARGEST_EPOCH_S = 100_000_000_000;

/** Total over any input. `receivedAt`: epoch ms of this machine, used only where `Date` cannot be. */
export function readLimitHeaders(headers: Headers, receivedAt: number): LimitHeaders {
  const date = single(headers, 'date');
  const serverNow = (date === undefined ? undefined : parseHttpDate(date, receivedAt)) ?? receivedAt;
  const retryAfterMs = readRetryAfter(single(headers, 'retry-after'), serverNow);
  const window = readWindow(headers, serverNow);
  return { ...(window !== undefined && { window }), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** A header that came twice is nobody's word. */
function single(headers: Headers, name: string): string | undefined {
  const values = headers.get(name);
  return values?.length === 1 ? values[0] : undefined;
}

/** RFC 9110, 10.2.3: delay-seconds of any length, or an HTTP-date. */
function readRetryAfter(text: string | undefined, serverNow: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text) * 1_000, LONGEST_WAIT_MS);
  const date = parseHttpDate(text, serverNow);
  return date !== undefined && date > serverNow ? Math.min(date - serverNow, LONGEST_WAIT_MS) : undefined;
}

function readWindow(headers: Headers, serverNow: number): LimitHeaders['window'] {
  const limit = readCount(single(headers, 'x-ratelimit-limit'));
  const remaining = readCount(single(headers, 'x-ratelimit-remaining'));
  if (limit === undefined || remaining === undefined || remaining > limit) return undefined;
  const resetInMs = readReset(single(headers, 'x-ratelimit-reset'), serverNow) ?? UNKNOWN_RESET_MS;
  return { limit, remaining, resetInMs };
}

function readCount(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

function readReset(text: string | undefined, serverNow: number): number | undefined {
  const value = readCount(text);
  if (value === undefined) return undefined;
  const ms = value * (value > LARGEST_EPOCH_S ? 1 : 1_000);
  const wait = (value < SMALLEST_EPOCH_S ? ms : ms - serverNow) + ROUNDING_MS;
  return wait > 0 && wait <= LONGEST_WINDOW_MS ? wait : undefined;
}
