/** The API key: what may be sent, how it is shown, and the words of a command that prints it. */
import { Failure } from '../errors.ts';

/** Returns a key as it may be shown: enough to tell two apart, too little to use one. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}

/**
 * A key travels in a header: visible ASCII only (RFC 6750 allows less, the service shows no form).
 * @throws {Failure} `key-malformed`, which never holds the key
 */
export function checkKey(key: string, source: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  const problem = keyProblem(key);
  throw new Failure('key-malformed', { source, problem, ...(problem === UTF_16 && { hint: 'Save it as UTF-8.' }) });
}

/** Takes a key that was typed, piped in or fetched: from then on it is redacted. @throws {Failure} `key-malformed` */
export function takeKey(
  context: { readonly secrets: { add(secret: string): void } },
  key: string,
  source: string,
): string {
  checkKey(key, source);
  context.secrets.add(key);
  return key;
}

const UTF_16 = 'looks like UTF-16';

function keyProblem(key: string): string {
  // Every other byte is 0, or the text begins with the mark of UTF-16, which is not valid UTF-8.
  if (/^\ufffd\ufffd|\0[^]\0|^[^]\0$/.test(key)) return UTF_16;
  if (key === '') return 'is empty';
  if (/[\r\n]/.test(key)) return 'holds a line break';
  return /\s/.test(key) ? 'holds white space' : 'holds a character that is not plain ASCII';
}

/**
 * Splits a command at white space, as a shell does: '…' and "…" hold words together, and a backslash takes the next
 * character as it is, except between single quotes and on Windows, where paths have it. Nothing is expanded.
 * @throws {Failure} `invalid-value`
 */
export function splitWords(command: string, platform = '', name = 'The key command'): readonly [string, ...string[]] {
  const { word, part, unescape } = platform === 'win32' ? WINDOWS : POSIX;
  const refuse = (expected: string): Failure => new Failure('invalid-value', { name, value: command, expected });
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

/** `word`: one at the start of a text. `part`: what is quoted, or escaped, in it. */
const POSIX = {
  word: /^(?:'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^]|[^\s'"\\])+(?=\s|$)/,
  part: /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\[^]/g,
  // Between double quotes a backslash before other characters than these two is one that is meant.
  unescape: (text: string): string =>
    text.length === 2 && text.startsWith('\\') ? text.slice(1) : text.replace(/\\(["\\])/g, '$1'),
};
const WINDOWS = {
  word: /^(?:'[^']*'|"[^"]*"|[^\s'"])+(?=\s|$)/,
  part: /'([^']*)'|"([^"]*)"/g,
  unescape: (text: string): string => text,
};
