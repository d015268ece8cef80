/** A program of the user's that prints a key. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { Failure } from '../errors.ts';
import { errorCode, type KeyCommandOptions } from '../ports.ts';
import { SECRETS } from './editor.ts';
import { inTime } from './in-time.ts';

/** No key is near this long. */
const MOST_BYTES = 16 * 1024;
/** How long its output may be on its way after it has ended, ms: a program that it has left behind may keep it open. */
const GRACE_MS = 200;

export async function runKeyCommand(
  env: NodeJS.ProcessEnv,
  [program, ...args]: readonly [string, ...string[]],
  { command, timeoutMs, signal, onLine }: KeyCommandOptions,
): Promise<string> {
  const fail = (problem: string, isLocal = false): Failure => new Failure('key-command', { command, problem, isLocal });
  // At a terminal it stays in this process's group, so that it can ask there; stdin may hold data for petstore.
  const detached = process.platform !== 'win32' && ![0, 1, 2].some((fd) => isatty(fd));
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...env, ...SECRETS }, detached });
  const late = (): Failure => fail(`did not end within ${timeoutMs / 1_000} s and was stopped`);
  try {
    return await inTime({ timeoutMs, signal }, late, () => outputOf(child, onLine, fail));
  } finally {
    if (child.exitCode === null && child.signalCode === null) stop(child, detached);
    // Its own children may keep them open.
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Ends the program, and those that it has started where they have a group of their own. */
function stop({ pid }: ChildProcess, isGroup: boolean): void {
  if (pid === undefined) return;
  try {
    process.kill(isGroup ? -pid : pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

function outputOf(
  child: ChildProcessByStdio<null, Readable, Readable>,
  onLine: (line: string) => void,
  fail: (problem: string, isLocal?: boolean) => Failure,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (piece: Buffer) => {
      pieces.push(piece);
      size += piece.length;
      if (size > MOST_BYTES) reject(fail(`printed more than ${MOST_BYTES} bytes`));
    });
    createInterface({ input: child.stderr }).on('line', onLine);
    child.on('error', (error) => {
      const code = errorCode(error);
      reject(fail(code === 'ENOENT' ? 'was not found' : `could not be run (${code ?? error.message})`, true));
    });
    const end = (code: number | null, signal: NodeJS.Signals | null): void => {
      if (code === 0) resolve(Buffer.concat(pieces).toString('utf8'));
      // Ctrl-C goes to all programs on the terminal, and this news may come before the signal itself.
      else if (signal === 'SIGINT') reject(new Failure('interrupted', { signal }));
      else reject(fail(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`));
    };
    child.on('close', end);
    child.on('exit', (code, signal) => setTimeout(end, GRACE_MS, code, signal).unref());
  });
}
