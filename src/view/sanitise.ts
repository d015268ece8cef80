/** Text from elsewhere as text to look at: whatever a terminal might obey is shown escaped. */

// C0, DEL, C1; bidi marks, overrides and isolates; invisible format characters and line separators; tag
// characters; lone surrogates. ZWJ and ZWNJ stay: names and emoji need them.
const UNSAFE =
  // eslint-disable-next-line no-control-regex -- control characters are the point
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

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
