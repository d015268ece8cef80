/**
 * The one state database, `state.db` in the state folder. Its write lock is the lock of the whole program:
 * SQLite releases it when its holder dies, keeps it while its holder is merely stopped, and rolls back
 * whatever was half done.
 */
import { type Context, type Database, DatabaseFailure } from '../context.ts';
import { Failure } from '../errors.ts';

/** One entry a version: what brings a database from version i to i + 1. Never edited once released. */
const MIGRATIONS: readonly string[] = [
  'CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID',
  `CREATE TABLE ledger (
     name TEXT PRIMARY KEY,
     state TEXT NOT NULL,
     boot TEXT NOT NULL,
     monotonic REAL NOT NULL,
     wall REAL NOT NULL
   ) STRICT, WITHOUT ROWID`,
  // Quantities are integers of any size. Instants: epoch ms.
  `CREATE TABLE run (
     id INTEGER PRIMARY KEY,
     kind TEXT NOT NULL,
     startedAt INTEGER NOT NULL,
     endedAt INTEGER,
     environment TEXT NOT NULL,
     origin TEXT NOT NULL,
     source TEXT,
     hash TEXT
   ) STRICT;
   CREATE TABLE change (
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
     state TEXT NOT NULL,
     reason TEXT,
     sentAt INTEGER,
     settledAt INTEGER
   ) STRICT;
   CREATE INDEX changesOfRun ON change (run);
   CREATE INDEX changesOfPet ON change (petId);
   CREATE TABLE scan (
     run INTEGER NOT NULL REFERENCES run,
     seq INTEGER NOT NULL,
     petId INTEGER NOT NULL,
     quantity TEXT NOT NULL,
     PRIMARY KEY (run, seq)
   ) STRICT, WITHOUT ROWID;`,
  // The newest write of this machine to each pet, whichever journal has its row. `turn`: of `meta`, when it was noted.
  `CREATE TABLE written (
     origin TEXT NOT NULL,
     petId INTEGER NOT NULL,
     turn INTEGER NOT NULL,
     PRIMARY KEY (origin, petId)
   ) STRICT, WITHOUT ROWID`,
];

/** How long to wait for another process that does nothing, in ms. */
const PATIENCE_MS = 5_000;

/**
 * How long the write-ahead log may become before it is copied back: commands leave it as it is, and the next one reads
 * it. A page has 4 KiB.
 */
const LOG_PAGES = 250;

/** Every holder leaves a trace, so that whoever waits can tell a busy queue from one process that hangs. */
const TURN = "INSERT INTO meta VALUES ('turns', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1";

export interface Exclusive {
  /** On the disk before it is over, whatever happens to the machine. */
  readonly durable?: boolean;
  /** Waited for in spite of a signal: what must be recorded is. */
  readonly despiteSignal?: boolean;
}

export interface State {
  readonly path: string;
  /** Where a damaged file went, if there was one; what it held is unknown now. */
  readonly putAside?: string;
  readonly database: Database;
  /**
   * Runs the work while no other process can write here, in one transaction: all of it, or none.
   * @throws {Failure} `state`: one other process holds the lock for longer than 5 s. It is never stolen.
   *   A queue of many that all get on is waited for.
   */
  exclusively<T>(work: () => T | Promise<T>, how?: Exclusive): Promise<T>;
  close(): void;
}

type Ports = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random' | 'signal'>;

/** The one in the state folder. @throws {Failure} `state`, `file` */
export function openState(context: Ports, folder: string): Promise<State> {
  return openStateFile(context, `${folder}/state.db`);
}

/** One of its form anywhere. @throws {Failure} `state`, `file` */
export async function openStateFile(context: Ports, path: string): Promise<State> {
  const folder = path.replace(/[/\\]?[^/\\]*$/, '');
  const { database, putAside } = await openSound(context, folder, path);
  const state: State = {
    path,
    ...(putAside !== undefined && { putAside }),
    database,
    exclusively: (work, how = {}) => exclusively(context, path, database, work, how),
    close: () => {
      database.close();
    },
  };
  try {
    database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    await migrate(state);
    return state;
  } catch (error) {
    state.close();
    throw stateFailure(error, path);
  }
}

