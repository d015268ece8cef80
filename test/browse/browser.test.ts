import { describe, expect, it } from 'vitest';
import { ItemTable } from '../../src/api/item-table.ts';
import { Browser, parseQuantity } from '../../src/browse/browser.ts';
import { Rows } from '../../src/browse/rows.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { Key } from '../../src/ports.ts';
import type { DraftChange } from '../../src/state/draft.ts';

const BARCODE = '04006381333931';
const CATALOG = new Catalog(
  [
    [7n, 'Goldfish'],
    [12n, 'golden hamster'],
    [9223372036854775807n, 'Ärmelkauz'],
  ],
  new Map([[BARCODE, { petId: 12n, isForced: false }]]),
);
const PETS: readonly (readonly [bigint, bigint, string])[] = [
  [7n, 10n, 'available'],
  [3n, 0n, 'sold'],
  [12n, 4n, 'pending'],
  [9223372036854775807n, 120n, 'available'],
  [72n, -2n, 'lost'],
];

function rowsOf(pets = PETS, catalog: Catalog | undefined = CATALOG): Rows {
  const items = new ItemTable();
  for (const [petId, quantity, status] of pets) items.put({ petId, quantity, status });
  return new Rows({ items, catalog, widths: { id: 19, name: 14, quantity: 3 } });
}

interface Opened {
  readonly browser: Browser;
  readonly stored: Map<bigint, DraftChange>;
  press(...keys: string[]): string | undefined;
}

/** `press`: `^X` is Ctrl-X, `<up>` a key by its name; anything else is typed. */
function open({ rows = rowsOf(), draft = [] as readonly DraftChange[] } = {}): Opened {
  const stored = new Map(draft.map((change) => [change.petId, change]));
  const browser = new Browser({
    low: 5n,
    draft,
    onChange: (petId, change) => {
      if (change === undefined) stored.delete(petId);
      else stored.set(petId, change);
    },
  });
  browser.replace(rows);
  const press = (...keys: string[]): string | undefined => {
    let request: string | undefined;
    for (const key of keys.flatMap(keysOf)) request = browser.press(key);
    return request;
  };
  return { browser, stored, press };
}

function keysOf(text: string): Key[] {
  const none = { ctrl: false, shift: false, text: '' };
  if (/^\^[A-Z]$/.test(text)) return [{ ...none, name: text.slice(1).toLowerCase(), ctrl: true }];
  if (/^<.+>$/.test(text)) return [{ ...none, name: text.slice(1, -1) }];
  return Array.from(text, (character) => ({ ...none, name: character.toLowerCase(), text: character }));
}

const idsOf = (browser: Browser): bigint[] => browser.visible.items.map(({ petId }) => petId);
const ALL = PETS.map(([petId]) => petId);

describe('search', () => {
  it.each<[typed: string, found: readonly bigint[]]>([
    ['', ALL],
    ['7', [7n, 9223372036854775807n, 72n]],
    ['72', [9223372036854775807n, 72n]],
    ['922', [9223372036854775807n]],
    ['gold', [7n, 12n]],
    ['GOLDEN H', [12n]],
    ['gold  ', [7n, 12n]],
    ['ärm', [9223372036854775807n]],
    ['a\u0308rm', [9223372036854775807n]],
    ['4006381333931', [12n]],
    ['04006381333931', [12n]],
    ['40063813339310', []],
    ['xyz', []],
    ['.', []],
  ])('%s finds %s', (typed, found) => {
    const { browser, press } = open();
    press(typed);
    expect(idsOf(browser)).toEqual(found);
  });

  it('Backspace and Ctrl-U widen it again, a character at a time', () => {
    const { browser, press } = open();
    press('gold🐠');
    expect(idsOf(browser)).toEqual([]);
    press('<backspace>');
    expect([browser.text, idsOf(browser)]).toEqual(['gold', [7n, 12n]]);
    press('e', '<backspace>', '^U');
    expect([browser.text, idsOf(browser)]).toEqual(['', ALL]);
  });

  it('without a catalog only ids are found', () => {
    const { browser, press } = open({ rows: new Rows({ ...partsOf(rowsOf()), catalog: undefined }) });
    press('gold');
    expect(idsOf(browser)).toEqual([]);
    press('^U', '12');
    expect(idsOf(browser)).toEqual([12n]);
  });
});

