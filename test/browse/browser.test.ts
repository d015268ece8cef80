import { describe, expect, it } from 'vitest';
import { Browser } from '../../src/browse/browser.ts';
import { press as pressOne } from '../../src/browse/keys.ts';
import type { Listing } from '../../src/browse/selection.ts';
import type { Catalog } from '../../src/catalog/local-catalog.ts';
import type { DraftChange } from '../../src/state/journal-rows.ts';
import { catalogOf } from '../support/catalog.ts';
import { runIn, withReplies } from '../support/in-process.ts';
import { pressKeys } from '../support/keys.ts';
import { item, json } from '../support/replies.ts';

const BARCODE = '04006381333931';
const CATALOG = await catalogOf(
  `petId,name,barcode\n7,Goldfish,\n12,golden hamster,${BARCODE}\n9223372036854775807,Ärmelkauz,\n`,
);
const PETS: readonly (readonly [bigint, bigint, string])[] = [
  [7n, 10n, 'available'],
  [3n, 0n, 'sold'],
  [12n, 4n, 'pending'],
  [9223372036854775807n, 120n, 'available'],
  [72n, -2n, 'lost'],
];

function listing(pets = PETS, catalog: Catalog | undefined = CATALOG): Listing {
  const items = pets.map(([petId, quantity, status]) => ({ petId, quantity, status }));
  return { items, catalog, widths: { id: 19, name: 14, quantity: 3 } };
}

interface Opened {
  readonly browser: Browser;
  readonly stored: ReadonlyMap<bigint, DraftChange>;
  press(...keys: string[]): string | undefined;
}

function open({ stock = listing(), draft = [] as readonly DraftChange[] } = {}): Opened {
  const browser = new Browser(5n);
  for (const change of draft) browser.pending.set(change.petId, change);
  browser.replace(stock);
  return { browser, stored: browser.pending, press: (...keys) => pressKeys(browser, ...keys) };
}

const idsOf = (browser: Browser): bigint[] => browser.visible.items.map(({ petId }) => petId);
const ALL = PETS.map(([petId]) => petId);

describe('search', () => {
  it.each<[keys: readonly string[], found: readonly bigint[]]>([
    [['7'], [7n, 9223372036854775807n, 72n]],
    [['72'], [9223372036854775807n, 72n]],
    [['922'], [9223372036854775807n]],
    [['gold'], [7n, 12n]],
    [['GOLDEN H'], [12n]],
    [['gold  '], [7n, 12n]],
    [['ärm'], [9223372036854775807n]],
    [['a\u0308rm'], [9223372036854775807n]],
    [['4006381333931'], [12n]],
    [['04006381333931'], [12n]],
    [['40063813339310'], []],
    [['0000012'], [12n]],
    [['xyz'], []],
    [['.'], []],
    [['gold🐠'], []],
    [
      ['gold🐠', '<backspace>'],
      [7n, 12n],
    ],
    [['gold', '^U'], ALL],
    // The habit of less and k9s.
    [['/gold'], [7n, 12n]],
    [['gold/'], []],
  ])('%j finds %s', (keys, found) => {
    const { browser, press } = open();
    press(...keys);
    expect(idsOf(browser)).toEqual(found);
  });

  it('without a catalog only ids are found, and nothing is sorted by name', () => {
    const { browser, press } = open({ stock: { ...listing(), catalog: undefined } });
    press('gold');
    expect(idsOf(browser)).toEqual([]);
    press('^U', '12');
    expect(idsOf(browser)).toEqual([12n]);
    expect(browser.orders).not.toContain('name');
  });
});

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

  it('Ctrl-L: a pet with a minimum is low at or below it', async () => {
    const catalog = await catalogOf('petId,min\n7,10\n12,3\n');
    const { browser, press } = open({ stock: listing(PETS, catalog) });
    press('^L');
    expect(browser.visible.items.map((each) => [each.petId, browser.isLow(each)])).toEqual([
      [7n, true],
      [3n, false],
      [72n, false],
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
});

describe('cursor', () => {
  const many = (): Opened => open({ stock: listing(Array.from({ length: 25 }, (_, i) => [BigInt(i), 1n, 'sold'])) });

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
    browser.replace(listing(Array.from({ length: 40 }, (_, i) => [BigInt(i), 2n, 'sold'])));
    expect(browser.selected?.petId).toBe(23n);
    press('<tab>', '<tab>', '<tab>');
    expect(browser.selected?.petId).toBe(0n);
    press('5', '<down>', '<escape>');
    expect(browser.selected?.petId).toBe(15n);
  });

  it('stays where the search is empty already, where a click is below the rows, and in the middle of a new order', () => {
    const { browser, press } = many();
    press('<end>', '<backspace>');
    expect(browser.selected?.petId).toBe(24n);
    press('<home>', '<pagedown>', '<down>', '<down>', '^S');
    expect([browser.selected?.petId, idsOf(browser)[0]]).toEqual([12n, 7n]);
    browser.moveTo(browser.page);
    expect(browser.selected?.petId).toBe(12n);
  });

  it('has no pet where none matches', () => {
    const { browser, press, stored } = many();
    press('nothing', '+', '=', '<right>', '<delete>', '<down>');
    expect([browser.selected, stored.size, browser.mode]).toEqual([undefined, 0, 'table']);
  });
});

