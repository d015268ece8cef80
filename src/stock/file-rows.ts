/** Parses the rows of a file: a delivery, a stocktake, or a catalog. All are checked before one is applied. */
import type { CatalogRow } from '../catalog/changes.ts';
import { CATALOG_FILE, type Mapping, parseNumber, parsePetId, STOCK_FILE } from './columns.ts';
import type { Wanted } from './plan.ts';
import { type FileProblems, type FileRecord, readRecords } from './records.ts';

/** `quantity`: what to set, or what to add. */
export interface Row extends Wanted {
  /** Where in the file, from 1; the first line, if several are added together. */
  readonly line: number;
  /** All lines that are added together, if there are several. */
  readonly lines?: readonly number[];
}

export interface Rows extends FileProblems {
  readonly rows: readonly Row[];
  /** True if the rows are added to the stock. */
  readonly adds: boolean;
}

export interface RowOptions {
  readonly allowNegative: boolean;
  /** Adds the quantities to the stock. */
  readonly add?: boolean | undefined;
  readonly mappings?: readonly Mapping[] | undefined;
}

/** How many a row says, and whether they are added. */
interface Amount {
  readonly column: 'quantity' | 'delta';
  readonly adds: boolean;
}

/** Parses any text; what is wrong with it is in `problems`. */
export function parseRows(text: string, { allowNegative, add = false, mappings = [] }: RowOptions): Rows {
  const byPet = new Map<bigint, Row>();
  let first: { readonly line: number; readonly adds: boolean } | undefined;
  const found = readRecords(text, { kind: STOCK_FILE, mappings }, (record) => {
    const { line } = record;
    const column = record.has('delta') ? 'delta' : 'quantity';
    const adds = add || column === 'delta';
    first ??= { line, adds };
    const row = toRow(record, { column, adds }, allowNegative);
    if (typeof row === 'string') return row;
    if (adds !== first.adds) {
      return `has ${column}, but line ${first.line} has the other; use one of them`;
    }
    const merged = merge(row, byPet.get(row.petId), adds);
    if (typeof merged === 'string') return merged;
    byPet.set(row.petId, merged);
    return undefined;
  });
  return { ...found, rows: [...byPet.values()], adds: first?.adds === true };
}

/** Adds a row to an earlier one of the same pet; two rows that set the same pet contradict each other. */
function merge(row: Row, earlier: Row | undefined, adds: boolean): Row | string {
  if (earlier === undefined) return row;
  const problem = `pet ${row.petId} is already on line ${earlier.line}`;
  if (!adds) return problem;
  if (earlier.current !== undefined && row.current !== undefined && earlier.current !== row.current) {
    return `${problem}, with another value of current`;
  }
  const lines = [...(earlier.lines ?? [earlier.line]), row.line];
  return { ...earlier, quantity: earlier.quantity + row.quantity, current: earlier.current ?? row.current, lines };
}

function toRow({ line, text }: FileRecord, { column, adds }: Amount, allowNegative: boolean): Row | string {
  const petId = parsePetId(text('petId'));
  if (typeof petId === 'string') return petId;
  const amount = text(column);
  if (amount === '') return `${column} is missing`;
  // Of a change a plus is a natural part.
  const quantity = parseNumber(column, adds ? amount.replace(/^\+(?=[1-9])/, '') : amount);
  if (typeof quantity === 'string') return quantity;
  if (!adds && quantity < 0n && !allowNegative) return belowZero(quantity);
  const currentText = text('current');
  const current = currentText === '' ? undefined : parseNumber('current', currentText);
  return typeof current === 'string' ? current : { line, petId, quantity, current };
}

export function belowZero(quantity: bigint): string {
  return `quantity is ${quantity}, below zero (--allow-negative, if that is meant)`;
}

export interface CatalogRows extends FileProblems {
  readonly rows: readonly CatalogRow[];
}

/** Parses the names and barcodes of any text. Several rows of a pet add their barcodes together. */
export function parseCatalog(text: string, mappings: readonly Mapping[] = []): CatalogRows {
  const rows: CatalogRow[] = [];
  const found = readRecords(text, { kind: CATALOG_FILE, mappings }, ({ line, has, text: textOf }) => {
    const petId = parsePetId(textOf('petId'));
    if (typeof petId === 'string') return petId;
    // As our own CSV has it: a name that a spreadsheet would run as a formula follows a quote.
    const name = has('name') ? textOf('name').replace(/^'(?=[=+\-@])/, '') : undefined;
    const barcodes = has('barcode')
      ? textOf('barcode')
          .split(/[\s;|]+/)
          .filter(Boolean)
      : undefined;
    rows.push({ line, petId, name, barcodes });
    return undefined;
  });
  return { ...found, rows };
}
