/** This process, as little of it as the shortest commands need. */
import { fstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { EXIT } from '../errors.ts';

export const argv: readonly string[] = process.argv.slice(2);

/** Of the terminal that stdout is, in columns; 80 elsewhere. */
export function width(): number {
  return process.stdout.isTTY ? Math.max(process.stdout.columns, 20) : 80;
}

export const { env } = process;

export function isTerminal(): boolean {
  return process.stdout.isTTY;
}

/** Prints what is longer than the terminal through PAGER, or less, as git does; without one as any other text. */
export function pageOrPrint(text: string): void {
  const { PAGER: pager = process.platform === 'win32' ? '' : 'less', TERM } = env;
  const isLong = process.stdout.isTTY && text.split('\n').length > process.stdout.rows;
  if (!isLong || TERM === 'dumb' || ['', 'cat'].includes(pager.trim())) {
    printAndEnd(text);
    return;
  }
  // Ctrl-C is for the pager.
  process.on('SIGINT', () => undefined);
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const own = { LESS: 'FRX', ...env, PETSTORE_API_KEY: undefined, PETSTORE_LEDGER: undefined };
  const isShell = env.PAGER !== undefined;
  const { status } = spawnSync(pager, { shell: isShell, input: text, stdio: ['pipe', 'inherit', 'inherit'], env: own });
  // There is no less, or a shell does not find the program.
  if (status === null || status === 127) printAndEnd(text);
}

/** Prints and lets the process end. A reader that has gone is not a failure; a full disk or a closed stdout is. */
export function printAndEnd(text: string): void {
  const fail = ({ code = '' }: NodeJS.ErrnoException): void => {
    process.exitCode = code === 'EPIPE' ? EXIT.ok : EXIT.local;
    if (process.exitCode === EXIT.local) process.stderr.write(`error: The output could not be written (${code}).\n`);
  };
  process.stdout.on('error', fail);
  if (isStdoutClosed()) fail(Object.assign(new Error('closed'), { code: 'EBADF' }));
  else process.stdout.write(text);
}

/** The device number of Linux's /dev/null. */
const NULL_DEVICE = (1 << 8) | 3;

/** Programs that run others with the stdout that they have themselves, or as a shell's redirection says. */
const PASSES_ON =
  /^((ba|da|a|z|k|mk|ya|fi|c|tc)?sh[0-9.-]*|busybox|timeout|flock|sudo|su|make|xargs|crond?|anacron|atd)$/;

/**
 * Returns true where stdout was closed when the program was started, as `>&-` does, as far as Linux tells. Node puts
 * /dev/null in its place, open for reading and writing, so nothing that is written fails. `> /dev/null` is open for
 * writing alone; but Python, Node and daemons open it for both, so the parent has to be a program that does not.
 */
export function isStdoutClosed(): boolean {
  try {
    if (process.platform !== 'linux' || fstatSync(1).rdev !== NULL_DEVICE) return false;
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8')) ?? [];
    // O_RDWR among the bits of O_ACCMODE.
    if ((Number.parseInt(flags, 8) & 3) !== 2) return false;
    const parent = `/proc/${starter()}`;
    if (!PASSES_ON.test(basename(readlinkSync(`${parent}/exe`)))) return false;
    return statSync(`${parent}/fd/1`, { throwIfNoEntry: false })?.rdev !== NULL_DEVICE;
  } catch {
    // Another user's process, one that is gone or outside of this container, or /proc is hidden.
    return false;
  }
}

/** Returns the process that has started petstore: the parent of an older Node that has handed on to this one (bin/petstore.js). */
function starter(): string {
  const { channel, ppid } = process;
  if (channel == null) return String(ppid);
  return /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${ppid}/status`, 'utf8'))?.[1] ?? '';
}

/** Resolves once the event loop has come round. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Ends the process; what was written has been handed to the system by then. */
export function exit(code: number): never {
  if (process.getActiveResourcesInfo().some((name) => THREAD_WORK.test(name))) leaveThreads(code);
  // Node's older releases abort in process.exit() where the terminal has gone (nodejs/node#58200).
  if (code === EXIT.SIGHUP && !('execve' in process) && [0, 1, 2].some(isTerminalFile)) endBySignal('SIGHUP');
  process.exit(code);
}

/** True also for a terminal that has gone. */
function isTerminalFile(fd: number): boolean {
  try {
    const found = fstatSync(fd);
    return found.isCharacterDevice() && found.rdev !== statSync('/dev/null').rdev;
  } catch {
    return false;
  }
}

/** Work of Node's thread pool: files and names. */
const THREAD_WORK = /^(FSReq|FileHandle|GetAddrInfo|GetNameInfo)/;
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/**
 * Ends the process without its threads. process.exit() waits for them, and one may be held up for minutes by a name
 * server that does not answer or by a file system that hangs. Another program in this one's place ends all of them;
 * so does a signal, which a shell reports with the same code.
 */
function leaveThreads(code: number): void {
  try {
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    // Node has it from 22.15 on.
    process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {});
  } catch {
    // There is another way for signals, and none for the rest.
  }
  const signal = SIGNALS.find((name) => EXIT[name] === code);
  if (signal !== undefined) endBySignal(signal);
}

/** Sends the signal to this process. Windows has none: there it would end at once, and Node calls the listeners. */
export function signalSelf(signal: NodeJS.Signals): void {
  if (process.platform === 'win32') process.emit(signal, signal);
  else process.kill(process.pid, signal);
}

/** Does nothing on Windows, where a process can only end with a code. */
function endBySignal(signal: NodeJS.Signals): void {
  if (process.platform === 'win32') return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Keeps Node's warnings that contain the text from being printed, until the returned function is called. */
export function muteWarnings(text: string): () => void {
  const emit = process.emitWarning;
  process.emitWarning = (...all: [warning: string | Error, ...rest: unknown[]]) => {
    if (!String(all[0]).includes(text)) Reflect.apply(emit, process, all);
  };
  return () => {
    process.emitWarning = emit;
  };
}
