import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { itemToJson, type InventoryItem } from '../../src/api/item.ts';
import { parseJson, stringifyJson } from '../../src/api/json.ts';
import { render } from '../../src/view/formats.ts';
import { visible } from '../../src/view/sanitise.ts';
import { FORMATS } from '../../src/view/output-formats.ts';
import type { RowsView } from '../../src/view/view.ts';
import { anyItem, PLAIN, text, view } from './rendered.ts';

/** RFC 4180 without line breaks in cells: those are escaped before. */
function readCsv(csv: string): string[][] {
  const cells = /("(?:[^"]|"")*"|[^",\n]*)([,\n])/gy;
  const rows: string[][] = [[]];
  let read = 0;
  for (const [whole, cell = '', end] of csv.matchAll(cells)) {
    rows.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === '\n') rows.push([]);
    read += whole.length;
  }
  expect(read).toBe(csv.length);
  return rows.slice(0, -1);
}

describe('formats', () => {
  it('JSON and NDJSON read back as what was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyItem, { maxLength: 8 }), async (items) => {
        const whole = parseJson(await text(view(items), 'json'));
        const lines = (await text(view(items), 'ndjson'))
          .split('\n')
          .slice(0, -1)
          .map((line) => parseJson(line));
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
      csv: [['a', '=x'] as const],
    };
    expect(await Promise.all(FORMATS.map((format) => text(record, format)))).toEqual([
      'Done\\x1b.\nNext.\n',
      '{"a":9007199254740993}\n',
      '{"a":9007199254740993}\n',
      "a\n'=x\n",
    ]);
  });

  it('CSV reads back as what was shown: numbers exactly, texts as visible, none of them a formula', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyItem, { maxLength: 8 }), async (items) => {
        const [header, ...rows] = readCsv(await text(view(items), 'csv'));
        expect(header).toEqual(['petId', 'quantity', 'status']);
        expect(rows.map(([petId = '', quantity = '']) => [BigInt(petId), BigInt(quantity)])).toEqual(
          items.map(({ petId, quantity }) => [petId, quantity]),
        );
        for (const [i, row] of rows.entries()) {
          const shown = visible(items[i]?.status ?? '');
          expect([shown, `'${shown}`]).toContain(row[2]);
          expect(row[2]).not.toMatch(/^[=+\-@]/);
        }
      }),
    );
  });

  it.each([
    ['json', '[]\n'],
    ['ndjson', ''],
    ['csv', 'petId,quantity,status\n'],
    ['table', ''],
  ] as const)('fault 58: an empty list as %s', async (format, shown) => {
    expect(await text(view([]), format)).toBe(shown);
  });

  it.each([
    ['json', '[\n  {"petId":7,"quantity":12,"status":"sold"}'],
    ['ndjson', '{"petId":7,"quantity":12,"status":"sold"}\n'],
    ['csv', 'petId,quantity,status\n7,12,sold\n'],
    ['table', ''],
  ] as const)('fault 56: %s stops before the bad row, and says that it did', async (format, shown) => {
    const broken: RowsView<InventoryItem> = {
      ...view([]),
      rows: (async function* () {
        yield [{ petId: 7n, quantity: 12n, status: 'sold' }];
        throw new Error('bad row');
      })(),
    };
    const pieces: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const piece of render(broken, {
        format,
        width: 80,
        isTTY: true,
        isUnicode: true,
        style: PLAIN,
        redact: String,
      }))
        pieces.push(String(piece));
    };
    await expect(reading()).rejects.toThrow('bad row');
    expect(pieces.join('')).toBe(shown);
  });
});
