/**
 * The permits that the Redis server has lent to this machine: how many requests it may send before it asks again. All
 * processes of the machine share them. Pure: computes what to ask, and the key's state after the reply.
 * A machine tells how long ago something was, and the server names its own time, so that no two clocks need to agree.
 */
import {
  type Block,
  decide,
  forecast,
  type Hold,
  type Instant,
  type Intent,
  learn,
  type Lease,
  type LedgerState,
  type Loss,
  mustProbe,
} from './governor.ts';
import type { RedisFailure } from '../ports.ts';
import { ASKING_MS } from './lease-script.ts';
import { shift } from './ledger.ts';
import { type Demand, LEAST_LENGTH_MS, lengthOf, mergeWindow, type Window, windowOf, windowsFor } from './windows.ts';

/** A key's state on a machine that shares the key with other machines. */
export type Leased = LedgerState & { readonly lease: Lease };

/**
 * A machine's question to the server. With `want` or `leaves` it names all permits that the machine has, in place of
 * what the server counts as lent: only the process whose turn it is to ask knows them all.
 */
export interface Question {
  /** Asks for permits. `waiting`: how many requests of this process wait for them. */
  readonly want?: Pick<Intent, 'operation' | 'reserve' | 'timeoutMs'> & { readonly waiting: number };
  /** Gives all permits back, and the places in the next window. */
  readonly leaves?: true;
  /** The user clears the block. */
  readonly clears?: boolean;
}

/** The server's reply. Windows and block have times as `t`; other times count from its arrival, `cleared` back. */
export interface Reply {
  readonly id: string;
  /** The server's clock, corrected for the times that it was set. */
  readonly t: number;
  /** By how much it was set, in ms. */
  readonly setBy: number;
  readonly machines: number;
  readonly strikes: number;
  /** A list; Lua may encode it as an object. */
  readonly windows: Readonly<Record<string, Window>>;
  /** The key's block, also one that is over, until the answer to its probe. */
  readonly block?: Block;
  readonly cleared?: number;
  readonly hold?: Pick<Hold, 'why'> & { readonly left: number; readonly again: number };
  readonly granted?: { readonly many: number; readonly lasts: number };
}

/** How soon to check again while another process of this machine asks the server, in ms. */
const POLL_MS = 20;
const TWICE_WITHIN_MS = 1_000;
/** How long a permit is valid after the newest reply, in ms: another machine may have been refused since. */
const FRESH_MS = 500;
const SOONEST_TRY_MS = 1_000;
const LATEST_TRY_MS = 20_000;

/** Returns the state with a lease of this server. Drops the lease, and the loss, of any other server. */
export function withLease(state: LedgerState, server: string, newMachine: () => string): Leased {
  const { lease } = state;
  if (lease?.server === server) return { ...state, lease };
  return { ...state, lease: { machine: lease?.machine ?? newMachine(), server, machines: 1, permits: {}, holds: {} } };
}

/**
 * Decides by what this machine knows, then by the permits that it was lent. `mustAsk`: the server has to be asked for
 * permits first.
 * @param shares sends this machine's share of the limit while the server is lost
 */
export function decideLeased(before: Leased, now: number, intent: Intent, shares: boolean) {
  const { operation } = intent;
  const { lease } = before;
  const { lost, holds, met, permits } = lease;
  const { state, hold } = decide(before, now, intent);
  if (hold !== undefined) return { state: { ...state, lease }, hold };
  // Takes a permit, unless the server has to be asked for one, or whether it is still valid.
  const many = permitsLeft(lease, now, operation);
  const isFresh = lost !== undefined ? now < lost.next : now - (met?.monotonic ?? 0) <= FRESH_MS;
  if (many > 0 && isFresh) {
    const left = { ...permits[operation]!, many: many - 1 };
    return { state: { ...state, lease: { ...lease, permits: { ...permits, [operation]: left } } } };
  }
  const back = lost && untilBack(before, lost, now, { operation }, shares);
  // A request of this machine's share.
  if (back && shares && back.until <= now) {
    return { state: { ...state, lease: { ...lease, lost: { ...lost, sharedAt: now } } } };
  }
  const known = lost && now < lost.next ? back : holds[operation];
  const isHeld = known !== undefined && now < (known.again ?? known.until);
  return isHeld ? { state: before, hold: known } : { state: before, mustAsk: true };
}

