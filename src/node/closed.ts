/** Whether stdout was closed when the program was started, as `>&-` does. */
import { errorCode } from '../ports.ts';
import { fstatSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The device number of Linux's /dev/null. */
const NULL_DEVICE = (1 << 8) | 3;

/** Programs that run others with the stdout that they have themselves, or as a shell's redirection says. */
const PASSES_ON =
  /^((ba|da|a|z|k|mk|ya|fi|c|tc)?sh[0-9.-]*|busybox|timeout|flock|sudo|su|make|xargs|crond?|anacron|atd)$/;

/**
 * Returns true where it was closed, as far as Linux tells. Node puts /dev/null in its place, open for reading and
 * writing, so nothing that is written fails. `> /dev/null` is open for writing alone; but Python, Node and daemons
 * open it for both. So the parent has to tell: its own stdout is closed, or it is a program that opens no /dev/null.
 */
export function isStdoutClosed(): boolean {
  try {
    if (process.platform !== 'linux' || !isNullForBoth('self')) return false;
    // 0: it is not to be seen from this container; 1: the parent is gone.
    if (process.ppid <= 1) return false;
    const parent = String(process.ppid);
    if (!hasStdout(parent)) return true;
    return PASSES_ON.test(basename(readlinkSync(`/proc/${parent}/exe`))) && !isNullForBoth(parent);
  } catch {
    // Another user's process, or /proc is hidden.
    return false;
  }
}

function isNullForBoth(pid: string): boolean {
  if (pid === 'self' ? fstatSync(1).rdev !== NULL_DEVICE : readlinkSync(`/proc/${pid}/fd/1`) !== '/dev/null')
    return false;
  const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/1`, 'utf8')) ?? [];
  // O_RDWR among the bits of O_ACCMODE.
  return (Number.parseInt(flags, 8) & 3) === 2;
}

function hasStdout(pid: string): boolean {
  try {
    readlinkSync(`/proc/${pid}/fd/1`);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
