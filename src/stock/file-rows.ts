/** Parses the rows of a file: a delivery, a stocktake or a catalog. Checks all before any is applied. */
import { hash } from 'node:crypto';
import type { CatalogRow } from '../catalog/store.ts';
import { CAUSES } from '../state/journal-rows.ts';
import { isLine, isOneOf, MAX_DIGITS, parseInt64, parseInteger } from '../api/values.ts';
import { CATALOG_FILE, type ColumnName, type Mapping, type PetColumn, shown, STOCK_FILE } from './columns.ts';
import type { Wanted } from './plan.ts';
import { type FileRecord, readRecords, textOf } from './records.ts';

/** `quantity`: what to set, or what to add. */
export interface Row extends Wanted {
  /** Line in the file, from 1; the first one if several lines are added together. */
  readonly line: number;
  /** The rows of these lines, in their order. */
  readonly parts?: Row[];
}

/** Returns the pet with a name or barcode, or why there is not one. `isNeeded`: nothing else names the pet. */
export type PetOf = (column: Exclude<PetColumn, 'petId'>, text: string, isNeeded: boolean) => bigint | string;

export interface RowOptions {
  readonly allowNegative: boolean;
  /** Adds the quantities to the stock. */
  readonly add?: boolean | undefined;
  readonly mappings?: readonly Mapping[] | undefined;
  /** Looks pets up in the catalog. */
  readonly petOf?: PetOf;
}

/** Parses any text. `problems` has what is wrong with it. `adds`: true if the rows are added to the stock. */
export function parseRows(
  text: string,
  { allowNegative, add = false, mappings = [], petOf = () => 'there is no catalog' }: RowOptions,
) {
  const byPet = new Map<bigint, Row>();
  let first: { readonly line: number; readonly adds: boolean } | undefined;
  const found = readRecords(text, STOCK_FILE, mappings, (record) => {
    const column = record.columns.found.has('delta') ? 'delta' : 'quantity';
    const adds = add || column === 'delta';
    first ??= { line: record.line, adds };
    const row = toRow(record, column, adds, petOf);
    if (typeof row === 'string') return row;
    if (!adds && row.quantity < 0n && !allowNegative) return belowZero(row.quantity);
    if (adds !== first.adds) return `has ${column}, but line ${first.line} has the other; use one of them`;
    const merged = merge(row, byPet.get(row.petId), adds);
    if (typeof merged === 'string') return merged;
    byPet.set(row.petId, merged);
    return undefined;
  });
  return { ...found, rows: [...byPet.values()], adds: first?.adds === true };
}

/** Returns a hash of the rows that does not depend on their order or file. */
export function hashOfRows(rows: readonly Row[]): string {
  const lines = rows.map(({ petId, quantity }) => `${petId} ${quantity}`);
  return hash('sha256', lines.sort().join('\n'));
}

/** Adds a row to an earlier one of the same pet. Two rows that set the same pet are a problem. */
function merge(row: Row, earlier: Row | undefined, adds: boolean): Row | string {
  if (earlier === undefined) return row;
  const problem = `pet ${row.petId} is already on line ${earlier.line}`;
  if (!adds) return problem;
  if (earlier.current !== undefined && row.current !== undefined && earlier.current !== row.current) {
    return `${problem}, with another value of current`;
  }
  if (earlier.cause !== row.cause || earlier.note !== row.note) return `${problem}, with another cause or note`;
  const { parts = [earlier] } = earlier;
  parts.push(row);
  return { ...earlier, quantity: earlier.quantity + row.quantity, current: earlier.current ?? row.current, parts };
}

function toRow(record: FileRecord, column: 'quantity' | 'delta', adds: boolean, petOf: PetOf): Row | string {
  const text = (name: ColumnName): string => textOf(record, name) ?? '';
  const petId = petIn(record, petOf);
  if (typeof petId === 'string') return petId;
  // A change may have a plus sign.
  const quantity = parseNumber(column, adds ? text(column).replace(/^\+(?=[1-9])/, '') : text(column));
  if (typeof quantity === 'string') return quantity;
  const current = text('current') === '' ? undefined : parseNumber('current', text('current'));
  if (typeof current === 'string') return current;
  const why = whyOf(text('cause').toLowerCase(), text('note').replace(/\s+/g, ' '));
  return typeof why === 'string' ? why : { line: record.line, petId, quantity, current, ...why };
}

