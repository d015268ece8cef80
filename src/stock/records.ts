/** Reads the records of a CSV or JSON file: one pet each, with texts by column name. */
import { CsvError, parse } from 'csv-parse/sync';
import { type JsonValue, stringifyJson } from '../api/json.ts';
import { parseJsonRows } from '../api/json-rows.ts';
import type { Problem } from '../catalog/store.ts';
import {
  type ColumnName,
  type Columns,
  type FileKind,
  type HeaderProblem,
  findColumns,
  headerProblem,
  type Mapping,
  mappingProblem,
} from './columns.ts';

export interface FileRecord {
  /** Line where it begins, from 1. */
  readonly line: number;
  readonly columns: Columns;
  /** In the order of the file's columns. */
  readonly values: readonly JsonValue[];
  readonly isJson?: true;
}

/** Returns the trimmed text of a column; undefined if the file does not have it. */
export function textOf({ columns, values, isJson }: FileRecord, column: ColumnName): string | undefined {
  const at = columns.found.get(column);
  if (at === undefined) return undefined;
  const value = values[at] ?? '';
  const text = (typeof value === 'string' ? value : stringifyJson(value)).trim();
  // Our own CSV puts a quote before texts that a spreadsheet would run as a formula.
  return isJson !== true && (column === 'name' || column === 'note')
    ? text.replace(/^'(?='*[=+\-@\uff1d\uff0b\uff0d\uff20])/, '')
    : text;
}

interface FileProblems {
  readonly problems: readonly Problem[];
  /** Headings of a CSV header that lacks columns, for --map. */
  readonly headings: readonly string[] | undefined;
  /** The first ten columns that are not used. */
  readonly ignored: readonly string[];
}

const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Records, and lines that cannot be one. */
type Found = Iterable<FileRecord | (Problem & HeaderProblem)>;

/**
 * Reads any text. `problems` has what is wrong with it.
 * @param take uses a record, or returns why it cannot be used
 */
