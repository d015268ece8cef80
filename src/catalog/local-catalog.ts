/**
 * Reads the catalog of a service: names, barcodes, minimum and target of its pets, which the service itself does not
 * have. Stored in the tables `catalogPet` and `catalogBarcode` of the state database.
 */
import { parseInt64 } from '../api/values.ts';
import { type Database, DatabaseFailure, type SqlRow, type SqlValue } from '../ports.ts';
import { fromRow, text } from '../state/journal-rows.ts';
import { namesIn } from '../state/pets.ts';
import { parseBarcode } from './barcode.ts';

export interface StockLevel {
  /** Stock is low at this quantity or below. */
  readonly min?: bigint | undefined;
  /** An order fills the stock up to this quantity. */
  readonly target?: bigint | undefined;
}

export interface Entry extends StockLevel {
  readonly petId: bigint;
  /** Empty for a pet without a name. */
  readonly name: string;
  /** 14 digits each, in ascending order. */
  readonly barcodes: readonly string[];
  /** True if it comes from the catalog of a gateway or the sandbox. */
  readonly isProvided: boolean;
}

export interface Owner extends Pick<Entry, 'petId' | 'isProvided'> {
  /** Stored with --force: in a stocktake the barcode wins over a pet id with the same digits. */
  readonly isForced: boolean;
}

/** Entries in one query. */
const PAGE = 1_000;
/** How many pets' levels are read one by one, so that a short list does not read a catalog of a million. */
const MOST_SINGLE_LEVELS = 1_000;

export class Catalog implements Disposable {
  private readonly database: Pick<Database, 'all'> & Partial<Disposable>;
  private readonly origin: string;
  private levelsRead = 0;
  private allLevels: ReadonlyMap<bigint, StockLevel> | undefined;

  /** @param database is closed with the catalog, if it can be */
  constructor(database: Pick<Database, 'all'> & Partial<Disposable>, origin: string) {
    this.database = database;
    this.origin = origin;
  }

  [Symbol.dispose](): void {
    this.database[Symbol.dispose]?.();
  }

  /** Returns the pet's name; empty without one. */
  nameOf(petId: bigint): string {
    return this.namesOf([petId]).get(petId) ?? '';
  }

  namesOf(petIds: readonly bigint[]): ReadonlyMap<bigint, string> {
    return readable(() => namesIn(this.database, this.origin, petIds)) ?? new Map();
  }

  has(petId: bigint): boolean {
    return this.query('SELECT 1 FROM catalogPet WHERE origin = ? AND petId = ?', petId).length > 0;
  }

  /** Returns the pet with this barcode, in any spelling. */
  ownerOf(code: string): Owner | undefined {
    const barcode = parseBarcode(code);
    if (barcode === undefined) return undefined;
    const [row] = this.query(OWNER, barcode);
    return row === undefined ? undefined : fromRow(row);
  }

  /** Returns the pets with exactly this name; if there are none, those that a search finds. */
  named(wanted: string): readonly Pick<Entry, 'petId' | 'name'>[] {
    const same = this.called(wanted);
    const exact = same.filter(({ name }) => name === wanted);
    if (exact.length > 0) return exact;
    const { where, words } = searched(wanted);
    return same.length > 0 ? same : this.pets(`WHERE ${where}`, ...words);
  }

  /** Returns the pets whose name contains each word of the text, in any order. */
  containing(wanted: string): readonly bigint[] {
    const { where, words } = searched(wanted);
    // As one row: a row per pet would take three times as long.
    const [row] = this.query(`SELECT group_concat(petId) AS ids FROM catalogPet WHERE ${where}`, ...words);
    const { ids } = fromRow<{ readonly ids?: string }>(row ?? {});
    return ids?.split(',').map(BigInt) ?? [];
  }

  /** Returns the pet's minimum and target. After many calls, reads those of all pets at once. */
  levelOf(petId: bigint): StockLevel {
    if (this.allLevels === undefined && ++this.levelsRead > MOST_SINGLE_LEVELS) this.allLevels = this.levels();
    return (this.allLevels ?? this.levels('AND petId = ?', petId)).get(petId) ?? {};
  }

  hasLevels(): boolean {
    return this.levels('LIMIT 1').size > 0;
  }

