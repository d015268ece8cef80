/** Which environment, base URL and key a command uses, and where each came from. */
import { describe, expect, it } from 'vitest';
import type { Config, ConfigFile } from '../../src/session/config-file.ts';
import {
  checkKey,
  environmentSource,
  requireBaseUrl,
  requireKey,
  resolveSettings,
  type Source,
  sourceName,
} from '../../src/session/resolve.ts';
import { isFailure } from '../../src/errors.ts';

type Call = Parameters<typeof resolveSettings>[0];
type Env = Parameters<typeof resolveSettings>[1];
interface Given {
  readonly call?: Call;
  readonly env?: Env;
  readonly config?: Config;
}

const PATH = '/home/clerk/.config/petstore/config.json';

const file = (config: Config = { environments: {} }, more: Partial<ConfigFile> = {}): ConfigFile => ({
  path: PATH,
  config,
  exists: true,
  exposed: false,
  isWritableByOthers: false,
  isForeign: false,
  ...more,
});

const resolve = ({ call = {}, env = {}, config }: Given) => resolveSettings(call, env, file(config));

function failureOf(work: () => unknown): readonly [kind: string, facts: object] {
  try {
    work();
  } catch (error) {
    if (isFailure(error)) return [error.kind, error.details];
    throw error;
  }
  throw new Error('it did not fail');
}

const variable = (name: string): Source => ({ from: 'variable', name });
const flag = (name: string): Source => ({ from: 'flag', name });
const CONFIG: Source = { from: 'config', path: PATH };

describe('the environment', () => {
  const FLAG = flag('--env');
  const VARIABLE = variable('PETSTORE_ENV');
  const config: Config = { environment: 'sandbox', environments: {} };
  it.each<[given: Given, value: string, source: Source, shadows?: Source]>([
    [{}, 'production', { from: 'default' }],
    [{ config }, 'sandbox', CONFIG],
    [{ env: { PETSTORE_ENV: 'staging' } }, 'staging', VARIABLE],
    [{ env: { PETSTORE_ENV: 'staging' }, config }, 'staging', VARIABLE, CONFIG],
    [{ call: { env: 'production' } }, 'production', FLAG],
    [{ call: { env: 'production' }, config }, 'production', FLAG, CONFIG],
    [{ call: { env: 'production' }, env: { PETSTORE_ENV: 'staging' } }, 'production', FLAG, VARIABLE],
    // Of several that are hidden, the next one in the order.
    [{ call: { env: 'production' }, env: { PETSTORE_ENV: 'staging' }, config }, 'production', FLAG, VARIABLE],
    // The same value hides another one all the same.
    [{ call: { env: 'sandbox' }, config }, 'sandbox', FLAG, CONFIG],
    [{ env: { PETSTORE_ENV: '' } }, 'production', { from: 'default' }],
    [{ env: { PETSTORE_ENV: '' }, config }, 'sandbox', CONFIG],
    [{ call: { env: 'staging' }, env: { PETSTORE_ENV: '' } }, 'staging', FLAG],
  ])('%j: %s', (given, value, source, shadows) => {
    expect(resolve(given).environment).toEqual({ value, source, ...(shadows !== undefined && { shadows }) });
  });

  it.each<[given: Given, name: string, value: string]>([
    [{ call: { env: 'stagging' } }, '--env', 'stagging'],
    // Unlike an empty variable, an empty flag is a value.
    [{ call: { env: '' } }, '--env', ''],
    [{ env: { PETSTORE_ENV: 'Staging' } }, 'PETSTORE_ENV', 'Staging'],
    [{ config: { environment: 'prod', environments: {} } }, 'environment', 'prod'],
    // A wrong one is not passed over for a right one below it.
    [{ call: { env: 'x' }, env: { PETSTORE_ENV: 'staging' } }, '--env', 'x'],
  ])('%j is unknown, and %s is to blame', (given, name, value) => {
    expect(failureOf(() => resolve(given))).toEqual([
      'invalid-value',
      { name, value, expected: 'one of production, staging, sandbox' },
    ]);
  });

  it('a wrong one that a right one hides does no harm', () => {
    const { environment } = resolve({ call: { env: 'staging' }, env: { PETSTORE_ENV: 'x' } });
    expect(environment).toEqual({ value: 'staging', source: FLAG, shadows: VARIABLE });
  });

  it.each<[given: Given, text: string]>([
    [{}, 'the default environment'],
    [{ config }, 'environment from the config'],
    [{ env: { PETSTORE_ENV: 'staging' } }, 'environment from PETSTORE_ENV'],
    [{ call: { env: 'staging' } }, 'environment from --env'],
  ])('%j is announced as "%s"', (given, text) => {
    expect(environmentSource(resolve(given))).toBe(text);
  });
});

