/**
 * Recognises petstore's database files, and those of newer versions, before anything is written to them. Each kind has
 * an application id in its header (sqlite.org/fileformat.html, offset 68). The files of the first releases have no id:
 * they are recognised by their tables.
 */
import { type Context, type Database, DatabaseFailure } from '../ports.ts';
import { Failure, fileFailure } from '../errors.ts';

/** A kind of database file. */
export interface Form {
  readonly applicationId: number;
  /** Statement i brings a database from version i to i + 1. Never edited once released. */
  readonly migrations: readonly string[];
  /** Fills a new database. */
  fill?(database: Database): void;
}

/** A file, and what messages call it. */
export interface Place {
  readonly path: string;
  readonly what: 'state database' | 'sandbox';
  /** True in the state folder, where a file that is not sound must be ours, and damaged. */
  readonly isOwn: boolean;
}

export const APPLICATION_IDS = { state: 0x70657473, sandbox: 0x70657462 } as const;

/** All kinds, each with tables that only it has. */
const KINDS = [
  { id: APPLICATION_IDS.state, name: 'a petstore state database', tables: ['meta', 'ledger'] },
  { id: APPLICATION_IDS.sandbox, name: 'a petstore sandbox', tables: ['pet', 'apiKey'] },
] as const;

type Ports = Pick<Context, 'files' | 'openDatabase'>;

interface Found {
  readonly id: number;
  readonly version: number;
  /** Each table and index, as it was created. */
  readonly tables: readonly { readonly name: string; readonly sql: string }[];
}

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** The newest write version of the format: 2, with a write-ahead log. */
const NEWEST_FORMAT = 2;

/**
 * Reads a file's header, and its tables if the header is not enough, without changing the file.
 * @throws {Failure} `state`: `foreign`, `newer`, `damaged`
 */
export async function requireOurs(ports: Ports, form: Form, place: Place): Promise<void> {
  const head = await headOf(ports, place);
  if (head === undefined || head.length === 0) return;
  if (Buffer.from(head.subarray(0, MAGIC.length)).toString('latin1') !== MAGIC) {
    throw place.isOwn ? damaged(place) : foreign(place, 'it is not an SQLite database');
  }
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  // SQLite opens a file of a newer write version as read-only.
  if (head.length < HEADER_BYTES || view.getUint8(18) > NEWEST_FORMAT) throw damaged(place);
  const found = { id: view.getInt32(68), version: view.getInt32(60) };
  requireId(form, place, found.id);
  if (found.id === form.applicationId) requireKnown(form, place, found.version);
  // The header may still be in the write-ahead log.
  else await requireTables(ports, form, place, await readTables(ports, place));
}

async function headOf({ files }: Ports, { path }: Place): Promise<Uint8Array | undefined> {
  try {
    return await files.head(path, HEADER_BYTES);
  } catch (cause) {
    throw fileFailure('read', path, cause);
  }
}

function requireId({ applicationId }: Form, place: Place, id: number): void {
  if (id === 0 || id === applicationId) return;
  throw foreign(place, `it is ${KINDS.find((kind) => kind.id === id)?.name ?? "another program's database"}`);
}

function requireKnown({ migrations }: Form, { path, what }: Place, version: number): void {
  if (version <= migrations.length) return;
  throw new Failure('state', { path, what, problem: 'newer', detail: `version ${version}` });
}

async function readTables({ openDatabase }: Ports, place: Place): Promise<Found> {
  try {
    using database = await openDatabase(place.path, { readOnly: true });
    return tablesOf(database);
  } catch (error) {
    throw failureOf(error, place);
  }
}

/** Reads the marks and tables in one transaction: another process may be writing. */
export function tablesOf(database: Database): Found {
  database.exec('BEGIN');
  try {
    const { id, version } = marksOf(database);
    const rows = database.all(
      "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    );
    return { id, version, tables: rows.map(({ name, sql }) => ({ name: String(name), sql: String(sql) })) };
  } finally {
    database.exec('COMMIT');
  }
}

export function marksOf(database: Database): Pick<Found, 'id' | 'version'> {
  return {
    id: Number(database.get('PRAGMA application_id')?.application_id),
    version: Number(database.get('PRAGMA user_version')?.user_version),
  };
}

/** Throws unless the tables are exactly those of that version. @throws {Failure} `state`: `foreign`, `newer` */
export async function requireTables(ports: Ports, form: Form, place: Place, found: Found): Promise<void> {
  const { id, version, tables } = found;
  requireId(form, place, id);
  const kind = KINDS.find((each) => each.tables.every((name) => tables.some((table) => table.name === name)));
  if (id === form.applicationId || kind?.id === form.applicationId) requireKnown(form, place, version);
  if (await areTablesOf(ports, form, version, tables)) return;
  if (id === 0 && kind?.id !== form.applicationId) {
    // Such files are older than the application ids.
    throw foreign(place, `it is ${kind?.name ?? "another program's database"}`);
  }
  throw foreign(place, `it says that its version is ${version}, but its tables are not those of that version`);
}

/** True when the tables are those that the migrations create. */
async function areTablesOf(
  { openDatabase }: Ports,
  { migrations }: Form,
  version: number,
  tables: Found['tables'],
): Promise<boolean> {
  if (version < 0 || version > migrations.length) return false;
  if (version === 0) return tables.length === 0;
  using model = await openDatabase(':memory:');
  for (const step of migrations.slice(0, version)) model.exec(step);
  return JSON.stringify(tablesOf(model).tables) === JSON.stringify(tables);
}

/** True when a full check finds no damage. Too slow for every start. */
export async function isSound(ports: Ports, form: Form, { path }: Place): Promise<boolean> {
  try {
    using database = await ports.openDatabase(path, { readOnly: true });
    const { version, tables } = tablesOf(database);
    const check = Object.values(database.get('PRAGMA quick_check(1)') ?? {})[0];
    return check === 'ok' && (await areTablesOf(ports, form, version, tables));
  } catch (error) {
    if (error instanceof DatabaseFailure) return error.problem !== 'corrupt';
    throw error;
  }
}

/** Migrates a database to the present version; part of the caller's transaction, after `requireTables`. */
export function upgrade(database: Database, form: Form): void {
  const { version } = marksOf(database);
  for (const step of form.migrations.slice(version)) database.exec(step);
  if (version === 0) form.fill?.(database);
  database.exec(`PRAGMA application_id = ${form.applicationId}; PRAGMA user_version = ${form.migrations.length}`);
}

function foreign({ path, what }: Place, detail: string): Failure {
  return new Failure('state', { path, what, problem: 'foreign', detail });
}

function damaged({ path, what }: Place, cause?: unknown): Failure {
  return new Failure('state', { path, what, problem: 'damaged' }, cause);
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
