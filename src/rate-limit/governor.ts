/**
 * The governor: whether a request with a key may be sent now. Pure decisions over one key's state.
 * All times are ms on one monotonic timeline.
 *
 *                 first request, or window over
 *     ┌─────────┐  one probe, others wait  ┌────────┐  remaining - in flight - reserve < 1  ┌───────┐
 *     │ unknown │ ───────────────────────► │  open  │ ────────────────────────────────────► │ spent │
 *     └─────────┘      200 with headers    └────────┘ ◄──────────────────────────────────── └───────┘
 *          ▲                                 │    ▲              the window is over (probe)
 *          │ 200 without headers:        429 │    │ the probe is answered, and not refused
 *          │ one in flight, paced            ▼    │
 *          │                               ┌─────────┐   429: a further strike, twice the wait
 *          └────────────────────────────── │ blocked │ ──┐
 *           403: a ban  503: a pause ────► └─────────┘ ◄─┘
 *
 * A block belongs to the key; windows belong to the operations that use them (windows.ts).
 * Blocked: nothing is sent until the block ends; then exactly one probe request, however many callers wait.
 * Within a window `remaining` only falls. A 429 overrules any `remaining`.
 */
import { banMs, blockMs, pauseMs } from './block.ts';
import type { LimitHeaders } from './headers.ts';
import {
  countDrawn,
  countSent,
  hasRoom,
  isLive,
  observeWindow,
  type Reservation,
  type Reserve,
  type Window,
  windowsFor,
  windowsOf,
} from './windows.ts';

/** 429, 403, or a 503 that names a time. */
export const BLOCK_REASONS = ['rate-limited', 'banned', 'paused'] as const;
export type BlockReason = (typeof BLOCK_REASONS)[number];
/** `asking`: waiting for another request's response. `paced`: the service sends no limit headers, so requests are spaced. */
export type WaitReason = BlockReason | 'window-spent' | 'asking' | 'paced';

export interface Block {
  readonly since: number;
  readonly until: number;
  readonly why: BlockReason;
}

/** The pace where the service sends no limit headers. */
export interface Pace {
  readonly everyMs: number;
  readonly nextAt: number;
}

export interface LedgerState {
  readonly windows: readonly Window[];
  readonly block?: Block;
  /** 429s in a row, each to a request sent after the block before had ended. */
  readonly strikes: number;
  /** The one request that may find out whether sending is allowed again. */
  readonly probe?: Reservation;
  readonly inFlight: readonly Reservation[];
  readonly pace?: Pace;
  /** When the service last answered. */
  readonly seenAt?: number;
}

export const UNKNOWN: LedgerState = { windows: [], strikes: 0, inFlight: [] };

export interface Intent extends Reserve {
  readonly id: string;
  readonly operation: string;
  readonly maxWaitMs: number;
  /** Longest time that its answer may take, ms. */
  readonly timeoutMs: number;
}

export interface Hold {
  /** At the latest. */
  readonly until: number;
  readonly why: WaitReason;
  /** Where it may be over at any time: when to ask again. */
  readonly again?: number;
}

/** `at`: when leave was given, which does not last. */
export type Decision = { readonly do: 'send'; readonly at: number } | ({ readonly do: 'wait' | 'refuse' } & Hold);

export interface Answer {
  readonly id: string;
  readonly operation: string;
  readonly status: number;
  readonly headers: LimitHeaders;
  /** In [0, 1): the jitter of a block. */
  readonly random: number;
}

const PACE_MS = 1_000;
const SLOWEST_PACE_MS = 60_000;
/** The pace recovers by a thousandth with each answer: from half to whole in some 700. */
const RECOVERY = 0.999;
/** When to give up on a probe or reservation that was never answered: at the least. */
const LOST_AFTER_MS = 120_000;
/** How soon to ask again while another's probe is under way. */
const POLL_MS = 50;

