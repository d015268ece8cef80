/**
 * Runs transactions on a database file. The write lock of the state database, `state.db` in the state folder, is the
 * lock of the whole program: SQLite releases it when its holder dies, keeps it while its holder is suspended, and rolls
 * back a transaction that did not end.
 */
import type { Database } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { type DatabaseKind, failureOf, isDamage, openFile, openSound, type FilePlace, type Warned } from './file.ts';
import { atomically, type BusyWait, type FilePorts, whileBusy } from './lock.ts';
import { STATE_DATABASE } from './schema.ts';

export interface Exclusive extends Pick<BusyWait, 'patienceMs'> {
  /** The work is on the disk when `exclusively` resolves: it survives a power cut. */
  readonly durable?: boolean;
  /** Waits for the lock in spite of a stop signal, for what must be recorded. */
  readonly despiteSignal?: boolean;
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
  return openDatabaseFile(context, STATE_DATABASE, `${folder}/state.db`, context.notices);
}

/** Opens the state database at its path, and never puts it aside. @throws {Failure} `state`, `file` */
export function openStateFile(context: FilePorts, path: string): Promise<State> {
  return openDatabaseFile(context, STATE_DATABASE, path);
}

/** @param notices is warned if a damaged file is put aside; without it, none is. @throws {Failure} `state`, `file` */
export async function openDatabaseFile(
  ports: FilePorts,
  kind: DatabaseKind,
  path: string,
  notices?: Warned['notices'],
): Promise<State> {
  const place = { ports, kind, path };
  const connection = await openFile(place).catch(async (error: unknown) => {
    if (notices === undefined || !isDamage(error)) throw error;
    return (await openSound(place, notices)).database;
  });
  return new DatabaseFile(place, connection, notices);
}

class DatabaseFile implements State {
  readonly database: State['database'];
  private readonly place: FilePlace;
  private readonly notices: Warned['notices'] | undefined;
  private connection: Database;
  private isDurable = false;
  private renewal: Promise<boolean> | undefined;

  constructor(place: FilePlace, connection: Database, notices: Warned['notices'] | undefined) {
    this.place = place;
    this.connection = connection;
    this.notices = notices;
    this.database = {
      run: (...params) => this.guarded((database) => database.run(...params)),
      all: (...params) => this.guarded((database) => database.all(...params)),
      get: (...params) => this.guarded((database) => database.get(...params)),
    };
  }

  get path(): string {
    return this.place.path;
  }

  async exclusively<T>(work: () => T | Promise<T>, how: Exclusive = {}): Promise<T> {
    try {
      return await this.attempt(work, how);
    } catch (error) {
      if (!(await this.recover(error))) throw error;
      return this.attempt(work, how);
    }
  }

  async recover(error: unknown): Promise<boolean> {
    if (this.notices === undefined || !isFailure(error) || !error.is('state')) return false;
    const { path, problem } = error.details;
    // If SQLite rejects our own statement, its schema may be damaged.
    return path === this.path && (problem === 'damaged' || problem === 'unusable') && this.renew();
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }

  private async attempt<T>(work: () => T | Promise<T>, how: Exclusive): Promise<T> {
    const { clock, random, signal } = this.place.ports;
    const ports = { clock, random, ...(signal && how.despiteSignal !== true && { signal }) };
    // This value changes whenever another connection commits (sqlite.org/pragma.html#pragma_data_version).
    const progress = () => this.database.get('PRAGMA data_version')?.data_version;
    const once = async (): Promise<T> => {
      // Another process has put the file aside: what is written to it would be lost.
      if (this.renewal !== undefined || !this.connection.isInPlace()) await this.renew();
      const { connection, place } = this;
      const isDurable = how.durable === true;
      if (isDurable !== this.isDurable) connection.exec(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`);
      this.isDurable = isDurable;
      return atomically(connection, work, place.kind.everyTransaction);
    };
    try {
      return await whileBusy(ports, once, { ...how, progress });
    } catch (error) {
      throw failureOf(error, this.place);
    }
  }

  /** Opens the file that is there now. Returns whether it is a different one. */
  private renew(): Promise<boolean> {
    const renew = async (): Promise<boolean> => {
      const { connection, notices, place } = this;
      const { kind, path } = place;
      if (notices === undefined) throw new Failure('state', { path, what: kind.name, problem: 'replaced' });
      const { database, isNew } = await openSound(place, notices);
      const isOther = isNew || !connection.isInPlace();
      connection.close();
      this.connection = database;
      this.isDurable = false;
      return isOther;
    };
    this.renewal ??= renew().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private guarded<T>(work: (database: Database) => T): T {
    try {
      return work(this.connection);
    } catch (error) {
      throw failureOf(error, this.place);
    }
  }
}
