/**
 * Rows as a table. Up to MOST_HELD rows are collected first: a table with a bad row prints nothing.
 *
 * On a terminal up to MOST_DRAWN rows are drawn with borders by cli-table3, whose time grows faster than the
 * rows do; texts wrap between words where the terminal is narrow. More rows, and any in a pipe, are aligned
 * columns. Numbers are never cut: where nothing else fits, each row becomes lines of `name: value`.
 *
 * Beyond MOST_HELD rows the widths are fixed by those, with room for any int64, and the rest streams.
 */
import { visible } from './sanitise.ts';
import type { Style } from './style.ts';
import type { Column, RowsView } from './view.ts';
import { displayWidth, isAscii, padTo, prepareWidths, truncate } from './width.ts';

const MOST_DRAWN = 1_000;
const MOST_HELD = 10_000;
const NINE = 0x39;
/** `-9223372036854775808` */
const INT64_WIDTH = 20;
/** Lines handed over at a time. */
const LINES = 1_000;
/** Words up to this long are not broken. */
const LONGEST_WORD = 20;
/** `│ ` before each column, ` │` at the end. */
const BORDERS = { perColumn: 3, end: 1 };
const BETWEEN = '  ';

export interface Screen {
  readonly isTTY: boolean;
  readonly width: number | undefined;
  readonly style: Style;
  /** Takes secrets out of a text, before it is wrapped or cut. */
  readonly redact: (text: string) => string;
}

/** The private-use area of the basic plane. */
const FIRST_PRIVATE = 0xe000;
const LAST_PRIVATE = 0xf8ff;
const PRIVATE_RUN = /([\ue000-\uf8ff])\1*/g;

interface Cell {
  readonly text: string;
  readonly numeric: boolean;
}

export async function* renderTable<Row>(view: RowsView<Row>, screen: Screen): AsyncGenerator<string, number> {
  // A width of 0 is a terminal that does not know its own.
  const width = screen.isTTY ? screen.width || 80 : Number.POSITIVE_INFINITY;
  const held: Cell[][] = [];
  let fixed: Table | undefined;
  let count = 0;
  for await (const batch of view.rows) {
    count += batch.length;
    const quick = fixed === undefined ? undefined : plainLines(view.columns, fixed, batch);
    if (quick !== undefined) {
      yield quick;
      continue;
    }
    const rows = batch.map((row) => cellsOf(view.columns, row, screen.redact));
    if (fixed !== undefined) {
      await prepareWidths(texts([], rows));
      yield* aligned({ ...fixed, rows, follows: true }, screen.style, Number.isFinite(width));
      continue;
    }
    for (const row of rows) held.push(row);
    if (count <= MOST_HELD) continue;
    fixed = await roomy(view, held, width);
    yield* aligned(fixed, screen.style, Number.isFinite(width));
  }
  if (fixed !== undefined || count === 0) return count;
  const table = await measured(view, held, 0);
  const drawn = screen.isTTY && count <= MOST_DRAWN;
  const borders = BORDERS.perColumn * table.names.length + BORDERS.end;
  const fitted = drawn ? fit(table, width - borders) : undefined;
  if (fitted !== undefined) yield await draw(fitted, screen.style);
  else yield* aligned(inColumns(table, width, !drawn), screen.style, Number.isFinite(width));
  return count;
}

/** With room for rows that are yet to come, where there is any. */
async function roomy<Row>(view: RowsView<Row>, rows: readonly (readonly Cell[])[], width: number): Promise<Table> {
  const table = await measured(view, rows, INT64_WIDTH);
  const isRoomy = sum(table.widths) <= roomFor(table, width);
  return inColumns(isRoomy ? table : await measured(view, rows, 0), width, true);
}

/** The table with its columns fitted to the width; without columns where they do not fit. */
function inColumns(table: Table, width: number, mayCut: boolean): Table {
  const room = roomFor(table, width);
  const fitted = mayCut || sum(table.widths) <= room ? fit(table, room) : undefined;
  return fitted ?? { ...table, hasColumns: false };
}

function roomFor({ names }: Table, width: number): number {
  return width - BETWEEN.length * (names.length - 1);
}

/** `leastNumber`: how wide a column of numbers is at least. */
async function measured<Row>(
  view: RowsView<Row>,
  rows: readonly (readonly Cell[])[],
  leastNumber: number,
): Promise<Table> {
  const names = view.columns.map(({ name }) => visible(name));
  await prepareWidths(texts(names, rows));
  const widths = names.map((name, i) => {
    const least = rows[0]?.[i]?.numeric === true ? leastNumber : 0;
    return widest(rows, i, Math.max(least, view.header ? displayWidth(name) : 0));
  });
  return { names, rows, widths, header: view.header, follows: false, hasColumns: true };
}

interface Table {
  readonly names: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly widths: readonly number[];
  readonly header: boolean;
  /** Rows of it have been shown already. */
  readonly follows: boolean;
  /** False on a terminal too narrow for them. */
  readonly hasColumns: boolean;
}

/** Lines of rows whose cells need no care and fit; undefined where one does not. */
function plainLines<Row>(columns: readonly Column<Row>[], table: Table, rows: readonly Row[]): string | undefined {
  if (!table.hasColumns) return undefined;
  const last = columns.length - 1;
  const lines: string[] = [];
  for (const row of rows) {
    let line = '';
    for (let i = 0; i <= last; i++) {
      const text = columns[i]!.plain?.(row);
      const width = table.widths[i]!;
      if (text === undefined || text.length > width) return undefined;
      if (i > 0) line += BETWEEN;
      if (text.charCodeAt(0) <= NINE) line += text.padStart(width);
      else line += i === last ? text : text.padEnd(width);
    }
    lines.push(line);
  }
  lines.push('');
  return lines.join('\n');
}

