/** The short version of `npm run fleet`: four machines on one Redis server that fails in several ways. */
import { describe, expect, it } from 'vitest';
import { FAULTS, GONE } from '../fleet/faults.ts';
import { tryFault } from '../fleet/fleet.ts';
import { hasRedis } from '../support/redis.ts';

const FLEET = { machines: 4, rows: 12, limit: 20, windowMs: 3_000, lost: 'hold', maxWaitS: 5 } as const;
const NAMES = ['none', 'connections cut', 'restarted empty'];

describe.skipIf(!hasRedis).concurrent('machines that share a key on a Redis server', () => {
  it.each([GONE, ...FAULTS.filter(({ name }) => NAMES.includes(name))])(
    'keep the promise to the key, and are done: $name',
    async (fault) => {
      const { broken, ended } = await tryFault(fault, FLEET);
      expect({ broken, ended: broken.length === 0 ? [] : ended }).toEqual({ broken: [], ended: [] });
    },
    120_000,
  );
});
