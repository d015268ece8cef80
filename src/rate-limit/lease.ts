/**
 * What one machine was lent of the windows that several machines share: how many requests it may send before it asks the
 * Redis server again. All processes of the machine share it. Pure: what to ask, and the key's state after the reply.
 * Machine and server exchange only how long ago something was and how long it lasts: no two clocks need to agree.
 */
import {
  type Block,
  decide,
  type Decision,
  held,
  type Hold,
  type Instant,
  type Intent,
  learn,
  type Lease,
  type LedgerState,
} from './governor.ts';
import { shift } from './ledger.ts';
import { mergeWindow, type Window, windowsFor } from './windows.ts';

/** A key's state on a machine that shares its windows with others. */
export type Leased = LedgerState & { readonly lease: Lease };

/** What a machine asks. */
export interface Question {
  /** Permits; `waiting`: how many requests of this process wait for them. */
  readonly want?: Pick<Intent, 'operation' | 'reserve' | 'timeoutMs'> & { readonly waiting: number };
  /** The server replaces what it counts as lent. */
  readonly settles?: boolean;
  /** The user clears the block. */
  readonly clears?: boolean;
  /** The probe was answered, and not refused. */
  readonly opened?: boolean;
}

/** What the server answers: times from its arrival on, or for `cleared` back from it. */
export interface Reply {
  readonly id: string;
  /** The server's clock, as if it had never been set. */
  readonly t: number;
  /** By how many ms it has been. */
  readonly setBy: number;
  readonly machines: number;
  readonly strikes: number;
  /** True while a probe has to go first. */
  readonly closed: boolean;
  readonly windows: Readonly<
    Record<string, Omit<Window, 'operation' | 'apart'> & { readonly apart: Readonly<Record<string, boolean>> }>
  >;
  readonly block?: Block;
  readonly cleared?: number;
  readonly hold?: Pick<Hold, 'why' | 'again'> & { readonly left: number; readonly spread: number };
  readonly granted?: { readonly many: number; readonly lasts: number; readonly probes: boolean };
}

/** How long the server may take for one step, its connection included, ms. */
export const ASKING_MS = 2_000;
/** How soon to look again while another process of this machine asks the server, ms. */
const POLL_MS = 20;
const TWICE_WITHIN_MS = 1_000;
/** A permit counts this long after the newest reply: another machine may have been refused since. */
const FRESH_MS = 500;
const SOONEST_TRY_MS = 1_000;
const LATEST_TRY_MS = 30_000;
/** Of a window whose length is unknown. */
const LENGTH_MS = 60_000;

export function withLease(state: LedgerState, newMachine: () => string): Leased {
  const { lease = { machine: newMachine(), machines: 1, permits: {}, holds: {} } } = state;
  return { ...state, lease };
}

/**
 * Decides as this machine first: what it knows needs no question. Then by what it was lent. No decision: the server has to
 * be asked, which one process of the machine does at a time.
 * @param shares sends a part of the limit while the server is lost
 */
export function decideLeased(
  before: Leased,
  now: number,
  intent: Intent,
  shares: boolean,
): { readonly state: Leased; readonly decision?: Decision } {
  const { operation } = intent;
  const { lease } = before;
  const { state, decision } = decide(before, now, intent);
  if (decision.do !== 'send') return { state: { ...state, lease }, decision };
  const taken = takePermit(lease, now, operation) ?? (shares ? takeShare(before, now, operation) : undefined);
  if (taken !== undefined) return { state: { ...state, lease: taken }, decision };
  const hold = heldBy(lease, now, operation);
  if (hold !== undefined) return { state: before, decision: held(hold, now, intent) };
  return { state: { ...before, lease: { ...lease, askedUntil: now + ASKING_MS } } };
}

function hasPermit({ permits }: Lease, now: number, operation: string): boolean {
  const { many, until } = permits[operation] ?? { many: 0, until: 0 };
  return many > 0 && now < until;
}

/** Takes one permit of the operation; undefined: the server has to be asked for one, or whether it still counts. */
function takePermit(lease: Lease, now: number, operation: string): Lease | undefined {
  const permits = lease.permits[operation];
  const isFresh = lease.lost !== undefined ? now < lease.lost.next : now - (lease.met?.monotonic ?? 0) <= FRESH_MS;
  if (permits === undefined || !hasPermit(lease, now, operation) || !isFresh) return undefined;
  return { ...lease, permits: { ...lease.permits, [operation]: { ...permits, many: permits.many - 1 } } };
}

/**
 * Takes a part of the window while the server is lost: after the longest window that is known, one request in the time
 * that each machine has for one; one a minute where no window is known. Undefined: none is due.
 */
function takeShare({ windows, lease }: Leased, now: number, operation: string): Lease | undefined {
  const { lost, machines } = lease;
  if (lost === undefined) return undefined;
  const lengths = windows.map(({ lengthMs = LENGTH_MS }) => lengthMs);
  if (now < (lost.shareAt ?? lost.since + Math.max(LENGTH_MS, ...lengths))) return undefined;
  const known = windowsFor(windows, operation, now);
  const spacings = known.map(({ limit, lengthMs = LENGTH_MS }) => (lengthMs * machines) / Math.max(1, limit));
  return { ...lease, lost: { ...lost, shareAt: now + (known.length === 0 ? LENGTH_MS : Math.max(...spacings)) } };
}

