/**
 * Runs transactions on a database file. The write lock of the state database, `state.db` in the state folder, is the
 * lock of the whole program: SQLite releases it when its holder dies, keeps it while its holder is suspended, and rolls
 * back a transaction that did not end.
 */
import type { Database } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { failureOf, isDamage, openFile, openSound, type FilePlace, type Warned } from './file.ts';
import { atomically, type BusyWait, type FilePorts, whileBusy } from './lock.ts';
import { STATE_DATABASE } from './schema.ts';

export interface Exclusive extends Omit<BusyWait, 'progress'> {
  /** The work is on the disk when `exclusively` resolves: it survives a power cut. */
  readonly durable?: boolean;
}

/** An open state database, for `using`. */
export interface State extends Disposable {
  readonly path: string;
  /** Its methods throw {@link Failure} `state`, which names the file. The object stays the same if the file is replaced. */
  readonly database: Pick<Database, 'run' | 'all' | 'get'>;
  /**
   * Runs the work in one transaction while no other process can write. Puts a damaged file aside if allowed, and runs
   * the work again in a new one.
   * @throws {Failure} `state`: one other process holds the lock for longer than 5 s. The lock is never stolen.
   *   Waits longer while several processes take turns.
   */
  exclusively<T>(work: () => T | Promise<T>, how?: Exclusive): Promise<T>;
  /** Checks the file after a statement has failed. Returns whether it was replaced by a new one. */
  recover(error: unknown): Promise<boolean>;
}

/** Opens the state database; puts a damaged one aside, with a warning. @throws {Failure} `state`, `file` */
export function openState(context: FilePorts & Warned, folder: string): Promise<State> {
  return openDatabaseFile({ ports: context, kind: STATE_DATABASE, path: `${folder}/state.db` }, context.notices);
}

/** Opens the state database at its path, and never puts it aside. @throws {Failure} `state`, `file` */
export function openStateFile(ports: FilePorts, path: string): Promise<State> {
  return openDatabaseFile({ ports, kind: STATE_DATABASE, path });
}

/** @param notices is warned if a damaged file is put aside; without it, none is. @throws {Failure} `state`, `file` */
export async function openDatabaseFile(place: FilePlace, notices?: Warned['notices']): Promise<State> {
  const { ports, kind, path } = place;
  let connection = await openFile(place).catch(async (error: unknown) => {
    if (notices === undefined || !isDamage(error)) throw error;
    return (await openSound(place, notices)).database;
  });
  let renewal: Promise<boolean> | undefined;
  const database = guarded(place, () => connection);

  /** Opens the file that is there now. Returns whether it is a different one. */
  const renew = async (): Promise<boolean> => {
    if (notices === undefined) throw new Failure('state', { path, what: kind.name, problem: 'replaced' });
    const { database: found, isNew } = await openSound(place, notices);
    const isOther = isNew || !connection.isInPlace();
    connection.close();
    connection = found;
    return isOther;
  };
  const renewed = (): Promise<boolean> => (renewal ??= renew().finally(() => (renewal = undefined)));

  const attempt = async <T>(work: () => T | Promise<T>, how: Exclusive): Promise<T> => {
    // This value changes whenever another connection commits (sqlite.org/pragma.html#pragma_data_version).
    const progress = () => database.get('PRAGMA data_version')?.data_version;
    const once = async (): Promise<T> => {
      // Another process has put the file aside: what is written to it would be lost.
      if (renewal !== undefined || !connection.isInPlace()) await renewed();
      connection.exec(`PRAGMA synchronous = ${how.durable === true ? 'FULL' : 'NORMAL'}`);
      return atomically(connection, work, kind.everyTransaction);
    };
    return whileBusy(ports, once, { ...how, progress }).catch((error: unknown) => {
      throw failureOf(error, place);
    });
  };

  const recover = async (error: unknown): Promise<boolean> => {
    if (notices === undefined || !isFailure(error) || !error.is('state')) return false;
    const { path: of, problem } = error.details;
    // If SQLite rejects our own statement, its schema may be damaged.
    return of === path && (problem === 'damaged' || problem === 'unusable') && renewed();
  };
  return {
    path,
    database,
    recover,
    exclusively: async (work, how = {}) => {
      try {
        return await attempt(work, how);
      } catch (error) {
        if (!(await recover(error))) throw error;
        return attempt(work, how);
      }
    },
    [Symbol.dispose]: () => {
      connection.close();
    },
  };
}

/** Returns the methods of the connection that is open at the time. Their failures name the file. */
function guarded(place: FilePlace, current: () => Database): State['database'] {
  const named = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw failureOf(error, place);
    }
  };
  return {
    run: (...params) => named(() => current().run(...params)),
    all: (...params) => named(() => current().all(...params)),
    get: (...params) => named(() => current().get(...params)),
  };
}