function cellsOf<Row>(columns: readonly Column<Row>[], row: Row, redact: Screen['redact']): Cell[] {
  return columns.map((column) => {
    const plain = column.plain?.(row);
    if (plain !== undefined) return { text: plain, numeric: plain.charCodeAt(0) <= NINE };
    const value = column.cell(row);
    return typeof value === 'string'
      ? { text: visible(redact(value)), numeric: false }
      : { text: value.toString(), numeric: true };
  });
}

function* texts(names: readonly string[], rows: readonly (readonly Cell[])[]): Generator<string> {
  yield* names;
  for (const row of rows) for (const { text } of row) yield text;
}

function widest(rows: readonly (readonly Cell[])[], column: number, least: number): number {
  let width = least;
  for (const row of rows) width = Math.max(width, displayWidth(row[column]?.text ?? ''));
  return width;
}

/** The same table with its text columns narrowed until it fits; undefined where that is not enough. */
function fit(table: Table, width: number): Table | undefined {
  if (sum(table.widths) <= width) return table;
  const least = table.widths.map((own, i) => Math.min(own, narrowest(table, i)));
  if (sum(least) > width) return undefined;
  const widths = [...table.widths];
  while (sum(widths) > width) {
    const spare = widths.map((own, i) => own - (least[i] ?? 0));
    const column = spare.indexOf(Math.max(...spare));
    widths[column] = Math.max(least[column] ?? 0, (widths[column] ?? 0) - (sum(widths) - width));
  }
  return { ...table, widths };
}

/** The longest word of a text column; a column of numbers is as wide as it is. */
function narrowest({ names, rows }: Table, column: number): number {
  if (rows.some((row) => row[column]?.numeric === true)) return Number.POSITIVE_INFINITY;
  const texts = [names[column] ?? '', ...rows.map((row) => row[column]?.text ?? '')];
  const longest = texts
    .flatMap((text) => text.split(' '))
    .reduce((most, word) => Math.max(most, displayWidth(word)), 0);
  return Math.min(LONGEST_WORD, longest);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

async function draw({ names, rows, widths, header }: Table, style: Style): Promise<string> {
  const { default: CliTable } = await import('cli-table3');
  const standIns = new Placeholders();
  const cut = (text: string, i: number): string =>
    isAscii(text) ? text : standIns.put(truncate(text, widths[i] ?? 0));
  const table = new CliTable({
    head: header ? names.map((name, i) => style.bold(cut(name, i))) : [],
    colWidths: widths.map((width) => width + 2),
    colAligns: names.map((_name, i) => (rows[0]?.[i]?.numeric === true ? 'right' : 'left')),
    wordWrap: true,
    // Our own colours only, and no line between rows.
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(row.map((cell, i) => (cell.numeric ? cell.text : cut(cell.text, i))));
  return `${standIns.replace(table.toString())}\n`;
}

/**
 * cli-table3 measures with tables of its own, older than some scripts and emoji. A text beyond ASCII is laid out
 * as so many private-use characters, which all count one column, and put in its place afterwards.
 */
class Placeholders {
  private readonly texts: string[] = [];

  put(text: string): string {
    const index = this.texts.indexOf(text);
    const code = FIRST_PRIVATE + (index < 0 ? this.texts.push(text) - 1 : index);
    // More different texts than characters: this one is laid out as well as cli-table3 can.
    return code > LAST_PRIVATE ? text : String.fromCharCode(code).repeat(Math.max(1, displayWidth(text)));
  }

  replace(drawn: string): string {
    return drawn.replace(
      PRIVATE_RUN,
      (run, character: string) => this.texts[character.charCodeAt(0) - FIRST_PRIVATE] ?? run,
    );
  }
}

function* aligned(table: Table, style: Style, isTerminal: boolean): Generator<string> {
  const lines = table.hasColumns ? columns(table, style, isTerminal) : listed(table);
  let text = '';
  let count = 0;
  for (const line of lines) {
    text += `${line}\n`;
    if (++count % LINES === 0) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

/** In a pipe nothing is cut: text wider than its column is printed whole. */
function* columns({ names, rows, widths, header, follows }: Table, style: Style, cut: boolean): Generator<string> {
  const last = names.length - 1;
  const line = (cells: readonly Cell[]): string =>
    cells
      .map(({ text, numeric }, i) => {
        const shown = numeric || !cut ? text : truncate(text, widths[i] ?? 0);
        return i === last && !numeric ? shown : padTo(shown, widths[i] ?? 0, numeric ? 'right' : 'left');
      })
      .join(BETWEEN);
  if (header && !follows)
    yield style.bold(line(names.map((text, i) => ({ text, numeric: rows[0]?.[i]?.numeric === true }))));
  for (const row of rows) yield line(row);
}

/** For terminals too narrow for columns. */
function* listed({ names, rows, follows }: Table): Generator<string> {
  for (const [index, row] of rows.entries()) {
    if (index > 0 || follows) yield '';
    for (const [i, { text }] of row.entries()) yield `${names[i] ?? ''}: ${text}`;
  }
}
