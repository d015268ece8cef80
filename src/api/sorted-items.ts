/** Sorts the items of a list, however long: exact, and in their old order where the field is the same. */
import { type InventoryItem, PlainItem } from './item.ts';
import { ITEM_FIELDS, type ItemField, PET_STATUSES } from './values.ts';

export const SORTS = [...ITEM_FIELDS, ...ITEM_FIELDS.map((field) => `-${field}` as const)];
/** A field; with a minus the largest first. */
export type Sort = (typeof SORTS)[number];

const BATCH = 1_000;
/** With a limit, this many items are held at least before the rest of them is dropped. */
const LEAST_HELD = 10_000;

/** Holds items by their numbers, in 17 bytes each: as objects, a million of them take ten times as much. */
export class SortedItems {
  private readonly limit: number;
  private readonly field: ItemField;
  private readonly sign: 1 | -1;
  private count = 0;
  private petId = new BigInt64Array(BATCH);
  private quantity = new BigInt64Array(BATCH);
  /** Index in PET_STATUSES, which are in the order of the alphabet. */
  private status = new Uint8Array(BATCH);
  /** Items that are not plain, by their index. */
  private others = new Map<number, InventoryItem>();

  constructor(sort: Sort, limit = Number.POSITIVE_INFINITY) {
    this.limit = limit;
    this.field = ITEM_FIELDS.find((field) => sort.endsWith(field)) ?? 'petId';
    this.sign = sort.startsWith('-') ? -1 : 1;
  }

  add(items: readonly InventoryItem[]): void {
    for (const item of items) this.put(item);
    if (this.count >= 2 * Math.max(this.limit, LEAST_HELD)) this.keepFirst();
  }

  *batches(): Generator<InventoryItem[]> {
    const order = this.order();
    for (let at = 0; at < order.length; at += BATCH) {
      yield Array.from(order.subarray(at, at + BATCH), (index) => this.at(index));
    }
  }

  private put(item: InventoryItem): void {
    const index = this.count++;
    if (index === this.status.length) this.grow();
    if (!(item instanceof PlainItem)) {
      this.others.set(index, item);
      return;
    }
    this.petId[index] = item.petId;
    this.quantity[index] = item.quantity;
    this.status[index] = PET_STATUSES.findIndex((status) => status === item.status);
  }

  /** Doubles the room. `transfer` frees the old buffers at once, which the garbage collector does late. */
  private grow(): void {
    const { petId, quantity, status } = this;
    this.petId = new BigInt64Array(petId.buffer.transfer(2 * petId.byteLength));
    this.quantity = new BigInt64Array(quantity.buffer.transfer(2 * quantity.byteLength));
    this.status = new Uint8Array(status.buffer.transfer(2 * status.byteLength));
  }

  private at(index: number): InventoryItem {
    return (
      this.others.get(index) ??
      PlainItem.of(this.petId[index]!, this.quantity[index]!, PET_STATUSES[this.status[index]!]!)
    );
  }

  /** Returns the indexes of the items in their order. */
  private order(): Uint32Array {
    const { count, field, others, sign } = this;
    const kept = Math.min(this.limit, count);
    if (others.size === 0) {
      const column = field === 'status' ? Uint16Array.from(this.status) : this[field];
      return orderOf(column, count, sign).subarray(0, kept);
    }
    const keys = Array.from({ length: count }, (_, index) => this.at(index)[field]);
    const compare = (a: number, b: number): number =>
      keys[a]! < keys[b]! ? -sign : keys[a]! > keys[b]! ? sign : a - b;
    return Uint32Array.from(keys.keys()).sort(compare).subarray(0, kept);
  }

  private keepFirst(): void {
    const kept = [...this.batches()];
    this.count = 0;
    this.others = new Map();
    for (const items of kept) for (const item of items) this.put(item);
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * Returns the indexes of the first `count` keys in their order: a radix sort over 16 bits at a time, from the lowest to
 * the highest, whose first bit is the sign.
 */
function orderOf(keys: Uint16Array | BigInt64Array, count: number, sign: 1 | -1): Uint32Array {
  const words = new Uint16Array(keys.buffer);
  const perKey = keys.BYTES_PER_ELEMENT / words.BYTES_PER_ELEMENT;
  let order = Uint32Array.from({ length: count }, (_, index) => index);
  let sorted = new Uint32Array(count);
  const starts = new Uint32Array(0x10000);
  for (let word = 0; word < perKey; word++) {
    const at = IS_LITTLE_ENDIAN ? word : perKey - 1 - word;
    const flip = (word === perKey - 1 ? 0x8000 : 0) ^ (sign < 0 ? 0xffff : 0);
    starts.fill(0);
    for (let i = 0; i < count; i++) starts[words[perKey * i + at]! ^ flip]!++;
    if (starts.includes(count)) continue;
    for (let value = 0, start = 0; value < starts.length; value++) {
      const next = start + starts[value]!;
      starts[value] = start;
      start = next;
    }
    for (const index of order) sorted[starts[words[perKey * index + at]! ^ flip]!++] = index;
    [order, sorted] = [sorted, order];
  }
  return order;
}
