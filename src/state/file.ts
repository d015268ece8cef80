/** Opens a database file of petstore's. A damaged one is put aside, once, however many processes find it. */
import { type Context, type Database, errorCode } from '../ports.ts';
import { Failure, fileFailure, isFailure } from '../errors.ts';
import { create, failureOf, type Form, isNew, type Place, requireOurs } from './form.ts';
import { acquireLock } from './lock.ts';
import { atomically, PATIENCE_MS, whileBusy } from './transaction.ts';

export type FilePorts = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random'> & Partial<Pick<Context, 'signal'>>;

/** Receives the warning that a file was put aside. */
export interface Warned {
  readonly notices: { warning(text: string): void };
}

/** Opens a file, or creates it, and never puts one aside. @throws {Failure} `state`, `file` */
export async function openFile(ports: FilePorts, form: Form, place: Place): Promise<Database> {
  await makeFolderOf(ports.files, place.path);
  await requireOurs(ports, form, place);
  let database: Database | undefined;
  try {
    database = await ports.openDatabase(place.path);
    await createTables(ports, database, form, place);
    return database;
  } catch (error) {
    database?.close();
    throw failureOf(error, place);
  }
}

async function makeFolderOf(files: FilePorts['files'], path: string): Promise<void> {
  const folder = path.replace(/[/\\]?[^/\\]*$/, '');
  try {
    if (folder !== '') await files.makePrivateFolder(folder);
  } catch (cause) {
    throw fileFailure('create', folder, cause);
  }
}

/** Creates the tables before there is a log: a file that is not empty has the application id in its header. */
async function createTables(ports: FilePorts, database: Database, form: Form, place: Place): Promise<void> {
  await whileBusy(ports, () => {
    if (isNew(database, form, place)) {
      atomically(database, () => {
        // Another process may have created them just now.
        if (isNew(database, form, place)) create(database, form);
      });
    }
    database.exec('PRAGMA journal_mode = WAL');
  });
}

export function isDamage(error: unknown): boolean {
  return isFailure(error) && error.is('state') && error.details.problem === 'damaged';
}

/** True when a state cannot be reached or written; false for one that must not be ignored. */
export function isOutOfReach(error: unknown): boolean {
  if (!isFailure(error)) return false;
  if (error.is('state')) return ['full', 'readonly', 'unusable'].includes(error.details.problem);
  return error.is('file') || error.is('no-home');
}

/** Opens a file of the state folder. A damaged one is renamed, never deleted, and a new one begun. */
export async function openOrBeginAnew(ports: FilePorts & Warned, form: Form, place: Place): Promise<Database> {
  try {
    return await openFile(ports, form, place);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return beginAnew(ports, form, place);
  }
}

/**
 * Puts a damaged file aside, unless another process has done so, and opens the new one. `failed`: the closed connection
 * that found the damage.
 * @throws {Failure} `state`
 */
export async function beginAnew(
  ports: FilePorts & Warned,
  form: Form,
  place: Place,
  failed?: Pick<Database, 'isInPlace'>,
): Promise<Database> {
  using lock = await acquireLock(ports, `${place.path}.aside.lock`, 2 * PATIENCE_MS);
  if (lock === undefined) throw new Failure('state', { ...place, problem: 'held' });
  if (failed?.isInPlace() !== true) {
    try {
      return await openFile(ports, form, place);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
  await putAside(ports, place);
  return await openFile(ports, form, place);
}

async function putAside({ clock, files, notices }: FilePorts & Warned, place: Place): Promise<void> {
  const { path, what } = place;
  try {
    let at = clock.now();
    while ((await files.facts(`${path}.damaged-${at}`)) !== undefined) at++;
    const aside = `${path}.damaged-${at}`;
    // The file last: without it another process would begin a new one beside the old log.
    for (const ending of ['-journal', '-shm', '-wal', '']) await files.rename(`${path}${ending}`, `${aside}${ending}`);
    const lost = what === 'sandbox' ? 'Its pets and keys' : 'The history, unfinished runs and rate limits';
    notices.warning(
      `The ${what} was damaged; it is now ${aside}, and a new one was begun. ${lost} that were in it went with it.`,
    );
  } catch (cause) {
    const detail = `it cannot be moved aside (${errorCode(cause) ?? String(cause)})`;
    throw new Failure('state', { path, what, problem: 'damaged', detail }, cause);
  }
}
