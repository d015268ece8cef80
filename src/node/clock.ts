/** The Clock port: the clocks and timers of this process. */
import { setImmediate as nextRound, setTimeout as wait } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../duration.ts';
import type { Clock } from '../ports.ts';
import { BUN, type Dlopen, systemMonotonicMs } from './bun.ts';

/**
 * Returns ms since the machine was started, from the one clock that all its processes share. Node's process.hrtime is
 * that clock on every system. Bun's starts with its own process, so two processes would disagree about when a block in
 * the ledger ends. On Bun we therefore ask the system for the clock that Node reads: both may run on one machine.
 */
const monotonicMs: () => number =
  BUN === undefined
    ? () => Number(process.hrtime.bigint() / 1_000n) / 1_000
    : systemMonotonicMs(process.platform, (process.getBuiltinModule('bun:ffi') as { readonly dlopen: Dlopen }).dlopen);

export const nodeClock: Clock = {
  now: () => Date.now(),
  monotonic: monotonicMs,
  async sleep(ms, signal) {
    try {
      await wait(Math.min(Math.max(ms, 0), LONGEST_TIMER_MS), undefined, { signal });
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error;
    }
  },
  turn: () => nextRound(),
  alarm(ms, ring) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      const isLong = left > LONGEST_TIMER_MS;
      timer = isLong ? setTimeout(arm, LONGEST_TIMER_MS, left - LONGEST_TIMER_MS) : setTimeout(ring, Math.max(left, 0));
    };
    arm(ms);
    return () => {
      clearTimeout(timer);
    };
  },
};
