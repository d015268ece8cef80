/** Runs programs of the user: an editor on this terminal, a command that prints a key or receives an alert. */
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import { Failure } from '../errors.ts';
import { errorCode, type CommandOptions, reasonOf } from '../ports.ts';
import { inTime } from '../stop.ts';
import { nodeClock } from './clock.ts';

/** Removes variables that may hold a secret; the user's programs do not need them. */
const SECRETS = { PETSTORE_API_KEY: undefined, PETSTORE_LEDGER: undefined };

/** Passes the path to cmd.exe, which does not expand the value of a variable again. */
const PATH_VARIABLE = 'PETSTORE_EDITED_FILE';

/**
 * Returns the command to open the file. VISUAL or EDITOR may include options, so a shell parses it: sh, or cmd.exe on
 * Windows. The path is never part of the parsed text.
 */
export function editorStart(platform: string, env: NodeJS.ProcessEnv, path: string) {
  const isWindows = platform === 'win32';
  const variable = (['VISUAL', 'EDITOR'] as const).find((name) => (env[name] ?? '') !== '');
  const command = (variable && env[variable]) ?? (isWindows ? 'notepad' : 'vi');
  const own: NodeJS.ProcessEnv = { ...env, ...SECRETS };
  if (isWindows) {
    const args = ['/d', '/s', '/c', `"${command} "%${PATH_VARIABLE}%""`];
    own[PATH_VARIABLE] = path.replaceAll('/', '\\');
    return { variable, command, file: env.ComSpec ?? 'cmd.exe', args, env: own };
  }
  const args = ['-c', `${startOf(command)}${command} "$1"`, 'sh', path];
  return { variable, command, file: '/bin/sh', args, env: own };
}

export async function openEditor(env: NodeJS.ProcessEnv, path: string, signal: AbortSignal): Promise<void> {
  const { variable, command, file, args, env: own } = editorStart(process.platform, env, path);
  await new Promise<void>((resolve, reject) => {
    const fail = (problem: string): void => {
      reject(new Failure('editor', { command, problem, ...(variable !== undefined && { variable }) }));
    };
    // Where stdout is a file or a pipe, it gets data only.
    const stdout = isatty(1) ? 1 : 2;
    // cmd.exe has its own quoting rules.
    const child = spawn(file, args, { stdio: [0, stdout, 2], env: own, signal, windowsVerbatimArguments: true });
    // Ctrl-C and Ctrl-\ reach the editor, too, which may use them for something else.
    const stops = isatty(0) ? process.listeners('SIGINT') : [];
    const ignore = (): void => undefined;
    // Without any listener for a moment, the signal would end petstore.
    if (stops.length > 0) process.on('SIGINT', ignore).on('SIGQUIT', ignore);
    for (const stop of stops) process.off('SIGINT', stop);
    child.on('error', (error: NodeJS.ErrnoException) => {
      // An editor that is being ended still restores the terminal.
      if (!signal.aborted) fail(`could not be run (${error.code ?? error.message})`);
    });
    child.on('close', (code, by) => {
      for (const stop of stops) process.on('SIGINT', stop);
      process.off('SIGINT', ignore).off('SIGQUIT', ignore);
      if (signal.aborted) reject(reasonOf(signal));
      else if (code === 0) resolve();
      else if (by === 'SIGINT') reject(new Failure('interrupted', { signal: by }));
      else if (code === NOT_FOUND) fail('was not found');
      else fail(by === null ? `ended with ${code}` : `was ended by ${by}`);
    });
  });
}

/** Exit code of a shell that cannot find the program. */
const NOT_FOUND = 127;

/**
 * Returns what comes before the command; nothing unless the program's name is plain or quoted. Checks the name, to avoid
 * the shell's own message. The editor takes the place of the shell, so that a signal reaches it.
 */
function startOf(command: string): string {
  const [program = ''] = /^(?:[\w./+-]+|'[^']*'|"[^"$`\\]*")(?=\s|$)/.exec(command.trim()) ?? [];
  if (program === '') return '';
  return `command -v ${program} >/dev/null || exit ${NOT_FOUND}; ${/[;&|\n]/.test(command) ? '' : 'exec '}`;
}

/** Real keys are far shorter. */
const MOST_BYTES = 16 * 1024;
/** How long to wait for output after the program ends, in ms: a child that it left behind may keep the pipe open. */
const GRACE_MS = 200;

export async function runCommand(
  env: NodeJS.ProcessEnv,
  [program, ...args]: readonly [string, ...string[]],
  { timeoutMs, signal, onLine, fail, input }: CommandOptions,
): Promise<string> {
  // At a terminal it stays in our process group, so that it can prompt there; stdin may hold data for petstore.
  const detached = process.platform !== 'win32' && ![0, 1, 2].some((fd) => isatty(fd));
  const stdout = input === undefined ? 'pipe' : 'ignore';
  const child = start(program, args, { stdio: ['pipe', stdout, 'pipe'], env: { ...env, ...SECRETS }, detached }, fail);
  // It may end without reading its input.
  child.stdin?.on('error', () => undefined).end(input ?? '');
  const late = (): Error => fail(`did not end within ${timeoutMs / 1_000} s and was stopped`, false);
  try {
    return await inTime({ clock: nodeClock, timeoutMs, signal }, late, outputOf(child, onLine, fail));
  } finally {
    if (child.exitCode === null && child.signalCode === null) stop(child, detached);
    // Its children may keep these open.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** Node reports some problems with an event, and throws others, such as ENOTDIR. */
function start(program: string, args: string[], options: SpawnOptions, fail: CommandOptions['fail']): ChildProcess {
  try {
    return spawn(program, args, options);
  } catch (error) {
    throw notStarted(error, fail);
  }
}

function notStarted(error: unknown, fail: CommandOptions['fail']): Error {
  const code = errorCode(error);
  return fail(code === 'ENOENT' ? 'was not found' : `could not be run (${code ?? String(error)})`, true);
}

/** Kills the program; with a process group of its own, also the programs that it started. */
function stop({ pid }: ChildProcess, isGroup: boolean): void {
  if (pid === undefined) return;
  try {
    process.kill(isGroup ? -pid : pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

function outputOf(
  child: ChildProcess,
  onLine: CommandOptions['onLine'],
  fail: CommandOptions['fail'],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (piece: Buffer) => {
      pieces.push(piece);
      size += piece.length;
      if (size > MOST_BYTES) reject(fail(`printed more than ${MOST_BYTES} bytes`, false));
    });
    if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', onLine);
    child.on('error', (error) => {
      reject(notStarted(error, fail));
    });
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (code === 0) resolve(Buffer.concat(pieces).toString('utf8'));
      // Ctrl-C reaches all programs on the terminal, and the child may end before we get the signal.
      else if (signal === 'SIGINT') reject(new Failure('interrupted', { signal }));
      else reject(fail(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`, false));
    };
    child.on('close', end);
    child.on('exit', (code, signal) => setTimeout(end, GRACE_MS, code, signal).unref());
  });
}
