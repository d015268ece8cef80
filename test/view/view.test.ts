import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { itemToJson, type InventoryItem } from '../../src/api/item.ts';
import { parseJson, stringifyJson } from '../../src/api/json.ts';
import { INT64_MAX, INT64_MIN } from '../../src/api/values.ts';
import { render } from '../../src/view/render.ts';
import { visible, visibleLines } from '../../src/view/sanitise.ts';
import { colourLevel, createStyle } from '../../src/view/style.ts';
import { type Format, FORMATS, type RowsView } from '../../src/view/view.ts';

const PLAIN = await createStyle(0);
// eslint-disable-next-line no-control-regex -- what must never reach a terminal
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

function view(items: readonly InventoryItem[], header = true): RowsView<InventoryItem> {
  return {
    view: 'rows',
    columns: (['petId', 'quantity', 'status'] as const).map((name) => ({ name, cell: (item) => item[name] })),
    rows: (async function* () {
      for (let i = 0; i < items.length; i += 3) yield items.slice(i, i + 3);
    })(),
    json: itemToJson,
    header,
    empty: '',
  };
}

async function text(
  shown: Parameters<typeof render>[0],
  format: Format,
  screen: { width?: number; isTTY?: boolean } = {},
): Promise<string> {
  let result = '';
  for await (const piece of render(shown, {
    format,
    width: screen.width,
    isTTY: screen.isTTY ?? false,
    style: PLAIN,
  })) {
    result += piece;
  }
  return result;
}

const anyItem = fc.record({
  petId: fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  quantity: fc.oneof(fc.bigInt({ min: -9n, max: 9n }), fc.bigInt()),
  status: fc.oneof(fc.constantFrom('available', 'pending', 'sold'), fc.string({ unit: 'binary' })),
});

describe('sanitising', () => {
  it('fault 101: leaves nothing that a terminal obeys, and all that can be read', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
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

describe('formats', () => {
  it('JSON and NDJSON read back as what was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyItem, { maxLength: 8 }), async (items) => {
        const whole = parseJson(await text(view(items), 'json'));
        const lines = (await text(view(items), 'ndjson')).split('\n').slice(0, -1).map(parseJson);
        const given = items.map((item) => stringifyJson(itemToJson(item)));
        expect((whole as never[]).map(stringifyJson)).toEqual(given);
        expect(lines.map(stringifyJson)).toEqual(given);
      }),
    );
  });

  it('fault 102: CSV quotes what it must, prefixes formulas, and keeps numbers numbers', async () => {
    const items = ['a,b', 'say "hi"', '=SUM(A1)', '+1', '-1', '@x', '\tx', '\rx', ' =1', 'é'].map((status) => ({
      petId: -5n,
      quantity: -1n,
      status,
    }));
    expect(await text(view(items), 'csv')).toBe(
      'petId,quantity,status\n' +
        ['"a,b"', '"say ""hi"""', "'=SUM(A1)", "'+1", "'-1", "'@x", "'\\x09x", "'\\x0dx", ' =1', 'é']
          .map((status) => `-5,-1,${status}\n`)
          .join(''),
    );
  });

  it('a record is its text, one JSON line, or two lines of CSV', async () => {
    const record = {
      view: 'record' as const,
      text: 'Done\u001b.\nNext.',
      json: new Map([['a', 9007199254740993n]]),
      fields: [{ name: 'a', value: '=x' }],
    };
    expect(await Promise.all(FORMATS.map((format) => text(record, format)))).toEqual([
      'Done\\x1b.\nNext.\n',
      '{"a":9007199254740993}\n',
      '{"a":9007199254740993}\n',
      "a\n'=x\n",
    ]);
  });
});

