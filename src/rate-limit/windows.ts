/**
 * The rate-limit windows of one key. A service may count all operations together or each apart, so a window belongs to
 * the operations whose answers have named it: by its limit and its end. Limits of several operations are never mixed.
 * An operation that no answer has named yet may use any window: it needs room in all of them.
 */
import type { LimitHeaders } from './headers.ts';

/** A request that was let through and is not answered yet. */
export interface Reservation {
  readonly id: string;
  /** Such as `PATCH /inventory/{id}`. */
  readonly operation: string;
  readonly at: number;
  /** When to give up waiting for its answer, because its process was killed for instance. */
  readonly lostAt: number;
  /** The most that was left of a window that it may draw on when it was sent, those under way not counted. */
  readonly left?: number;
}

/** What a request leaves to others. */
export interface Reserve {
  readonly reserve: number;
  /** True where a shared ledger knows what the key's other clients send, so that none has to be kept for them here. */
  readonly coordinated?: boolean;
}

export interface Window {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  /** Such as `GET /inventory`. */
  readonly operations: readonly string[];
  /** The lowest remaining count reported for each operation: what it has if the window turns out to be its own. */
  readonly reported: Readonly<Record<string, number>>;
  /** When the window was first seen, what was left then, and how many of our own requests were sent since. */
  readonly seenAt: number;
  readonly atFirst: number;
  readonly sent: number;
  /** True while another client is taken to use the same window. */
  readonly sharedWithOthers: boolean;
  /** True once more was drawn in this window than we have sent. */
  readonly overdrawn: boolean;
  /** Windows in a row in which no other client was seen to draw. */
  readonly quiet: number;
}

type ReportedWindow = NonNullable<LimitHeaders['window']>;

/** Two answers may name the end of one window this far apart, ms: rounding, and the time that an answer takes. */
const SAME_WINDOW_MS = 2_500;
/** Requests left to another client that is seen to use the window. */
const OTHERS_RESERVE = 2;
/** Another client is forgotten after as many windows without it. */
const FORGOTTEN_AFTER = 5;
/** A window that ended longer ago tells nothing, ms. */
const KEPT_MS = 86_400_000;
/** More than a service has; a hostile one cannot make the state grow. */
const MOST_WINDOWS = 16;
const MOST_OPERATIONS = 32;

export function isLive(window: Window, now: number): boolean {
  return now < window.resetAt;
}

/** Returns the windows that the operation has been seen to use. */
export function windowsOf(windows: readonly Window[], operation: string): readonly Window[] {
  return windows.filter(({ operations }) => operations.includes(operation));
}

/** Returns the windows that a request of the operation may draw on: all of them where none is known. */
export function windowsFor(windows: readonly Window[], operation: string): readonly Window[] {
  const own = windowsOf(windows, operation);
  return own.length > 0 ? own : windows;
}

/** True where the window is one of `windowsFor`. */
function mayDrawOn(window: Window, windows: readonly Window[], operation: string): boolean {
  return window.operations.includes(operation) || windowsOf(windows, operation).length === 0;
}

/** Returns whether a request may be drawn from the window, those under way counted. */
export function hasRoom(
  window: Window,
  windows: readonly Window[],
  inFlight: readonly Reservation[],
  { reserve, coordinated }: Reserve,
): boolean {
  const isShared = window.sharedWithOthers && coordinated !== true;
  const wanted = isShared ? Math.max(OTHERS_RESERVE, reserve) : reserve;
  // A reserve as large as the window would let nothing through, ever.
  const kept = Math.min(wanted, Math.max(0, window.limit - 1));
  const underWay = inFlight.filter(({ operation }) => mayDrawOn(window, windows, operation)).length;
  const left = window.remaining - underWay;
  if (left - kept < 1) return false;
  // Near the edge another client may take the last ones: one at a time, each answer report what is left.
  return !isShared || underWay === 0 || left > 2 * kept + 1;
}

/** Notes that a request of ours is sent. */
export function countSent(windows: readonly Window[], operation: string): readonly Window[] {
  return windows.map((each) => (mayDrawOn(each, windows, operation) ? { ...each, sent: each.sent + 1 } : each));
}

