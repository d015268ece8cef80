/**
 * The governor: whether a request with a key may be sent now. Pure decisions over one key's state.
 * All times are ms on one monotonic timeline.
 *
 *                 first request, or window over
 *     ┌─────────┐  one probe, others wait  ┌────────┐  remaining - in flight - reserve < 1  ┌───────┐
 *     │ unknown │ ───────────────────────► │  open  │ ────────────────────────────────────► │ spent │
 *     └─────────┘      200 with headers    └────────┘ ◄──────────────────────────────────── └───────┘
 *          ▲                                 │    ▲              the window is over (probe)
 *          │ 200 without headers:        429 │    │ the probe is answered, not with 429
 *          │ one in flight, one a second     ▼    │
 *          │                               ┌─────────┐   429: a further strike, twice the wait
 *          └────────────────────────────── │ blocked │ ──┐
 *                      403: one hour ────► └─────────┘ ◄─┘
 *
 * Blocked: nothing is sent before the block ends; then exactly one request, the probe, whoever waits.
 * Within a window `remaining` only falls. A 429 overrules any `remaining`.
 */
import { blockMs } from './block.ts';
import type { LimitHeaders } from './headers.ts';

export type BlockReason = 'rate-limited' | 'banned';
/** `asking`: another request is under way whose answer tells. `paced`: no limits are told, so one request a second. */
export type WaitReason = BlockReason | 'window-spent' | 'asking' | 'paced';

export interface Window {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
}

export interface Block {
  readonly since: number;
  readonly until: number;
  readonly why: BlockReason;
}

export interface Reservation {
  readonly id: string;
  readonly at: number;
}

export interface LedgerState {
  readonly window?: Window;
  readonly block?: Block;
  /** 429s in a row, each to a request sent after the block before had ended. */
  readonly strikes: number;
  /** The one request that may find out how things stand. */
  readonly probe?: Reservation;
  readonly inFlight: readonly Reservation[];
  /** Answers come without usable headers: not before this, and one at a time. */
  readonly pacedUntil?: number;
  /** Requests let through since the ledger began. */
  readonly admitted: number;
  /** When the window was first seen, what was left then, and how many of ours had been let through and answered. */
  readonly baseline?: { readonly at: number; readonly remaining: number; readonly admitted: number };
  /** Somebody else draws on the key too. */
  readonly foreign: boolean;
  /** When the service last answered. */
  readonly seenAt?: number;
}

export const UNKNOWN: LedgerState = { strikes: 0, inFlight: [], admitted: 0, foreign: false };

export interface Intent {
  readonly id: string;
  readonly maxWaitMs: number;
  /** Requests to leave for others. */
  readonly reserve: number;
}

export interface Hold {
  /** At the latest. */
  readonly until: number;
  readonly why: WaitReason;
  /** Where it may be over at any time: when to ask again. */
  readonly again?: number;
}

export type Decision = { readonly do: 'send' } | ({ readonly do: 'wait' | 'refuse' } & Hold);

export interface Answer {
  readonly id: string;
  readonly status: number;
  readonly headers: LimitHeaders;
  /** In [0, 1): the jitter of a block. */
  readonly random: number;
}

const BAN_MS = 3_600_000;
const PACE_MS = 1_000;
/** A probe or reservation whose answer never came, its process killed for instance. */
const LOST_AFTER_MS = 120_000;
/** How soon to ask again while another's probe is under way. */
const POLL_MS = 50;
const FOREIGN_RESERVE = 2;
/** Two answers of one window may name its end this much apart: rounding, and the way of the answer. */
const SAME_WINDOW_MS = 2_500;

export function decide(before: LedgerState, now: number, intent: Intent): { state: LedgerState; decision: Decision } {
  const state = forgetLost(before, now);
  const held = hold(state, now, intent.reserve);
  if (held !== undefined) {
    const tooLong = (held.again ?? held.until) - now > intent.maxWaitMs;
    return { state, decision: { do: tooLong ? 'refuse' : 'wait', ...held } };
  }
  const reservation = { id: intent.id, at: now };
  const asks = mustProbe(state, now);
  return {
    state: {
      ...state,
      inFlight: [...state.inFlight, reservation],
      admitted: state.admitted + 1,
      ...(asks && { probe: reservation }),
    },
    decision: { do: 'send' },
  };
}

/** What keeps a request back, if anything does. */
function hold(state: LedgerState, now: number, reserve: number): Hold | undefined {
  const { block, window, pacedUntil, inFlight } = state;
  if (block !== undefined && now < block.until) return { until: block.until, why: block.why };
  if (mustProbe(state, now)) {
    if (state.probe !== undefined) return forAnswer(state.probe, now);
    // A block that has ended needs no further word: its probe is due.
    if (block === undefined && pacedUntil !== undefined) {
      if (inFlight[0] !== undefined) return forAnswer(inFlight[0], now);
      if (now < pacedUntil) return { until: pacedUntil, why: 'paced' };
    }
    return undefined;
  }
  const live = window as Window;
  return mayDraw(state, live, reserve) ? undefined : { until: live.resetAt, why: 'window-spent' };
}

function forAnswer(asked: Reservation, now: number): Hold {
  return { until: asked.at + LOST_AFTER_MS, why: 'asking', again: now + POLL_MS };
}

function mustProbe({ block, window }: LedgerState, now: number): boolean {
  return block !== undefined || window === undefined || now >= window.resetAt;
}