/** A damaged file is put aside, never deleted, and a new one begun. */
async function openSound(
  context: Ports,
  folder: string,
  path: string,
): Promise<{ database: Database; putAside?: string }> {
  try {
    return { database: await openFile(context, folder, path) };
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const putAside = `${path}.damaged-${context.clock.now()}`;
    for (const ending of ['', '-wal', '-shm']) await context.files.rename(`${path}${ending}`, `${putAside}${ending}`);
    return { database: await openFile(context, folder, path), putAside };
  }
}

function isDamaged(error: unknown): boolean {
  return error instanceof Failure && error.cause instanceof DatabaseFailure && error.cause.problem === 'corrupt';
}

async function openFile(context: Ports, folder: string, path: string): Promise<Database> {
  try {
    if (folder !== '') await context.files.makePrivateFolder(folder);
  } catch (cause) {
    const code = (cause as { code?: unknown }).code;
    throw new Failure('file', { operation: 'create', path: folder, code: String(code) }, cause);
  }
  try {
    return await context.openDatabase(path);
  } catch (error) {
    throw stateFailure(error, path);
  }
}

async function migrate(state: State): Promise<void> {
  const { database, path } = state;
  const version = (): number => Number(database.get('PRAGMA user_version')?.user_version);
  if (version() === MIGRATIONS.length) return;
  await state.exclusively(() => {
    const from = version();
    if (from > MIGRATIONS.length) {
      throw new Failure('state', { path, problem: 'unusable', detail: `a newer petstore wrote it (version ${from})` });
    }
    for (const step of MIGRATIONS.slice(from)) database.exec(step);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}

async function exclusively<T>(
  { clock, random, signal }: Ports,
  path: string,
  database: Database,
  work: () => T | Promise<T>,
  { durable, despiteSignal }: Exclusive,
): Promise<T> {
  if (durable === true) database.exec('PRAGMA synchronous = FULL');
  let giveUp = clock.monotonic() + PATIENCE_MS;
  let turns = turnsOf(database);
  while (!tryBegin(database, path)) {
    const now = turnsOf(database);
    if (now !== turns) giveUp = clock.monotonic() + PATIENCE_MS;
    turns = now;
    if (clock.monotonic() >= giveUp) throw new Failure('state', { path, problem: 'held' });
    await clock.sleep(15 + 25 * random(), despiteSignal === true ? undefined : signal);
  }
  try {
    // Not awaited without need: nothing else of this process may come between BEGIN and COMMIT.
    const working = work();
    const result = working instanceof Promise ? await working : working;
    database.exec(TURN);
    database.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(database);
    throw stateFailure(error, path);
  } finally {
    if (durable === true) database.exec('PRAGMA synchronous = NORMAL');
  }
}

/** Changes whenever another connection has committed (sqlite.org/pragma.html#pragma_data_version). */
function turnsOf(database: Database): unknown {
  return database.get('PRAGMA data_version')?.data_version;
}

/** False where another process holds the lock. */
function tryBegin(database: Database, path: string): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof DatabaseFailure && error.problem === 'busy') return false;
    throw stateFailure(error, path);
  }
}

/** SQLite may have rolled back by itself, after a full disk for instance. */
function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK');
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
  }
}

const DETAILS: Readonly<Partial<Record<DatabaseFailure['problem'], string>>> = {
  full: 'the disk is full',
  readonly: 'it is read-only',
  corrupt: 'it is damaged',
  'cannot-open': 'it cannot be opened',
};

/** What SQLite refuses, in terms of the file. */
export function stateFailure(error: unknown, path: string): unknown {
  if (!(error instanceof DatabaseFailure)) return error;
  const detail = DETAILS[error.problem] ?? error.message;
  return new Failure('state', { path, problem: error.problem === 'busy' ? 'held' : 'unusable', detail }, error);
}
