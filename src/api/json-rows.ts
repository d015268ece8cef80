/** Reads many JSON values from one text: an array, or one value a line. */
import { JsonError, type JsonValue, parseJson } from './json.ts';

export interface JsonRow {
  /** Where it is, from 1: the line, or the entry of the array. */
  readonly at: number;
  readonly value: JsonValue;
}

export interface JsonRows {
  readonly isArray: boolean;
  /** An error in an array is an error of the whole text. */
  readonly rows: readonly (JsonRow | { readonly at: number; readonly error: JsonError })[];
}

/** A byte order mark is skipped, and so are blank lines. */
export function parseJsonRows(text: string): JsonRows {
  const plain = text.replace(/^\ufeff/, '');
  if (!/^\s*\[/.test(plain)) {
    const lines = plain.split(/\r?\n/);
    return { isArray: false, rows: lines.flatMap((line, i) => (line.trim() === '' ? [] : [parseRow(line, i + 1)])) };
  }
  const whole = parseRow(plain, 1);
  const isList = 'value' in whole && Array.isArray(whole.value);
  return { isArray: true, rows: isList ? whole.value.map((value, i) => ({ at: i + 1, value })) : [whole] };
}

function parseRow(text: string, at: number): JsonRows['rows'][number] {
  try {
    return { at, value: parseJson(text) };
  } catch (error) {
    if (error instanceof JsonError) return { at, error };
    throw error;
  }
}
