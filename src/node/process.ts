/** This process, as little of it as the shortest commands need. */

export const argv: readonly string[] = process.argv.slice(2);

/** Of the terminal that stdout is, in columns; 80 elsewhere. */
export function width(): number {
  return process.stdout.isTTY ? Math.max(process.stdout.columns, 20) : 80;
}

/** Prints and lets the process end. A reader that is gone is no failure, a full disk is one (exit 3). */
export function printAndEnd(text: string): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    process.exitCode = code === 'EPIPE' ? 0 : 3;
  });
  process.stdout.write(text);
}

/** Ends the process; what was written has been handed to the system by then. */
export function exit(code: number): never {
  if (process.getActiveResourcesInfo().some((name) => THREAD_WORK.test(name))) leaveThreads(code);
  process.exit(code);
}

/** Work of Node's thread pool: files and names. */
const THREAD_WORK = /^(FSReq|FileHandle|GetAddrInfo|GetNameInfo)/;
const SIGNALS: Readonly<Record<number, NodeJS.Signals>> = { 129: 'SIGHUP', 130: 'SIGINT', 143: 'SIGTERM' };

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
  const signal = SIGNALS[code];
  if (signal === undefined) return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
