/**
 * Recognises petstore's database files, and those of newer versions, before anything is written to them: by the
 * application id and the version in their header (sqlite.org/fileformat.html, offsets 68 and 60).
 */
import { isDeepStrictEqual } from 'node:util';
import { type Context, type Database, DatabaseFailure } from '../ports.ts';
import { Failure, fileFailure } from '../errors.ts';

/** A kind of database file. */
export interface Form {
  readonly applicationId: number;
  /** Creates each table and index, in the words that SQLite keeps. */
  readonly schema: readonly string[];
  /** Fills a new database. */
  fill?(database: Database): void;
}

/** A file, and what messages call it. */
export interface Place {
  readonly path: string;
  readonly what: 'state database' | 'sandbox';
}

export const APPLICATION_IDS = { state: 0x70657473, sandbox: 0x70657462 } as const;

const NAMES: Readonly<Record<number, string>> = {
  [APPLICATION_IDS.state]: 'a petstore state database',
  [APPLICATION_IDS.sandbox]: 'a petstore sandbox',
};

const VERSION = 1;
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;

/**
 * Checks a file without opening it as a database. One that is missing or empty passes.
 * @throws {Failure} `state`: `foreign`, `newer`, `damaged`; `file`
 */
export async function requireOurs({ files }: Pick<Context, 'files'>, form: Form, place: Place): Promise<void> {
  const head = await files.head(place.path, HEADER_BYTES).catch((cause: unknown) => {
    throw fileFailure('read', place.path, cause);
  });
  if (head === undefined || head.length === 0) return;
  if (head.length < HEADER_BYTES || !Buffer.from(head).toString('latin1').startsWith(MAGIC)) {
    throw problem(place, 'damaged', 'it is not an SQLite database');
  }
  const view = new DataView(head.buffer, head.byteOffset);
  requireMarks(form, place, view.getInt32(68), view.getInt32(60));
}

function requireMarks({ applicationId }: Form, place: Place, id: number, version: number): void {
  if (id !== applicationId) throw problem(place, 'foreign', `it is ${NAMES[id] ?? "another program's database"}`);
  if (version > VERSION) throw problem(place, 'newer', `version ${version}`);
  if (version < VERSION) throw problem(place, 'damaged');
}

/** True for a database that was empty. What the header tells may be newer in the log. @throws {Failure} as `requireOurs` */
export function isNew(database: Database, form: Form, place: Place): boolean {
  const row = database.get(
    'SELECT application_id AS id, user_version AS version FROM pragma_application_id, pragma_user_version',
  );
  if (row?.id === 0n) return true;
  requireMarks(form, place, Number(row?.id), Number(row?.version));
  return false;
}

/** Creates the tables; part of the caller's transaction. */
export function create(database: Database, { applicationId, schema, fill }: Form): void {
  for (const sql of schema) database.exec(sql);
  fill?.(database);
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${VERSION}`);
}

/** True when a full check finds no damage. Too slow for every start. */
export async function isSound(
  { openDatabase }: Pick<Context, 'openDatabase'>,
  { schema }: Form,
  { path }: Place,
): Promise<boolean> {
  try {
    using database = await openDatabase(path, { readOnly: true });
    const check = Object.values(database.get('PRAGMA quick_check(1)') ?? {})[0];
    const found = database.all('SELECT sql FROM sqlite_schema ORDER BY rowid').map(({ sql }) => sql);
    return check === 'ok' && isDeepStrictEqual(found, schema);
  } catch (error) {
    if (error instanceof DatabaseFailure) return error.problem !== 'corrupt';
    throw error;
  }
}

function problem({ path, what }: Place, problem: 'damaged' | 'foreign' | 'newer', detail?: string): Failure {
  return new Failure('state', { path, what, problem, ...(detail !== undefined && { detail }) });
}

const PROBLEMS: Readonly<Partial<Record<DatabaseFailure['problem'], 'held' | 'full' | 'readonly' | 'damaged'>>> = {
  busy: 'held',
  full: 'full',
  readonly: 'readonly',
  corrupt: 'damaged',
};

/** Turns an error of SQLite into a failure that names the file; returns any other error unchanged. */
export function failureOf(error: unknown, { path, what }: Pick<Place, 'path' | 'what'>): unknown {
  if (!(error instanceof DatabaseFailure)) return error;
  const problem = PROBLEMS[error.problem];
  if (problem !== undefined) return new Failure('state', { path, what, problem }, error);
  const detail = error.problem === 'cannot-open' ? 'it cannot be opened' : error.message;
  return new Failure('state', { path, what, problem: 'unusable', detail }, error);
}
