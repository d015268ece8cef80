/** InventoryItem (service spec, part 2) as the program holds it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or whatever else the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
}

export const ITEM_FIELDS = ['petId', 'quantity', 'status'] as const;
export type ItemField = (typeof ITEM_FIELDS)[number];

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
  return stringifyJson(itemToJson(item));
}
