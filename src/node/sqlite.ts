/** The Database port over node:sqlite: WAL, private files, exact integers. */
import { closeSync, constants, openSync, statSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Database, DatabaseFailure, type DatabaseProblem, type SqlRow } from '../context.ts';

/** SQLite waits without letting the event loop run: keep that short, so that Ctrl-C is heard; callers retry. */
const BUSY_MS = 20;
/** Two processes that create one file at the same time may both meet a lock. */
const OPEN_TRIES = 50;

/** @throws {DatabaseFailure} */
export async function openDatabase(path: string): Promise<Database> {
  const { DatabaseSync } = await loadSqlite();
  try {
    if (path !== ':memory:') makeFile(path);
  } catch (cause) {
    throw cause instanceof DatabaseFailure ? cause : new DatabaseFailure('cannot-open', cause);
  }
  for (let tries = 1; ; tries++) {
    try {
      return wrap(prepared(new DatabaseSync(path)));
    } catch (error) {
      const failure = toFailure(error);
      if (failure.problem !== 'busy' || tries === OPEN_TRIES) throw failure;
      await wait(10 + Math.random() * 20);
    }
  }
}

// Windows has no O_NONBLOCK: undefined counts as 0 in the sum of bits.
const NEW_OR_OLD = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** Creates the file where there is none. A FIFO would hold the program up for ever. @throws {DatabaseFailure} */
function makeFile(path: string): void {
  for (const each of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    const found = statSync(each, { throwIfNoEntry: false });
    if (found === undefined || found.isFile()) continue;
    const kind = found.isDirectory() ? 'folder' : found.isFIFO() ? 'FIFO' : 'special file';
    throw new DatabaseFailure('other', new Error(`${each} is a ${kind}, not a plain file`));
  }
  // SQLite makes -wal and -shm with the mode of the file itself.
  closeSync(openSync(path, NEW_OR_OLD, 0o600));
}

function prepared(database: DatabaseSync): DatabaseSync {
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = NORMAL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Loads node:sqlite without its own ExperimentalWarning; any other warning passes. */
async function loadSqlite(): Promise<typeof import('node:sqlite')> {
  const emit = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return;
    (emit as (...all: unknown[]) => void).call(process, warning, ...rest);
  };
  try {
    return await import('node:sqlite');
  } finally {
    process.emitWarning = emit;
  }
}

function wrap(database: DatabaseSync): Database {
  const statements = new Map<string, StatementSync>();
  let isOpen = true;
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    statements.set(sql, statement);
    return statement;
  };
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw toFailure(error);
    }
  };
  return {
    exec: (sql) => {
      guarded(() => {
        database.exec(sql);
      });
    },
    run: (sql, ...params) => guarded(() => ({ changes: BigInt(prepare(sql).run(...params).changes) })),
    all: (sql, ...params) => guarded(() => prepare(sql).all(...params) as SqlRow[]),
    get: (sql, ...params) => guarded(() => prepare(sql).get(...params) as SqlRow | undefined),
    close: () => {
      statements.clear();
      // Its own isOpen is newer than the oldest Node (22.15).
      if (isOpen) database.close();
      isOpen = false;
    },
  };
}

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const PROBLEMS: Readonly<Record<number, DatabaseProblem>> = {
  5: 'busy',
  6: 'busy',
  8: 'readonly',
  10: 'io',
  11: 'corrupt',
  13: 'full',
  14: 'cannot-open',
  26: 'corrupt',
};

function toFailure(error: unknown): DatabaseFailure {
  const code = error instanceof Error ? (error as Error & { errcode?: number }).errcode : undefined;
  return new DatabaseFailure(PROBLEMS[(code ?? 0) & 0xff] ?? 'other', error);
}
