/**
 * The permits that the Redis server has lent to this machine: how many requests it may send before it asks again. All
 * processes of the machine share them. Pure: computes what to ask, and the key's state after the reply.
 * Machine and server exchange only how long ago something was and how long it lasts, so their clocks need not agree.
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
  type Permits,
} from './governor.ts';
import { RedisFailure } from '../ports.ts';
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
  /** Gives all permits back. */
  readonly leaves?: true;
  /** The user clears the block. */
  readonly clears?: boolean;
}

/** The server's reply. Times count from its arrival, `cleared` back from it. */
export interface Reply {
  readonly id: string;
  /** The server's clock, corrected for the times that it was set. */
  readonly t: number;
  /** By how much it was set, in ms. */
  readonly setBy: number;
  readonly machines: number;
  readonly strikes: number;
  /** By operation. */
  readonly windows: Readonly<Record<string, Window>>;
  /** The key's block, also one that is over, until the answer to its probe. */
  readonly block?: Block;
  readonly cleared?: number;
  /** The permits, or why there are none; absent if it was not asked for any, or names a block. */
  readonly lease?: Pick<Permits, 'many' | 'why' | 'again' | 'isProbe'> & { readonly lasts: number };
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
  return { ...state, lease: { machine: lease?.machine ?? newMachine(), server, machines: 1, permits: {} } };
}

interface LeasedDecision {
  readonly state: Leased;
  readonly hold?: Hold;
  /** True if the server has to be asked for permits first. */
  readonly mustAsk?: true;
}

/**
 * Decides by what this machine knows, then by the permits that it was lent.
 * @param shares sends this machine's share of the limit while the server is lost
 */
export function decideLeased(before: Leased, now: number, intent: Intent, shares: boolean): LeasedDecision {
  const { operation } = intent;
  const { lease } = before;
  const { lost, met, permits } = lease;
  const known = permits[operation];
  const { state, hold } = decide(before, now, { ...intent, isProbe: known?.isProbe === true });
  if (hold !== undefined) return { state: { ...state, lease }, hold };
  const sent = (after: Partial<Lease>): LeasedDecision => ({ state: { ...state, lease: { ...lease, ...after } } });
  const isFresh = lost !== undefined ? now < lost.next : now - (met?.monotonic ?? 0) <= FRESH_MS;
  if (known !== undefined && isFresh && permitsLeft(lease, now, operation) > 0) {
    return sent({ permits: { ...permits, [operation]: { ...known, many: known.many - 1 } } });
  }
  if (lost !== undefined) {
    const back = untilBack(before, lost, now, { operation }, shares);
    if (shares && back.until <= now) return sent({ lost: { ...lost, sharedAt: now } });
    if (now < lost.next) return { state: before, hold: back };
  }
  const { why, until, again } = known ?? { until: now };
  if (why === undefined || now >= (again ?? until)) return { state: before, mustAsk: true };
  return { state: before, hold: { why, until, ...(again !== undefined && { again }) } };
}

/** Lets one process of the machine ask the server, and makes the others wait for it. */
export function takeTurn(before: Leased, now: number): LeasedDecision {
  const { askedUntil = now } = before.lease;
  if (now < askedUntil) return { state: before, hold: { until: askedUntil, why: 'asking', again: now + POLL_MS } };
  return { state: { ...before, lease: { ...before.lease, askedUntil: now + ASKING_MS } }, mustAsk: true };
}

/** Returns how many requests of the operation may be sent without asking the server. */
function permitsLeft({ permits }: Lease, now: number, operation: string): number {
  const { many, until } = permits[operation] ?? { many: 0, until: 0 };
  return now < until ? many : 0;
}

/**
 * Returns the pace of this machine's share, by the newest window even if that is over. The first request is due once
 * the longest known window has passed.
 */
function paceOf({ windows, lease }: Leased, { sharedAt, since }: Loss, now: number, operation: string) {
  const known = [windowOf(windows, operation) ?? [], windowsFor(windows, operation, now)].flat();
  const spacings = known.map((each) => (lengthOf(each) * lease.machines) / Math.max(1, each.limit));
  const everyMs = known.length === 0 ? LEAST_LENGTH_MS : Math.max(...spacings);
  const firstAt = since + Math.max(LEAST_LENGTH_MS, ...windows.map(lengthOf));
  return { everyMs, nextAt: sharedAt === undefined ? firstAt : sharedAt + everyMs };
}

