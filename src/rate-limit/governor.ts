/**
 * The governor: decides whether a request with a key may be sent now. Pure functions of one key's state (src/README.md
 * has a diagram). All times are ms on one monotonic timeline.
 * A block belongs to the key; windows belong to the operations that use them (windows.ts).
 * Blocked: nothing is sent until the block ends; then exactly one probe request, however many callers wait.
 * Within a window `remaining` only falls. A 429 overrules any `remaining`.
 */
import type { WaitReason } from '../ports.ts';
import { type BlockReason, type LimitHeaders, refusalOf } from './headers.ts';
import {
  addressOf,
  arrivedBy,
  type Demand,
  isWindowless,
  type Known,
  LATE_MS,
  lengthOf,
  liveWindows,
  type Lost,
  observeWindow,
  type Reservation,
  windowOf,
  windowsFor,
} from './windows.ts';

export interface Block {
  readonly since: number;
  readonly until: number;
  readonly why: BlockReason;
}

/** The permits that the Redis server has lent to this machine (lease.ts). */
export interface Lease {
  /** Random name of this state folder since the machine started. */
  readonly machine: string;
  /** The Redis server that lent the permits. */
  readonly server: string;
  /** From the newest reply: the id of the server's state, and the readings of the three clocks. */
  readonly met?: Instant & { readonly id: string; readonly setBy: number; readonly server: number };
  /** How many machines share the key. */
  readonly machines: number;
  /** By operation: how many requests may still be sent (`many`), and how many were lent at the time `at`. */
  readonly permits: Readonly<Record<string, Readonly<Record<'many' | 'until' | 'lent' | 'at', number>>>>;
  /** By operation: why the server had no permit, and until when. */
  readonly holds: Readonly<Record<string, Hold>>;
  /** Until when one process of this machine is asking the server. Only one asks at a time. */
  readonly askedUntil?: number;
  readonly lost?: Loss;
}

/** A Redis server that does not work. */
export interface Loss {
  readonly since: number;
  readonly says: string;
  /** When to try it again. */
  readonly next: number;
  /** When this machine last sent a request as its share of the window. */
  readonly sharedAt?: number;
}

/** Readings of this machine's clocks: ms since it started, and since the epoch. */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

export interface LedgerState extends Known {
  readonly block?: Block;
  /** 429s in a row, each to a request that was sent after the block before it had ended. */
  readonly strikes: number;
  /** The pace of requests to a service that sends no limit headers; `operation` is the one that was answered so last. */
  readonly pace?: { readonly everyMs: number; readonly nextAt: number; readonly operation: string };
  /** When the service last answered. */
  readonly seenAt?: number;
  /** Present where several machines share the key. */
  readonly lease?: Lease;
}

export const UNKNOWN: LedgerState = { windows: [], strikes: 0, inFlight: [], lost: [] };

export interface Intent extends Demand {
  readonly id: string;
  /** Longest time to wait for its answer, in ms. */
  readonly timeoutMs: number;
}

export interface Hold {
  /** When the wait is over at the latest. */
  readonly until: number;
  readonly why: WaitReason;
  /** When to ask again, if the wait may be over at any time. */
  readonly again?: number;
  /** What the server said last, for `ledger-lost`. */
  readonly says?: string;
}

export interface Answer {
  readonly id: string;
  readonly operation: string;
  readonly status: number;
  readonly headers: LimitHeaders;
  /** Jitter of a block, in [0, 1). */
  readonly random: number;
}

const PACE_MS = 1_000;
const SLOWEST_PACE_MS = 60_000;
/** Each answer shortens the time between requests by a thousandth: 700 answers halve it. */
const RECOVERY = 0.999;
/** How soon to check again while another process's probe is in flight, in ms. */
const POLL_MS = 50;
/** How many requests at the end of a window go one at a time, because another client may take some. */
const EDGE = 2;

