/** How many columns a text takes on a terminal. */
import stringWidth from 'string-width';

const ASCII = /^[\x20-\x7e]*$/;
const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export function displayWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** The text cut to at most so many columns, with `…` where something is missing. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = '';
  let width = 0;
  for (const { segment } of segments.segment(text)) {
    width += displayWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function padTo(text: string, columns: number, side: 'left' | 'right'): string {
  const padding = ' '.repeat(Math.max(0, columns - displayWidth(text)));
  return side === 'left' ? text + padding : padding + text;
}
