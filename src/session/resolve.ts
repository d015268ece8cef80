/** Resolves environment, base URL and key, each with its source: option, variable or config. */
import type { Context } from '../ports.ts';
import { Failure } from '../errors.ts';
import { SANDBOX_URL } from '../sandbox/plans.ts';
import {
  type EnvironmentName,
  ENVIRONMENTS,
  isEnvironment,
  isRemoteEnvironment,
  parseBaseUrl,
} from './environments.ts';
import type { ConfigFile } from './config-file.ts';

export type Source =
  | { readonly from: 'flag'; readonly name: string }
  | { readonly from: 'variable'; readonly name: string }
  | { readonly from: 'config'; readonly path: string }
  /** A command that the config names. */
  | { readonly from: 'key-command' }
  | { readonly from: 'built-in' }
  | { readonly from: 'default' };

export interface Sourced<T> {
  readonly value: T;
  readonly source: Source;
  /** A value further down the order that this one hides. */
  readonly shadows?: Source;
}

export interface ResolvedSettings {
  readonly environment: Sourced<EnvironmentName>;
  /** As it was given, not yet checked. Absent in the sandbox. */
  readonly baseUrl?: Sourced<string>;
  readonly apiKey?: Sourced<string>;
  /** The command that prints the key; excludes `apiKey`. */
  readonly keyCommand?: Sourced<string>;
}

/** What the command line says of it. */
export interface Call {
  readonly env?: string;
  readonly baseUrl?: string;
}

/** Where requests go, and with which key. */
export interface Target {
  readonly environment: EnvironmentName;
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** Where the key came from, for messages: "PETSTORE_API_KEY", "the config". */
  readonly keySource: string;
}

/** @throws {Failure} `usage`, `invalid-value`: an unknown environment */
export function resolveSettings(call: Call, env: Context['env'], file: ConfigFile): ResolvedSettings {
  const environment = resolveEnvironment(call, env, file);
  const name = environment.value;
  if (!isRemoteEnvironment(name)) {
    if (call.baseUrl !== undefined) {
      throw new Failure('usage', {
        problem: '--base-url does not go with the sandbox, which is built in.',
        hint: 'Name the environment that the address belongs to: --env staging or --env production.',
      });
    }
    return { environment };
  }
  const config = fromConfig(file);
  const stored = file.config.environments[name];
  const baseUrl = firstOf(
    flag('--base-url', call.baseUrl),
    variable('PETSTORE_BASE_URL', env),
    config(stored?.baseUrl),
  );
  const key = firstOf(variable('PETSTORE_API_KEY', env), keyCommand(stored?.keyCommand), config(stored?.apiKey));
  return {
    environment,
    ...(baseUrl && { baseUrl }),
    ...(key && { [key.source.from === 'key-command' ? 'keyCommand' : 'apiKey']: key }),
  };
}

function resolveEnvironment(call: Call, env: Context['env'], file: ConfigFile): Sourced<EnvironmentName> {
  const found = firstOf(
    flag('--env', call.env),
    variable('PETSTORE_ENV', env),
    fromConfig(file)(file.config.environment),
  ) ?? { value: 'production', source: { from: 'default' as const } };
  const { value, source } = found;
  if (isEnvironment(value)) return { ...found, value };
  throw new Failure('invalid-value', {
    name: source.from === 'variable' || source.from === 'flag' ? source.name : 'environment',
    value,
    expected: `one of ${ENVIRONMENTS.join(', ')}`,
  });
}

type Maybe = Sourced<string> | undefined;

function firstOf(...candidates: Maybe[]): Maybe {
  const [first, second] = candidates.filter((each) => each !== undefined);
  return first === undefined ? undefined : { ...first, ...(second !== undefined && { shadows: second.source }) };
}

function flag(name: string, value: string | undefined): Maybe {
  return value === undefined ? undefined : { value, source: { from: 'flag', name } };
}

/** An empty variable is an unset one. */
function variable(name: string, env: Context['env']): Maybe {
  const value = env[name];
  return value === undefined || value === '' ? undefined : { value, source: { from: 'variable', name } };
}

function keyCommand(value: string | undefined): Maybe {
  return value === undefined ? undefined : { value, source: { from: 'key-command' } };
}

function fromConfig(file: ConfigFile): (value: string | undefined) => Maybe {
  return (value) => (value === undefined ? undefined : { value, source: { from: 'config', path: file.path } });
}

/** Names the environment's source for the line that announces a write. */
export function environmentSource({ environment }: ResolvedSettings): string {
  const { from } = environment.source;
  return from === 'default' ? 'the default environment' : `environment from ${sourceName(environment.source)}`;
}

/** Returns the environment that the flag, the variable or the config names; undefined for the default. */
export function namedEnvironment({ environment: { value, source } }: ResolvedSettings): string | undefined {
  return source.from === 'default' ? undefined : value;
}

/** "PETSTORE_ENV", "the config": for messages. */
export function sourceName(source: Source = { from: 'default' }): string {
  return 'name' in source ? source.name : SOURCE_NAMES[source.from];
}

const SOURCE_NAMES = {
  config: 'the config',
  'key-command': 'the key command',
  'built-in': 'built in',
  default: 'the default',
} as const;

/** @throws {Failure} `no-base-url`, `base-url` */
export function requireBaseUrl(settings: ResolvedSettings, globals: { readonly insecureHttp: boolean }): URL {
  if (settings.environment.value === 'sandbox') return new URL(SANDBOX_URL);
  if (settings.baseUrl === undefined) throw new Failure('no-base-url', { environment: settings.environment.value });
  return parseBaseUrl(settings.baseUrl.value, globals);
}

/** @throws {Failure} `no-key`, `key-unreadable`, `key-malformed` */
export function requireKey(settings: ResolvedSettings, file: ConfigFile): string {
  const { apiKey, environment } = settings;
  if (apiKey === undefined) {
    if (file.unreadable !== undefined) {
      throw new Failure('key-unreadable', { path: file.path, code: file.unreadable });
    }
    throw new Failure('no-key', { environment: environment.value });
  }
  checkKey(apiKey.value, sourceName(apiKey.source));
  return apiKey.value;
}

/**
 * A key travels in a header: visible ASCII only (RFC 6750 allows less, the service shows no form).
 * @throws {Failure} `key-malformed`, which never holds the key
 */
export function checkKey(key: string, source: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  const problem = keyProblem(key);
  throw new Failure('key-malformed', { source, problem, ...(problem === UTF_16 && { hint: 'Save it as UTF-8.' }) });
}

/** Takes a key that was typed, piped in or fetched: from then on it is redacted. @throws {Failure} `key-malformed` */
export function takeKey(
  context: { readonly secrets: { add(secret: string): void } },
  key: string,
  source: string,
): string {
  checkKey(key, source);
  context.secrets.add(key);
  return key;
}

const UTF_16 = 'looks like UTF-16';

function keyProblem(key: string): string {
  // Every other byte is 0, or the text begins with the mark of UTF-16, which is not valid UTF-8.
  if (/^\ufffd\ufffd|\0[^]\0|^[^]\0$/.test(key)) return UTF_16;
  if (key === '') return 'is empty';
  if (/[\r\n]/.test(key)) return 'holds a line break';
  return /\s/.test(key) ? 'holds white space' : 'holds a character that is not plain ASCII';
}