function partsOf(rows: Rows): ConstructorParameters<typeof Rows>[0] {
  const items = new ItemTable();
  for (let i = 0; i < rows.count; i++) items.put(rows.at(i));
  return { items, catalog: rows.catalog, widths: rows.widths };
}

describe('filters and order', () => {
  it('Tab shows one status after the other, then all', () => {
    const { browser, press } = open();
    const shown = Array.from({ length: 4 }, () => (press('<tab>'), [browser.status, idsOf(browser)]));
    expect(shown).toEqual([
      ['available', [7n, 9223372036854775807n]],
      ['pending', [12n]],
      ['sold', [3n]],
      [undefined, ALL],
    ]);
  });

  it('Ctrl-L shows low stock, together with the search; Esc shows all', () => {
    const { browser, press } = open();
    press('^L');
    expect(idsOf(browser)).toEqual([3n, 12n, 72n]);
    press('7');
    expect(idsOf(browser)).toEqual([72n]);
    press('<escape>');
    expect([browser.text, idsOf(browser)]).toEqual(['', ALL]);
  });

  it('Ctrl-S sorts by one column after the other', () => {
    const { browser, press } = open();
    const orders = browser.orders.map(() => (press('^S'), [browser.order, idsOf(browser)]));
    expect(orders).toEqual([
      ['petId', [3n, 7n, 12n, 72n, 9223372036854775807n]],
      ['name', [9223372036854775807n, 12n, 7n, 3n, 72n]],
      ['quantity', [72n, 3n, 12n, 7n, 9223372036854775807n]],
      ['quantity, largest first', [9223372036854775807n, 7n, 12n, 3n, 72n]],
      ['status', [7n, 9223372036854775807n, 72n, 12n, 3n]],
      ['as listed', ALL],
    ]);
  });

  it('without names there is no order by name', () => {
    expect(open({ rows: new Rows({ ...partsOf(rowsOf()), catalog: undefined }) }).browser.orders).not.toContain('name');
  });
});

describe('cursor', () => {
  const many = (): Opened => open({ rows: rowsOf(Array.from({ length: 25 }, (_, i) => [BigInt(i), 1n, 'sold'])) });

  it('stays within the rows, and its page follows', () => {
    const { browser, press } = many();
    browser.page = 10;
    press('<up>');
    expect(browser.selected?.petId).toBe(0n);
    press('<pagedown>', '<down>');
    expect([browser.selected?.petId, idsOf(browser)[0]]).toEqual([11n, 2n]);
    press('<end>', '<down>');
    expect([browser.selected?.petId, idsOf(browser)[0]]).toEqual([24n, 15n]);
    press('<pageup>', '<home>');
    expect([browser.selected?.petId, idsOf(browser)[0]]).toEqual([0n, 0n]);
  });

  it('stays on its pet when the stock is read again or less of it is shown', () => {
    const { browser, press } = many();
    press('<end>', '<up>');
    browser.replace(rowsOf(Array.from({ length: 40 }, (_, i) => [BigInt(i), 2n, 'sold'])));
    expect(browser.selected?.petId).toBe(23n);
    press('<tab>', '<tab>', '<tab>');
    expect(browser.selected?.petId).toBe(0n);
    press('5', '<down>', '<escape>');
    expect(browser.selected?.petId).toBe(15n);
  });

  it('has no pet where none matches', () => {
    const { browser, press, stored } = many();
    press('nothing', '+', '=', '<delete>', '<down>');
    expect([browser.selected, stored.size, browser.mode.kind]).toEqual([undefined, 0, 'table']);
  });
});

