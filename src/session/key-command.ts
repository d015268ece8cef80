/** Runs the command that prints the API key. */
import { Failure } from '../errors.ts';
import type { ConfigFile } from './config-file.ts';
import type { CommandContext } from './globals.ts';
import { shellWord } from './run-commands.ts';

const TIMEOUT_MS = 30_000;

/**
 * Runs the command without a shell, and returns the key that it prints, without its line end or the BOM of PowerShell.
 * Shows what it writes to stderr: at once on a terminal, where it may prompt the user; otherwise at the end, without the
 * key.
 * @throws {Failure} `key-command`; the reason of the command's signal
 */
export async function keyFromCommand(
  context: Omit<CommandContext, 'target'>,
  command: string,
  words: readonly [string, ...string[]],
): Promise<string> {
  const { notices, secrets, signal, stderr } = context;
  const held: string[] = [];
  const show = (line: string): void => {
    notices.warning(`${words[0]}: ${line}`);
  };
  try {
    const onLine = stderr.isTTY ? show : (line: string): void => void held.push(line);
    const fail = (problem: string, isLocal: boolean): Failure =>
      new Failure('key-command', { command, problem, isLocal });
    const printed = await context.runCommand(words, { timeoutMs: TIMEOUT_MS, signal, onLine, fail });
    const key = printed.replace(/^\ufeff|\r?\n$/g, '');
    if (key === '') throw new Failure('key-command', { command, problem: 'printed no key' });
    // Even a key that cannot be sent: it may contain the real one.
    secrets.add(key);
    return key;
  } finally {
    held.forEach(show);
  }
}

/** Requires a config file that only the user or root can write. @throws {Failure} `key-command` */
export function assertTrusted({ path, isForeign, isWritableByOthers }: ConfigFile, command: string): void {
  const refuse = (why: string, hint: string): Failure =>
    new Failure('key-command', { command, problem: `was not run, because ${why}`, isLocal: true, hint });
  if (isForeign) throw refuse(`${path} belongs to another user`, `Take it over: sudo chown "$USER" ${shellWord(path)}`);
  if (isWritableByOthers)
    throw refuse(`other users may change ${path}`, `Make it yours alone: chmod 600 ${shellWord(path)}`);
}
