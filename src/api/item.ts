/** InventoryItem (service spec, part 2) as the program holds it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { ITEM_FIELDS, type ItemField } from './values.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or whatever else the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
  /** The item as `itemToJsonText` writes it, where the service has written it so. */
  readonly json?: string;
}

/** Returns the fields of the contract, as members of JSON or cells of CSV. */
export function itemMembers(item: InventoryItem): [ItemField, JsonValue][] {
  return ITEM_FIELDS.map((name) => [name, item[name]]);
}

/** The item as a JSON value, its own fields first. */
export function itemToJson(item: InventoryItem): JsonObject {
  return new Map([...itemMembers(item), ...(item.extra ?? [])]);
}

/** Returns what reads the member of this name, of an item that has it. */
export function memberOf(name: string): (item: InventoryItem) => JsonValue | undefined {
  switch (name) {
    case 'petId':
      return ({ petId }) => petId;
    case 'quantity':
      return ({ quantity }) => quantity;
    case 'status':
      return ({ status }) => status;
    default:
      return ({ extra }) => extra?.get(name);
  }
}

const ownText = jsonTextOfFields(ITEM_FIELDS);

/** One line of JSON in the service's own shape, ids digit for digit. */
export function itemToJsonText(item: InventoryItem): string {
  return item.json ?? (item.extra === undefined ? ownText(item) : stringifyJson(itemToJson(item)));
}

/** Returns what writes the fields of these names, those that an item has, as one line of JSON. */
export function jsonTextOfFields(names: readonly string[]): (item: InventoryItem) => string {
  const members = [...new Set(names)].map((name) => ({ key: `${stringifyJson(name)}:`, of: memberOf(name) }));
  return (item) => {
    let text = '';
    for (const { key, of } of members) {
      const value = of(item);
      if (value !== undefined) text += `${text === '' ? '{' : ','}${key}${stringifyJson(value)}`;
    }
    return text === '' ? '{}' : `${text}}`;
  };
}
