/**
 * Strict JSON (RFC 8259) with exact integers. The one place that turns the service's text into values.
 *
 * Stricter and more exact than JSON.parse:
 * - an integer beyond 2^53 becomes a bigint, so no id passes through a double;
 * - a number with a fraction or an exponent, or of more than MOST_DIGITS digits, keeps its own spelling (`RawNumber`);
 * - a duplicate key is an error, `__proto__` is a key like any other (objects are Maps);
 * - nesting deeper than MAX_DEPTH is an error instead of a stack overflow.
 */

/** A JSON number that is not a plain integer, or a very long one, as it was written. */
export class RawNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

export type JsonObject = Map<string, JsonValue>;
export type JsonValue = null | boolean | string | number | bigint | RawNumber | JsonValue[] | JsonObject;

/** Returns the members as an object, in their order. */
export function jsonObject(members: Readonly<Record<string, JsonValue>>): JsonObject {
  return new Map(Object.entries(members));
}

/** Returns an integer as a bigint; undefined for any other value. */
export function integer(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
}

const MAX_DEPTH = 128;
/** Parsing a longer bigint takes time that grows faster than its length. */
export const MOST_DIGITS = 400;

/** The text is not JSON. `at`: offset of the first invalid character, in UTF-16 units. */
export class JsonError extends Error {
  override name = 'JsonError';
  readonly at: number;
  readonly problem: string;
  constructor(problem: string, at: number) {
    super(`${problem} at character ${at + 1}`);
    this.problem = problem;
    this.at = at;
  }
}

/** The text ended inside a value: more text may complete it. */
export class JsonIncomplete extends JsonError {
  override name = 'JsonIncomplete';
  constructor(at: number) {
    super('the text ends too early', at);
  }
}

/** The value contains more values than the caller allows. */
export class JsonTooLarge extends JsonError {
  override name = 'JsonTooLarge';
}

/**
 * Parses a text that is exactly one JSON value.
 * @param starts receives the offset of each element, if the value is an array
 * @throws {JsonError}
 */
export function parseJson(text: string, starts?: number[]): JsonValue {
  const reader = new JsonReader(text, 0);
  reader.starts = starts;
  const value = reader.value(0);
  reader.skipSpace();
  if (reader.at < text.length) throw new JsonError('unexpected text after the value', reader.at);
  return value;
}

/**
 * Reads one value from `start` on, after white space. It may contain at most `mostValues` others.
 * A number at the very end of the text counts as complete.
 * @throws {JsonIncomplete} the text ends inside the value
 * @throws {JsonTooLarge} it contains more values
 * @throws {JsonError} it is not JSON
 */
export function readJsonValue(text: string, start: number, mostValues?: number): { value: JsonValue; end: number } {
  const reader = new JsonReader(text, start, mostValues);
  const value = reader.value(0);
  return { value, end: reader.at };
}

const RUN = /[-+.0-9eE]+/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![-+.0-9eE])/y;
/** First characters of a number. */
const BEGUN_NUMBER = /^-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][+-]?[0-9]*)?)?|[eE][+-]?[0-9]*)?)?/;
/** Valid characters within a string, a part at a time: a long string at once would overflow the stack. */
// eslint-disable-next-line no-control-regex -- a string must not hold control characters
const STRING_PART = /[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*){0,1000}/y;
const LITERALS: readonly [string, JsonValue][] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
class JsonReader {
  readonly text: string;
  at: number;
  private readonly mostValues: number;
  private values = 0;
  starts: number[] | undefined;

  constructor(text: string, at: number, mostValues = Number.POSITIVE_INFINITY) {
    this.text = text;
    this.at = at;
    this.mostValues = mostValues;
  }

  skipSpace(): void {
    this.at = afterSpace(this.text, this.at);
  }

  value(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new JsonError(`nested deeper than ${MAX_DEPTH} levels`, this.at);
    if (this.values++ > this.mostValues) throw new JsonTooLarge(`more than ${this.mostValues} values`, this.at);
    this.skipSpace();
    const c = this.text[this.at];
    if (c === undefined) throw new JsonIncomplete(this.at);
    if (c === '{') return this.object(depth);
    if (c === '[') return this.array(depth);
    if (c === '"') return this.string();
    if (c === '-' || (c >= '0' && c <= '9')) return this.number();
    return this.literal();
  }

  private object(depth: number): JsonObject {
    const members: JsonObject = new Map();
    this.at++;
    if (this.peek() === '}') return this.close(members);
    for (;;) {
      this.skipSpace();
      const keyAt = this.at;
      if (this.peek() !== '"') throw this.unexpected('a key in double quotes');
      const key = this.string();
      if (members.has(key)) throw new JsonError(`duplicate key ${JSON.stringify(key)}`, keyAt);
      if (this.peek() !== ':') throw this.unexpected('":"');
      this.at++;
      members.set(key, this.value(depth + 1));
      const next = this.peek();
      if (next === '}') return this.close(members);
      if (next !== ',') throw this.unexpected('"," or "}"');
      this.at++;
    }
  }