describe('changes', () => {
  it('+ and - change by one, and each is stored; the old quantity is no change', () => {
    const { press, stored } = open();
    press('+', '+');
    expect([...stored.values()]).toEqual([{ petId: 7n, current: 10n, quantity: 12n }]);
    press('-', '<left>');
    expect(stored.size).toBe(0);
    press('<right>', '<delete>');
    expect(stored.size).toBe(0);
  });

  it.each<[typed: string, quantity: bigint | undefined]>([
    ['15', 15n],
    ['+3', 13n],
    ['-3', 7n],
    ['007', 7n],
    ['10', undefined],
    ['-', undefined],
    ['', undefined],
    ['-11', undefined],
    ['123456789012345678901234567890', 123456789012345678901234567890n],
  ])('= %s sets %s', (typed, quantity) => {
    const { browser, press, stored } = open();
    press('=', typed, '<return>');
    expect([stored.get(7n)?.quantity, browser.mode.kind]).toEqual([quantity, 'table']);
  });

  it('Esc leaves the quantity as it was; Backspace takes a digit back', () => {
    const { press, stored } = open();
    press('<return>', '15', '<escape>');
    expect(stored.size).toBe(0);
    press('<return>', '15', '<backspace>', '9', '<return>');
    expect(stored.get(7n)?.quantity).toBe(19n);
  });

  it('a quantity below zero is refused, but one that is below zero already may rise', () => {
    const { browser, press, stored } = open();
    press('<down>', '-');
    expect([stored.size, browser.message]).toEqual([
      0,
      'Pet 3: a quantity below zero is set with petstore inventory set --allow-negative.',
    ]);
    press('<end>', '+');
    expect(stored.get(72n)?.quantity).toBe(-1n);
    press('-', '-');
    expect(stored.size).toBe(0);
  });

  it('a barcode that is scanned where a quantity is asked for is searched for, and is no quantity', () => {
    const { browser, press, stored } = open();
    press('=', '4006381333931', '<return>');
    expect([stored.size, browser.selected?.petId]).toEqual([0, 12n]);
    expect(browser.message).toBe('4006381333931 is a barcode: pet 12. The quantity of pet 7 was not changed.');
  });

  it('after a scan and a quantity the next scan begins anew', () => {
    const { browser, press, stored } = open();
    press('4006381333931', '<return>', '6', '<return>');
    expect([stored.get(12n)?.quantity, browser.text, browser.selected?.petId]).toEqual([6n, '', 12n]);
  });

  it('what was seen first stays what the change is checked against', () => {
    const { browser, press, stored } = open({ draft: [{ petId: 7n, current: 8n, quantity: 9n }] });
    expect(browser.quantityOf(browser.selected!)).toBe(9n);
    press('+');
    expect(stored.get(7n)).toEqual({ petId: 7n, current: 8n, quantity: 10n });
  });

  it('Ctrl-X asks for them to be applied, if there are any', () => {
    const { browser, press } = open();
    expect(press('^X')).toBeUndefined();
    expect(browser.message).toContain('No change is pending.');
    press('+');
    expect(press('^X')).toBe('apply');
    expect(press('^R')).toBe('refresh');
  });
});

describe('leaving', () => {
  it.each(['^C', '^D', '^Q'])('%s leaves at once where nothing is pending', (key) => {
    expect(open().press(key)).toBe('leave');
  });

  it.each<[answer: string, request: string | undefined]>([
    ['<return>', 'leave'],
    ['k', 'leave'],
    ['^C', 'leave'],
    ['d', 'discard'],
    ['<escape>', undefined],
    ['x', undefined],
  ])('asks once where changes are pending: %s is %s', (answer, request) => {
    const { browser, press } = open();
    expect(press('+', '^C')).toBeUndefined();
    expect(browser.mode.kind).toBe('leave');
    expect(press(answer)).toBe(request);
    expect([browser.mode.kind === 'table' || answer === '^C', browser.text]).toEqual([true, '']);
  });

  it('while the stock is read only leaving is possible', () => {
    const { browser, press, stored } = open();
    browser.isBusy = true;
    press('+', 'gold', '^L', '?');
    expect([stored.size, browser.text, browser.isLowOnly, browser.mode.kind]).toEqual([0, '', false, 'table']);
    expect(press('^C')).toBe('leave');
  });
});

it('? shows the keys, and any key ends it', () => {
  const { browser, press } = open();
  press('?');
  expect(browser.mode.kind).toBe('help');
  press('x');
  expect([browser.mode.kind, browser.text]).toEqual(['table', '']);
});

it.each<[typed: string, present: bigint, quantity: bigint | undefined]>([
  ['0', 5n, 0n],
  ['+0', 5n, 5n],
  ['-5', 5n, 0n],
  ['--5', 5n, undefined],
  ['1e3', 5n, undefined],
  ['1,000', 5n, undefined],
  ['9'.repeat(41), 5n, undefined],
])('parseQuantity(%s, %s) is %s', (typed, present, quantity) => {
  expect(parseQuantity(typed, present)).toBe(quantity);
});