/** Notes that the service counted a request although no answer confirmed it. */
export function countDrawn(windows: readonly Window[], operation: string, now: number): readonly Window[] {
  return windows.map((each) => {
    if (!mayDrawOn(each, windows, operation) || !isLive(each, now)) return each;
    const reported = each.reported[operation];
    return {
      ...each,
      remaining: Math.max(0, each.remaining - 1),
      reported: { ...each.reported, ...(reported !== undefined && { [operation]: Math.max(0, reported - 1) }) },
    };
  });
}

/** What an answer tells, and about which request. */
export interface Report {
  readonly now: number;
  readonly operation: string;
  readonly reported: ReportedWindow;
  /** The request, if it is known. */
  readonly sent: Reservation | undefined;
  /** Requests that are still under way. */
  readonly inFlight: readonly Reservation[];
}

/** Returns the windows after an answer that names one. */
export function observeWindow(windows: readonly Window[], report: Report): readonly Window[] {
  const { now, operation, reported } = report;
  const resetAt = now + reported.resetInMs;
  const isSame = (each: Window): boolean =>
    each.limit === reported.limit && isLive(each, now) && Math.abs(each.resetAt - resetAt) <= SAME_WINDOW_MS;
  const own = windowsOf(windows, operation);
  const same = own.find(isSame) ?? windows.find((each) => isSame(each) && !hasMore(each, report));
  if (same !== undefined) return tidy(inSame(windows, same, report, resetAt), now);
  const current = own.filter(({ limit }) => limit === reported.limit).sort((a, b) => b.resetAt - a.resetAt)[0];
  if (current === undefined) {
    // Operations that shared a window with this one are taken to share the new one.
    const operations = [...new Set([operation, ...own.flatMap((each) => each.operations)])];
    return tidy([...windows, begun(report, windows, operations)], now);
  }
  return tidy(changed(windows, current, report, resetAt), now);
}

/** An answer names the limit and the end of a window that is known. */
function inSame(windows: readonly Window[], same: Window, report: Report, resetAt: number): readonly Window[] {
  const { operation } = report;
  if (isApart(same, report)) return split(windows, same, report);
  const isKnown = same.operations.includes(operation);
  const joined = withOperation(isKnown ? merged(same, report) : recounted(same, report, windows), operation);
  // Each answer names the end or a moment after it. Of one operation the earliest is safe; several may yet prove to have
  // windows of their own.
  const end = joined.operations.length === 1 ? Math.min(same.resetAt, resetAt) : Math.max(same.resetAt, resetAt);
  return replaced(leaveEnded(windows, same, report), same, { ...joined, resetAt: end });
}

/** The window with one operation more, whose requests so far were not counted: who draws is counted from now on. */
function recounted(window: Window, report: Report, windows: readonly Window[]): Window {
  const operations = [...window.operations, report.operation];
  const remaining = Math.min(window.remaining, report.reported.remaining);
  const reported = { ...window.reported, [report.operation]: report.reported.remaining };
  return { ...window, remaining, reported, atFirst: remaining, sent: underWayIn(operations, report, windows) };
}

/** True where a window that several are thought to share proves to be none of this operation's. */
function isApart(window: Window, report: Report): boolean {
  return window.operations.some((name) => name !== report.operation) && hasMore(window, report);
}

/** True where more is left after the request than there was of that window before it: it drew on another one. */
function hasMore({ seenAt }: Window, { sent, reported }: Report): boolean {
  return sent?.left !== undefined && sent.at >= seenAt && reported.remaining >= sent.left;
}

