/**
 * Reads the body of GET /inventory and yields items as they arrive. The one function that reads lists.
 *
 * A row in the usual spelling is taken as it is (long-list.ts); any other row goes through the strict reader and the
 * schema. Both accept the same texts and return the same items (tested).
 * Holds one chunk and one unfinished row in memory, however long the list is.
 */
import { Failure, isFailure } from '../errors.ts';
import { afterSpace, JsonError, JsonIncomplete, JsonTooLarge, readJsonValue } from './json.ts';
import type { InventoryItem } from './item.ts';
import { quickRow } from './long-list.ts';

/** Largest row, and a size that rows rarely exceed, in UTF-16 units. */
const MAX_ROW = 1 << 20;
const USUAL_ROW = 200;

/** Most values in one row: more would delay signals and timers while they are read and written. */
const MOST_VALUES = 10_000;

const COMMA = 0x2c;

/**
 * Yields the items of each chunk together. Yields the rows before a bad one, then throws its failure.
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

let schemas: Promise<typeof import('./schemas.ts')> | undefined;

type Expecting = 'start' | 'first-or-end' | 'row' | 'comma-or-end' | 'nothing';

class ListReader {
  /** True if no more text follows: an incomplete row is then an error. */
  ended = false;
  /** How much of the body came before the held text. */
  private passed = 0;
  private text = '';
  private at = 0;
  /** Text that has arrived since; how much text is unread, and how much is needed for another try. */
  private waiting: string[] = [];
  private length = 0;
  private enough = 0;
  private rows = 0;
  private expecting: Expecting = 'start';

  /** Adds text, and returns the rows that are complete, up to the first bad one. */
  async take(more: string): Promise<{ items: InventoryItem[]; broken?: Failure }> {
    const items: InventoryItem[] = [];
    this.waiting.push(more);
    this.length += more.length;
    if (this.length < this.enough && !this.ended) return { items };
    this.passed += this.at;
    this.text = this.text.slice(this.at) + this.waiting.join('');
    this.at = 0;
    this.waiting = [];
    try {
      for (;;) {
        this.quickRows(items);
        const item = await this.step();
        if (item === undefined) break;
        if (item !== 'moved') items.push(item);
      }
    } catch (error) {
      if (isFailure(error)) return { items, broken: error };
      throw error;
    }
    this.length = this.text.length - this.at;
    return { items };
  }

  /** Checks that the list has ended. @throws {Failure} */
  finish(): void {
    if (this.expecting !== 'nothing') throw this.broken('ends too early');
  }

  /** Takes complete rows and their commas, as long as they are in the usual spelling. */
  private quickRows(items: InventoryItem[]): void {
    while (this.expecting === 'row' || this.expecting === 'first-or-end') {
      this.at = afterSpace(this.text, this.at);
      const row = quickRow(this.text, this.at);
      if (row === undefined) return;
      items.push(row.item);
      this.rows++;
      this.at = row.end;
      this.expecting = 'comma-or-end';
      if (this.text.charCodeAt(this.at) !== COMMA) return;
      this.at++;
      this.expecting = 'row';
    }
  }

  /** Reads one token of the list's punctuation, or one row the slow way; undefined if more text is needed. */
  private async step(): Promise<InventoryItem | 'moved' | undefined> {
    this.at = afterSpace(this.text, this.at);
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
    // The start of a row at the end of a chunk: the rest is still to come.
    const left = this.text.length - this.at;
    if (!this.ended && left < USUAL_ROW && this.text.indexOf('}', this.at) < 0) return undefined;
    const read = this.strictValue();
    // More digits of a bare number may follow in the next chunk.
    const isWhole = read !== undefined && (this.ended || read.end < this.text.length || typeof read.value === 'object');
    // Each try starts over. With twice the text each time, all tries together take as long as two.
    this.enough = isWhole ? 0 : Math.min(2 * left, MAX_ROW + 1);
    if (!isWhole) return undefined;
    const { readItem, ContractViolation } = await (schemas ??= import('./schemas.ts'));
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

  /** Reads one row strictly; undefined if the text ends within it. */
  private strictValue(): ReturnType<typeof readJsonValue> | undefined {
    const { at, text } = this;
    try {
      const read = readJsonValue(text, at, MOST_VALUES);
      if (read.end - at <= MAX_ROW) return read;
    } catch (error) {
      if (error instanceof JsonIncomplete) {
        if (text.length - at <= MAX_ROW) return undefined;
      } else if (error instanceof JsonError) {
        const where = this.passed + error.at;
        throw new Failure(
          'contract',
          {
            what: this.nextRow(),
            problem: `${error instanceof JsonTooLarge ? 'has' : 'is not JSON:'} ${error.problem}`,
            at: where,
          },
          error,
        );
      } else throw error;
    }
    throw this.broken(`has a row of more than ${MAX_ROW} characters`);
  }

  private nextRow(): string {
    return `Row ${this.rows + 1} of the list`;
  }

  private broken(problem: string): Failure<'contract'> {
    const where = this.rows === 0 ? '' : ` (after row ${this.rows})`;
    return new Failure('contract', { what: 'The list', problem: `${problem}${where}`, at: this.passed + this.at });
  }
}
