import { describe, expect, it } from 'vitest';
import type { InventoryItem } from '../../src/api/item.ts';
import { Browser } from '../../src/browse/browser.ts';
import { drawScreen, pageOf } from '../../src/browse/draw.ts';
import { Catalog } from '../../src/catalog/local-catalog.ts';
import { createStyle } from '../../src/view/style.ts';
import { displayWidth, prepareWidths } from '../../src/view/width.ts';

const NAMES: readonly (readonly [bigint, string])[] = [
  [7n, 'Goldfish'],
  [12n, '漢字の猫と犬と魚と鳥と亀'],
  [9223372036854775807n, 'A parrot with a name that is far longer than any other name of a pet'],
];

async function draw(
  columns: number,
  rows: number,
  { catalog = true, pets = 30, prepare = (_: Browser): void => undefined } = {},
): Promise<string[]> {
  await prepareWidths(NAMES.map(([, name]) => name));
  const items: InventoryItem[] = [];
  for (let i = 1; i <= pets; i++) items.push({ petId: BigInt(i), quantity: BigInt(i % 9), status: 'available' });
  if (pets > 0) items.push({ petId: 9223372036854775807n, quantity: -9223372036854775808n, status: 'sold' });
  const browser = new Browser(5n);
  const names = catalog ? new Catalog(NAMES, new Map()) : undefined;
  browser.replace({ items, catalog: names, widths: { id: 19, name: 68, quantity: 20 } });
  browser.page = pageOf(rows);
  browser.limits = () => ({ limit: 60, remaining: 7, resetAt: 42_000 });
  prepare(browser);
  const style = await createStyle(false);
  return drawScreen(browser, { environment: 'staging', columns, rows, now: 0, style, shown: (text) => text });
}

describe.each([20, 40, 80, 200])('%i columns', (columns) => {
  it.each([3, 6, 7, 24, 60])('%i rows are filled, and no line is wider', async (rows) => {
    for (const prepare of [
      (): void => undefined,
      (browser: Browser) => void browser.press({ name: '', ctrl: false, shift: false, text: '?' }),
      (browser: Browser) => void browser.press({ name: 'end', ctrl: false, shift: false, text: '' }),
      (browser: Browser) => {
        browser.message = 'A sentence that is longer than any terminal. '.repeat(9);
        browser.text = '漢'.repeat(300);
      },
      (browser: Browser) => {
        browser.press({ name: 'right', ctrl: false, shift: false, text: '' });
        browser.press({ name: 'c', ctrl: true, shift: false, text: '' });
      },
    ]) {
      const lines = await draw(columns, rows, { prepare });
      expect(lines).toHaveLength(rows);
      for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    }
  });
});

it('80 columns', async () => {
  const prepare = (browser: Browser): void => {
    browser.searchFor('7');
    browser.press({ name: 'right', ctrl: false, shift: false, text: '' });
  };
  expect(await draw(80, 12, { prepare })).toEqual([
    'staging: 4 of 31 pets, 1 change to apply',
    'Search: 7_',
    '                petId  name                            quantity        status',
    '>*                  7  Goldfish                               7  -> 8  available',
    '                   17                                         8        available',
    '                   27                                         0        available',
    '  9223372036854775807  A parrot with a n…  -9223372036854775808        sold',
    '',
    '',
    '',
    expect.stringMatching(/^Rate limit 7\/60 left, resets in 42 s \(/),
    '^X apply  Enter set  ? help  ^C leave  type to search  </> by one  Tab status',
  ]);
});

it('without a catalog there is no column for names, and a hint names the command', async () => {
  const lines = await draw(80, 12, { catalog: false, prepare: (browser) => browser.searchFor('gold') });
  expect(lines[2]).toBe('                petId              quantity  status');
  expect(lines[3]).toBe('No pet matches. Names come from: petstore catalog import FILE');
});

it.each<[what: string, prepare: (browser: Browser) => void, line: string]>([
  ['no pet matches', (browser) => browser.searchFor('zzz'), 'No pet matches. Esc shows all.'],
])('%s', async (_what, prepare, line) => {
  expect((await draw(80, 12, { prepare }))[3]).toBe(line);
});

it('a store without pets', async () => {
  expect((await draw(80, 12, { pets: 0 }))[3]).toBe('No pets to show.');
});
