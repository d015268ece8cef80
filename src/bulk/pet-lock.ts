/**
 * A lock for each pet, so that commands never change the same pet at the same time: of this machine, and of all that
 * share a ledger.
 */
import { stateFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, isFailure } from '../errors.ts';
import { acquireLock, type KeptOpen } from '../state/lock.ts';
import type { Hold, LockSession } from './shared-pet-lock.ts';

/** Pets share locks: enough that two seldom share one, and few enough files. */
const LOCKS = 64n;
/** A holder needs at least the time of a request, whatever --max-wait is. */
const LEAST_PATIENCE_MS = 5_000;
/** A shorter wait is not announced. */
const NOTICED_MS = 1_000;
/**
 * How long a lock stays free before the next row of the same run takes it, as a share of the time that it was held: one
 * that waits in another process only looks now and then, at most `MOST_REST_MS` apart.
 */
const REST = 0.1;
const MOST_REST_MS = 40;

interface LockOptions {
  /** Does the work without a lock if this machine has no folder for locks. */
  readonly isOptional?: boolean;
  /** Does not announce the wait: a run has its own progress. */
  readonly isQuiet?: boolean;
  /** Files of locks that are open already, and stay so. */
  readonly kept?: KeptOpen;
}

/** Runs the work while no other command changes that pet. */
export type WithLock = <T>(petId: bigint, work: (hold: Hold) => Promise<T>) => Promise<T>;

/** Without other machines: the system keeps a lock for as long as its holder lives. */
const OWN_HOLD: Hold = { isHeld: () => true, lastHeldAt: Number.NEGATIVE_INFINITY };

/** Runs the work while it holds the pet's lock. @throws {Failure} `run-locked`: another process held it for too long */
export async function withPetLock<T>(
  context: CommandContext,
  session: LockSession,
  petId: bigint,
  work: (hold: Hold) => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const patienceMs = Math.max(LEAST_PATIENCE_MS, session.service.maxWaitMs);
  // First, so that only one process of each machine asks the server for a pet.
  using _lock = await takeLock(context, petId, patienceMs, options);
  const { redis } = session;
  if (redis === undefined) return await work(OWN_HOLD);
  const { takeSharedLock } = await import('./shared-pet-lock.ts');
  const noticedMs = options.isQuiet === true ? Number.POSITIVE_INFINITY : NOTICED_MS;
  await using hold = await takeSharedLock(context, { ...session, redis }, petId, { patienceMs, noticedMs });
  return await work(hold ?? OWN_HOLD);
}

/**
 * Returns `withPetLock` for the rows of one run. Rows whose pets share a lock wait for each other first, however long:
 * only another process is waited for with patience. The files of the locks stay open until the process ends.
 */
export function petLocksOf(context: CommandContext, session: LockSession, options: LockOptions): WithLock {
  const { clock } = context;
  const own: LockOptions = { ...options, kept: new Map() };
  /** Of each lock, when the next row may take it. */
  const next = new Map<bigint, Promise<number>>();
  return <T>(petId: bigint, work: (hold: Hold) => Promise<T>): Promise<T> => {
    const before = next.get(lockOf(petId));
    let since = Number.POSITIVE_INFINITY;
    const timed = (hold: Hold): Promise<T> => {
      since = clock.monotonic();
      return work(hold);
    };
    const mine = (async () => {
      const restMs = ((await before) ?? 0) - clock.monotonic();
      if (restMs > 0) await clock.sleep(restMs);
      return withPetLock(context, session, petId, timed, own);
    })();
    const rest = (): number => {
      const now = clock.monotonic();
      return now + Math.min(MOST_REST_MS, (now - since) * REST);
    };
    next.set(lockOf(petId), mine.then(rest, rest));
    return mine;
  };
}

/** Returns the number of a pet's lock. */
function lockOf(petId: bigint): bigint {
  return ((petId % LOCKS) + LOCKS) % LOCKS;
}

async function takeLock(
  context: CommandContext,
  petId: bigint,
  patienceMs: number,
  options: LockOptions,
): Promise<Disposable | undefined> {
  let path: string;
  let lock: Disposable | undefined;
  try {
    path = `${stateFolder(context)}/locks/${lockOf(petId)}.db`;
    lock = await acquireLock(context, path, NOTICED_MS, options.kept);
    if (lock === undefined) {
      if (options.isQuiet !== true) {
        context.notices.info(`Waiting for another petstore process that is changing pet ${petId}.`);
      }
      lock = await acquireLock(context, path, patienceMs - NOTICED_MS, options.kept);
    }
  } catch (error) {
    const isPlaceless = isFailure(error) && (error.is('no-home') || error.is('state'));
    if (options.isOptional === true && isPlaceless) return undefined;
    throw error;
  }
  if (lock === undefined) {
    throw new Failure('run-locked', {
      what: `another petstore process that changes pet ${petId}`,
      waitedMs: patienceMs,
    });
  }
  return lock;
}
