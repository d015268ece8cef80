/**
 * A lock between processes: the write lock of a separate SQLite file, to which nothing is ever written. The system
 * releases it when its holder dies in any way, and keeps it while its holder is suspended.
 */
import { dirname } from 'node:path';
import { type Context, type Database, DatabaseFailure, errorCode, type Wait } from '../ports.ts';
import { Failure } from '../errors.ts';

type WaitPorts = Pick<Context, 'clock' | 'random'> & Partial<Pick<Context, 'signal'>>;
export type FilePorts = WaitPorts & Pick<Context, 'files' | 'openDatabase'>;

/** Lock files that stay open after the release, by path: opening one costs much more than locking it. */
export type KeptOpen = Map<string, Database>;

/** Waits for a lock shorter than this are not shown, longer ones this often, in ms. */
const NOTICED_MS = 1_000;
/** How often to open a file again that was replaced, before using it as it is. */
const MOST_TRIES = 3;

/**
 * Takes the lock; disposing of the result releases it.
 * @param path in the state folder, where no other program has files
 * @param waitMs how long to wait for the process that holds it
 * @returns undefined if another process holds it for longer
 * @throws {Failure} `state`: `lock`, `full`, `readonly`
 */
export async function acquireLock(
  ports: FilePorts,
  path: string,
  waitMs: number,
  kept?: KeptOpen,
): Promise<Disposable | undefined> {
  let database = kept?.get(path);
  const take = async (): Promise<Database> => {
    for (let tries = 0; ; tries++) {
      if (database === undefined) {
        await ports.files.makePrivateFolder(dirname(path));
        database = await ports.openDatabase(path, { isLock: true });
      }
      database.exec('BEGIN IMMEDIATE');
      // Other processes would not notice a lock on a file that has been replaced.
      if (database.isInPlace() || tries === MOST_TRIES) return database;
      database.close();
      database = undefined;
    }
  };
  try {
    const held = await whileBusy(ports, take, { patienceMs: waitMs });
    kept?.set(path, held);
    return {
      [Symbol.dispose]: () => {
        if (kept === undefined) held.close();
        else rollBack(held);
      },
    };
  } catch (error) {
    kept?.delete(path);
    database?.close();
    if (isBusy(error)) return undefined;
    const isDatabase = error instanceof DatabaseFailure;
    if (isDatabase && (error.problem === 'full' || error.problem === 'readonly'))
      throw new Failure('state', { path, problem: error.problem }, error);
    const detail = isDatabase ? error.message : errorCode(error);
    throw detail === undefined ? error : new Failure('state', { path, problem: 'lock', detail }, error);
  }
}

type Shown = Pick<Context, 'clock'> & { readonly notices: { waiting(wait: Wait | undefined): void } };

/**
 * Tries until there is a lock, and shows a wait for it that takes long.
 * @param what names the holder: `another petstore process that changes pet 7`
 * @param take gets how long it may still wait, in ms; returns undefined if another process has the lock
 * @throws {Failure} `run-locked`: the time is over
 */
export async function waitForLock<T>(
  { clock, notices }: Shown,
  waitMs: number,
  what: () => string,
  take: (leftMs: number) => Promise<T | undefined>,
): Promise<T> {
  const from = clock.monotonic();
  let waitedMs = 0;
  let shownMs = 0;
  try {
    for (;;) {
      const lock = await take(waitMs - waitedMs);
      if (lock !== undefined) return lock;
      waitedMs = clock.monotonic() - from;
      if (waitedMs >= waitMs) throw new Failure('run-locked', { what: what(), waitedMs: waitMs });
      if (waitedMs < shownMs + NOTICED_MS) continue;
      notices.waiting({ why: 'locked', holder: what(), until: clock.now() + waitMs - waitedMs, attempt: 1 });
      shownMs = waitedMs;
    }
  } finally {
    if (shownMs > 0) notices.waiting(undefined);
  }
}

/** Takes the lock of a file, as `waitForLock` does. @throws {Failure} see waitForLock and acquireLock */
export function takeLock(
  ports: FilePorts & Shown,
  path: string,
  waitMs: number,
  what: () => string,
  kept?: KeptOpen,
): Promise<Disposable> {
  return waitForLock(ports, waitMs, what, (leftMs) => acquireLock(ports, path, Math.min(NOTICED_MS, leftMs), kept));
}

export interface BusyWait {
  /** How long to wait for another process that makes no progress, in ms; default 5 s. */
  readonly patienceMs?: number;
  /** Waits for the lock in spite of a stop signal, for what must be recorded. */
  readonly despiteSignal?: boolean;
  /** Returns a new value whenever another process has committed: the wait then starts again. */
  readonly progress?: () => unknown;
}

/** How long to wait for another process that makes no progress, in ms. */
export const PATIENCE_MS = 5_000;

/**
 * Runs the work, and retries it while another process holds the lock.
 * @throws {DatabaseFailure} `held`: the lock was held for too long
 */
export async function whileBusy<T>(
  { clock, random, signal }: WaitPorts,
  work: () => T | Promise<T>,
  { patienceMs = PATIENCE_MS, despiteSignal = false, progress = () => undefined }: BusyWait = {},
): Promise<T> {
  let giveUp = clock.monotonic() + patienceMs;
  let seen: unknown;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const now = progress();
      if (now !== seen) giveUp = clock.monotonic() + patienceMs;
      seen = now;
      if (clock.monotonic() >= giveUp) throw error;
    }
    await clock.sleep(15 + 25 * random(), despiteSignal ? undefined : signal);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.problem === 'held';
}

/** Runs the work, and a statement after it, in one transaction: all or nothing. @throws {DatabaseFailure} `held` */
export async function atomically<T>(database: Database, work: () => T | Promise<T>, last?: string): Promise<T> {
  database.exec('BEGIN IMMEDIATE');
  try {
    // Awaits only a promise: nothing else in this process may run between BEGIN and COMMIT.
    const working = work();
    const result = working instanceof Promise ? await working : working;
    if (last !== undefined) database.run(last);
    database.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** Rolls back, unless SQLite already has, for example because the disk is full. */
function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
  }
}
