/**
 * The body of GET /inventory -> items, as they arrive. The one function that reads lists.
 *
 * A well-formed row of the contract's three fields is taken by a pattern; any other row goes through
 * the strict reader and the schema. Both accept the same texts and give the same items (tested).
 * Memory holds one chunk and one unfinished row, however long the list is.
 */
import { Failure, isFailure } from '../errors.ts';
import { JsonError, JsonIncomplete, readJsonValue } from './json.ts';
import { type InventoryItem, ITEM_FIELDS, type ItemField, PlainItem } from './item.ts';
import { isInt64, PET_STATUSES } from './values.ts';

/** One row is never larger than this many UTF-16 units, and seldom than these. */
const MAX_ROW = 1 << 20;
const USUAL_ROW = 200;

/** What most services send: the usual fields, no white space, 18 digits at most. It is its own JSON text. */
const USUAL = new RegExp(
  String.raw`\{"petId":(?:0|-?[1-9][0-9]{0,17}),"quantity":(?:0|-?[1-9][0-9]{0,17}),"status":"(?:${PET_STATUSES.join('|')})"\}`,
  'y',
);
const COMMA = 0x2c;

const SPACE = String.raw`[ \t\r\n]*`;
const INTEGER = '(0|-?[1-9][0-9]{0,18})';
const VALUES: Readonly<Record<ItemField, string>> = {
  petId: INTEGER,
  quantity: INTEGER,
  status: '"([A-Za-z_-]{0,64})"',
};

/** A row with its fields in one order, and the comma after it if that is there already. */
interface Pattern {
  readonly row: RegExp;
  /** Which group has the field; the last one has the comma. */
  readonly group: Readonly<Record<ItemField, number>>;
}

const COMMA_GROUP = ITEM_FIELDS.length + 1;

function patternOf(fields: readonly ItemField[]): Pattern {
  const members = fields.map((field) => `${SPACE}"${field}"${SPACE}:${SPACE}${VALUES[field]}${SPACE}`);
  const group = (field: ItemField): number => fields.indexOf(field) + 1;
  return {
    row: new RegExp(`${SPACE}\\{${members.join(',')}\\}(${SPACE},)?`, 'y'),
    group: { petId: group('petId'), quantity: group('quantity'), status: group('status') },
  };
}

/** One service writes all of its rows in the same order: the contract's, or one of the others. */
const PATTERNS: readonly Pattern[] = ITEM_FIELDS.flatMap((first) =>
  ITEM_FIELDS.filter((field) => field !== first).map((second) => {
    const third = ITEM_FIELDS.find((field) => field !== first && field !== second);
    return patternOf([first, second, third!]);
  }),
);

/** Undefined where the id is beyond int64. */
function itemOf(petId: string, quantity: string, status: string): InventoryItem | undefined {
  // Fewer digits than 19 are an int64 without a look.
  if (petId.length >= 19 && !isInt64(BigInt(petId))) return undefined;
  const known = PET_STATUSES.find((each) => each === status);
  if (known !== undefined) return PlainItem.of(petId, quantity, known);
  return { petId: BigInt(petId), quantity: BigInt(quantity), status };
}

/**
 * Yields the items of each chunk together; the rows before a bad one are good, and come before its failure.
 * @throws {Failure} `contract`: not strict JSON, not UTF-8, not an array, or a row that breaks the contract
 */
export async function* readInventoryList(body: AsyncIterable<Uint8Array>): AsyncGenerator<InventoryItem[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = new ListReader();
  const read = async function* (text: string): AsyncGenerator<InventoryItem[]> {
    const { items, broken } = await reader.take(text);
    if (items.length > 0) yield items;
    if (broken !== undefined) throw broken;
  };
  for await (const chunk of body) yield* read(decode(decoder, chunk));
  yield* read(decode(decoder));
  reader.ended = true;
  yield* read('');
  reader.finish();
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch (cause) {
    throw new Failure('contract', { what: 'The list', problem: 'is not valid UTF-8' }, cause);
  }
}

type Expecting = 'start' | 'first-or-end' | 'row' | 'comma-or-end' | 'nothing';

class ListReader {
  /** True when no text follows: the beginning of a row is then read as it is. */
  ended = false;
  /** How much of the body came before the text that is held. */
  private passed = 0;
  private text = '';
  private at = 0;
  private rows = 0;
  private expecting: Expecting = 'start';
  private pattern = PATTERNS[0]!;

  /** Adds text; returns the rows that are whole by now, up to the first bad one. */
  async take(more: string): Promise<{ items: InventoryItem[]; broken?: Failure }> {
    this.passed += this.at;
    this.text = this.text.slice(this.at) + more;
    this.at = 0;
    const items: InventoryItem[] = [];
    try {
      for (;;) {
        this.quickRows(items);
        const item = await this.step();
        if (item === undefined) return { items };
        if (item !== 'moved') items.push(item);
      }
    } catch (error) {
      if (isFailure(error)) return { items, broken: error };
      throw error;
    }
  }

