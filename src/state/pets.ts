/** Reads the pets that this machine has seen, for completion, without creating a file or sending a request. */
import { type Context, type Database, DatabaseFailure } from '../ports.ts';
import { type Change, integer, text } from './journal-rows.ts';

/** Most ids that completion proposes from a file. */
const MOST = 500;

type Ports = Pick<Context, 'openDatabase'>;

/** `name`: in the catalog of the environment. */
export type KnownPet = Pick<Change, 'petId' | 'name'>;

/**
 * Returns the pets that were changed, newest first, then the other pets of the sandbox. A file that is missing or
 * cannot be read counts as empty.
 * @param originOf finds the service whose catalog has the names; undefined if it cannot. Called only if there is a
 * catalog
 */
export async function petsSeen(
  ports: Ports,
  paths: { readonly sandbox: string; readonly state: string },
  originOf: () => Promise<string | undefined>,
): Promise<readonly KnownPet[]> {
  const ofSandbox = 'SELECT petId FROM pet ORDER BY petId';
  const own = (await readFrom(ports, paths.sandbox, (database) => idsIn(database, ofSandbox))) ?? [];
  const found = await readFrom(ports, paths.state, async (database) => {
    const changed = idsIn(database, 'SELECT petId FROM change GROUP BY petId ORDER BY max(id) DESC');
    const petIds = [...new Set([...changed, ...own])];
    const hasCatalog = database.get('SELECT 1 FROM catalogPet LIMIT 1') !== undefined;
    const origin = hasCatalog ? await originOf() : undefined;
    const names = origin === undefined ? undefined : namesIn(database, origin, petIds);
    return petIds.map((petId) => ({ petId, name: names?.get(petId) }));
  });
  return found ?? own.map((petId) => ({ petId }));
}

/** Reads from a database file; undefined if it is missing or cannot be read. */
export async function readFrom<T>(
  ports: Ports,
  path: string,
  read: (database: Database) => T | Promise<T>,
): Promise<T | undefined> {
  try {
    using database = await ports.openDatabase(path, { readOnly: true });
    return await read(database);
  } catch (error) {
    if (error instanceof DatabaseFailure) return undefined;
    throw error;
  }
}

function idsIn(database: Database, query: string): bigint[] {
  return database.all(`${query} LIMIT ${MOST}`).map((row) => integer(row, 'petId'));
}

/** Returns the names of a service's pets, of those that have one. */
export function namesIn(
  database: Pick<Database, 'all'>,
  origin: string,
  petIds: readonly bigint[],
): ReadonlyMap<bigint, string> {
  const rows = database.all(
    "SELECT petId, name FROM catalogPet WHERE origin = ? AND name <> '' AND petId IN (SELECT value FROM json_each(?))",
    origin,
    `[${petIds.join(',')}]`,
  );
  return new Map(rows.map((row) => [integer(row, 'petId'), text(row, 'name')]));
}
