/** Runs transactions, and waits for another process that holds the lock of a database. */
import { type Context, type Database, DatabaseFailure } from '../ports.ts';

type Ports = Pick<Context, 'clock' | 'random'> & Partial<Pick<Context, 'signal'>>;

export interface BusyWait {
  /** How long to wait for another process that makes no progress, in ms; default 5 s. */
  readonly patienceMs?: number;
  /** Returns a new value whenever another process has committed: the wait then starts again. */
  readonly progress?: () => unknown;
}

/** How long to wait for another process that makes no progress, in ms. */
export const PATIENCE_MS = 5_000;

/**
 * Runs the work, and retries it while another process holds the lock.
 * @throws {DatabaseFailure} `busy`: the lock was held for too long
 */
export async function whileBusy<T>(
  { clock, random, signal }: Ports,
  work: () => T | Promise<T>,
  { patienceMs = PATIENCE_MS, progress = () => undefined }: BusyWait = {},
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
    await clock.sleep(15 + 25 * random(), signal);
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.problem === 'busy';
}

/** Runs the work in one transaction: all of it or nothing. @throws {DatabaseFailure} `busy` */
export function atomically<T>(database: Database, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** Rolls back, unless SQLite already has, for example because the disk is full. */
export function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
  }
}
