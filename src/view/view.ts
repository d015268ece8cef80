/** What a command returns: data and how it reads, not yet strings. formats.ts turns it into text. */
import type { Failure } from '../errors.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import type { Format } from './output-formats.ts';
import type { Role } from './style.ts';

/** One column of a table or CSV file. */
export interface Column<Row> {
  /** Header in CSV; also the name `--columns` takes. */
  readonly name: string;
  /** Header in the table, where it is not the name as words: `Pet`, `Out of stock`. */
  readonly heading?: string;
  /** The cell: a bigint or number is set to the right and never gets a formula prefix. */
  cell(row: Row): string | bigint | number;
  /** Paints the cell in a table; by default as its name and value say. */
  role?(row: Row): Role | undefined;
  /** True for differences: a table shows `+2`. */
  readonly isSigned?: boolean;
  /** In a table, a bar that is as long as the part is of the whole, in place of the cell's text. */
  bar?(row: Row): readonly [part: bigint, whole: bigint] | undefined;
  /**
   * Makes the column one that may be left out where the terminal is too narrow for the table: the lowest number first,
   * to make room for the highest.
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
  /** The row as a line of CSV, where that is at hand and needs no quotes; undefined: it is made of the cells. */
  csvText?(row: Row): string | undefined;
  readonly header: boolean;
  /** True where to read the rows is the work itself: after a signal it ends by its own rules. */
  readonly isWork?: boolean;
  /** In this format, whatever was asked for. */
  readonly format?: Format;
  /** Printed on stderr in place of an empty table. */
  readonly empty: string;
  /** Printed on stderr below a table at a terminal. */
  summary?(count: number): string;
  /** Asked once all rows are written, with their number: the failure of a check, if any. */
  check?(count: number): Failure | undefined;
}

/** One thing: a sentence for people, an object for programs. */
export interface RecordView {
  readonly view: 'record';
  /** The table format's text: whole lines, without a final newline. Not yet sanitised. */
  readonly text: string;
  /** Where the sentences begin in the text's lines: on a terminal they are broken there, between words. */
  readonly margin?: number;
  readonly json: JsonObject;
  /** CSV's columns, in order; the members of `json` where it is left out. */
  readonly csv?: readonly Member[];
  /** What went wrong all the same: reported once the record is printed. */
  readonly failure?: Failure;
  /** True where it only confirms what the command did: with --quiet the text is not printed. */
  readonly isConfirmation?: boolean;
  /** Of a server: resolves when its work has ended, which is waited for once the record is printed. */
  ended?(): Promise<void>;
}

type Member = readonly [name: string, value: JsonValue];
/** In order; as pairs where the service has named them, since a name may be anything then. */
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

/** Returns a record whose text has a line for each thing: its label, then what there is to say of it. */
export function labelled(
  lines: readonly (readonly [label: string, words: string])[],
  members: Members,
  csv?: Members,
): RecordView {
  const width = Math.max(...lines.map(([label]) => label.length));
  const text = lines.map(([label, words]) => `${label.padEnd(width)}  ${words}`).join('\n');
  return record(text, members, { margin: width + 2, ...(csv && { csv }) });
}

/** Returns a record that only confirms what the command did. */
export function confirmation(...[text, members, more]: Parameters<typeof record>): RecordView {
  return record(text, members, { ...more, isConfirmation: true });
}

/** How columns look in a table, and which may be left out, by their names. */
type Looks<Row> = Readonly<Record<string, Pick<Column<Row>, 'role' | 'isSigned' | 'yields'>>>;

/** Returns rows that are at hand, whose columns are the members of their JSON too; an undefined one is null there. */
export function list<Row>(
  rows: readonly Row[],
  members: Readonly<Record<string, (row: Row) => string | bigint | number | undefined>>,
  { looks = {}, ...more }: Partial<Omit<RowsView<Row>, 'view' | 'rows'>> & { readonly looks?: Looks<Row> } = {},
): RowsView<Row> {
  const entries = Object.entries(members);
  return {
    view: 'rows',
    rows: [rows],
    columns: entries.map(([name, of]) => ({ name, cell: (row) => of(row) ?? '', ...looks[name] })),
    jsonText: (row) => stringifyJson(new Map(entries.map(([name, of]) => [name, of(row) ?? null]))),
    header: true,
    empty: '',
    ...more,
  };
}

/** Returns the cell for a member of a JSON object. */
export function jsonCell(value: JsonValue): string | bigint | number {
  if (value === null) return '';
  return typeof value === 'object' || typeof value === 'boolean' ? stringifyJson(value) : value;
}

/** Numbers over time for people, each with a bar: in every format. */
export interface ChartView {
  readonly view: 'chart';
  /** Epoch ms: of a time on the same day the date is left out. */
  readonly now: number;
  /** Each has a scale of its own. */
  readonly sections: readonly ChartSection[];
  /** Printed on stderr in place of a chart without lines. */
  readonly empty: string;
}

export interface ChartSection {
  readonly title: string;
  readonly lines: readonly ChartLine[];
}

export interface ChartLine {
  /** Epoch ms. */
  readonly at: number;
  readonly value: bigint;
  /** In place of the bar, of a value that does not count. */
  readonly note?: string;
}

/** Text that is the same in every format (help topics, a path); nothing where it is empty. */
export interface TextView {
  readonly view: 'text';
  readonly text: string;
}

/** What happens, as it happens: a line each for people, an object each for programs and in a pipe. */
export interface StreamView<Event = unknown> {
  readonly view: 'stream';
  readonly events: AsyncIterable<Event>;
  text(event: Event): { readonly text: string; readonly isNews: boolean };
  json(event: Event): JsonValue;
}

/** Bytes as the service sent them. On a terminal they are shown like any other text: escaped. */
export interface RawView {
  readonly view: 'raw';
  /** Lines before it; empty for none. */
  readonly head: string;
  readonly body: Uint8Array;
  /** Of text that is for people: as of a record. */
  readonly margin?: number;
  readonly failure?: Failure;
  /** True for the answer to a write: where it cannot be printed, the write is not to be sent again. */
  readonly isConfirmation?: boolean;
}

export type View = RowsView | ChartView | StreamView | RecordView | RawView | TextView;
