/** Resolves environment, base URL and key, each with its source. */
import { Failure } from '../errors.ts';
import { SANDBOX_URL } from '../sandbox/plans.ts';
import type { ConfigFile } from './config-file.ts';
import { type EnvironmentName, parseBaseUrl, partsOf, type Place, placeIn } from './environments.ts';
import { checkKey } from './key.ts';
import { find, profileOf, resolve, type Source, type Sourced, SETTINGS, type Stored } from './settings.ts';

export interface ResolvedSettings {
  readonly environment: Sourced<Place>;
  /** As it was given, not yet checked. Absent in the sandbox. */
  readonly baseUrl?: Sourced<string> | undefined;
  readonly apiKey?: Sourced<string> | undefined;
  /** The command that prints the key; excludes `apiKey`. */
  readonly keyCommand?: Sourced<string>;
}

/** Where requests go, and with which key. */
export interface Target {
  readonly environment: Place;
  readonly baseUrl: URL;
  readonly apiKey: string;
  /** Where the key came from, for messages: "PETSTORE_API_KEY", "the config". */
  readonly keySource: string;
}

const KEY_COMMAND: Source = { from: 'key-command', name: 'the key command' };

/** @throws {Failure} `usage`, `invalid-value`: an unknown environment */
export function resolveSettings(call: { env?: string; baseUrl?: string }, stored: Stored): ResolvedSettings {
  const resolved = resolve(SETTINGS.env, { ...stored, option: call.env });
  const name = partsOf(resolved.value).environment as EnvironmentName;
  const environment = { ...resolved, value: placeIn(profileOf(stored.env), name) };
  if (name === 'sandbox') {
    if (call.baseUrl === undefined) return { environment };
    throw new Failure('usage', {
      problem: '--base-url does not go with the sandbox, which is built in.',
      hint: 'Name the environment that the address belongs to: --env staging or --env production.',
    });
  }
  const given = { ...stored, environment: name };
  const baseUrl = find(SETTINGS.baseUrl, { ...given, option: call.baseUrl });
  const apiKey = find(SETTINGS.apiKey, given);
  const command = find(SETTINGS.keyCommand, given);
  if (command === undefined) return { environment, baseUrl, apiKey };
  if (apiKey?.source.from !== 'variable') {
    return { environment, baseUrl, keyCommand: { value: command.value, source: KEY_COMMAND } };
  }
  return { environment, baseUrl, apiKey: { ...apiKey, shadows: KEY_COMMAND } };
}

/** Names the environment's source for the line that announces a write. */
export function environmentSource({ environment: { source } }: ResolvedSettings): string {
  return source.from === 'default' ? 'the default environment' : `environment from ${source.name}`;
}

/** Returns the environment that the flag, the variable or the config names; undefined for the default. */
export function namedEnvironment({ environment: { value, source } }: ResolvedSettings): string | undefined {
  return source.from === 'default' ? undefined : value;
}

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
  checkKey(apiKey.value, apiKey.source.name);
  return apiKey.value;
}
