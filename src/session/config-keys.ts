/** The settings that `petstore config` knows, by their dotted names. */
import { DEFAULT_NAMES } from './defaults.ts';
import { ENVIRONMENTS, isEnvironment, parseBaseUrl, REMOTE_ENVIRONMENTS } from './environments.ts';
import { Failure } from '../errors.ts';
import { type Config, withSettings } from './config-file.ts';
import { splitWords } from './key-command.ts';

export interface Setting {
  readonly key: string;
  /** As it may be shown. */
  get(config: Config): string | undefined;
  /** @throws {Failure} a value that is not of its form */
  set(config: Config, value: string): Config;
  unset(config: Config): Config;
  /** The command that sets it. */
  readonly command: string;
  /** False where `config set` refuses it. */
  readonly isSettable: boolean;
}

const environment: Setting = {
  key: 'environment',
  command: 'petstore config set environment VALUE',
  isSettable: true,
  get: (config) => config.environment,
  set(config, value) {
    if (isEnvironment(value)) return { ...config, environment: value };
    throw new Failure('invalid-value', { name: 'environment', value, expected: `one of ${ENVIRONMENTS.join(', ')}` });
  },
  unset: ({ environment: _, ...rest }) => rest,
};

const perEnvironment = REMOTE_ENVIRONMENTS.flatMap((name): Setting[] => [
  {
    key: `${name}.base-url`,
    command: `petstore config set ${name}.base-url VALUE`,
    isSettable: true,
    get: (config) => config.environments[name]?.baseUrl,
    set: (config, value) => withSettings(config, name, { baseUrl: parseBaseUrl(value, { insecureHttp: true }).href }),
    unset: (config) => withSettings(config, name, { baseUrl: undefined }),
  },
  {
    key: `${name}.api-key`,
    command: `petstore login --env ${name}`,
    isSettable: false,
    get: (config) => {
      const key = config.environments[name]?.apiKey;
      return key === undefined ? undefined : maskKey(key);
    },
    set() {
      throw new Failure('usage', {
        problem: 'Other users can see command lines, so an API key cannot be set here; nothing was changed.',
        hint: `Use the hidden prompt, or --key-stdin: petstore login --env ${name}`,
      });
    },
    unset: (config) => withSettings(config, name, { apiKey: undefined }),
  },
  {
    key: `${name}.key-command`,
    command: `petstore login --env ${name} --key-command COMMAND`,
    isSettable: true,
    get: (config) => config.environments[name]?.keyCommand,
    set(config, value) {
      splitWords(value);
      return withSettings(config, name, { keyCommand: value, apiKey: undefined });
    },
    unset: (config) => withSettings(config, name, { keyCommand: undefined }),
  },
]);

/** Returns a key as it may be shown: enough to tell two apart, too little to use one. */
export function maskKey(key: string): string {
  return key.length >= 16 ? `****${key.slice(-4)}` : '****';
}

const defaults = DEFAULT_NAMES.map((name): Setting => ({
  key: name,
  command: `petstore config set ${name} VALUE`,
  isSettable: true,
  get: (config) => config.defaults?.[name],
  set: (config, value) => ({ ...config, defaults: { ...config.defaults, [name]: value } }),
  unset({ defaults: { [name]: _, ...rest } = {}, ...config }) {
    return Object.keys(rest).length === 0 ? config : { ...config, defaults: rest };
  },
}));

export const SETTINGS: readonly Setting[] = [environment, ...perEnvironment, ...defaults];

/** @throws {Failure} `invalid-value` */
export function settingNamed(key: string): Setting {
  const found = SETTINGS.find((setting) => setting.key === key);
  if (found !== undefined) return found;
  const expected = `one of ${SETTINGS.map((setting) => setting.key).join(', ')}`;
  throw new Failure('invalid-value', { name: 'setting', value: key, expected });
}
