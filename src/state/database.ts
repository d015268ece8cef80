/**
 * Opens the state database, `state.db` in the state folder. Its write lock is the lock of the whole program: SQLite
 * releases it when the process that holds it dies, keeps it while that process is stopped, and rolls back a transaction
 * that did not end.
 */
import { type Context, type Database, DatabaseFailure } from '../ports.ts';
import { Failure } from '../errors.ts';
import { beginAnew, openFile, openOrBeginAnew, type Warned } from './file.ts';
import { APPLICATION_IDS, failureOf, type Form, isSound, type Place } from './form.ts';
import { type BusyWait, isBusy, rollBack, whileBusy } from './transaction.ts';

const FORM: Form = {
  applicationId: APPLICATION_IDS.state,
  schema: [
    'CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID',
    `CREATE TABLE ledger (
       name TEXT PRIMARY KEY,
       state TEXT NOT NULL,
       boot TEXT NOT NULL,
       monotonic REAL NOT NULL,
       wall REAL NOT NULL
     ) STRICT, WITHOUT ROWID`,
    // Quantities are integers of any size. Instants: epoch ms. `adds`: 1 for a run that adds to the stock.
    `CREATE TABLE run (
       id INTEGER PRIMARY KEY,
       kind TEXT NOT NULL CHECK (kind IN ('import', 'count', 'edit', 'undo', 'smoke')),
       startedAt INTEGER NOT NULL,
       endedAt INTEGER,
       environment TEXT NOT NULL,
       origin TEXT NOT NULL,
       source TEXT,
       hash TEXT,
       adds INTEGER
     ) STRICT`,
    `CREATE TABLE change (
       id INTEGER PRIMARY KEY,
       run INTEGER REFERENCES run,
       line INTEGER,
       environment TEXT NOT NULL,
       origin TEXT NOT NULL,
       command TEXT NOT NULL,
       person TEXT NOT NULL,
       petId INTEGER NOT NULL,
       before TEXT,
       after TEXT NOT NULL,
       state TEXT NOT NULL CHECK (state IN (
         'planned', 'sent', 'applied', 'failed', 'unknown', 'unchanged', 'conflict', 'discarded'
       )),
       reason TEXT,
       sentAt INTEGER
     ) STRICT`,
    'CREATE INDEX changesOfRun ON change (run, sentAt)',
    'CREATE INDEX changesOfPet ON change (petId)',
    'CREATE INDEX changesSent ON change (sentAt) WHERE sentAt IS NOT NULL',
    `CREATE TABLE scan (
       run INTEGER NOT NULL REFERENCES run,
       seq INTEGER NOT NULL,
       petId INTEGER NOT NULL,
       quantity TEXT NOT NULL,
       PRIMARY KEY (run, seq)
     ) STRICT, WITHOUT ROWID`,
    // The newest write of this machine to each pet. `turn`: of `meta`, when it was noted.
    `CREATE TABLE written (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       turn INTEGER NOT NULL,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
    // Names and barcodes of the pets of each service. `barcode` has 14 digits.
    `CREATE TABLE catalogPet (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       name TEXT NOT NULL,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE catalogBarcode (
       origin TEXT NOT NULL,
       barcode TEXT NOT NULL,
       petId INTEGER NOT NULL,
       forced INTEGER NOT NULL,
       PRIMARY KEY (origin, barcode)
     ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX barcodesOfPet ON catalogBarcode (origin, petId)',
    // Changes that the user has made in `inventory browse` and not applied yet. Quantities are integers of any size.
    `CREATE TABLE draft (
       origin TEXT NOT NULL,
       petId INTEGER NOT NULL,
       current TEXT NOT NULL,
       quantity TEXT NOT NULL,
       PRIMARY KEY (origin, petId)
     ) STRICT, WITHOUT ROWID`,
  ],
};

/** Pages of 4 KiB in the write-ahead log before SQLite copies it back; commands leave it behind for the next one. */
export const LOG_PAGES = 250;

/** Counts transactions, so that a process that waits can tell a busy queue from one process that hangs. */
const TURN = "INSERT INTO meta VALUES ('turns', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1";

/** How often to reopen a file that another process keeps replacing, before it is used as it is. */
const MOST_RENEWALS = 3;

export interface Exclusive extends Pick<BusyWait, 'patienceMs'> {
  /** The work is on the disk when `exclusively` resolves, even if the power fails. */
  readonly durable?: boolean;
  /** Waits for the lock in spite of a signal, for what must be recorded. */
  readonly despiteSignal?: boolean;
}

/** Closed by `using`, too. */
export interface State extends Disposable {
  readonly path: string;
  /** Its methods throw {@link Failure} `state`, which names the file. It stays the same object for the life of the state. */
  readonly database: Pick<Database, 'exec' | 'run' | 'all' | 'get'>;
  /**
   * Runs the work in one transaction while no other process can write. If the file of the state folder is damaged, it
   * is put aside, and the work runs again in a new one.
   * @throws {Failure} `state`: one other process holds the lock for longer than 5 s. It is never stolen.
   *   Waits longer while several processes take turns.
   */
  exclusively<T>(work: () => T | Promise<T>, how?: Exclusive): Promise<T>;
  /** Puts the file aside and begins a new one, if the error of a statement shows damage. Returns whether it did. */
  recover(error: unknown): Promise<boolean>;
  close(): void;
}

type Ports = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random' | 'signal'>;

/** Opens the state database; a damaged one is put aside, with a warning. @throws {Failure} `state`, `file` */
export async function openState(context: Ports & Warned, folder: string): Promise<State> {
  const place = placeAt(`${folder}/state.db`);
  return new StateFile(context, place, await openOrBeginAnew(context, FORM, place), context);
}

/** Opens the state database at its path, and never puts it aside. @throws {Failure} `state`, `file` */
export async function openStateFile(context: Ports, path: string): Promise<State> {
  const place = placeAt(path);
  return new StateFile(context, place, await openFile(context, FORM, place));
}

function placeAt(path: string): Place {
  return { path, what: 'state database' };
}

class StateFile implements State {
  readonly path: string;
  readonly database: State['database'];
  private readonly ports: Ports;
  private readonly place: Place;
  /** Undefined: nothing is put aside. */
  private readonly warned: Warned | undefined;
  private connection: Database;
  private renewal: Promise<void> | undefined;
  /** Which connection an error comes from: another may be in its place by now. */
  private readonly failedOn = new WeakMap<object, Database>();

  constructor(ports: Ports, place: Place, connection: Database, warned?: Warned) {
    this.path = place.path;
    this.ports = ports;
    this.place = place;
    this.warned = warned;
    this.connection = this.settled(connection);
    this.database = {
      exec: (sql) => {
        this.guarded((database) => {
          database.exec(sql);
        });
      },
      run: (...params) => this.guarded((database) => database.run(...params)),
      all: (...params) => this.guarded((database) => database.all(...params)),
      get: (...params) => this.guarded((database) => database.get(...params)),
    };
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
    if (!(error instanceof Failure) || !error.is('state') || this.warned === undefined) return false;
    const failed = this.failedOn.get(error);
    if (failed === undefined) return false;
    const { problem } = error.details;
    // SQLite rejects a statement of ours: its description of the tables may be damaged.
    const isDamaged =
      problem === 'damaged' || (problem === 'unusable' && !(await isSound(this.ports, FORM, this.place)));
    if (isDamaged && failed === this.connection) await this.renew(failed, this.warned);
    return isDamaged;
  }

  close(): void {
    this.connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private async attempt<T>(work: () => T | Promise<T>, how: Exclusive): Promise<T> {
    const { clock, random, signal } = this.ports;
    const ports = { clock, random, ...(how.despiteSignal !== true && { signal }) };
    // Changes whenever another connection has committed (sqlite.org/pragma.html#pragma_data_version).
    const progress = () => this.database.get('PRAGMA data_version')?.data_version;
    let renewals = 0;
    const once = async (): Promise<T> => {
      while (this.renewal !== undefined || (!this.connection.isInPlace() && renewals++ < MOST_RENEWALS)) {
        await (this.renewal ?? this.follow());
      }
      return this.transaction(work, how.durable === true);
    };
    try {
      return await whileBusy(ports, once, { ...how, progress });
    } catch (error) {
      throw this.failure(error, this.connection);
    }
  }

  /** @throws {DatabaseFailure} `busy`: another process holds the lock */
  private async transaction<T>(work: () => T | Promise<T>, durable: boolean): Promise<T> {
    const { connection } = this;
    this.begin(connection, durable);
    try {
      // Awaited only if asynchronous: nothing else of this process may run between BEGIN and COMMIT.
      const working = work();
      const result = working instanceof Promise ? await working : working;
      this.database.run(TURN);
      this.database.exec('COMMIT');
      return result;
    } catch (error) {
      rollBack(connection);
      throw error;
    } finally {
      if (durable) synchronous(connection, 'NORMAL');
    }
  }

  private begin(connection: Database, durable: boolean): void {
    try {
      if (durable) synchronous(connection, 'FULL');
      connection.exec('BEGIN IMMEDIATE');
    } catch (error) {
      // Other transactions of this process may run before the next try.
      if (durable) synchronous(connection, 'NORMAL');
      throw isBusy(error) ? error : this.failure(error, connection);
    }
  }

  /** Opens the new file after another process has put this one aside. */
  private async follow(): Promise<void> {
    if (this.warned === undefined) throw new Failure('state', { ...this.place, problem: 'replaced' });
    await this.renew(this.connection, this.warned);
  }

  private renew(failed: Database, warned: Warned): Promise<void> {
    const renew = async (): Promise<void> => {
      failed.close();
      this.connection = this.settled(await beginAnew({ ...this.ports, ...warned }, FORM, this.place, failed));
    };
    this.renewal ??= renew().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private settled(connection: Database): Database {
    connection.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    return connection;
  }

  private guarded<T>(work: (database: Database) => T): T {
    const { connection } = this;
    try {
      return work(connection);
    } catch (error) {
      throw this.failure(error, connection);
    }
  }

  private failure(error: unknown, connection: Database): unknown {
    const failure = failureOf(error, this.place);
    if (failure !== error && failure instanceof Failure) this.failedOn.set(failure, connection);
    return failure;
  }
}

function synchronous(connection: Database, level: 'FULL' | 'NORMAL'): void {
  try {
    connection.exec(`PRAGMA synchronous = ${level}`);
  } catch (error) {
    // The next statement shows what is wrong with the file.
    if (!(error instanceof DatabaseFailure)) throw error;
  }
}
