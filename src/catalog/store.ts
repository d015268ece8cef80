/** Reads and writes the catalogs: the tables `catalogPet` and `catalogBarcode` of the state database. */
import type { Database } from '../ports.ts';
import { integer, optional, text } from '../state/journal-rows.ts';
import { Catalog } from './catalog.ts';
import type { Changes } from './changes.ts';

/** Returns the catalog of an address; undefined if it has no pet. */
export function readCatalog(database: Pick<Database, 'all'>, origin: string): Catalog | undefined {
  // As one row: as many rows as pets would take three times as long.
  const [pets] = database.all(
    `SELECT group_concat(petId) AS ids, json_group_array(name) AS names
     FROM (SELECT petId, name FROM catalogPet WHERE origin = ? ORDER BY petId)`,
    origin,
  );
  const ids = pets === undefined ? undefined : optional(pets, 'ids', text);
  if (pets === undefined || ids === undefined) return undefined;
  const names = JSON.parse(text(pets, 'names')) as readonly string[];
  const barcodes = database.all('SELECT barcode, petId, forced FROM catalogBarcode WHERE origin = ?', origin);
  return new Catalog(
    ids.split(',').map((id, i) => [BigInt(id), names[i]!] as const),
    new Map(
      barcodes.map((row) => [
        text(row, 'barcode'),
        { petId: integer(row, 'petId'), isForced: integer(row, 'forced') !== 0n },
      ]),
    ),
  );
}

/** Stores checked changes; part of the caller's transaction. `force`: their barcodes come before ids. */
export function writeChanges(
  database: Pick<Database, 'run'>,
  origin: string,
  pets: Changes['pets'],
  force: boolean,
): void {
  for (const [petId, { barcodes }] of pets) {
    if (barcodes !== undefined) deleteBarcodes(database, origin, petId);
  }
  for (const [petId, { name, barcodes = [] }] of pets) {
    const keep = name === undefined ? 'NOTHING' : 'UPDATE SET name = excluded.name';
    database.run(
      `INSERT INTO catalogPet (origin, petId, name) VALUES (?, ?, ?) ON CONFLICT DO ${keep}`,
      origin,
      petId,
      name ?? '',
    );
    for (const barcode of barcodes) {
      database.run('INSERT INTO catalogBarcode VALUES (?, ?, ?, ?)', origin, barcode, petId, force ? 1n : 0n);
    }
  }
}

/** Removes a pet; part of the caller's transaction. Returns whether it was there. */
export function removePet(database: Pick<Database, 'run'>, origin: string, petId: bigint): boolean {
  deleteBarcodes(database, origin, petId);
  return database.run('DELETE FROM catalogPet WHERE origin = ? AND petId = ?', origin, petId).changes > 0n;
}

function deleteBarcodes(database: Pick<Database, 'run'>, origin: string, petId: bigint): void {
  database.run('DELETE FROM catalogBarcode WHERE origin = ? AND petId = ?', origin, petId);
}
