/**
 * Locks pets, so that no two commands change the same pet at the same time: on this machine, and on all machines that
 * share a ledger.
 */
import { hash } from 'node:crypto';
import { serviceOf } from '../session/environments.ts';
import { stateFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import type { Clock } from '../ports.ts';
import { inTime } from '../stop.ts';
import { Failure } from '../errors.ts';
import { type KeptOpen, takeLock } from '../state/lock.ts';
import type { PetLock, LockSession } from './shared-pet-lock.ts';

/** Number of locks for the pets of a service: enough that two pets rarely share one, few enough to be files. */
const LOCKS = 64n;
/**
 * How long a lock stays free before the next row of the same run takes it, as a fraction of the time that it was held:
 * a waiting process only checks from time to time, at most `MOST_REST_MS` apart.
 */
const REST = 0.1;
const MOST_REST_MS = 40;

/**
 * Runs the work while no other command changes that pet.
 * @param own the patience of a client of the proxy
 * @throws {Failure} `run-locked`: one did for too long
 */
export type WithLock = <T>(petId: bigint, work: (lock: PetLock) => Promise<T>, own?: Patience) => Promise<T>;

export interface Patience {
  /** Returns how long it may still wait, in ms. */
  leftMs(): number;
  readonly signal: AbortSignal;
}

/** Resolves as the promise does. @throws {Failure} `run-locked`: not in time; the signal's reason */
export function patiently<T>(clock: Clock, { leftMs, signal }: Patience, what: string, work: Promise<T>): Promise<T> {
  const timeoutMs = leftMs();
  return inTime({ clock, signal, timeoutMs }, () => new Failure('run-locked', { what, waitedMs: timeoutMs }), work);
}

/** Used without other machines: the system keeps a lock as long as its holder lives. */
const OWN_LOCK: PetLock = { isHeld: () => true, lastHeldAt: Number.NEGATIVE_INFINITY };

/**
 * Returns the locks for the writes of a command. Writes of the same command whose pets share a lock wait for each other
 * without a time limit, unless they have their own; the wait for another process has one. The lock files stay open until
 * the process ends.
 */
export function petLocksOf(context: CommandContext, session: LockSession): WithLock {
  const { clock } = context;
  const { redis, service: limits } = session;
  const kept: KeptOpen = new Map();
  // Separate locks for each service: a terminal and its gateway may run on one machine.
  const service = hash('sha256', serviceOf(session.origin)).slice(0, 8);
  /** Lock -> resolves with the time when the next row may take it. */
  const next = new Map<bigint, Promise<number>>();

  return async (petId, work, own) => {
    const number = ((petId % LOCKS) + LOCKS) % LOCKS;
    const before = next.get(number) ?? Promise.resolve(0);
    const { promise: mine, resolve: end } = Promise.withResolvers<number>();
    // One that gave up leaves the lock to those that came before it.
    next.set(
      number,
      Promise.all([before, mine]).then((ends) => Math.max(...ends)),
    );
    const { leftMs, signal }: Patience = own ?? { leftMs: () => limits.maxWaitMs, signal: context.signal };
    const ports = { ...context, signal };
    let since = Number.POSITIVE_INFINITY;
    try {
      const turn = own === undefined ? before : patiently(clock, own, `another change of pet ${petId}`, before);
      const restMs = (await turn) - clock.monotonic();
      if (restMs > 0) await clock.sleep(restMs);
      const path = `${stateFolder(context)}/locks/${service}-${number}.db`;
      const holder = (): string => `another petstore process that changes pet ${petId}`;
      // The local lock first, so that only one process of each machine asks the server.
      using _lock = await takeLock(ports, path, leftMs(), holder, kept);
      since = clock.monotonic();
      if (redis === undefined) return await work(OWN_LOCK);
      const { takeSharedLock } = await import('./shared-pet-lock.ts');
      const timed = { ...session, redis, service: { ...limits, maxWaitMs: leftMs() } };
      await using lock = await takeSharedLock(ports, timed, petId);
      return await work(lock);
    } finally {
      const now = clock.monotonic();
      end(now + Math.min(MOST_REST_MS, (now - since) * REST));
    }
  };
}
