/** Parses the rows of a delivery or a stocktake from CSV or JSON. All are checked before one is applied. */
import { type JsonValue, stringifyJson } from '../api/json.ts';
import { parseJsonRows } from '../api/json-rows.ts';
import {
  type ColumnName,
  type Columns,
  type FileKind,
  findColumns,
  headerProblem,
  type Mapping,
  mappingProblem,
  parseNumber,
} from './columns.ts';
import { CsvError, type CsvRecord, readCsv } from './csv.ts';

export interface Row {
  /** Where in the file, from 1; the first line, if several are added together. */
  readonly line: number;
  readonly petId: bigint;
  /** What to set, or what to add. */
  readonly quantity: bigint;
  /** The quantity that the file expects to be there. */
  readonly current?: bigint | undefined;
  /** All lines that are added together, if there are several. */
  readonly lines?: readonly number[];
}

export interface Problem {
  readonly line: number;
  readonly reason: string;
}

export interface Rows {
  readonly rows: readonly Row[];
  /** True if the rows are added to the stock. */
  readonly adds: boolean;
  readonly problems: readonly Problem[];
  /** Columns that are not used. */
  readonly ignored: readonly string[];
}

export interface RowOptions {
  readonly allowNegative: boolean;
  /** Adds the quantities to the stock. */
  readonly add?: boolean | undefined;
  readonly mappings?: readonly Mapping[] | undefined;
}

/** A row before its cells are parsed. */
interface Texts {
  readonly line: number;
  readonly adds: boolean;
  /** The column that says how many. */
  readonly amount: 'quantity' | 'delta';
  text(column: ColumnName): string | undefined;
}
type Raw = Problem | Texts;

interface Raws {
  /** Read as they are asked for. @throws {CsvError} */
  readonly raws: Iterable<Raw>;
  /** Complete once all rows are read. */
  readonly ignored: Iterable<string>;
}

const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Parses any text; what is wrong with it is in `problems`. */
export function parseRows(text: string, options: RowOptions): Rows {
  try {
    const plain = text.replace(/^\ufeff/, '');
    return collect(/^\s*[[{]/.test(plain) ? fromJson(plain, options) : fromCsv(plain, options), options);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { rows: [], adds: false, problems: [{ line: error.line, reason: error.message }], ignored: [] };
  }
}

function collect({ raws, ignored }: Raws, { allowNegative }: RowOptions): Rows {
  const problems: Problem[] = [];
  const byPet = new Map<bigint, Row>();
  let first: Texts | undefined;
  for (const raw of raws) {
    if (!('reason' in raw)) first ??= raw;
    const row = 'reason' in raw ? raw : toRow(raw, allowNegative);
    const merged = 'reason' in raw || 'reason' in row ? row : merge(row, byPet.get(row.petId), raw, first ?? raw);
    if ('reason' in merged) problems.push(merged);
    else byPet.set(merged.petId, merged);
  }
  if (byPet.size === 0 && problems.length === 0) problems.push({ line: 1, reason: 'the file has no rows' });
  return { rows: [...byPet.values()], adds: first?.adds === true, problems, ignored: [...ignored] };
}

/** Adds a row to an earlier one of the same pet; two rows that set the same pet contradict each other. */
function merge(row: Row, earlier: Row | undefined, { line, adds }: Texts, first: Texts): Row | Problem {
  if (adds !== first.adds) {
    return {
      line,
      reason: `has ${adds ? 'delta' : 'quantity'}, but line ${first.line} has the other; use one of them`,
    };
  }
  if (earlier === undefined) return row;
  if (!adds) return { line, reason: `pet ${row.petId} is already on line ${earlier.line}` };
  if (earlier.current !== undefined && row.current !== undefined && earlier.current !== row.current) {
    return { line, reason: `pet ${row.petId} is already on line ${earlier.line}, with another value of current` };
  }
  const lines = [...(earlier.lines ?? [earlier.line]), line];
  return { ...earlier, quantity: earlier.quantity + row.quantity, current: earlier.current ?? row.current, lines };
}

function toRow({ line, adds, amount, text }: Texts, allowNegative: boolean): Row | Problem {
  const cell = (column: ColumnName): string => text(column)?.trim() ?? '';
  const [idText, amountText, currentText] = [cell('petId'), cell(amount), cell('current')];
  if (idText === '') return { line, reason: 'petId is missing' };
  const petId = parseNumber('petId', idText);
  if (typeof petId === 'string') return { line, reason: petId };
  if (amountText === '') return { line, reason: `${amount} is missing` };
  // Of a change a plus is a natural part.
  const quantity = parseNumber(amount, adds ? amountText.replace(/^\+(?=[1-9])/, '') : amountText);
  if (typeof quantity === 'string') return { line, reason: quantity };
  if (!adds && quantity < 0n && !allowNegative) return { line, reason: belowZero(quantity) };
  const current = currentText === '' ? undefined : parseNumber('current', currentText);
  if (typeof current === 'string') return { line, reason: current };
  return { line, petId, quantity, current };
}

export function belowZero(quantity: bigint): string {
  return `quantity is ${quantity}, below zero (--allow-negative, if that is meant)`;
}

function amountIn({ found }: Columns): Texts['amount'] {
  return found.has('delta') ? 'delta' : 'quantity';
}

function fromCsv(text: string, { add = false, mappings = [] }: RowOptions): Raws {
  const records = readTable(text, mappings);
  const header = records.next().value;
  if (header === undefined) return { raws: [], ignored: [] };
  const columns = findColumns(header.cells, mappings);
  const problem = headerProblem(header.cells, columns, mappings);
  if (problem !== undefined) return { raws: [{ line: header.line, reason: problem }], ignored: [] };
  return { raws: rawsIn(records, columns, add, widthOf(header.cells)), ignored: columns.ignored };
}

function* rawsIn(records: Iterable<CsvRecord>, columns: Columns, add: boolean, width: number): Generator<Raw> {
  const amount = amountIn(columns);
  const adds = add || amount === 'delta';
  for (const { line, cells } of records) {
    const own = widthOf(cells);
    if (own > width) {
      const reason = `has ${own} cells, the header has ${width}: a thousands separator or decimal comma?`;
      yield { line, reason };
    } else yield { line, adds, amount, text: (column) => cells[columns.found.get(column) ?? -1] };
  }
}

/** Reads the lines that hold anything. Spreadsheets leave lines of delimiters behind. @throws {CsvError} */
export function* readTable(
  text: string,
  mappings: readonly Mapping[],
  kind?: FileKind,
): Generator<CsvRecord, undefined> {
  // Excel reads the delimiter from such a first line.
  const sep = /^"?sep=([^\w\s"]|\t)"?(?:\r\n?|\n|$)/i.exec(text);
  const records =
    sep === null ? readCsv(text, delimiterOf(text, mappings, kind)) : readCsv(text.slice(sep[0].length), sep[1]!, 2);
  for (const record of records) if (widthOf(record.cells) > 0) yield record;
}

