/** The questions of `login`, and what it stores. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { configPath, createHome, type Home, writeConfig } from '../support/home.ts';
import { error, item, json, type PlainReply } from '../support/replies.ts';
import { createTestContext, type TestContextOptions } from '../support/test-context.ts';

const KEY = 'key-typed-by-the-clerk-01';
const URL = 'https://pets.example/v1';
const STOCK = json([item(7, 10)]);
const TO_STAGING = ['login', '--env', 'staging', '--base-url', URL];

function stored(home: Home): unknown {
  return existsSync(configPath(home)) ? JSON.parse(readFileSync(configPath(home), 'utf8')) : undefined;
}

async function login(args: readonly string[], replies: readonly PlainReply[], options: TestContextOptions = {}) {
  const home = options.home ?? createHome();
  const context = withReplies(replies, { terminal: true, env: {}, ...options, home });
  const ran = await runIn(context, ...args);
  return { ...ran, config: stored(home), questions: context.questions.map(({ question }) => question), context };
}

describe('at a terminal', () => {
  it('asks again after each typo, and never ends before the key', async () => {
    const [environments, addresses] = [
      ['stagin', 'sandbox', 'Staging'],
      ['', 'clerk:pw@pets.example', 'pets.example', false, URL],
    ];
    const answers = [...environments, ...addresses, '', 'a b', KEY];
    const { code, stderr, stdout, config, questions } = await login(['login'], [STOCK], { answers });
    expect(code).toBe(0);
    expect(questions).toEqual([
      ...Array.from({ length: 3 }, () => 'Environment, production or staging'),
      ...Array.from({ length: 3 }, () => 'Base URL of staging (https://…/v1)'),
      'Use https://pets.example/v1?',
      'Base URL of staging (https://…/v1)',
      ...Array.from({ length: 3 }, () => 'API key of staging'),
    ]);
    expect(stderr).toContain('The key is empty. Type it again.');
    expect(stderr).not.toMatch(/clerk:pw|The base URL {2}/);
    expect(stdout).toContain(
      'Logged in to staging at https://pets.example/v1. staging is now your default\n  environment.',
    );
    expect(config).toEqual({
      version: 1,
      environment: 'staging',
      'staging.base-url': URL,
      'staging.api-key': KEY,
    });
  });

  it('asks again for a key that the service refuses, and stores the one that works', async () => {
    const answers = ['key-with-a-typo-01', KEY];
    const { code, stderr, config } = await login(TO_STAGING, [error(401, 'No such key'), STOCK], { answers });
    expect({ code, config }).toMatchObject({ code: 0, config: { 'staging.api-key': KEY } });
    expect(stderr).toContain(
      'The service refused the key (No such key). It was not saved; check it\n         and type it again.',
    );
    expect(stderr).not.toMatch(/error:|key-with-a-typo/);
  });

  it('--no-verify stores a key without a request', async () => {
    const { code, config } = await login([...TO_STAGING, '--no-verify'], [], { answers: [KEY] });
    expect({ code, config }).toMatchObject({ code: 0, config: { 'staging.api-key': KEY } });
  });

  it('never offers the sandbox, and does not change the default environment', async () => {
    const home = createHome();
    writeConfig(home, { environment: 'sandbox' });
    const { code, stdout, config } = await login(['login', '--base-url', URL], [STOCK], { home, answers: ['', KEY] });
    expect({ code, config }).toMatchObject({
      code: 0,
      config: { environment: 'sandbox', 'production.api-key': KEY },
    });
    expect(stdout).toContain('Use it with --env\n  production, or always: petstore config set environment production');
  });
});

describe('variables that override what is stored', () => {
  it.each([
    ['of equal value', { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: `${URL}/`, PETSTORE_ENV: 'staging' }, []],
    ['of equal value, with the profile', { PETSTORE_ENV: 'berlin/staging', PETSTORE_PROFILE: 'berlin' }, []],
    ['another key', { PETSTORE_API_KEY: 'another-key-in-use' }, ['PETSTORE_API_KEY']],
    ['another environment', { PETSTORE_ENV: 'production' }, ['PETSTORE_ENV']],
  ])('%s', async (_name, env, warned) => {
    const { code, stderr } = await login(TO_STAGING, [STOCK], { env, answers: [KEY] });
    expect(code).toBe(0);
    expect([...stderr.matchAll(/(\w+) is set and overrides/g)].map(([, name]) => name)).toEqual(warned);
  });
});

describe('without a terminal', () => {
  it('an empty stdin holds no key', async () => {
    const { code, stderr } = await login([...TO_STAGING, '--key-stdin'], [], { terminal: false });
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: 'error: No key on stdin.\nhint: Provide the key alone, on one line, in plain ASCII.\n',
    });
  });

  it('a refused key is an error, and not stored', async () => {
    const options = { terminal: false, stdin: { text: `${KEY}\n` } };
    const { code, stderr, config } = await login([...TO_STAGING, '--key-stdin'], [error(401)], options);
    expect({ code, config }).toEqual({ code: 4, config: undefined });
    expect(stderr).toContain('hint: Log in again: petstore login --env staging\n');
  });
});

it('the sandbox needs no login', async () => {
  const env = { PETSTORE_ENV: 'sandbox' };
  const refused = (stderr: string) => ({ code: 2, stdout: '', stderr });
  expect(await runIn(createTestContext({ env }), 'login')).toEqual(
    refused(
      'error: PETSTORE_ENV is sandbox: the sandbox is built in and needs no login.\n' +
        'hint: To log in to your store: petstore login --env production\n',
    ),
  );
  expect(await runIn(createTestContext(), 'login', '--env', 'sandbox')).toEqual(
    refused(
      'error: The sandbox is built in and needs no login.\nhint: Use it at once: petstore --env sandbox inventory list\n',
    ),
  );
});

it('reads PETSTORE_ENV as every command does', async () => {
  const args = ['login', '--base-url', URL];
  const { code, config } = await login(args, [STOCK], { env: { PETSTORE_ENV: 'Staging' }, answers: [KEY] });
  expect({ code, config }).toMatchObject({ code: 0, config: { 'staging.api-key': KEY } });
  const refused = await login(args, [], { env: { PETSTORE_ENV: 'nosuch' } });
  expect(refused.stderr).toContain('PETSTORE_ENV must be one of production, staging, sandbox');
  expect(refused.code).toBe(2);
});

describe('--key-command', () => {
  const COMMAND = "pass show 'petstore/staging key'";
  const WITH_COMMAND = [...TO_STAGING, '--key-command', COMMAND];
  const WITH_STORED = { environment: 'staging', 'staging.base-url': URL, 'staging.key-command': COMMAND };
  const keyCommand = (): string => `${KEY}\n`;

  it('stores the command in place of the key, and a key in place of the command', async () => {
    const home = createHome();
    writeConfig(home, { 'staging.api-key': 'the-old-key-0123' });
    const ran: (readonly string[])[] = [];
    const first = await login(WITH_COMMAND, [STOCK], { home, keyCommand: (words) => (ran.push(words), `${KEY}\n`) });
    expect(first.code).toBe(0);
    expect(first.config).toMatchObject({ 'staging.base-url': URL, 'staging.key-command': COMMAND });
    expect(JSON.stringify(first.config)).not.toMatch(/api-key/);
    expect(ran).toEqual([['pass', 'show', 'petstore/staging key']]);
    expect(first.context.sent[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    const second = await login(TO_STAGING, [STOCK], { home, answers: [KEY] });
    expect(second.config).toMatchObject({ 'staging.api-key': KEY });
    expect(JSON.stringify(second.config)).not.toMatch(/key-command/);
  });

  it('is not stored where the service refuses its key', async () => {
    const { code, config } = await login(WITH_COMMAND, [error(401)], { keyCommand });
    expect({ code, config }).toEqual({ code: 4, config: undefined });
  });

  it('is run once for a command that sends, and never for one that does not', async () => {
    const home = createHome();
    writeConfig(home, WITH_STORED);
    let runs = 0;
    const count = async (args: readonly string[], replies: readonly PlainReply[], env = {}): Promise<number> => {
      runs = 0;
      const options = { home, env, terminal: false, keyCommand: () => (runs++, `${KEY}\n`) };
      const { code, stdout, stderr } = await login(args, replies, options);
      expect({ args, code, leaked: `${stdout}${stderr}`.includes(KEY) }).toEqual({ args, code: 0, leaked: false });
      return runs;
    };
    expect(await count(['inventory', 'adjust', '7', '2'], [STOCK, json(item(7, 12))])).toBe(1);
    expect(await count(['inventory', 'list'], [STOCK], { PETSTORE_API_KEY: 'key-of-the-variable' })).toBe(0);
    for (const line of [
      'status',
      'config list',
      'config get staging.key-command',
      'inventory list --help',
      'inventory history',
      'doctor --offline',
      'inventory set 7 12 --dry-run',
      'logout',
    ]) {
      expect([line, await count(line.split(' '), [])]).toEqual([line, 0]);
    }
    expect(stored(home)).toEqual({ version: 1, environment: 'staging', 'staging.base-url': URL });
  });

  it('status and config list name it as the source', async () => {
    const home = createHome();
    writeConfig(home, WITH_STORED);
    expect((await login(['status'], [], { home })).stdout).toContain(`API key      ${COMMAND}  (key-command)\n`);
    const shadowed = await login(['status'], [], { home, env: { PETSTORE_API_KEY: KEY } });
    expect(shadowed.stdout).toContain(
      'API key      ****k-01  (variable PETSTORE_API_KEY; it overrides the key command)\n',
    );
    expect((await login(['config', 'list', '-o', 'csv'], [], { home })).stdout).toContain(
      `staging.key-command,${COMMAND}\n`,
    );
    expect((await login(['logout'], [], { home, env: { PETSTORE_API_KEY: KEY } })).stderr).toContain(
      ' PETSTORE_API_KEY is set, and petstore still uses the key in it.\n',
    );
  });

  it.each([0o620, 0o602])('is not run from a file that others may change (mode %o)', async (mode) => {
    const home = createHome();
    writeConfig(home, WITH_STORED, mode);
    const path = configPath(home);
    const { code, stderr } = await login(['inventory', 'list'], [], { home, terminal: false });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        `error: The key command was not run, because other users may change ${path}: ${COMMAND}\n` +
        `hint: Make it yours alone: chmod 600 ${path}\n`,
    });
  });
});
