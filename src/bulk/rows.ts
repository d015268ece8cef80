/** Parses the rows of a delivery or a stocktake from CSV or JSON. All are checked before one is applied. */
import { parse } from 'csv-parse/sync';
import { type JsonValue, stringifyJson } from '../api/json.ts';
import { parseJsonRows } from '../api/json-rows.ts';
import { isOneOf, parseInt64, parseInteger } from '../api/values.ts';

export interface Row {
  /** Where in the file, from 1. */
  readonly line: number;
  readonly petId: bigint;
  readonly quantity: bigint;
  /** The quantity that the file expects to be there. */
  readonly current?: bigint | undefined;
}

export interface Problem {
  readonly line: number;
  readonly reason: string;
}

export interface Rows {
  readonly rows: readonly Row[];
  readonly problems: readonly Problem[];
  /** Columns that are not used. */
  readonly ignored: readonly string[];
}

const COLUMNS = ['petId', 'quantity', 'current'] as const;
type ColumnName = (typeof COLUMNS)[number];

/** A row before its cells are parsed. */
interface Texts {
  readonly line: number;
  text(column: ColumnName): string | undefined;
}
type Raw = Problem | Texts;

const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Parses any text; what is wrong with it is in `problems`. */
export function parseRows(text: string, { allowNegative }: { readonly allowNegative: boolean }): Rows {
  const { raws, ignored } = /^\ufeff?\s*[[{]/.test(text) ? fromJson(text) : fromCsv(text);
  const problems: Problem[] = [];
  const rows: Row[] = [];
  const seen = new Map<bigint, number>();
  for (const raw of raws) {
    const read = 'reason' in raw ? raw : toRow(raw, allowNegative);
    if ('reason' in read) {
      problems.push(read);
      continue;
    }
    const before = seen.get(read.petId);
    if (before === undefined) seen.set(read.petId, read.line);
    else problems.push({ line: read.line, reason: `pet ${read.petId} is already on line ${before}` });
    rows.push(read);
  }
  if (rows.length === 0 && problems.length === 0) problems.push({ line: 1, reason: 'there are no rows' });
  return { rows, problems, ignored };
}

function toRow({ line, text }: Texts, allowNegative: boolean): Row | Problem {
  const bad = (reason: string): Problem => ({ line, reason });
  const cell = (column: ColumnName): string => text(column)?.trim() ?? '';
  const [idText, quantityText, currentText] = [cell('petId'), cell('quantity'), cell('current')];
  if (idText === '') return bad('petId is missing');
  const petId = parseInt64(idText);
  if (petId === undefined) return bad(idProblem(idText));
  if (quantityText === '') return bad('quantity is missing');
  const quantity = parseInteger(quantityText);
  if (quantity === undefined) return bad(`quantity is ${shown(quantityText)}, but must be a whole number`);
  if (quantity < 0n && !allowNegative) return bad(belowZero(quantity));
  const current = currentText === '' ? undefined : parseInteger(currentText);
  if (currentText !== '' && current === undefined) {
    return bad(`current is ${shown(currentText)}, but must be a whole number, or empty`);
  }
  return { line, petId, quantity, current };
}

export function belowZero(quantity: bigint): string {
  return `quantity is ${quantity}, below zero (--allow-negative, if that is meant)`;
}

function idProblem(text: string): string {
  if (/^[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i.test(text)) {
    return (
      `petId is ${shown(text)}: a spreadsheet has shortened the id, and its last digits are lost; ` +
      'take it from the source again, as text'
    );
  }
  return `petId is ${shown(text)}, but must be a decimal int64`;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

interface Raws {
  readonly raws: readonly Raw[];
  readonly ignored: readonly string[];
}

function fromCsv(text: string): Raws {
  const records: { readonly cells: readonly string[]; readonly lines: number }[] = [];
  // The parser counts each half of a CRLF inside quotes.
  const plain = text.replace(/\r\n?/g, '\n');
  try {
    parse(plain, {
      bom: true,
      delimiter: delimiterOf(plain),
      relax_column_count: true,
      // Of delimiters only, too: spreadsheets leave such lines behind.
      skip_records_with_empty_values: true,
      skip_empty_lines: true,
      on_record: (cells: readonly string[], { lines }) => {
        records.push({ cells, lines });
        return null;
      },
    });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const line = 'lines' in error ? Number(error.lines) : 1;
    return { raws: [{ line, reason: `is no CSV: ${error.message}` }], ignored: [] };
  }
  const header = records[0]?.cells.map((name) => name.trim()) ?? [];
  const problem = headerProblem(header);
  if (problem !== undefined) return { raws: [{ line: 1, reason: problem }], ignored: [] };
  const width = widthOf(header);
  const raws = records.slice(1).map(({ cells, lines }): Raw => {
    // The parser tells where a record ends.
    const line = lines - cells.join('').split('\n').length + 1;
    const own = widthOf(cells);
    if (own > width) {
      const reason = `has ${own} cells, the header has ${width}: a thousands separator or decimal comma?`;
      return { line, reason };
    }
    return { line, text: (column) => cells[header.indexOf(column)] };
  });
  return { raws, ignored: header.filter((name) => name !== '' && !isOneOf(COLUMNS, name)) };
}

/** Counts the cells up to the last one that holds anything. */
function widthOf(cells: readonly string[]): number {
  return cells.findLastIndex((cell) => cell.trim() !== '') + 1;
}

function headerProblem(header: readonly string[]): string | undefined {
  const missing = ['petId', 'quantity'].filter((name) => !header.includes(name));
  if (missing.length > 0) {
    return `the header has no column ${missing.join(' and none ')}; it must name petId and quantity, and may name current`;
  }
  const twice = COLUMNS.find((name) => header.indexOf(name) !== header.lastIndexOf(name));
  return twice === undefined ? undefined : `the header names ${twice} twice`;
}

/** Finds the delimiter between the header's names: spreadsheets use a semicolon where the comma is for decimals. */
function delimiterOf(text: string): string {
  const lines = text
    .slice(0, 10_000)
    .replace(/^\ufeff/, '')
    .split(/\r?\n/);
  const header = lines.find((line) => line.trim() !== '') ?? '';
  const names = (delimiter: string): string[] =>
    header.split(delimiter).map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
  return DELIMITERS.find((each) => names(each).length > 1 && names(each).includes('petId')) ?? ',';
}

function fromJson(text: string): Raws {
  const ignored = new Set<string>();
  const raws = parseJsonRows(text).rows.map((row): Raw => {
    const line = row.at;
    if ('error' in row) return { line, reason: `is no JSON: ${row.error.message}` };
    const { value } = row;
    if (!(value instanceof Map)) return { line, reason: 'is no object' };
    for (const name of value.keys()) if (!isOneOf(COLUMNS, name)) ignored.add(name);
    return { line, text: (column) => textOf(value.get(column)) };
  });
  return { raws, ignored: [...ignored] };
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : stringifyJson(value);
}
