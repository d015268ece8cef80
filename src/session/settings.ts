/** The one table of settings: where each can be given, how it is parsed, and which value wins. */
import {
  countValue,
  durationValue,
  keptTimeValue,
  lineValue,
  type Parser,
  parserOf,
  parseStored,
  splitWords,
  textValue,
  waitValue,
  wordValue,
} from '../value-parsers.ts';
import { usageFailure } from '../errors.ts';
import type { Context } from '../ports.ts';
import { FORMATS } from '../view/view.ts';
import { ENVIRONMENTS, parseBaseUrl, partsOf, type Place, REMOTE_ENVIRONMENTS } from './environments.ts';

export interface Setting<T = unknown> {
  /** Its option, in commander's notation. */
  readonly flags?: string;
  readonly variable?: `PETSTORE_${string}`;
  /** Its name in the config. */
  readonly key?: string;
  /** True if each environment has its own value in the config: `staging.base-url`. */
  readonly isPerEnvironment?: true;
  /** True for a value that is never shown, and never taken from a command line. */
  readonly isSecret?: true;
  /** Description in the help. */
  readonly about: string;
  readonly parser: Parser<T>;
  /** Default as a user would write it. */
  readonly default?: string;
}

const apiKeyValue: Parser<string> = {
  parse(_text, key) {
    throw usageFailure(
      'Other users can see command lines, so an API key cannot be set here; nothing was changed.',
      `Use the hidden prompt, or --key-stdin: ${commandFor(key)}`,
    );
  },
};

/** Parses the name of a profile, which is also a folder name. */
const profileValue = parserOf('1 to 32 small letters, digits, - and _, such as berlin', (text) =>
  isProfileName(text) ? text : undefined,
);

export function isProfileName(text: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,31}$/.test(text);
}

const placeValue: Parser<Place> = {
  ...wordValue(ENVIRONMENTS),
  parse(text, name) {
    const { profile, environment } = partsOf(text);
    if (profile === undefined) return wordValue(ENVIRONMENTS).parse(text, name);
    return `${profileValue.parse(profile, name)}/${wordValue(REMOTE_ENVIRONMENTS).parse(environment, name)}`;
  },
};

export const SETTINGS = {
  env: {
    flags: '-e, --env <name>',
    variable: 'PETSTORE_ENV',
    key: 'environment',
    about: `environment: ${ENVIRONMENTS.join(', ')}`,
    parser: placeValue,
    default: 'production',
  },
  profile: {
    flags: '--profile <name>',
    variable: 'PETSTORE_PROFILE',
    about: 'a shop with its own config, catalog and history',
    parser: profileValue,
  },
  baseUrl: {
    flags: '--base-url <url>',
    variable: 'PETSTORE_BASE_URL',
    key: 'base-url',
    isPerEnvironment: true,
    about: 'address of the service, ending in /v1',
    // The command that sends checks it: it knows whether http is allowed.
    parser: { parse: (text) => parseBaseUrl(text, { insecureHttp: true }).href },
  },
  apiKey: {
    variable: 'PETSTORE_API_KEY',
    key: 'api-key',
    isPerEnvironment: true,
    isSecret: true,
    about: 'the API key',
    parser: apiKeyValue,
  },
  keyCommand: {
    key: 'key-command',
    isPerEnvironment: true,
    about: 'a command that prints the API key',
    parser: { parse: (text) => (splitWords(text), text) },
  },
  ledger: {
    variable: 'PETSTORE_LEDGER',
    about: 'a Redis server through which machines share the limits of a key, and the locks of pets',
    parser: textValue,
  },
  ledgerLost: {
    variable: 'PETSTORE_LEDGER_LOST',
    about: 'while that server does not work: hold (default) sends what was lent, share its part of the limit',
    parser: wordValue(['hold', 'share']),
  },
  output: {
    flags: '-o, --output <format>',
    variable: 'PETSTORE_OUTPUT',
    key: 'output',
    about: FORMATS.join(', '),
    parser: wordValue(FORMATS),
    default: 'table',
  },
  color: {
    flags: '--color <when>',
    variable: 'PETSTORE_COLOR',
    key: 'color',
    about: 'auto, always, never',
    parser: wordValue(['auto', 'always', 'never']),
    default: 'auto',
  },
  maxWait: {
    flags: '--max-wait <duration>',
    variable: 'PETSTORE_MAX_WAIT',
    key: 'max-wait',
    about: 'longest wait for the rate limit, or "forever"; else exit 6',
    parser: waitValue,
    default: '75s',
  },
  retryFor: {
    flags: '--retry-for <duration>',
    variable: 'PETSTORE_RETRY_FOR',
    key: 'retry-for',
    about: 'how long to retry a service that does not answer, or answers 5xx; at least three tries (default: 0s)',
    parser: durationValue(0),
    default: '0s',
  },
  reserve: {
    flags: '--reserve <requests>',
    variable: 'PETSTORE_RESERVE',
    key: 'reserve',
    about: 'requests to leave for other programs with this key (default: 0; a tenth of the limit for bulk changes)',
    parser: countValue(),
  },
  person: {
    flags: '--person <name>',
    variable: 'PETSTORE_PERSON',
    about: 'who makes the change (default: the user of this machine)',
    parser: lineValue(100),
  },
  keepHistory: {
    variable: 'PETSTORE_KEEP_HISTORY',
    key: 'keep-history',
    about: 'how long the history is kept',
    parser: keptTimeValue,
    default: '730d',
  },
} as const satisfies Readonly<Record<string, Setting>>;

const ALL: readonly Setting[] = Object.values(SETTINGS);

/** All of petstore's variables. */
export const VARIABLES: readonly string[] = ALL.flatMap(({ variable = [] }) => variable);