export function readRecords(
  text: string,
  kind: FileKind,
  mappings: readonly Mapping[],
  take: (record: FileRecord) => string | undefined,
): FileProblems {
  const plain = text.replace(/^\ufeff/, '');
  const problems: Problem[] = [];
  const ignored = new Set<string>();
  let headings: FileProblems['headings'];
  const isJson = kind.allowsJson && /^\s*[[{]/.test(plain);
  for (const each of (isJson ? fromJson : fromCsv)(plain, kind, mappings)) {
    const reason = 'reason' in each ? each.reason : take(each);
    if (reason !== undefined) problems.push({ line: each.line, reason });
    if ('headings' in each) headings = each.headings;
    if ('columns' in each) for (const name of each.columns.ignored) ignored.add(name);
  }
  return { problems, headings, ignored: [...ignored].slice(0, 10) };
}

function* fromCsv(text: string, kind: FileKind, mappings: readonly Mapping[]): Found {
  // A first line `sep=;` tells Excel the delimiter.
  const sep = /^"?sep=([^\w\s"]|\t)"?(?=[\r\n]|$)/i.exec(text);
  const table = text.slice(sep?.[0].length).replaceAll(/\r\n?/g, '\n');
  const delimiter = sep?.[1] ?? delimiterOf(table, kind, mappings);
  try {
    const header = readCsv(table, delimiter, { to: 1 }).next().value;
    if (header === undefined) return;
    const columns = findColumns(header.cells, mappings, kind);
    const problem = headerProblem(header.cells, columns, mappings, kind);
    if (problem !== undefined) {
      yield { line: header.line, ...problem };
      return;
    }
    const most = widthOf(header.cells);
    const numbers = numbersIn(columns.found);
    for (const { line, cells } of readCsv(table, delimiter)) {
      if (line === header.line) continue;
      const hasMore = cells.length > header.cells.length && delimiter === ',';
      const width = hasMore && mayBeSplit(cells, numbers) ? cells.length : widthOf(cells);
      const lines = cells.some((cell) => cell.includes('\n')) ? cells.join(delimiter).split('\n') : [];
      if (lines.filter((text) => looksLikeRow((at) => text.split(delimiter)[at], numbers)).length > 1) {
        yield { line, reason: 'a quoted cell spans lines that look like rows; close its quote on its own line' };
      } else if (width <= most) yield { line, columns, values: cells };
      else
        yield {
          line,
          reason: `has ${width} cells, the header has ${most}: a thousands separator, a decimal comma, or a text that needs quotes?`,
        };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    yield problemOf(table, error);
  }
}

/** Returns the positions of the pet's id and of the number that a row sets or adds. */
function numbersIn(found: Columns['found']): readonly number[] {
  const at = found.get('quantity') ?? found.get('delta');
  return at === undefined ? [] : [found.get('petId') ?? at, at];
}

/** A number, also with a thousands separator or decimals. */
const NUMBER = /^[-+]?[0-9]+(?:,[0-9]+)?(?:[.,][0-9]+)?$/;

function looksLikeRow(cellAt: (at: number) => string | undefined, numbers: readonly number[]): boolean {
  return numbers.length > 0 && numbers.every((at) => NUMBER.test(cellAt(at)?.trim() ?? ''));
}

/** True if two cells may be one number: below `petId,quantity,note`, `7,1,200,` may be 1,200 without a note. */
function mayBeSplit(cells: readonly string[], numbers: readonly number[]): boolean {
  return cells.slice(0, Math.max(...numbers) + 1).some((cell, i) => {
    const joined = `${cell.trim()},${cells[i + 1]?.trim()}`;
    const cellAt = (at: number): string | undefined => (at === i ? joined : cells[at < i ? at : at + 1]);
    return NUMBER.test(joined) && looksLikeRow(cellAt, numbers);
  });
}

function problemOf(table: string, { bytes, code, column }: CsvError): Problem {
  // The text up to the delimiter before the cell.
  const before = Buffer.from(table).subarray(0, Number(bytes)).toString();
  const cell = `cell ${Number(column) + 1}`;
  const reason =
    code === 'CSV_QUOTE_NOT_CLOSED'
      ? `the quote of ${cell} is not closed`
      : `${cell} has text after its closing quote; double the quotes inside a quoted cell`;
  return { line: before.split('\n').length, reason };
}

interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * Yields records, except empty ones: spreadsheets leave lines of delimiters behind. A quote inside an unquoted cell is
 * text, and spaces around a quoted cell are ignored.
 * @throws {CsvError} for anything else that RFC 4180 does not have
 */
function* readCsv(text: string, delimiter: string, options: { readonly to?: 1 } = {}): Generator<CsvRecord, undefined> {
  // csv-parse is slow for records with fewer cells than the first.
  if (!text.includes('"')) {
    for (const [i, line] of text.split('\n').entries()) {
      const cells = line.split(delimiter);
      if (widthOf(cells) > 0) yield { line: i + 1, cells };
    }
    return;
  }
  const records: CsvRecord[] = [];
  parse(text, {
    ...options,
    delimiter,
    record_delimiter: '\n',
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_empty_values: true,
    trim: true,
    on_record(cells, { lines }) {
      records.push({ line: lines - cells.join('').split('\n').length + 1, cells });
      return null;
    },
  });
  yield* records;
}

/** Counts the cells up to the last one that is not empty. */
function widthOf(cells: readonly string[]): number {
  return cells.findLastIndex((cell) => cell.trim() !== '') + 1;
}

/** Returns the delimiter that gives the header the most known columns, then the most cells. */
function delimiterOf(table: string, kind: FileKind, mappings: readonly Mapping[]): string {
  const scored = DELIMITERS.map((delimiter) => {
    const cells = headingsWith(table, delimiter);
    return { delimiter, known: findColumns(cells, mappings, kind).found.size, cells: cells.length };
  });
  return scored.toSorted((a, b) => b.known - a.known || b.cells - a.cells)[0]!.delimiter;
}

function headingsWith(table: string, delimiter: string): readonly string[] {
  try {
    return readCsv(table, delimiter, { to: 1 }).next().value?.cells ?? [];
  } catch (error) {
    // With a wrong delimiter, text may follow a quoted cell.
    if (error instanceof CsvError) return [];
    throw error;
  }
}

function* fromJson(text: string, kind: FileKind, mappings: readonly Mapping[]): Found {
  const rows = parseJsonRows(text);
  const objects = rows.flatMap((row) => ('value' in row && row.value instanceof Map ? [row.value] : []));
  const names = new Set(objects.flatMap((object) => [...object.keys()]));
  const unmatched = names.size === 0 ? undefined : mappingProblem([...names], mappings);
  if (unmatched !== undefined) {
    yield { line: 1, reason: unmatched };
    return;
  }
  // Caches by keys, because most objects of a file have the same ones.
  const known = new Map<string, Columns>();
  for (const row of rows) {
    const { line } = row;
    if ('error' in row && row !== rows.at(-1) && row.error.problem.endsWith('ends too early')) {
      yield { line, reason: 'an object must be on one line, as jq -c prints it, or in an array' };
      return;
    }
    if ('error' in row) yield { line, reason: `not valid JSON: ${row.error.message}` };
    else if (!(row.value instanceof Map)) yield { line, reason: 'not an object such as {"petId":7,"quantity":12}' };
    else {
      const keys = [...row.value.keys()];
      const key = JSON.stringify(keys);
      const columns = known.get(key) ?? findColumns(keys, mappings, kind);
      known.set(key, columns);
      if (columns.problem !== undefined) yield { line, reason: columns.problem };
      else yield { line, columns, values: [...row.value.values()], isJson: true };
    }
  }
}