function mayDraw({ foreign, inFlight }: LedgerState, window: Window, reserve: number): boolean {
  const kept = foreign ? Math.max(FOREIGN_RESERVE, reserve) : reserve;
  const left = window.remaining - inFlight.length;
  if (left - kept < 1) return false;
  // Near the edge another client may take the last ones: one at a time, each answer telling what is left.
  return !foreign || inFlight.length === 0 || left > 2 * kept + 1;
}

/** Reservations of a window that is over, and those that nobody will answer any more. */
function forgetLost(state: LedgerState, now: number): LedgerState {
  const isLost = (each: Reservation): boolean => now - each.at > LOST_AFTER_MS;
  const over = state.window !== undefined && now >= state.window.resetAt;
  const inFlight = state.inFlight.filter((each) => !isLost(each) || (state.window !== undefined && !over));
  const { probe, ...rest } = state;
  return { ...rest, inFlight, ...(probe !== undefined && !isLost(probe) && { probe }) };
}

/** What the answer to a request tells. Total over any headers. */
export function observe(before: LedgerState, now: number, answer: Answer): LedgerState {
  const sent = before.inFlight.find(({ id }) => id === answer.id);
  const state = { ...release(before, answer.id), seenAt: now };
  if (answer.status === 429) return refused(state, now, answer, sent);
  if (answer.status === 403) {
    const until = Math.max(now + BAN_MS, state.block?.until ?? 0);
    return { ...withWindow(state, now, answer.headers, sent), block: { since: now, until, why: 'banned' } };
  }
  const next = withWindow(state, now, answer.headers, sent);
  // An answer to what was sent before the block says nothing of how things stand since.
  if (next.block !== undefined && (sent?.at ?? 0) < next.block.until) return next;
  const { block: _over, ...open } = next;
  return { ...open, strikes: 0 };
}

/** Somebody who knows better says that the block is over: one probe may ask. */
export function unblock({ block: _lifted, window: _doubtful, ...state }: LedgerState): LedgerState {
  return { ...state, strikes: 0 };
}

/** A request that got no answer. It counts as drawn unless it certainly never left. */
export function lose(before: LedgerState, now: number, id: string, mayHaveBeenSent: boolean): LedgerState {
  const isOurs = before.inFlight.some((each) => each.id === id);
  const state = release(before, id);
  if (!isOurs || !mayHaveBeenSent || state.window === undefined || now >= state.window.resetAt) return state;
  return { ...state, window: { ...state.window, remaining: Math.max(0, state.window.remaining - 1) } };
}

/**
 * A request whose process is no more. It counts as drawn, and nobody waits for it. But where it was to find out whether
 * a block is over, its unseen answer may have been a further 429: the block goes on until it would be given up anyway.
 */
export function abandon(before: LedgerState, now: number, id: string): LedgerState {
  const state = lose(before, now, id, true);
  const { block } = state;
  if (block === undefined || before.probe?.id !== id) return state;
  return { ...state, block: { ...block, until: Math.max(block.until, before.probe.at + LOST_AFTER_MS) } };
}

function release(state: LedgerState, id: string): LedgerState {
  const { probe, ...rest } = state;
  const inFlight = state.inFlight.filter((each) => each.id !== id);
  return { ...rest, inFlight, ...(probe !== undefined && probe.id !== id && { probe }) };
}

function refused(state: LedgerState, now: number, answer: Answer, sent: Reservation | undefined): LedgerState {
  const { block } = state;
  // Several in flight may be refused together: that is one strike, not one each.
  const sentBefore = block !== undefined && sent !== undefined && sent.at < block.until;
  const strikes = sentBefore ? Math.max(1, state.strikes) : state.strikes + 1;
  const until = Math.max(now + blockMs(answer.headers, strikes, answer.random), block?.until ?? 0);
  const { window } = answer.headers;
  return {
    ...state,
    strikes,
    block: { since: now, until, why: block?.why === 'banned' && now < block.until ? 'banned' : 'rate-limited' },
    ...(window !== undefined && { window: { limit: window.limit, remaining: 0, resetAt: now + window.resetInMs } }),
  };
}

function withWindow(
  state: LedgerState,
  now: number,
  headers: LimitHeaders,
  sent: Reservation | undefined,
): LedgerState {
  const { window: old } = state;
  const live = old !== undefined && now < old.resetAt;
  const told = headers.window;
  if (told === undefined) {
    // One answer without headers within a known window: count it ourselves.
    if (live) return { ...state, window: { ...old, remaining: Math.max(0, old.remaining - 1) } };
    const { window: _gone, baseline: _stale, ...rest } = state;
    return { ...rest, pacedUntil: (sent?.at ?? now) + PACE_MS };
  }
  const { pacedUntil: _unpaced, ...unpaced } = state;
  const resetAt = now + told.resetInMs;
  const answered = state.admitted - state.inFlight.length;
  if (!live || resetAt > old.resetAt + SAME_WINDOW_MS) {
    const window = { limit: told.limit, remaining: told.remaining, resetAt };
    return { ...unpaced, window, baseline: { at: now, remaining: told.remaining, admitted: answered } };
  }
  const baseline = state.baseline ?? { at: now, remaining: old.remaining, admitted: answered };
  // A late answer from the window before says nothing of this one.
  const isPast = resetAt < old.resetAt - SAME_WINDOW_MS && told.limit === old.limit;
  if (isPast && sent !== undefined && sent.at < baseline.at) return unpaced;
  const drawn = baseline.remaining - told.remaining;
  return {
    ...unpaced,
    baseline,
    foreign: state.foreign || drawn > state.admitted - baseline.admitted,
    window: {
      limit: told.limit,
      remaining: Math.min(old.remaining, told.remaining),
      resetAt: Math.max(resetAt, old.resetAt),
    },
  };
}
