/** Makes text from outside safe to show: escapes everything that a terminal might obey. */
import { UNSAFE } from '../api/json.ts';

const ASCII = /^[ -~]*$/;

/** Replaces each unsafe character by `\x1b`, `\u202e` or `\u{e0001}`. */
export function visible(text: string): string {
  if (ASCII.test(text)) return text;
  return text.replace(UNSAFE, escaped);
}

/** Like `visible`, but keeps line feeds: for our own text. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}
