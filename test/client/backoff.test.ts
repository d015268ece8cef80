/** Waits before another attempt: full jitter, doubled each time, capped. */
import { expect, it } from 'vitest';
import { backoffMs, longestBackoffMs } from '../../src/client/retry.ts';

it.each([
  [1, 500],
  [2, 1_000],
  [3, 2_000],
  [4, 4_000],
  [5, 8_000],
  [6, 16_000],
  [7, 20_000],
  [8, 20_000],
  [2_000, 20_000],
])('after attempt %i: from 0 to %i ms', (attempt, longest) => {
  const waits = [0, 0.25, 0.5].map((chance) => backoffMs(attempt, () => chance));
  expect([longestBackoffMs(attempt), ...waits]).toEqual([longest, 0, longest / 4, longest / 2]);
});
