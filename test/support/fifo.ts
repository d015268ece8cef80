/** Makes FIFOs, waits until a process is ready for a signal, and tells how a process is. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Home } from './home.ts';

/** Makes a FIFO in the home folder, with no program at either end. */
export function makeFifo({ path }: Home, name = 'fifo'): string {
  const fifo = join(path, name);
  execFileSync('mkfifo', [fifo]);
  return fifo;
}

const SIGHUP = 1n;

/**
 * Resolves once the process has installed its signal handlers: before that, a signal ends any program. proc(5) shows
 * them as SigCgt. Node has its own handlers for INT and TERM, and petstore's handler for HUP comes last.
 */
export async function catchesSignals({ pid }: { readonly pid: number }): Promise<void> {
  for (;;) {
    const [, mask = '0'] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    if ((BigInt(`0x${mask}`) & SIGHUP) !== 0n) return;
    await wait(5);
  }
}

/** Returns the state of a process, a letter of proc(5): Z once it has ended, `gone` once its parent has noticed that. */
export function stateOf(pid: number): string {
  try {
    return /\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '';
  } catch {
    return 'gone';
  }
}
