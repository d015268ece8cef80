/**
 * A lock between processes: the write lock of an SQLite file of its own. The system frees it when its holder dies,
 * however it dies, and keeps it while its holder is merely stopped.
 */
import { type Context, DatabaseFailure } from '../context.ts';

type Ports = Pick<Context, 'clock' | 'openDatabase' | 'random' | 'signal'>;

export interface Lock {
  release(): void;
}

/**
 * @param waitMs how long to wait for its holder
 * @returns undefined where another process holds it for longer
 * @throws {DatabaseFailure}
 */
export async function acquireLock(context: Ports, path: string, waitMs: number): Promise<Lock | undefined> {
  const { clock, random, signal } = context;
  const giveUp = clock.monotonic() + waitMs;
  const database = await context.openDatabase(path);
  for (;;) {
    try {
      database.exec('BEGIN IMMEDIATE');
      return {
        release: () => {
          database.close();
        },
      };
    } catch (error) {
      const isHeld = error instanceof DatabaseFailure && error.problem === 'busy';
      if (!isHeld || clock.monotonic() >= giveUp) {
        database.close();
        if (isHeld) return undefined;
        throw error;
      }
    }
    await clock.sleep(20 + 30 * random(), signal);
  }
}
