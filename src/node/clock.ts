/** The Clock port over the system's clocks and timers. */
import { setImmediate as nextRound, setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../ports.ts';
import { BUN, bunDlopen, systemMonotonicMs } from './bun.ts';

/** setTimeout counts in 32 bits and fires at once beyond that. */
const LONGEST_TIMER = 2 ** 31 - 1;

function nodeMonotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/**
 * Milliseconds since the machine was started, of the one clock that its processes share. Node's process.hrtime is that
 * on every system. Bun's counts from the start of its own process, so that no two would agree on when a block in the
 * ledger is over: there, the system is asked for the clock that Node reads, because both may run on one machine.
 */
export const monotonicMs: () => number =
  BUN === undefined ? nodeMonotonicMs : systemMonotonicMs(process.platform, bunDlopen());

export const nodeClock: Clock = {
  now: () => Date.now(),
  monotonic: monotonicMs,
  async sleep(ms, signal) {
    try {
      await wait(Math.min(Math.max(ms, 0), LONGEST_TIMER), undefined, { signal });
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error;
    }
  },
  turn: () => nextRound(),
  alarm(ms, ring) {
    const timer = setTimeout(ring, Math.min(Math.max(ms, 0), LONGEST_TIMER));
    return () => {
      clearTimeout(timer);
    };
  },
};
