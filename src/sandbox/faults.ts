/**
 * Injects faults on demand. A rule names one fault and the requests that it affects:
 *
 *     status=503,method=PATCH,p=0.1     one in ten updates is answered 503
 *     status=429,retry-after=2,times=20 a storm of twenty 429s
 *     reset,after,path=/inventory/*     applied, then the connection is reset
 *     delay=2s,nth=3                    the third request is answered late
 *
 * The same rules, seed and requests always give the same faults.
 */
import { parseDuration, parseSignedDuration } from '../duration.ts';

/** The problem with a rule's text. */
export class FaultSyntaxError extends Error {}

type Parse<T> = (value: string, name: string) => T;

const bare: Parse<true> = (value, name) => {
  if (value === '') return true;
  throw new FaultSyntaxError(`gives ${name} a value, and it has none`);
};

const whole = (least: number, most = 1_000_000_000): Parse<number> => {
  return (value, name) => {
    const number = /^(0|[1-9][0-9]{0,9})$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new FaultSyntaxError(`says ${name}, which must be a whole number from ${least} to ${most}`);
  };
};

const duration = (parse: (text: string) => number | undefined): Parse<number> => {
  return (value, name) => {
    const ms = parse(value);
    if (ms !== undefined) return ms;
    throw new FaultSyntaxError(`says ${name}, which must be a duration such as 500ms or 2s`);
  };
};

const matching = (form: RegExp, what: string): Parse<string> => {
  return (value, name) => {
    if (form.test(value)) return value;
    throw new FaultSyntaxError(`says ${name}, which must be ${what}`);
  };
};

const share = matching(/^(0|1|0?\.[0-9]+|1\.0+)$/, 'a share from 0 to 1');
const headerName = matching(/^[\w-]+$/, 'the name of a header, or limits');

/** The faults; a rule has exactly one of these. */
const EFFECTS = {
  /** Answers with this status. */
  status: whole(400, 599),
  reset: bare,
  /** In ms. */
  delay: duration(parseDuration),
  /** Sends a few bytes of the body at a time, with pauses of this many ms. */
  drip: duration(parseDuration),
  /** Closes the connection after this many bytes of the body, by default half of it. */
  truncate: (value: string, name: string) => (value === '' ? true : whole(0)(value, name)),
  type: matching(/^[\x21-\x7e][\x20-\x7e]*$/, 'a content type'),
  /** Turns every petId into 2^63, one more than an int64 can hold. */
  'bad-int64': bare,
  /** Name in lower case; `limits` for all three rate-limit headers. */
  'no-header': (value: string, name: string) => headerName(value, name).toLowerCase(),
  /** Error of the Date header, in ms. */
  date: duration(parseSignedDuration),
} satisfies Record<string, Parse<unknown>>;

const SETTINGS = {
  ...EFFECTS,
  /** Does the work first; otherwise the fault replaces it. */
  after: bare,
  /** In s. */
  'retry-after': whole(0),
  method: matching(/^[A-Z]+$/, 'a method in capitals'),
  /** Below the base path; `*` matches one segment. */
  path: matching(/^\/[\x21-\x7e]*$/, 'a path such as /inventory/*'),
  /** The share of the matching requests. */
  p: (value: string, name: string) => Number(share(value, name)),
  nth: whole(1),
  every: whole(1),
  /** At most this often. */
  times: whole(1),
} satisfies Record<string, Parse<unknown>>;

type Settings = { readonly [Name in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Name]> };

export interface FaultRule extends Partial<Settings> {
  /** As the user gave it. */
  readonly text: string;
  readonly does: keyof typeof EFFECTS;
}

/** A rule with this effect. */
export type Fault<Name extends keyof Settings> = FaultRule & Pick<Settings, Name>;

/** The effects that allow a setting; all if absent. */
const ONLY_WITH: Readonly<Record<string, readonly FaultRule['does'][]>> = {
  after: ['status', 'reset', 'delay'],
  'retry-after': ['status'],
};

const isEffect = (name: string): name is FaultRule['does'] => Object.hasOwn(EFFECTS, name);
const isSetting = (name: string): name is keyof Settings => Object.hasOwn(SETTINGS, name);

/** @throws {FaultSyntaxError} */
export function parseFault(text: string): FaultRule {
  const given = new Map<string, string>();
  for (const part of text.split(',')) {
    const [name = '', ...value] = part.trim().split('=');
    if (given.has(name)) throw new FaultSyntaxError(`has ${name} twice`);
    given.set(name, value.join('='));
  }
  const [does, ...more] = [...given.keys()].filter(isEffect);
  if (does === undefined || more.length > 0) {
    throw new FaultSyntaxError(`must have exactly one effect: ${Object.keys(EFFECTS).join(', ')}`);
  }
  const settings = [...given].map(([name, value]) => {
    if (!isSetting(name) || ONLY_WITH[name]?.includes(does) === false) {
      throw new FaultSyntaxError(`has ${JSON.stringify(name)}, which is not a setting of this rule`);
    }
    return [name, SETTINGS[name](value, name)] as const;
  });
  return { text, does, ...(Object.fromEntries(settings) as Partial<Settings>) };
}

/** Returns the first rule with this effect. */
export function faultIn<Name extends FaultRule['does']>(
  rules: readonly FaultRule[],
  name: Name,
): Fault<Name> | undefined {
  return rules.find((rule): rule is Fault<Name> => rule.does === name);
}

/** A rule's text, how many requests it matched, and how many of them it changed. */
export interface ActiveFault {
  readonly text: string;
  readonly seen: number;
  readonly fired: number;
}

/** The active rules, with a count of the requests that matched each. */
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

  /** Returns the rules that affect this request. @param path below the base path, without a query */
  choose(method: string, path: string): readonly FaultRule[] {
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
      return [rule];
    });
  }
}

function concerns(rule: FaultRule, method: string, path: string): boolean {
  if (rule.method !== undefined && rule.method !== method) return false;
  if (rule.path === undefined) return true;
  const [wanted, found] = [rule.path.split('/'), path.split('/')];
  return wanted.length === found.length && wanted.every((part, i) => part === '*' || part === found[i]);
}

/** mulberry32: small, random enough, and the same on every machine. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