/** Counts the cells up to the last one that holds anything. */
export function widthOf(cells: readonly string[]): number {
  return cells.findLastIndex((cell) => cell.trim() !== '') + 1;
}

/** Returns the delimiter with which the header has the most known columns, and then the most cells. */
function delimiterOf(text: string, mappings: readonly Mapping[], kind?: FileKind): string {
  const scored = DELIMITERS.map((delimiter) => {
    const cells = headerOf(text, delimiter);
    return { delimiter, known: findColumns(cells, mappings, kind).found.size, cells: cells.length };
  });
  return scored.toSorted((a, b) => b.known - a.known || b.cells - a.cells)[0]!.delimiter;
}

function headerOf(text: string, delimiter: string): readonly string[] {
  try {
    for (const { cells } of readCsv(text, delimiter)) if (widthOf(cells) > 0) return cells;
  } catch (error) {
    // With another delimiter, a quoted cell may end where text follows.
    if (!(error instanceof CsvError)) throw error;
  }
  return [];
}

function fromJson(text: string, { add = false, mappings = [] }: RowOptions): Raws {
  const ignored = new Set<string>();
  const names = new Set<string>();
  let columns = findColumns([], mappings);
  let headings = '';
  const raws = parseJsonRows(text).map((row): Raw => {
    const { line } = row;
    if ('error' in row) return { line, reason: `not valid JSON: ${row.error.message}` };
    const { value } = row;
    if (!(value instanceof Map)) return { line, reason: 'not an object such as {"petId":7,"quantity":12}' };
    // Most objects of a file have the same keys.
    const keys = [...value.keys()];
    if (headings !== (headings = JSON.stringify(keys))) {
      columns = findColumns(keys, mappings);
      for (const name of keys) names.add(name);
    }
    if (columns.problem !== undefined) return { line, reason: columns.problem };
    for (const name of columns.ignored) ignored.add(name);
    const { found } = columns;
    const amount = amountIn(columns);
    const values = [...value.values()];
    const text = (column: ColumnName): string | undefined => textOf(values[found.get(column) ?? -1]);
    return { line, adds: add || amount === 'delta', amount, text };
  });
  const problem = names.size === 0 ? undefined : mappingProblem([...names], mappings);
  return { raws: problem === undefined ? raws : [{ line: 1, reason: problem }], ignored: [...ignored] };
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : stringifyJson(value);
}
