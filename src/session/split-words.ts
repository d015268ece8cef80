/** A command line as words, without a shell. */
import { Failure } from '../errors.ts';

/**
 * Splits a command at white space, as a shell does: '…' and "…" hold words together, and a backslash takes the next
 * character as it is, except between single quotes and on Windows, where paths have it. Nothing is expanded.
 * @throws {Failure} `invalid-value`
 */
export function splitWords(command: string, platform = ''): readonly [string, ...string[]] {
  const { word, part, unescape } = platform === 'win32' ? WINDOWS : POSIX;
  const refuse = (expected: string): Failure =>
    new Failure('invalid-value', { name: 'The key command', value: command, expected });
  const words: string[] = [];
  let rest = command.trim();
  while (rest !== '') {
    const [text] = word.exec(rest) ?? [];
    if (text === undefined) throw refuse('a command whose quotes are closed');
    words.push(text.replace(part, (part, single?: string, double?: string) => single ?? unescape(double ?? part)));
    rest = rest.slice(text.length).trimStart();
  }
  const [program, ...args] = words;
  if (program === undefined || program === '') throw refuse('a program and its arguments');
  // eslint-disable-next-line no-control-regex -- what no program can be started with, and what no one types
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(command)) throw refuse('one line without control characters');
  return [program, ...args];
}

interface Quoting {
  /** One word at the start of a text. */
  readonly word: RegExp;
  /** What is quoted, or escaped, in a word. */
  readonly part: RegExp;
  readonly unescape: (text: string) => string;
}

const POSIX: Quoting = {
  word: /^(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|[^\s'"\\])+(?=\s|$)/,
  part: /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\[^]/g,
  // Between double quotes a backslash before other characters than these two is one that is meant.
  unescape: (text) => (text.length === 2 && text.startsWith('\\') ? text.slice(1) : text.replace(/\\(["\\])/g, '$1')),
};
const WINDOWS: Quoting = {
  word: /^(?:'[^']*'|"[^"]*"|[^\s'"])+(?=\s|$)/,
  part: /'([^']*)'|"([^"]*)"/g,
  unescape: (text) => text,
};