describe('tables', () => {
  const CAT = { petId: 7n, quantity: 12n, status: 'available' };
  const BIG = { petId: 9223372036854775807n, quantity: -1n, status: '猫猫' };

  it('in a pipe are columns without lines or escapes', async () => {
    expect(await text(view([CAT, BIG]), 'table')).toBe(
      '              petId  quantity  status\n' +
        '                  7        12  available\n' +
        '9223372036854775807        -1  猫猫\n',
    );
    expect(await text(view([CAT], false), 'table')).toBe('7  12  available\n');
  });

  it('on a terminal have lines', async () => {
    expect(await text(view([CAT]), 'table', { isTTY: true, width: 80 })).toBe(
      [
        '┌───────┬──────────┬───────────┐',
        '│ petId │ quantity │ status    │',
        '├───────┼──────────┼───────────┤',
        '│     7 │       12 │ available │',
        '└───────┴──────────┴───────────┘',
        '',
      ].join('\n'),
    );
  });

  it('fault 105: narrower than they are wide, they cut texts, then turn into lines; never a number', async () => {
    const at = async (width: number): Promise<string> => text(view([BIG, CAT]), 'table', { isTTY: true, width });
    expect(await at(46)).toContain('│ 猫猫     │'.slice(0, 4));
    expect(await at(30)).toBe(
      'petId: 9223372036854775807\nquantity: -1\nstatus: 猫猫\n\npetId: 7\nquantity: 12\nstatus: available\n',
    );
  });

  it('fault 105: fit any width that can hold them, and fail at none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyItem, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 0, max: 200 }),
        async (items, width) => {
          const shown = await text(view(items), 'table', { isTTY: true, width });
          for (const { petId } of items) expect(shown).toContain(petId.toString());
          if (!shown.startsWith('┌')) return;
          for (const line of shown.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(width || 80);
        },
      ),
    );
  });

  it('are cut at no length: 100,000 rows, the last like the first', async () => {
    const items = Array.from({ length: 100_000 }, (_, i) => ({ petId: BigInt(i), quantity: 1n, status: 'sold' }));
    const lines = (await text(view(items), 'table', { isTTY: true, width: 80 })).split('\n');
    expect([lines.length, lines[1], lines.at(-2)]).toEqual([100_002, '    0         1  sold', '99999         1  sold']);
  });

  it('fault 56: print nothing when a row is bad', async () => {
    const broken: RowsView<InventoryItem> = {
      ...view([]),
      rows: (async function* () {
        yield [CAT];
        throw new Error('bad row');
      })(),
    };
    const pieces = render(broken, { format: 'table', width: 80, isTTY: true, style: PLAIN });
    await expect(pieces.next()).rejects.toThrow('bad row');
  });
});

describe('fault 103: colour', () => {
  it.each([
    ['auto', {}, false, 0],
    ['auto', {}, true, 1],
    ['auto', { TERM: 'xterm-256color' }, true, 2],
    ['auto', { COLORTERM: 'truecolor' }, true, 3],
    ['auto', { NO_COLOR: '1' }, true, 0],
    ['auto', { NO_COLOR: '' }, true, 1],
    ['auto', { TERM: 'dumb' }, true, 0],
    ['auto', { FORCE_COLOR: '1' }, false, 1],
    ['auto', { FORCE_COLOR: '1', NO_COLOR: '1' }, false, 1],
    ['auto', { FORCE_COLOR: '0' }, true, 0],
    ['auto', { FORCE_COLOR: 'false' }, true, 0],
    ['auto', { FORCE_COLOR: '3' }, false, 3],
    ['never', { FORCE_COLOR: '1' }, true, 0],
    ['always', { NO_COLOR: '1', TERM: 'dumb' }, false, 1],
  ] as const)('--color %s with %o, terminal %s: level %i', (choice, env, isTTY, level) => {
    expect(colourLevel({ choice, env, isTTY })).toBe(level);
  });

  it('changes nothing but the colour', async () => {
    const style = await createStyle(1);
    expect(style.red('error:')).toBe('\u001b[31merror:\u001b[39m');
    expect(PLAIN.red('error:')).toBe('error:');
  });
});
