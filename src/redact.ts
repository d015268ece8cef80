/** Finds secrets in texts by their value, however it is encoded. */

const MARK = '[redacted]';
/** Shorter secrets would redact unrelated text; real keys are longer. */
const SHORTEST = 6;
/** In a larger text, a secret is searched in its own case and in lower case, not in any. */
const SMALL = 4_096;
/** Longer secrets are searched in pieces of this many characters, to keep the expression small. */
const PIECE = 64;
/** Words of the contract, of paths and of environments. A secret that is part of one cannot be distinguished from it. */
const PUBLIC =
  'petId quantity status code message available pending sold true false null sandbox staging production petstore'.split(
    ' ',
  );

/** Most characters that encode one character: `\\\\\\\"\\\\\\\"`, a quote that CSV doubles, in JSON. */
const LONGEST_SPELLING = 16;

const XML: Readonly<Record<string, readonly string[]>> = {
  '&': ['&amp;'],
  '<': ['&lt;'],
  '>': ['&gt;'],
  '"': ['&quot;'],
  "'": ['&apos;'],
};

/** The secrets that must not appear in any output or file but the config. */
export class Secrets {
  private readonly values = new Set<string>();
  private matcher = new Matcher([]);
  /** For the service's texts as they arrive: also any key that was sent to it, which it may repeat. */
  keyMatcher = new Matcher([]);

  /** Adds a secret that is redacted in everything that the program writes. `isKey`: it is about to be sent. */
  add(secret: string, isKey = false): void {
    if (isPublic(secret) || this.values.has(secret) || (isCommon(secret) && !isKey)) return;
    const all = [...this.values.add(secret)];
    this.keyMatcher = new Matcher(all);
    this.matcher = new Matcher(all.filter((value) => !isCommon(value)));
  }

  /**
   * Redacts everything that is written, except secrets of digits, which look like ids and quantities, and short ones,
   * which occur in our own words.
   */
  redact(text: string): string {
    return this.matcher.redact(text);
  }
}

function isPublic(secret: string): boolean {
  return PUBLIC.some((word) => word.includes(secret));
}

/** True if a text may contain the secret by chance: it is short or a number. */
function isCommon(secret: string): boolean {
  return secret.length < SHORTEST || /^[-+.0-9eE]+$/.test(secret);
}

/** Finds secrets in a text: plain, or as encoded in JSON, URLs, XML, CSV and base64, in any case. */
export class Matcher {
  /** True if a secret is common outside of the strings of a JSON text, as a number is: then only strings are redacted. */
  readonly stringsOnly: boolean;
  /** Length of the longest encoding of a secret, or a piece of one. */
  private readonly longest: number;
  /** Makes the alternatives of the expression, which is rarely needed. */
  private readonly spell: () => readonly string[];
  private compiled: RegExp | undefined;
  /** Every encoding of a secret contains one of these: in lower case for small texts. */
  private readonly anchors: { readonly small: readonly string[]; readonly large: readonly string[] };

