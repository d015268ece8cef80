/** Long lines of people's text, broken between words where a terminal is narrow. */
import { displayWidth } from './width.ts';

/** A line is never made narrower than that for the sake of its margin. */
const LEAST = 24;

/** What follows the first piece of a line begins `margin` columns in. A word that is too long stays whole. */
export function wrapLine(line: string, width: number, margin: number): string {
  if (displayWidth(line) <= width) return line;
  const rest = ' '.repeat(width - margin < LEAST ? 2 : margin);
  const [, indent = '', text = ''] = /^( *)(.*)$/.exec(line) ?? [];
  // Columns in the head of a line stay as they are.
  const [head, ...words] =
    indent.length < margin ? [line.slice(0, margin), ...line.slice(margin).split(' ')] : [rest, ...text.split(' ')];
  const lines: string[] = [];
  let current = head;
  let isBegun = false;
  for (const word of words) {
    const longer = isBegun ? `${current} ${word}` : `${current}${word}`;
    if (displayWidth(longer) > width && (isBegun || current.length > rest.length)) {
      lines.push(current.trimEnd());
      current = `${rest}${word}`;
    } else current = longer;
    isBegun = true;
  }
  return [...lines, current].join('\n');
}
