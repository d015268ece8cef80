/**
 * What one machine was lent of the windows that several machines share: how many requests it may send before it asks the
 * Redis server again. All processes of the machine share it. Pure: what to ask, and the key's state after the reply.
 * The server is told, and tells, only how long ago something was and how long it lasts: no two clocks need to agree.
 */
import * as z from 'zod/mini';
import {
  BLOCK_REASONS,
  type Hold,
  type Instant,
  type Intent,
  learn,
  type Lease,
  type LedgerState,
} from './governor.ts';
import { shift } from './rebase.ts';
import { mergeWindow, type Window, windowsFor } from './windows.ts';

/** A key's state on a machine that shares its windows with others. */
export type Leased = LedgerState & { readonly lease: Lease };

/** `waiting`: how many requests of this process wait for permits. */
export type Want = Pick<Intent, 'operation' | 'reserve' | 'timeoutMs'> & { readonly waiting: number };

const TWICE_WITHIN_MS = 1_000;
/** A permit counts so long after the newest reply: another machine may have been refused since. */
const FRESH_MS = 500;
const SOONEST_TRY_MS = 1_000;
const LATEST_TRY_MS = 30_000;
/** Of a window whose length nothing has told. */
const LENGTH_MS = 60_000;

export function withLease(state: LedgerState, newMachine: () => string): Leased {
  const { lease = { machine: newMachine(), machines: 1, permits: {}, holds: {}, isLent: false } } = state;
  return { ...state, lease };
}

export function hasPermit({ permits }: Lease, now: number, operation: string): boolean {
  const { many, until } = permits[operation] ?? { many: 0, until: 0 };
  return many > 0 && now < until;
}

/** Takes one permit of the operation; undefined: there is none, or the server has to be asked whether it still counts. */
export function takePermit(lease: Lease, now: number, operation: string): Lease | undefined {
  const permits = lease.permits[operation];
  const isFresh = lease.lost !== undefined ? now < lease.lost.next : now - (lease.met?.monotonic ?? 0) <= FRESH_MS;
  if (permits === undefined || !hasPermit(lease, now, operation) || !isFresh) return undefined;
  return { ...lease, permits: { ...lease.permits, [operation]: { ...permits, many: permits.many - 1 } } };
}

/**
 * Takes a part of the window while the server is lost: after the longest window that is known, one request in the time
 * that each machine has for one; one a minute where no window is known. Undefined: none is due.
 */
export function takeShare({ windows, lease }: Leased, now: number, operation: string): Lease | undefined {
  const { lost, machines } = lease;
  if (lost === undefined) return undefined;
  const lengths = windows.map(({ lengthMs = LENGTH_MS }) => lengthMs);
  if (now < (lost.shareAt ?? lost.since + Math.max(LENGTH_MS, ...lengths))) return undefined;
  const known = windowsFor(windows, operation, now);
  const spacings = known.map(({ limit, lengthMs = LENGTH_MS }) => (lengthMs * machines) / Math.max(1, limit));
  return { ...lease, lost: { ...lost, shareAt: now + (known.length === 0 ? LENGTH_MS : Math.max(...spacings)) } };
}

/** Returns what holds an operation back that has no permit; undefined: the server can be asked. */
export function heldBy({ holds, lost }: Lease, now: number, operation: string): Hold | undefined {
  if (lost !== undefined && now < lost.next) {
    return { until: lost.next, why: 'ledger-lost', again: lost.next, says: lost.says };
  }
  const hold = holds[operation];
  return hold !== undefined && now < (hold.again ?? hold.until) ? hold : undefined;
}

/** Returns what the server has to count: requests under way, and those that may still be sent. */
export function lentTo({ inFlight, lease }: Leased, now: number): Readonly<Record<string, number>> {
  const lent: Record<string, number> = {};
  const add = (operation: string, many: number): void => void (lent[operation] = (lent[operation] ?? 0) + many);
  for (const { operation } of inFlight) add(operation, 1);
  for (const [operation, { many, until }] of Object.entries(lease.permits))
    if (many > 0 && now < until) add(operation, many);
  return lent;
}

/** True while the request that finds out whether sending is allowed is under way, or still to be sent. */
export function isProbing({ inFlight, lease: { permits, probesSince } }: Leased, now: number): boolean {
  if (probesSince === undefined) return false;
  const isUnsent = Object.values(permits).some(({ many, until }) => many > 0 && now < until);
  return isUnsent || inFlight.some(({ at }) => at >= probesSince);
}

/** Returns what to tell the server: times from now on. @param newId of its state, should it have none */
export function reportOf(state: Leased, { monotonic: now, wall }: Instant, newId: string, want?: Want) {
  const { lease, pace, strikes } = state;
  const { machine, met, granted } = lease;
  const { block, windows } = shift({ block: state.block, windows: state.windows }, -now);
  const isBlocked = block !== undefined && block.until > 0;
  const usedUp = granted !== undefined && now - granted.at < TWICE_WITHIN_MS ? 2 * granted.many : 1;
  return {
    ...{ machine, newId, strikes, windows, pace: pace?.everyMs },
    ...{ opened: lease.hasOpened === true, probing: isProbing(state, now) },
    ...(isBlocked && { block }),
    ...(met !== undefined && {
      ...{ id: met.id, steps: met.steps },
      monotonic: met.server + now - met.monotonic,
      wall: met.server + wall - met.wall,
    }),
    ...(want !== undefined && { want: { ...want, count: Math.max(want.waiting, usedUp) } }),
  };
}

