import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { InventoryItem } from '../../src/api/item.ts';
import { visible, visibleLines } from '../../src/view/words.ts';
import { createStyle, isColoured } from '../../src/view/style.ts';
import { FORMATS } from '../../src/view/view.ts';
import { anyItem, PLAIN, text, view } from './rendered.ts';

/** What must never reach a terminal. */
const HARMFUL =
  // eslint-disable-next-line no-control-regex -- control characters are the point
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/u;

/** Any code point, half a pair, and often what is to be escaped. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\u001b', '\u009b', '\r', '\u202e', '\ufff9', '\u{e0001}', '\u{e007f}', 'a', ' '),
  ),
});

describe('sanitising', () => {
  it('fault 101: leaves nothing that a terminal obeys, and all that can be read', () => {
    fc.assert(
      fc.property(anyText, (given) => {
        const shown = visible(given);
        expect(shown).not.toMatch(HARMFUL);
        expect(visible(shown)).toBe(shown);
        // What needed no escape is there still, in order.
        for (const part of given.split(/[^\x20-\x7e]+/)) expect(shown).toContain(part);
      }),
    );
  });

  it.each([
    ['plain é 猫 👩‍👩‍👧', 'plain é 猫 👩‍👩‍👧'],
    ['\u001b[31m', '\\x1b[31m'],
    ['a\rb\nc\td', 'a\\x0db\\x0ac\\x09d'],
    ['\u009b2J', '\\x9b2J'],
    ['\u202eevil\u2066', '\\u202eevil\\u2066'],
    ['\u{e0041}', '\\u{e0041}'],
    ['\ud800', '\\ud800'],
  ])('shows %j as %j', (given, shown) => {
    expect(visible(given)).toBe(shown);
  });

  it('keeps the lines of our own texts', () => {
    expect(visibleLines('a\nb\u001b')).toBe('a\nb\\x1b');
  });
});

describe('fault 51: any int64 comes out digit for digit', () => {
  it.each(FORMATS.map((format) => [format]))('%s', async (format) => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyItem, { maxLength: 8 }), async (given) => {
        const items = given.map((item) => ({ ...item, status: 'sold' }));
        const shown = await text(view(items), format);
        const numbers = [...shown.matchAll(/-?\d+/g)].map(([digits]) => BigInt(digits));
        expect(numbers).toEqual(items.flatMap(({ petId, quantity }) => [petId, quantity]));
      }),
      { numRuns: 40 },
    );
  });
});

describe('tables', () => {
  const CAT = { petId: 7n, quantity: 12n, status: 'available' };
  const BIG = { petId: 9223372036854775807n, quantity: -1n, status: '猫猫' };

  it('in a pipe are columns without lines or escapes', async () => {
    expect(await text(view([CAT, BIG]), 'table')).toBe(
      '                Pet  Quantity  Status\n' +
        '                  7        12  available\n' +
        '9223372036854775807        -1  猫猫\n',
    );
    expect(await text(view([CAT], false), 'table')).toBe('7  12  available\n');
  });

  it('on a terminal have lines', async () => {
    expect(await text(view([CAT]), 'table', { width: 80 })).toBe(
      [
        '┌─────┬──────────┬───────────┐',
        '│ Pet │ Quantity │ Status    │',
        '├─────┼──────────┼───────────┤',
        '│   7 │       12 │ available │',
        '└─────┴──────────┴───────────┘',
        '',
      ].join('\n'),
    );
  });

  it('fault 105: narrower than their numbers, they turn into lines', async () => {
    expect(await text(view([BIG, CAT]), 'table', { width: 30 })).toBe(
      'Pet: 9223372036854775807\nQuantity: -1\nStatus: 猫猫\n\nPet: 7\nQuantity: 12\nStatus: available\n\n',
    );
  });

  it('fault 105: fit any width that can hold them, and fail at none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyItem, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 200 }),
        async (items, width) => {
          const shown = await text(view(items), 'table', { width });
          for (const { petId } of items) expect(shown).toContain(petId.toString());
          if (!shown.startsWith('┌')) return;
          for (const line of shown.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it('fault 105: beyond the rows that are drawn, columns are cut to the terminal, or turn into lines', async () => {
    const statuses = ['available for a very long time', 'x'.repeat(60), '猫 é 猫猫猫猫猫猫猫猫猫猫猫猫猫'];
    const items = Array.from({ length: 1_002 }, (_, i) => ({ ...BIG, status: statuses[i % 3] ?? '' }));
    const linesAt = async (width: number): Promise<string[]> =>
      (await text(view(items), 'table', { width })).split('\n');
    const row = (status: string): string => `9223372036854775807        -1  ${status}`;
    expect((await linesAt(55)).slice(0, 4)).toEqual([
      '                Pet  Quantity  Status',
      row('available for a very lo…'),
      row(`${'x'.repeat(23)}…`),
      row('猫 é 猫猫猫猫猫猫猫猫猫…'),
    ]);
    expect((await linesAt(20)).slice(0, 4)).toEqual([
      'Pet: 9223372036854775807',
      'Quantity: -1',
      'Status: available',
      '  for a very long',
    ]);
  });

  describe('of more rows than are held', () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => ({ petId: BigInt(i), quantity: 1n, status: 'sold' })); // prettier-ignore
    /** The lines of these rows, which come after those that are held. */
    const linesAfter = async (later: readonly InventoryItem[], screen: Parameters<typeof text>[2]): Promise<string[]> =>
      (await text({ ...view([]), rows: [many(10_001), later] }, 'table', screen)).trimEnd().split('\n');

    it.each([
      ['have room for any int64', 80, `${'0'.padStart(20)}  ${'1'.padStart(20)}  sold`],
      ['are as wide as the first rows where that room is not there', 40, '    0         1  sold'],
    ])('%s, and are cut at no length', async (_title, width, line) => {
      const lines = await linesAfter(many(90_000), { width });
      expect([lines.length, lines[1], lines[10_002]]).toEqual([100_002, line, line]);
    });

    it('show a later text whole in a pipe, and cut at the width of a terminal', async () => {
      const later = [{ petId: 1n, quantity: 1n, status: 'a status that is longer than all before it' }];
      expect((await linesAfter(later, {})).at(-1)).toContain('a status that is longer than all before it');
      expect((await linesAfter(later, { width: 80 })).at(-1)).toMatch(/ a sta…$/);
    });

    it('are lines of `name: value` where nothing else fits, one row apart', async () => {
      const lines = await linesAfter(many(1), { width: 10 });
      const rest = ['Quantity: 1', 'Status:', '  sold'];
      expect(lines.slice(-9)).toEqual(['Pet: 10000', ...rest, '', 'Pet: 0', ...rest]);
    });
  });
});

