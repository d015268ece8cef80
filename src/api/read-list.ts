/**
 * Reads the body of GET /inventory and yields items as they arrive. The one function that reads lists.
 *
 * A row in the usual spelling is taken as it is (long-list.ts); any other row goes through the strict reader and the
 * schema. Both accept the same texts and return the same items (tested).
 * Holds one chunk and one unfinished row in memory, however long the list is.
 */
import { Failure } from '../errors.ts';
import type { HttpBody } from '../ports.ts';
import { afterSpace, JsonError, LONGEST_CUT, readJsonValue } from './json.ts';
import type { InventoryItem } from './item.ts';
import { quickRow } from './long-list.ts';

/** Largest row, in UTF-16 units. */
const MAX_ROW = 1 << 20;

/**
 * Yields the items of each chunk together. Yields the rows before a bad one, then throws its failure.
 * @throws {Failure} `contract`: not strict JSON, not UTF-8, not an array, or a row that breaks the contract
 */
export async function* readInventoryList(body: HttpBody): AsyncGenerator<InventoryItem[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = new ListReader();
  for await (const chunk of body) yield* reader.take(decode(decoder, chunk));
  yield* reader.take(decode(decoder));
  reader.finish();
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new Failure('contract', { what: 'The list', problem: 'is not valid UTF-8' }, cause);
  }
}

let schemas: Promise<typeof import('./schemas.ts')> | undefined;

/** Which characters may follow each character of the list itself. */
const AFTER: Readonly<Record<string, string>> = { '[': '{]', ',': '{', ']': '' };
const AFTER_ROW = ',]';

class ListReader {
  private text = '';
  private at = 0;
  private rows = 0;
  /** Characters that may come next. */
  private expected = '[';

  /** Adds text, and yields the rows that are complete, up to the first bad one. */
  async *take(more: string): AsyncGenerator<InventoryItem[]> {
    this.text = this.text.slice(this.at) + more;
    this.at = 0;
    const items: InventoryItem[] = [];
    try {
      while (this.quickRows(items) && (await this.strictRow(items)));
    } finally {
      if (items.length > 0) yield items;
    }
  }

  /** @throws {Failure} `contract`: the list is not complete */
  finish(): void {
    if (this.expected !== '') throw this.broken('ends too early');
  }

  /** Reads rows in the usual spelling, and what is between rows. Returns true at any other row, false without more text. */
  private quickRows(items: InventoryItem[]): boolean {
    for (;;) {
      this.at = afterSpace(this.text, this.at);
      const c = this.text[this.at];
      if (c === undefined) return false;
      if (!this.expected.includes(c)) throw this.unexpected(c);
      if (c === '{') {
        const row = quickRow(this.text, this.at);
        if (row === undefined) return true;
        this.passRow(row, items);
      } else {
        this.at++;
        this.expected = AFTER[c]!;
      }
    }
  }

  /** Reads one row in any spelling. Returns false if more text is needed. */
  private async strictRow(items: InventoryItem[]): Promise<boolean> {
    const { at, text } = this;
    const what = `Row ${this.rows + 1} of the list`;
    const { readItem } = await (schemas ??= import('./schemas.ts'));
    try {
      const { value, end } = readJsonValue(text, at);
      if (end - at > MAX_ROW) throw this.tooLong();
      this.passRow({ item: readItem(value, what), end }, items);
      return true;
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      if (error.at <= text.length - LONGEST_CUT) {
        throw new Failure('contract', { what, problem: `is not JSON: ${error.problem}` }, error);
      }
      if (text.length - at > MAX_ROW) throw this.tooLong();
      return false;
    }
  }

  private passRow({ item, end }: NonNullable<ReturnType<typeof quickRow>>, items: InventoryItem[]): void {
    items.push(item);
    this.rows++;
    this.at = end;
    this.expected = AFTER_ROW;
    // Saves a round of quickRows for each row of a long list.
    if (this.text[end] === ',') {
      this.at++;
      this.expected = AFTER[',']!;
    }
  }

  private unexpected(c: string): Failure<'contract'> {
    if (this.expected === '') return this.broken('has text after its end');
    const wanted = Array.from(this.expected, (each) => `"${each}"`).join(' or ');
    return this.broken(`has ${JSON.stringify(c)} where ${wanted} belongs`);
  }

  private tooLong(): Failure<'contract'> {
    return this.broken(`has a row of more than ${MAX_ROW} characters`);
  }

  private broken(problem: string): Failure<'contract'> {
    const where = this.rows === 0 ? '' : ` (after row ${this.rows})`;
    return new Failure('contract', { what: 'The list', problem: `${problem}${where}` });
  }
}
