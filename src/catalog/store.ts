/** Changes the catalog. All functions run in the caller's transaction. */
import type { Database } from '../ports.ts';
import { visible } from '../view/words.ts';
import { barcodeProblem, barcodeWithDigitsOf, labelOf, parseBarcode } from './barcode.ts';
import { Catalog, type Entry, folded, type StockLevel } from './local-catalog.ts';

type Tables = Pick<Database, 'all' | 'run'>;

/** A row of a file, or of `catalog set`. Several rows of a pet add their barcodes together. */
export interface CatalogRow {
  /** Line in the file. */
  readonly line: number;
  readonly petId: bigint;
  /** Undefined keeps the name; empty removes it. */
  readonly name?: string | undefined;
  /** As they were written. Undefined keeps the pet's barcodes. */
  readonly barcodes?: readonly string[] | undefined;
  /** Undefined keeps it; null removes it. */
  readonly min?: bigint | null | undefined;
  readonly target?: bigint | null | undefined;
}

/** The rows of one pet combined. */
type Said = { -readonly [Column in 'name' | 'min' | 'target']?: CatalogRow[Column] };

interface CatalogChange {
  readonly database: Tables;
  readonly origin: string;
  readonly catalog: Catalog;
  /** Lines of the added barcodes, by barcode. */
  readonly lines: Map<string, number>;
  readonly force: boolean;
}

/** What is wrong with a row of a file. */
export interface Problem {
  readonly line: number;
  readonly reason: string;
}

/** Rows between two pauses: a few ms of work. */
const STEP = 1_000;

/**
 * Stores rows, and returns what is wrong with each bad row: the caller then rolls back.
 * @param force allows a barcode with the digits of another pet's id, and stores that barcodes win over ids
 * @param pause lets a signal arrive
 */
export async function storeRows(
  database: Tables,
  origin: string,
  rows: readonly CatalogRow[],
  force: boolean,
  pause: () => Promise<void>,
): Promise<readonly Problem[]> {
  let done = 0;
  const catalog = new Catalog(database, origin);
  touch(database, origin);
  // First all ids, which no barcode may equal, and the barcodes that are replaced, which become free.
  for (const { petId, barcodes } of rows) {
    if (++done % STEP === 0) await pause();
    database.run(
      `INSERT INTO catalogPet (origin, petId, provided, name, search) VALUES (?, ?, 0, '', '')
       ON CONFLICT DO UPDATE SET provided = 0`,
      origin,
      petId,
    );
    if (barcodes !== undefined) deleteBarcodes(database, origin, petId);
  }
  const pets = new Map<bigint, Said>();
  const change: CatalogChange = { database, origin, catalog, lines: new Map(), force };
  const problems: Problem[] = [];
  for (const row of rows) {
    if (++done % STEP === 0) await pause();
    const { petId, line } = row;
    const pet: Said = pets.get(petId) ?? {};
    pets.set(petId, pet);
    const reasons = [
      idProblem(change, petId),
      addLevels(pet, row, catalog.levelOf(petId)),
      addName(pet, row),
      ...(row.barcodes ?? []).map((text) => addBarcode(change, text, row)),
    ];
    const found = new Set(reasons.filter((reason) => reason !== undefined));
    if (found.size > 0) problems.push({ line, reason: [...found].join('; ') });
    update(database, origin, petId, pet);
  }
  return problems;
}

function update(database: Tables, origin: string, petId: bigint, { name, min, target }: Said): void {
  const columns = Object.entries({ name, search: name === undefined ? name : folded(name), min, target });
  const said = columns.filter(([, value]) => value !== undefined);
  if (said.length === 0) return;
  const sql = `UPDATE catalogPet SET ${said.map(([column]) => `${column} = ?`).join(', ')} WHERE origin = ? AND petId = ?`;
  database.run(sql, ...said.map(([, value]) => value?.toString() ?? null), origin, petId);
}