  constructor(secrets: readonly string[]) {
    const whole = secrets.filter((secret) => !isCommon(secret)).flatMap(pieces);
    const common = secrets.filter(isCommon);
    this.stringsOnly = common.length > 0;
    this.longest = Math.max(0, ...[...whole, ...common].map(({ length }) => length * LONGEST_SPELLING));
    const encoded = whole.flatMap(base64Forms);
    this.spell = () => [
      ...whole.map(spelled),
      ...encoded.map((form) => form.replace(/\W/g, '\\$&')),
      ...common.map((secret) => `(?<![A-Za-z0-9])${spelled(secret)}(?![A-Za-z0-9])`),
    ];
    // The longest part of each that no encoding changes, except those that escape letters too.
    const plain = whole.map((secret) => {
      const runs = secret.match(/[\w.~-]+/g) ?? [];
      return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '');
    });
    const exact = common.length === 0 ? ['\\u', '%', '&#', ...plain] : [''];
    const lower = exact.map((anchor) => anchor.toLowerCase());
    const small = [...lower, ...encoded.map((form) => form.toLowerCase())];
    const large = [...new Set([...exact, ...lower, ...encoded])];
    this.anchors = secrets.length === 0 ? { small: [], large: [] } : { small, large };
  }

  private get pattern(): RegExp {
    this.compiled ??= new RegExp(this.spell().join('|'), 'gi');
    return this.compiled;
  }

  redact(text: string): string {
    return this.mayMatch(text) ? text.replace(this.pattern, MARK) : text;
  }

  /**
   * Redacts a text that continues, up to where an incomplete secret may begin. Returns the redacted part and the rest.
   * The text has one byte for each character.
   */
  redactStart(bytes: Buffer): readonly [done: Buffer, rest: Buffer] {
    const sure = Math.max(0, bytes.length - this.longest + 1);
    // Searches the bytes, which is faster than to make a text of them.
    const isClean = bytes.length > SMALL && !this.anchors.large.some((anchor) => bytes.includes(anchor, 0, 'latin1'));
    const text = isClean ? '' : bytes.toString('latin1');
    if (isClean || !this.mayMatch(text)) return [bytes.subarray(0, sure), bytes.subarray(sure)];
    const last = [...text.matchAll(this.pattern)].findLast(({ index }) => index < sure);
    const end = last === undefined ? sure : Math.max(sure, last.index + last[0].length);
    return [Buffer.from(this.redact(text.slice(0, end)), 'latin1'), bytes.subarray(end)];
  }

  /** Quick test, mostly false, so that the expression is rarely needed. */
  private mayMatch(text: string): boolean {
    const { small, large } = this.anchors;
    if (text.length > SMALL) return large.some((anchor) => text.includes(anchor));
    const lower = text.toLowerCase();
    return small.some((anchor) => lower.includes(anchor));
  }
}

function pieces(secret: string): string[] {
  const count = Math.max(1, Math.floor(secret.length / PIECE));
  return Array.from({ length: count }, (_, i) =>
    i === count - 1 ? secret.slice(i * PIECE) : secret.slice(i * PIECE, (i + 1) * PIECE),
  );
}

/** Returns a pattern for the secret in which each character may be encoded in its own way. */
function spelled(secret: string): string {
  // Adjacent quotes and backslashes are one unit: CSV and JSON double them, and an expression with a
  // choice at each of them could take for ever.
  const units = secret.match(/\\+|"+|[^\\"]/g) ?? [];
  return units.map((unit, i) => spelledUnit(unit, i === 0)).join('');
}

function spelledUnit(unit: string, isFirst: boolean): string {
  const character = unit.charAt(0);
  const count = unit.length;
  const code = character.charCodeAt(0);
  const hex = code.toString(16).padStart(2, '0');
  // JSON inside JSON inside JSON has seven backslashes. A first one must not be the second half of an escaped backslash.
  const escape = `${isFirst ? '(?<!\\\\)' : ''}\\\\{1,7}`;
  const escapes = [`${escape}u00${hex}`, `%${hex}`, `&#(?:0{0,4}${code}|x0{0,4}${hex});`, ...(XML[character] ?? [])];
  if (character === '\\') {
    // The secret's first backslash may follow others. Matching only from the start of the run keeps long runs fast.
    const doubled = isFirst ? [`(?<!\\\\)\\\\{${count},}`] : [8, 4, 2, 1].map((times) => `\\\\{${count * times}}`);
    return `(?:${[...doubled, `(?:${escapes.join('|')}){${count}}`].join('|')})`;
  }
  const plain = /[A-Za-z0-9]/.test(character) ? character : `(?:${escape})?\\${character}`;
  const each = `(?:${[...escapes, plain].join('|')})`;
  if (character === '"' && isFirst) return `(?<!")${each}{${count},}`;
  return character === '"' ? `(?:"{${count * 2}}|(?:${escape}"){${count * 2}}|${each}{${count}})` : each;
}

/** Returns the base64 encodings of the secret at any offset, without the ends that depend on its neighbours. */
function base64Forms(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${secret}`, 'latin1').toString('base64');
    const inside = encoded.slice([0, 2, 3][before], Math.floor(((before + secret.length) * 8) / 6));
    return inside.length < 8 ? [] : [...new Set([inside, inside.replace(/\+/g, '-').replace(/\//g, '_')])];
  });
}

/** Decodes percent-encoded text; returns malformed text unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
