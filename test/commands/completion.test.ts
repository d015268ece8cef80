/** Pets that TAB proposes, and the names that it shows beside them. */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { knownPets } from '../../src/commands/completion.ts';
import { withoutSandboxNames } from '../support/catalog.ts';
import { runIn as run, STAGING_ENV } from '../support/in-process.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

type Place = NonNullable<Parameters<typeof knownPets>[1]>;

const ANYWHERE: Place = { env: undefined, baseUrl: undefined };

/** The pets of the sandbox, of which 7 was changed; it has one name there and others elsewhere. */
async function shop(env: Readonly<Record<string, string>> = {}, isNamed = true): Promise<TestContext> {
  const context = await withoutSandboxNames(createTestContext({ env }));
  const sandbox = ['--env', 'sandbox'];
  await run(context, ...sandbox, 'inventory', 'set', '7', '1');
  if (!isNamed) return context;
  await run(context, ...sandbox, 'catalog', 'set', '7', '--name', 'Goldfish');
  await run(context, ...sandbox, 'catalog', 'set', '8', '--barcode', '73513537');
  for (const [host, name] of Object.entries({ 'pets.example': 'Dog', 'other.example': 'Cat' })) {
    const address = ['--env', 'staging', '--base-url', `https://${host}/v1`];
    expect((await run(context, ...address, 'catalog', 'set', '7', '--name', name)).code).toBe(0);
  }
  return context;
}

/** The name of pet 7, which comes first. */
async function nameOf7(context: TestContext, place: Partial<Place> = {}): Promise<string | undefined> {
  const pets = await knownPets(context, { ...ANYWHERE, ...place });
  expect([pets[0]?.petId, pets.length, pets[1]?.name]).toEqual([7n, 25, undefined]);
  return pets[0]?.name;
}

describe('the names', () => {
  it.each([
    ['--env', {}, { env: 'sandbox' }, 'Goldfish'],
    ['--env, in capitals', {}, { env: 'SANDBOX' }, 'Goldfish'],
    ['PETSTORE_ENV', { PETSTORE_ENV: 'sandbox' }, {}, 'Goldfish'],
    ['--env, before PETSTORE_ENV', STAGING_ENV, { env: 'sandbox' }, 'Goldfish'],
    ['PETSTORE_BASE_URL', STAGING_ENV, {}, 'Dog'],
    ['--base-url, before the variable', STAGING_ENV, { baseUrl: 'https://other.example/v1' }, 'Cat'],
    ['an address without a catalog', STAGING_ENV, { baseUrl: 'https://third.example/v1' }, undefined],
    ['an unknown environment', {}, { env: 'stag' }, undefined],
    ['an environment without an address', {}, { env: 'staging' }, undefined],
    ['an address that is refused', STAGING_ENV, { baseUrl: 'http://pets.example/v1' }, undefined],
    ['production, the default', {}, {}, undefined],
  ] as const)('are those of %s', async (_what, env, place, name) => {
    expect(await nameOf7(await shop(env), place)).toBe(name);
  });

  it('are those of the environment in the config', async () => {
    const context = await shop();
    await run(context, 'config', 'set', 'environment', 'staging');
    await run(context, 'config', 'set', 'staging.base-url', 'https://other.example/v1');
    expect(await nameOf7(context)).toBe('Cat');
  });

  it('do not keep the ids away where the config is broken', async () => {
    const context = await shop({ PETSTORE_ENV: 'sandbox' });
    await context.files.makePrivateFolder(`${context.home.config}/petstore`);
    await context.files.replace(`${context.home.config}/petstore/config.json`, '{');
    expect(await nameOf7(context)).toBeUndefined();
  });
});

it('proposes ids of the history and the sandbox, newest change first, and makes no file for it', async () => {
  const context = createTestContext();
  expect(await knownPets(context, ANYWHERE)).toEqual([]);
  expect(existsSync(context.home.state)).toBe(false);
  await run(context, '--env', 'sandbox', 'inventory', 'set', '12', '5');
  const ids = (await knownPets(context, ANYWHERE)).map(({ petId }) => petId);
  expect([ids[0], ids.length, new Set(ids).size]).toEqual([12n, 25, 25]);
  expect(ids).toContain(9223372036854775807n);
});

it.each([
  [['tcsh'], {}, 'shell must be one of bash, zsh'],
  [[], { SHELL: '/bin/ksh' }, 'Name the shell: bash, zsh'],
  [[], { SHELL: '' }, 'Name the shell: bash, zsh'],
])('completion %j %o: 2', async (words, env, sentence) => {
  const stderr = expect.stringContaining(sentence) as string;
  expect(await run(createTestContext({ env }), 'completion', ...words)).toEqual({ code: 2, stdout: '', stderr });
});
