import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { InventoryItem } from '../../src/api/item.ts';
import { Browser } from '../../src/browse/browser.ts';
import type { Change } from '../../src/state/journal.ts';
import { drawScreen } from '../../src/browse/draw.ts';
import { createStyle } from '../../src/view/style.ts';
import { displayWidth, prepareWidths } from '../../src/view/width.ts';
import { catalogOf } from '../support/catalog.ts';
import { pressKeys } from '../support/keys.ts';

const NAMES: readonly (readonly [bigint, string])[] = [
  [7n, 'Goldfish'],
  [12n, '漢字の猫と犬と魚と鳥と亀'],
  [9223372036854775807n, 'A parrot with a name that is far longer than any other name of a pet'],
];

const CATALOG = await catalogOf(
  `petId,name,min\n${NAMES.map(([petId, name]) => `${petId},${name},${petId === 7n ? 7 : ''}`).join('\n')}\n27,,0\n`,
);

const CHANGES = [
  { after: 12n, before: 10n, state: 'applied', person: 'ada', cause: 'received', note: 'from the fair' },
  { after: 10n, before: 16n, state: 'applied', person: 'ada' },
  { after: 16n, state: 'unknown', person: 'bo' },
].map((each, id) => ({ ...each, id: BigInt(id), sentAt: id, petId: 7n })) as unknown as Change[];

/** The keys are pressed before `prepare` is called. */
async function draw(
  columns: number,
  rows: number,
  {
    catalog = true,
    isColoured = false,
    keys = [] as string[],
    pets = 30,
    prepare = (_: Browser): void => undefined,
  } = {},
): Promise<string[]> {
  await prepareWidths(NAMES.map(([, name]) => name));
  const items: InventoryItem[] = [];
  for (let i = 1; i <= pets; i++) items.push({ petId: BigInt(i), quantity: BigInt(i % 9), status: 'available' });
  if (pets > 0) items.push({ petId: 9223372036854775807n, quantity: -9223372036854775808n, status: 'sold' });
  const browser = new Browser(5n);
  const names = catalog ? CATALOG : undefined;
  browser.replace({ items, catalog: names, widths: { id: 19, name: 68, quantity: 20 } });
  browser.limits = () => ({ limit: 60, remaining: 7, resetAt: 42_000 });
  browser.changesOf = () => CHANGES;
  pressKeys(browser, ...keys);
  prepare(browser);
  return drawScreen(browser, {
    environment: 'staging',
    columns,
    rows,
    now: 0,
    style: await createStyle({ choice: isColoured ? 'always' : 'never', env: {}, isTTY: true }),
    shown: (text) => text,
  });
}

describe.each([20, 40, 80, 200])('%i columns', (columns) => {
  it.each([3, 4, 5, 6, 7, 24, 60])('%i rows are filled, no line is wider, and the cursor is seen', async (rows) => {
    for (const keys of [[], ['?'], ['^O'], ['<end>'], ['漢'.repeat(300)], ['<right>', '^C']]) {
      const prepare = (browser: Browser): void => {
        if (keys.length === 0) browser.message = 'A sentence that is longer than any terminal. '.repeat(9);
      };
      const lines = await draw(columns, rows, { keys, prepare });
      expect(lines).toHaveLength(rows);
      if (keys[0] === '<end>') expect(plainly(lines)).toContainEqual(expect.stringMatching(/^>/));
      if (keys[0] === '?') expect(plainly(lines)).toContainEqual(expect.stringMatching(/^\^X +Shows/));
      for (const line of lines) expect(displayWidth(stripVTControlCharacters(line)), line).toBeLessThanOrEqual(columns);
    }
  });
});

it('20 columns: what is typed is seen, also for a large quantity; a message begins at the left', async () => {
  expect(plainly(await draw(20, 8, { keys: ['9223', '=', '1234'] })).at(-3)).toBe('New: 1234_');
  const prepare = (browser: Browser): void => {
    browser.message = 'Type to search. Enter sets it.';
  };
  expect(plainly(await draw(20, 8, { prepare })).slice(-3, -1)).toEqual(['Type to search.', 'Enter sets it.']);
});

const CHANGED = ['7', '<right>'];

const plainly = (lines: readonly string[]): string[] => lines.map((line) => stripVTControlCharacters(line).trimEnd());

