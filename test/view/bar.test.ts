import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bar } from '../../src/view/width.ts';
import { percent } from '../../src/view/words.ts';

const HUGE = 10n ** 40n;

describe('a bar', () => {
  it.each([
    [10n, 10n, 4, '████'],
    [5n, 10n, 4, '██'],
    [1n, 10n, 4, '▍'],
    [9n, 10n, 4, '███▌'],
    [1n, 8n, 1, '▏'],
    [7n, 8n, 1, '▉'],
    [8n, 8n, 1, '█'],
    // Too little to be seen is drawn all the same, and nearly all is not all.
    [1n, 1_000_000n, 10, '▏'],
    [999_999n, 1_000_000n, 10, '█████████▉'],
    [0n, 10n, 4, ''],
    [-3n, 10n, 4, ''],
    [0n, 0n, 4, ''],
    [11n, 10n, 4, '████'],
    [5n, 10n, -7, ''],
    // As doubles these two are the same.
    [2n ** 53n, 2n ** 53n + 1n, 4, '███▉'],
    [2n ** 53n + 1n, 2n ** 53n + 1n, 4, '████'],
    [HUGE - 1n, HUGE, 4, '███▉'],
  ])('of %d out of %d in %d columns', (part, whole, columns, drawn) => {
    expect(bar(part, whole, columns)).toBe(drawn);
  });

  it('is never longer than its columns, full for the whole alone, and grows with the part', () => {
    const quantity = fc.bigInt({ min: -5n, max: 2n ** 70n });
    fc.assert(
      fc.property(quantity, quantity, quantity, fc.integer({ min: 1, max: 200 }), (a, b, whole, columns) => {
        const [less, more] = [a, b].map((each) => (each > whole ? whole : each)).sort((x, y) => (x < y ? -1 : 1));
        const [short, long] = [less!, more!].map((part) => bar(part, whole, columns));
        expect(long!.length).toBeLessThanOrEqual(columns);
        expect(short!.length).toBeLessThanOrEqual(long!.length);
        expect(long === '').toBe(more! <= 0n);
        expect(long === '█'.repeat(columns)).toBe(more === whole && whole > 0n);
      }),
    );
  });
});

describe('a share', () => {
  it.each([
    [0n, 8n, '0 %'],
    [8n, 8n, '100 %'],
    [1n, 8n, '13 %'],
    [1n, 3n, '33 %'],
    [2n, 3n, '67 %'],
    [1n, 200n, '1 %'],
    [1n, 201n, '<1 %'],
    [1n, 1_000_000n, '<1 %'],
    [999_999n, 1_000_000n, '>99 %'],
    [0n, 0n, ''],
    [HUGE / 4n, HUGE, '25 %'],
  ])('%d of %d is %s', (part, whole, text) => {
    expect(percent(part, whole)).toBe(text);
  });
});
