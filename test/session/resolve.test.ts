/** Which environment, base URL and key a command uses, and where each came from. */
import { describe, expect, it } from 'vitest';
import type { ConfigFile } from '../../src/session/config-file.ts';
import { suggestBaseUrl } from '../../src/session/environments.ts';
import { requireBaseUrl, requireKey, resolveSettings } from '../../src/session/resolve.ts';
import type { Source, Stored } from '../../src/session/settings.ts';
import { isFailure } from '../../src/errors.ts';

type Given = Partial<Stored> & { readonly call?: Parameters<typeof resolveSettings>[0] };

const PATH = '/home/clerk/.config/petstore/config.json';
const FILE: ConfigFile = {
  path: PATH,
  config: {},
  exists: true,
  exposed: false,
  isWritableByOthers: false,
  isForeign: false,
};

const resolve = ({ call = {}, env = {}, config = {} }: Given) => resolveSettings(call, { env, config });

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
const CONFIG: Source = { from: 'config', name: 'the config' };
const KEY_COMMAND: Source = { from: 'key-command', name: 'the key command' };
const DEFAULT: Source = { from: 'default', name: 'the default' };

describe('the environment', () => {
  const FLAG = flag('--env');
  const VARIABLE = variable('PETSTORE_ENV');
  const config = { environment: 'sandbox' };
  it.each<[given: Given, value: string, source: Source, shadows?: Source]>([
    [{}, 'production', DEFAULT],
    [{ config }, 'sandbox', CONFIG],
    [{ env: { PETSTORE_ENV: 'staging' } }, 'staging', VARIABLE],
    [{ env: { PETSTORE_ENV: 'staging' }, config }, 'staging', VARIABLE, CONFIG],
    [{ call: { env: 'production' } }, 'production', FLAG],
    [{ call: { env: 'production' }, config }, 'production', FLAG, CONFIG],
    // Of several that are hidden, the next one in the order.
    [{ call: { env: 'production' }, env: { PETSTORE_ENV: 'staging' }, config }, 'production', FLAG, VARIABLE],
    // The same value hides another one all the same.
    [{ call: { env: 'sandbox' }, config }, 'sandbox', FLAG, CONFIG],
    // A wrong one that a right one hides does no harm.
    [{ call: { env: 'staging' }, env: { PETSTORE_ENV: 'x' } }, 'staging', FLAG, VARIABLE],
    // As with the option, capitals do not matter.
    [{ env: { PETSTORE_ENV: 'Staging' } }, 'staging', VARIABLE],
    [{ env: { PETSTORE_ENV: '' } }, 'production', DEFAULT],
    [{ env: { PETSTORE_ENV: '' }, config }, 'sandbox', CONFIG],
  ])('%j: %s', (given, value, source, shadows) => {
    expect(resolve(given).environment).toEqual({ value, source, shadows });
  });

  it.each<[given: Given, name: string, value: string]>([
    [{ call: { env: 'moon' } }, '--env', 'moon'],
    // Unlike an empty variable, an empty flag is a value.
    [{ call: { env: '' } }, '--env', ''],
    // A wrong one is not passed over for a right one below it.
    [{ env: { PETSTORE_ENV: 'moon' }, config }, 'PETSTORE_ENV', 'moon'],
    [{ config: { environment: 'moon' } }, 'environment of the config', 'moon'],
  ])('%j is unknown, and %s is to blame', (given, name, value) => {
    expect(failureOf(() => resolve(given))).toEqual([
      'invalid-value',
      expect.objectContaining({ name, value, expected: 'one of production, staging, sandbox' }),
    ]);
  });
});

describe('the base URL', () => {
  const FLAG = flag('--base-url');
  const VARIABLE = variable('PETSTORE_BASE_URL');
  const call = { baseUrl: 'https://flag.example/v1' };
  const env = { PETSTORE_BASE_URL: 'https://variable.example/v1' };
  const config = {
    'production.base-url': 'https://config.example/v1',
    'staging.base-url': 'https://staging.example/v1',
  };
  it.each<[given: Given, host: string, source: Source, shadows?: Source]>([
    [{ config }, 'config', CONFIG],
    [{ config: { ...config, environment: 'staging' } }, 'staging', CONFIG],
    [{ call: { env: 'staging' }, config }, 'staging', CONFIG],
    [{ env: { PETSTORE_ENV: 'staging' }, config }, 'staging', CONFIG],
    [{ env, config }, 'variable', VARIABLE, CONFIG],
    [{ call, env, config }, 'flag', FLAG, VARIABLE],
  ])('%j: that of %s', (given, host, source, shadows) => {
    expect(resolve(given).baseUrl).toEqual({ value: `https://${host}.example/v1`, source, shadows });
  });

  it.each<Given>([{}, { call: { env: 'staging' }, config: { 'production.base-url': 'https://config.example/v1' } }])(
    '%j: is missing',
    (given) => {
      const resolved = resolve(given);
      expect(failureOf(() => requireBaseUrl(resolved, { insecureHttp: false }))).toEqual([
        'no-base-url',
        { environment: resolved.environment.value },
      ]);
    },
  );

  it('is checked only when it is needed', () => {
    const resolved = resolve({ env: { PETSTORE_BASE_URL: 'http://variable.example/v1' } });
    expect(failureOf(() => requireBaseUrl(resolved, { insecureHttp: false }))[0]).toBe('base-url');
    expect(requireBaseUrl(resolved, { insecureHttp: true }).href).toBe('http://variable.example/v1');
  });
});

