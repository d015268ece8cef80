/** Text from elsewhere as text to look at: whatever a terminal might obey is shown escaped. */
import { UNSAFE } from '../api/json.ts';

const ASCII = /^[ -~]*$/;

/** `\x1b`, `\u202e`, `\u{e0001}` in place of each such character. */
export function visible(text: string): string {
  if (ASCII.test(text)) return text;
  return text.replace(UNSAFE, escaped);
}

/** Text of our own that has lines: line feeds stay. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}
