/**
 * Checks the governor's promises against a simulated service's log: with the key to itself, and with faults, while
 * another client uses up the rest of a window; and of many machines with the script that runs on the Redis server.
 * `npm run simulate` replays a seed.
 */
import { expect, it } from 'vitest';
import { simulateChain } from '../simulation/chain.ts';
import { type PolicyName } from '../simulation/policies.ts';
import { CALM, isBroken, type Result, type Scenario, simulate } from '../simulation/simulate.ts';
import { scaled } from '../support/scale.ts';

const EXCLUSIVE: Scenario = { ...CALM, updates: 20 };
const HARD: Scenario = { ...EXCLUSIVE, foreign: 20, skew: 86_400, crash: 0.01 };
const REFUSED: Scenario = { ...CALM, updates: 15, pause: 5, foreign: 40, burst: 40 };

async function each(seeds: number, scenario: Scenario, policy: PolicyName = 'petstore'): Promise<Result[]> {
  const results: Result[] = [];
  for (let seed = 1; seed <= seeds; seed++) results.push(await simulate(scenario, policy, seed));
  return results;
}

/** Seeds for which something is not as promised, to be replayed. */
const seedsOf = (results: readonly Result[], isWrong: (result: Result) => boolean): number[] =>
  results.flatMap((result, i) => (isWrong(result) ? [i + 1] : []));

it.each<readonly [string, number, Scenario]>([
  ['alone with the key: no refusal, nothing lost, 98 % of each window used', 100, EXCLUSIVE],
  ['windows of 3 s', 40, { ...CALM, server: 'short' }],
  ['fault 133: limits of each operation: neither stalls the other', 20, { ...CALM, server: 'per-operation' }],
  ['fault 133: reads and writes counted apart: the same', 20, { ...CALM, server: 'two-counters' }],
])(
  '%s',
  async (_name, seeds, scenario) => {
    const results = await each(scaled(seeds), scenario);
    const windows = results.flatMap(({ shares }) => shares).length;
    expect({
      broken: seedsOf(results, (result) => isBroken(scenario, result)),
      hasWindows: windows > results.length,
    }).toEqual({ broken: [], hasWindows: true });
  },
  300_000,
);

it('alone with the key, with slow handshakes, nothing is refused and each window is used', async () => {
  const results = await each(scaled(60), { ...EXCLUSIVE, connect: 0.1 });
  expect({
    refused: seedsOf(results, ({ refused }) => refused > 0),
    lost: seedsOf(results, ({ lost, undone }) => lost + undone > 0),
    wasteful: seedsOf(results, ({ shares }) => shares.some((share) => share < 0.98)),
  }).toEqual({ refused: [], lost: [], wasteful: [] });
}, 300_000);

// In the last row two machines share a ledger, which is emptied or lost. Its script takes most of the time.
it.each<readonly [string, number, Scenario]>([
  ['a fixed window, a clock a day off, deaths and lost answers', 60, HARD],
  ['a sliding window, the same', 60, { ...HARD, server: 'sliding' }],
  ['a token bucket, the same', 60, { ...HARD, server: 'bucket' }],
  ['fault 113: handshakes are slow', 100, { ...REFUSED, connect: 0.1 }],
  ['fault 113: processes are stopped, and resume', 100, { ...REFUSED, stop: 0.01 }],
  ['fault 115: refusals cannot be written down', 100, { ...REFUSED, unwritable: 0.3 }],
  [
    'faults 113 to 115, all at once, with deaths',
    60,
    { ...REFUSED, connect: 0.1, stop: 0.01, flush: 0.05, unwritable: 0.3, crash: 0.01 },
  ],
])(
  'beside another client, %s: nothing leaves inside a block that its machine knows of, and nothing is lost',
  async (_fault, seeds, scenario) => {
    const results = await each(scaled(seeds), scenario);
    expect({
      broken: seedsOf(results, (result) => isBroken(scenario, result)),
      // The scenario is as hard as it claims to be.
      isHard: results.some(({ refused }) => refused > 0),
    }).toEqual({ broken: [], isHard: true });
  },
);

it.each(['obey-per-process', 'undici-retry', 'local-clock'] as const)('%s strikes: the log sees it', async (policy) => {
  const results = await each(3, EXCLUSIVE, policy);
  expect(results.every(({ strikes, refused }) => strikes > 0 && refused > 0)).toBe(true);
});

it.each([
  ['more than the limit allows', { limit: 60, pause: 20 }],
  ['less than the limit allows', { limit: 300, pause: 60 }],
])('forty machines want %s, and some die: no refusal, and nobody waits for two windows', async (_name, rest) => {
  const { requests, refused, strikes, shares, longestMs } = await simulateChain(
    { shops: 4, terminals: 10, minutes: 6, crash: 0.01, ...rest },
    1,
  );
  expect({ refused, strikes, isShort: longestMs < 2 * 60_000 }).toEqual({ refused: 0, strikes: 0, isShort: true });
  expect(requests).toBeGreaterThan(100);
  expect(Math.min(...shares)).toBeGreaterThan(0.75);
});
