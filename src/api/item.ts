/** InventoryItem (service spec, part 2) and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { ITEM_FIELDS, type ItemField } from './values.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or any other text that the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
  /** The item's text, if the service has sent it as `itemToJsonText` writes it. */
  readonly json?: string;
}

/** Returns the fields of the contract, as members of JSON or cells of CSV. */
export function itemMembers(item: InventoryItem): [ItemField, JsonValue][] {
  return ITEM_FIELDS.map((name) => [name, item[name]]);
}

/** Returns the item as a JSON value, the fields of the contract first. */
export function itemToJson(item: InventoryItem): JsonObject {
  return new Map([...itemMembers(item), ...(item.extra ?? [])]);
}

/** Returns the item as one line of JSON in the service's shape, ids digit for digit. */
export function itemToJsonText(item: InventoryItem): string {
  if (item.json !== undefined) return item.json;
  const { extra, petId, quantity, status } = item;
  if (extra !== undefined) return stringifyJson(itemToJson(item));
  return `{"petId":${petId},"quantity":${quantity},"status":${stringifyJson(status)}}`;
}