/** Lets one process of the machine ask the server, and makes the others wait for it. */
export function takeTurn(before: Leased, now: number) {
  const { askedUntil = now } = before.lease;
  const hold: Hold = { until: askedUntil, why: 'asking', again: now + POLL_MS };
  if (now < askedUntil) return { state: before, hold };
  return { state: { ...before, lease: { ...before.lease, askedUntil: now + ASKING_MS } }, mustAsk: true };
}

/** Returns how many requests of the operation may be sent without asking the server. */
function permitsLeft({ permits }: Lease, now: number, operation: string): number {
  const { many, until } = permits[operation] ?? { many: 0, until: 0 };
  return now < until ? many : 0;
}

/**
 * Returns when this many requests may be sent while the server is lost: once it is back, or as this machine's share.
 * The newest window tells the pace of the share, even if it is over; the longest has to pass first.
 */
function untilBack(
  { lease, windows }: Leased,
  { next, says, sharedAt, since }: Loss,
  now: number,
  { operation, count = 1 }: Pick<Demand, 'operation' | 'count'>,
  shares: boolean,
): Hold {
  if (!shares) return { until: next, why: 'ledger-lost', again: next, says };
  const known = [windowOf(windows, operation) ?? [], windowsFor(windows, operation, now)].flat();
  const spacings = known.map((each) => (lengthOf(each) * lease.machines) / Math.max(1, each.limit));
  const everyMs = known.length === 0 ? LEAST_LENGTH_MS : Math.max(...spacings);
  const longestMs = Math.max(LEAST_LENGTH_MS, ...windows.map(lengthOf));
  const first = Math.max(now, sharedAt === undefined ? since + longestMs : sharedAt + everyMs);
  return { until: first + (count - 1) * everyMs, why: 'ledger-lost', again: Math.min(next, first), says };
}

/** Returns until when a demand has to wait, as the governor does, and for its share if the server is lost. */
export function forecastLeased(state: Leased, now: number, demand: Demand, shares: boolean): Hold | undefined {
  const hold = forecast(state, now, demand);
  const { lost } = state.lease;
  const count = (demand.count ?? 1) - permitsLeft(state.lease, now, demand.operation);
  if (!shares || lost === undefined || count <= 0) return hold;
  const part = untilBack(state, lost, now, { ...demand, count }, shares);
  return part.until > Math.max(now, hold?.until ?? now) ? part : hold;
}

/** True while a probe is in flight or may still be sent. */
export function isProbing(state: Leased, now: number): boolean {
  const { inFlight, lease } = state;
  const isUnsent = (each: string): boolean => permitsLeft(lease, now, each) > 0 && mustProbe(state, now, each);
  return inFlight.some(({ isProbe }) => isProbe === true) || Object.keys(lease.permits).some(isUnsent);
}

/** Returns what to send to the server, with times counted from now. @param newId for its state, if it has none */
export function reportOf(
  state: Leased,
  { monotonic: now, wall }: Instant,
  newId: string,
  { want, leaves, clears = false }: Question,
) {
  const { block, inFlight, lease, strikes, windows } = state;
  const { machine, met, permits } = lease;
  const operations = [...inFlight.map(({ operation }) => operation), ...Object.keys(permits)];
  const underWay = (operation: string): number => inFlight.filter((each) => each.operation === operation).length;
  const { lent = 0, at = 0 } = permits[want?.operation ?? ''] ?? {};
  return {
    ...{ machine, newId, strikes, windows: shift(windows, -now), clear: clears, probing: isProbing(state, now) },
    ...(leaves !== undefined && { leaves }),
    ...(block !== undefined && { block: shift(block, -now) }),
    ...(met !== undefined && {
      id: met.id,
      setBy: met.setBy,
      monotonic: met.server + now - met.monotonic,
      wall: met.server + wall - met.wall,
    }),
    // Requests in flight, and those that may still be sent.
    ...((want ?? leaves) !== undefined && {
      lent: Object.fromEntries(operations.map((each) => [each, underWay(each) + permitsLeft(lease, now, each)])),
    }),
    // If permits are left, this only confirms them. A machine that uses its permits quickly asks for twice as many.
    ...(want !== undefined &&
      permitsLeft(lease, now, want.operation) === 0 && {
        want: { ...want, count: Math.max(want.waiting, now - at < TWICE_WITHIN_MS ? 2 * lent : 1) },
      }),
  };
}

