/** InventoryItem (service spec, part 2) as the program holds it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { RowLayout } from './row-layout.ts';
import { ITEM_FIELDS, type ItemField, type NumberField } from './values.ts';

export interface InventoryItem {
  readonly petId: bigint;
  readonly quantity: bigint;
  /** One of PET_STATUSES, or whatever else the service sends. */
  readonly status: string;
  /** Fields beyond the contract, kept in their order. */
  readonly extra?: JsonObject;
}

/** An item of the contract's three fields and one of its statuses: most rows of a long list are one. */
export abstract class PlainItem implements InventoryItem {
  /** Returns a number's digits, or the status. */
  abstract textOf(field: ItemField): string;
  /** Returns the value exactly: a number takes a tenth of a bigint's time. */
  abstract numberOf(field: NumberField): number | bigint;

  /** As `itemToJsonText` writes it. */
  get json(): string {
    return plainText(this);
  }

  get petId(): bigint {
    return BigInt(this.numberOf('petId'));
  }

  get quantity(): bigint {
    return BigInt(this.numberOf('quantity'));
  }

  get status(): string {
    return this.textOf('status');
  }
}

/** An item as the text of its row: most rows are only filtered and shown again. The integers are int64. */
export class RowItem extends PlainItem {
  private readonly text: string;
  private readonly start: number;
  private readonly end: number;
  private readonly layout: RowLayout;

  /** The row is in `text` from `start` to `end`. */
  constructor(layout: RowLayout, text: string, start = 0, end = text.length) {
    super();
    this.layout = layout;
    this.text = text;
    this.start = start;
    this.end = end;
  }

  override textOf(field: ItemField): string {
    return this.layout.valueIn(this.text, this.start, field);
  }

  override numberOf(field: NumberField): number | bigint {
    return this.layout.numberIn(this.text, this.start, field);
  }

  override get json(): string {
    return this.layout === RowLayout.own ? this.text.slice(this.start, this.end) : super.json;
  }
}

const plainText = plainTextOf(ITEM_FIELDS);

/** Returns what writes these fields of a plain item as one line of JSON. Without a loop V8 takes half the time. */
function plainTextOf(fields: readonly ItemField[]): (item: PlainItem) => string {
  const quotes = fields.map((field) => (field === 'status' ? '"' : ''));
  const before = fields.map((field, i) => `${i === 0 ? '{' : `${quotes[i - 1]},`}"${field}":${quotes[i]}`);
  const end = fields.length === 0 ? '{}' : `${quotes.at(-1)}}`;
  const member = (item: PlainItem, i: number): string =>
    i < fields.length ? before[i]! + item.textOf(fields[i]!) : '';
  return (item) => member(item, 0) + member(item, 1) + member(item, 2) + end;
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
  const plainText = plainTextOf(fields);
  return (item) => {
    if (item instanceof PlainItem) return plainText(item);
    const all = itemToJson(item);
    return stringifyJson(new Map(names.flatMap((name) => (all.has(name) ? [[name, all.get(name)!]] : []))));
  };
}
