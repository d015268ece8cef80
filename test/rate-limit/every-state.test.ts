/** Checks every state within bounds, not only random ones. `npm run simulate -- every-state --faults 1` tries more. */
import { expect, it } from 'vitest';
import { SCENARIOS, search } from './every-state.ts';

it.each(Object.entries(SCENARIOS))(
  'nothing leaves inside a wait, and none is stuck: %s',
  (_name, bounds) => {
    const { states, transitions, violation } = search(bounds);
    process.stdout.write(`${states} states, ${transitions} transitions\n`);
    const path = violation?.path.map(({ name }) => name);
    expect({ what: violation?.what, path, isLarge: states > 1_000 }).toEqual({ isLarge: true });
  },
  300_000,
);