/** Decides on a request, and reserves it where it may be sent. */
export function decide(before: LedgerState, now: number, intent: Intent): { state: LedgerState; decision: Decision } {
  const state = forgetLost(before, now);
  const held = hold(state, now, intent);
  if (held !== undefined) {
    const tooLong = (held.again ?? held.until) - now > intent.maxWaitMs;
    return { state, decision: { do: tooLong ? 'refuse' : 'wait', ...held } };
  }
  const { id, operation } = intent;
  const lostAt = now + Math.max(LOST_AFTER_MS, 2 * intent.timeoutMs);
  const left = leftOf(state, now, operation);
  const reservation = { id, operation, at: now, lostAt, ...(left !== undefined && { left }) };
  const probes = mustProbe(state, now, operation);
  return {
    state: {
      ...state,
      windows: countSent(state.windows, operation),
      inFlight: [...state.inFlight, reservation],
      ...(probes && { probe: reservation }),
    },
    decision: { do: 'send', at: now },
  };
}

function leftOf({ windows }: LedgerState, now: number, operation: string): number | undefined {
  const live = windows.filter((window) => isLive(window, now));
  const own = windowsOf(live, operation);
  const known = own.length > 0 ? own : live;
  return known.length === 0 ? undefined : Math.max(...known.map(({ remaining }) => remaining));
}

/** Returns the reason to hold a request, if any. */
function hold(state: LedgerState, now: number, intent: Intent): Hold | undefined {
  const { block, pace, inFlight } = state;
  const { operation } = intent;
  if (block !== undefined && now < block.until) return { until: block.until, why: block.why };
  const asking = mustProbe(state, now, operation) ? state.probe : undefined;
  if (asking !== undefined && !isPastFirst(state, now, operation)) return forAnswer(asking, now);
  // After a block its probe is due, whatever the windows say.
  if (block !== undefined) return undefined;
  const spent = windowsFor(state.windows, operation).filter(
    (window) => isLive(window, now) && !hasRoom(window, state.windows, inFlight, intent),
  );
  if (spent.length > 0) return { until: Math.max(...spent.map(({ resetAt }) => resetAt)), why: 'window-spent' };
  if (pace === undefined || !isWindowless(state, now, operation)) return undefined;
  const unanswered = inFlight.find((each) => isWindowless(state, now, each.operation));
  if (unanswered !== undefined) return forAnswer(unanswered, now);
  return now < pace.nextAt ? { until: pace.nextAt, why: 'paced' } : undefined;
}

/**
 * True where an operation that no answer has named yet may go beside its first request, which is slow: one a second,
 * as long as the windows that are known have room.
 */
function isPastFirst({ block, probe, windows }: LedgerState, now: number, operation: string): boolean {
  const isNew = windowsOf(windows, operation).length === 0 && windows.some((window) => isLive(window, now));
  return block === undefined && isNew && probe !== undefined && now - probe.at >= PACE_MS;
}

function forAnswer(asked: Reservation, now: number): Hold {
  return { until: asked.lostAt, why: 'asking', again: now + POLL_MS };
}

function mustProbe(state: LedgerState, now: number, operation: string): boolean {
  return state.block !== undefined || isWindowless(state, now, operation);
}

/** True where no window is known that the operation uses now. */
function isWindowless({ windows }: LedgerState, now: number, operation: string): boolean {
  return !windowsOf(windows, operation).some((window) => isLive(window, now));
}

/** Drops reservations from windows that are over, and those that were never answered. */
function forgetLost(state: LedgerState, now: number): LedgerState {
  const isKept = (each: Reservation): boolean =>
    now <= each.lostAt || windowsFor(state.windows, each.operation).some((window) => isLive(window, now));
  const { probe, ...rest } = state;
  if (state.inFlight.every(isKept) && (probe === undefined || now <= probe.lostAt)) return state;
  const inFlight = state.inFlight.filter(isKept);
  return { ...rest, inFlight, ...(probe !== undefined && now <= probe.lostAt && { probe }) };
}

