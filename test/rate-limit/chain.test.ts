/** Many machines with one key, using the script that runs on the Redis server. */
import { expect, it } from 'vitest';
import { simulateChain } from '../simulation/chain.ts';

const WINDOW_MS = 60_000;

it.each([
  ['more than the limit allows', { limit: 60, pause: 20 }],
  ['less than the limit allows', { limit: 300, pause: 60 }],
])('forty machines want %s, and some die: no refusal, and nobody waits for two windows', async (_name, rest) => {
  const { requests, refused, strikes, shares, longestMs } = await simulateChain(
    { shops: 4, terminals: 10, minutes: 6, crash: 0.01, ...rest },
    1,
  );
  expect({ refused, strikes, isShort: longestMs < 2 * WINDOW_MS }).toEqual({ refused: 0, strikes: 0, isShort: true });
  expect(requests).toBeGreaterThan(100);
  expect(Math.min(...shares)).toBeGreaterThan(0.75);
});
