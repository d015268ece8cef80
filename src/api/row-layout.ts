/**
 * How a service writes the rows of its list. One serializer writes the same text around the values of every row, so
 * that one pattern takes them all, and a value is cut out of its row when it is asked for.
 */
import { ITEM_FIELDS, type ItemField, type NumberField, PET_STATUSES } from './values.ts';

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
