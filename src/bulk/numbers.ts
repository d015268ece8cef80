/** Parses the numbers of a file. What a spreadsheet has reformatted is refused with the step that repairs it. */
import { MAX_DIGITS, parseInt64, parseInteger } from '../api/values.ts';
import { type ColumnName, shown } from './columns.ts';

/** Returns why the text is refused, if it is not exactly such a number. */
export function parseNumber(column: ColumnName, text: string): bigint | string {
  const value = column === 'petId' ? parseInt64(text) : parseInteger(text);
  return value ?? `${column} is ${shown(text)}${problemOf(column, text)}`;
}

function problemOf(column: ColumnName, text: string): string {
  const isId = column === 'petId';
  if (text.length > MAX_DIGITS && /^[+-]?[0-9]+$/.test(text)) {
    return `, which has ${text.length} characters, and a number has at most ${MAX_DIGITS}`;
  }
  if (/^[+-]?[0-9]+([.,][0-9]+)?E[+-]?[0-9]+$/i.test(text)) {
    return isId
      ? ': a spreadsheet has shortened the id, and its last digits are lost; copy it from the source again, as text'
      : ': format the column as a number without decimals and without an exponent';
  }
  if (/^[+-]?[0-9]{1,3}([.,'\u2019\s][0-9]{3})+$/.test(text)) return ': remove the thousands separator';
  if (/^[+-]?[0-9]+[.,][0-9]+$/.test(text)) return ': format the column as a number without decimals';
  if (/^[+-]?0[0-9]+$/.test(text)) return ': remove the leading zeros';
  if (isId && parseInteger(text) !== undefined) return ', but ids go up to 9223372036854775807';
  if (isId) return ', but must be a whole number, such as 7';
  return `, but must be a whole number${column === 'current' ? ', or empty' : ''}`;
}
