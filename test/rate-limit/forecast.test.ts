/** How long requests will have to wait: what bulk runs, watches, `--max-wait` and the proxy ask. */
import { expect, it } from 'vitest';
import { decide, forecast, type LedgerState, observe, UNKNOWN } from '../../src/rate-limit/governor.ts';
import type { LimitHeaders } from '../../src/rate-limit/headers.ts';

const OPERATION = 'GET /inventory';
const ask = { id: 'a', operation: OPERATION, reserve: 0, maxWaitMs: 0, timeoutMs: 30_000 };

/** After one answer at time 0. */
function after(headers: LimitHeaders, status = 200): LedgerState {
  return observe(decide(UNKNOWN, 0, ask).state, 0, { ...ask, status, headers, random: 0 });
}

const windowOf = (limit: number, remaining: number, resetInMs: number, lengthMs?: number): LimitHeaders => ({
  window: { limit, remaining, resetInMs, ...(lengthMs !== undefined && { lengthMs }) },
});

it.each([
  ['within what is left: at once', windowOf(60, 20, 30_000), { count: 10 }, undefined],
  ['with a reserve', windowOf(60, 20, 30_000), { count: 16, reserve: 5 }, 30_000],
  ['one more window', windowOf(60, 20, 30_000), { count: 80 }, 30_000],
  ['and another one', windowOf(60, 20, 30_000), { count: 81 }, 90_000],
  ['in windows of an hour', windowOf(100, 0, 3_600_000), { count: 200 }, 7_200_000],
  ['in windows of a named length', windowOf(10, 0, 1_000, 2_000), { count: 30 }, 5_000],
  ['without limit headers: one a second', {}, { count: 10 }, 10_000],
  ['a share of plenty, evenly', windowOf(60, 60, 60_000), { share: 0.5 }, 2_000],
  ['a share of little', windowOf(60, 4, 60_000), { share: 0.5 }, 30_000],
  ['a share of next to nothing: the next window', windowOf(60, 1, 60_000), { share: 0.5 }, 60_000],
] as const)('%s', (_name, headers, demand, until) => {
  expect(forecast(after(headers), 0, { operation: OPERATION, reserve: 0, ...demand })?.until).toBe(until);
});

it('a block counts before all else', () => {
  const state = after({ ...windowOf(60, 20, 30_000), retryAfterMs: 90_000 }, 429);
  expect(forecast(state, 0, { operation: OPERATION, reserve: 0, count: 30 })).toEqual({
    until: 91_000,
    why: 'rate-limited',
  });
});

it('nothing is known: nothing has to wait', () => {
  expect(forecast(UNKNOWN, 0, { operation: OPERATION, reserve: 0, count: 100, share: 0.5 })).toBeUndefined();
});

it.each([0, 60_000, Number.POSITIVE_INFINITY])('a ban is refused, with %s ms to wait', (maxWaitMs) => {
  const state = after({ retryAfterMs: 60_000 }, 403);
  expect(decide(state, 1, { ...ask, maxWaitMs }).decision).toMatchObject({
    do: 'refuse',
    why: 'banned',
    until: 61_000,
  });
});
