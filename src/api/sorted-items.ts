/** Sorts the items of a list, however long: exact, and in their old order where the field is the same. */
import type { InventoryItem } from './item.ts';
import { ItemTable } from './item-table.ts';
import { ITEM_FIELDS, type ItemField } from './values.ts';

export const SORTS = [...ITEM_FIELDS, ...ITEM_FIELDS.map((field) => `-${field}` as const)];
/** A field; with a minus the largest first. */
export type Sort = (typeof SORTS)[number];

const BATCH = 1_000;
/** With a limit, this many items are held at least before the rest of them is dropped. */
const LEAST_HELD = 10_000;

export class SortedItems {
  private readonly limit: number;
  private readonly field: ItemField;
  private readonly sign: 1 | -1;
  private table = new ItemTable();
  private spare = new ItemTable();

  constructor(sort: Sort, limit = Number.POSITIVE_INFINITY) {
    this.limit = limit;
    this.field = ITEM_FIELDS.find((field) => sort.endsWith(field)) ?? 'petId';
    this.sign = sort.startsWith('-') ? -1 : 1;
  }

  add(items: readonly InventoryItem[]): void {
    for (const item of items) this.table.put(item);
    if (this.table.count >= 2 * Math.max(this.limit, LEAST_HELD)) this.keepFirst();
  }

  *batches(): Generator<InventoryItem[]> {
    const { table } = this;
    const order = table.order(this.field, this.sign).subarray(0, this.limit);
    for (let at = 0; at < order.length; at += BATCH) {
      const items: InventoryItem[] = [];
      for (const index of order.subarray(at, at + BATCH)) items.push(table.at(index));
      yield items;
    }
  }

  private keepFirst(): void {
    const kept = [...this.batches()];
    // Those that are kept are read from the one and put into the other.
    [this.table, this.spare] = [this.spare, this.table];
    this.table.clear();
    for (const items of kept) for (const item of items) this.table.put(item);
  }
}
