/** Holds many items, plain ones by their values, all others as they are, and sorts them. */
import { type InventoryItem, PlainItem } from './item.ts';
import { type ItemField, type NumberField, PET_STATUSES, ITEM_FIELDS } from './values.ts';

/** Rows for which there is room at first. Memory that is not used yet costs nothing; what doubling frees is not always given back. */
const FIRST_ROOM = 1 << 21;

/** Exact int64s: those from 0 up to 2^32 in 4 bytes each, and in 8 as soon as there is another. */
class Integers {
  private low = new Uint32Array(FIRST_ROOM);
  private high: Int32Array<ArrayBuffer> | undefined;

  /** From the lowest bits to the highest. */
  get parts(): (Uint32Array | Int32Array)[] {
    return this.high === undefined ? [this.low] : [this.low, this.high];
  }

  /** Returns a number where it is exact. */
  at(index: number): number | bigint {
    const low = this.low[index]!;
    const high = this.high?.[index] ?? 0;
    const value = high * 2 ** 32 + low;
    return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) + BigInt(low);
  }

  put(index: number, value: number | bigint): void {
    const isLong = typeof value === 'bigint';
    const high = isLong ? Number(value >> 32n) : Math.floor(value / 2 ** 32);
    if (high !== 0) this.high ??= new Int32Array(this.low.length);
    if (this.high !== undefined) this.high[index] = high;
    // A typed array takes a number modulo 2^32.
    this.low[index] = isLong ? Number(BigInt.asUintN(32, value)) : value;
  }

  /** Doubles the room. `transfer` frees the old buffer at once, which the garbage collector does late. */
  grow(): void {
    this.low = new Uint32Array(this.low.buffer.transfer(2 * this.low.byteLength));
    this.high &&= new Int32Array(this.high.buffer.transfer(2 * this.high.byteLength));
  }
}

/** Plain items by their values, in 10 to 18 bytes each: as objects, a million of them take ten times as much. */
class Columns {
  readonly petId = new Integers();
  readonly quantity = new Integers();
  /** Index in PET_STATUSES, which are in the order of the alphabet. */
  status = new Uint16Array(FIRST_ROOM);

  put(index: number, item: PlainItem): void {
    const { status } = item;
    this.petId.put(index, item.numberOf('petId'));
    this.quantity.put(index, item.numberOf('quantity'));
    this.status[index] = PET_STATUSES.findIndex((each) => each === status);
  }

  growTo(count: number): void {
    if (count <= this.status.length) return;
    this.petId.grow();
    this.quantity.grow();
    this.status = new Uint16Array(this.status.buffer.transfer(2 * this.status.byteLength));
  }
}

const LAST_DIGITS = Array.from({ length: 1_000 }, (_, value) => String(value).padStart(3, '0'));

/** Writes a long number in two parts: V8 keeps the texts of the numbers it has written last, of which few then differ. */
function digitsOf(value: number | bigint): string {
  if (typeof value === 'bigint' || value < 1_000) return value.toString();
  return Math.floor(value / 1_000).toString() + LAST_DIGITS[value % 1_000]!;
}

class ColumnsItem extends PlainItem {
  private readonly columns: Columns;
  private readonly index: number;

  constructor(columns: Columns, index: number) {
    super();
    this.columns = columns;
    this.index = index;
  }

  override textOf(field: ItemField): string {
    return field === 'status' ? PET_STATUSES[this.columns.status[this.index]!]! : digitsOf(this.numberOf(field));
  }

  override numberOf(field: NumberField): number | bigint {
    const { petId, quantity } = this.columns;
    return (field === 'petId' ? petId : quantity).at(this.index);
  }
}

export class ItemTable {
  private length = 0;
  private readonly columns = new Columns();
  /** Items that are not plain, by their index. */
  private readonly others = new Map<number, InventoryItem>();

  get count(): number {
    return this.length;
  }

  put(item: InventoryItem): void {
    const index = this.length++;
    this.columns.growTo(this.length);
    if (item instanceof PlainItem) this.columns.put(index, item);
    else this.others.set(index, item);
  }

  at(index: number): InventoryItem {
    return this.others.get(index) ?? new ColumnsItem(this.columns, index);
  }

  clear(): void {
    this.length = 0;
    this.others.clear();
  }

  /** Returns the indexes of the items, ordered by a field; -1: the largest first. */
  order(field: ItemField, sign: 1 | -1): Uint32Array {
    const { columns, length, others } = this;
    if (others.size === 0) return orderOf(field === 'status' ? [columns.status] : columns[field].parts, length, sign);
    const keys = Array.from({ length }, (_, index) => this.at(index)[field]);
    const compare = (a: number, b: number): number =>
      keys[a]! < keys[b]! ? -sign : keys[a]! > keys[b]! ? sign : a - b;
    return Uint32Array.from(keys.keys()).sort(compare);
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * Returns the indexes of the first `count` keys in their order: a radix sort over 16 bits at a time. The parts of the
 * keys, and the words of each, are taken from the lowest to the highest.
 */
function orderOf(parts: readonly (Uint16Array | Uint32Array | Int32Array)[], count: number, sign: 1 | -1): Uint32Array {
  let order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  let sorted = new Uint32Array(count);
  const starts = new Uint32Array(0x10000);
  for (const part of parts) {
    const words = new Uint16Array(part.buffer);
    const perKey = words.length / part.length;
    for (let word = 0; word < perKey; word++) {
      const at = IS_LITTLE_ENDIAN ? word : perKey - 1 - word;
      const signBit = part instanceof Int32Array && word === perKey - 1 ? 0x8000 : 0;
      if (sortByWord({ starts, words, perKey, at, flip: signBit ^ (sign < 0 ? 0xffff : 0) }, order, sorted)) {
        [order, sorted] = [sorted, order];
      }
    }
  }
  // Frees them at once.
  for (const used of [sorted, starts]) used.buffer.transfer(0);
  return order;
}

interface Word {
  readonly starts: Uint32Array;
  readonly words: Uint16Array;
  readonly perKey: number;
  readonly at: number;
  readonly flip: number;
}

/** Returns false where all words are the same. */
function sortByWord({ at, flip, perKey, starts, words }: Word, order: Uint32Array, sorted: Uint32Array): boolean {
  starts.fill(0);
  for (const index of order) starts[words[perKey * index + at]! ^ flip]!++;
  if (starts.includes(order.length)) return false;
  for (let value = 0, start = 0; value < starts.length; value++) {
    const next = start + starts[value]!;
    starts[value] = start;
    start = next;
  }
  for (const index of order) sorted[starts[words[perKey * index + at]! ^ flip]!++] = index;
  return true;
}

export const SORTS = [...ITEM_FIELDS, ...ITEM_FIELDS.map((field) => `-${field}` as const)];
/** A field; with a minus the largest first. */
export type Sort = (typeof SORTS)[number];

const BATCH = 1_000;
/** With a limit, this many items are held at least before the rest of them is dropped. */
const LEAST_HELD = 10_000;

/** Sorts the items of a list, however long: exact, and in their old order where the field is the same. */
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
