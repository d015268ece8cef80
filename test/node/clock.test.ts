/** Alarms that are further away than Node's longest timer. */
import { afterEach, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../src/duration.ts';
import { nodeClock } from '../../src/node/clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('an alarm in 60 days rings then, and not before', () => {
  vi.useFakeTimers();
  const ring = vi.fn();
  nodeClock.alarm(60 * DAY_MS, ring);
  vi.advanceTimersByTime(60 * DAY_MS - 1);
  expect(ring).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledOnce();
});

it('an alarm in 60 days can be cancelled on day 50', () => {
  vi.useFakeTimers();
  const cancel = nodeClock.alarm(60 * DAY_MS, vi.fn());
  vi.advanceTimersByTime(50 * DAY_MS);
  cancel();
  expect(vi.getTimerCount()).toBe(0);
});
