/** InventoryItem (service spec, part 2) as the program represents it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { ITEM_FIELDS, type ItemField } from './values.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or whatever else the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
  /** The item as `itemToJsonText` writes it, if the service sent it in that form. */
  readonly json?: string;
}

/** Returns the fields of the contract, as members of JSON or cells of CSV. */
export function itemMembers(item: InventoryItem): [ItemField, JsonValue][] {
  return ITEM_FIELDS.map((name) => [name, item[name]]);
}

/** Returns the item as a JSON value, contract fields first. */
export function itemToJson(item: InventoryItem): JsonObject {
  return new Map([...itemMembers(item), ...(item.extra ?? [])]);
}

/** Returns the item as one line of JSON in the service's shape, with exact ids. */
export function itemToJsonText(item: InventoryItem): string {
  if (item.json !== undefined) return item.json;
  const { extra, petId, quantity, status } = item;
  if (extra !== undefined) return stringifyJson(itemToJson(item));
  return `{"petId":${petId},"quantity":${quantity},"status":${stringifyJson(status)}}`;
}
