import { describe, expect, it } from 'vitest';
import type { ChartLine, ChartView } from '../../src/view/view.ts';
import { displayWidth } from '../../src/view/width.ts';
import { text } from './rendered.ts';

/** 2026-03-02, noon. */
const NOW = Date.UTC(2026, 2, 2, 12);
const DAY = 86_400_000;

function chart(...values: (bigint | readonly [value: bigint, note: string])[]): ChartView {
  const lines = values.map((each, i): ChartLine => {
    const at = NOW - (values.length - i) * 60_000;
    return typeof each === 'bigint' ? { at, value: each } : { at, value: each[0], note: each[1] };
  });
  return { view: 'chart', sections: [{ title: 'Pet 7', lines }], now: NOW, empty: '' };
}

async function shown(view: ChartView, screen: Parameters<typeof text>[2] = {}): Promise<string[]> {
  const all = await text(view, 'table', { isTTY: true, ...screen });
  expect(all.endsWith('\n')).toBe(true);
  return all.slice(0, -1).split('\n');
}

describe('a chart', () => {
  it('has the number beside each bar', async () => {
    expect(await shown(chart(3n, 12n, 0n, -4n), { width: 30 })).toEqual([
      'Pet 7',
      '11:56:00   3  ████',
      '11:57:00  12  ████████████████',
      '11:58:00   0',
      '11:59:00  -4',
    ]);
  });

  it('is drawn in ASCII where nothing else is sure to be shown', async () => {
    expect(await shown(chart(3n, 12n, 1n), { width: 30, isUnicode: false })).toEqual([
      'Pet 7',
      '11:57:00   3  ####',
      '11:58:00  12  ################',
      '11:59:00   1  #',
    ]);
  });

  it.each([
    ['one value', [5n], ['█'.repeat(20)]],
    ['equal values', [5n, 5n], ['█'.repeat(20), '█'.repeat(20)]],
    ['nothing above zero', [0n, -5n], ['', '']],
    ['values beyond 2^53', [2n ** 63n, 2n ** 63n - 1n], ['█'.repeat(20), `${'█'.repeat(19)}▉`]],
    ['a note in place of the bar', [[900n, 'unknown'], 5n] as const, ['unknown', '█'.repeat(20)]],
  ])('of %s', async (_what, values, bars) => {
    const digits = Math.max(...values.map((each) => String(typeof each === 'bigint' ? each : each[0]).length));
    const lines = await shown(chart(...values), { width: 8 + 2 + digits + 2 + 20 });
    expect(lines.slice(1).map((line) => line.slice(8 + 2 + digits + 2))).toEqual(bars);
  });

  it.each([
    [{ isTTY: true, width: 40 }, 40],
    [{ isTTY: true, width: 80 }, 80],
    [{ isTTY: true, width: 200 }, 200],
    // A width of 0 is a terminal that does not know its own.
    [{ isTTY: true, width: 0 }, 80],
    [{ isTTY: false }, 80],
  ])('on %j is %d columns wide', async (screen, width) => {
    const lines = await shown(chart(1n, 120n), screen);
    expect(Math.max(...lines.map(displayWidth))).toBe(width);
  });

  it.each([
    [80, ['2024-05-01 10:00:00', '2026-02-20 09:30:05', '11:00:00           ']],
    [40, ['2024-05-01 ', '02-20 09:30', '11:00:00   ']],
  ])('of several days, %d columns wide', async (width, times) => {
    const at = [Date.UTC(2024, 4, 1, 10), NOW - 10 * DAY - 8_995_000, NOW - 3_600_000];
    const lines = at.map((each) => ({ at: each, value: 12n }));
    const [, ...drawn] = await shown({ ...chart(), sections: [{ title: 'Pet 7', lines }] }, { width });
    const bars = width - times[0]!.length - 6;
    expect(drawn).toEqual(times.map((time) => `${time}  12  ${'█'.repeat(bars)}`));
  });

  it('keeps every digit where there is no room for bars', async () => {
    const value = 10n ** 60n;
    expect((await shown(chart(value), { width: 40 })).at(-1)).toBe(`11:59:00  ${value}`);
  });

  it('gives each section a scale of its own, and hides what a terminal would obey', async () => {
    const [first] = chart(5n).sections;
    const [second] = chart(500n).sections;
    const sections = [first!, { ...second!, title: 'Pet 7 (\u001b[31m)' }];
    expect(await shown({ ...chart(), sections }, { width: 20 })).toEqual([
      'Pet 7',
      '11:59:00  5  ███████',
      '',
      'Pet 7 (\\x1b[31m)',
      '11:59:00  500  █████',
    ]);
  });
});
