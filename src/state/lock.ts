/**
 * A lock between processes: the write lock of an SQLite file of its own, in which nothing is ever written. The system
 * frees it when its holder dies, however it dies, and keeps it while its holder is merely stopped.
 */
import { type Context, type Database, DatabaseFailure, errorCode } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isBusy, rollBack, whileBusy } from './transaction.ts';

type Ports = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random'> & Partial<Pick<Context, 'signal'>>;

/** Files of locks that stay open when they are released, by path: to open one costs much more than to take it. */
export type KeptOpen = Map<string, Database>;

/** How often to reopen a file that keeps being replaced, before it is used as it is. */
const MOST_RENEWALS = 3;

/**
 * Takes the lock; disposing of the result releases it.
 * @param path in the state folder, where no other program has files
 * @param waitMs how long to wait for the process that holds it
 * @returns undefined if another process holds it for longer
 * @throws {Failure} `state`: `lock`, `full`, `readonly`
 */
export async function acquireLock(
  ports: Ports,
  path: string,
  waitMs: number,
  kept?: KeptOpen,
): Promise<Disposable | undefined> {
  let database = kept?.get(path);
  let renewals = 0;
  const renew = (): void => {
    database?.close();
    database = undefined;
    renewals++;
  };
  const take = async (): Promise<Database> => {
    try {
      const opened = (database ??= await open(ports, path));
      opened.exec('BEGIN IMMEDIATE');
      // Of a file that is no longer there, others would not notice the lock.
      if (opened.isInPlace() || renewals === MOST_RENEWALS) return opened;
    } catch (error) {
      if (!isDamaged(error) || renewals === MOST_RENEWALS) throw error;
      // Emptied in place, not replaced, so that a holder keeps the lock.
      await ports.files.empty(path);
    }
    renew();
    return take();
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
    renew();
    if (isBusy(error)) return undefined;
    throw toFailure(error, path);
  }
}

async function open({ files, openDatabase }: Ports, path: string): Promise<Database> {
  const folder = path.replace(/[/\\]?[^/\\]*$/, '');
  if (folder !== '') await files.makePrivateFolder(folder);
  return openDatabase(path, { isLock: true });
}

function isDamaged(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.problem === 'corrupt';
}

function toFailure(error: unknown, path: string): unknown {
  const unusable = (detail: string): Failure => new Failure('state', { path, problem: 'lock', detail }, error);
  if (error instanceof DatabaseFailure) {
    if (error.problem === 'full' || error.problem === 'readonly') {
      return new Failure('state', { path, problem: error.problem }, error);
    }
    return unusable(isDamaged(error) ? 'it is not a lock' : error.message);
  }
  const code = errorCode(error);
  return code === undefined ? error : unusable(code);
}
