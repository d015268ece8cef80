/** A key that a program of the user's prints, a password manager for instance: it is fetched when needed, never stored. */
import { Failure } from '../errors.ts';
import type { ConfigFile } from './config-file.ts';
import type { CommandContext } from './globals.ts';
import { takeKey } from './resolve.ts';

const TIMEOUT_MS = 30_000;

type Needed = Pick<CommandContext, 'machine' | 'notices' | 'runKeyCommand' | 'secrets' | 'signal' | 'stderr'>;

/**
 * Runs the command without a shell, and returns the key that it prints, less one line end. Shows what it writes to
 * stderr: at once on a terminal, where it may ask the user to do something; elsewhere at the end, without the key.
 * @throws {Failure} `key-command`, `key-malformed`; the reason of the command's signal
 */
export async function keyFromCommand(context: Needed, command: string): Promise<string> {
  const { notices, secrets, signal, stderr } = context;
  const words = splitWords(command, context.machine.platform);
  const held: string[] = [];
  const show = (line: string): void => {
    notices.warning(`${words[0]}: ${line}`);
  };
  try {
    const onLine = stderr.isTTY ? show : (line: string): void => void held.push(line);
    const printed = await context.runKeyCommand(words, { command, timeoutMs: TIMEOUT_MS, signal, onLine });
    const key = printed.replace(/\r?\n$/, '');
    if (key === '') throw new Failure('key-command', { command, problem: 'printed no key' });
    // Also one that cannot be sent: it may be more than the key, but not less.
    secrets.add(key);
    return takeKey(context, key, 'the key command');
  } finally {
    held.forEach(show);
  }
}

/** Requires a config file that only the user, or root, can have written. @throws {Failure} `key-command` */
export function assertTrusted({ path, isForeign, isWritableByOthers }: ConfigFile, command: string): void {
  if (!isForeign && !isWritableByOthers) return;
  throw new Failure('key-command', {
    command,
    problem: isForeign
      ? `was not run, because ${path} belongs to another user`
      : `was not run, because other users may change ${path}`,
    isLocal: true,
    hint: isForeign ? `Take it over: chown "$USER" ${path}` : `Make it yours alone: chmod 600 ${path}`,
  });
}

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
