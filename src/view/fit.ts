/** Fits a table to the width of a terminal: narrows its texts, and omits columns that may yield. */
import type { Role } from './style.ts';
import { displayWidth } from './width.ts';

/** Words up to this long are not broken. */
const LONGEST_WORD = 20;
/** Least width of a column of bars. */
const LEAST_BAR = 6;
/** `│ ` before each column and a space after it, `│` at the end. */
const BORDERS = { perColumn: 3, end: 1 };
/** Between columns without borders. */
export const BETWEEN = '  ';

export interface Cell {
  readonly text: string;
  readonly numeric: boolean;
  readonly role?: Role | undefined;
  /** Present for a bar, which has no text until the width of its column is known. */
  readonly share?: readonly [part: bigint, whole: bigint];
}

export interface TableColumn {
  /** The heading; empty for none. */
  readonly name: string;
  readonly kind: 'text' | 'number' | 'bar';
  readonly width: number;
  /** As in `Column`. */
  readonly yields?: number | undefined;
  /** Index of its cell in a row. */
  readonly place: number;
}

export interface Table {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly Cell[])[];
  readonly header: boolean;
  /** False on a terminal that is too narrow for columns: each row becomes lines. */
  readonly hasColumns: boolean;
}

/**
 * Returns the table, then versions of it that omit yielding columns, one more each time, until one is left. The last
 * version omits only that one: the others need not make room for it any more.
 */
export function choices(table: Table): [Table, ...Table[]] {
  const order = table.columns.filter(({ yields }) => yields !== undefined).toSorted((a, b) => a.yields! - b.yields!);
  if (order.length === 0) return [table];
  const omitted = [...order.slice(0, -1).map((_column, count) => order.slice(0, count + 1)), order.slice(-1)];
  const without = (columns: readonly TableColumn[]): Table => {
    return { ...table, columns: table.columns.filter((column) => !columns.includes(column)) };
  };
  return [table, ...omitted.map(without)];
}

/** Returns as much of the table as fits with borders, texts broken between words; undefined if nothing fits. */
export function inBorders(tables: readonly Table[], width: number): Table | undefined {
  for (const table of tables) {
    const room = width - BORDERS.perColumn * table.columns.length - BORDERS.end;
    const fitted = fit(table, room, (column) => narrowest(table, column));
    if (fitted !== undefined) return fitted;
  }
  return undefined;
}

/**
 * Returns as much of the table as fits without borders; no columns if nothing fits.
 * @param leastCut least width of a text that is cut to make room; undefined to cut nothing
 */
export function inColumns(tables: readonly [Table, ...Table[]], width: number, leastCut: number | undefined): Table {
  for (const table of tables) {
    const fitted = fit(table, roomFor(table, width), ({ yields, width: own }) =>
      yields === undefined ? own : (leastCut ?? own),
    );
    if (fitted !== undefined) return fitted;
  }
  const last = tables.at(-1)!;
  const cut = leastCut === undefined ? undefined : fit(last, roomFor(last, width), (column) => narrowest(last, column));
  return cut ?? { ...tables[0], hasColumns: false };
}

/** True if nothing has to be narrowed. */
export function fits(table: Table, width: number): boolean {
  return sum(table.columns.map((column) => column.width)) <= roomFor(table, width);
}

function roomFor({ columns }: Table, width: number): number {
  return width - BETWEEN.length * (columns.length - 1);
}

/** Narrows the widest columns, each down to its least width, until the table fits; undefined if that is not enough. */
function fit(table: Table, width: number, leastOf: (column: TableColumn) => number): Table | undefined {
  const widths = table.columns.map((column) => column.width);
  const least = table.columns.map((column) => Math.min(column.width, leastOf(column)));
  if (sum(widths) > width && sum(least) > width) return undefined;
  while (sum(widths) > width) {
    const narrowable = widths.map((own, i) => (own > least[i]! ? own : 0));
    widths[narrowable.indexOf(Math.max(...narrowable))]! -= 1;
  }
  return { ...table, columns: table.columns.map((column, i) => ({ ...column, width: widths[i]! })) };
}

/** Returns the least width of a column without breaking words. A column of numbers keeps its width. */
function narrowest({ rows }: Table, { kind, name, place, width }: TableColumn): number {
  if (kind !== 'text') return kind === 'bar' ? LEAST_BAR : width;
  const words = [name, ...rows.map((row) => row[place]!.text)].flatMap((text) => text.split(' '));
  return Math.min(
    LONGEST_WORD,
    words.reduce((most, word) => Math.max(most, displayWidth(word)), 0),
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