/** Returns the pet that the row's columns name, or why not: they must all name the same one. */
function petIn(record: FileRecord, petOf: PetOf): bigint | string {
  const text = (name: ColumnName): string => textOf(record, name) ?? '';
  const columns = STOCK_FILE.pets.filter((column) => textOf(record, column) !== undefined);
  const [by, ...others] = columns.filter((each) => text(each) !== '');
  if (by === undefined) return `${columns[0] ?? 'petId'} is missing`;
  const petId = by === 'petId' ? parseNumber(by, text(by)) : petOf(by, text(by), true);
  if (typeof petId === 'string') return petId;
  for (const each of others) {
    const other: bigint | string = each === 'petId' ? petId : petOf(each, text(each), false);
    if (typeof other === 'bigint' && other !== petId) return `${by} is of pet ${petId}, but ${each} of pet ${other}`;
  }
  return petId;
}

const LONGEST_NOTE = 200;

function whyOf(cause: string, note: string): Pick<Row, 'cause' | 'note'> | string {
  if (cause !== '' && !isOneOf(CAUSES, cause))
    return `cause is ${JSON.stringify(cause)}, but must be one of ${CAUSES.join(', ')}`;
  if (note !== '' && !isLine(note, LONGEST_NOTE)) {
    return `note must be one line of at most ${LONGEST_NOTE} characters`;
  }
  return { ...(isOneOf(CAUSES, cause) && { cause }), ...(note !== '' && { note }) };
}

export function belowZero(quantity: bigint): string {
  return `quantity is ${quantity}, below zero (--allow-negative, if that is meant)`;
}

/** Parses the rows of a catalog in any text. Several rows of a pet add their barcodes together. */
export function parseCatalog(text: string, mappings: readonly Mapping[] = []) {
  const rows: CatalogRow[] = [];
  const found = readRecords(text, CATALOG_FILE, mappings, (record) => {
    const petId = parseNumber('petId', textOf(record, 'petId') ?? '');
    const [min, target] = (['min', 'target'] as const).map((column) => {
      const text = textOf(record, column);
      return text === '' ? null : text && parseNumber(column, text);
    });
    if (typeof petId === 'string') return petId;
    if (typeof min === 'string') return min;
    if (typeof target === 'string') return target;
    const barcodes = textOf(record, 'barcode')
      ?.split(/[\s;|]+/)
      .filter(Boolean);
    rows.push({ line: record.line, petId, name: textOf(record, 'name'), barcodes, min, target });
    return undefined;
  });
  const isEmpty = rows.length + found.problems.length === 0;
  return { ...found, rows, problems: isEmpty ? [{ line: 1, reason: 'the file has no rows' }] : found.problems };
}

/**
 * Parses a number, or returns why the text is refused: for one that a spreadsheet has reformatted, with the fix.
 * @param text trimmed
 */
function parseNumber(column: ColumnName, text: string): bigint | string {
  if (text === '') return `${column} is missing`;
  // First, since a pattern that tries a long text again and again may end in a RangeError.
  if (text.length > MAX_DIGITS) {
    return `${column} is ${shown(text)}, which has ${text.length} characters, and a number has at most ${MAX_DIGITS}`;
  }
  const value = column === 'petId' ? parseInt64(text) : parseInteger(withoutZeros(text));
  return value ?? `${column} is ${shown(text)}${problemOf(column, text)}`;
}

/** Returns `12` for `12,00` and `12.0`, but not for `1,000` or `1.000`, which may be a thousand. */
function withoutZeros(text: string): string {
  return /^-?[0-9]{1,3}[.,]000$/.test(text) ? text : text.replace(/^(-?[0-9]+)[.,]0+$/, '$1');
}

function problemOf(column: ColumnName, text: string): string {
  const isId = column === 'petId';
  if (/^[+-]?[0-9]+([.,][0-9]+)?E[+-]?[0-9]+$/i.test(text)) {
    return isId
      ? ': a spreadsheet has shortened the id, and its last digits are lost; copy it from the source again, as text'
      : ': format the column as a number without decimals and without an exponent';
  }
  if (/^[+-]?[0-9]{1,3}([.,'\u2019\s][0-9]{3})+$/.test(text)) return ': remove the thousands separator';
  if (/^[+-]?[0-9]+[.,][0-9]+$/.test(text)) return ': format the column as a number without decimals';
  if (/^[+-]?0[0-9]+$/.test(text)) return ': remove the leading zeros';
  if (isId && parseInteger(text) !== undefined) return ', but ids go up to 9223372036854775807';
  if (isId) return ', but must be a whole number, such as 7';
  return `, but must be a whole number${column === 'current' ? ', or empty' : ''}`;
}
