import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { itemToJson } from '../../src/api/item.ts';
import { parseJson, stringifyJson } from '../../src/api/json.ts';
import { visible } from '../../src/view/words.ts';
import { FORMATS } from '../../src/view/view.ts';
import { anyItem, text, view } from './rendered.ts';

describe('formats', () => {
  it('JSON and NDJSON read back as what was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyItem, { maxLength: 8 }), async (items) => {
        const whole = parseJson(await text(view(items), 'json')) as never[];
        const lines = (await text(view(items), 'ndjson'))
          .split('\n')
          .slice(0, -1)
          .map((line) => parseJson(line));
        const given = items.map((item) => stringifyJson(itemToJson(item)));
        expect([whole.map(stringifyJson), lines.map(stringifyJson)]).toEqual([given, given]);
      }),
    );
  });

  it('fault 102: CSV quotes what it must, prefixes formulas, and keeps numbers numbers', async () => {
    const statuses = ['a,b', 'say "hi"', '=SUM(A1)', '+1', '-1', '@x', '\tx', '\rx', ' =1', 'é', '＝1'];
    const cells = ['"a,b"', '"say ""hi"""', "'=SUM(A1)", "'+1", "'-1", "'@x", "'\\x09x", "'\\x0dx", ' =1', 'é', "'＝1"];
    const items = statuses.map((status) => ({ petId: -5n, quantity: -1n, status }));
    const lines = ['petId,quantity,status', ...cells.map((cell) => `-5,-1,${cell}`)];
    expect(await text(view(items), 'csv')).toBe(`${lines.join('\n')}\n`);
  });

  it.each(FORMATS)('%s begins with the first rows, not where a filter left none of a batch', async (format) => {
    const pieces: string[] = [];
    const rows = (async function* () {
      yield await Promise.resolve([]);
      throw new Error('broken');
    })();
    await expect(text({ ...view([]), rows }, format, {}, pieces)).rejects.toThrow('broken');
    expect(pieces).toEqual([]);
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
        const [header, ...rows] = parse(await text(view(items), 'csv'));
        expect(header).toEqual(['petId', 'quantity', 'status']);
        expect(rows.map(([petId = '', quantity = '']) => [BigInt(petId), BigInt(quantity)])).toEqual(
          items.map(({ petId, quantity }) => [petId, quantity]),
        );
        for (const [i, row] of rows.entries()) {
          const shown = visible(items[i]?.status ?? '');
          expect([shown, `'${shown}`]).toContain(row[2]);
          expect(row[2]).not.toMatch(/^[=+\-@＝＋－＠]/);
        }
      }),
    );
  });
});
