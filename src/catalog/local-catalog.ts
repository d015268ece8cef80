/**
 * The catalog of an address: names and barcodes of its pets, which the service does not have. It is in the tables
 * `catalogPet` and `catalogBarcode` of the state database.
 */
import { parseInt64 } from '../api/values.ts';
import type { Database } from '../ports.ts';
import { integer, optional, text } from '../state/journal-rows.ts';
import { parseBarcode } from './barcode.ts';

export interface Entry {
  readonly petId: bigint;
  /** Empty for a pet with barcodes only. */
  readonly name: string;
  /** With 14 digits each, in ascending order. */
  readonly barcodes: readonly string[];
}

export interface Owner {
  readonly petId: bigint;
  /** Stored with --force: in a stocktake the barcode comes before a pet's id with the same digits. */
  readonly isForced: boolean;
}

/** What the catalog is to have for a pet; what is undefined stays as it is. */
export interface EntryChange {
  readonly name: string | undefined;
  /** With 14 digits each. */
  readonly barcodes: ReadonlySet<string> | undefined;
}

export class Catalog {
  /** By id, in ascending order. */
  readonly entries: ReadonlyMap<bigint, Entry>;
  /** By barcode. */
  readonly owners: ReadonlyMap<string, Owner>;

  constructor(names: Iterable<readonly [petId: bigint, name: string]>, owners: ReadonlyMap<string, Owner>) {
    const barcodes = Map.groupBy(owners, ([, { petId }]) => petId);
    this.entries = new Map(
      [...names].map(([petId, name]) => {
        const own = (barcodes.get(petId) ?? []).map(([barcode]) => barcode);
        return [petId, { petId, name, barcodes: own.toSorted() }];
      }),
    );
    this.owners = owners;
  }

  /** Returns the pet's name; empty without one. */
  nameOf(petId: bigint): string {
    return this.entries.get(petId)?.name ?? '';
  }

  /** Returns the pet with this barcode, in any spelling. */
  ownerOf(code: string): Owner | undefined {
    const barcode = parseBarcode(code);
    return barcode === undefined ? undefined : this.owners.get(barcode);
  }

  /** Returns the pets with exactly this name; without one, those whose name contains the text in any case. */
  named(text: string): readonly Entry[] {
    const wanted = folded(text);
    const all = [...this.entries.values()];
    const tests: readonly ((name: string) => boolean)[] = [(name) => name === text, (name) => folded(name) === wanted];
    for (const test of tests) {
      const found = all.filter(({ name }) => test(name));
      if (found.length > 0) return found;
    }
    return this.containing(text);
  }

  /** Returns the pets whose name contains the text in any case. */
  containing(text: string): readonly Entry[] {
    const wanted = folded(text);
    return [...this.entries.values()].filter(({ name }) => folded(name).includes(wanted));
  }
}

/** Returns `pet 7`, or `pet 7 (Goldfish)`. */
export function petLabel(petId: bigint, catalog: Pick<Catalog, 'nameOf'> | undefined): string {
  const name = catalog?.nameOf(petId) ?? '';
  return name === '' ? `pet ${petId}` : `pet ${petId} (${name})`;
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

/** Returns the pet with this id or barcode, as a scanner has read it, or why there is none. */
export function petOfCode(
  code: string,
  stock: { has(petId: bigint): boolean },
  catalog: Catalog | undefined,
): bigint | string {
  const id = parseInt64(code.replace(/^0+(?=\d)/, ''));
  const owner = catalog?.ownerOf(code);
  if (owner === undefined) {
    if (id !== undefined && stock.has(id)) return id;
    return catalog === undefined ? `pet ${id ?? code} does not exist` : `no pet has the id or barcode ${code}`;
  }
  const { petId, isForced } = owner;
  if (id === undefined || id === petId || isForced || !stock.has(id)) return petId;
  return (
    `${code} is the id of pet ${id} and a barcode of pet ${petId} ` +
    `(to take it for pet ${petId}, store the barcode with catalog set --force)`
  );
}

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
  pets: ReadonlyMap<bigint, EntryChange>,
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