  private array(depth: number): JsonValue[] {
    const elements: JsonValue[] = [];
    this.at++;
    if (this.peek() === ']') return this.close(elements);
    for (;;) {
      this.skipSpace();
      if (depth === 0) this.starts?.push(this.at);
      elements.push(this.value(depth + 1));
      const next = this.peek();
      if (next === ']') return this.close(elements);
      if (next !== ',') throw this.unexpected('"," or "]"');
      this.at++;
    }
  }

  private close<T>(value: T): T {
    this.at++;
    return value;
  }

  /** Returns the next character that is not white space. */
  private peek(): string | undefined {
    this.skipSpace();
    return this.text[this.at];
  }

  private string(): string {
    const { at, text } = this;
    let end = at + 1;
    for (let length = -1; length !== 0; end += length) {
      STRING_PART.lastIndex = end;
      length = STRING_PART.exec(text)?.[0].length ?? 0;
    }
    if (text[end] !== '"') throw this.brokenString(end);
    const value: unknown = JSON.parse(text.slice(at, end + 1));
    this.at = end + 1;
    return String(value);
  }

  /** Returns the error for an invalid string. `end`: where its valid part ends. */
  private brokenString(end: number): JsonError {
    const { text } = this;
    if (text[end] === undefined) return new JsonIncomplete(end);
    if (text[end] !== '\\') return new JsonError('a control character inside a string', end);
    const escape = text.slice(end + 1, end + 6);
    const good = /^(?:u[0-9a-fA-F]*)?/.exec(escape)?.[0] ?? '';
    if (good === escape) return new JsonIncomplete(text.length);
    return new JsonError(good === '' ? 'an unknown escape' : 'a broken \\u escape', end + 1 + good.length);
  }

  private number(): JsonValue {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) throw this.brokenNumber();
    const [source, fraction, exponent] = match;
    this.at += source.length;
    const isInteger = fraction === undefined && exponent === undefined && source !== '-0';
    if (!isInteger || source.length > MOST_DIGITS) return new RawNumber(source);
    return source.length <= 15 ? Number(source) : BigInt(source);
  }

  private brokenNumber(): JsonError {
    RUN.lastIndex = this.at;
    const run = RUN.exec(this.text)?.[0] ?? '';
    const good = BEGUN_NUMBER.exec(run)?.[0] ?? '';
    const end = this.at + run.length;
    if (good === run && end === this.text.length) return new JsonIncomplete(end);
    return new JsonError('a broken number', this.at + good.length);
  }

  private literal(): JsonValue {
    const { at, text } = this;
    const [word, value] = LITERALS.find(([each]) => each.charAt(0) === text[at]) ?? ['', null];
    let good = 0;
    while (good < word.length && text[at + good] === word[good]) good++;
    if (good > 0 && good === word.length) {
      this.at += good;
      return value;
    }
    if (good > 0 && at + good === text.length) throw new JsonIncomplete(text.length);
    throw this.unexpected('a value', good);
  }

  /** Returns the error for unexpected text. `good`: number of characters that were still valid. */
  private unexpected(wanted: string, good = 0): JsonError {
    const c = this.text[this.at];
    if (c === undefined) return new JsonIncomplete(this.at);
    return new JsonError(`expected ${wanted}, found ${JSON.stringify(c)}`, this.at + good);
  }
}

/**
 * Characters that a terminal, a log viewer or a JavaScript parser might act on: C0, DEL, C1; bidi marks, overrides and
 * isolates; invisible format characters and line separators; tag characters; lone surrogates. Without ZWJ and ZWNJ,
 * which names and emoji need.
 */
export const UNSAFE =
  // eslint-disable-next-line no-control-regex -- control characters are the point
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

/** ASCII that JSON writes unescaped. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Returns a string as JSON text, with every control, bidi and invisible character as a \u escape. */
function stringifyString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  return JSON.stringify(text).replace(UNSAFE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns the offset after the white space at `at`. */
export function afterSpace(text: string, at: number): number {
  for (let end = at; ; end++) {
    const c = text.charCodeAt(end);
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return end;
  }
}

/** Returns the value as one line of JSON, the inverse of parseJson: exact integers, raw numbers as written, safe strings. */
export function stringifyJson(value: JsonValue): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return stringifyString(value);
  if (value instanceof RawNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(',')}]`;
  const members = [...value].map(([key, member]) => `${stringifyString(key)}:${stringifyJson(member)}`);
  return `{${members.join(',')}}`;
}
