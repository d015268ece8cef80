/** Writes the catalog of an address. All of it is part of the caller's transaction. */
import type { Database } from '../ports.ts';
import { type Entry, folded } from './local-catalog.ts';

type Tables = Pick<Database, 'run'>;

/** What the catalog is to have for a pet; what is undefined stays as it is. */
export interface EntryChange {
  /** Empty removes it. */
  readonly name?: string | undefined;
  /** With 14 digits each. */
  readonly barcodes?: ReadonlySet<string> | undefined;
  /** Null removes it. */
  readonly min?: bigint | null | undefined;
  readonly target?: bigint | null | undefined;
}

/** Stores checked changes. `force`: their barcodes come before ids. */
export function writeChanges(
  database: Tables,
  origin: string,
  pets: ReadonlyMap<bigint, EntryChange>,
  force: boolean,
): void {
  touch(database, origin);
  for (const [petId, { barcodes }] of pets) {
    if (barcodes !== undefined) deleteBarcodes(database, origin, petId);
  }
  for (const [petId, { barcodes = [], ...change }] of pets) {
    const kept = (['name', 'min', 'target'] as const).filter((column) => change[column] !== undefined);
    const columns = kept.includes('name') ? ['search', ...kept] : kept;
    const { name = '', min, target } = change;
    database.run(
      `INSERT INTO catalogPet (origin, petId, provided, name, search, min, target) VALUES (?, ?, 0, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET provided = 0${columns.map((each) => `, ${each} = excluded.${each}`).join('')}`,
      ...[origin, petId, name, folded(name), min?.toString() ?? null, target?.toString() ?? null],
    );
    // One that came with the catalog of the service itself is taken from its pet.
    for (const barcode of barcodes) {
      database.run(
        'INSERT OR REPLACE INTO catalogBarcode VALUES (?, ?, ?, ?)',
        ...[origin, barcode, petId, force ? 1n : 0n],
      );
    }
  }
}

/** A pet of the catalog that a service brings along. */
export type ProvidedEntry = Omit<Entry, 'isProvided'>;

/**
 * Stores the catalog that a service brings along, in place of the one that it brought before. Pets and barcodes that
 * the user has entered stay as they are.
 */
export function provideEntries(database: Tables, origin: string, entries: readonly ProvidedEntry[]): void {
  touch(database, origin);
  const provided = 'SELECT petId FROM catalogPet WHERE origin = ? AND provided = 1';
  database.run(`DELETE FROM catalogBarcode WHERE origin = ? AND petId IN (${provided})`, origin, origin);
  database.run('DELETE FROM catalogPet WHERE origin = ? AND provided = 1', origin);
  for (const { petId, name, barcodes, min, target } of entries) {
    const { changes } = database.run(
      'INSERT OR IGNORE INTO catalogPet (origin, petId, provided, name, search, min, target) VALUES (?, ?, 1, ?, ?, ?, ?)',
      ...[origin, petId, name, folded(name), min?.toString() ?? null, target?.toString() ?? null],
    );
    if (changes === 0n) continue;
    for (const barcode of barcodes) {
      database.run('INSERT OR IGNORE INTO catalogBarcode VALUES (?, ?, ?, 0)', origin, barcode, petId);
    }
  }
}

/** Removes a pet. Returns whether it was there. */
export function removePet(database: Tables, origin: string, petId: bigint): boolean {
  touch(database, origin);
  deleteBarcodes(database, origin, petId);
  return database.run('DELETE FROM catalogPet WHERE origin = ? AND petId = ?', origin, petId).changes > 0n;
}

/** Gives the catalog another version: see Catalog.version. */
function touch(database: Tables, origin: string): void {
  database.run("INSERT OR REPLACE INTO meta VALUES ('catalog ' || ?, hex(randomblob(8)))", origin);
}

function deleteBarcodes(database: Tables, origin: string, petId: bigint): void {
  database.run('DELETE FROM catalogBarcode WHERE origin = ? AND petId = ?', origin, petId);
}
