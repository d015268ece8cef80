/**
 * Renders rows as a table. Collects up to MOST_HELD rows first, so that a table with a bad row prints nothing.
 *
 * On a terminal, cli-table3 draws up to MOST_DRAWN rows with borders (its time grows faster than the number of rows),
 * and texts wrap between words. More rows, and all rows in a pipe, become aligned columns. Numbers are never cut: if
 * nothing else fits, each row becomes lines of `name: value`.
 *
 * Beyond MOST_HELD rows, those fix the widths, with room for any int64, and the rest streams.
 */
import { RawNumber } from '../api/json.ts';
import { BETWEEN, type Cell, choices, fits, inBorders, inColumns, type Table, type TableColumn } from './fit.ts';
import { clockTime } from './progress.ts';
import { capital, signed, visible } from './words.ts';
import { PLAIN, roleOf, type Style } from './style.ts';
import type { Column, RowsView } from './view.ts';
import { bar, displayWidth, isLatin, padTo, prepareWidths, truncate, wrapLine } from './width.ts';

const MOST_DRAWN = 1_000;
const MOST_HELD = 10_000;
/** `-9223372036854775808` */
const INT64_WIDTH = 20;
/** Least width of a text that is cut to make room. */
const LEAST_CUT = 12;
/** Length of a full bar if there is room. */
const BAR_COLUMNS = 20;

export interface Screen {
  /** Epoch ms: a time of today is shown without its date. */
  readonly now: number;
  /** In columns; undefined without a terminal. */
  readonly width: number | undefined;
  readonly style: Style;
  /** Redacts secrets in a text before it is wrapped or cut. */
  readonly redact: (text: string) => string;
}

/** The private-use area of the basic plane. */
const FIRST_PRIVATE = 0xe000;
const LAST_PRIVATE = 0xf8ff;
const PRIVATE_RUN = /([\ue000-\uf8ff])\1*/g;

export async function* renderTable<Row>(view: RowsView<Row>, screen: Screen): AsyncGenerator<string, number> {
  const { width = Number.POSITIVE_INFINITY } = screen;
  const held: Cell[][] = [];
  let fixed: Table | undefined;
  let count = 0;
  for await (const batch of view.rows) {
    count += batch.length;
    const rows = batch.map((row) => cellsOf(view.columns, row, screen));
    if (fixed !== undefined) {
      await prepareWidths(texts(rows));
      yield* aligned({ ...fixed, rows, header: false }, screen, width);
      continue;
    }
    for (const row of rows) held.push(row);
    if (count <= MOST_HELD) continue;
    // Leaves room for the wider numbers of later rows, if it can.
    const roomy = await measured(view, held, INT64_WIDTH);
    fixed = inColumns(choices(fits(roomy, width) ? roomy : await measured(view, held, 0)), width, LEAST_CUT);
    yield* aligned(fixed, screen, width);
  }
  if (fixed !== undefined || count === 0) return count;
  const tables = choices(await measured(view, held, 0));
  const drawn = screen.width !== undefined && count <= MOST_DRAWN;
  const fitted = drawn ? inBorders(tables, width) : undefined;
  if (fitted !== undefined) yield await draw(fitted, screen);
  else yield* aligned(inColumns(tables, width, drawn ? undefined : LEAST_CUT), screen, width);
  return count;
}

/** `leastNumber`: least width of a column of numbers. */
async function measured<Row>(
  view: RowsView<Row>,
  rows: readonly (readonly Cell[])[],
  leastNumber: number,
): Promise<Table> {
  const names = view.columns.map(({ name, heading = headingOf(name) }) => visible(heading));
  await prepareWidths(names);
  await prepareWidths(texts(rows));
  const columns = view.columns.map(({ bar: draws, yields }, place): TableColumn => {
    const isNumber = rows.some((row) => row[place]!.numeric);
    const kind = draws !== undefined ? 'bar' : isNumber ? 'number' : 'text';
    const least = { bar: BAR_COLUMNS, number: leastNumber, text: 0 }[kind];
    let width = Math.max(least, view.header ? displayWidth(names[place]!) : 0);
    for (const row of rows) width = Math.max(width, displayWidth(row[place]!.text));
    return { name: names[place]!, kind, width, yields, place };
  });
  return { columns, rows, header: view.header, hasColumns: true };
}

