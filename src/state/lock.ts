/**
 * A lock between processes: the write lock of a separate SQLite file, to which nothing is ever written. The system
 * releases it when its holder dies in any way, and keeps it while its holder is suspended.
 */
import { type Context, type Database, DatabaseFailure, errorCode } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isBusy, rollBack, whileBusy } from './transaction.ts';

export type FilePorts = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random'> & Partial<Pick<Context, 'signal'>>;

/** Lock files that stay open after the release, by path: opening one costs much more than locking it. */
export type KeptOpen = Map<string, Database>;

/** Waits for a lock shorter than this are not announced, in ms. */
export const NOTICED_MS = 1_000;
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
      database ??= await open(ports, path);
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
    throw toFailure(error, path);
  }
}

async function open({ files, openDatabase }: FilePorts, path: string): Promise<Database> {
  const folder = folderOf(path);
  if (folder !== '') await files.makePrivateFolder(folder);
  return openDatabase(path, { isLock: true });
}

/** Returns the folder of a path; empty if it names none. */
export function folderOf(path: string): string {
  return path.replace(/[/\\]?[^/\\]*$/, '');
}

function toFailure(error: unknown, path: string): unknown {
  if (!(error instanceof DatabaseFailure)) {
    const code = errorCode(error);
    return code === undefined ? error : new Failure('state', { path, problem: 'lock', detail: code }, error);
  }
  const { message, problem } = error;
  if (problem === 'full' || problem === 'readonly') return new Failure('state', { path, problem }, error);
  return new Failure('state', { path, problem: 'lock', detail: message }, error);
}
