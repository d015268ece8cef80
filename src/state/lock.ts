/**
 * A lock between processes: the write lock of an SQLite file of its own. The system frees it when its holder dies,
 * however it dies, and keeps it while its holder is merely stopped.
 */
import { type Context, type Database, DatabaseFailure, errorCode } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isBusy, whileBusy } from './transaction.ts';

type Ports = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random'> & Partial<Pick<Context, 'signal'>>;

/** The page size of a lock, which is a database without tables: one page. */
const PAGE_BYTES = 4_096;

/**
 * Takes the lock; disposing of the result releases it.
 * @param path in the state folder, where no other program has files
 * @param waitMs how long to wait for the process that holds it
 * @returns undefined if another process holds it for longer
 * @throws {Failure} `state`: `lock`, `full`, `readonly`
 */
export async function acquireLock(ports: Ports, path: string, waitMs: number): Promise<Disposable | undefined> {
  try {
    if (!(await isLock(ports, path))) await ports.files.empty(path);
    try {
      return await wait(ports, path, waitMs);
    } catch (error) {
      if (!(error instanceof DatabaseFailure) || error.problem !== 'corrupt') throw error;
      // The file has no content to lose. It is emptied in place, not replaced, so that a holder keeps the lock.
      await ports.files.empty(path);
      return await wait(ports, path, waitMs);
    }
  } catch (error) {
    throw toFailure(error, path);
  }
}

/** False for a file that holds data. */
async function isLock({ files }: Ports, path: string): Promise<boolean> {
  const facts = await files.facts(path);
  // Anything but a plain file is refused when it is opened.
  if (facts?.kind !== 'file' || facts.size === 0) return true;
  const head = await files.head(path, 16);
  return facts.size <= PAGE_BYTES && Buffer.from(head ?? []).toString('latin1') === 'SQLite format 3\0';
}

async function wait(ports: Ports, path: string, patienceMs: number): Promise<Disposable | undefined> {
  let opened: Database | undefined;
  try {
    const database = (opened = await whileBusy(ports, () => ports.openDatabase(path), { patienceMs }));
    // Opened once: to open it anew at each try would keep its holder waiting.
    await whileBusy(
      ports,
      () => {
        database.exec('BEGIN IMMEDIATE');
      },
      { patienceMs },
    );
    return database;
  } catch (error) {
    opened?.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

function toFailure(error: unknown, path: string): unknown {
  const unusable = (detail: string): Failure => new Failure('state', { path, problem: 'lock', detail }, error);
  if (error instanceof DatabaseFailure) {
    if (error.problem === 'full' || error.problem === 'readonly') {
      return new Failure('state', { path, problem: error.problem }, error);
    }
    return unusable(error.problem === 'corrupt' ? 'it is not a lock, or damaged' : error.message);
  }
  const code = errorCode(error);
  return code === undefined ? error : unusable(code);
}
