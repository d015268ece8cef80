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
    return this.text.slice(BEFORE_ID.length, this.endOfId());
  }

  get quantityDigits(): string {
    const start = this.endOfId() + BEFORE_QUANTITY.length;
    return this.text.slice(start, this.text.indexOf(',', start));
  }

  get status(): string {
    return this.text.slice(this.text.lastIndexOf('"', -AT_END.length - 1 + this.text.length) + 1, -AT_END.length);
  }

  get petId(): bigint {
    return BigInt(this.idDigits);
  }

  get quantity(): bigint {
    return BigInt(this.quantityDigits);
  }

  private endOfId(): number {
    return this.text.indexOf(',', BEFORE_ID.length);
  }
}

const BEFORE_ID = '{"petId":';
const BEFORE_QUANTITY = ',"quantity":';
const BEFORE_STATUS = ',"status":"';
const AT_END = '"}';

export const ITEM_FIELDS = ['petId', 'quantity', 'status'] as const;
export type ItemField = (typeof ITEM_FIELDS)[number];

/** A field of a plain item as text: letters or digits. */
export function plainField(item: InventoryItem, name: string): string | undefined {
  if (!(item instanceof PlainItem)) return undefined;
  if (name === 'petId') return item.idDigits;
  if (name === 'quantity') return item.quantityDigits;
  return name === 'status' ? item.status : undefined;
}

/** The item as a JSON value, its own fields first. */
export function itemToJson(item: InventoryItem): JsonObject {
  const members: [string, JsonValue][] = [
    ['petId', item.petId],
    ['quantity', item.quantity],
    ['status', item.status],
  ];
  return new Map([...members, ...(item.extra ?? [])]);
}

/** One line of JSON in the service's own shape, ids digit for digit. */
export function itemToJsonText(item: InventoryItem): string {
  if (item instanceof PlainItem) return item.text;
  return stringifyJson(itemToJson(item));
}
