import { describe, expect, it } from 'vitest';
import { type InventoryItem, itemToJsonText } from '../../src/api/item.ts';
import { quickRow, SORTS, SortedItems } from '../../src/api/long-list.ts';
import { INT64_MAX, INT64_MIN, PET_STATUSES, type PetStatus } from '../../src/api/values.ts';

function plain(petId: bigint, quantity: bigint, status: PetStatus): InventoryItem {
  return (
    quickRow(`{"petId":${petId},"quantity":${quantity},"status":"${status}"}`, 0)?.item ?? { petId, quantity, status }
  );
}

/** Ids in no order, quantities that repeat, of both signs and beyond 2^53. */
function stock(count: number): InventoryItem[] {
  return Array.from({ length: count }, (_, i) => {
    const id = (BigInt(i) * 7_919n) % BigInt(count);
    const quantity = (i % 5 === 0 ? 2n ** 60n : 1n) * BigInt((i % 7) - 3);
    return plain(i % 2 === 0 ? id - 9_000_000_000_000_000_000n : id, quantity, PET_STATUSES[i % 3]!);
  });
}

function sorted(items: readonly InventoryItem[], sort: (typeof SORTS)[number], limit?: number): string[] {
  const held = new SortedItems();
  for (let at = 0; at < items.length; at += 1_000) held.add(items.slice(at, at + 1_000));
  return [...held.batches(sort, limit)].flat().map(itemToJsonText);
}

function plainly(items: readonly InventoryItem[], sort: (typeof SORTS)[number], limit?: number): string[] {
  const field = sort.replace('-', '') as 'petId' | 'quantity' | 'status';
  const sign = sort.startsWith('-') ? -1 : 1;
  const compare = (a: InventoryItem, b: InventoryItem): number => (a[field] < b[field] ? -sign : a[field] > b[field] ? sign : 0); // prettier-ignore
  return items.toSorted(compare).slice(0, limit).map(itemToJsonText);
}

describe.each(SORTS)('sorted by %s', (sort) => {
  const items = stock(30_011);
  // Beyond int64, and a status that the contract does not list.
  const odd: InventoryItem = { petId: 5n, quantity: 10n ** 30n, status: 'on loan' };

  it.each([undefined, 0, 10, 29_000])('is in the order of plain JavaScript, up to %s items', (limit) => {
    expect(sorted(items, sort, limit)).toEqual(plainly(items, sort, limit));
  });

  it('is so with items that are not plain', () => {
    const some = [...items.slice(0, 50), odd, ...items.slice(50, 100)];
    expect(sorted(some, sort)).toEqual(plainly(some, sort));
  });
});

describe('integers of any length', () => {
  const edges = [
    0n, 1n, -1n, 97n, 2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n - 1n, 2n ** 32n, -(2n ** 32n), 999_999_999_999_999n,
    -999_999_999_999_999n, 1_000_000_000_000_000n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 1n - 2n ** 53n,
    -(2n ** 53n), -(2n ** 53n) - 1n, 8_999_999_999_999_999_999n, INT64_MAX, INT64_MIN,
  ]; // prettier-ignore
  const items = edges.flatMap((petId, i) => [
    plain(petId, edges[(i * 5) % edges.length]!, PET_STATUSES[i % 3]!),
    plain(edges[(i * 8) % edges.length]!, petId, 'sold'),
  ]);

  it.each(SORTS)('are in their order, sorted by %s', (sort) => {
    expect(sorted(items, sort)).toEqual(plainly(items, sort));
  });

  it('are read digit for digit', () => {
    const read = edges.map((value) => [plain(value, 0n, 'sold').petId, plain(0n, value, 'sold').quantity]);
    expect(read).toEqual(edges.map((value) => [value, value]));
  });
});
