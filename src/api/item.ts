/** InventoryItem (service spec, part 2) as the program holds it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import type { PetStatus } from './values.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or whatever else the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
}

/**
 * An item of the contract's three fields and one of its statuses, as its own JSON text: most rows of a long list are
 * only shown again, and to read and write a bigint takes longer than all else.
 */
export class PlainItem implements InventoryItem {
  /** As `itemToJsonText` writes it. The id is an int64. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static of(petId: string, quantity: string, status: PetStatus): PlainItem {
    return new PlainItem(`${BEFORE_ID}${petId}${BEFORE_QUANTITY}${quantity}${BEFORE_STATUS}${status}${AT_END}`);
  }

  get idDigits(): string {
    return this.text.slice(BEFORE_ID.length, this.idEnd());
  }

  get quantityDigits(): string {
    const start = this.idEnd() + BEFORE_QUANTITY.length;
    return this.text.slice(start, this.text.indexOf(',', start));
  }

  get status(): string {
    return this.text.slice(this.text.lastIndexOf(':') + 2, -AT_END.length);
  }

  get petId(): bigint {
    return BigInt(this.idDigits);
  }

  get quantity(): bigint {
    return BigInt(this.quantityDigits);
  }

  private idEnd(): number {
    return this.text.indexOf(',', BEFORE_ID.length);
  }
}

const BEFORE_ID = '{"petId":';
const BEFORE_QUANTITY = ',"quantity":';
const BEFORE_STATUS = ',"status":"';
const AT_END = '"}';

export const ITEM_FIELDS = ['petId', 'quantity', 'status'] as const;
export type ItemField = (typeof ITEM_FIELDS)[number];

/** The fields of a plain item as text: letters or digits. Undefined for any other item. */
export const PLAIN_FIELDS: Readonly<Record<ItemField, (item: InventoryItem) => string | undefined>> = {
  petId: (item) => (item instanceof PlainItem ? item.idDigits : undefined),
  quantity: (item) => (item instanceof PlainItem ? item.quantityDigits : undefined),
  status: (item) => (item instanceof PlainItem ? item.status : undefined),
};

/** Returns the fields of the contract, as members of JSON or cells of CSV. */
export function itemMembers(item: InventoryItem): [ItemField, JsonValue][] {
  return ITEM_FIELDS.map((name) => [name, item[name]]);
}

/** The item as a JSON value, its own fields first. */
export function itemToJson(item: InventoryItem): JsonObject {
  return new Map([...itemMembers(item), ...(item.extra ?? [])]);
}

/** One line of JSON in the service's own shape, ids digit for digit. */
export function itemToJsonText(item: InventoryItem): string {
  if (item instanceof PlainItem) return item.text;
  return stringifyJson(itemToJson(item));
}

/** All three fields with commas between them, of a plain item: nothing in it needs quotes. */
export function itemToCsvLine(item: InventoryItem): string | undefined {
  if (!(item instanceof PlainItem)) return undefined;
  const { text } = item;
  const id = text.indexOf(',', BEFORE_ID.length) + 1;
  const quantity = text.indexOf(',', id + BEFORE_QUANTITY.length) + 1;
  const rest = text.slice(quantity + BEFORE_STATUS.length - 1, -AT_END.length);
  return text.slice(BEFORE_ID.length, id) + text.slice(id + BEFORE_QUANTITY.length - 1, quantity) + rest;
}
