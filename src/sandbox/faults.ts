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
import { countValue, durationValue, type Parser, parserOf } from '../value-parsers.ts';
import { parseDuration } from '../duration.ts';
import { type Failure, usageFailure } from '../errors.ts';

const bareValue = parserOf('without a value', (text) => (text === '' ? true : undefined));
const shareValue = parserOf('a share from 0 to 1', (text) =>
  /^(0|1|0?\.[0-9]+|1\.0+)$/.test(text) ? Number(text) : undefined,
);
/** Parses `-1h` to ms. */
export const skewValue = parserOf('a duration such as 30s, 1h or -1h', (text) => {
  const ms = parseDuration(text.replace(/^[+-]/, ''));
  return ms !== undefined && text.startsWith('-') ? 0 - ms : ms;
});
const wholeValue = (least: number): Parser<number> => countValue(least, 1_000_000_000);

function matching(form: RegExp, expected: string): Parser<string> {
  return parserOf(expected, (text) => (form.test(text) ? text : undefined));
}

/** The faults; a rule has exactly one of these. */
const EFFECTS = {
  /** Answers with this status. */
  status: countValue(400, 599),
  reset: bareValue,
  /** In ms. */
  delay: durationValue(0),
  /** Sends a few bytes of the body at a time, with pauses of this many ms. */
  drip: durationValue(0),
  /** Closes the connection after this many bytes of the body, by default half of it. */
  truncate: { parse: (text: string, name: string) => (text === '' ? true : wholeValue(0).parse(text, name)) },
  type: matching(/^[\x21-\x7e][\x20-\x7e]*$/, 'a content type'),
  /** Turns every petId into 2^63, one more than an int64 can hold. */
  'bad-int64': bareValue,
  /** Name in lower case; `limits` for all three rate-limit headers. */
  'no-header': parserOf('the name of a header, or limits', (text) =>
    /^[\w-]+$/.test(text) ? text.toLowerCase() : undefined,
  ),
  /** Error of the Date header, in ms. */
  date: skewValue,
} satisfies Record<string, Parser>;

const SETTINGS = {
  ...EFFECTS,
  /** Does the work first; otherwise the fault replaces it. */
  after: bareValue,
  /** In s. */
  'retry-after': wholeValue(0),
  method: matching(/^[A-Z]+$/, 'a method in capitals'),
  /** Below the base path; `*` matches one segment. */
  path: matching(/^\/[\x21-\x7e]*$/, 'a path such as /inventory/*'),
  /** The share of the matching requests. */
  p: shareValue,
  nth: wholeValue(1),
  every: wholeValue(1),
  /** At most this often. */
  times: wholeValue(1),
} satisfies Record<string, Parser>;

type Settings = { readonly [Name in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Name]['parse']> };

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

/** @throws {Failure} `usage`, `invalid-value` */
export function parseFault(text: string): FaultRule {
  const fault = `the fault ${JSON.stringify(text)}`;
  const refused = (problem: string): Failure =>
    usageFailure(`T${fault.slice(1)} ${problem}.`, 'See: petstore sandbox serve --help');
  const given = new Map<string, string>();
  for (const part of text.split(',')) {
    const [name = '', ...value] = part.trim().split('=');
    if (given.has(name)) throw refused(`has ${name} twice`);
    given.set(name, value.join('='));
  }
  const [does, ...more] = [...given.keys()].filter(isEffect);
  if (does === undefined || more.length > 0) {
    throw refused(`must have exactly one effect: ${Object.keys(EFFECTS).join(', ')}`);
  }
  const settings = [...given].map(([name, value]) => {
    if (!isSetting(name) || ONLY_WITH[name]?.includes(does) === false) {
      throw refused(`has ${JSON.stringify(name)}, which is not a setting of this rule`);
    }
    return [name, SETTINGS[name].parse(value, `${name} in ${fault}`)] as const;
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

/** A rule, how many requests it matched, and how many of them it changed. */
interface ActiveFault extends FaultRule {
  seen: number;
  fired: number;
}

/** The active rules, with a count of the requests that matched each. */
export class Faults {
  rules: readonly ActiveFault[] = [];
  private readonly random: () => number;

  constructor(rules: readonly FaultRule[], seed: number) {
    this.random = seeded(seed);
    this.set(rules);
  }

  set(rules: readonly FaultRule[]): void {
    this.rules = rules.map((rule) => ({ ...rule, seen: 0, fired: 0 }));
  }

  /** Returns the rules that affect this request. @param path below the base path, without a query */
  choose(method: string, path: string): readonly FaultRule[] {
    return this.rules.filter((rule) => {
      if (!concerns(rule, method, path)) return false;
      rule.seen++;
      const { p, nth, every, times, seen, fired } = rule;
      if (nth !== undefined && seen !== nth) return false;
      if (every !== undefined && seen % every !== 0) return false;
      if (times !== undefined && fired >= times) return false;
      if (p !== undefined && this.random() >= p) return false;
      rule.fired++;
      return true;
    });
  }
}

function concerns(rule: FaultRule, method: string, path: string): boolean {
  if (rule.method !== undefined && rule.method !== method) return false;
  if (rule.path === undefined) return true;
  const [wanted, found] = [rule.path.split('/'), path.split('/')];
  return wanted.length === found.length && wanted.every((part, i) => part === '*' || part === found[i]);
}

/**
 * Returns random numbers in [0, 1), the same for the same seed on every machine: Tommy Ettinger's mulberry32, public
 * domain.
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
