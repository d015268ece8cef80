/** Paragraphs and lists of terms for a screen of so many columns. */
import { wrapLine } from '../../view/wrap.ts';

/** Beside its term a description needs so much room; on a narrower screen it goes below. */
const BESIDE = 60;
/** A longer term has its description below it. */
const LONGEST_TERM = 31;
/** Wider lines are hard to read. */
const WIDEST = 100;

export function paragraphs(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, Math.min(width, WIDEST), /^ */.exec(line)![0].length))
    .join('\n');
}

export type Term = readonly [term: string, text: string];

/** How wide the column of terms is, for several lists, one below the other. */
export function widestOf(items: readonly Term[]): number {
  return Math.max(0, ...items.map(([term]) => term.length).filter((length) => length <= LONGEST_TERM));
}

/** Each term with what it means, side by side where there is room. */
export function terms(items: readonly Term[], width: number, widest = widestOf(items)): string {
  const columns = Math.min(width, WIDEST);
  const margin = 2 + widest + 2;
  return items
    .map(([term, text]) => {
      if (columns < BESIDE) return `  ${term}\n${paragraphs(`      ${text}`, columns)}`;
      if (term.length > widest) return `  ${term}\n${wrapLine(' '.repeat(margin) + text, columns, margin)}`;
      return wrapLine(`  ${term.padEnd(widest)}  ${text}`, columns, margin);
    })
    .join('\n');
}

/** Each command line with its comment beside it, or above it where that is too wide. */
export function beside(items: readonly Term[], width: number): string {
  const widest = Math.max(0, ...items.map(([command]) => command.length));
  const lines = items.map(([command, comment]) => `  ${command.padEnd(widest)}  ${comment}`);
  if (lines.every((line) => line.length <= width)) return lines.join('\n');
  return paragraphs(items.map(([command, comment]) => `  ${comment}\n  ${command}`).join('\n'), width);
}
