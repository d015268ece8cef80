/** Reads names of the catalogs, and nothing else of them: enough to show them beside ids. */
import type { Database } from '../ports.ts';
import { integer, text } from './columns.ts';

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
