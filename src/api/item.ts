/** InventoryItem (service spec, part 2), its JSON form, and what one has beyond the contract. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { isOneOf, ITEM_FIELDS, type ItemField, PET_STATUSES, shortened } from './values.ts';

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

/** Collects what a list contains beyond the contract, for one warning each. @param pets those that may be missing */
export function unexpectedIn(pets: readonly bigint[] = []) {
  const [statuses, fields, missing] = [new Set<string>(), new Set<string>(), new Set(pets)];
  return {
    see(items: readonly InventoryItem[]): void {
      for (const item of items) {
        if (missing.size > 0) missing.delete(item.petId);
        if (!isOneOf(PET_STATUSES, item.status)) add(statuses, item.status);
        for (const name of item.extra?.keys() ?? []) add(fields, name);
      }
    },
    warnings(): string[] {
      const sentences: [ReadonlySet<unknown>, (list: string) => string][] = [
        [statuses, (list) => `The service sent a status that its contract does not list: ${list}.`],
        [fields, (list) => `The service sent fields that its contract does not list: ${list} (-o json shows them).`],
        [missing, (list) => `Not in the list: pet ${list}.`],
      ];
      return sentences.flatMap(([found, say]) => (found.size === 0 ? [] : [say([...found].join(', '))]));
    },
  };
}

/** Warns of what the items contain beyond the contract. @param oddities what the user has been warned of already */
export function warnOfUnexpected(
  items: readonly InventoryItem[],
  notices: { warning(text: string): void },
  oddities = unexpectedIn(),
): void {
  const warned = oddities.warnings();
  oddities.see(items);
  for (const warning of oddities.warnings()) if (!warned.includes(warning)) notices.warning(warning);
}

/** Keeps the first few names, then `…`: a hostile list must not fill the memory. */
function add(names: Set<string>, name: string): void {
  const shown = shortened(name.trim() === '' ? `"${name}"` : name, 60);
  if (!names.has(shown)) names.add(names.size < 10 ? shown : '…');
}
