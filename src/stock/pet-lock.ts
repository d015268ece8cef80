/**
 * Locks pets, so that no two commands change the same pet at the same time: on this machine, and on all machines that
 * share a ledger.
 */
import { hash } from 'node:crypto';
import { serviceOf } from '../session/environments.ts';
import { stateFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, isFailure } from '../errors.ts';
import { acquireLock, type KeptOpen, NOTICED_MS } from '../state/lock.ts';
import type { PetLock, LockSession } from './shared-pet-lock.ts';

/** Number of locks for the pets of a service: enough that two pets rarely share one, few enough to be files. */
const LOCKS = 64n;
/**
 * How long a lock stays free before the next row of the same run takes it, as a fraction of the time that it was held:
 * a waiting process only checks from time to time, at most `MOST_REST_MS` apart.
 */
const REST = 0.1;
const MOST_REST_MS = 40;

/** Runs the work while no other command changes that pet. @throws {Failure} `run-locked`: one did for too long */
export type WithLock = <T>(petId: bigint, work: (lock: PetLock) => Promise<T>) => Promise<T>;

/** Used without other machines: the system keeps a lock as long as its holder lives. */
const OWN_LOCK: PetLock = { isHeld: () => true, lastHeldAt: Number.NEGATIVE_INFINITY };

/**
 * Returns the locks for the writes of a command. Writes of the same command whose pets share a lock wait for each other
 * without a time limit; only the wait for another process has one. The lock files stay open until the process ends.
 * @param isOptional does the work without a lock if this machine has no folder for locks
 */
export function petLocksOf(context: CommandContext, session: LockSession, isOptional = true): WithLock {
  const { clock } = context;
  const { redis } = session;
  const patienceMs = session.service.maxWaitMs;
  const kept: KeptOpen = new Map();
  // Separate locks for each service: a terminal and its gateway may run on one machine.
  const service = hash('sha256', serviceOf(session.origin)).slice(0, 8);
  /** Lock -> resolves with the time when the next row may take it. */
  const next = new Map<bigint, Promise<number>>();

  async function locked<T>(petId: bigint, work: (lock: PetLock) => Promise<T>): Promise<T> {
    // The local lock first, so that only one process of each machine asks the server.
    using _lock = await takeLock(context, `${service}-${lockOf(petId)}`, petId, patienceMs, kept).catch(
      (error: unknown) => {
        const isPlaceless = isFailure(error) && (error.is('no-home') || error.is('state'));
        if (isOptional && isPlaceless) return undefined;
        throw error;
      },
    );
    if (redis === undefined) return await work(OWN_LOCK);
    const { takeSharedLock } = await import('./shared-pet-lock.ts');
    await using lock = await takeSharedLock(context, { ...session, redis }, petId);
    return await work(lock ?? OWN_LOCK);
  }

  return <T>(petId: bigint, work: (lock: PetLock) => Promise<T>): Promise<T> => {
    const before = next.get(lockOf(petId));
    let since = Number.POSITIVE_INFINITY;
    const mine = (async () => {
      const restMs = ((await before) ?? 0) - clock.monotonic();
      if (restMs > 0) await clock.sleep(restMs);
      return locked(petId, (lock) => {
        since = clock.monotonic();
        return work(lock);
      });
    })();
    const rest = (): number => {
      const now = clock.monotonic();
      return now + Math.min(MOST_REST_MS, (now - since) * REST);
    };
    next.set(lockOf(petId), mine.then(rest, rest));
    return mine;
  };
}

function lockOf(petId: bigint): bigint {
  return ((petId % LOCKS) + LOCKS) % LOCKS;
}

async function takeLock(
  context: CommandContext,
  name: string,
  petId: bigint,
  patienceMs: number,
  kept: KeptOpen,
): Promise<Disposable> {
  const path = `${stateFolder(context)}/locks/${name}.db`;
  let lock = await acquireLock(context, path, Math.min(NOTICED_MS, patienceMs), kept);
  if (lock === undefined && patienceMs > NOTICED_MS) {
    context.notices.info(`Waiting for another petstore process that is changing pet ${petId}.`);
    lock = await acquireLock(context, path, patienceMs - NOTICED_MS, kept);
  }
  if (lock !== undefined) return lock;
  const what = `another petstore process that changes pet ${petId}`;
  throw new Failure('run-locked', { what, waitedMs: patienceMs });
}
