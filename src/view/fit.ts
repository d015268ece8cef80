/** Fits a table to the width of a terminal: narrows its texts, and leaves out columns that may be left out. */
import type { Role } from './style.ts';
import { displayWidth } from './width.ts';

/** Words up to this long are not broken. */
const LONGEST_WORD = 20;
/** How narrow a column of bars becomes. */
const LEAST_BAR = 6;
/** Between columns without borders. */
export const BETWEEN = '  ';

export interface Cell {
  readonly text: string;
  readonly numeric: boolean;
  readonly role?: Role | undefined;
  /** Of a bar, which has no text until the width of its column is known. */
  readonly share?: readonly [part: bigint, whole: bigint];
}

export interface TableColumn {
  /** Its heading; empty for none. */
  readonly name: string;
  readonly kind: 'text' | 'number' | 'bar';
  readonly width: number;
  /** As in `Column`. */
  readonly yields?: number | undefined;
  /** Which cell of a row is its own. */
  readonly place: number;
}

export interface Table {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly Cell[])[];
  readonly header: boolean;
  /** Rows of it have been shown already. */
  readonly follows: boolean;
  /** False on a terminal too narrow for them. */
  readonly hasColumns: boolean;
}

/**
 * Returns the table, then what is left of it without columns that yield: one more each time, so that the last of them
 * stays; in the end without that one alone, as nothing has to make room for it any more.
 */
export function choices(table: Table): [Table, ...Table[]] {
  const order = table.columns.filter(({ yields }) => yields !== undefined).toSorted((a, b) => a.yields! - b.yields!);
  const fewer = [...order.slice(0, -1).map((_column, count) => order.slice(0, count + 1)), order.slice(-1)];
  return [table, ...fewer.filter(({ length }) => length > 0).map((columns) => without(table, columns))];
}

function without(table: Table, columns: readonly TableColumn[]): Table {
  return { ...table, columns: table.columns.filter((column) => !columns.includes(column)) };
}

/** Returns the most of the table that fits between borders, texts broken between words; undefined where nothing does. */
export function inBorders(tables: readonly Table[], roomFor: (columns: number) => number): Table | undefined {
  for (const table of tables) {
    const fitted = fit(table, roomFor(table.columns.length), (column) => narrowest(table, column));
    if (fitted !== undefined) return fitted;
  }
  return undefined;
}

/**
 * Returns the most of the table that fits as columns without borders; without columns where nothing does.
 * @param leastCut what a text keeps at least that is cut to make room; undefined: nothing is cut
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

/** True when nothing has to be narrowed. */
export function fits(table: Table, width: number): boolean {
  return sum(table.columns.map((column) => column.width)) <= roomFor(table, width);
}

function roomFor({ columns }: Table, width: number): number {
  return width - BETWEEN.length * (columns.length - 1);
}

/** The same table with its widest columns narrowed, each down to its least, until it fits; undefined where that is not enough. */
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

/** Returns how narrow a column can be without breaking words; one of numbers is as wide as it is. */
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
