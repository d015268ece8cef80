/**
 * Rows as a table. Up to MOST_HELD rows are collected first: a table with a bad row prints nothing.
 *
 * On a terminal up to MOST_DRAWN rows are drawn with borders by cli-table3, whose time grows faster than the
 * rows do; texts wrap between words where the terminal is narrow. More rows, and any in a pipe, are aligned
 * columns. Numbers are never cut: where nothing else fits, each row becomes lines of `name: value`.
 *
 * Beyond MOST_HELD rows the widths are fixed by those, with room for any int64, and the rest streams.
 */
import { bar } from './bar.ts';
import { BETWEEN, type Cell, choices, fits, inBorders, inColumns, type Table } from './fit.ts';
import { visible } from './sanitise.ts';
import { PLAIN, roleOf, type Style } from './style.ts';
import type { Column, RowsView } from './view.ts';
import { displayWidth, isAscii, padTo, prepareWidths, truncate, wrapLine } from './width.ts';
import { capital, signed } from './words.ts';

const MOST_DRAWN = 1_000;
const MOST_HELD = 10_000;
/** `-9223372036854775808` */
const INT64_WIDTH = 20;
/** Lines handed over at a time. */
const LINES = 1_000;
/** `│ ` before each column, ` │` at the end. */
const BORDERS = { perColumn: 3, end: 1 };
/** How long a bar of the whole is, where there is room. */
const BAR_COLUMNS = 20;

export interface Screen {
  readonly isTTY: boolean;
  readonly width: number | undefined;
  readonly style: Style;
  /** Takes secrets out of a text, before it is wrapped or cut. */
  readonly redact: (text: string) => string;
  /** False where only ASCII is sure to be shown. */
  readonly isUnicode: boolean;
}

/** The private-use area of the basic plane. */
const FIRST_PRIVATE = 0xe000;
const LAST_PRIVATE = 0xf8ff;
const PRIVATE_RUN = /([\ue000-\uf8ff])\1*/g;

export async function* renderTable<Row>(view: RowsView<Row>, screen: Screen): AsyncGenerator<string, number> {
  // A width of 0 is a terminal that does not know its own.
  const width = screen.isTTY ? screen.width || 80 : Number.POSITIVE_INFINITY;
  const held: Cell[][] = [];
  let { columns } = view;
  let fixed: Table | undefined;
  let count = 0;
  for await (const batch of view.rows) {
    count += batch.length;
    const rows = batch.map((row) => cellsOf(columns, row, screen));
    if (fixed !== undefined) {
      await prepareWidths(texts([], rows));
      yield* aligned({ ...fixed, rows, follows: true }, screen, width);
      continue;
    }
    for (const row of rows) held.push(row);
    if (count <= MOST_HELD) continue;
    fixed = await roomy(view, held, width);
    columns = fixed.kept.map((i) => view.columns[i]!);
    yield* aligned(fixed, screen, width);
  }
  if (fixed !== undefined || count === 0) return count;
  const tables = choices(await measured(view, held, 0));
  const drawn = screen.isTTY && count <= MOST_DRAWN;
  const borders = (names: number): number => BORDERS.perColumn * names + BORDERS.end;
  const fitted = drawn ? inBorders(tables, (names) => width - borders(names)) : undefined;
  if (fitted !== undefined) yield await draw(withBars(fitted, screen), screen.style);
  else yield* aligned(inColumns(tables, width, !drawn), screen, width);
  return count;
}

/** With room for rows that are yet to come, where there is any. */
async function roomy<Row>(view: RowsView<Row>, rows: readonly (readonly Cell[])[], width: number): Promise<Table> {
  const table = await measured(view, rows, INT64_WIDTH);
  const isRoomy = fits(table, width);
  return inColumns(choices(isRoomy ? table : await measured(view, rows, 0)), width, true);
}

/** `leastNumber`: how wide a column of numbers is at least. */
async function measured<Row>(
  view: RowsView<Row>,
  rows: readonly (readonly Cell[])[],
  leastNumber: number,
): Promise<Table> {
  const names = view.columns.map(({ name, heading = headingOf(name) }) => visible(heading));
  await prepareWidths(texts(names, rows));
  const widths = names.map((name, i) => {
    const isBar = view.columns[i]?.bar !== undefined;
    const least = isBar ? BAR_COLUMNS : isNumeric(rows, i) ? leastNumber : 0;
    return widest(rows, i, Math.max(least, view.header ? displayWidth(name) : 0));
  });
  const yields = view.columns.map((column) => column.yields);
  const kept = [...names.keys()];
  return { names, rows, widths, yields, kept, header: view.header, follows: false, hasColumns: true };
}