/** Returns what holds an operation back that has no permit; undefined: the server can be asked. */
function heldBy({ askedUntil, holds, lost }: Lease, now: number, operation: string): Hold | undefined {
  if (lost !== undefined && now < lost.next) {
    return { until: lost.next, why: 'ledger-lost', again: lost.next, says: lost.says };
  }
  const hold = holds[operation];
  if (hold !== undefined && now < (hold.again ?? hold.until)) return hold;
  if (askedUntil === undefined || now >= askedUntil) return undefined;
  return { until: askedUntil, why: 'asking', again: now + POLL_MS };
}

/** True while the request that finds out whether sending is allowed is under way, or still to be sent. */
export function isProbing({ inFlight, lease }: Leased, now: number): boolean {
  const { permits, probesSince } = lease;
  if (probesSince === undefined) return false;
  const isUnsent = Object.keys(permits).some((operation) => hasPermit(lease, now, operation));
  return isUnsent || inFlight.some(({ at }) => at >= probesSince);
}

/** Returns what to tell the server: times from now on. @param newId of its state, should it have none */
export function reportOf(
  { block, inFlight, lease, strikes, windows }: Leased,
  { monotonic: now, wall }: Instant,
  newId: string,
  { want, settles, clears = false, opened = false }: Question,
) {
  const { machine, met, granted, permits } = lease;
  // Requests under way, and those that may still be sent.
  const lent: Record<string, number> = {};
  const add = (operation: string, many: number): void => void (lent[operation] = (lent[operation] ?? 0) + many);
  for (const { operation } of inFlight) add(operation, 1);
  for (const [operation, { many }] of Object.entries(permits))
    if (hasPermit(lease, now, operation)) add(operation, many);
  const usedUp = granted !== undefined && now - granted.at < TWICE_WITHIN_MS ? 2 * granted.many : 1;
  return {
    ...{ machine, newId, strikes, windows: shift(windows, -now) },
    ...{ opened, clear: clears, probing: isProbing({ inFlight, lease, strikes, windows }, now) },
    ...(block !== undefined && now < block.until && { block: shift(block, -now) }),
    ...(met !== undefined && {
      id: met.id,
      setBy: met.setBy,
      monotonic: met.server + now - met.monotonic,
      wall: met.server + wall - met.wall,
    }),
    ...(settles === true && { lent }),
    // Permits that are left only need to be confirmed.
    ...(want !== undefined &&
      !hasPermit(lease, now, want.operation) && { want: { ...want, count: Math.max(want.waiting, usedUp) } }),
  };
}

/** Parses a reply; undefined: it is not one. */
export function parseReply(text: string): Reply | undefined {
  try {
    const reply = JSON.parse(text) as Reply | null;
    return typeof reply?.t === 'number' ? reply : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the state after a reply. @param random in [0, 1): spreads out those that ask again */
export function afterReply(before: Leased, instant: Instant, reply: Reply, question: Question, random: number): Leased {
  const now = instant.monotonic;
  const { block, ...rest } = before;
  // What a user has cleared, on another machine perhaps, is forgotten here, too.
  const cleared = now - (reply.cleared ?? Number.POSITIVE_INFINITY);
  const isBlocked = block !== undefined && block.since > cleared && (now < block.until || reply.closed);
  const windows = Object.entries(shift(reply.windows, now)).reduce<readonly Window[]>(
    (all, [operation, { apart, ...found }]) => mergeWindow(all, { operation, ...found, apart: Object.keys(apart) }),
    before.windows.filter(({ answeredAt }) => answeredAt > cleared),
  );
  const state: LedgerState = {
    ...rest,
    windows,
    ...(isBlocked && { block }),
    strikes: isBlocked && reply.block === undefined ? before.strikes : reply.strikes,
  };
  const learnt = reply.block === undefined ? state : learn(state, shift(reply.block, now));
  return { ...learnt, lease: leaseAfter(before, instant, reply, question, random) };
}

function leaseAfter(before: Leased, instant: Instant, reply: Reply, question: Question, random: number): Lease {
  const now = instant.monotonic;
  const { askedUntil, lost: _found, probesSince, ...lease } = before.lease;
  const { granted, hold, id, machines } = reply;
  const since = granted?.probes === true ? now : isProbing(before, now) ? probesSince : undefined;
  const next: Lease = {
    ...{ ...lease, machines, met: { id, setBy: reply.setBy, server: reply.t, ...instant } },
    ...(since !== undefined && { probesSince: since }),
    ...(question.settles !== true && askedUntil !== undefined && { askedUntil }),
  };
  const { operation = '' } = question.want ?? {};
  if (granted !== undefined) {
    const left = hasPermit(lease, now, operation) ? lease.permits[operation]!.many : 0;
    const permits = { many: left + granted.many, until: now + granted.lasts };
    return { ...next, permits: { ...lease.permits, [operation]: permits }, granted: { many: granted.many, at: now } };
  }
  if (hold === undefined) return next;
  // Machines that wait for the same moment come one after another.
  const until = now + hold.left + hold.spread * random;
  const again = hold.again === undefined ? {} : { again: Math.min(until, now + hold.again * (0.5 + random)) };
  return { ...next, holds: { ...lease.holds, [operation]: { until, why: hold.why, ...again } } };
}

/** Returns the state after the server did not answer. Each wait for the next try is twice as long as the one before. */
export function afterLoss(before: Leased, now: number, says: string): Leased {
  const { askedUntil: _asked, lost = { since: now }, ...lease } = before.lease;
  const next = now + Math.min(LATEST_TRY_MS, now - lost.since + SOONEST_TRY_MS);
  return { ...before, lease: { ...lease, lost: { ...lost, says, next } } };
}