export function parseReply(text: string): Reply | undefined {
  try {
    const reply = JSON.parse(text) as Reply | null;
    return typeof reply?.t === 'number' && typeof reply.windows === 'object' ? reply : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the state after a reply. @param random in [0, 1), spreads out the machines that ask again */
export function afterReply(before: Leased, instant: Instant, reply: Reply, question: Question, random: number): Leased {
  const now = instant.monotonic;
  const { block, ...rest } = before;
  // What a user has cleared, perhaps on another machine, is dropped here too.
  const cleared = now - (reply.cleared ?? Number.POSITIVE_INFINITY);
  const isBlocked = block !== undefined && block.since > cleared && now < block.until;
  const state: LedgerState = {
    ...rest,
    windows: Object.values(shift(reply.windows, now - reply.t)).reduce(
      mergeWindow,
      before.windows.filter(({ answeredAt }) => answeredAt > cleared),
    ),
    ...(isBlocked && { block }),
    strikes: isBlocked && reply.block === undefined ? before.strikes : reply.strikes,
  };
  const learnt = reply.block === undefined ? state : learn(state, shift(reply.block, now - reply.t));
  return { ...learnt, lease: leaseAfter(before.lease, instant, reply, question, random) };
}

function leaseAfter(before: Lease, instant: Instant, reply: Reply, { leaves, want }: Question, random: number): Lease {
  const now = instant.monotonic;
  const { askedUntil, lost: _found, ...lease } = before;
  const { granted, hold, id, machines, setBy, t: server } = reply;
  // Clients choose the names of operations: what is over is forgotten.
  const current = <T extends { readonly until: number }>(all: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([, each]) => now < each.until));
  // What was lent before a block is void: one probe of one machine goes first.
  const [permits, holds] = [reply.block === undefined ? current(lease.permits) : {}, current(lease.holds)];
  const next: Lease = {
    ...{ ...lease, machines, permits, holds, met: { id, setBy, server, ...instant } },
    ...((want ?? leaves) === undefined && askedUntil !== undefined && { askedUntil }),
  };
  const { operation = '' } = want ?? {};
  if (granted !== undefined) {
    const many = (permits[operation]?.many ?? 0) + granted.many;
    const lent = { many, until: now + granted.lasts, lent: granted.many, at: now };
    return { ...next, permits: { ...permits, [operation]: lent } };
  }
  if (hold === undefined) return next;
  // Perhaps only the permits of its other operations are left: it gives them back, and asks again at once.
  const hasOthers = Object.values(permits).some(({ many }) => many > 0);
  if (hold.why === 'window-spent' && hasOthers) return { ...next, permits: {} };
  // Machines that wait for the same moment ask one after another.
  const until = now + hold.left + (hold.again / 10) * random;
  const again = Math.min(until, now + hold.again * (0.5 + random));
  return { ...next, holds: { ...holds, [operation]: { until, why: hold.why, again } } };
}

/**
 * Returns the state after the server did not answer: the wait for the next try doubles each time. A server that has
 * refused the settings is not lost, and can be asked again at once.
 */
export function afterFailure(before: Leased, now: number, { kind, message: says }: RedisFailure): Leased {
  const { askedUntil: _asked, lost = { since: now }, ...lease } = before.lease;
  if (kind === 'settings') return { ...before, lease };
  const next = now + Math.min(LATEST_TRY_MS, now - lost.since + SOONEST_TRY_MS);
  return { ...before, lease: { ...lease, lost: { ...lost, says, next } } };
}
