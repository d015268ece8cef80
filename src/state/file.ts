/**
 * Opens petstore's database files. Refuses those of other programs and of a newer petstore. Puts a damaged file aside,
 * once, however many processes find it.
 */
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Database, DatabaseFailure, errorCode } from '../ports.ts';
import { Failure, fileFailed, isFailure } from '../errors.ts';
import { acquireLock, atomically, type FilePorts, PATIENCE_MS, whileBusy } from './lock.ts';

/** Receives a warning if a file was put aside. */
export interface Warned {
  readonly notices: { warning(text: string): void };
}

export interface DatabaseKind {
  /** Name in messages. */
  readonly name: 'state database' | 'sandbox';
  /** Identifies petstore's files in their header. */
  readonly applicationId: number;
  /** The CREATE statements, exactly as SQLite stores them. */
  readonly schema: readonly string[];
  /** A statement that runs in each transaction. */
  readonly everyTransaction?: string;
  fill?(database: Database): void;
}

/** Path and kind of a database file, and how to reach it. */
export interface FilePlace {
  readonly ports: FilePorts;
  readonly kind: DatabaseKind;
  readonly path: string;
}

const VERSION = 1;
const MAGIC = 'SQLite format 3\0';
/** Offset of the application id (sqlite.org/fileformat.html). */
const APPLICATION_ID = 68;
const HEADER_BYTES = 100;

/** Pages of 4 KiB in the write-ahead log before SQLite copies them back. Commands leave the log to the next one. */
const LOG_PAGES = 250;

/** Opens a file, or creates it. @throws {Failure} `state`, `file` */
export async function openFile(place: FilePlace): Promise<Database> {
  const { ports, path } = place;
  const folder = dirname(path);
  await ports.files.makePrivateFolder(folder).catch(fileFailed('create', folder));
  await requireOurs(place);
  let database: Database | undefined;
  try {
    database = await ports.openDatabase(path);
    await createTables(place, database);
    return database;
  } catch (error) {
    database?.close();
    throw failureOf(error, place);
  }
}

/** Checks that a file is petstore's without opening it as a database. A missing or empty file passes. */
async function requireOurs({ ports, kind: { name, applicationId }, path }: FilePlace): Promise<void> {
  const head = await ports.files.head(path, HEADER_BYTES).catch(fileFailed('read', path));
  if (head === undefined || head.length === 0) return;
  if (head.length < HEADER_BYTES || !Buffer.from(head).toString('latin1').startsWith(MAGIC)) {
    throw new Failure('state', { path, what: name, problem: 'damaged', detail: 'it is not an SQLite database' });
  }
  if (new DataView(head.buffer, head.byteOffset).getInt32(APPLICATION_ID) === applicationId) return;
  throw new Failure('state', { path, what: name, problem: 'foreign' });
}

/** Creates the tables before the log exists, so that every file that is not empty has the application id in its header. */
async function createTables({ ports, kind, path }: FilePlace, database: Database): Promise<void> {
  const version = (): number => Number(database.get('PRAGMA user_version')?.user_version);
  await whileBusy(ports, async () => {
    if (version() === 0) {
      await atomically(database, () => {
        // Another process may just have created the tables.
        if (version() !== 0) return;
        for (const sql of kind.schema) database.exec(sql);
        kind.fill?.(database);
        database.exec(`PRAGMA application_id = ${kind.applicationId}; PRAGMA user_version = ${VERSION}`);
      });
    }
    const detail = `version ${version()}`;
    if (version() !== VERSION) throw new Failure('state', { path, what: kind.name, problem: 'newer', detail });
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
  });
}

/**
 * Opens the file that is there now. Renames a damaged one, never deletes it, and creates a new one.
 * @returns `isNew`: true if this process created it
 * @throws {Failure} `state`, `file`
 */
export async function openSound(place: FilePlace, notices: Warned['notices']) {
  const { ports, kind, path } = place;
  using lock = await acquireLock(ports, `${path}.aside.lock`, 2 * PATIENCE_MS);
  if (lock === undefined) throw new Failure('state', { path, what: kind.name, problem: 'held' });
  const found = await openChecked(place);
  if (found !== undefined) return { database: found, isNew: false };
  await putAside(place, notices);
  return { database: await openFile(place), isNew: true };
}

/** Opens the file with a full check, which is too slow for every start. Returns undefined if it is damaged. */
async function openChecked(place: FilePlace): Promise<Database | undefined> {
  let database: Database | undefined;
  try {
    database = await openFile(place);
    const [check] = Object.values(database.get('PRAGMA integrity_check(1)') ?? {});
    const found = database.all('SELECT sql FROM sqlite_schema ORDER BY rowid').map(({ sql }) => sql);
    if (check === 'ok' && isDeepStrictEqual(found, place.kind.schema)) return database;
    database.close();
  } catch (error) {
    database?.close();
    const failure = failureOf(error, place);
    if (!isDamage(failure)) throw failure;
  }
  return undefined;
}

async function putAside(
  { ports: { clock, files }, kind: { name }, path }: FilePlace,
  notices: Warned['notices'],
): Promise<void> {
  try {
    let at = clock.now();
    while ((await files.facts(`${path}.damaged-${at}`)) !== undefined) at++;
    const aside = `${path}.damaged-${at}`;
    // The file itself last: as soon as it is gone, another process may create a new one, beside the old log.
    for (const ending of ['-journal', '-shm', '-wal', '']) await files.rename(`${path}${ending}`, `${aside}${ending}`);
    const lost = name === 'sandbox' ? 'Pets and keys' : 'Catalog, history, unfinished runs and rate limits';
    notices.warning(`The ${name} was damaged. It is now ${aside}, and a new one was started. ${lost} in it are lost.`);
  } catch (cause) {
    const detail = `it cannot be moved aside (${errorCode(cause) ?? String(cause)})`;
    throw new Failure('state', { path, what: name, problem: 'damaged', detail }, cause);
  }
}

export function isDamage(error: unknown): boolean {
  return isFailure(error) && error.is('state') && error.details.problem === 'damaged';
}

/** True if the state cannot be reached or written, so that a command may do without it. */
export function isOutOfReach(error: unknown): boolean {
  if (!isFailure(error)) return false;
  if (error.is('state')) return ['full', 'readonly', 'unusable'].includes(error.details.problem);
  return error.is('file') || error.is('no-home');
}

/** Converts an SQLite error to a failure that names the file; returns any other error unchanged. */
export function failureOf(error: unknown, { kind: { name }, path }: FilePlace): unknown {
  if (!(error instanceof DatabaseFailure)) return error;
  const { message: detail, problem } = error;
  return new Failure('state', { path, what: name, problem, ...(problem === 'unusable' && { detail }) }, error);
}
