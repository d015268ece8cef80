/**
 * The rate-limit windows of one key: what the newest answers said, by operation. Which operations share a window is
 * derived, not stored: windows with the same limit and the same end count as one, until an answer shows as many left
 * as the other window had before it. An operation without a window may draw on any window of its address.
 */
import { type LimitHeaders, ROUNDING_MS } from './headers.ts';

/** A request that was allowed and is not answered yet. */
export interface Reservation {
  readonly id: string;
  /** Method and address without ids, such as `PATCH @5d0c2f/inventory/{id}`. */
  readonly operation: string;
  readonly at: number;
  /** When to give up on its answer, for example because its process was killed. */
  readonly lostAt: number;
  /** Its answer tells whether sending is allowed: others wait for it. */
  readonly isProbe?: boolean;
}

/** Requests that may have been sent, and were not answered: an answer to a request that was sent later counts them. */
export interface Lost {
  readonly operation: string;
  readonly many: number;
  /** When the newest of them was given up, or sent by a process that died. */
  readonly at: number;
}

export interface Window {
  readonly operation: string;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  /** How long the answer that named the end was under way, in ms: the window may end so much sooner. */
  readonly slackMs: number;
  /** Length of a whole window, in ms: as named, or the time between the ends of two windows. */
  readonly lengthMs?: number;
  /** When an answer first reported this window. */
  readonly seenAt: number;
  /** When one last named it. */
  readonly answeredAt: number;
  /** When the newest request was sent whose answer named it. */
  readonly sentAt: number;
  /** Operations whose windows look the same but have proved to be separate. */
  readonly apart: Readonly<Record<string, true>>;
}

/** A demand on the windows: room for `count` requests of an operation, in addition to the reserve. */
export interface Demand {
  readonly operation: string;
  readonly reserve: number;
  /** Default: 1. */
  readonly count?: number;
  /** Spreads this fraction of what is left evenly over the rest of the window. Default: all of it, at once. */
  readonly share?: number;
}

/** What is known about a key's windows. */
export interface Known {
  readonly windows: readonly Window[];
  readonly inFlight: readonly Reservation[];
  readonly lost: readonly Lost[];
}

/** `left`: requests in flight count as sent. `isPending`: there are some, or a lost one may still arrive. */
type Left = Window & { readonly left: number; readonly isPending: boolean };

/** How far apart two quick answers may name the end of the same window, in ms: they round it up. */
const SAME_END_MS = 2_500;
/** How long a request or an answer may still be on its way when its process has given up, in ms. */
export const LATE_MS = 5_000;
/** Least assumed length of a window whose length is unknown, in ms. */
export const LEAST_LENGTH_MS = 60_000;
/** More than any service has, so that a hostile one cannot make the state grow. */
const MOST_WINDOWS = 32;

export function isLive({ resetAt }: Window, now: number): boolean {
  return now < resetAt;
}

/** Returns the length of a whole window, in ms. If unknown: the longest time that an answer named, at least a minute. */
export function lengthOf({ lengthMs, resetAt, seenAt }: Window): number {
  return lengthMs ?? Math.max(LEAST_LENGTH_MS, resetAt - seenAt);
}

/** Returns the operation's own window, live or over. */
export function windowOf(windows: readonly Window[], operation: string): Window | undefined {
  return windows.find((each) => each.operation === operation);
}

/** Returns the live windows that a request of the operation may draw on. */
export function windowsFor(windows: readonly Window[], operation: string, now: number): readonly Window[] {
  const own = windowOf(windows, operation);
  return windows.filter((each) => {
    if (!isLive(each, now)) return false;
    if (own === undefined) return addressOf(each.operation) === addressOf(operation);
    // A live one may already be the next.
    return isLike(each, own) && (now >= soonestEnd(own) || mayEndTogether(each, own));
  });
}

export function addressOf(operation: string): string {
  return /^\S+ (@[0-9a-f]*)/.exec(operation)?.[1] ?? '';
}

/** Returns the operation for people, without its address: `PATCH /inventory/{id}`. */
export function shownOperation(operation: string): string {
  return operation.replace(addressOf(operation), '');
}

/** True if no live window of the operation is known. Of windows that may be one, all are over with the first. */
export function isWindowless({ windows }: Pick<Known, 'windows'>, now: number, operation: string): boolean {
  const own = windowOf(windows, operation);
  return (
    own === undefined || windows.some((each) => !isLive(each, now) && isLike(each, own) && mayEndTogether(each, own))
  );
}

/** True if operations may share a window. */
function isLike(one: Window, other: Window): boolean {
  const isApart = other.operation in one.apart || one.operation in other.apart;
  return one.limit === other.limit && !isApart && addressOf(one.operation) === addressOf(other.operation);
}

function soonestEnd({ resetAt, slackMs }: Pick<Window, 'resetAt' | 'slackMs'>): number {
  return resetAt - SAME_END_MS - slackMs;
}

