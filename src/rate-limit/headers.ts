/**
 * Reads the rate-limit headers of a response (service spec, part 8; draft-ietf-httpapi-ratelimit-headers, to 10).
 *
 * Where a wait is ambiguous, the longer reading counts: sending too early can get the key banned, waiting longer
 * cannot. Dates and `Reset` are instants on the server's clock. The response's `Date` turns them into waits, so a wrong
 * clock on this machine changes nothing.
 */
import { parseList } from 'structured-headers';
import { parseHttpDate } from '../http/http-date.ts';
import type { HttpReply, WaitReason } from '../ports.ts';

/** 429, 403, or a 503 that names a time. */
export const BLOCK_REASONS = ['rate-limited', 'banned', 'paused'] as const satisfies readonly WaitReason[];
export type BlockReason = (typeof BLOCK_REASONS)[number];

export interface LimitHeaders {
  /** Present only if limit and remaining make sense together. */
  readonly window?: {
    /** Requests per window. */
    readonly limit: number;
    readonly remaining: number;
    /** From receipt of the response until the window has certainly ended, in ms. */
    readonly resetInMs: number;
    /** Length of a whole window, if the headers name it, in ms. */
    readonly lengthMs?: number;
  };
  /** Longest wait that a Retry-After names, from receipt, in ms. */
  readonly retryAfterMs?: number;
  /** Longest wait that a Reset names, whatever limit and remaining say, from receipt, in ms. */
  readonly resetMs?: number;
  /** True if requests are left: a refusal then has another cause than this window, and its Reset does not name the wait. */
  readonly hasRemaining?: boolean;
  /** True if a gateway has refused the request: it knows the time that it names. */
  readonly isOfGateway?: boolean;
  /** True if a Retry-After cannot be read, or if only a Reset names a wait and it cannot be read. */
  readonly unreadable?: boolean;
}

type AnswerHeaders = HttpReply['headers'];

/** Header of every answer of `petstore proxy`. */
export const GATEWAY_HEADER = 'petstore-gateway';
/** Its value if the proxy itself refuses, so that the service has not had the request; otherwise 1. */
export const REFUSED_BY_GATEWAY = 'refused';

/** Returns whether a gateway has passed the answer on or refused the request; undefined for an answer of the service. */
export function gatewayOf(headers: AnswerHeaders): Gateway | undefined {
  const value = headers.get(GATEWAY_HEADER)?.[0];
  return value === undefined ? undefined : value === REFUSED_BY_GATEWAY ? 'refused' : 'passed';
}

export type Gateway = 'passed' | 'refused';

/** The clocks of the server (of this machine, if the response has no Date) and of this machine on receipt, epoch ms. */
interface Clocks {
  readonly server: number;
  readonly local: number;
}

/** What one kind of headers says. `resets`: the waits that it names, undefined for one that cannot be read. */
interface Found {
  readonly window: LimitHeaders['window'];
  readonly left: number | undefined;
  readonly resets: readonly (number | undefined)[];
}

/** Assumed length of a window whose end the headers do not name, in ms. */
const UNKNOWN_RESET_MS = 60_000;
/** Allows for times that were rounded down to whole seconds. */
export const ROUNDING_MS = 1_000;
/** A Reset further ahead is ignored: no known quota lasts longer than a month. */
const LONGEST_WINDOW_MS = 32 * 86_400_000;
/** Longer waits are cut to this: a hundred years. */
const LONGEST_WAIT_MS = 100 * 365 * 86_400_000;
/** Wait after a refusal that names none, or none that can be read. */
const UNNAMED_WAIT_MS = 60_000;
const SHORTEST_WAIT_MS = 2_000;
const LONGEST_JITTER_MS = 5_000;
/** Length of a ban that names no end. */
const BAN_MS = 3_600_000;
/** Longest block: after a hostile or mistaken wait, one probe asks again the next day. */
export const LONGEST_BLOCK_MS = 86_400_000;
/** Clocks that differ by less count as equal, in ms. */
const AGREEING_MS = 60_000;

