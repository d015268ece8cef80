import { describe, expect, it } from 'vitest';
import { judge, type Sample } from './growth.ts';

/** Twelve samples, one a second, the first three in the warm-up. */
function samples(of: (i: number) => Readonly<Record<string, number>>): Sample[] {
  return Array.from({ length: 12 }, (_, i) => ({ at: i * 1_000, values: { changes: 100 * i, ...of(i) } }));
}

const failing = (of: (i: number) => Readonly<Record<string, number>>): string[] =>
  judge(samples(of), 3_000)
    .filter(({ isGood }) => !isGood)
    .map(({ name }) => name);

describe('what grows in a long run', () => {
  it.each([
    ['stays the same', () => ({ 'proxy: memory': 80e6, 'proxy: handles': 30, 'log of state.db': 1e6 })],
    ['grows in the warm-up', (i: number) => ({ 'proxy: memory': i < 3 ? 10e6 : 80e6 })],
    ['has one high sample', (i: number) => ({ 'proxy: handles': i === 11 ? 500 : 30 })],
    ['grows with the work', (i: number) => ({ 'state.db': 4e6 + 100 * i * 450, reports: 100 * i * 60 })],
  ])('passes where it %s', (_what, of) => {
    expect(failing(of)).toEqual([]);
  });

  it.each([
    ['memory', (i: number) => ({ 'proxy: memory': 80e6 + i * 10e6 }), 'proxy: memory'],
    ['handles', (i: number) => ({ 'watch: handles': 20 + 8 * i }), 'watch: handles'],
    ['the log', () => ({ 'log of state.db': 9e6 }), 'log of state.db'],
    ['the database', (i: number) => ({ 'state.db': 1e6 * i }), 'state.db'],
    ['the reports', (i: number) => ({ reports: 1e6 * i }), 'reports'],
  ])('fails where %s grow beyond the bound', (_what, of, name) => {
    expect(failing(of)).toEqual([name]);
  });

  it('says nothing of what has no bound, and refuses too few samples', () => {
    expect(
      judge(
        samples(() => ({})),
        3_000,
      ),
    ).toEqual([]);
    expect(() =>
      judge(
        samples(() => ({})),
        6_000,
      ),
    ).toThrow('too few');
  });
});
