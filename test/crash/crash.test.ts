import { expect, it } from 'vitest';
import { scaled } from '../support/scale.ts';
import { crash } from './crash.ts';

/** `PETSTORE_CRASHES=1000 npm test -- test/crash` makes it 1,000. */
const kills = Number(process.env.PETSTORE_CRASHES ?? scaled(25));

it.each(['quantity', 'delta'] as const)(
  `faults 90, 100: imports of a %s, undos, redos and single updates that are killed ${kills} times, beside another client, lose, repeat and overwrite nothing`,
  { timeout: 3_600_000 },
  async (column) => {
    const figures = await crash(kills, 1, column);
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ kills, lost: 0, repeated: 0, overwritten: 0, broken: [] });
    expect(figures.imports).toBeGreaterThan(0);
  },
);
