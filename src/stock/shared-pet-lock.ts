/** Locks a pet on the Redis server of PETSTORE_LEDGER, so that only one machine at a time changes it. */
import { createHmac } from 'node:crypto';
import { type Machine, type Redis, RedisFailure } from '../ports.ts';
import { Failure } from '../errors.ts';
import type { Session } from '../session/connect.ts';
import { serviceOf } from '../session/environments.ts';
import type { CommandContext } from '../session/globals.ts';
import { isDeadOwner, ownerOf } from '../rate-limit/ledger.ts';
import { waitForLock } from '../state/lock.ts';

/**
 * Takes, renews or releases the lock. Arguments: the step, the holder, the duration in ms, and a holder that is dead.
 * The value is the holder and the end of its lock; after the release an empty holder and the time of the release.
 * Expires after a day. Returns how long ago another holder had the lock, in ms; if the caller does not have it, a dash
 * and the holder.
 */
const STEP = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = redis.call('GET', KEYS[1])
local holder, ends = unpack(value and cjson.decode(value) or { '', 0 })
local mayTake = ARGV[1] == 'take' and (holder == '' or ends <= now or holder == ARGV[4])
if holder ~= ARGV[2] and not mayTake then return '-' .. holder end
local after = ARGV[1] == 'release' and { '', now } or { ARGV[2], now + ARGV[3] }
redis.call('SET', KEYS[1], cjson.encode(after), 'PX', 86400000)
return tostring(holder == '' and math.max(0, now - ends) or 0)
`;
/** How long a lock lasts that no write was sent with, in ms: a server that was stopped may take it much later. */
const FIRST_MS = 10_000;
/** How much longer than --timeout it lasts after that, in ms: other machines wait this long for a killed holder. */
const BEYOND_TIMEOUT_MS = 5_000;
/** A write that is sent this shortly before the end of the lock may arrive after it, in ms. */
const MARGIN_MS = 2_000;
/** How long after a renewal, or a try of one, a write is sent without another one, in ms: steps may take 2 s each. */
const CONFIRMED_MS = 5_000;
const TRIED_MS = 1_000;
/** Number of renewals while a lock lasts. */
const RENEWALS = 3;
/** Shortest and longest time between two checks whether the lock is free, in ms. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;
/** How far the clocks of server and machine may drift apart between reading the stock and locking, in ms. */
const DRIFT_MS = 1_000;

/** A server that takes longer to fail does not answer, in ms. */
const CLOSED_WITHIN_MS = 500;
/** Time limit for the last step of a command that is stopping, in ms. */
const LAST_STEP_MS = 100;

/** Servers whose loss was reported. */
const reported = new WeakSet<Redis>();

/** The service whose pets are locked, and its time limits. */
export type LockSession = Pick<Session, 'origin' | 'redis'> & {
  readonly service: Pick<Session['service'], 'apiKey' | 'maxWaitMs' | 'timeoutMs'>;
};
type Shared = LockSession & { readonly redis: Redis };

export interface PetLock {
  /** False once another machine may have the lock, so that what was read may be outdated. */
  isHeld(): boolean;
  /** Renews it for a write, and learns whether the server was emptied, or is back. */
  readonly confirm?: () => Promise<void>;
  /** When another machine last had it, or may have, on the monotonic clock: what was read earlier may be outdated. */
  readonly lastHeldAt: number;
}

/**
 * Takes the lock, and renews it until it is disposed. If the server is lost, warns once, and counts the lock as held
 * until the server is back.
 * @throws {Failure} `run-locked`: another machine held it for too long; `ledger-refused`; the signal's reason
 */
export async function takeSharedLock(
  context: CommandContext,
  session: Shared,
  petId: bigint,
): Promise<PetLock & AsyncDisposable> {
  const { redis, service } = session;
  const { clock, notices, random, signal } = context;
  const { step, renewLater, lose, ...lock } = stepsOf(context, session, petId);
  const holder = (): string => `a petstore process of another machine that changes pet ${petId}`;
  let tries = 0;
  try {
    return await waitForLock(context, service.maxWaitMs, holder, async () => {
      if (tries++ > 0) await clock.sleep(SHORTEST_PAUSE_MS + random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS), signal);
      const idleMs = await step('take');
      if (idleMs < 0) return undefined;
      renewLater();
      const idleSince = clock.monotonic() - idleMs + DRIFT_MS;
      return { ...lock, lastHeldAt: Math.max(idleSince, redis.lostAt ?? idleSince) };
    });
  } catch (error) {
    if (!(error instanceof RedisFailure)) {
      // The aborted step may have taken it: others would wait until it expires.
      if (signal.aborted) await step('release', LAST_STEP_MS).catch(unlessLost);
      throw error;
    }
    if (error.kind === 'settings') throw new Failure('ledger-refused', { says: error.message }, error);
    if (!reported.has(redis)) {
      reported.add(redis);
      notices.warning(
        `Stock is unprotected from other machines: pets cannot be locked on the server of PETSTORE_LEDGER ` +
          `(${error.message}), so a change that another machine makes at the same time may be overwritten.`,
      );
    }
    lose();
    return { ...lock, lastHeldAt: Number.NEGATIVE_INFINITY };
  }
}

function stepsOf({ clock, machine, randomBytes, signal }: CommandContext, session: Shared, petId: bigint) {
  const { redis, service } = session;
  const name = nameOf(session, petId);
  const holder = `${ownerOf(machine)}/${machine.bootId}/${Buffer.from(randomBytes(16)).toString('hex')}`;
  let dead = '';
  /** When it was taken or last renewed, and how long it lasts; undefined if this process does not have it. */
  let since: { readonly monotonic: number; readonly wall: number; readonly lastsMs: number } | undefined;
  /** Until when it need not be confirmed again, unless the connection is lost after `at`. */
  let confirmed = { at: Infinity, until: 0 };
  let isLost = false;
  let isOver = false;
  let cancel = (): void => undefined;
  /** @returns how long ago another holder had the lock, in ms; below 0 if this process does not have it */
  const step = async (what: 'take' | 'renew' | 'release', timeoutMs = service.timeoutMs): Promise<number> => {
    const lastsMs = what === 'take' ? FIRST_MS : service.timeoutMs + BEYOND_TIMEOUT_MS;
    const before = { monotonic: clock.monotonic(), wall: clock.now(), lastsMs };
    // Renews and releases in spite of a signal.
    const how = { timeoutMs, ...(what === 'take' && !isLost && { signal }) };
    const run = (): Promise<string> => redis.run(STEP, name, [what, holder, `${lastsMs}`, dead], how);
    // Once more if only the connection was closed, as in a failover: the lock would be missing, or stay behind.
    const reply = await run().catch((error: unknown) => {
      if (!(error instanceof RedisFailure) || clock.monotonic() - before.monotonic > CLOSED_WITHIN_MS) throw error;
      return run();
    });
    const [, other] = /^-(.*)/.exec(reply) ?? [];
    if (what === 'take' && other !== undefined && other !== dead && isDead(other, machine)) {
      dead = other;
      return step(what, timeoutMs);
    }
    const idleMs = other === undefined ? Number(reply) : -1;
    // What was read without it may be outdated.
    since = idleMs < 0 || isLost ? undefined : before;
    isLost = false;
    return idleMs;
  };
  /**
   * Returns whether the server answered: it may be back before the lock expires. A lost lock stays lost, but is taken:
   * a server that stores nothing would answer a renewal, and is not back.
   */
  const renew = (): Promise<boolean> => step(isLost ? 'take' : 'renew').then(() => true, unlessLost);
  const renewLater = (): void => {
    if (since === undefined || isOver) return;
    cancel = clock.alarm(since.lastsMs / RENEWALS, () => void renew().then(renewLater));
  };
  const isHeld = (): boolean => {
    if (since === undefined) return isLost;
    // The monotonic clock of a suspended machine may have stopped.
    const heldMs = Math.max(clock.monotonic() - since.monotonic, clock.now() - since.wall);
    return heldMs < since.lastsMs - MARGIN_MS;
  };
  return {
    step,
    renewLater,
    lose: () => void (isLost = true),
    isHeld,
    async confirm(): Promise<void> {
      if (!isHeld() || (clock.monotonic() < confirmed.until && (redis.lostAt ?? 0) <= confirmed.at)) return;
      const isAnswered = await renew();
      const at = clock.monotonic();
      confirmed = isAnswered ? { at, until: at + CONFIRMED_MS } : { at: Infinity, until: at + TRIED_MS };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      isOver = true;
      cancel();
      await step('release', isLost ? LAST_STEP_MS : undefined).catch(unlessLost);
    },
  };
}

/**
 * Returns the name of the lock, which reveals neither the key nor the pet. The braces put it on the same node of a
 * cluster as the rate limit.
 */
function nameOf({ origin, service }: LockSession, petId: bigint): string {
  const digest = (text: string): string => createHmac('sha256', service.apiKey).update(text).digest('hex');
  return `petstore:{${digest('')}}:pet:${digest(`${serviceOf(origin)} ${petId}`)}`;
}

/** True if a holder was a process of this machine that has ended. Without both names, two machines may look alike. */
function isDead(holder: string, machine: Machine): boolean {
  return (
    machine.bootId !== '' &&
    !machine.processSpace.endsWith('.') &&
    holder.includes(`/${machine.bootId}/`) &&
    isDeadOwner(holder, machine)
  );
}

/** Ignores a lost server: the lock expires by itself. */
function unlessLost(error: unknown): false {
  if (!(error instanceof RedisFailure)) throw error;
  return false;
}
