/**
 * Values of the inventory: parses and checks exact integers, and lists the fields of an item.
 * A pet's id is an int64 (service spec, part 2) and is a bigint everywhere in the program.
 * The spec does not give the range of a quantity, so it is an integer of any size.
 */

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** The fields of an item in the contract, in its order. */
export const ITEM_FIELDS = ['petId', 'quantity', 'status'] as const;
export type ItemField = (typeof ITEM_FIELDS)[number];

export function isOneOf<T extends string>(known: readonly T[], text: string): text is T {
  return known.some((each) => each === text);
}

const CANONICAL_INTEGER = /^(?:0|-?[1-9][0-9]*)$/;
/** Most digits of an integer: far beyond any stock, so that a hostile or pasted text does not take quadratic time. */
export const MAX_DIGITS = 40;

/**
 * Parses a canonical decimal integer: no plus sign, leading zero, fraction, exponent, space or hex.
 * Undefined for anything else.
 */
export function parseInteger(text: string): bigint | undefined {
  if (text.length > MAX_DIGITS || !CANONICAL_INTEGER.test(text)) return undefined;
  return BigInt(text);
}

/** Parses a canonical decimal int64; undefined for anything else. */
export function parseInt64(text: string): bigint | undefined {
  const value = parseInteger(text);
  return value !== undefined && value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}

/** Returns the text, or its first characters and `…` if it has more of them. */
export function shortened(text: string, most: number): string {
  // Not all characters of a text of millions.
  const start = Array.from(text.slice(0, 2 * most + 2));
  return start.length > most ? `${start.slice(0, most).join('')}…` : text;
}

/** True for one line of text, trimmed within the limit, without control characters, lone surrogates and bidi marks. */
export function isLine(text: string, most: number): boolean {
  // First the length: a pattern on a text of millions of characters may end in a RangeError.
  const isShort = text.length <= 2 * most && Array.from(text.trim()).length <= most;
  return isShort && /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]+$/u.test(text) && text.trim() !== '';
}
