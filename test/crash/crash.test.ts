import { expect, it } from 'vitest';
import { scaled } from '../support/scale.ts';
import { crash } from './crash.ts';
import { crashDays } from './day.ts';

/** `PETSTORE_CRASHES=1000 npm test -- test/crash` makes it 1,000. */
const kills = Number(process.env.PETSTORE_CRASHES ?? scaled(25));

it.each(['quantity', 'delta'] as const)(
  `faults 90, 100: imports of a %s and undos that are killed ${kills} times, beside another client, lose, repeat and overwrite nothing`,
  { timeout: 3_600_000 },
  async (column) => {
    const figures = await crash(kills, 1, column);
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ kills, lost: 0, repeated: 0, overwritten: 0, broken: [] });
    expect(figures.imports).toBeGreaterThan(0);
  },
);

const killsOfDays = Number(process.env.PETSTORE_CRASHES ?? scaled(12));

it(
  `a clerk's days that are killed ${killsOfDays} times: each change once, with its cause and its person`,
  { timeout: 3_600_000 },
  async () => {
    const figures = await crashDays(killsOfDays, 1);
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ kills: killsOfDays, broken: [] });
    expect(figures.changes).toBeGreaterThan(0);
  },
);