/** Returns the heading for people: `petId` -> `Pet`, `outOfStock` -> `Out of stock`. */
function headingOf(name: string): string {
  return name === 'petId' ? 'Pet' : capital(name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}

function cellsOf<Row>(columns: readonly Column<Row>[], row: Row, { redact, style }: Screen): Cell[] {
  return columns.map((column) => {
    const share = column.bar?.(row);
    if (share !== undefined) return { text: '', numeric: false, share };
    const value = column.cell(row);
    const role = style === PLAIN ? undefined : (column.role?.(row) ?? roleOf(column.name, value));
    if (typeof value === 'string') return { text: visible(redact(value)), numeric: false, role };
    if (column.isSigned !== true) return { text: value.toString(), numeric: true, role };
    return { text: signed(BigInt(value)), numeric: true, role: value > 0 ? 'plus' : value < 0 ? 'minus' : undefined };
  });
}

function* texts(names: readonly string[], rows: readonly (readonly Cell[])[]): Generator<string> {
  yield* names;
  for (const row of rows) for (const { text, numeric } of row) if (!numeric) yield text;
}

/** True for a column of numbers, of which some rows may have none. */
function isNumeric(rows: readonly (readonly Cell[])[], column: number): boolean {
  return rows.some((row) => row[column]?.numeric === true);
}

function widest(rows: readonly (readonly Cell[])[], column: number, least: number): number {
  let width = least;
  for (const row of rows) width = Math.max(width, displayWidth(row[column]?.text ?? ''));
  return width;
}

/** Draws the bars, as long as their columns are wide. */
function withBars(table: Table, { isUnicode }: Screen): Table {
  const isBar = table.names.map((_name, i) => table.rows.some((row) => row[i]?.share !== undefined));
  if (!isBar.includes(true)) return table;
  const drawn = (cell: Cell, i: number): Cell =>
    cell.share === undefined
      ? cell
      : { ...cell, text: bar(...cell.share, table.widths[i] ?? 0, isUnicode), role: 'bar' };
  return { ...table, rows: table.rows.map((row) => row.map(drawn)) };
}

async function draw({ names, rows, widths, header }: Table, style: Style): Promise<string> {
  const { default: CliTable } = await import('cli-table3');
  const standIns = new Placeholders();
  const cut = ({ text, role }: Pick<Cell, 'text' | 'role'>, i: number): string =>
    text === '' || (role === undefined && isAscii(text))
      ? text
      : standIns.put(truncate(text, widths[i] ?? 0), role && style[role]);
  const table = new CliTable({
    head: header ? names.map((text, i) => style.heading(cut({ text }, i))) : [],
    colWidths: widths.map((width) => width + 2),
    colAligns: names.map((_name, i) => (isNumeric(rows, i) ? 'right' : 'left')),
    wordWrap: true,
    // Our own colours only, and no line between rows.
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(row.map(cut));
  // Other texts have no such characters: they are placeholders yet.
  const drawn = table.toString().replace(/[\u2500-\u257f]+/g, (border) => style.muted(border));
  return `${standIns.replace(drawn)}\n`;
}

/**
 * cli-table3 measures with tables of its own, older than some scripts and emoji. A text beyond ASCII, or with a colour,
 * is laid out as so many private-use characters, which all count one column, and put in its place afterwards.
 */
class Placeholders {
  private readonly texts: string[] = [];

  put(text: string, paint: (text: string) => string = String): string {
    const painted = paint(text);
    const index = this.texts.indexOf(painted);
    const code = FIRST_PRIVATE + (index < 0 ? this.texts.push(painted) - 1 : index);
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

function* aligned(table: Table, screen: Screen, width: number): Generator<string> {
  const drawn = withBars(table, screen);
  const lines = table.hasColumns
    ? columns(drawn, screen.style, Number.isFinite(width))
    : listed(drawn, screen.style, width);
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
  const line = (cells: readonly Cell[]): string => {
    let text = '';
    for (let i = 0; i <= last; i++) {
      const { numeric, text: whole, role } = cells[i]!;
      const width = widths[i]!;
      const shown = numeric || !cut ? whole : truncate(whole, width);
      if (i > 0) text += BETWEEN;
      const cell = i === last && !numeric ? shown : padTo(shown, width, numeric ? 'right' : 'left');
      text += role === undefined || shown === '' ? cell : cell.replace(shown, (value) => style[role](value));
    }
    return text;
  };
  if (header && !follows) yield style.heading(line(names.map((text, i) => ({ text, numeric: isNumeric(rows, i) }))));
  for (const row of rows) yield line(row);
}

/** For terminals too narrow for columns. */
function* listed({ names, rows, follows }: Table, style: Style, width: number): Generator<string> {
  for (const [index, row] of rows.entries()) {
    if (index > 0 || follows) yield '';
    for (const [i, { text, numeric, role }] of row.entries()) {
      const name = names[i] === '' ? '' : `${names[i]}: `;
      const line = name + (role === undefined ? text : style[role](text));
      if (line !== '') yield numeric || role !== undefined ? line : wrapLine(line, width, 2);
    }
  }
}
