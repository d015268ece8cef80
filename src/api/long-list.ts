/**
 * Keeps lists of a million pets fast: rows stay text until a value is needed, and a sort holds each row in 18 bytes.
 * Outside this file, an item is just an `InventoryItem`.
 */
import type { InventoryItem } from './item.ts';
import { type JsonValue, stringifyJson } from './json.ts';
import { ITEM_FIELDS, type ItemField, PET_STATUSES } from './values.ts';

/** No leading zeros, no `-0`. With 19 digits only below 9e18, which fits an int64 without a check. */
const INTEGER = '(?:0|-?(?:[1-9][0-9]{0,17}|[1-8][0-9]{18}))';
/** A row as most serializers write it; the strict reader takes all others. */
const ROW = rowWith('');
const SPACED_ROW = rowWith(String.raw`[ \t\r\n]*`);
const PET_ID_AT = '{"petId":'.length;
const QUANTITY_AFTER = ',"quantity":'.length;
const MINUS = 0x2d;
const ZERO = 0x30;

/** An item backed by the text of its row: most rows are only filtered and printed again. */
class RowItem implements InventoryItem {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }

  get petId(): bigint {
    return integerAt(this.json, PET_ID_AT);
  }

  get quantity(): bigint {
    return integerAt(this.json, this.json.indexOf(',') + QUANTITY_AFTER);
  }

  get status(): string {
    return this.json.slice(this.json.lastIndexOf(':') + ':"'.length, -'"}'.length);
  }

  /** Returns the digits or the word of a field. */
  textOf(field: ItemField): string {
    const { json } = this;
    if (field === 'status') return this.status;
    if (field === 'petId') return json.slice(PET_ID_AT, json.indexOf(','));
    const at = json.indexOf(',') + QUANTITY_AFTER;
    return json.slice(at, json.indexOf(',', at));
  }
}

/** Returns the row that begins at `at`; undefined if it is incomplete or needs the strict reader. */
export function quickRow(text: string, at: number): { readonly item: InventoryItem; readonly end: number } | undefined {
  ROW.lastIndex = at;
  if (ROW.test(text)) return { item: new RowItem(text.slice(at, ROW.lastIndex)), end: ROW.lastIndex };
  SPACED_ROW.lastIndex = at;
  if (!SPACED_ROW.test(text)) return undefined;
  const { lastIndex: end } = SPACED_ROW;
  // No value contains white space, so all of it can go.
  return { item: new RowItem(text.slice(at, end).replace(/\s+/g, '')), end };
}

/** Returns the pattern of a row with `space` between its tokens. */
function rowWith(space: string): RegExp {
  const members = [
    ['"petId"', ':', INTEGER],
    ['"quantity"', ':', INTEGER],
    ['"status"', ':', `"(?:${PET_STATUSES.join('|')})"`],
  ];
  return new RegExp(
    ['\\{', members.map((member) => member.join(space)).join(`${space},${space}`), '\\}'].join(space),
    'y',
  );
}

/** Returns the integer that begins at `at`. Via a number while that is exact: this takes a third of the time. */
function integerAt(text: string, at: number): bigint {
  const isNegative = text.charCodeAt(at) === MINUS;
  let value = 0;
  let end = isNegative ? at + 1 : at;
  for (let digit; (digit = text.charCodeAt(end) - ZERO) >= 0 && digit <= 9; end++) value = 10 * value + digit;
  return Number.isSafeInteger(value) ? BigInt(isNegative ? -value : value) : BigInt(text.slice(at, end));
}

/** Returns a function that reads the member of this name, undefined for an item without it. */
export function memberOf(name: string): (item: InventoryItem) => JsonValue | undefined {
  const field = ITEM_FIELDS.find((each) => each === name);
  return field === undefined ? ({ extra }) => extra?.get(name) : (item) => item[field];
}

/** Returns a function that writes these fields of an item, if it has them, as one line of JSON. */
export function jsonTextOfFields(names: readonly string[]): (item: InventoryItem) => string {
  const members = [...new Set(names)].map((name) => {
    const field = ITEM_FIELDS.find((each) => each === name);
    return { key: `${stringifyJson(name)}:`, of: memberOf(name), field, quote: field === 'status' ? '"' : '' };
  });
  return (item) => {
    let text = '';
    for (const { key, of, field, quote } of members) {
      const separator = text === '' ? '{' : ',';
      if (item instanceof RowItem) {
        if (field !== undefined) text += `${separator}${key}${quote}${item.textOf(field)}${quote}`;
        continue;
      }
      const value = of(item);
      if (value !== undefined) text += `${separator}${key}${stringifyJson(value)}`;
    }
    return text === '' ? '{}' : `${text}}`;
  };
}