/** Decides whether a request may be sent: reserves a place for it, or returns why it has to wait. */
export function decide(before: LedgerState, now: number, intent: Intent): { state: LedgerState; hold?: Hold } {
  const { id, operation, timeoutMs } = intent;
  const counts = (each: Lost | Reservation, until: number): boolean =>
    now <= until || windowsFor(before.windows, each.operation, now).length > 0;
  // Drops its own reservation, and requests without an answer whose window has ended.
  const inFlight = before.inFlight.filter((each) => each.id !== id && counts(each, each.lostAt));
  const lost = before.lost.filter((each) => counts(each, each.at + LATE_MS));
  const isSame = inFlight.length === before.inFlight.length && lost.length === before.lost.length;
  // The same object need not be written.
  const state = isSame ? before : { ...before, inFlight, lost };
  // The probe after a block tells of all addresses, any other of its own.
  const tells = (probe: Reservation): boolean =>
    probe.isProbe === true && (state.block !== undefined || addressOf(probe.operation) === addressOf(operation));
  const probe = inFlight.findLast((each) => tells(each) && now <= each.lostAt);
  const isAsked = probe !== undefined && mustProbe(state, now, operation) && now >= (state.block?.until ?? now);
  const isHeld = isAsked && !isPastFirst(state, now, operation, probe);
  const hold = isHeld ? forAnswer(probe, now) : forecast(state, now, intent);
  if (hold !== undefined) return { state, hold };
  const lostAt = now + timeoutMs + LATE_MS;
  const reservation = { id, operation, at: now, lostAt, ...(mustProbe(state, now, operation) && { isProbe: true }) };
  return { state: { ...state, inFlight: [...state.inFlight, reservation] } };
}

/** True if a wait is longer than allowed. A ban always is: it needs a person. */
export function isTooLong({ again, until, why }: Hold, now: number, maxWaitMs: number): boolean {
  return why === 'banned' || (again ?? until) - now > maxWaitMs;
}

/**
 * True if an operation without a window may be sent although its first request is still unanswered: once a second, as
 * long as the known windows have room.
 */
function isPastFirst({ block, windows }: LedgerState, now: number, operation: string, probe: Reservation): boolean {
  const isNew = windowOf(windows, operation) === undefined && windowsFor(windows, operation, now).length > 0;
  return block === undefined && isNew && now - probe.at >= PACE_MS;
}

/** Returns until when a demand has to wait, and why, as far as is known; undefined if it need not wait. */
export function forecast(state: LedgerState, now: number, demand: Demand): Hold | undefined {
  const { block, pace, inFlight, windows } = state;
  const { operation, count = 1 } = demand;
  if (block !== undefined) {
    if (now < block.until) return { until: block.until, why: block.why };
    // After a block, one probe is due whatever the windows say: not of an operation that had none left before.
    const own = windowOf(windows, operation);
    const isSpent = own?.remaining === 0 && own.answeredAt < block.since && now < own.resetAt;
    return isSpent ? { until: own.resetAt, why: 'window-spent' } : undefined;
  }
  const full = untilRoom(state, demand, now);
  if (full !== undefined) return full;
  if (pace === undefined || !isWindowless(state, now, operation)) return undefined;
  // One answer without headers, such as a 502 of a load balancer, says nothing about many requests of a known window.
  const isKnownToCount = windowOf(windows, operation) !== undefined || windowsFor(windows, operation, now).length > 0;
  if (count > 1 && isKnownToCount) return undefined;
  const unanswered = inFlight.find((each) => isWindowless(state, now, each.operation));
  if (unanswered !== undefined && count === 1) return forAnswer(unanswered, now);
  const until = pace.nextAt + (count - 1) * pace.everyMs;
  return now < until ? { until, why: 'paced' } : undefined;
}

/** Returns the wait until all the windows have room for the demand. Requests in flight count as sent. */
function untilRoom(known: Known, { operation, reserve, count = 1, share }: Demand, now: number): Hold | undefined {
  const full = liveWindows(known, now, operation).flatMap((window): Hold[] => {
    const { limit, resetAt, left, isPending } = window;
    const wanted = reserve > 0 && reserve < 1 ? Math.floor(limit * reserve) : reserve;
    // A reserve as large as the window would never let anything through.
    const kept = Math.min(wanted, Math.max(0, limit - 1));
    const free = Math.max(0, left - kept);
    if (share !== undefined) {
      return [{ until: now + (resetAt - now) / Math.max(1, Math.floor(free * share)), why: 'window-spent' }];
    }
    // A request that is still on its way may leave room.
    if (count <= free)
      return left <= EDGE && isPending ? [{ until: resetAt, why: 'asking', again: now + POLL_MS }] : [];
    const windows = Math.ceil((count - free) / Math.max(1, limit - kept));
    return [{ until: resetAt + (windows - 1) * lengthOf(window), why: 'window-spent' }];
  });
  return full.sort((a, b) => b.until - a.until)[0];
}

function forAnswer(asked: Reservation, now: number): Hold {
  return { until: asked.lostAt, why: 'asking', again: now + POLL_MS };
}

/** True if the next request of the operation is a probe: its answer tells whether others may be sent. */
export function mustProbe(state: LedgerState, now: number, operation: string): boolean {
  return state.block !== undefined || isWindowless(state, now, operation);
}