const Ms = z.number();
const WHY = ['window-spent', 'asking', 'paced'] as const;

/** What the server answers: times from its arrival on, or for `cleared` back from it. */
const Reply = z.object({
  ...{ id: z.string(), t: Ms, steps: z.number(), machines: z.number(), strikes: z.number(), closed: z.boolean() },
  windows: z.record(
    z.string(),
    z.object({
      ...{ limit: z.number(), remaining: z.number(), resetAt: Ms, seenAt: Ms, answeredAt: Ms },
      ...{ lengthMs: z.exactOptional(Ms), apart: z.record(z.string(), z.boolean()) },
    }),
  ),
  block: z.optional(z.object({ since: Ms, until: Ms, why: z.enum(BLOCK_REASONS) })),
  ...{ cleared: z.optional(Ms), pace: z.optional(Ms) },
  hold: z.optional(z.object({ left: Ms, why: z.enum(WHY), again: z.optional(Ms), spread: Ms })),
  granted: z.optional(z.object({ many: z.number(), lasts: Ms, probes: z.boolean() })),
});
export type Reply = z.infer<typeof Reply>;

/** Parses a reply; undefined: it is not one. */
export function parseReply(text: string): Reply | undefined {
  try {
    return Reply.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export interface Asked {
  /** What permits were asked for; undefined: none were. */
  readonly operation: string | undefined;
  /** What the server was told to count. */
  readonly lent: Readonly<Record<string, number>> | undefined;
  /** In [0, 1): spreads out those that ask again. */
  readonly random: number;
}

/** Returns the state after a reply. */
export function afterReply(before: Leased, instant: Instant, reply: Reply, asked: Asked): Leased {
  const now = instant.monotonic;
  const { block, pace, ...rest } = before;
  // What a user has cleared, on another machine perhaps, is forgotten here, too.
  const cleared = now - (reply.cleared ?? Number.POSITIVE_INFINITY);
  const isBlocked = block !== undefined && block.since > cleared && (now < block.until || reply.closed);
  const windows = Object.entries(shift(reply.windows, now)).reduce<readonly Window[]>(
    (all, [operation, { apart, ...told }]) => mergeWindow(all, { operation, ...told, apart: Object.keys(apart) }),
    before.windows.filter(({ answeredAt }) => answeredAt > cleared),
  );
  const state: Leased = {
    ...rest,
    windows,
    ...(isBlocked && { block }),
    strikes: isBlocked && reply.block === undefined ? before.strikes : reply.strikes,
    ...(reply.pace !== undefined && { pace: { everyMs: reply.pace, nextAt: pace?.nextAt ?? now } }),
    lease: leaseAfter(before, instant, reply, asked),
  };
  return reply.block === undefined ? state : { ...learn(state, shift(reply.block, now)), lease: state.lease };
}

function leaseAfter(before: Leased, instant: Instant, reply: Reply, { operation, lent, random }: Asked): Lease {
  const now = instant.monotonic;
  const { askedUntil, lost: _found, hasOpened: _told, probesSince, ...lease } = before.lease;
  const { granted, hold, id, machines, steps } = reply;
  const since = granted?.probes === true ? now : isProbing(before, now) ? probesSince : undefined;
  const next: Lease = {
    ...{ ...lease, machines, met: { id, steps, server: reply.t, ...instant } },
    isLent: granted !== undefined || (lent === undefined ? lease.isLent : Object.keys(lent).length > 0),
    ...(since !== undefined && { probesSince: since }),
    ...(lent === undefined && askedUntil !== undefined && { askedUntil }),
  };
  if (operation === undefined) return next;
  if (granted !== undefined) {
    const { many, until } = lease.permits[operation] ?? { many: 0, until: 0 };
    const permits = { many: granted.many + (now < until ? many : 0), until: now + granted.lasts };
    return { ...next, permits: { ...lease.permits, [operation]: permits }, granted: { many: granted.many, at: now } };
  }
  if (hold === undefined) return next;
  // Machines that wait for the same moment come one after another.
  const until = now + hold.left + hold.spread * random;
  const again = hold.again === undefined ? {} : { again: Math.min(until, now + hold.again * (0.5 + random)) };
  return { ...next, holds: { ...lease.holds, [operation]: { until, why: hold.why, ...again } } };
}

/** Returns the lease after the server did not answer. */
export function afterLoss(lease: Lease, now: number, says: string): Lease {
  const { askedUntil: _asked, ...rest } = lease;
  const everyMs = Math.min(LATEST_TRY_MS, Math.max(SOONEST_TRY_MS, 2 * (lease.lost?.everyMs ?? 0)));
  return { ...rest, lost: { ...(lease.lost ?? { since: now }), says, everyMs, next: now + everyMs } };
}