/** Returns when this many requests may be sent while the server is lost. It may be back at the next try. */
function untilBack(
  state: Leased,
  lost: Loss,
  now: number,
  { operation, count = 1 }: Pick<Demand, 'operation' | 'count'>,
  shares: boolean,
): Hold {
  const { next, says } = lost;
  if (!shares) return { until: next, why: 'ledger-lost', again: next, says };
  const { everyMs, nextAt } = paceOf(state, lost, now, operation);
  const first = Math.max(now, nextAt);
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
  const unsent = Object.values(state.lease.permits).filter(({ many, until }) => many > 0 && now < until);
  return [...state.inFlight, ...unsent].some(({ isProbe }) => isProbe === true);
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
    ...(block !== undefined && { block: shift(block, -now) }),
    ...(met !== undefined && {
      id: met.id,
      setBy: met.setBy,
      monotonic: met.server + now - met.monotonic,
      wall: met.server + wall - met.wall,
    }),
    // Requests in flight, and those that may still be sent.
    ...((want ?? leaves) !== undefined && {
      lent: Object.fromEntries(
        operations
          .map((each) => [each, underWay(each) + permitsLeft(lease, now, each)] as const)
          .filter(([, many]) => many > 0),
      ),
    }),
    // If permits are left, this only confirms them. A machine that uses its permits quickly asks for twice as many.
    ...(want !== undefined &&
      permitsLeft(lease, now, want.operation) === 0 && {
        want: { ...want, count: Math.max(want.waiting, now - at < TWICE_WITHIN_MS ? 2 * lent : 1) },
      }),
  };
}

/** @throws {RedisFailure} for what is not a reply: another program answers */
export function parseReply(text: string): Reply {
  try {
    const reply = JSON.parse(text) as Reply;
    if (typeof reply.t === 'number' && typeof reply.windows === 'object') return reply;
  } catch {
    // Not JSON, or null.
  }
  throw new RedisFailure(`it answered ${text.slice(0, 80)}`);
}

/** Returns the state after a reply. @param random in [0, 1), spreads out the machines that ask again */
export function afterReply(before: Leased, instant: Instant, reply: Reply, question: Question, random: number): Leased {
  const now = instant.monotonic;
  const { block, ...rest } = before;
  // What a user has cleared, perhaps on another machine, is dropped here too.
  const cleared = now - (reply.cleared ?? Number.POSITIVE_INFINITY);
  const isBlocked = block !== undefined && block.since > cleared && now < block.until;
  const known = before.windows.filter(({ answeredAt }) => answeredAt > cleared);
  const state: LedgerState = {
    ...rest,
    windows: Object.values(shift(reply.windows, now)).reduce(mergeWindow, known),
    ...(isBlocked && { block }),
    strikes: isBlocked && reply.block === undefined ? before.strikes : reply.strikes,
  };
  const learnt = reply.block === undefined ? state : learn(state, shift(reply.block, now));
  return { ...learnt, lease: leaseAfter(before.lease, instant, reply, question, random) };
}

function leaseAfter(before: Lease, instant: Instant, reply: Reply, { leaves, want }: Question, random: number): Lease {
  const now = instant.monotonic;
  const { askedUntil, lost: _found, ...lease } = before;
  const { id, lease: lent, machines, setBy, t: server } = reply;
  // Clients choose the names of operations: what is over is forgotten. What was lent before a block is void: one probe of
  // one machine goes first.
  const isGood = ({ until, why }: Permits): boolean => now < until && (why !== undefined || reply.block === undefined);
  const permits = Object.fromEntries(Object.entries(lease.permits).filter(([, each]) => isGood(each)));
  if (want !== undefined && lent !== undefined) {
    const { again, isProbe = false, lasts, many, why } = lent;
    // Machines that wait for the same moment ask one after another.
    const until = now + lasts + (why === undefined ? 0 : 2 * machines * random);
    permits[want.operation] = {
      ...{ many, until, lent: many, at: now, isProbe },
      ...(why !== undefined && { why }),
      ...(again !== undefined && { again: Math.min(until, now + again * (0.5 + random)) }),
    };
  }
  return {
    ...{ ...lease, machines, permits, met: { id, setBy, server, ...instant } },
    ...((want ?? leaves) === undefined && askedUntil !== undefined && { askedUntil }),
  };
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