/** Returns the state after an answer, whatever its headers say. */
export function observe(before: LedgerState, now: number, answer: Answer): LedgerState {
  const sent = before.inFlight.find(({ id }) => id === answer.id);
  const state = withWindows({ ...release(before, answer.id), seenAt: now }, now, answer, sent);
  const { status, headers } = answer;
  if (status === 429) return refused(state, now, answer, sent);
  const pause = status === 503 ? pauseMs(headers) : undefined;
  if (pause !== undefined) return learn(state, { since: now, until: now + pause, why: 'paused' });
  if (status === 403) return learn(state, { since: now, until: now + banMs(headers), why: 'banned' });
  // A request that was sent before the block ended does not tell what holds since then.
  if (state.block !== undefined && (sent?.at ?? 0) < state.block.until) return state;
  const { block: _over, ...open } = state;
  return { ...open, strikes: 0 };
}

/** Notes a block: of two, the one that ends later counts; a ban stays one. */
export function learn(state: LedgerState, learnt: Block): LedgerState {
  const { block } = state;
  if (block === undefined || block.until <= learnt.since) return { ...state, block: learnt };
  const why = [block.why, learnt.why].includes('banned') ? 'banned' : learnt.why;
  return { ...state, block: { since: learnt.since, until: Math.max(block.until, learnt.until), why } };
}

/** The user cleared the block: allow one probe. */
export function unblock({ block: _lifted, windows: _doubtful, pace: _slow, ...state }: LedgerState): LedgerState {
  return { ...state, windows: [], strikes: 0 };
}

/** Notes that a request got no answer. It counts as sent unless it certainly was not. */
export function lose(before: LedgerState, now: number, id: string, mayHaveBeenSent: boolean): LedgerState {
  const sent = before.inFlight.find((each) => each.id === id);
  const state = release(before, id);
  if (sent === undefined || !mayHaveBeenSent) return state;
  return { ...state, windows: countDrawn(state.windows, sent.operation, now) };
}

/**
 * Notes that a request's process is dead. The request counts as sent. If it was to find out whether a block is over,
 * its unseen answer may have been a further 429: the block continues for as long as that answer would have been awaited.
 */
export function abandon(before: LedgerState, now: number, id: string): LedgerState {
  const state = lose(before, now, id, true);
  const { block } = state;
  if (block === undefined || before.probe?.id !== id) return state;
  return { ...state, block: { ...block, since: now, until: Math.max(block.until, before.probe.lostAt) } };
}

function release(state: LedgerState, id: string): LedgerState {
  const { probe, ...rest } = state;
  const inFlight = state.inFlight.filter((each) => each.id !== id);
  return { ...rest, inFlight, ...(probe !== undefined && probe.id !== id && { probe }) };
}

function refused(state: LedgerState, now: number, answer: Answer, sent: Reservation | undefined): LedgerState {
  const { block } = state;
  // Several in flight may be refused together: that is one strike, not one each.
  const isSame = block !== undefined && sent !== undefined && sent.at < block.until;
  const strikes = isSame ? Math.max(1, state.strikes) : state.strikes + 1;
  const until = now + blockMs(answer.headers, strikes, answer.random);
  const isPaced = answer.headers.window === undefined && isWindowless(state, now, answer.operation);
  const everyMs = Math.min(SLOWEST_PACE_MS, (state.pace?.everyMs ?? PACE_MS) * 2);
  return {
    ...learn(state, { since: now, until, why: 'rate-limited' }),
    strikes,
    ...(isPaced && !isSame && { pace: { everyMs, nextAt: now + everyMs } }),
  };
}

/** Takes up what an answer tells of the windows; without headers, of the pace. */
function withWindows(state: LedgerState, now: number, answer: Answer, sent: Reservation | undefined): LedgerState {
  const { headers, operation, status } = answer;
  if (headers.window !== undefined) {
    const reported = status === 429 ? { ...headers.window, remaining: 0 } : headers.window;
    const report = { now, operation, reported, sent, inFlight: state.inFlight };
    return { ...state, windows: observeWindow(state.windows, report) };
  }
  // One answer without headers within a known window: count it ourselves.
  if (!isWindowless(state, now, operation)) return { ...state, windows: countDrawn(state.windows, operation, now) };
  if (status === 429) return state;
  const everyMs = Math.max(PACE_MS, (state.pace?.everyMs ?? PACE_MS) * RECOVERY);
  return { ...state, pace: { everyMs, nextAt: (sent?.at ?? now) + everyMs } };
}
