/** Checks the governor's four promises against a simulated service's log. `npm run simulate` replays a seed. */
import { expect, it } from 'vitest';
import { QUOTAS } from '../simulation/quota.ts';
import { type PolicyName } from '../simulation/policies.ts';
import { CALM, type Result, type Scenario, simulate } from '../simulation/simulate.ts';
import { scaled } from '../support/scale.ts';

const EXCLUSIVE: Scenario = { ...CALM, updates: 20 };
const HARD: Scenario = { ...EXCLUSIVE, foreign: 20, skew: 86_400, crash: 0.01 };

async function each(seeds: number, scenario: Scenario, policy: PolicyName = 'petstore'): Promise<Result[]> {
  const results: Result[] = [];
  for (let seed = 1; seed <= seeds; seed++) results.push(await simulate(scenario, policy, seed));
  return results;
}

/** Seeds for which something is not as promised, to be replayed. */
const seedsOf = (results: readonly Result[], isBroken: (result: Result) => boolean): number[] =>
  results.flatMap((result, i) => (isBroken(result) ? [i + 1] : []));

it('alone with the key, eight clients are never refused, lose nothing, and use at least 98 % of each window', async () => {
  const results = await each(scaled(400), EXCLUSIVE);
  expect({
    refused: seedsOf(results, ({ refused }) => refused > 0),
    strikes: seedsOf(results, ({ strikes, unknowing }) => strikes + unknowing > 0),
    lost: seedsOf(results, ({ lost, undone }) => lost + undone > 0),
    wasteful: seedsOf(results, ({ shares }) => shares.some((share) => share < 0.98)),
    windows: results.flatMap(({ shares }) => shares).length > results.length,
  }).toEqual({ refused: [], strikes: [], lost: [], wasteful: [], windows: true });
}, 300_000);

it('alone with the key, with slow handshakes, nothing is refused and each window is used', async () => {
  const results = await each(scaled(100), { ...EXCLUSIVE, connect: 0.1 });
  expect({
    refused: seedsOf(results, ({ refused }) => refused > 0),
    lost: seedsOf(results, ({ lost, undone }) => lost + undone > 0),
    wasteful: seedsOf(results, ({ shares }) => shares.some((share) => share < 0.98)),
  }).toEqual({ refused: [], lost: [], wasteful: [] });
}, 300_000);

it.each(QUOTAS)(
  'beside another client, with a clock a day off, deaths and lost answers: no strike, nothing lost (%s)',
  async (server) => {
    const results = await each(scaled(60), { ...HARD, server });
    expect({
      strikes: seedsOf(results, ({ strikes }) => strikes > 0),
      lost: seedsOf(results, ({ lost, undone }) => lost + undone > 0),
      // The scenario is as hard as it claims to be: some are refused.
      refused: results.some(({ refused }) => refused > 0),
    }).toEqual({ strikes: [], lost: [], refused: true });
  },
  120_000,
);

it.each(['obey-per-process', 'undici-retry', 'local-clock'] as const)('%s strikes: the log sees it', async (policy) => {
  const results = await each(3, EXCLUSIVE, policy);
  expect(results.every(({ strikes, refused }) => strikes > 0 && refused > 0)).toBe(true);
});

it('the same seed gives the same log', async () => {
  const [first] = await each(1, HARD);
  const [second] = await each(1, HARD);
  expect(second).toEqual(first);
});
