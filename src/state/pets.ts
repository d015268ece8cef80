/** Reads the pets that this machine has seen, for completion, without creating a file or sending a request. */
import { type Context, type Database, DatabaseFailure } from '../ports.ts';
import { integer, text } from './journal-rows.ts';

/** The most ids that completion proposes from a file. */
const MOST = 500;

type Ports = Pick<Context, 'files' | 'openDatabase'>;

export interface KnownPet {
  readonly petId: bigint;
  /** In the catalog of the environment. */
  readonly name?: string | undefined;
}

/** Returns no ids for a file that is missing or cannot be read. `query` selects one column, `petId`. */
export async function petsIn(ports: Ports, path: string, query: string): Promise<readonly bigint[]> {
  return (await reading(ports, path, (database) => idsIn(database, query))) ?? [];
}

/**
 * Returns the pets of `petsIn` and then the others, with their names. Without a catalog, `originOf` is not called.
 * @param originOf finds the service whose catalog has the names; undefined if it cannot
 */
export async function namedPetsIn(
  ports: Ports,
  path: string,
  query: string,
  others: readonly bigint[],
  originOf: () => Promise<string | undefined>,
): Promise<readonly KnownPet[]> {
  const found = await reading(ports, path, async (database) => {
    const petIds = [...new Set([...idsIn(database, query), ...others])];
    const origin = hasCatalog(database) ? await originOf() : undefined;
    const names = origin === undefined ? undefined : namesIn(database, origin, petIds);
    return petIds.map((petId) => ({ petId, name: names?.get(petId) }));
  });
  return found ?? others.map((petId) => ({ petId }));
}

async function reading<T>(
  { files, openDatabase }: Ports,
  path: string,
  read: (database: Database) => T | Promise<T>,
): Promise<T | undefined> {
  try {
    if ((await files.facts(path)) === undefined) return undefined;
    using database = await openDatabase(path, { readOnly: true });
    return await read(database);
  } catch (error) {
    if (error instanceof DatabaseFailure) return undefined;
    throw error;
  }
}

function idsIn(database: Database, query: string): bigint[] {
  return database.all(`${query} LIMIT ${MOST}`).map((row) => integer(row, 'petId'));
}

/** True where a service has a catalog. */
export function hasCatalog(database: Pick<Database, 'get'>): boolean {
  return database.get('SELECT 1 FROM catalogPet LIMIT 1') !== undefined;
}

/** Returns the names of those pets of a service that have one. */
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
