import { describe, expect, it } from 'vitest';
import { type InventoryItem, PlainItem } from '../../src/api/item.ts';
import { SORTS, SortedItems } from '../../src/api/sorted-items.ts';
import { PET_STATUSES } from '../../src/api/values.ts';

/** Ids in no order, quantities that repeat, of both signs and beyond 2^53. */
function stock(count: number): PlainItem[] {
  return Array.from({ length: count }, (_, i) => {
    const id = (BigInt(i) * 7_919n) % BigInt(count);
    const quantity = (i % 5 === 0 ? 2n ** 60n : 1n) * BigInt((i % 7) - 3);
    return PlainItem.of(i % 2 === 0 ? id - 9_000_000_000_000_000_000n : id, quantity, PET_STATUSES[i % 3]!);
  });
}

function sorted(items: readonly InventoryItem[], sort: (typeof SORTS)[number], limit?: number): string[] {
  const held = new SortedItems(sort, limit);
  for (let at = 0; at < items.length; at += 1_000) held.add(items.slice(at, at + 1_000));
  return [...held.batches()].flat().map(({ petId }) => petId.toString());
}

function plainly(items: readonly InventoryItem[], sort: (typeof SORTS)[number]): string[] {
  const field = sort.replace('-', '') as 'petId' | 'quantity' | 'status';
  const sign = sort.startsWith('-') ? -1 : 1;
  const compare = (a: InventoryItem, b: InventoryItem): number => (a[field] < b[field] ? -sign : a[field] > b[field] ? sign : 0); // prettier-ignore
  return items.toSorted(compare).map(({ petId }) => petId.toString());
}

describe.each(SORTS)('sorted by %s', (sort) => {
  const items = stock(30_011);
  // Beyond int64, and a status that the contract does not list.
  const odd: InventoryItem = { petId: 5n, quantity: 10n ** 30n, status: 'on loan' };

  it('is in the order of plain JavaScript', () => {
    expect(sorted(items, sort)).toEqual(plainly(items, sort));
  });

  it('is so with items that are not plain', () => {
    const some = [...items.slice(0, 50), odd, ...items.slice(50, 100)];
    expect(sorted(some, sort)).toEqual(plainly(some, sort));
  });

  it.each([1, 10, 29_000])('keeps the first %i of a long list', (limit) => {
    expect(sorted(items, sort, limit)).toEqual(plainly(items, sort).slice(0, limit));
  });
});

it('sorts nothing', () => {
  expect(sorted([], 'quantity')).toEqual([]);
});
