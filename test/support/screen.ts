/** Renders output as a terminal finally shows it, and compares it with what is kept. */
import { readFileSync, writeFileSync } from 'node:fs';
import xterm from '@xterm/headless';
import { expect } from 'vitest';

export interface Size {
  readonly cols: number;
  readonly rows: number;
}

/** Part of a line in one style. */
export interface Run {
  readonly text: string;
  /** One of the terminal's sixteen colours; -1 for its default. */
  readonly colour: number;
  /** The background's colour. */
  readonly ground: number;
  readonly bold: boolean;
  readonly dim: boolean;
  /** Text and background colours are swapped. */
  readonly reverse: boolean;
}

/** The style of a terminal's default. */
export const PLAIN = { colour: -1, ground: -1, bold: false, dim: false, reverse: false };

export function textOf(runs: readonly Run[] = []): string {
  return runs.map(({ text }) => text).join('');
}

/** Leaves out the empty lines at the end. */
export function withoutEmptyEnd(lines: readonly Run[][]): Run[][] {
  return lines.slice(0, lines.findLastIndex((runs) => textOf(runs).trim() !== '') + 1);
}

export async function screenOf(output: string, size: Size): Promise<string[]> {
  return withoutEmptyEnd(await runsOf(output, size)).map((runs) => textOf(runs).trimEnd());
}

/** Compares a text with the file that keeps it. `npm run pictures` takes it again. */
export function expectKept(file: string, text: string): void {
  if (process.env.PETSTORE_SCREENS === 'take') writeFileSync(file, text);
  else expect(readFileSync(file, 'utf8'), 'npm run pictures takes it again').toBe(text);
}

export async function runsOf(output: string, size: Size): Promise<Run[][]> {
  const terminal = new xterm.Terminal({ ...size, scrollback: 1_000, allowProposedApi: true });
  await new Promise<void>((resolve) => {
    terminal.write(output, resolve);
  });
  const { active } = terminal.buffer;
  const cell = active.getNullCell();
  return Array.from({ length: active.length }, (_, y) => {
    const line = active.getLine(y);
    const runs: Run[] = [];
    for (let x = 0; x < size.cols; x++) {
      if (line?.getCell(x, cell) === undefined || cell.getWidth() === 0) continue;
      const look = {
        colour: cell.isFgPalette() ? cell.getFgColor() : -1,
        ground: cell.isBgPalette() ? cell.getBgColor() : -1,
        bold: cell.isBold() !== 0,
        dim: cell.isDim() !== 0,
        reverse: cell.isInverse() !== 0,
      };
      const text = cell.getChars() === '' ? ' ' : cell.getChars();
      const last = runs.at(-1);
      if (
        last?.colour === look.colour &&
        last.ground === look.ground &&
        last.bold === look.bold &&
        last.dim === look.dim &&
        last.reverse === look.reverse
      ) {
        runs[runs.length - 1] = { ...last, text: last.text + text };
      } else runs.push({ text, ...look });
    }
    return runs;
  });
}
