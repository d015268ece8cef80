/**
 * Machines (separate home folders) import with one key, whose ledger is on a real Redis server that has a fault in the
 * middle of a burst. Four of them, with four faults; `npm run fleet` runs eight of them, with every fault.
 */
import { describe, expect, it } from 'vitest';
import { FAULTS, GONE } from '../fleet/faults.ts';
import { type Fleet, tryFault } from '../fleet/fleet.ts';
import { hasRedis } from '../support/redis.ts';

const isFull = process.env.PETSTORE_FLEET === 'full';
const FLEET: Fleet = isFull
  ? { machines: 8, rows: 20, limit: 40, windowMs: 5_000, lost: 'hold', maxWaitS: 20 }
  : { machines: 4, rows: 12, limit: 20, windowMs: 3_000, lost: 'hold', maxWaitS: 20 };
const NAMES = ['none', 'connections cut', 'restarted empty', GONE.name];

describe.skipIf(!hasRedis).concurrent('machines that share a key on a Redis server', () => {
  it.each([
    ...FAULTS.filter(({ name }) => isFull || NAMES.includes(name)).map((fault) => ({ ...FLEET, fault })),
    ...(isFull ? [{ ...FLEET, lost: 'share' as const, fault: GONE }] : []),
  ])(
    'keep the promise to the key, and are done: $fault.name, $lost',
    async ({ fault, ...fleet }) => {
      const { broken, ended } = await tryFault(fault, fleet);
      expect({ broken, ended: broken.length === 0 ? [] : ended }).toEqual({ broken: [], ended: [] });
    },
    600_000,
  );
});