  /** @throws {Failure} the text has ended inside the list */
  finish(): void {
    if (this.expecting !== 'nothing') throw this.broken('ends too early');
  }

  /** As many rows as the patterns take, with their commas. */
  private quickRows(items: InventoryItem[]): void {
    if (this.expecting !== 'row' && this.expecting !== 'first-or-end') return;
    if (!this.usualRows(items)) return;
    const pattern = this.takes(this.pattern) ? this.pattern : PATTERNS.find((each) => this.takes(each));
    if (pattern === undefined) return;
    this.pattern = pattern;
    this.patternRows(pattern, items);
  }

  /** False where a row has no comma after it: another row would be wrong there. */
  private usualRows(items: InventoryItem[]): boolean {
    const { text } = this;
    USUAL.lastIndex = this.at;
    while (USUAL.test(text)) {
      const end = USUAL.lastIndex;
      items.push(new PlainItem(text.slice(this.at, end)));
      this.rows++;
      this.at = end;
      if (text.charCodeAt(end) !== COMMA) {
        this.expecting = 'comma-or-end';
        return false;
      }
      this.expecting = 'row';
      this.at++;
      USUAL.lastIndex = this.at;
    }
    return true;
  }

  private patternRows({ row, group }: Pattern, items: InventoryItem[]): void {
    const { text } = this;
    row.lastIndex = this.at;
    for (let match = row.exec(text); match !== null; match = row.exec(text)) {
      const item = itemOf(match[group.petId]!, match[group.quantity]!, match[group.status]!);
      if (item === undefined) return;
      items.push(item);
      this.rows++;
      this.at = row.lastIndex;
      this.expecting = match[COMMA_GROUP] === undefined ? 'comma-or-end' : 'row';
      if (this.expecting === 'comma-or-end') return;
    }
  }

  private takes({ row }: Pattern): boolean {
    row.lastIndex = this.at;
    return row.test(this.text);
  }

  /** One move through the list's own punctuation, or one row the slow way; undefined: more text is needed. */
  private async step(): Promise<InventoryItem | 'moved' | undefined> {
    while (/[ \t\r\n]/.test(this.text[this.at] ?? '')) this.at++;
    const c = this.text[this.at];
    if (c === undefined) return undefined;
    if (this.expecting === 'start') return this.expect(c, { '[': 'first-or-end' });
    if (this.expecting === 'comma-or-end') return this.expect(c, { ',': 'row', ']': 'nothing' });
    if (this.expecting === 'nothing') throw this.broken('has text after its end');
    if (c === ']' && this.expecting === 'first-or-end') return this.expect(c, { ']': 'nothing' });
    return this.slowRow();
  }

  private expect(c: string, moves: Partial<Record<string, Expecting>>): 'moved' {
    const next = moves[c];
    if (next === undefined) {
      const wanted = Object.keys(moves).map((move) => JSON.stringify(move));
      throw this.broken(`has ${JSON.stringify(c)} where ${wanted.join(' or ')} belongs`);
    }
    this.expecting = next;
    this.at++;
    return 'moved';
  }

  private async slowRow(): Promise<InventoryItem | undefined> {
    // The beginning of a row, at the end of a chunk: the rest is on its way.
    const left = this.text.length - this.at;
    if (!this.ended && left < USUAL_ROW && this.text.indexOf('}', this.at) < 0) return undefined;
    const read = this.strictValue();
    if (read === undefined) return undefined;
    // More digits may follow in the next chunk.
    if (!this.ended && read.end === this.text.length && typeof read.value !== 'object') return undefined;
    const { readItem, ContractViolation } = await import('./read-item.ts');
    try {
      const item = readItem(read.value);
      this.at = read.end;
      this.rows++;
      this.expecting = 'comma-or-end';
      return item;
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error;
      throw new Failure('contract', { what: this.nextRow(), problem: error.message }, error);
    }
  }

  private strictValue(): ReturnType<typeof readJsonValue> | undefined {
    try {
      return readJsonValue(this.text, this.at);
    } catch (error) {
      if (error instanceof JsonIncomplete) {
        if (this.text.length - this.at > MAX_ROW) throw this.broken(`has a row of more than ${MAX_ROW} characters`);
        return undefined;
      }
      if (!(error instanceof JsonError)) throw error;
      const at = this.passed + error.at;
      throw new Failure('contract', { what: this.nextRow(), problem: `is not JSON: ${error.problem}`, at }, error);
    }
  }

  private nextRow(): string {
    return `Row ${this.rows + 1} of the list`;
  }

  private broken(problem: string): Failure<'contract'> {
    const where = this.rows === 0 ? '' : ` (after row ${this.rows})`;
    return new Failure('contract', { what: 'The list', problem: `${problem}${where}`, at: this.passed + this.at });
  }
}
