import { describe, expect, it } from 'vitest';
import { stateSize } from '../../src/doctor/local.ts';
import type { Files } from '../../src/ports.ts';

const DAY = 86_400_000;

function sizeWith(sizes: Readonly<Record<string, number>>, globals = { keepHistory: 730 * DAY }): Promise<string> {
  const facts = (path: string) => {
    const size = sizes[path];
    return Promise.resolve(
      size === undefined
        ? undefined
        : { kind: 'file' as const, mode: 0o600, size, owner: 0, accessedAt: 0, modifiedAt: 0 },
    );
  };
  const list = () => Promise.resolve(Object.keys(sizes).flatMap((path) => /^\/s\/reports\/(.*)/.exec(path)?.[1] ?? []));
  return stateSize({ files: { facts, list } as unknown as Files, globals }, '/s');
}

describe('the size of the state', () => {
  it.each<[Readonly<Record<string, number>>, string]>([
    [{}, 'The database takes 0 kB, its log 0 kB, 0 reports 0 kB.'],
    [{ '/s/state.db': 1 }, 'The database takes 1 kB, its log 0 kB, 0 reports 0 kB.'],
    [
      { '/s/state.db': 12_340_000, '/s/state.db-wal': 1_000_000, '/s/reports/import-1.csv': 2_001 },
      'The database takes 12.4 MB, its log 1 MB, 1 report 3 kB.',
    ],
    [
      { '/s/state.db': 999_000, '/s/reports/import-1.csv': 500, '/s/reports/import-2.csv': 500 },
      'The database takes 999 kB, its log 0 kB, 2 reports 1 kB.',
    ],
  ])('%j', async (sizes, says) => {
    expect(await sizeWith(sizes)).toBe(`${says} History is kept for 730 days.`);
  });

  it.each([
    [Number.POSITIVE_INFINITY, 'History is kept forever.'],
    [DAY, 'History is kept for 24 h.'],
  ])('kept for %d ms', async (keepHistory, says) => {
    expect(await sizeWith({}, { keepHistory })).toContain(says);
  });
});