describe('the key', () => {
  const VARIABLE = variable('PETSTORE_API_KEY');
  const env = { PETSTORE_API_KEY: 'of-the-variable' };
  const config = { 'production.api-key': 'of-the-config', 'staging.api-key': 'of-staging' };
  const command = { 'production.key-command': 'pass show key' };
  it.each<[given: Given, value: string, source: Source, shadows?: Source]>([
    [{ config }, 'of-the-config', CONFIG],
    [{ call: { env: 'staging' }, config }, 'of-staging', CONFIG],
    [{ env }, 'of-the-variable', VARIABLE],
    [{ env, config }, 'of-the-variable', VARIABLE, CONFIG],
    [{ env, config: command }, 'of-the-variable', VARIABLE, KEY_COMMAND],
    [{ call: { env: 'staging' }, env, config }, 'of-the-variable', VARIABLE, CONFIG],
  ])('%j: %s', (given, value, source, shadows) => {
    const resolved = resolve(given);
    expect(resolved.apiKey).toEqual({ value, source, shadows });
    expect(requireKey(resolved, FILE)).toBe(value);
  });

  it('is printed by a command, rather than the one of the config', () => {
    const { apiKey, keyCommand } = resolve({ config: { ...config, ...command } });
    expect([apiKey, keyCommand]).toEqual([undefined, { value: 'pass show key', source: KEY_COMMAND }]);
  });

  const unreadable = { ...FILE, unreadable: 'EACCES' };
  const malformed = (source: string) => ({ source, problem: 'contains white space' });
  it.each<[given: Given, file: ConfigFile, kind: string, details: object]>([
    [{ call: { env: 'staging' }, config: { 'production.api-key': 'key' } }, FILE, 'no-key', { environment: 'staging' }],
    [{}, unreadable, 'key-unreadable', { path: PATH, code: 'EACCES' }],
    [{ env: { PETSTORE_API_KEY: 'a b' } }, FILE, 'key-malformed', malformed('PETSTORE_API_KEY')],
    [{ config: { 'production.api-key': 'a b' } }, FILE, 'key-malformed', malformed('the config')],
  ])('%j is not enough', (given, file, kind, details) => {
    expect(failureOf(() => requireKey(resolve(given), file))).toEqual([kind, details]);
  });

  it('of a variable is enough where the config cannot be read', () => {
    expect(requireKey(resolve({ env }), unreadable)).toBe('of-the-variable');
  });
});

describe('the sandbox', () => {
  it('needs neither address nor key, and takes none', () => {
    const env = { PETSTORE_BASE_URL: 'https://variable.example/v1', PETSTORE_API_KEY: 'key', PETSTORE_ENV: 'sandbox' };
    const config = { 'production.base-url': 'https://config.example/v1', 'production.api-key': 'key' };
    expect(Object.keys(resolve({ env, config }))).toEqual(['environment']);
  });

  it('refuses --base-url', () => {
    expect(failureOf(() => resolve({ call: { env: 'sandbox', baseUrl: 'https://flag.example/v1' } }))).toEqual([
      'usage',
      {
        problem: '--base-url cannot be used with the sandbox, which is built in.',
        hint: 'Name the environment that the address belongs to: --env staging or --env production.',
      },
    ]);
  });
});

describe('in place of a base URL that is refused', () => {
  it.each<[text: string, suggested: string | undefined]>([
    ['localhost:4033', 'http://localhost:4033/v1'],
    ['https://localhost:4033/', 'https://localhost:4033/v1'],
    ['127.0.0.1:4033/v1', 'http://127.0.0.1:4033/v1'],
    ['localhost.:4033/v1', 'http://localhost.:4033/v1'],
    ['[::ffff:127.0.0.1]:4033/v1', 'http://[::ffff:7f00:1]:4033/v1'],
    ['pets.example:8443/api//', 'https://pets.example:8443/api/v1'],
    ['https://pets.example/V1/inventory', 'https://pets.example/v1'],
    ['HTTPS://pets.example/v11', 'https://pets.example/v11/v1'],
    ['https://pets.example/v1?x=1#y', 'https://pets.example/v1'],
    ['http://pets.example/v1', 'https://pets.example/v1'],
    ['', undefined],
    ['my store', undefined],
    ['ftp://pets.example/v1', undefined],
    ['https://clerk@pets.example/v1', undefined],
    ['https://:secret@pets.example/v1', undefined],
  ])('%s: %s is offered', (text, suggested) => {
    expect(suggestBaseUrl(text)?.href).toBe(suggested);
  });
});
