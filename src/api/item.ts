/** InventoryItem (service spec, part 2) as the program holds it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { RowLayout } from './row-layout.ts';
import { ITEM_FIELDS, type ItemField, type PetStatus } from './values.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or whatever else the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
}

/**
 * An item of the contract's three fields and one of its statuses, as the text of its row: most rows of a long list are
 * only filtered and shown again, and to read and write a bigint takes longer than all else. The id is an int64.
 */
export class PlainItem implements InventoryItem {
  private readonly text: string;
  private readonly start: number;
  private readonly end: number;
  private readonly layout: RowLayout;

  /** The row is in `text` from `start` to `end`. */
  constructor(layout: RowLayout, text: string, start = 0, end = text.length) {
    this.layout = layout;
    this.text = text;
    this.start = start;
    this.end = end;
  }

  static of(petId: bigint, quantity: bigint, status: PetStatus): PlainItem {
    return new PlainItem(RowLayout.own, `{"petId":${petId},"quantity":${quantity},"status":"${status}"}`);
  }

  /** Returns a number's digits, or the status. */
  textOf(field: ItemField): string {
    return this.layout.valueIn(this.text, this.start, field);
  }

  /** As `itemToJsonText` writes it. */
  get json(): string {
    if (this.layout === RowLayout.own) return this.text.slice(this.start, this.end);
    return `{${ITEM_FIELDS.map((field) => memberText(field, this.textOf(field))).join(',')}}`;
  }

  get petId(): bigint {
    return BigInt(this.textOf('petId'));
  }

  get quantity(): bigint {
    return BigInt(this.textOf('quantity'));
  }

  get status(): string {
    return this.textOf('status');
  }
}

function memberText(field: ItemField, text: string): string {
  return field === 'status' ? `"status":"${text}"` : `"${field}":${text}`;
}

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
  return item instanceof PlainItem ? item.json : stringifyJson(itemToJson(item));
}

/** Returns what writes the fields of these names, those that an item has, as one line of JSON. */
export function jsonTextOfFields(names: readonly string[]): (item: InventoryItem) => string {
  const fields = ITEM_FIELDS.filter((field) => names.includes(field)).toSorted(
    (a, b) => names.indexOf(a) - names.indexOf(b),
  );
  return (item) => {
    if (!(item instanceof PlainItem)) {
      const all = itemToJson(item);
      return stringifyJson(new Map(names.flatMap((name) => (all.has(name) ? [[name, all.get(name)!]] : []))));
    }
    let text = '';
    for (const field of fields) text += `${text === '' ? '{' : ','}${memberText(field, item.textOf(field))}`;
    return text === '' ? '{}' : `${text}}`;
  };
}