/** A smaller number is seconds from now, a larger one an instant (1973). */
const SMALLEST_EPOCH_S = 100_000_000;
/** Up to these bounds an instant is in seconds (to the year 5138), ms, µs and ns. */
const EPOCH_BOUNDS = [1e11, 1e14, 1e17, 1e20];

/** Prefixes of separate headers for limit, remaining and reset, preferred first. Drafts 7 and later come after them. */
const PREFIXES = ['x-ratelimit-', 'x-rate-limit-', 'ratelimit-'] as const;
/** Parts of a window, and their parameters in drafts 8 to 10. */
const PARAMETERS = { limit: 'q', remaining: 'r', reset: 't', length: 'w' } as const;

/** Names of headers like Retry-After, some with the name of a limit. Waits are in seconds, unless the name says ms. */
const RETRY_HEADER = /(?:retry|reset)-after/;

/** Reads the headers; never throws. `receivedAt`: epoch ms on this machine's clock. */
export function readLimitHeaders(headers: AnswerHeaders, receivedAt: number): LimitHeaders {
  const server = parseHttpDate(valuesOf(headers, 'date')[0] ?? '', receivedAt) ?? receivedAt;
  const clocks = { server, local: receivedAt };
  const policies = valuesOf(headers, 'ratelimit-policy').flatMap(membersOf);
  // Draft 6 has one window; its policy names the length.
  const length = policies.length === 1 ? policies[0]!.getAll('w') : [];
  const separate = PREFIXES.map((prefix) => {
    const isDraft = prefix === 'ratelimit-';
    return readCounts((part) => (part === 'length' && isDraft ? length : valuesOf(headers, prefix + part)), clocks);
  });
  const found = [...separate, readDrafts(headers, policies, clocks)];
  const window = found.map((each) => each.window).find((each) => each !== undefined);
  const { left, resets } = tightest(found);
  const retries = [...headers.keys()].flatMap((name) => {
    if (!RETRY_HEADER.test(name)) return [];
    const unit = /-(?:ms|milliseconds)$/.test(name) ? 1 : 1_000;
    return listOf(valuesOf(headers, name)).map(
      (text) => [readRetryAfter(text, unit, clocks), guessDelay(text, unit)] as const,
    );
  });
  const retryAfterMs = longest(retries.map(([exact, guess]) => exact ?? guess));
  const resetMs = longest(resets);
  const isUnreadable = retries.length > 0 ? retries.some(([exact]) => exact === undefined) : resets.includes(undefined);
  return {
    ...(window !== undefined && { window }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(resetMs !== undefined && { resetMs }),
    ...(left !== undefined && left > 0 && { hasRemaining: true }),
    ...(isUnreadable && { unreadable: true }),
    ...(gatewayOf(headers) === 'refused' && { isOfGateway: true }),
  };
}

/**
 * Reads `RateLimit: "name";r=3;t=23` with `RateLimit-Policy: "name";q=60;w=60` (drafts 8 to 10), and
 * `RateLimit: limit=60, remaining=3, reset=23` with `RateLimit-Policy: 60;w=60` (draft 7).
 *
 * The window is the policy of requests with the fewest left.
 */
function readDrafts(headers: AnswerHeaders, policies: readonly URLSearchParams[], clocks: Clocks): Found {
  const members = valuesOf(headers, 'ratelimit').flatMap(membersOf);
  const found = members.map((member) => {
    const name = member.get('limit') ?? member.get('name');
    const all = new URLSearchParams([...member, ...(policies.find((each) => each.get('name') === name) ?? [])]);
    const counts = readCounts((part) => [...all.getAll(part), ...all.getAll(PARAMETERS[part])], clocks);
    return { ...counts, isOfRequests: /^requests?$/.test(all.get('qu') ?? 'requests') };
  });
  const end = ({ window }: Found): number => window?.resetInMs ?? 0;
  found.sort((a, b) => (a.left ?? Infinity) - (b.left ?? Infinity) || end(b) - end(a));
  return { window: found.find((each) => each.isOfRequests)?.window, ...tightest(found) };
}

/** Returns the fewest left, and the waits. If nothing is left of one, whatever its unit, only those like it name them. */
function tightest(found: readonly Found[]): Pick<Found, 'left' | 'resets'> {
  const lefts = found.map((each) => each.left).filter((each) => each !== undefined);
  const left = lefts.length === 0 ? undefined : Math.min(...lefts);
  return { left, resets: found.flatMap((each) => (left !== 0 || (each.left ?? 0) === 0 ? each.resets : [])) };
}

/** Reads the names and parameters of a list (RFC 9651, 3.1), or, as in draft 7, parameters alone. */
function membersOf(line: string): URLSearchParams[] {
  try {
    return parseList(line).map(([name, parameters]) => {
      const member = new URLSearchParams({ name: String(name) });
      for (const [key, value] of parameters) member.append(key, String(value));
      return member;
    });
  } catch {
    return [new URLSearchParams(line.toLowerCase().replace(/\s*[,;]\s*/g, '&'))];
  }
}

/** Returns the values of a header, one per line, trimmed (RFC 9110, 5.5). */
function valuesOf(headers: AnswerHeaders, name: string): readonly string[] {
  return headers.get(name)?.map((each) => each.trim()) ?? [];
}

/** Splits values at commas, except within a date. Keeps a value that is empty as a whole. */
function listOf(values: readonly string[]): string[] {
  return values.flatMap((value) => {
    const parts = value.split(/,(?!\s*[0-9]{1,2}[ -][a-z]{3})/i).map((each) => each.trim());
    return parts.some(Boolean) ? parts.filter(Boolean) : [''];
  });
}

function longest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Reads delay-seconds or a date (RFC 9110, 10.2.3). Accepts a fraction, a leading `+`, a trailing `s` and an epoch. */
function readRetryAfter(text: string, unitMs: number, clocks: Clocks): number | undefined {
  const seconds = /^\+?([0-9]+(?:\.[0-9]+)?)\s*s?$/i.exec(text)?.[1];
  if (seconds !== undefined) {
    const wait = Math.min(Math.ceil(Number(seconds) * unitMs), LONGEST_WAIT_MS);
    // A wait of years is an instant that some send.
    return wait < SMALLEST_EPOCH_S * 1_000 ? wait : (readReset(seconds, clocks) ?? wait);
  }
  return waitUntil(parseHttpDate(text, clocks.server), clocks);
}

/** Reads the number at the start of an unknown form, such as `7200 seconds` or `"7200"`; at least a minute. */
function guessDelay(text: string, unitMs: number): number | undefined {
  const number = /^"?([0-9]+)/.exec(text)?.[1];
  if (number === undefined) return undefined;
  return Math.min(Math.max(Number(number) * unitMs, UNNAMED_WAIT_MS), LONGEST_WAIT_MS);
}

/** Reads seconds from now, or an instant as epoch seconds, ms, µs, ns or a date; undefined if it is implausible. */
function readReset(text: string, clocks: Clocks): number | undefined {
  const value = Number(/^"?\+?([0-9]{1,20}(?:\.[0-9]+)?)\s*s?"?$/i.exec(text)?.[1]);
  const unit = EPOCH_BOUNDS.findIndex((bound) => value <= bound);
  const at = unit < 0 ? parseHttpDate(text, clocks.server) : Math.ceil(value / 1_000 ** (unit - 1));
  // An instant within the server's current second may still be ahead.
  const isNow = at !== undefined && at <= clocks.server && clocks.server - at < ROUNDING_MS;
  const wait = value < SMALLEST_EPOCH_S ? Math.ceil(value * 1_000) : isNow ? 0 : waitUntil(at, clocks);
  return wait !== undefined && wait + ROUNDING_MS <= LONGEST_WINDOW_MS ? wait : undefined;
}

/**
 * Turns an instant into a wait by the server's `Date`. The local clock can only make the wait longer, and only if it
 * agrees with the server's or if the instant has passed by the server's.
 */
function waitUntil(at: number | undefined, { server, local }: Clocks): number | undefined {
  if (at === undefined) return undefined;
  const [byServer, byLocal] = [at - server, at - local];
  const wait = Math.abs(server - local) <= AGREEING_MS ? Math.max(byServer, byLocal) : byServer;
  if (wait > 0) return Math.min(wait, LONGEST_WAIT_MS);
  return byLocal > 0 && byLocal <= 86_400_000 ? byLocal : undefined;
}

function readCounts(textsOf: (part: keyof typeof PARAMETERS) => readonly string[], clocks: Clocks): Found {
  const [limits, counts, ends] = [textsOf('limit'), textsOf('remaining'), listOf(textsOf('reset'))];
  const left = least(counts);
  const found = { left, resets: ends.map((text) => readReset(text, clocks)), window: undefined };
  // Nothing is left until a known time, also where the limit is not named (a policy is optional in drafts 8 to 10).
  const isSpent = limits.length === 0 && left === 0 && longest(found.resets) !== undefined;
  const limit = isSpent ? 1 : least(limits);
  if (limit === undefined || left === undefined || left > limit) return found;
  // By the server's clock alone: a window must not look longer because the clocks differ.
  const only = { server: clocks.server, local: clocks.server };
  const lengthMs = longest(textsOf('length').map((text) => readReset(text, only) || undefined));
  const end = longest(ends.map((text) => readReset(text, only))) ?? lengthMs ?? UNKNOWN_RESET_MS - ROUNDING_MS;
  // However the Reset was rounded, the window ends no later than one that begins now.
  const resetInMs = Math.max(end, Math.min(end + ROUNDING_MS, lengthMs ?? Infinity));
  const window = { limit, remaining: left, resetInMs };
  return { ...found, window: lengthMs === undefined ? window : { ...window, lengthMs } };
}

/** Returns the least of the counts: `60`, `3, 3;w=90`, `0.0`. */
function least(texts: readonly string[]): number | undefined {
  const counts = listOf(texts).map((text) => /^([0-9]{1,15})(?:\.[0-9]+)?(?:\s*;.*)?$/.exec(text)?.[1]);
  return counts.length === 0 || counts.includes(undefined) ? undefined : Math.min(...counts.map(Number));
}

/**
 * Returns why nothing may be sent after an answer, and for how long: never shorter than the service named, at most a
 * day. Undefined for an answer that is not a refusal. A Reset counts if nothing is left, or, except for a 503, if nothing
 * else names a wait.
 * @param consecutive429s each after the first doubles the wait, unless a gateway has refused the request
 * @param random in [0, 1): jitter
 */
export function refusalOf(
  status: number,
  { hasRemaining, isOfGateway, resetMs, retryAfterMs, unreadable }: LimitHeaders,
  consecutive429s: number,
  random: number,
): { readonly why: BlockReason; readonly ms: number } | undefined {
  const named = longest([retryAfterMs, hasRemaining === true ? undefined : resetMs]);
  const refused = (why: BlockReason, ms: number) => ({ why, ms: Math.min(ms + ROUNDING_MS, LONGEST_BLOCK_MS) });
  if (status === 429) {
    const known = named ?? resetMs;
    const least = known === undefined || unreadable === true ? UNNAMED_WAIT_MS : SHORTEST_WAIT_MS;
    const doublings = isOfGateway === true ? 0 : consecutive429s - 1;
    const wait = Math.max(known ?? 0, least) * 2 ** doublings;
    return refused('rate-limited', wait + Math.min(wait * 0.1, LONGEST_JITTER_MS) * random);
  }
  if (status === 403) {
    if (named !== undefined) return refused('banned', Math.max(named, UNNAMED_WAIT_MS));
    return { why: 'banned', ms: Math.min(Math.max(BAN_MS, resetMs ?? 0), LONGEST_BLOCK_MS) };
  }
  const pause = named ?? (unreadable === true ? UNNAMED_WAIT_MS : undefined);
  return status === 503 && pause !== undefined ? refused('paused', pause) : undefined;
}
