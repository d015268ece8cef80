/** Reads many JSON values from one text: an array, or one value per line. */
import { afterSpace, JsonError, type JsonValue, parseJson, readJsonValue } from './json.ts';

/** `line`: where the value begins, from 1. An error in an array is an error of the whole text. */
export type JsonRow = { readonly line: number } & ({ readonly value: JsonValue } | { readonly error: JsonError });

/** Skips a byte order mark and blank lines. */
export function parseJsonRows(text: string): readonly JsonRow[] {
  const plain = text.replace(/^\ufeff/, '');
  if (!/^\s*\[/.test(plain)) {
    return plain.split(/\r?\n/).flatMap((each, i) => (each.trim() === '' ? [] : [parseRow(each, i + 1)]));
  }
  const whole = parseRow(plain, 1);
  if (!('value' in whole) || !Array.isArray(whole.value)) return [whole];
  let [line, from, end] = [1, 0, 0];
  return whole.value.map((value) => {
    // After the bracket, or the comma.
    const start = afterSpace(plain, afterSpace(plain, end) + 1);
    line += plain.slice(from, start).split('\n').length - 1;
    [from, end] = [start, readJsonValue(plain, start).end];
    return { line, value };
  });
}

function parseRow(text: string, line: number): JsonRow {
  try {
    return { line, value: parseJson(text) };
  } catch (error) {
    if (error instanceof JsonError) return { line: line + text.slice(0, error.at).split('\n').length - 1, error };
    throw error;
  }
}