it('80 columns', async () => {
  expect(plainly(await draw(80, 12, { keys: CHANGED }))).toEqual([
    ' staging: 4 of 31 pets, quantity -9223372036854775793, 1 change to apply',
    'Search: 7_',
    '                   Pet  Name                         Quantity          Status',
    '>+                   7  Goldfish                          ▼ 7  → 8 +1  available',
    '                    17                                      8          available',
    '                    27                                    ▼ 0          available',
    '   9223372036854775807  A parrot wit…    -9223372036854775808          sold',
    '',
    '',
    '',
    expect.stringMatching(/^7 of 60 requests left, resets in 42 s \(/),
    '^X apply  Enter = set  ? help  ^C leave  ↑↓ move  ^Z undo  a-z search  ←→ by one',
  ]);
});

it('40 columns: the changes to apply, and whole keys', async () => {
  const lines = plainly(await draw(40, 12, { keys: CHANGED }));
  expect([lines[0], lines.at(-1)]).toEqual([
    ' staging: 4 of 31 pets, 1 change',
    '^X apply  Enter = set  ? help  ^C leave',
  ]);
});

it.each([
  [['='], 'Enter set  Esc back  12 quantity'],
  [['<right>', '^C'], 'Enter keep  d discard  Esc stay'],
])('40 columns: the keys that answer what %o asks', async (keys, expected) => {
  expect(plainly(await draw(40, 12, { keys })).at(-1)).toBe(expected);
});

it.each([
  [40, '   Pet  Name         Quantity  Status', '>    1                      1  available'],
  [
    60,
    '   Pet  Name                             Quantity  Status',
    '>    1                                          1  available',
  ],
])('%i columns: ids leave room for names and status', async (columns, ...lines) => {
  const prepare = (browser: Browser): void => {
    browser.widths = { ...browser.widths, quantity: 3 };
  };
  expect(plainly(await draw(columns, 12, { prepare })).slice(2, 4)).toEqual(lines);
});

it('a number that does not fit is left out, not cut', async () => {
  const rows = plainly(await draw(40, 12, { keys: ['<end>'] }));
  expect(rows).toContain('>  9223372036854775807    …');
});

it('a changed pet that is gone has its id, without the sign of the change, and quantity, also where both are long', async () => {
  const prepare = (browser: Browser): void => {
    browser.pending.set(10n ** 18n, { petId: 10n ** 18n, current: 1234567890n, quantity: 1n });
    browser.replace({ items: [], catalog: undefined, widths: { id: 2, name: 0, quantity: 1 } });
    browser.show({ isChangedOnly: true });
  };
  const [row = ''] = plainly(await draw(120, 12, { prepare })).slice(3);
  expect(row).toMatch(/^>- 1000000000000000000 +1234567890 +→ 1 -1234567889 +gone$/);
});

it('40 columns with long ids and large quantities: a change is in place of the quantity, not cut', async () => {
  const prepare = (browser: Browser): void => {
    browser.found = browser.found.map((each) => ({ ...each, quantity: each.quantity < 0n ? 0n : each.quantity }));
    browser.widths = { ...browser.widths, quantity: 10 };
  };
  const rows = plainly(await draw(40, 12, { keys: ['<end>', '<up>', '<right>', '<end>'], prepare }));
  expect(rows.slice(6, 8)).toEqual(['                    29             2', ' +                  30           → 4']);
});

it('after a name that is not Latin the column is named, since terminals differ in how wide such names are', async () => {
  const [before = '', after = ''] = (await draw(80, 12, { keys: ['12', '<up>'] }))[3]!
    .replace('\u001b[7m', '')
    .split('\u001b[');
  expect(before).toContain('漢字');
  expect(after).toMatch(new RegExp(`^${displayWidth(before) + 1}G +3 `));
});

it.each([
  [[], ' 1–6 of 31'],
  [['<end>'], ' 26–31 of 31'],
  [['27'], 'quantity 0'],
])('%j: the title tells which rows are on the screen, where there are more', async (keys, end) => {
  expect(plainly(await draw(80, 12, { keys }))[0]!.endsWith(end)).toBe(true);
});

it('a message that is too long for its line goes on in the next one', async () => {
  const message = 'Nothing was applied. The stock of 1 pet was changed by someone else since (marked with !).';
  const prepare = (browser: Browser): void => void (browser.message = message);
  expect(plainly(await draw(40, 12, { prepare })).slice(-3, -1)).toEqual([
    'Nothing was applied. The stock of 1 pet',
    'was changed by someone else since (mark…',
  ]);
  expect(
    plainly(await draw(80, 12, { prepare }))
      .slice(-3, -1)
      .join(' '),
  ).toBe(message);
});

it('a low screen keeps the heading; a rate limit that is over and a stock that is not read yet are not shown', async () => {
  expect((await draw(80, 6))[2]).toContain('Quantity');
  const over = (browser: Browser): void => {
    browser.limits = () => ({ limit: 60, remaining: 7, resetAt: 0 });
    browser.reading = 'Reading the stock…';
  };
  const lines = plainly(await draw(80, 12, { pets: 0, prepare: over }));
  expect([lines[0], ...lines.slice(-3, -1)]).toEqual([' staging', 'Reading the stock…', '']);
});

it('a change of a pet that someone else has changed since is shown without its difference', async () => {
  const prepare = (browser: Browser): void => {
    browser.pending.set(7n, { petId: 7n, current: 3n, quantity: 9n });
  };
  expect(plainly(await draw(120, 12, { keys: ['7'], prepare }))[3]).toMatch(/^>! +7 +Goldfish +▼ 7 +→ 9 +available$/);
});

it('low stock that is none has the colour of none', async () => {
  const lines = await draw(80, 12, { isColoured: true, keys: CHANGED });
  expect(lines[5]!.replaceAll('\u001b', '^')).toMatch(/ \^\[38;5;231m\^\[48;5;160m▼ 0\^\[49m\^\[39m .*available$/);
});

it('the pane: the last changes of the pet, with why, who and a bar, beside the table', async () => {
  const keys = ['7', '^O'];
  const lines = plainly(await draw(110, 14, { keys }));
  expect(lines.slice(3, 11).map((line) => line.split(' | ')[1]?.replace(/\d\d:\d\d:\d\d/, '00:00:00'))).toEqual([
    'Goldfish (pet 7)',
    '^O closes, minimum 7',
    '00:00:00  10 → 12 +2  ██████████████▎',
    '  ada, received, from the fair',
    '00:00:00  16 → 10 -6  ███████████▉',
    '  ada',
    '00:00:00  → 16        unknown',
    '  bo',
  ]);
  const narrow = plainly(await draw(40, 14, { keys }));
  expect(narrow.slice(2, 5)).toEqual(['', 'Goldfish (pet 7)', '^O closes, minimum 7']);
  expect(plainly(await draw(40, 14, { keys: [...keys, '8'] }))[3]).toBe('No pet matches. Esc shows all.');
});

it.each([
  [40, 16],
  [80, 12],
  [80, 24],
])('%i columns, %i rows: any key turns the pages of keys, which have a sentence for each', async (columns, rows) => {
  const pages: string[][] = [];
  for (let at = 0; pages.at(-1)?.at(-1)?.startsWith('Any key: back') !== true && at < 9; at++) {
    const turn = (browser: Browser): void => {
      for (let i = 0; i < at; i++) {
        browser.hasMoreHelp = true;
        pressKeys(browser, ' ');
      }
    };
    pages.push(plainly(await draw(columns, rows, { keys: ['?'], prepare: turn })));
  }
  const sentences = pages.flatMap((page) => page.slice(2, -1)).join(' ');
  const text = sentences.replace(/ +/g, ' ');
  expect(text).toContain('Enter = Asks for the quantity (12), or what to add (+3) or take away (-3).');
  expect(text).toContain('←→ Takes one away, or adds one.');
  expect(text).toContain('Del Undoes the change of this pet, or of those marked.');
});

it.each([
  ['Esc', true, '<escape>'],
  ['any key after the last page', false, ' '],
])('%s leads back from the keys', async (_what, hasMoreHelp, key) => {
  const leave = (browser: Browser): void => {
    browser.hasMoreHelp = hasMoreHelp;
    pressKeys(browser, key);
    expect([browser.mode, browser.text]).toEqual(['table', '']);
  };
  await draw(40, 16, { keys: ['?'], prepare: leave });
});

it.each([
  ['a text that no pet has', { keys: ['zzz'] }, 'No pet matches. Esc shows all.'],
  ['no catalog', { catalog: false, keys: ['gold'] }, 'No pet matches. Names come from: petstore catalog import FILE'],
  ['no catalog, and an id', { catalog: false, keys: ['4711'] }, 'No pet matches. Esc shows all.'],
  ['a store without pets', { pets: 0 }, 'No pets to show.'],
])('%s', async (_what, options, line) => {
  const lines = plainly(await draw(80, 12, options));
  expect(lines[3]).toBe(line);
  expect(lines[2]!.includes('Name')).toBe(!('catalog' in options));
});