describe('the base URL', () => {
  const FLAG = flag('--base-url');
  const VARIABLE = variable('PETSTORE_BASE_URL');
  const call: Call = { baseUrl: 'https://flag.example/v1' };
  const env: Env = { PETSTORE_BASE_URL: 'https://variable.example/v1' };
  const config: Config = {
    environments: {
      production: { baseUrl: 'https://config.example/v1' },
      staging: { baseUrl: 'https://staging.example/v1' },
    },
  };
  it.each<[given: Given, host: string, source: Source, shadows?: Source]>([
    [{ config }, 'config', CONFIG],
    [{ config: { ...config, environment: 'staging' } }, 'staging', CONFIG],
    [{ call: { env: 'staging' }, config }, 'staging', CONFIG],
    [{ env: { PETSTORE_ENV: 'staging' }, config }, 'staging', CONFIG],
    [{ env }, 'variable', VARIABLE],
    [{ env, config }, 'variable', VARIABLE, CONFIG],
    [{ call }, 'flag', FLAG],
    [{ call, config }, 'flag', FLAG, CONFIG],
    [{ call, env }, 'flag', FLAG, VARIABLE],
    [{ call, env, config }, 'flag', FLAG, VARIABLE],
    [{ env: { PETSTORE_BASE_URL: '' }, config }, 'config', CONFIG],
  ])('%j: that of %s', (given, host, source, shadows) => {
    const value = `https://${host}.example/v1`;
    expect(resolve(given).baseUrl).toEqual({ value, source, ...(shadows !== undefined && { shadows }) });
  });

  it.each<[given: Given]>([
    [{}],
    [{ env: { PETSTORE_BASE_URL: '' } }],
    [{ call: { env: 'staging' }, config: { environments: { production: { baseUrl: 'https://config.example/v1' } } } }],
    [{ config: { environments: { production: { apiKey: 'key' } } } }],
  ])('%j: is missing', (given) => {
    const resolved = resolve(given);
    expect(resolved).not.toHaveProperty('baseUrl');
    expect(failureOf(() => requireBaseUrl(resolved, { insecureHttp: false }))).toEqual([
      'no-base-url',
      { environment: resolved.environment.value },
    ]);
  });

  it('is checked only when it is needed', () => {
    const resolved = resolve({ call: { baseUrl: 'http://flag.example/v1' } });
    expect(failureOf(() => requireBaseUrl(resolved, { insecureHttp: false }))[0]).toBe('base-url');
    expect(requireBaseUrl(resolved, { insecureHttp: true }).href).toBe('http://flag.example/v1');
  });
});