  longestNames(count: number): readonly string[] {
    const sql = `SELECT name FROM catalogPet WHERE origin = ? ORDER BY length(name) DESC LIMIT ${count}`;
    return this.query(sql).map((row) => text(row, 'name'));
  }

  /** Returns the items sorted by name, those without a name last. @param isDown sorts from Z to A */
  byName<Item extends { readonly petId: bigint }>(items: readonly Item[], isDown = false): Item[] {
    const names = this.namesOf(items.map(({ petId }) => petId));
    const { compare } = new Intl.Collator(undefined, { numeric: true });
    const named = [...names].sort(([, a], [, b]) => (isDown ? compare(b, a) : compare(a, b)));
    const places = new Map(named.map(([petId], place) => [petId, place]));
    const placeOf = ({ petId }: Item): number => places.get(petId) ?? places.size;
    return items.toSorted((a, b) => placeOf(a) - placeOf(b));
  }

  /** Returns a version that every change of the catalog changes. */
  version(): string {
    const [row] = this.query("SELECT value FROM meta WHERE name = 'catalog ' || ?");
    return row === undefined ? '' : text(row, 'value');
  }

  /** Yields all pets by id. */
  *entries(): Generator<Entry[]> {
    let next = -(2n ** 63n);
    for (;;) {
      const entries = this.query(ENTRIES, next).map(toEntry);
      yield entries;
      next = (entries.at(-1)?.petId ?? next) + 1n;
      if (entries.length < PAGE || next === 2n ** 63n) return;
    }
  }

  /** Returns the pets with exactly this name, ignoring case and accents. */
  called(wanted: string): readonly Pick<Entry, 'petId' | 'name'>[] {
    // SQLite would read all pets, for each row of an import.
    return this.pets('INDEXED BY petsByName WHERE origin = ? AND search = ?', folded(wanted));
  }

  private pets(from: string, ...values: SqlValue[]): readonly Pick<Entry, 'petId' | 'name'>[] {
    const rows = this.query(`SELECT petId, name FROM catalogPet ${from} ORDER BY petId`, ...values);
    return rows.map((row) => fromRow(row));
  }

  private levels(where = '', ...values: SqlValue[]): ReadonlyMap<bigint, StockLevel> {
    const sql = `SELECT petId, min, target FROM catalogPet
      WHERE origin = ? AND (min IS NOT NULL OR target IS NOT NULL) ${where}`;
    const pets = this.query(sql, ...values).map((row) => fromRow<Pick<Entry, 'petId' | keyof StockLevel>>(row));
    return new Map(pets.map((pet) => [pet.petId, pet]));
  }

  private query(sql: string, ...values: SqlValue[]): SqlRow[] {
    return readable(() => this.database.all(sql, this.origin, ...values)) ?? [];
  }
}

const OWNER = `
  SELECT petId, forced AS isForced, provided AS isProvided FROM catalogBarcode JOIN catalogPet USING (origin, petId)
  WHERE origin = ? AND barcode = ?`;

const ENTRIES = `
  SELECT petId, name, min, target, provided AS isProvided,
    (SELECT group_concat(barcode) FROM catalogBarcode AS code
     WHERE code.origin = pet.origin AND code.petId = pet.petId) AS barcodes
  FROM catalogPet AS pet WHERE origin = ? AND petId >= ? ORDER BY petId LIMIT ${PAGE}`;

function toEntry(row: SqlRow): Entry {
  const entry = fromRow<Omit<Entry, 'barcodes'> & { readonly barcodes?: string }>(row);
  return { ...entry, barcodes: entry.barcodes?.split(',').toSorted() ?? [] };
}

/** Returns undefined if the database cannot be read: a list without names is better than none. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DatabaseFailure) return undefined;
    throw error;
  }
}

/** Normalises a name for searching: without case and accents. In other scripts a mark makes another word. */
export function folded(name: string): string {
  const plain = name.normalize('NFKD').replace(/[\u0300-\u036f]/g, '');
  // In capitals, ß is SS, and both forms of a small sigma are one.
  return plain.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

function searched(wanted: string): { readonly where: string; readonly words: readonly string[] } {
  const words = folded(wanted).split(/\s+/).filter(Boolean);
  return { where: ['origin = ?', ...words.map(() => 'instr(search, ?)')].join(' AND '), words };
}

/** Returns the pet with this id or barcode, as a scanner types it, or why there is none. */
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
