/**
 * Faults around the ledger, while another client uses up the rest of a window at once. The service's log must not have
 * a request inside a block. `npm run simulate` replays a seed.
 */
import { expect, it } from 'vitest';
import { CALM, isBroken, type Scenario, simulate } from '../simulation/simulate.ts';
import { scaled } from '../support/scale.ts';

const REFUSED: Scenario = { ...CALM, updates: 15, pause: 5, foreign: 40, burst: 40 };

async function brokenSeeds(seeds: number, scenario: Scenario): Promise<{ broken: number[]; refused: number }> {
  const broken: number[] = [];
  let refused = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulate(scenario, 'petstore', seed);
    if (isBroken(scenario, result)) broken.push(seed);
    refused += result.refused;
  }
  return { broken, refused };
}

it.each([
  ['fault 113: handshakes are slow', { connect: 0.1 }],
  ['fault 113: processes are stopped, and resume', { stop: 0.01 }],
  ['fault 114: the shared ledger is emptied or lost', { flush: 0.05 }],
  ['fault 115: refusals cannot be written down', { unwritable: 0.3 }],
  [
    'faults 113 to 115, all at once, with deaths',
    { connect: 0.1, stop: 0.01, flush: 0.05, unwritable: 0.3, crash: 0.01 },
  ],
])(
  '%s: nothing leaves inside a block that its machine knows of',
  async (_fault, faults) => {
    const { broken, refused } = await brokenSeeds(scaled(100), { ...REFUSED, ...faults });
    // The scenario is as hard as it claims to be.
    expect({ broken, isHard: refused > 0 }).toEqual({ broken: [], isHard: true });
  },
  120_000,
);

it.each(['per-operation', 'two-counters'] as const)(
  'fault 133: limits of each operation (%s): no refusal, neither stalls the other, each window of the writes is used',
  async (server) => {
    const { broken } = await brokenSeeds(scaled(50), { ...CALM, server });
    expect(broken).toEqual([]);
  },
  120_000,
);
