/** Views: what commands return, as data and not yet as text, and the formats of `--output`. formats.ts renders them. */
import type { Failure } from '../errors.ts';
import { type JsonObject, type JsonValue, RawNumber, stringifyJson } from '../api/json.ts';
import type { Role } from './style.ts';

/**
 * `summary`: for `petstore help output`. `isForPeople`: local times, names of pets, confirmations that --quiet omits.
 * `isJson`: stderr is JSON too, and there is no header.
 */
export const FORMAT_FACTS = {
  table: { summary: 'for people; the default, on a terminal and in a pipe', isForPeople: true, isJson: false },
  json: { summary: 'one document (--json is short for it)', isForPeople: false, isJson: true },
  ndjson: { summary: 'one object per line, streamed', isForPeople: false, isJson: true },
  csv: { summary: 'RFC 4180, with a header line unless --no-header', isForPeople: false, isJson: false },
};

export type Format = keyof typeof FORMAT_FACTS;
export const FORMATS = Object.keys(FORMAT_FACTS) as readonly Format[];

/**
 * A cell. A number of any kind is aligned right and never gets a formula prefix. An instant is local time in a table,
 * ISO 8601 elsewhere.
 */
export type CellValue = string | bigint | number | RawNumber | Date;

export interface Column<Row> {
  /** Header in CSV, and the name for `--columns`. */
  readonly name: string;
  /** Header in the table. Default: the name as words, such as `Out of stock`. */
  readonly heading?: string;
  cell(row: Row): CellValue;
  /** Role of the cell in a table. Default: by name and value. */
  role?(row: Row): Role | undefined;
  /** True for differences, which a table shows as `+2`. */
  readonly isSigned?: boolean;
  /** In a table, draws a bar instead of the cell's text: the part of the whole. */
  bar?(row: Row): readonly [part: bigint, whole: bigint] | undefined;
  /**
   * Allows the column to be omitted if the terminal is too narrow for the table: the lowest number first, to make room
   * for the highest.
   */
  readonly yields?: number;
}

/** Many rows: a table, a JSON array, one object a line, CSV. */
export interface RowsView<Row = unknown> {
  readonly view: 'rows';
  readonly columns: readonly Column<Row>[];
  /** Rows in batches, so that a long list streams. */
  readonly rows: Iterable<readonly Row[]> | AsyncIterable<readonly Row[]>;
  /** The row as one line of JSON. */
  jsonText(row: Row): string;
  /** Returns the row as a line of CSV if it needs no quotes; undefined to make it of the cells. */
  csvText?(row: Row): string | undefined;
  readonly header: boolean;
  /** True if reading the rows is the work itself: after a signal it ends by its own rules. */
  readonly isWork?: boolean;
  /** Overrides the requested format. */
  readonly format?: Format;
  /** Printed on stderr instead of an empty table. */
  readonly empty: string;
  /** Printed on stderr below a table at a terminal. */
  summary?(count: number): string;
  /** Returns the failure of a check, if any. @param count of the rows; undefined if not all could be written */
  check?(count?: number): Failure | undefined;
}

/** One record: a sentence for people, an object for programs. */
export interface RecordView {
  readonly view: 'record';
  /** Text of the table format: whole lines, without a final newline, not yet sanitised. */
  readonly text: string;
  /** Column where the sentences begin: on a terminal, they wrap there. */
  readonly margin?: number;
  readonly json: JsonObject;
  /** Columns of CSV, in order. Default: the members of `json`. */
  readonly csv?: readonly Member[];
  /** A failure that is reported after the record is printed. */
  readonly failure?: Failure;
  /** True if it only confirms what the command did: --quiet omits its text. */
  readonly isConfirmation?: boolean;
  /** For a server: resolves when its work has ended. Awaited after the record is printed. */
  ended?(): Promise<void>;
}

type Member = readonly [name: string, value: JsonValue];
/** Members in order. Pairs if the service has named them, since a name may be anything. */
type Members = readonly Member[] | Readonly<Record<string, JsonValue>>;

function pairsOf(members: Members): readonly Member[] {
  return Array.isArray(members) ? (members as readonly Member[]) : Object.entries(members);
}

type More = Partial<Pick<RecordView, 'margin' | 'failure' | 'isConfirmation'>>;

/** Returns a record with these members in JSON and CSV. */
export function record(
  text: string,
  members: Members,
  { csv, ...more }: More & { readonly csv?: Members } = {},
): RecordView {
  return { view: 'record', text, json: new Map(pairsOf(members)), ...(csv && { csv: pairsOf(csv) }), ...more };
}

/** A line of a record's text. Without words it is left out. */
export type Labelled = readonly [label: string, words: string | undefined];

/** Returns a record whose text has a line for each label and its text. */
export function labelled(lines: readonly Labelled[], members: Members, csv?: Members): RecordView {
  const shown = lines.filter(([, words]) => words !== undefined);
  const width = Math.max(...shown.map(([label]) => label.length));
  const text = shown.map(([label, words]) => `${label.padEnd(width)}  ${words}`).join('\n');
  return record(text, members, { margin: width + 2, ...(csv && { csv }) });
}

/** Returns a record that only confirms what the command did. */
export function confirmation(...[text, members, more]: Parameters<typeof record>): RecordView {
  return record(text, members, { ...more, isConfirmation: true });
}

/** Column -> its look in a table, and whether it may be omitted. */
type Looks<Row> = Readonly<Record<string, Partial<Column<Row>>>>;

function jsonOf(cell: CellValue | undefined): JsonValue {
  return cell instanceof Date ? cell.toISOString() : (cell ?? null);
}

/** Returns a view of rows in memory. Their JSON has the same members as the columns, null for undefined. */
export function list<Row>(
  rows: readonly Row[],
  members: Readonly<Record<string, (row: Row) => CellValue | undefined>>,
  { looks = {}, ...more }: Partial<Omit<RowsView<Row>, 'view' | 'rows'>> & { readonly looks?: Looks<Row> } = {},
): RowsView<Row> {
  const entries = Object.entries(members);
  return {
    view: 'rows',
    rows: [rows],
    columns: entries.map(([name, of]) => ({ name, cell: (row) => of(row) ?? '', ...looks[name] })),
    jsonText: (row) => stringifyJson(new Map(entries.map(([name, of]) => [name, jsonOf(of(row))]))),
    header: true,
    empty: '',
    ...more,
  };
}

/** Returns the cell for a member of a JSON object. */
export function jsonCell(value: JsonValue): CellValue {
  if (value === null) return '';
  if (value instanceof RawNumber) return value;
  return typeof value === 'object' || typeof value === 'boolean' ? stringifyJson(value) : value;
}

/** A line for people, and an object for programs. */
export interface StreamEvent {
  readonly text: string;
  readonly isNews: boolean;
  readonly json: JsonValue;
}

interface StreamView {
  readonly view: 'stream';
  readonly events: AsyncIterable<StreamEvent>;
}

/** Bytes that are the same in every format, such as an answer or a script. A terminal shows them escaped. */
export interface RawView {
  readonly view: 'raw';
  /** Lines before the body. */
  readonly head?: string;
  readonly body: Uint8Array;
  /** For our own text, which is wrapped and coloured as in a record. */
  readonly margin?: number;
  readonly failure?: Failure;
  /** True for what has taken effect, such as a write: where it cannot be printed, it is not to be run again. */
  readonly isConfirmation?: boolean;
}

export type View = RowsView | StreamView | RecordView | RawView;