describe('fault 103: colour', () => {
  it.each([
    ['auto', {}, false, false],
    ['auto', {}, true, true],
    ['auto', { TERM: 'xterm-256color' }, true, true],
    ['auto', { COLORTERM: 'truecolor' }, true, true],
    ['auto', { NO_COLOR: '1' }, true, false],
    ['auto', { NO_COLOR: '' }, true, true],
    ['auto', { TERM: 'dumb' }, true, false],
    ['auto', { FORCE_COLOR: '1' }, false, true],
    ['auto', { FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    ['auto', { FORCE_COLOR: '0' }, true, false],
    ['auto', { FORCE_COLOR: 'false' }, true, false],
    ['auto', { FORCE_COLOR: '3' }, false, true],
    ['never', { FORCE_COLOR: '1' }, true, false],
    ['always', { NO_COLOR: '1', TERM: 'dumb' }, false, true],
  ] as const)('--color %s with %o, terminal %s: %s', (choice, env, isTTY, expected) => {
    expect(isColoured({ choice, env, isTTY })).toBe(expected);
  });

  it('changes nothing but the colour', async () => {
    const style = await createStyle({ choice: 'always', env: {}, isTTY: true });
    expect(stripVTControlCharacters(style.bad('error:'))).toBe('error:');
    expect(PLAIN.bad('error:')).toBe('error:');
  });
});

it('a table of very many rows that come at once', async () => {
  const rows = Array.from({ length: 200_000 }, () => ({ petId: 1n, quantity: 2n, status: 'sold' }));
  expect((await text({ ...view([]), rows: [rows] }, 'table')).split('\n')).toHaveLength(200_002);
});