export function observe(before: LedgerState, now: number, answer: Answer): LedgerState {
  const { id, status, headers, random } = answer;
  const sent = before.inFlight.find((each) => each.id === id);
  const inFlight = before.inFlight.filter((each) => each !== sent);
  const state = withWindows({ ...before, inFlight, seenAt: now }, now, answer, sent);
  const { block, ...open } = state;
  // Several requests in flight may be refused together: that counts as one 429.
  const struck = isKnown(state, sent) ? Math.max(1, state.strikes) : state.strikes + 1;
  const strikes = status === 429 ? struck : state.strikes;
  const refusal = refusalOf(status, headers, strikes, random);
  if (refusal !== undefined) {
    return { ...learn(state, { since: now, until: now + refusal.ms, why: refusal.why }), strikes };
  }
  // The answer to a request that was sent before the block ended does not end the block.
  return block !== undefined && (sent?.at ?? 0) < block.until ? state : { ...open, strikes: 0 };
}

/** True if a request was sent before the block had ended: its refusal tells nothing new. */
function isKnown({ block }: LedgerState, sent: Reservation | undefined): boolean {
  return block !== undefined && sent !== undefined && sent.at < block.until;
}

/** Notes a block. Of two blocks the later end counts, and a ban stays a ban. */
export function learn(state: LedgerState, learnt: Block): LedgerState {
  const { block } = state;
  if (block === undefined || block.until <= learnt.since) return { ...state, block: learnt };
  const why = [block.why, learnt.why].includes('banned') ? 'banned' : learnt.why;
  return { ...state, block: { since: learnt.since, until: Math.max(block.until, learnt.until), why } };
}

/** True for a block without a length: nothing is known about the key, so one probe goes first (lease-script.ts). */
export function isNameless({ since, until }: Block): boolean {
  return until === since;
}

/** Clears the block for the user: one probe may be sent. */
export function unblock({ block: _lifted, windows: _doubtful, pace: _slow, ...state }: LedgerState): LedgerState {
  return { ...state, windows: [], strikes: 0 };
}

/** Notes that a request got no answer. It counts as sent unless it certainly was not sent. */
export function lose(before: LedgerState, now: number, id: string, mayHaveBeenSent: boolean): LedgerState {
  const sent = before.inFlight.find((each) => each.id === id);
  if (sent === undefined) return before;
  const state = { ...before, inFlight: before.inFlight.filter((each) => each !== sent) };
  return mayHaveBeenSent ? countLost(state, sent.operation, now) : state;
}

/** Counts a request that no answer has counted. */
function countLost(state: LedgerState, operation: string, at: number): LedgerState {
  const known = state.lost.find((each) => each.operation === operation) ?? { many: 0, at };
  const lost = { operation, many: known.many + 1, at: Math.max(known.at, at) };
  return { ...state, lost: [lost, ...state.lost.filter((each) => each !== known)] };
}

/**
 * Notes that a request's process is dead. The request counts as sent. If it was the probe after a block, its answer may
 * have been another 429: the block continues for as long as that answer would have been awaited.
 */
export function abandon(before: LedgerState, now: number, { id, at, isProbe, lostAt }: Reservation): LedgerState {
  const state = lose(before, at, id, true);
  const { block } = state;
  if (block === undefined || isNameless(block) || isProbe !== true) return state;
  return { ...state, block: { ...block, since: now, until: Math.max(block.until, lostAt) } };
}

/** Updates the windows from an answer's headers, or the pace if it has none. */
function withWindows(state: LedgerState, now: number, answer: Answer, sent: Reservation | undefined): LedgerState {
  const { headers, operation, status } = answer;
  if (headers.window !== undefined) {
    const sentAt = sent?.at ?? now;
    const reported = { ...headers.window, ...(status === 429 && { remaining: 0 }) };
    const windows = observeWindow(state.windows, reported, { operation, sentAt, now, isSuccess: status < 300 });
    const own = windowOf(windows, operation)!;
    const lost = state.lost.filter((each) => each.operation !== operation || sentAt <= arrivedBy(each, own));
    const { pace, ...paceless } = state;
    return { ...(pace?.operation === operation ? paceless : state), windows, lost };
  }
  // An answer without headers within a known window: count it here.
  if (!isWindowless(state, now, operation)) return countLost(state, operation, now);
  const isRefused = status === 429;
  if (isRefused && isKnown(state, sent)) return state;
  const { everyMs: before = PACE_MS } = state.pace ?? {};
  const everyMs = isRefused ? Math.min(SLOWEST_PACE_MS, before * 2) : Math.max(PACE_MS, before * RECOVERY);
  return { ...state, pace: { everyMs, nextAt: (isRefused ? now : (sent?.at ?? now)) + everyMs, operation } };
}