describe('changes', () => {
  it.each<[keys: readonly string[], changes: Readonly<Record<string, string>>]>([
    [['<right>', '<right>'], { 7: '12' }],
    [['<right>', '<right>', '<left>', '<left>'], {}],
    [['<right>', '<delete>'], {}],
    [['=15', '<return>'], { 7: '15' }],
    [['=+3', '<return>'], { 7: '13' }],
    [['+3', '<return>', '-4', '<return>'], { 7: '9' }],
    // As on a label that is scanned twice.
    [['=007', '<return>'], {}],
    [['=+-3', '<return>'], {}],
    [['=10', '<return>'], {}],
    [['=-', '<return>'], {}],
    [['=', '<return>'], {}],
    [['=12.5', '<return>'], {}],
    [['=1,200', '<return>'], {}],
    [['=1e3', '<return>'], {}],
    [['=--5', '<return>'], {}],
    [['=5-3', '<return>'], {}],
    [[`=${'9'.repeat(41)}`, '<return>'], {}],
    [[`=${'9'.repeat(40)}`, '<return>'], { 7: '9'.repeat(40) }],
    [['<return>', '15', '<escape>'], {}],
    [['<return>', '15', '<backspace>', '9', '<return>'], { 7: '19' }],
    [['<return>', '15', '^U', '17', '^W', '9', '<return>'], { 7: '9' }],
    // Typed or pasted into the search.
    [['T-shirt', '<return>', '<return>', '<return>'], {}],
    [['a=b+c?', '<return>', '<return>', '<return>'], {}],
    [['x-1-2-3', '<return>', '<return>', '<return>'], {}],
    // Not below zero; a pet that is below zero already may rise.
    [['-11', '<return>'], {}],
    [['<end>', '<right>'], { 72: '-1' }],
    [['<end>', '<right>', '<left>', '<left>'], {}],
    // One quantity or difference for all that are marked, shown or not, undone as one.
    [['<insert>', '<insert>', '<end>', '+5', '<return>'], { 7: '15', 3: '5' }],
    [['<insert>', 'gold', '<end>', '<insert>', '^U', '=2', '<return>'], { 7: '2', 12: '2' }],
    [['^A', '+1', '<return>', '<right>', '^Z', '^Z'], {}],
  ])('%j: %j', (keys, changes) => {
    const { browser, press, stored } = open();
    press(...keys);
    expect(Object.fromEntries([...stored].map(([id, { quantity }]) => [`${id}`, `${quantity}`]))).toEqual(changes);
    expect([browser.mode, browser.marked.size]).toEqual(['table', 0]);
  });

  it('scans one after the other: each asks for the quantity of its pet', () => {
    const { browser, press, stored } = open();
    for (let i = 0; i < 3; i++) {
      press('4006381333931', '<return>');
      expect([browser.mode, browser.selected?.petId]).toEqual(['quantity', 12n]);
    }
    press('6', '<return>', '<home>', '<return>', '4006381333931', '<return>', '<escape>', 'gold');
    expect([stored.size, stored.get(12n)?.quantity, browser.text]).toEqual([1, 6n, 'gold']);
  });

  it.each<[keys: readonly string[], message: string]>([
    [['=4006381333948'], '4006381333948 is a barcode that no pet of this list has. The quantity of pet 7'],
    [['=54006381333931'], '4006381333931 is the barcode of pet 12. The quantity of pet 7'],
    [['<insert>', '<insert>', '=4006381333931'], '4006381333931 is the barcode of pet 12. The quantity of 2 pets'],
  ])('%j, scanned where a quantity is asked for, is not a quantity', (keys, message) => {
    const { browser, press, stored } = open();
    press(...keys, '<return>');
    expect([stored.size, browser.marked.size, browser.message]).toEqual([0, 0, `${message} was not changed.`]);
  });

  it('after a code that finds nothing, the next scan searches anew', () => {
    const { browser, press } = open();
    press('4006381333948', '<return>');
    expect([browser.mode, browser.message]).toEqual(['table', 'No pet matches 4006381333948.']);
    press('4006381333931', '<return>');
    expect([browser.mode, browser.selected?.petId]).toEqual(['quantity', 12n]);
    press('<escape>', '<tab>', '4006381333931', '<return>');
    expect(browser.message).toBe('No pet matches 4006381333931. Esc shows all pets.');
    press('<escape>', '^P', '<return>');
    expect(browser.message).toBe('No pet matches.');
  });

  it('a quantity clears the search that has found only its pet', () => {
    const { browser, press } = open();
    press('gold', '=5', '<return>');
    expect(browser.text).toBe('gold');
    press('en', '=5', '<return>');
    expect(browser.text).toBe('');
  });

  it('a pet that a new read takes off the screen is not mentioned where no quantity is typed', () => {
    const { browser, press } = open();
    press('<home>');
    browser.replace(listing(PETS.slice(1)));
    expect([browser.selected?.petId, browser.message]).toEqual([3n, '']);
  });

  it.each([
    [['<tab>', '=', '1'], PETS.map(([petId, quantity]) => [petId, quantity, petId === 7n ? 'sold' : 'available'])],
    [['<insert>', '<end>', '<insert>', '=', '1'], PETS.slice(1)],
  ] as const)(
    '%j: a pet that a new read of the stock takes off the screen leaves its quantity to no other',
    (keys, pets) => {
      const { browser, press, stored } = open();
      press(...keys);
      const marks = Math.max(0, browser.marked.size - 1);
      browser.replace(listing(pets as typeof PETS));
      expect([browser.mode, browser.message, browser.marked.size]).toEqual([
        'table',
        'Pet 7 is no longer shown. No quantity was changed.',
        marks,
      ]);
      press('5', '<return>', '<escape>');
      expect(stored.size).toBe(0);
    },
  );

  it.each([
    ['7', 7n],
    ['007', 7n],
    ['4006381333931', 12n],
  ])('the pet whose id or barcode is %s gets the cursor, not one before it that contains the digits', (code, petId) => {
    const longer = [70_007n, 2_4006381333931n, 7n, 12n].map((id) => [id, 1n, 'available'] as const);
    const { browser, press } = open({ stock: listing(longer) });
    press(code);
    expect([idsOf(browser).length, browser.selected?.petId]).toEqual([2, petId]);
  });

  it('after the stock was read again, what is typed is about the quantity on the screen', () => {
    const { press, stored } = open({ draft: [{ petId: 7n, current: 8n, quantity: 9n }] });
    press('<right>');
    expect(stored.get(7n)).toEqual({ petId: 7n, current: 10n, quantity: 11n });
    press('^Z');
    expect(stored.get(7n)).toEqual({ petId: 7n, current: 8n, quantity: 9n });
    press('=', '8', '<return>');
    expect(stored.get(7n)).toEqual({ petId: 7n, current: 10n, quantity: 8n });
    press('=', '10', '<return>');
    expect(stored.size).toBe(0);
  });

  it('Ctrl-P shows only pets with changes, also one that is gone: its change can be taken back', () => {
    const gone = { petId: 99n, current: 8n, quantity: 9n };
    const { browser, press, stored } = open({ draft: [gone] });
    press('<right>', '<down>', '<down>', '<right>', '^P');
    expect(idsOf(browser)).toEqual([7n, 12n, 99n]);
    press('<end>', '<left>', '^P');
    expect([idsOf(browser), stored.has(99n)]).toEqual([ALL, false]);
  });

  it('undo and redo go a keystroke back and forward; a new change ends the redo', () => {
    const { browser, press, stored } = open();
    press('<right>', '=', '20', '<return>', '<down>', '<right>', '^Z', '^Z');
    expect([...stored.values()]).toEqual([{ petId: 7n, current: 10n, quantity: 11n }]);
    expect(browser.message).toBe('Undone: pet 7 is 11 again.');
    press('^Y');
    expect([stored.get(7n)?.quantity, browser.message]).toEqual([20n, 'Redone: pet 7 is 20 again.']);
    press('<end>', '<right>', '^Y');
    expect([browser.message, [...stored.keys()]]).toEqual(['There is nothing to redo.', [7n, 72n]]);
    press('^Z', '^Z', '^Z', '^Z');
    expect([stored.size, browser.message]).toEqual([
      0,
      'Nothing to undo here. Applied changes: petstore inventory undo',
    ]);
  });

  it('what was applied or discarded cannot be undone here', () => {
    const { browser, press, stored } = open();
    press('<right>', '<right>');
    browser.keep(new Set());
    press('^Z');
    expect([stored.size, browser.message]).toEqual([0, expect.stringMatching(/^Nothing to undo here/)]);
    press('^Y');
    expect([stored.size, browser.message]).toEqual([0, 'There is nothing to redo.']);
  });

  it('where one of several would go below zero nothing is changed, and the marks stay', () => {
    const { browser, press, stored } = open();
    press('^A', '-', '5', '<return>');
    expect([stored.size, browser.marked.size, browser.message]).toEqual([
      0,
      5,
      'Below zero: petstore inventory set 3 -5 --allow-negative',
    ]);
    press('^A');
    expect(browser.marked.size).toBe(0);
  });

  it('Ctrl-X asks for them to be applied, if there are any', () => {
    const { browser, press } = open();
    expect(press('^X')).toBeUndefined();
    expect(browser.message).toContain('There is no change to apply.');
    press('<right>');
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
    expect(press('<right>', '^C')).toBeUndefined();
    expect(browser.mode).toBe('leave');
    expect(press(answer)).toBe(request);
    expect([browser.mode === 'table' || answer === '^C', browser.text]).toEqual([true, '']);
  });

  it('before the stock is there only leaving is possible', () => {
    const browser = new Browser(5n);
    browser.reading = 'Reading';
    expect(pressKeys(browser, '+', 'gold', '^L', '?')).toBeUndefined();
    expect([browser.pending.size, browser.text, browser.mode]).toEqual([0, '', 'table']);
    browser.pending.set(7n, { petId: 7n, current: 8n, quantity: 9n });
    expect(pressKeys(browser, '^C')).toBe('leave');
  });

  it.each(['?', '^C'])('a click after %s answers nothing', (key) => {
    const { browser, press } = open();
    press('<right>', key);
    const { mode } = browser;
    expect([pressOne(browser, { name: 'click', ctrl: false, shift: false, text: '', row: 4 }), browser.mode]).toEqual([
      undefined,
      mode,
    ]);
  });

  it('while the stock is read again everything else works, and Esc or Ctrl-C stops it', () => {
    const { browser, press } = open();
    press('<right>');
    browser.reading = 'Reading';
    press('gold');
    expect(idsOf(browser)).toEqual([7n, 12n]);
    expect([press('^R'), press('^X'), press('<escape>'), press('^C')]).toEqual([undefined, undefined, 'stop', 'stop']);
    // Of a quantity that is typed, or the help, it is the Esc that their line names.
    expect([press('=99', '<escape>'), browser.mode]).toEqual([undefined, 'table']);
  });
});

