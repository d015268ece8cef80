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
  toString(): string {
    return this.source;
  }
}

export type JsonObject = Map<string, JsonValue>;
export type JsonValue = null | boolean | string | number | bigint | RawNumber | JsonValue[] | JsonObject;

/** Returns the members as an object, in their order. Leaves undefined ones out, as JSON.stringify does. */
export function jsonObject(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return new Map(Object.entries(members).filter((each): each is [string, JsonValue] => each[1] !== undefined));
}

/** Returns an integer as a bigint; undefined for any other value. */
export function integer(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
}

const MAX_DEPTH = 128;
/** Parsing a longer bigint takes time that grows faster than its length. */
const MOST_DIGITS = 400;

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

/** Parses a text that is exactly one JSON value. @throws {JsonError} */
export function parseJson(text: string): JsonValue {
  const reader = new JsonReader(text, 0);
  const value = reader.value(0);
  if (reader.peek() !== undefined) throw reader.unexpected('nothing after the value');
  return value;
}

/** Reads the value that begins at `start`. @throws {JsonError} */
export function readJsonValue(text: string, start: number): { readonly value: JsonValue; readonly end: number } {
  const reader = new JsonReader(text, start);
  return { value: reader.value(0), end: reader.at };
}

/** If an error is so near the end of the text, more text may correct it: `fals`, `1e+`, `"\u123`. */
export const LONGEST_CUT = 6;

const WORD_OR_NUMBER = /true|false|null|-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
/** Valid characters within a string, a part at a time: a long string at once would overflow the stack. */
// eslint-disable-next-line no-control-regex -- a string must not hold control characters
const STRING_PART = /[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*){0,1000}/y;

class JsonReader {
  private readonly text: string;
  at: number;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  value(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new JsonError(`nested deeper than ${MAX_DEPTH} levels`, this.at);
    const c = this.peek();
    if (c === '{') return this.object(depth);
    if (c === '[') return this.array(depth);
    return c === '"' ? this.string() : this.wordOrNumber();
  }

  private object(depth: number): JsonObject {
    const members: JsonObject = new Map();
    this.list('}', () => {
      if (this.peek() !== '"') throw this.unexpected('a key in double quotes');
      const keyAt = this.at;
      const key = this.string();
      if (members.has(key)) throw new JsonError(`duplicate key ${JSON.stringify(key)}`, keyAt);
      if (this.peek() !== ':') throw this.unexpected('":"');
      this.at++;
      members.set(key, this.value(depth + 1));
    });
    return members;
  }

  private array(depth: number): JsonValue[] {
    const elements: JsonValue[] = [];
    this.list(']', () => {
      elements.push(this.value(depth + 1));
    });
    return elements;
  }

  /** Reads brackets, and what is between them, with commas in between. */
  private list(close: '}' | ']', readOne: () => void): void {
    this.at++;
    if (this.peek() !== close) {
      readOne();
      while (this.peek() === ',') {
        this.at++;
        readOne();
      }
      if (this.peek() !== close) throw this.unexpected(`"," or "${close}"`);
    }
    this.at++;
  }

  private string(): string {
    const { at, text } = this;
    let end = at + 1;
    for (let length = -1; length !== 0; end += length) {
      STRING_PART.lastIndex = end;
      length = STRING_PART.exec(text)?.[0].length ?? 0;
    }
    this.at = end;
    if (text[end] !== '"') throw this.unexpected('the rest of a string');
    this.at++;
    return String(JSON.parse(text.slice(at, this.at)));
  }

  private wordOrNumber(): JsonValue {
    WORD_OR_NUMBER.lastIndex = this.at;
    const match = WORD_OR_NUMBER.exec(this.text);
    if (match === null) throw this.unexpected('a value');
    const [source, fraction, exponent] = match;
    this.at += source.length;
    if (/^[tfn]/.test(source)) return source === 'null' ? null : source === 'true';
    const isInteger = fraction === undefined && exponent === undefined && source !== '-0';
    if (!isInteger || source.length > MOST_DIGITS) return new RawNumber(source);
    return source.length <= 15 ? Number(source) : BigInt(source);
  }

  /** Returns the next character that is not white space; undefined at the end. */
  peek(): string | undefined {
    this.at = afterSpace(this.text, this.at);
    return this.text[this.at];
  }

  /** Returns the error for the character at the current position. */
  unexpected(wanted: string): JsonError {
    const c = this.text[this.at];
    if (c === undefined) return new JsonError('the text ends too early', this.at);
    return new JsonError(`expected ${wanted}, found ${JSON.stringify(c)}`, this.at);
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

/** Returns a string as JSON text, with every character of UNSAFE as a \u escape. */
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
