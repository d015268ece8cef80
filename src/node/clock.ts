/** The Clock port over the system's clocks and timers. */
import { setImmediate as nextRound, setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../ports.ts';

/** setTimeout counts in 32 bits and fires at once beyond that. */
const LONGEST_TIMER = 2 ** 31 - 1;

export const nodeClock: Clock = {
  now: () => Date.now(),
  // Counts from the start of the machine, so that all processes agree on when a block in the ledger is over.
  monotonic: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
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