/** Returns the heading for people: `petId` -> `Pet`, `outOfStock` -> `Out of stock`. */
function headingOf(name: string): string {
  return name === 'petId' ? 'Pet' : capital(name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}

function cellsOf<Row>(columns: readonly Column<Row>[], row: Row, { now, redact, style }: Screen): Cell[] {
  return columns.map((column) => {
    const share = column.bar?.(row);
    if (share !== undefined) return { text: '', numeric: false, share };
    const value = column.cell(row);
    if (value instanceof RawNumber) return { text: value.source, numeric: true };
    if (value instanceof Date) return { text: clockTime(value.getTime(), now), numeric: false };
    const role = style === PLAIN ? undefined : (column.role?.(row) ?? roleOf(column.name, value));
    if (typeof value === 'string') return { text: visible(redact(value)), numeric: false, role };
    if (column.isSigned !== true) return { text: value.toString(), numeric: true, role };
    return { text: signed(BigInt(value)), numeric: true, role: value > 0 ? 'plus' : value < 0 ? 'minus' : undefined };
  });
}

function* texts(rows: readonly (readonly Cell[])[]): Generator<string> {
  for (const row of rows) for (const { text, numeric } of row) if (!numeric) yield text;
}

/** Returns a row's cell of the column, with its bar drawn at the width of the column. */
function cellIn(row: readonly Cell[], { place, width }: TableColumn): Cell {
  const cell = row[place]!;
  return cell.share === undefined ? cell : { ...cell, text: bar(...cell.share, width) };
}

async function draw({ columns, rows, header }: Table, screen: Screen): Promise<string> {
  const { style } = screen;
  const { default: CliTable } = await import('cli-table3');
  const painted: string[] = [];
  const cut = ({ text, role }: Pick<Cell, 'text' | 'role'>, width: number): string =>
    text === '' || (role === undefined && isLatin(text))
      ? text
      : placeholderOf(truncate(text, width), role === undefined ? String : style[role], painted);
  const table = new CliTable({
    head: header ? columns.map(({ name, width }) => style.heading(cut({ text: name }, width))) : [],
    colWidths: columns.map(({ width }) => width + 2),
    colAligns: columns.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
    wordWrap: true,
    // Only our own colours, and no line between rows.
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) table.push(columns.map((column) => cut(cellIn(row, column), column.width)));
  // Only placeholders have such characters.
  const drawn = table.toString().replace(/[\u2500-\u257f]+/g, (border) => style.muted(border));
  return `${drawn.replace(PRIVATE_RUN, (run) => painted[run.charCodeAt(0) - FIRST_PRIVATE] ?? run)}\n`;
}

/**
 * cli-table3's own tables of widths are older than some scripts and emoji. So a text beyond Latin, or with a colour, is
 * laid out as private-use characters, one per column, and replaced afterwards.
 */
function placeholderOf(text: string, paint: (text: string) => string, painted: string[]): string {
  const shown = paint(text);
  const index = painted.indexOf(shown);
  const code = FIRST_PRIVATE + (index < 0 ? painted.push(shown) - 1 : index);
  // Out of placeholders: this text is laid out as well as cli-table3 can.
  return code > LAST_PRIVATE ? text : String.fromCharCode(code).repeat(Math.max(1, displayWidth(text)));
}

/** Most lines that are written at once. */
const LINES = 500;

function* aligned(table: Table, screen: Screen, width: number): Generator<string> {
  const lines = table.hasColumns ? columnLines(table, screen) : listed(table, screen, width);
  // The text of a whole batch would take much memory.
  const piece: string[] = [];
  for (const line of lines) if (piece.push(`${line}\n`) === LINES) yield piece.splice(0).join('');
  if (piece.length > 0) yield piece.join('');
}

/** Yields the heading and the rows. In a pipe nothing is cut, even if a text is wider than its column. */
function* columnLines({ columns, rows, header }: Table, screen: Screen): Generator<string> {
  const { style, width: most } = screen;
  const last = columns.length - 1;
  const line = (cellOf: (column: TableColumn) => Cell): string => {
    let text = '';
    for (let i = 0; i <= last; i++) {
      const { width } = columns[i]!;
      const { numeric, text: whole, role } = cellOf(columns[i]!);
      const shown = numeric || most === undefined ? whole : truncate(whole, width);
      if (i > 0) text += BETWEEN;
      const cell = i === last && !numeric ? shown : padTo(shown, width, numeric ? 'right' : 'left');
      text += role === undefined || shown === '' ? cell : cell.replace(shown, (value) => style[role](value));
    }
    return text;
  };
  if (header) yield style.heading(line(({ kind, name }) => ({ text: name, numeric: kind === 'number' })));
  for (const row of rows) yield line((column) => cellIn(row, column));
}

/** Renders rows as lines of `name: value`, without empty values, for terminals that are too narrow for columns. */
function* listed({ columns, rows }: Table, screen: Screen, width: number): Generator<string> {
  for (const row of rows) {
    for (const column of columns) {
      const { text, numeric, role } = cellIn(row, column);
      const shown = text.trim();
      if (shown === '') continue;
      const label = column.name === '' ? '' : `${column.name}: `;
      const line = label + (role === undefined ? shown : screen.style[role](shown));
      yield numeric || role !== undefined ? line : wrapLine(line, width, 2);
    }
    yield '';
  }
}