/** Returns a function that writes these fields as a line of CSV; it returns undefined for an item that may need quotes. */
export function csvTextOfFields(names: readonly string[]): (item: InventoryItem) => string | undefined {
  const fields = names.map((name) => ITEM_FIELDS.find((each) => each === name));
  return (item) => {
    if (!(item instanceof RowItem)) return undefined;
    let text = '';
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i];
      text += `${i === 0 ? '' : ','}${field === undefined ? '' : item.textOf(field)}`;
    }
    return text;
  };
}

export const SORTS = [...ITEM_FIELDS, ...ITEM_FIELDS.map((field) => `-${field}` as const)];
/** A field; with a minus in descending order. */
export type Sort = (typeof SORTS)[number];

/** Initial room, in rows: unused memory costs nothing. */
const FIRST_ROOM = 1 << 21;
const BATCH = 1_000;

/** Sorts the items of a list exactly and stably. */
export class SortedItems {
  private count = 0;
  private readonly columns = {
    petId: new BigInt64Array(FIRST_ROOM),
    quantity: new BigInt64Array(FIRST_ROOM),
    /** Index in PET_STATUSES, which are in alphabetical order. */
    status: new Uint16Array(FIRST_ROOM),
  };
  /** Items that do not fit into the columns, by index. */
  private readonly others = new Map<number, InventoryItem>();

  add(items: readonly InventoryItem[]): void {
    const { columns, others } = this;
    this.makeRoom(items.length);
    for (const item of items) {
      const index = this.count++;
      const { quantity } = item;
      const status = PET_STATUSES.findIndex((each) => each === item.status);
      if (status < 0 || item.extra !== undefined || BigInt.asIntN(64, quantity) !== quantity) others.set(index, item);
      columns.petId[index] = item.petId;
      columns.quantity[index] = quantity;
      columns.status[index] = status;
    }
  }

  /** Yields the first `limit` items in order, in batches. */
  *batches(sort: Sort, limit = Number.POSITIVE_INFINITY): Generator<InventoryItem[]> {
    const order = this.order(sort).subarray(0, limit);
    for (let at = 0; at < order.length; at += BATCH) {
      yield Array.from(order.subarray(at, at + BATCH), (index) => this.at(index));
    }
  }

  private at(index: number): InventoryItem {
    const { petId, quantity, status } = this.columns;
    return (
      this.others.get(index) ?? {
        petId: petId[index]!,
        quantity: quantity[index]!,
        status: PET_STATUSES[status[index]!]!,
      }
    );
  }

  private order(sort: Sort): Uint32Array {
    const field: ItemField = ITEM_FIELDS.find((each) => sort.endsWith(each)) ?? 'petId';
    const sign = sort.startsWith('-') ? -1 : 1;
    if (this.others.size === 0) return orderOf(this.columns[field], this.count, sign);
    const keys = Array.from({ length: this.count }, (_, index) => this.at(index)[field]);
    const compare = (a: number, b: number): number => (keys[a]! < keys[b]! ? -sign : keys[a]! > keys[b]! ? sign : 0);
    return Uint32Array.from(keys.keys()).sort(compare);
  }

  /** Doubles the room. `transfer` frees the old memory at once; the garbage collector would do so late. */
  private makeRoom(more: number): void {
    const { columns } = this;
    if (this.count + more <= columns.status.length) return;
    const room = 2 * (this.count + more);
    columns.petId = new BigInt64Array(columns.petId.buffer.transfer(8 * room));
    columns.quantity = new BigInt64Array(columns.quantity.buffer.transfer(8 * room));
    columns.status = new Uint16Array(columns.status.buffer.transfer(2 * room));
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Returns the indexes of the first `count` keys, sorted: a radix sort by 16 bits at a time, lowest first. */
function orderOf(keys: BigInt64Array | Uint16Array, count: number, sign: 1 | -1): Uint32Array {
  const words = new Uint16Array(keys.buffer);
  const perKey = words.length / keys.length;
  let order = new Uint32Array(count);
  let next = new Uint32Array(count);
  for (let index = 0; index < count; index++) order[index] = index;
  for (let word = 0; word < perKey; word++) {
    const at = IS_LITTLE_ENDIAN ? word : perKey - 1 - word;
    // The highest bit of an int64 is the sign.
    const flip = (word === 3 ? 0x8000 : 0) ^ (sign < 0 ? 0xffff : 0);
    const starts = new Uint32Array(0x10001);
    for (const index of order) starts[(words[perKey * index + at]! ^ flip) + 1]!++;
    // All words are equal.
    if (starts.includes(count)) continue;
    for (let value = 1; value < starts.length; value++) starts[value]! += starts[value - 1]!;
    for (const index of order) next[starts[words[perKey * index + at]! ^ flip]!++] = index;
    [order, next] = [next, order];
  }
  // Frees its memory at once, as in makeRoom: the rows are written next.
  next.buffer.transfer(0);
  return order;
}