describe('the command', () => {
  it.each([
    ['in a pipe', {}, []],
    ['with --no-input', { terminal: true }, ['--no-input']],
    ['with TERM=dumb', { terminal: true, env: { TERM: 'dumb' } }, []],
    ['with stderr, where it asks, in a file', { terminal: true, stderr: { isTTY: false } }, []],
  ])('%s needs --plain', async (_what, options, args) => {
    const { code, stderr } = await runIn(withReplies([], options), 'inventory', 'browse', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining('petstore inventory browse --plain')]);
  });

  it.each([
    ['8 nonsense', '"nonsense" is not a quantity'],
    ['4711 3', 'pet 4711 does not exist'],
    ...['bogus', 'apply 7', 'undo 2', 'q now', 'discard all', 'list sold', 'low 3'].map((line) => [
      line,
      `unknown command "${line}"`,
    ]),
    ['8 -99', 'Below zero: petstore --env staging inventory set 8 -93 --allow-negative'],
    ['8 4006381333931', '"4006381333931" is not a quantity'],
    ['status gone', 'status must be one of available, pending, sold, not "gone"'],
    ['sort age', 'quantity, largest first; status, not "age"'],
  ])('--plain from a pipe: %s is refused, and nothing is applied', async (line, reason) => {
    const context = withReplies([json([item(7, 10), item(8, 6)])], { stdin: { text: `7 12\n${line}\napply\n` } });
    const { code, stderr } = await runIn(context, 'inventory', 'browse', '--plain', '--yes');
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    expect(stderr).toContain('line 2');
  });

  it('--plain marks a pet that someone else has changed since', async () => {
    const replies = [json([item(7, 10), item(8, 6)]), json([item(7, 55), item(8, 6)])];
    const context = withReplies(replies, { stdin: { text: '7 12\n8 3\nrefresh\n7 12\n' } });
    const { stderr } = await runIn(context, 'inventory', 'browse', '--plain', '--yes');
    expect(stderr.split('\n').filter((line) => line.includes('to be'))).toEqual([
      'pet 7: 10, to be 12, available',
      'pet 8: 6, to be 3, available',
      '! pet 7: 55, to be 12, available',
      'pet 8: 6, to be 3, available',
      'pet 7: 55, to be 12, available',
    ]);
  });

  it('--plain ends at quit, in capitals too', async () => {
    const context = withReplies([json([item(7, 10)])], { stdin: { text: '7 11\nQuit\nbogus\n' } });
    expect((await runIn(context, 'inventory', 'browse', '--plain', '--yes')).code).toBe(0);
  });

  it('--plain without a terminal and without --yes changes nothing', async () => {
    const context = withReplies([json([item(7, 10)])], { stdin: { text: '7 11\napply\n' } });
    const { code, stderr } = await runIn(context, 'inventory', 'browse', '--plain');
    expect([code, stderr]).toEqual([2, expect.stringContaining('add --yes')]);
  });
});
