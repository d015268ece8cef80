/**
 * Faults on demand. A rule says what goes wrong, and with which requests:
 *
 *     status=503,method=PATCH,p=0.1     one in ten updates is answered 503
 *     status=429,retry-after=2,times=20 a storm of twenty 429s
 *     reset,after,path=/inventory/*     applied, then the connection is reset
 *     delay=2s,nth=3                    the third request is answered late
 *
 * The same rules, seed and requests give the same faults.
 */
import { parseDuration, parseSignedDuration } from '../duration.ts';

export type Effect =
  /** Answered so; `applied`: after the work was done, else in its place. */
  | { readonly does: 'status'; readonly status: number; readonly retryAfterS?: number; readonly applied: boolean }
  | { readonly does: 'reset'; readonly applied: boolean }
  | { readonly does: 'delay'; readonly ms: number; readonly applied: boolean }
  /** A few bytes of the body at a time, with pauses of so many ms. */
  | { readonly does: 'drip'; readonly ms: number }
  /** The connection ends after so many bytes of the body; half of them by default. */
  | { readonly does: 'truncate'; readonly bytes?: number }
  | { readonly does: 'type'; readonly type: string }
  /** Every petId becomes 2^63, one more than an int64 holds. */
  | { readonly does: 'bad-int64' }
  /** Lower case; `limits`: all three of the rate limit. */
  | { readonly does: 'no-header'; readonly name: string }
  | { readonly does: 'date'; readonly ms: number };

export interface FaultRule {
  /** As it was given. */
  readonly text: string;
  readonly effect: Effect;
  readonly method?: string;
  /** Below the base path; `*` matches one segment. */
  readonly path?: string;
  /** The share of the matching requests. */
  readonly p?: number;
  readonly nth?: number;
  readonly every?: number;
  /** How often at most. */
  readonly times?: number;
}

/** What is wrong with a rule's text. */
export class FaultSyntaxError extends Error {}

type FaultSettings = Map<string, string>;

const EFFECTS: Readonly<Record<string, (value: string, settings: FaultSettings) => Effect>> = {
  status: (value, settings) => {
    const retryAfter = settings.get('retry-after');
    settings.delete('retry-after');
    return {
      does: 'status',
      status: whole('status', value, 400, 599),
      ...(retryAfter !== undefined && { retryAfterS: whole('retry-after', retryAfter, 0, 1_000_000_000) }),
      applied: takeAfter(settings),
    };
  },
  reset: (value, settings) => {
    mustBeBare('reset', value);
    return { does: 'reset', applied: takeAfter(settings) };
  },
  delay: (value, settings) => ({
    does: 'delay',
    ms: duration('delay', value, parseDuration),
    applied: takeAfter(settings),
  }),
  drip: (value) => ({ does: 'drip', ms: duration('drip', value, parseDuration) }),
  truncate: (value) => ({
    does: 'truncate',
    ...(value !== '' && { bytes: whole('truncate', value, 0, 1_000_000_000) }),
  }),
  type: (value) => ({ does: 'type', type: pattern('type', value, /^[\x21-\x7e][\x20-\x7e]*$/, 'a content type') }),
  'bad-int64': (value) => {
    mustBeBare('bad-int64', value);
    return { does: 'bad-int64' };
  },
  'no-header': (value) => ({
    does: 'no-header',
    name: pattern('no-header', value, /^[\w-]+$/, 'the name of a header, or limits').toLowerCase(),
  }),
  date: (value) => ({ does: 'date', ms: duration('date', value, parseSignedDuration) }),
};

/** @throws {FaultSyntaxError} */
export function parseFault(text: string): FaultRule {
  const settings: FaultSettings = new Map();
  for (const part of text.split(',')) {
    const [name = '', ...value] = part.trim().split('=');
    if (settings.has(name)) throw new FaultSyntaxError(`says ${name} twice`);
    settings.set(name, value.join('='));
  }
  const named = [...settings.keys()].filter((name) => Object.hasOwn(EFFECTS, name));
  const [effect] = named;
  if (effect === undefined || named.length > 1) {
    throw new FaultSyntaxError(`must say one thing that goes wrong: ${Object.keys(EFFECTS).join(', ')}`);
  }
  const value = settings.get(effect) ?? '';
  settings.delete(effect);
  const rule = { text, effect: EFFECTS[effect]!(value, settings), ...conditions(settings) };
  const [unknown] = settings.keys();
  if (unknown !== undefined) throw new FaultSyntaxError(`says ${JSON.stringify(unknown)}, which nothing knows here`);
  return rule;
}

