/** InventoryItem (service spec, part 2) as the program holds it, and its JSON form. */
import { type JsonObject, type JsonValue, stringifyJson } from './json.ts';
import { ITEM_FIELDS, type ItemField, type NumberField, PET_STATUSES } from './values.ts';

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

/** Without leading zeros or `-0`; of 19 digits those below 9e18, which fit an int64 without a check. */
const INTEGER = '(?:0|-?(?:[1-9][0-9]{0,17}|[1-8][0-9]{18}))';
const VALUES: Readonly<Record<ItemField, string>> = {
  petId: INTEGER,
  quantity: INTEGER,
  status: `(?:${PET_STATUSES.join('|')})`,
};

const SPACE = String.raw`[ \t\r\n]*`;
const NAME = String.raw`"(${ITEM_FIELDS.join('|')})"${SPACE}:${SPACE}"?`;
const VALUE = '[-0-9a-z]+';
/** Groups: the text before, between and after the values, and within all but the last the name of the field. */
const ROW = new RegExp(
  String.raw`${SPACE}(\{${SPACE}${NAME})${VALUE}("?${SPACE},${SPACE}${NAME})${VALUE}("?${SPACE},${SPACE}${NAME})${VALUE}("?${SPACE}\})`,
  'y',
);
/** A row with more white space than this is left to the strict reader. */
const LONGEST_ROW = 500;
const MINUS = 0x2d;
const ZERO = 0x30;

/**
 * How a service writes the rows of its list. One serializer writes the same text around the values of every row, so
 * that one pattern takes them all, and a value is cut out of its row when it is asked for.
 */
export class RowLayout {
  /** As this program writes a row itself. */
  static readonly own = RowLayout.of('{"petId":0,"quantity":0,"status":"sold"}', 0)!;

  /** Matches a row from `lastIndex` on, and the white space before it. */
  readonly row: RegExp;
  /** Where each field is among the values of a row. */
  private readonly position: Readonly<Record<ItemField, number>>;
  /** How much text comes before each value. */
  private readonly gaps: readonly number[];
  /** What follows each value: a character that is in none. */
  private readonly ends: readonly string[];

  private constructor(fields: readonly ItemField[], around: readonly string[]) {
    const parts = around.map((text, i) => text.replaceAll(/[{}]/g, '\\$&') + (i < 3 ? VALUES[fields[i]!] : ''));
    this.row = new RegExp(SPACE + parts.join(''), 'y');
    const [petId, quantity, status] = ITEM_FIELDS.map((field) => fields.indexOf(field));
    this.position = { petId: petId!, quantity: quantity!, status: status! };
    this.gaps = around.map(({ length }) => length);
    this.ends = around.slice(1).map((text) => text.charAt(0));
  }

  /** Returns how the row at `at` is written; undefined where there is no whole row of the three fields. */
  static of(text: string, at: number): RowLayout | undefined {
    ROW.lastIndex = at;
    const match = ROW.exec(text);
    if (match === null || match[0].length > LONGEST_ROW) return undefined;
    const fields = ITEM_FIELDS.toSorted((a, b) => match.indexOf(a) - match.indexOf(b));
    const around = [match[1]!, match[3]!, match[5]!, match[7]!];
    const isSound = fields.every((field, i) => {
      const quotes = [around[i]!.endsWith('"'), around[i + 1]!.startsWith('"')];
      return match.includes(field) && quotes.every((isThere) => isThere === (field === 'status'));
    });
    const layout = isSound ? new RowLayout(fields, around) : undefined;
    return layout?.takes(text, at) === true ? layout : undefined;
  }

  takes(text: string, at: number): boolean {
    this.row.lastIndex = at;
    return this.row.test(text);
  }

  /** Returns a field's digits or word, of the row of this layout that begins at `at`. */
  valueIn(text: string, at: number, field: ItemField): string {
    const start = this.startOf(text, at, field);
    return text.slice(start, text.indexOf(this.ends[this.position[field]]!, start));
  }

  /** Returns a field's value, as a bigint where a number is not exact. */
  numberIn(text: string, at: number, field: NumberField): number | bigint {
    const start = this.startOf(text, at, field);
    const isNegative = text.charCodeAt(start) === MINUS;
    let value = 0;
    let end = isNegative ? start + 1 : start;
    for (let digit; (digit = text.charCodeAt(end) - ZERO) >= 0 && digit <= 9; end++) value = 10 * value + digit;
    if (!Number.isSafeInteger(value)) return BigInt(text.slice(start, end));
    return isNegative ? -value : value;
  }

  private startOf(text: string, at: number, field: ItemField): number {
    const { ends, gaps } = this;
    const position = this.position[field];
    let start = at + gaps[0]!;
    for (let i = 0; i < position; i++) start = text.indexOf(ends[i]!, start) + gaps[i + 1]!;
    return start;
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
