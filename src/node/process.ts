/** Minimal access to this process for the shortest commands, which load nothing else. */
import { fstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { EXIT } from '../errors.ts';

// A file that may not grow (`ulimit -f`) then fails a write with EFBIG; the signal would end the process.
process.on('SIGXFSZ', () => undefined);

export const argv: readonly string[] = process.argv.slice(2);

/** Width of the terminal in columns, at least 20; 80 if stdout is not one, or does not know its width. */
export function width(): number {
  return Math.max(process.stdout.columns || 80, 20);
}

export const { env } = process;

export function isTerminal(): boolean {
  return process.stdout.isTTY;
}

/** Prints a text longer than the terminal through PAGER or less, as git does; any other text directly. */
export function pageOrPrint(text: string): void {
  const { PAGER: pager = process.platform === 'win32' ? '' : 'less', TERM } = env;
  const isLong = process.stdout.isTTY && text.split('\n').length > (process.stdout.rows || 24);
  if (!isLong || TERM === 'dumb' || ['', 'cat'].includes(pager.trim())) {
    printAndEnd(text);
    return;
  }
  // Leave Ctrl-C to the pager.
  process.on('SIGINT', () => undefined);
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const own = { LESS: 'FRX', ...env, PETSTORE_API_KEY: undefined, PETSTORE_LEDGER: undefined };
  const isShell = env.PAGER !== undefined;
  const ended = spawnSync(pager, { shell: isShell, input: text, stdio: ['pipe', 'inherit', 'inherit'], env: own });
  // less is missing, or the shell did not find the pager. A shell ends by Ctrl-C once its less has ended.
  if (ended.signal === null && (ended.status ?? 127) === 127) printAndEnd(text);
}

/** Prints and lets the process end. A closed pipe is not a failure; a full disk or a closed stdout is. */
export function printAndEnd(text: string): void {
  const fail = ({ code = '' }: NodeJS.ErrnoException): void => {
    process.exitCode = code === 'EPIPE' ? EXIT.ok : EXIT.local;
    if (process.exitCode === EXIT.local) process.stderr.write(`error: The output could not be written (${code}).\n`);
  };
  process.stdout.on('error', fail);
  const closed = closedStdout();
  if (closed !== undefined) fail(closed);
  else process.stdout.write(text);
}

/** The device number of Linux's /dev/null. */
const NULL_DEVICE = (1 << 8) | 3;

/** Programs that give their children their own stdout, or a redirected one as shells do. */
const PASSES_ON =
  /^((ba|da|a|z|k|mk|ya|fi|c|tc)?sh[0-9.-]*|busybox|timeout|flock|sudo|su|make|xargs|crond?|anacron|atd)$/;

/**
 * Returns an error if stdout was closed when the program was started, as with `>&-`, as far as Linux shows. Node then
 * opens /dev/null for reading and writing in its place, so writes never fail. `> /dev/null` opens it for writing only;
 * but Python, Node and daemons open it for both, so the parent must be a program that does not.
 */
export function closedStdout(): NodeJS.ErrnoException | undefined {
  try {
    if (process.platform !== 'linux' || fstatSync(1).rdev !== NULL_DEVICE) return undefined;
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8')) ?? [];
    const parent = `/proc/${starter()}`;
    const isClosed =
      // O_RDWR among the bits of O_ACCMODE.
      (Number.parseInt(flags, 8) & 3) === 2 &&
      PASSES_ON.test(basename(readlinkSync(`${parent}/exe`))) &&
      statSync(`${parent}/fd/1`, { throwIfNoEntry: false })?.rdev !== NULL_DEVICE;
    return isClosed ? Object.assign(new Error('closed'), { code: 'EBADF' }) : undefined;
  } catch {
    // The parent belongs to another user, is gone or outside this container, or /proc is hidden.
    return undefined;
  }
}

/** Returns the process that started petstore: our parent, or that of an older Node in between (bin/petstore.js). */
function starter(): string {
  const { channel, ppid } = process;
  if (channel == null) return String(ppid);
  return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${ppid}/status`, 'utf8'))?.[1] ?? '';
}

/** Ends the process. All output must already have been handed to the system. */
export function exit(code: number): never {
  if (process.getActiveResourcesInfo().some((name) => THREAD_WORK.test(name))) leaveThreads(code);
  // Older releases of Node abort in process.exit() if the terminal is gone (nodejs/node#58200).
  if (code === EXIT.SIGHUP && !('execve' in process) && [0, 1, 2].some(mayBeTerminal)) endBySignal('SIGHUP');
  process.exit(code);
}

/**
 * True for a terminal, also one that is gone; false for /dev/null, a file or a pipe. Always true on Windows, where a
 * console is not reported as a device.
 */
export function mayBeTerminal(fd: number): boolean {
  if (process.platform === 'win32') return true;
  try {
    const found = fstatSync(fd);
    return found.isCharacterDevice() && found.rdev !== statSync('/dev/null').rdev;
  } catch {
    return false;
  }
}

/** Work of Node's thread pool: files and name lookups. */
const THREAD_WORK = /^(FSReq|FileHandle|GetAddrInfo|GetNameInfo)/;
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Ends the process without waiting for its threads. process.exit() waits, and a name server that does not answer or a
 * file system that hangs may hold up a thread for minutes. Replacing the process by another program ends them all; so
 * does a signal, which a shell reports with the same code.
 */
function leaveThreads(code: number): void {
  try {
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    // Available since Node 22.15.
    process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  } catch {
    // Signals have another way below; other codes do not.
  }
  const signal = SIGNALS.find((name) => EXIT[name] === code);
  if (signal !== undefined) endBySignal(signal);
}

/** Sends the signal to this process. On Windows, where that would end it at once, calls the listeners instead. */
export function signalSelf(signal: NodeJS.Signals): void {
  if (process.platform === 'win32') process.emit(signal, signal);
  else process.kill(process.pid, signal);
}

/** Does nothing on Windows, where a process can end only with a code. */
export function endBySignal(signal: NodeJS.Signals): void {
  if (process.platform === 'win32') return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
