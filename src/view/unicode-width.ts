/** Measures texts beyond Latin. Separate from width.ts, because its tables take as long to load as everything else. */
import stringWidth from 'string-width';

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Caches widths: lists repeat their texts, and measuring takes as long as hundreds of look-ups. */
const known = new Map<string, number>();
const MOST_KNOWN = 10_000;

export function wideWidth(text: string): number {
  let width = known.get(text);
  if (width === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    width = stringWidth(text);
    known.set(text, width);
  }
  return width;
}

/** Splits a text into what readers see as characters, with combining marks and emoji sequences whole. */
export function graphemes(text: string): string[] {
  return Array.from(segments.segment(text), ({ segment }) => segment);
}