function mayEndTogether(one: Pick<Window, 'resetAt' | 'slackMs'>, other: Window): boolean {
  return soonestEnd(one) <= other.resetAt && soonestEnd(other) <= one.resetAt;
}

/**
 * Returns when lost requests have reached the service, if they ever do: the answer to a later one includes them. To wait
 * longer would take too much of a short window.
 */
export function arrivedBy({ at }: Lost, window: Window): number {
  return at + Math.min(LATE_MS, lengthOf(window) / 4);
}

/** Returns the live windows of one operation, or all, tightest first. Lost requests count as sent. */
export function liveWindows({ windows, inFlight, lost }: Known, now: number, operation?: string): readonly Left[] {
  const live =
    operation === undefined ? windows.filter((each) => isLive(each, now)) : windowsFor(windows, operation, now);
  const names = new Set([...inFlight, ...lost].map((each) => each.operation));
  const drawnBy = new Map([...names].map((name) => [name, windowsFor(windows, name, now)]));
  return live
    .map((window) => {
      const draws = (each: Reservation | Lost): boolean => drawnBy.get(each.operation)!.includes(window);
      const awaited = inFlight.filter(draws);
      const unknown = lost.filter(draws);
      const uncounted = unknown.filter((each) => window.sentAt <= arrivedBy(each, window));
      const remaining = Math.max(0, window.remaining - uncounted.reduce((sum, { many }) => sum + many, 0));
      const isPending = awaited.length > 0 || unknown.some((each) => now <= arrivedBy(each, window));
      return { ...window, remaining, left: Math.max(0, remaining - awaited.length), isPending };
    })
    .sort((a, b) => a.left - b.left);
}

/** Returns the windows after an answer that names one. Within a window, `remaining` only falls. */
export function observeWindow(
  windows: readonly Window[],
  { resetInMs, ...named }: NonNullable<LimitHeaders['window']>,
  { operation, sentAt, now, isSuccess }: Pick<Window, 'operation' | 'sentAt'> & { now: number; isSuccess: boolean },
): readonly Window[] {
  const known = windowOf(windows, operation);
  const end = { resetAt: now + resetInMs, slackMs: now - sentAt };
  const before = known?.limit === named.limit ? known : undefined;
  const isCurrent = before !== undefined && isLive(before, now);
  // A late answer from the window before tells nothing about this one.
  if (isCurrent && end.resetAt < soonestEnd(before) && sentAt < before.seenAt) return windows;
  // Two windows are not one if this one has as many left after a request as the other had before it. A request without
  // success proves nothing, as it may not count; nor does any answer about a window that may have ended since.
  const proved = windows.filter((each) => {
    const isLike = each.limit === named.limit && mayEndTogether(end, each);
    const isOther = each.operation !== operation && now <= soonestEnd(each) - ROUNDING_MS && isLike;
    return isOther && each.answeredAt < sentAt && isSuccess && named.remaining >= each.remaining;
  });
  const moved = before === undefined || isCurrent ? 0 : end.resetAt - before.resetAt;
  const lengthMs =
    named.lengthMs ?? (moved > SAME_END_MS ? Math.min(moved, before?.lengthMs ?? moved) : before?.lengthMs);
  const apart = Object.fromEntries(proved.map((each) => [each.operation, true] as const));
  const length = lengthMs !== undefined && { lengthMs };
  const found = { operation, ...named, ...end, ...length, seenAt: now, answeredAt: now, sentAt, apart };
  return mergeWindow(windows, found);
}

/** Merges a window from this or another machine into the windows. Within a window, `remaining` only falls. */
export function mergeWindow(windows: readonly Window[], found: Window): readonly Window[] {
  const known = windowOf(windows, found.operation);
  const rest = windows.filter((each) => each !== known);
  return [known === undefined ? found : merged(known, found), ...rest].slice(0, MOST_WINDOWS);
}

function merged(known: Window, found: Window): Window {
  const apart = Object.fromEntries(Object.entries({ ...known.apart, ...found.apart }).slice(-MOST_WINDOWS));
  // Short windows that follow each other also end close together.
  const isOneTime = found.seenAt < known.resetAt && known.seenAt < found.resetAt;
  const newer = found.seenAt >= known.seenAt ? found : known;
  if (known.limit !== found.limit || !isOneTime || !mayEndTogether(known, found)) return { ...newer, apart };
  const isNear = Math.abs(known.resetAt - found.resetAt) <= SAME_END_MS;
  // After a slow answer it may also be the next one, which ends later.
  const { resetAt, slackMs } = isNear ? (known.resetAt < found.resetAt ? known : found) : newer;
  return {
    ...{ ...found, apart, resetAt, slackMs },
    remaining: Math.min(known.remaining, found.remaining),
    seenAt: Math.min(known.seenAt, found.seenAt),
    answeredAt: Math.max(known.answeredAt, found.answeredAt),
    sentAt: Math.max(known.sentAt, found.sentAt),
  };
}
