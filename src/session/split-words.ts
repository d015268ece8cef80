/** A command line as words, without a shell. */
import { Failure } from '../errors.ts';

/**
 * Splits a command at white space, as a shell does: '…' and "…" hold words together, and a backslash takes the next
 * character as it is, except between single quotes. Nothing is expanded.
 * @throws {Failure} `invalid-value`
 */
export function splitWords(command: string): readonly [string, ...string[]] {
  const refuse = (expected: string): Failure =>
    new Failure('invalid-value', { name: 'The key command', value: command, expected });
  const words: string[] = [];
  let rest = command.trim();
  while (rest !== '') {
    const [text] = WORD.exec(rest) ?? [];
    if (text === undefined) throw refuse('a command whose quotes are closed');
    words.push(text.replace(PART, (part, single?: string, double?: string) => single ?? unescape(double ?? part)));
    rest = rest.slice(text.length).trimStart();
  }
  const [program, ...args] = words;
  if (program === undefined || program === '') throw refuse('a program and its arguments');
  // eslint-disable-next-line no-control-regex -- what no program can be started with, and what no one types
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(command)) throw refuse('one line without control characters');
  return [program, ...args];
}

const WORD = /^(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|[^\s'"\\])+(?=\s|$)/;
const PART = /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\[^]/g;

/** Between double quotes a backslash before other characters than these two is one that is meant. */
function unescape(text: string): string {
  return text.length === 2 && text.startsWith('\\') ? text.slice(1) : text.replace(/\\(["\\])/g, '$1');
}
