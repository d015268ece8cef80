/**
 * The body of GET /inventory -> items, as they arrive. The one function that reads lists.
 *
 * A well-formed row of the contract's three fields is taken by one pattern; any other row goes through
 * the strict reader and the schema. Both accept the same texts and give the same items (tested).
 * Memory holds one chunk and one unfinished row, however long the list is.
 */
import { Failure } from '../errors.ts';
import { JsonError, JsonIncomplete, readJsonValue } from './json.ts';
import type { InventoryItem } from './item.ts';
import { isInt64 } from './values.ts';

/** One row is never larger than this many UTF-16 units. */
const MAX_ROW = 1 << 20;

const INTEGER = '(0|-?[1-9][0-9]{0,18})';
const ROW = new RegExp(
  String.raw`[ \t\r\n]*\{[ \t\r\n]*"petId"[ \t\r\n]*:[ \t\r\n]*${INTEGER}[ \t\r\n]*,` +
    String.raw`[ \t\r\n]*"quantity"[ \t\r\n]*:[ \t\r\n]*${INTEGER}[ \t\r\n]*,` +
    String.raw`[ \t\r\n]*"status"[ \t\r\n]*:[ \t\r\n]*"([A-Za-z_-]{0,64})"[ \t\r\n]*\}`,
  'y',
);

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
  reader.end();
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
  private text = '';
  private at = 0;
  private rows = 0;
  private expecting: Expecting = 'start';

  /** Adds text; returns the rows that are whole by now, up to the first bad one. */
  async take(more: string): Promise<{ items: InventoryItem[]; broken?: Failure }> {
    this.text = this.text.slice(this.at) + more;
    this.at = 0;
    const items: InventoryItem[] = [];
    try {
      for (;;) {
        const item = this.quickRow() ?? (await this.step());
        if (item === undefined) return { items };
        if (item !== 'moved') items.push(item);
      }
    } catch (error) {
      if (error instanceof Failure) return { items, broken: error };
      throw error;
    }
  }

  /** @throws {Failure} the text has ended inside the list */
  end(): void {
    if (this.expecting !== 'nothing') throw this.broken('ends too early');
  }

  private quickRow(): InventoryItem | undefined {
    if (this.expecting !== 'row' && this.expecting !== 'first-or-end') return undefined;
    ROW.lastIndex = this.at;
    const match = ROW.exec(this.text);
    if (match === null) return undefined;
    const petId = BigInt(match[1]!);
    if (!isInt64(petId)) return undefined;
    this.at = ROW.lastIndex;
    this.rowDone();
    return { petId, quantity: BigInt(match[2]!), status: match[3]! };
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
    const read = this.strictValue();
    if (read === undefined) return undefined;
    const { readItem, ContractViolation } = await import('./read-item.ts');
    try {
      const item = readItem(read.value);
      this.at = read.end;
      this.rowDone();
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
      throw new Failure('contract', { what: this.nextRow(), problem: `is not JSON: ${error.problem}` }, error);
    }
  }

  private nextRow(): string {
    return `Row ${this.rows + 1} of the list`;
  }

  private rowDone(): void {
    this.rows++;
    this.expecting = 'comma-or-end';
  }

  private broken(problem: string): Failure<'contract'> {
    const where = this.rows === 0 ? '' : ` (after row ${this.rows})`;
    return new Failure('contract', { what: 'The list', problem: `${problem}${where}` });
  }
}
