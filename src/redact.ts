/** Finds secrets in texts by their value, however it is encoded. */

const MARK = '[redacted]';
/** Shorter secrets would redact unrelated text; real keys are longer. */
const SHORTEST = 6;
/** In a larger text, only the plain spelling of a secret is searched, and its lower case. */
const SMALL = 4_096;
/** Longer secrets are searched in pieces of this many characters, to keep the expression small. */
const PIECE = 64;
/** Words of the contract, of paths and of environments. A secret that is part of one cannot be distinguished from it. */
const PUBLIC =
  'petId quantity status code message available pending sold true false null sandbox staging production petstore'.split(
    ' ',
  );

/** Most characters that encode one character: `\\\\\\\u0061`. */
const LONGEST_SPELLING = 12;

const XML: Readonly<Record<string, readonly string[]>> = {
  '&': ['&amp;'],
  '<': ['&lt;'],
  '>': ['&gt;'],
  '"': ['&quot;'],
  "'": ['&apos;'],
};

/** The secrets that must not appear in any output or file but the config. */
export class Secrets {
  /** Secret -> true for a key that was sent to the service, which may repeat it. */
  private readonly values = new Map<string, boolean>();
  private compiled: Matcher | undefined;
  private compiledKeys: Matcher | undefined;

  /** Adds a secret that is redacted in everything that the program writes. `isKey`: it is about to be sent. */
  add(secret: string, isKey = false): void {
    const isKnown = this.values.has(secret) && (!isKey || this.values.get(secret) === true);
    if (secret === '' || isPublic(secret) || isKnown) return;
    this.values.set(secret, isKey);
    this.compiled = undefined;
    this.compiledKeys = undefined;
  }

  /**
   * Redacts everything that is written, except secrets of digits, which look like ids and quantities, and short ones,
   * which occur in our own words. `keyMatcher` redacts those too, in the service's texts as they arrive.
   */
  redact(text: string): string {
    this.compiled ??= new Matcher([...this.values.keys()].filter((value) => !isCommon(value)));
    return this.compiled.redact(text);
  }

  /** Returns the matcher for the service's texts: any key that was sent to it, and all other secrets of the usual form. */
  get keyMatcher(): Matcher {
    const { values } = this;
    this.compiledKeys ??= new Matcher([...values.keys()].filter((value) => values.get(value)! || !isCommon(value)));
    return this.compiledKeys;
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
  readonly longest: number;
  private readonly alternatives: readonly string[];
  private compiled: RegExp | undefined;
  /** Every encoding of a secret contains one of these; undefined if there is no such list. */
  private readonly anchors: { readonly lower: readonly string[]; readonly all: readonly string[] } | undefined;

  constructor(secrets: readonly string[]) {
    const whole = secrets.filter((secret) => !isCommon(secret)).flatMap(pieces);
    const common = secrets.filter(isCommon);
    this.stringsOnly = common.length > 0;
    this.longest = Math.max(0, ...[...whole, ...common].map(({ length }) => length * LONGEST_SPELLING));
    const encoded = whole.flatMap(base64Forms);
    this.alternatives = [
      ...whole.map(spelled),
      ...encoded.map((form) => form.replace(/\W/g, '\\$&')),
      ...common.map((secret) => `(?<![A-Za-z0-9])${spelled(secret)}(?![A-Za-z0-9])`),
    ];
    const anchors = whole.map(longestPlain);
    if (common.length === 0 && anchors.every(({ length }) => length >= 4)) {
      const exact = ['\\u', '%', '&#', ...anchors];
      const lower = exact.map((anchor) => anchor.toLowerCase());
      this.anchors = {
        lower: [...lower, ...encoded.map((form) => form.toLowerCase())],
        all: [...new Set([...exact, ...lower, ...encoded])],
      };
    }
  }

  private get pattern(): RegExp {
    this.compiled ??= new RegExp(this.alternatives.join('|'), 'gi');
    return this.compiled;
  }

  redact(text: string): string {
    return this.mayMatch(text) ? text.replace(this.pattern, MARK) : text;
  }

  /**
   * Redacts a text that continues, up to where an incomplete secret may begin. Returns the redacted part and the rest.
   */
  redactStart(text: string): readonly [done: string, rest: string] {
    const sure = Math.max(0, text.length - this.longest + 1);
    if (!this.mayMatch(text)) return [text.slice(0, sure), text.slice(sure)];
    let done = '';
    let at = 0;
    for (const { 0: found, index } of text.matchAll(this.pattern)) {
      if (index >= sure) break;
      done += text.slice(at, index) + MARK;
      at = index + found.length;
    }
    const end = Math.max(at, sure);
    return [done + text.slice(at, end), text.slice(end)];
  }

  /** Quick test, mostly false, so that the expression is rarely needed. Each byte is a character. */
  mayMatch(text: string | Buffer): boolean {
    if (this.alternatives.length === 0 || this.anchors === undefined) return this.alternatives.length > 0;
    const { all, lower } = this.anchors;
    if (text.length > SMALL) return all.some((each) => text.includes(each));
    const small = (typeof text === 'string' ? text : text.toString('latin1')).toLowerCase();
    return lower.some((each) => small.includes(each));
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

/** Returns the part of the secret that no encoding changes, except those that escape letters too. */
function longestPlain(secret: string): string {
  return (secret.match(/[\w.~-]+/g) ?? []).reduce((longest, run) => (run.length > longest.length ? run : longest), '');
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
