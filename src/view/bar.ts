/** Draws bars of text, and decides whether their characters may be Unicode. */
import type { Context } from '../ports.ts';

const FULL = '█';
/** From one to seven eighths of a column. */
const EIGHTHS = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * Returns a bar whose length in columns is `part` of `whole`: exact to an eighth of a column, or in ASCII to one `#`.
 * Rounded down, so that only the whole fills the columns, but any part above 0 is visible. Empty for 0 or below.
 */
export function bar(part: bigint, whole: bigint, columns: number, isUnicode: boolean): string {
  if (part <= 0n || whole <= 0n || columns < 1) return '';
  const most = columns * (isUnicode ? EIGHTHS.length + 1 : 1);
  const length = part >= whole ? most : Math.max(1, Number((part * BigInt(most)) / whole));
  if (!isUnicode) return '#'.repeat(length);
  const rest = length % (EIGHTHS.length + 1);
  return FULL.repeat((length - rest) / (EIGHTHS.length + 1)) + (EIGHTHS[rest - 1] ?? '');
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

/**
 * True if the locale says that the terminal shows Unicode: LC_ALL, else LC_CTYPE, else LANG, where an empty one counts
 * as unset (POSIX.1-2024, 8.2). Always true on Windows and macOS.
 */
export function hasUnicode({ env, machine }: Pick<Context, 'env' | 'machine'>): boolean {
  if (machine.platform === 'win32' || machine.platform === 'darwin') return true;
  const { LC_ALL: all, LC_CTYPE: characters, LANG: language } = env;
  const locale = [all, characters, language].find((each) => each !== undefined && each !== '');
  return /(^|\.)utf-?8(@|$)/i.test(locale ?? 'C');
}
