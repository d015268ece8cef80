/** The Database port over node:sqlite: private files, exact integers. */
import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Context, type Database, DatabaseFailure, type DatabaseProblem, errorCode } from '../ports.ts';

/** In ms. SQLite blocks the event loop while it waits: keep that short, so that Ctrl-C works; callers retry. */
const BUSY_MS = 20;
/** Two processes that create the same file at once may both find it locked. */
const OPEN_TRIES = 50;

const MEMORY = ':memory:';

/** @throws {DatabaseFailure} */
export const openDatabase: Context['openDatabase'] = async (path, { readOnly = false, isLock = false } = {}) => {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    if (path !== MEMORY) makeFile(path, readOnly, isLock);
  } catch (cause) {
    throw cause instanceof DatabaseFailure ? cause : new DatabaseFailure('unusable', errorCode(cause) ?? cause);
  }
  for (let tries = 1; ; tries++) {
    let database: DatabaseSync | undefined;
    try {
      const place = placeOf(path);
      database = new DatabaseSync(path, { readOnly });
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; ${readOnly ? TO_READ : isLock ? TO_LOCK : TO_WRITE}`);
      // Otherwise another process has just moved the file aside, and this is the old one.
      if (placeOf(path) === place || tries === OPEN_TRIES) return wrap(database, () => placeOf(path) === place);
      database.close();
    } catch (error) {
      database?.close();
      const failure = toFailure(error);
      if (failure.problem !== 'held' || tries === OPEN_TRIES) throw failure;
      await wait(10 + Math.random() * 20);
    }
  }
};

/** Creates the file if it is missing and not only read. A FIFO would block the program forever. @throws {DatabaseFailure} */
function makeFile(path: string, readOnly: boolean, isLock: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === false) throw new DatabaseFailure('unusable', new Error(`${path} is not a plain file`));
  if (readOnly || (isLock && found !== undefined)) return;
  // SQLite creates -wal and -shm with the mode of the file itself. Closing one that exists would release a lock that this
  // process holds.
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    closeSync(openSync(path, 'a', 0o600));
  }
}

const TO_WRITE = 'PRAGMA synchronous = NORMAL';
const TO_READ = 'PRAGMA query_only = 1';
/** Avoids a journal file, as nothing is written; callers do the waiting. */
const TO_LOCK = 'PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY';

/** Identifies the file at the path; undefined if it is missing, or for a database in memory. */
function placeOf(path: string): string | undefined {
  if (path === MEMORY) return undefined;
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

function wrap(database: DatabaseSync, isInPlace: () => boolean): Database {
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
  const guarded =
    <Given extends unknown[], T>(work: (...given: Given) => T) =>
    (...given: Given): T => {
      try {
        return work(...given);
      } catch (error) {
        throw toFailure(error);
      }
    };
  const close = (): void => {
    statements.clear();
    // node:sqlite has its own isOpen only from Node 22.15 on.
    if (isOpen) database.close();
    isOpen = false;
  };
  return {
    exec: guarded((sql) => {
      database.exec(sql);
    }),
    run: guarded((sql, ...params) => ({ changes: BigInt(prepare(sql).run(...params).changes) })),
    all: guarded((sql, ...params) => prepare(sql).all(...params)),
    get: guarded((sql, ...params) => prepare(sql).get(...params)),
    isInPlace,
    close,
    [Symbol.dispose]: close,
  };
}

/** Result codes of SQLite (sqlite.org/rescode.html): primary ones, and extended ones that differ from theirs. */
const PROBLEMS: Readonly<Record<number, DatabaseProblem>> = {
  5: 'held',
  6: 'held',
  8: 'readonly',
  11: 'damaged',
  13: 'full',
  15: 'held',
  26: 'damaged',
  // SQLITE_IOERR_SHORT_READ: the file was truncated.
  522: 'damaged',
  // SQLITE_IOERR_SHMSIZE: there is no space for the index of the write-ahead log.
  4874: 'full',
};

function toFailure(error: unknown): DatabaseFailure {
  if (error instanceof DatabaseFailure) return error;
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  // An unsupported format has the same code as any failed statement.
  if (String(error).includes('unsupported file format')) return new DatabaseFailure('damaged', error);
  return new DatabaseFailure(PROBLEMS[code] ?? PROBLEMS[code & 0xff] ?? 'unusable', error);
}
