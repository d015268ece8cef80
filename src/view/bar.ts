/** Draws bars of text. */

/** From none to seven eighths of a column. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * Returns a bar whose length in columns is `part` of `whole`, exact to an eighth. Rounded down, so that only the whole
 * fills the columns, but any part above 0 is visible. Empty for 0 or below.
 */
export function bar(part: bigint, whole: bigint, columns: number): string {
  if (part <= 0n || whole <= 0n || columns < 1) return '';
  const most = columns * EIGHTHS.length;
  const length = part >= whole ? most : Math.max(1, Number((part * BigInt(most)) / whole));
  return '█'.repeat(Math.floor(length / EIGHTHS.length)) + EIGHTHS[length % EIGHTHS.length]!;
}

/**
 * Returns a share as text, `72 %`. Never rounds a part to nothing or to the whole: `<1 %`, `>99 %`. Empty if the whole
 * is 0.
 */
export function percent(part: bigint, whole: bigint): string {
  if (whole <= 0n) return '';
  const rounded = (200n * part + whole) / (2n * whole);
  if (rounded === 0n && part > 0n) return '<1 %';
  return rounded === 100n && part < whole ? '>99 %' : `${rounded} %`;
}
