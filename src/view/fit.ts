/** Fits a table to the width of a terminal: narrows its texts, and leaves out columns that may be left out. */
import type { Role } from './style.ts';
import { displayWidth } from './width.ts';

/** Words up to this long are not broken. */
const LONGEST_WORD = 20;
/** How narrow a column of bars becomes. */
const LEAST_BAR = 6;
/** A text that is cut to make room keeps at least this many columns. */
const LEAST_CUT = 12;
/** Between columns without borders. */
export const BETWEEN = '  ';

export interface Cell {
  readonly text: string;
  readonly numeric: boolean;
  readonly role?: Role | undefined;
  /** Of a bar, which has no text until the width of its column is known. */
  readonly share?: readonly [part: bigint, whole: bigint];
}

export interface Table {
  readonly names: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly widths: readonly number[];
  /** As in `Column`. */
  readonly yields: readonly (number | undefined)[];
  /** Which columns of the view these are. */
  readonly kept: readonly number[];
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
  const order = [...table.yields.keys()]
    .filter((i) => table.yields[i] !== undefined)
    .sort((a, b) => table.yields[a]! - table.yields[b]!);
  const before = order.slice(0, -1);
  const narrower = [...before.map((_column, count) => before.slice(0, count + 1)), order.slice(-1)];
  return [table, ...narrower.filter(({ length }) => length > 0).map((columns) => without(table, columns))];
}

function without(table: Table, columns: readonly number[]): Table {
  const { names, rows, widths, yields, kept } = table;
  const left = [...names.keys()].filter((i) => !columns.includes(i));
  const of = <T>(values: readonly T[]): T[] => left.map((i) => values[i]!);
  return { ...table, names: of(names), rows: rows.map(of), widths: of(widths), yields: of(yields), kept: of(kept) };
}

/** Returns the most of the table that fits between borders, texts broken between words; undefined where nothing does. */
export function inBorders(tables: readonly Table[], roomFor: (columns: number) => number): Table | undefined {
  for (const table of tables) {
    const fitted = fit(table, roomFor(table.names.length), wordsOf(table));
    if (fitted !== undefined) return fitted;
  }
  return undefined;
}

/** Returns the most of the table that fits as columns without borders; without columns where nothing does. */
export function inColumns(tables: readonly [Table, ...Table[]], width: number, mayCut: boolean): Table {
  for (const table of tables) {
    const least = table.widths.map((own, i) =>
      mayCut && table.yields[i] !== undefined ? Math.min(own, LEAST_CUT) : own,
    );
    const fitted = fit(table, roomFor(table, width), least);
    if (fitted !== undefined) return fitted;
  }
  const last = tables.at(-1)!;
  const cut = mayCut ? fit(last, roomFor(last, width), wordsOf(last)) : undefined;
  return cut ?? { ...tables[0], hasColumns: false };
}

/** True when nothing has to be narrowed. */
export function fits(table: Table, width: number): boolean {
  return sum(table.widths) <= roomFor(table, width);
}

function roomFor({ names }: Table, width: number): number {
  return width - BETWEEN.length * (names.length - 1);
}

/** The same table with its widest columns narrowed, down to `least`, until it fits; undefined where that is not enough. */
function fit(table: Table, width: number, least: readonly number[]): Table | undefined {
  if (sum(table.widths) <= width) return table;
  if (sum(least) > width) return undefined;
  const widths = [...table.widths];
  while (sum(widths) > width) {
    const narrowable = widths.map((own, i) => (own > (least[i] ?? 0) ? own : 0));
    widths[narrowable.indexOf(Math.max(...narrowable))]! -= 1;
  }
  return { ...table, widths };
}

/** Returns how narrow each column can be without breaking words. */
function wordsOf(table: Table): number[] {
  return table.widths.map((own, i) => Math.min(own, narrowest(table, i)));
}

/** The longest word of a text column; a column of numbers is as wide as it is. */
function narrowest({ names, rows }: Table, column: number): number {
  if (rows.some((row) => row[column]?.share !== undefined)) return LEAST_BAR;
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
