import { describe, expect, it } from 'vitest';
import { type InventoryItem, itemToJsonText } from '../../src/api/item.ts';
import { readInventoryList } from '../../src/api/read-list.ts';
import { Failure } from '../../src/errors.ts';

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Uint8Array, size = 7): Promise<{ items: InventoryItem[]; problem?: unknown }> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const items: InventoryItem[] = [];
  try {
    for await (const batch of readInventoryList(pieces(bytes, size))) items.push(...batch.map(plain));
    return { items };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { what, problem } = error.details as { what: string; problem: string };
    return { items, problem: { what, problem } };
  }
}

/** With its values, whether it holds them or the digits. */
const plain = ({ petId, quantity, status, extra }: InventoryItem): InventoryItem => ({
  petId,
  quantity,
  status,
  ...(extra !== undefined && { extra }),
});

const CAT: InventoryItem = { petId: 1n, quantity: 2n, status: 'available' };
const CAT_TEXT = '{"petId":1,"quantity":2,"status":"available"}';

describe('readInventoryList', () => {
  it.each([
    [
      'fault 51: ids beyond 2^53, exactly',
      '[{"petId":9007199254740993,"quantity":-1,"status":"sold"},{"petId":9223372036854775807,"quantity":0,"status":"sold"}]',
      [
        { petId: 9007199254740993n, quantity: -1n, status: 'sold' },
        { petId: 9223372036854775807n, quantity: 0n, status: 'sold' },
      ],
    ],
    ['fault 60: a BOM', `\uFEFF[${CAT_TEXT}]`, [CAT]],
  ])('reads %s, in pieces of every size', async (_name, text, items) => {
    for (const size of [1, 2, 3, 5, 64, 4096]) expect(await read(text, size)).toEqual({ items });
  });

  it.each([
    ['fault 55: an unknown status and extra fields', '"on loan","price":12.50,"ids":[9007199254740993]'],
    ['a number of any length in an extra field', `"sold","serial":${'7'.repeat(100_000)}`],
    ['a row of nearly a million characters', `"sold","note":"${'}'.repeat(1_000_000)}"`],
  ])('keeps %s as it is written', async (_name, rest) => {
    const text = `{"petId":1,"quantity":2,"status":${rest}}`;
    const { items } = await read(`[${text},${CAT_TEXT}]`, 1 << 16);
    expect(items.map(itemToJsonText)).toEqual([text, CAT_TEXT]);
  });

  // prettier-ignore
  it.each([
    ['fault 56: a missing field', 'Row 2 of the list', 'lacks the field quantity', `[${CAT_TEXT},{"petId":2}]`],
    ['a duplicate key', 'Row 2 of the list', 'is not JSON: duplicate key "petId"', `[${CAT_TEXT},{"petId":1,"petId":1}]`],
    ['depth 100k', 'Row 2 of the list', 'is not JSON: nested deeper than 128 levels', `[${CAT_TEXT},{"a":${'['.repeat(100_000)}`],
    ['a row that is not an object', 'The list', 'has "7" where "{" belongs (after row 1)', `[${CAT_TEXT},7]`],
    ['a comma too many', 'The list', 'has "]" where "{" belongs (after row 1)', `[${CAT_TEXT},]`],
    ['no comma', 'The list', 'has "{" where "," or "]" belongs (after row 1)', `[${CAT_TEXT}${CAT_TEXT}]`],
    ['text after the end', 'The list', 'has text after its end (after row 1)', `[${CAT_TEXT}]x`],
    ['an early end', 'The list', 'ends too early (after row 1)', `[${CAT_TEXT}`],
    ['no array', 'The list', 'has "{" where "[" belongs', '{"error":1}'],
    ['nothing at all', 'The list', 'ends too early', ''],
  ])('fault 57: refuses %s', async (_name, what, problem, text) => {
    expect(await read(text, 16)).toEqual({ items: text.startsWith('[') ? [CAT] : [], problem: { what, problem } });
  });

  it.each(['petId', 'quantity'])('refuses a %s of a million digits, without computing it', async (field) => {
    const row = CAT_TEXT.replace(new RegExp(`"${field}":\\d`), `"${field}":${'7'.repeat(1_000_000)}`);
    expect(await read(`[${row}]`, 4096)).toEqual({
      items: [],
      problem: {
        what: 'Row 1 of the list',
        problem: expect.stringContaining(`${'7'.repeat(40)}… as its ${field}`) as string,
      },
    });
  });

  it.each([1 << 16, 1 << 22])('refuses a row of more than 1,048,576 characters, in pieces of %i', async (size) => {
    const row = `{"petId":2,"quantity":2,"status":"sold","note":"${'n'.repeat(1 << 20)}"}`;
    expect(await read(`[${CAT_TEXT},${row}]`, size)).toEqual({
      items: [CAT],
      problem: { what: 'The list', problem: 'has a row of more than 1048576 characters (after row 1)' },
    });
  });

  it('fault 60: refuses invalid UTF-8', async () => {
    const bytes = new Uint8Array([...new TextEncoder().encode('[{"petId":1,"quantity":2,"status":"'), 0xff]);
    expect(await read(bytes)).toEqual({ items: [], problem: { what: 'The list', problem: 'is not valid UTF-8' } });
  });
});