/** Gives the pet of a row a barcode. Returns why the pet cannot have it. */
function addBarcode(change: CatalogChange, text: string, { petId, line }: CatalogRow): string | undefined {
  const { database, origin, catalog, lines, force } = change;
  const barcode = parseBarcode(text);
  if (barcode === undefined) return barcodeProblem(text);
  const owner = catalog.ownerOf(barcode);
  if (owner !== undefined && owner.petId !== petId && !owner.isProvided) {
    const row = lines.get(barcode);
    return `barcode ${labelOf(barcode)} belongs to pet ${owner.petId}${row === undefined ? '' : ` (line ${row})`}`;
  }
  const id = BigInt(barcode);
  if (!force && id !== petId && catalog.has(id)) {
    return `barcode ${labelOf(barcode)} is also the id of pet ${id}; to have both, add --force`;
  }
  lines.set(barcode, line);
  // A barcode from the catalog of a gateway or the sandbox is taken from its pet.
  const values = [origin, barcode, petId, force ? 1n : 0n];
  database.run('INSERT OR REPLACE INTO catalogBarcode VALUES (?, ?, ?, ?)', ...values);
  return undefined;
}

/** Returns why the pet cannot be in the catalog: a barcode of another one, which no row names, has the digits of its id. */
function idProblem({ catalog, lines, force }: CatalogChange, petId: bigint): string | undefined {
  const barcode = barcodeWithDigitsOf(petId);
  const owner = force || lines.has(barcode) ? undefined : catalog.ownerOf(barcode);
  if (owner === undefined || owner.petId === petId || owner.isForced || owner.isProvided) return undefined;
  return `petId ${petId} is also a barcode of pet ${owner.petId}; to have both, add --force`;
}

/** Adds a row's minimum and target to its pet. Returns why the pet cannot have them. @param stored levels in the catalog */
function addLevels(pet: Said, row: CatalogRow, stored: StockLevel): string | undefined {
  for (const column of ['min', 'target'] as const) {
    const [value, earlier] = [row[column], pet[column]];
    if (value === undefined) continue;
    if (value !== null && value < 0n) return `${column} is ${value}, below zero`;
    if (value !== null && typeof earlier === 'bigint' && earlier !== value) {
      return `pet ${row.petId} has a ${column} of ${earlier} on an earlier line, and of ${value} here`;
    }
    pet[column] = value ?? earlier ?? null;
  }
  const { min = stored.min, target = stored.target } = pet;
  const isWrong = typeof min === 'bigint' && typeof target === 'bigint' && target < min;
  return isWrong ? `target is ${target}, below min, which is ${min}` : undefined;
}

const MOST_CHARACTERS = 200;

/** Adds a row's name to its pet. Returns why the pet cannot have it. */
function addName(pet: Said, { petId, name }: CatalogRow): string | undefined {
  const before = pet.name ?? '';
  if (name === undefined) return undefined;
  pet.name = name === '' ? before : name;
  if (name.length > MOST_CHARACTERS)
    return `name has ${name.length} characters; at most ${MOST_CHARACTERS} are allowed`;
  if (visible(name) !== name) return `name "${visible(name)}" has a character that cannot be printed`;
  if (name === '' || before === '' || before === name) return undefined;
  return `pet ${petId} has the name ${JSON.stringify(before)} on an earlier line, and ${JSON.stringify(name)} here`;
}

/** A pet in the catalog of a gateway or the sandbox. */
export type ProvidedEntry = Omit<Entry, 'isProvided'>;

/**
 * Stores the catalog of a gateway or the sandbox, in place of the earlier one. Keeps pets and barcodes that the user
 * has entered.
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

/** Removes a pet. Returns whether it existed. */
export function removePet(database: Tables, origin: string, petId: bigint): boolean {
  touch(database, origin);
  deleteBarcodes(database, origin, petId);
  return database.run('DELETE FROM catalogPet WHERE origin = ? AND petId = ?', origin, petId).changes > 0n;
}

/** Gives the catalog a new version; see Catalog.version. */
function touch(database: Tables, origin: string): void {
  database.run("INSERT OR REPLACE INTO meta VALUES ('catalog ' || ?, hex(randomblob(8)))", origin);
  // Without its ETag, a gateway's catalog is read again: it may have what is removed here.
  database.run(
    "UPDATE meta SET value = substr(value, 1, instr(value || ' ', ' ') - 1) WHERE name = 'provided ' || ?",
    origin,
  );
}

function deleteBarcodes(database: Tables, origin: string, petId: bigint): void {
  database.run('DELETE FROM catalogBarcode INDEXED BY barcodesOfPet WHERE origin = ? AND petId = ?', origin, petId);
}
