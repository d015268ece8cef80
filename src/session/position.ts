import { JsonError, parseJson } from '../api/json.ts';

/** Where a text stops being JSON: line and column, both from 1. */
export function jsonPosition(text: string): { line: number; column: number } {
  let at = text.length;
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) at = error.at;
  }
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}
