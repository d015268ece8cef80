/** Widths of texts beyond ASCII. Apart from width.ts because its tables take as long to load as all the rest. */
import stringWidth from 'string-width';

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export function wideWidth(text: string): number {
  return stringWidth(text);
}

/** What a reader takes for one character, combining marks and emoji sequences whole. */
export function graphemes(text: string): string[] {
  return Array.from(segments.segment(text), ({ segment }) => segment);
}