function conditions(settings: FaultSettings): Omit<FaultRule, 'text' | 'effect'> {
  const read = <T>(name: string, parse: (value: string) => T): Record<string, T> => {
    const value = settings.get(name);
    settings.delete(name);
    return value === undefined ? {} : { [name]: parse(value) };
  };
  return {
    ...read('method', (value) => pattern('method', value, /^[A-Z]+$/, 'a method in capitals')),
    ...read('path', (value) => pattern('path', value, /^\/[\x21-\x7e]*$/, 'a path such as /inventory/*')),
    ...read('p', (value) => {
      const share = /^(0|1|0?\.[0-9]+|0\.[0-9]+|1\.0+)$/.test(value) ? Number(value) : Number.NaN;
      if (Number.isNaN(share)) throw new FaultSyntaxError('says p, which must be a share from 0 to 1');
      return share;
    }),
    ...read('nth', (value) => whole('nth', value, 1, 1_000_000_000)),
    ...read('every', (value) => whole('every', value, 1, 1_000_000_000)),
    ...read('times', (value) => whole('times', value, 1, 1_000_000_000)),
  };
}

function takeAfter(settings: FaultSettings): boolean {
  mustBeBare('after', settings.get('after') ?? '');
  return settings.delete('after');
}

function mustBeBare(name: string, value: string): void {
  if (value !== '') throw new FaultSyntaxError(`gives ${name} a value, and it has none`);
}

function whole(name: string, value: string, least: number, most: number): number {
  const number = /^(0|[1-9][0-9]{0,9})$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new FaultSyntaxError(`says ${name}, which must be a whole number from ${least} to ${most}`);
}

function duration(name: string, value: string, parse: (text: string) => number | undefined): number {
  const ms = parse(value);
  if (ms === undefined) throw new FaultSyntaxError(`says ${name}, which must be a duration such as 500ms or 2s`);
  return ms;
}

function pattern(name: string, value: string, form: RegExp, what: string): string {
  if (form.test(value)) return value;
  throw new FaultSyntaxError(`says ${name}, which must be ${what}`);
}

/** A rule as it was given, how many requests it matched, and how many of them it changed. */
export interface ActiveFault {
  readonly text: string;
  readonly seen: number;
  readonly fired: number;
}

/** The active rules, and how often each has been met. */
export class Faults {
  private armed: readonly { readonly rule: FaultRule; seen: number; fired: number }[] = [];
  private readonly random: () => number;

  constructor(rules: readonly FaultRule[], seed: number) {
    this.random = seeded(seed);
    this.set(rules);
  }

  set(rules: readonly FaultRule[]): void {
    this.armed = rules.map((rule) => ({ rule, seen: 0, fired: 0 }));
  }

  get rules(): readonly ActiveFault[] {
    return this.armed.map(({ rule, seen, fired }) => ({ text: rule.text, seen, fired }));
  }

  /** What goes wrong with this request. @param path below the base path, without a query */
  choose(method: string, path: string): readonly Effect[] {
    return this.armed.flatMap((each) => {
      const { rule } = each;
      if (!concerns(rule, method, path)) return [];
      each.seen++;
      const { p, nth, every, times } = rule;
      if (nth !== undefined && each.seen !== nth) return [];
      if (every !== undefined && each.seen % every !== 0) return [];
      if (times !== undefined && each.fired >= times) return [];
      if (p !== undefined && this.random() >= p) return [];
      each.fired++;
      return [rule.effect];
    });
  }
}

function concerns(rule: FaultRule, method: string, path: string): boolean {
  if (rule.method !== undefined && rule.method !== method) return false;
  if (rule.path === undefined) return true;
  const [wanted, found] = [rule.path.split('/'), path.split('/')];
  return wanted.length === found.length && wanted.every((part, i) => part === '*' || part === found[i]);
}

/** mulberry32: small, good enough for chance, the same on every machine. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
