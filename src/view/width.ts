/** Measures texts in columns of the terminal, fits them into a width, and draws bars. */

/** Latin letters and signs, each a column wide; not the soft hyphen, which has none. */
const LATIN = /^[\x20-\x7e\xa1-\xac\xae-\u024f]*$/;

/** True if each character is one column wide, so that no tables are needed. */
export function isLatin(text: string): boolean {
  return LATIN.test(text);
}

/** Its tables take as long to load as everything else. */
let stringWidth: typeof import('string-width').default | undefined;

/** Loads the tables for texts beyond Latin ones if needed. Must be called with all texts before they are measured. */
export async function prepareWidths(texts: Iterable<string>): Promise<void> {
  if (stringWidth !== undefined || Array.from(texts).every(isLatin)) return;
  ({ default: stringWidth } = await import('string-width'));
}

/** Caches widths: lists repeat their texts, and measuring takes as long as hundreds of look-ups. */
const known = new Map<string, number>();
const MOST_KNOWN = 10_000;

export function displayWidth(text: string): number {
  if (stringWidth === undefined || isLatin(text)) return text.length;
  let width = known.get(text);
  if (width === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    width = stringWidth(text);
    known.set(text, width);
  }
  return width;
}

/** Splits a text into what readers see as characters, with combining marks and emoji sequences whole. */
function graphemes(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

let segmenter: Intl.Segmenter | undefined;

/** Cuts the text to at most this many columns, marked with `…`; not within a number, which would look like another one. */
export function truncate(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = isLatin(text) ? text.slice(0, columns - 1) : '';
  let width = kept.length;
  for (const character of isLatin(text) ? text.slice(width) : graphemes(text.slice(width))) {
    width += displayWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${/^\d/.test(text.slice(kept.length)) ? kept.replace(/-?\d+$/, '') : kept}…`;
}

/** Returns the first text that fits, or what fits of the last. */
export function fitting(texts: readonly string[], columns: number): string {
  return texts.find((text) => displayWidth(text) <= columns) ?? truncate(texts.at(-1) ?? '', columns);
}

export function padTo(text: string, columns: number, side: 'left' | 'right'): string {
  const length = columns + text.length - displayWidth(text);
  return side === 'left' ? text.padEnd(length) : text.padStart(length);
}

/** Least room for text after the margin. */
const LEAST = 24;

/** Wraps a line. The pieces after the first are indented by `margin` columns. A word that is too long stays whole. */
export function wrapLine(line: string, width: number, margin: number): string {
  if (displayWidth(line) <= width) return line;
  const rest = ' '.repeat(width - margin < LEAST ? Math.min(2, margin) : margin);
  const [, indent = '', text = ''] = /^( *)(.*)$/.exec(line) ?? [];
  // Keeps the spacing at the start of a line.
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
