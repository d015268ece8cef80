/** Reads many JSON values from one text: an array, or one value per line. */
import { JsonError, type JsonValue, parseJson } from './json.ts';

/** `line`: where the value begins, from 1. An error in an array is an error of the whole text. */
export type JsonRow = { readonly line: number } & ({ readonly value: JsonValue } | { readonly error: JsonError });

/** Skips a byte order mark and blank lines. */
export function parseJsonRows(text: string): readonly JsonRow[] {
  const plain = text.replace(/^\ufeff/, '');
  if (!/^\s*\[/.test(plain)) {
    return plain.split(/\r?\n/).flatMap((each, i) => (each.trim() === '' ? [] : [parseRow(each, i + 1)]));
  }
  const starts: number[] = [];
  const whole = parseRow(plain, 1, starts);
  if (!('value' in whole) || !Array.isArray(whole.value)) return [whole];
  let [line, end] = [1, plain.indexOf('\n')];
  return whole.value.map((value, i) => {
    for (; end !== -1 && end < starts[i]!; end = plain.indexOf('\n', end + 1)) line++;
    return { line, value };
  });
}

function parseRow(text: string, line: number, starts?: number[]): JsonRow {
  try {
    return { line, value: parseJson(text, starts) };
  } catch (error) {
    if (error instanceof JsonError) return { line: line + text.slice(0, error.at).split('\n').length - 1, error };
    throw error;
  }
}
