/** Builds words for sentences from numbers and names, and makes text from outside safe to show. */
import { UNSAFE } from '../api/json.ts';

/** `1 pet`, `2 pets`. */
export function plural(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** `+2`, `-2`, `0`. */
export function signed(by: bigint): string {
  return by > 0n ? `+${by}` : `${by}`;
}

/**
 * Returns a share as text, `72 %`. Never rounds a part to nothing or to the whole: `<1 %`, `>99 %`. Empty if the whole
 * is 0.
 */
export function percent(part: bigint, whole: bigint): string {
  if (whole <= 0n) return '';
  const rounded = (200n * part + whole) / (2n * whole);
  if (rounded === 0n && part > 0n) return '<1 %';
  return rounded === 100n && part < whole ? '>99 %' : `${rounded} %`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `pet 7`, or `pet 7 (Goldfish)`. */
export function petLabel(petId: bigint, name = ''): string {
  return name === '' ? `pet ${petId}` : `pet ${petId} (${name})`;
}

/** `Pet 7 (Goldfish): 10 → 12 (+2)`. */
export function changeWords(
  { petId, before, after }: { petId: bigint; before: bigint; after: bigint },
  name?: string,
): string {
  return `${capital(petLabel(petId, name))}: ${before} → ${after} (${signed(after - before)})`;
}

/** `7, 12 and more`: at most ten of them. */
export function firstFew(texts: readonly unknown[]): string {
  return `${texts.slice(0, 10).join(', ')}${texts.length > 10 ? ' and more' : ''}`;
}

const ASCII = /^[ -~]*$/;

/** Replaces each unsafe character by `\x1b`, `\u202e` or `\u{e0001}`. */
export function visible(text: string): string {
  return ASCII.test(text) ? text : text.replace(UNSAFE, escaped);
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