describe('the key', () => {
  const VARIABLE = variable('PETSTORE_API_KEY');
  const env: Env = { PETSTORE_API_KEY: 'of-the-variable' };
  const config: Config = {
    environments: { production: { apiKey: 'of-the-config' }, staging: { apiKey: 'of-staging' } },
  };
  it.each<[given: Given, value: string, source: Source, shadows?: Source]>([
    [{ config }, 'of-the-config', CONFIG],
    [{ call: { env: 'staging' }, config }, 'of-staging', CONFIG],
    [{ env }, 'of-the-variable', VARIABLE],
    [{ env, config }, 'of-the-variable', VARIABLE, CONFIG],
    [{ call: { env: 'staging' }, env, config }, 'of-the-variable', VARIABLE, CONFIG],
    [{ env: { PETSTORE_API_KEY: '' }, config }, 'of-the-config', CONFIG],
  ])('%j: %s', (given, value, source, shadows) => {
    const resolved = resolve(given);
    expect(resolved.apiKey).toEqual({ value, source, ...(shadows !== undefined && { shadows }) });
    expect(requireKey(resolved, file())).toBe(value);
  });

  it.each<[given: Given, environment: string]>([
    [{}, 'production'],
    [{ env: { PETSTORE_API_KEY: '' } }, 'production'],
    [{ call: { env: 'staging' }, config: { environments: { production: { apiKey: 'key' } } } }, 'staging'],
  ])('%j: is missing', (given, environment) => {
    const resolved = resolve(given);
    expect(resolved).not.toHaveProperty('apiKey');
    expect(failureOf(() => requireKey(resolved, file()))).toEqual(['no-key', { environment }]);
  });

  it('may be in a config that cannot be read: that counts only without another', () => {
    const unreadable = file(undefined, { unreadable: 'EACCES' });
    expect(failureOf(() => requireKey(resolveSettings({}, {}, unreadable), unreadable))).toEqual([
      'key-unreadable',
      { path: PATH, code: 'EACCES' },
    ]);
    expect(requireKey(resolveSettings({}, env, unreadable), unreadable)).toBe('of-the-variable');
  });

  it.each<[given: Given, source: string]>([
    [{ env: { PETSTORE_API_KEY: 'a b' } }, 'PETSTORE_API_KEY'],
    [{ config: { environments: { production: { apiKey: 'a b' } } } }, 'the config'],
  ])('%j is malformed, and its source is named', (given, source) => {
    expect(failureOf(() => requireKey(resolve(given), file()))).toEqual([
      'key-malformed',
      { source, problem: 'holds white space' },
    ]);
  });

  it.each([
    ['', { problem: 'is empty' }],
    ['key\n', { problem: 'holds a line break' }],
    ['key\r', { problem: 'holds a line break' }],
    ['a\tkey', { problem: 'holds white space' }],
    ['schlüssel', { problem: 'holds a character that is not plain ASCII' }],
    ['key\u0007', { problem: 'holds a character that is not plain ASCII' }],
    ['\ufffd\ufffdk\0e\0y\0', { problem: 'looks like UTF-16', hint: 'Save it as UTF-8.' }],
    ['k\0e\0y\0', { problem: 'looks like UTF-16', hint: 'Save it as UTF-8.' }],
  ])('%j: %j', (key, facts) => {
    expect(failureOf(() => checkKey(key, 'stdin'))).toEqual(['key-malformed', { source: 'stdin', ...facts }]);
  });

  it('is any visible ASCII', () => {
    const visible = Array.from({ length: 0x7f - 0x21 }, (_each, index) => String.fromCharCode(0x21 + index)).join('');
    expect(() => checkKey(visible, 'stdin')).not.toThrow();
  });
});

describe('the sandbox', () => {
  const env: Env = { PETSTORE_BASE_URL: 'https://variable.example/v1', PETSTORE_API_KEY: 'key' };
  const environments: Config['environments'] = {
    production: { baseUrl: 'https://config.example/v1', apiKey: 'key' },
  };
  it.each<[given: Given, source: Source]>([
    [{ call: { env: 'sandbox' } }, flag('--env')],
    [{ env: { PETSTORE_ENV: 'sandbox' } }, variable('PETSTORE_ENV')],
    [{ config: { environment: 'sandbox', environments: {} } }, CONFIG],
  ])('%j needs neither address nor key, and takes none', (given, source) => {
    const environment = { value: 'sandbox', source };
    expect(resolve(given)).toEqual({ environment });
    const more = { ...given, env: { ...given.env, ...env }, config: { ...given.config, environments } };
    expect(resolve(more)).toEqual({ environment });
  });

  it('refuses --base-url', () => {
    const call: Call = { env: 'sandbox', baseUrl: 'https://flag.example/v1' };
    expect(failureOf(() => resolve({ call }))).toEqual([
      'usage',
      {
        problem: '--base-url does not go with the sandbox, which is built in.',
        hint: 'Name the environment that the address belongs to: --env staging or --env production.',
      },
    ]);
  });
});

it.each<[source: Source, name: string]>([
  [flag('--env'), '--env'],
  [variable('PETSTORE_ENV'), 'PETSTORE_ENV'],
  [CONFIG, 'the config'],
  [{ from: 'built-in' }, 'built in'],
  [{ from: 'default' }, 'the default'],
])('%j is called "%s"', (source, name) => {
  expect(sourceName(source)).toBe(name);
});