/** Returns variables that look like petstore's and have no effect. */
export function unreadVariables(env: Context['env']): string[] {
  const lost = env.PETSTORE_LEDGER_LOST && !env.PETSTORE_LEDGER ? ['PETSTORE_LEDGER_LOST without PETSTORE_LEDGER'] : [];
  return [...Object.keys(env), ...lost].filter((name) => name.startsWith('PETSTORE_') && !VARIABLES.includes(name));
}

/** Settings in the config, by name: `environment`, `staging.base-url`, `max-wait`. */
export const CONFIG_SETTINGS: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  // The config itself belongs to a profile.
  [SETTINGS.env.key, { ...SETTINGS.env, parser: wordValue(ENVIRONMENTS) }],
  ...REMOTE_ENVIRONMENTS.flatMap((environment) =>
    ALL.filter(({ isPerEnvironment }) => isPerEnvironment).map((each) => [keyOf(each, environment), each] as const),
  ),
  ...ALL.flatMap((each) =>
    each.key === undefined || each.isPerEnvironment || each === SETTINGS.env ? [] : [[each.key, each] as const],
  ),
]);

/** Returns the name of a setting in the config. */
export function keyOf({ key = '', isPerEnvironment }: Setting, environment = ''): string {
  return isPerEnvironment ? `${environment}.${key}` : key;
}

export function commandFor(key: string): string {
  if (CONFIG_SETTINGS.get(key)?.isSecret !== true) return `petstore config set ${key} VALUE`;
  return `petstore login --env ${key.split('.')[0]}`;
}

/** Returns the value of the setting's variable; undefined if it is unset or empty. @throws {Failure} `invalid-value` */
export function inVariable<T>({ variable, parser }: Setting<T> & { variable: string }, env: Context['env']) {
  return env[variable] ? parser.parse(env[variable], variable) : undefined;
}

/** The origin of a value. `name` is for messages: `--env`, `PETSTORE_ENV`, `the config`. */
export interface Source {
  readonly from: 'flag' | 'variable' | 'config' | 'key-command' | 'built in' | 'default';
  readonly name: string;
}

export interface Sourced<T> {
  readonly value: T;
  readonly source: Source;
  /** A value with lower precedence that this one hides. */
  readonly shadows?: Source | undefined;
}

/** True for a value from an option or a variable: the user has named it for this command. */
export function isExplicit(found: Sourced<unknown> | undefined): boolean {
  return found?.source.from === 'flag' || found?.source.from === 'variable';
}

/** Sources of settings besides the command line. */
export interface Stored {
  readonly env: Context['env'];
  /** By the names of `CONFIG_SETTINGS`, as the user wrote them. */
  readonly config: Readonly<Record<string, string>>;
}

interface Given extends Stored {
  readonly option?: string | undefined;
  readonly environment?: string;
}

/** Returns the first of option, variable, config and default, unparsed. */
export function find(setting: Setting, { option, env, config, environment }: Given): Sourced<string> | undefined {
  const { flags = '', variable = '', key } = setting;
  const candidates: [Source['from'], name: string, value: string | undefined][] = [
    ['flag', /--[\w-]+/.exec(flags)?.[0] ?? '', option],
    // An empty variable counts as unset.
    ['variable', variable, env[variable] || undefined],
    ['config', 'the config', key && config[keyOf(setting, environment)]],
    ['default', 'the default', setting.default],
  ];
  const [first, second] = candidates.flatMap(([from, name, value]) =>
    value === undefined ? [] : [{ value, source: { from, name } }],
  );
  return first && { ...first, shadows: second?.source.from === 'default' ? undefined : second?.source };
}

/** Returns the value that wins, parsed; its default if none is given. @throws {Failure} `invalid-value`, with its source */
export function resolve<T>(setting: Setting<T> & { readonly default: string }, given: Given): Sourced<T> {
  const found = find(setting, given)!;
  const { from, name } = found.source;
  const { key = '', parser } = setting;
  if (from !== 'config') return { ...found, value: parser.parse(found.value, name) };
  return { ...found, value: parseStored(parser.parse, found.value, key, commandFor(key)) };
}

export type StoredValues = Readonly<ReturnType<typeof storedValues>>;

/**
 * Returns the values of the common options apart from the command line: durations in ms, sizes in bytes.
 * @param isIgnored true for an option whose stored value may be invalid: the line has it, or `config` can correct it
 * @throws {Failure} `invalid-value`
 */
export function storedValues(stored: Stored, isIgnored: (option: string) => boolean) {
  const valueOf = <T>(setting: Setting<T> & { readonly default: string }, ...options: readonly string[]): T => {
    try {
      return resolve(setting, stored).value;
    } catch (error) {
      if (!options.some(isIgnored)) throw error;
      return setting.parser.parse(setting.default, '');
    }
  };
  return {
    // These have no variable and no key in the config.
    /** False with --no-input: never ask. */
    input: true,
    yes: false,
    quiet: false,
    /** True with --debug, too. */
    verbose: false,
    debug: false,
    showLimits: false,
    insecureHttp: false,
    maxBody: 256 * 2 ** 20,
    output: valueOf(SETTINGS.output, 'output', 'json'),
    color: valueOf(SETTINGS.color, 'color'),
    maxWait: valueOf(SETTINGS.maxWait, 'maxWait', 'wait'),
    retryFor: valueOf(SETTINGS.retryFor, 'retryFor'),
    reserve: find(SETTINGS.reserve, stored) && valueOf({ ...SETTINGS.reserve, default: '0' }, 'reserve'),
    keepHistory: valueOf(SETTINGS.keepHistory, 'keepHistory'),
  };
}