/** The operation leaves the window that it was thought to share. */
function split(windows: readonly Window[], shared: Window, report: Report): readonly Window[] {
  const { operation } = report;
  const { [operation]: own = report.reported.remaining, ...reported } = shared.reported;
  const operations = shared.operations.filter((each) => each !== operation);
  const remaining = operations.every((name) => name in reported)
    ? Math.min(...Object.values(reported))
    : shared.remaining;
  // What looked like another client was this operation.
  const others = { overdrawn: false, sharedWithOthers: false };
  const sent = underWayIn(operations, report, windows);
  const without = { ...shared, ...others, operations, reported, remaining, atFirst: remaining, sent };
  const left = { ...report, reported: { ...report.reported, remaining: Math.min(own, report.reported.remaining) } };
  return [...replaced(windows, shared, without), begun(left, windows, [operation])];
}

/** An answer names another end of a window that the operation is known to use. */
function changed(windows: readonly Window[], current: Window, report: Report, resetAt: number): readonly Window[] {
  const { now, sent } = report;
  const isAlone = current.operations.length === 1;
  const isLater = resetAt > current.resetAt;
  if (!isLive(current, now) || (isLater && (isAlone || now >= current.resetAt - SAME_WINDOW_MS))) {
    return replaced(windows, current, renewed(current, report, windows));
  }
  // A late answer from the window before says nothing of this one.
  if (!isLater && sent !== undefined && sent.at < current.seenAt) return windows;
  if (isApart(current, report)) return split(windows, current, report);
  const longer = { ...merged(current, report), resetAt: Math.max(resetAt, current.resetAt) };
  return replaced(windows, current, longer);
}

function underWayIn(operations: readonly string[], { inFlight }: Report, windows: readonly Window[]): number {
  const isIn = (name: string): boolean => windowsOf(windows, name).length === 0 || operations.includes(name);
  return inFlight.filter(({ operation }) => isIn(operation)).length;
}

function begun(report: Report, windows: readonly Window[], operations: readonly string[]): Window {
  const { now, operation, reported } = report;
  return {
    reported: { [operation]: reported.remaining },
    limit: reported.limit,
    remaining: reported.remaining,
    resetAt: now + reported.resetInMs,
    operations,
    seenAt: now,
    atFirst: reported.remaining,
    sent: underWayIn(operations, report, windows),
    sharedWithOthers: false,
    overdrawn: false,
    quiet: 0,
  };
}

/** The next window of the same limit. */
function renewed(before: Window, report: Report, windows: readonly Window[]): Window {
  const quiet = before.overdrawn ? 0 : before.quiet + 1;
  const sharedWithOthers = before.sharedWithOthers && quiet < FORGOTTEN_AFTER;
  return { ...begun(report, windows, before.operations), sharedWithOthers, quiet };
}

/** The same window with what is left by now: it only falls. */
function merged(window: Window, { operation, reported: { remaining } }: Report): Window {
  const overdrawn = window.overdrawn || window.atFirst - remaining > window.sent;
  return {
    ...window,
    remaining: Math.min(window.remaining, remaining),
    reported: { ...window.reported, [operation]: Math.min(window.reported[operation] ?? remaining, remaining) },
    overdrawn,
    sharedWithOthers: window.sharedWithOthers || overdrawn,
  };
}

function withOperation(window: Window, operation: string): Window {
  if (window.operations.includes(operation)) return window;
  return { ...window, operations: [...window.operations, operation].slice(-MOST_OPERATIONS) };
}

/** An operation that has moved to another window of the same limit no longer belongs to the one that ended. */
function leaveEnded(windows: readonly Window[], joined: Window, { now, operation }: Report): readonly Window[] {
  const leaves = (each: Window): boolean => each !== joined && each.limit === joined.limit && !isLive(each, now);
  return windows.map((each) =>
    leaves(each) ? { ...each, operations: each.operations.filter((name) => name !== operation) } : each,
  );
}

function replaced(windows: readonly Window[], old: Window, by: Window): readonly Window[] {
  return windows.map((each) => (each === old ? by : each));
}

function tidy(windows: readonly Window[], now: number): readonly Window[] {
  const kept = windows.filter(({ operations, resetAt }) => operations.length > 0 && resetAt > now - KEPT_MS);
  return kept.length <= MOST_WINDOWS ? kept : kept.sort((a, b) => b.resetAt - a.resetAt).slice(0, MOST_WINDOWS);
}
