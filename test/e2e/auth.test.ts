/** Keys, base URLs and the secrets in them; through the built program if files and processes matter. */
import { chmodSync, chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asMortal, exits, runPetstore } from '../support/binary.ts';
import { configPath, createHome, type Home, writeConfig } from '../support/home.ts';
import { runIn, withReplies } from '../support/in-process.ts';
import { item, json, type PlainReply } from '../support/replies.ts';
import { createTestContext, type TestContextOptions } from '../support/test-context.ts';
import { KEY, staging, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const SET = ['inventory', 'set', '7', '12'];
const STOCK = [item(1, 5), item(7, 10)];

/** A home whose config file holds a staging login. */
function loggedIn(baseUrl: string, mode = 0o600, folder = '.config'): Home {
  const made = createHome();
  const config = join(made.path, folder);
  const home = { ...made, config, env: { ...made.env, XDG_CONFIG_HOME: config } };
  writeConfig(home, { environment: 'staging', 'staging.base-url': baseUrl, 'staging.api-key': KEY }, mode);
  return home;
}

const URL = 'https://pets.example/v1';

/** In this process, in JSON; nothing is sent but what gets one of the replies. */
async function runJson(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  options: TestContextOptions & { readonly replies?: readonly PlainReply[] } = {},
) {
  const context = withReplies(options.replies ?? [], { ...options, env: { ...staging(URL), ...env } });
  return takeApart(await runIn(context, '--json', ...args));
}

describe('fault 62: without a key', () => {
  it.each([[LIST], [SET]])('%j tells how to log in, and sends nothing', async (args) => {
    const { code, stdout, error: reported } = await runJson(args, { PETSTORE_API_KEY: undefined });
    expect({ code, stdout, reported }).toEqual({
      code: 4,
      stdout: '',
      reported: {
        kind: 'no-key',
        message: 'No API key is set for staging.',
        exitCode: 4,
        retryable: false,
        hint: expect.stringMatching(/petstore login.*petstore --env sandbox inventory list/) as string,
      },
    });
  });

  it('an empty variable is an unset one', async () => {
    expect((await runJson(LIST, { PETSTORE_API_KEY: '' })).code).toBe(4);
  });
});

describe('fault 64: a key that no header can carry is refused here, and never shown', () => {
  it.each([
    ['a line break', 'secret-part-1\nsecret-part-2', 'contains a line break'],
    ['a space', 'secret-part-1 secret-part-2', 'contains white space'],
    ['a letter beyond ASCII', 'secret-part-1é', 'contains a character that is not plain ASCII'],
    ['a control character', 'secret-part-1\u0007', 'contains a character that is not plain ASCII'],
    ['a tab', 'secret-part-1\tx', 'contains white space'],
  ])('%s', async (_name, key, problem) => {
    const variable = await runJson(['--debug', ...LIST], { PETSTORE_API_KEY: key });
    const stdin = { text: `${key}\n` };
    const login = await runJson(['login', '--key-stdin'], { PETSTORE_API_KEY: undefined }, { stdin });
    const refusal = (source: string) =>
      `The API key from ${source} ${problem}, so it cannot be sent; its value is not shown.`;
    expect([variable.code, variable.error?.message]).toEqual([4, refusal('PETSTORE_API_KEY')]);
    expect([login.code, login.error?.message]).toEqual([4, refusal('stdin')]);
    expect(JSON.stringify([variable, login])).not.toContain('secret-part');
  });
});

describe('fault 65: a key on the command line', () => {
  it.each([
    ['login', '--key', KEY],
    ['login', KEY, '--key-stdin'],
    ['login', `--key=${KEY}`],
    ['login', `--api-key=${KEY}`],
    ['--token', KEY, 'inventory', 'list'],
    ['config', 'set', 'staging.api-key', KEY],
  ])('%s %s %s is refused with the ways that there are', async (...args) => {
    const { code, stdout, stderr } = await runIn(createTestContext(), ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/--key-stdin/);
    expect(stderr).not.toContain(KEY);
  });
});

describe('base URLs', () => {
  const END = 'does not end in the path segment v1';
  it.each([
    ['fault 67', 'http://pets.example/v1', 'http://pets.example/v1 would send the key unencrypted'],
    ['fault 68', 'https://clerk:pass-word-1@pets.example/v1', 'https://***@pets.example/v1 contains credentials'],
    ['fault 68', 'https://pass-word-1@pets.example/v1', 'https://***@pets.example/v1 contains credentials'],
    ['no v1', 'https://pets.example/', `https://pets.example/ ${END}`],
    ['v1 inside', 'https://pets.example/v1/inventory', `https://pets.example/v1/inventory ${END}`],
    ['v11', 'https://pets.example/v11', `https://pets.example/v11 ${END}`],
    ['a query', 'https://pets.example/v1?key=pass-word-1', 'https://pets.example/v1?*** has a query or fragment'],
    ['an empty query', 'https://pets.example/v1?', 'https://pets.example/v1?*** has a query or fragment'],
    ['an empty fragment', 'https://pets.example/v1#', 'https://pets.example/v1?*** has a query or fragment'],
    ['a line break', 'https://pets.example:1\n2/v1', 'https://pets.example:1\n2/v1 is not an http(s) URL'],
    ['two lines', 'https://pets.example/v1\nx/v1', 'https://pets.example/v1\nx/v1 is not an http(s) URL'],
    ['a backslash', 'https://pets.example\\v1', 'https://pets.example\\v1 is not an http(s) URL'],
    ['another scheme', 'ftp://pets.example/v1', 'ftp://pets.example/v1 is not an http(s) URL'],
    ['no URL', 'clerk:pass-word-1@pets.example', '***@pets.example is not an http(s) URL'],
    ['no URL', 'https://clerk:pass@word-1/x@pets', 'https://***@pets contains credentials'],
  ])('%s: %s is refused', async (_name, url, message) => {
    const fromVariable = await runJson(LIST, { PETSTORE_BASE_URL: url });
    const fromFlag = await runJson(['--base-url', url, ...LIST]);
    const kept = await runJson(['config', 'set', 'staging.base-url', url]);
    for (const result of [fromVariable, fromFlag]) {
      expect([result.code, result.error?.message]).toEqual([3, `The base URL ${message}.`]);
    }
    // http is only refused where it is used: --insecure-http belongs to the call.
    expect(kept.code).toBe(message.includes('unencrypted') ? 0 : 3);
    expect(JSON.stringify([fromVariable, fromFlag, kept])).not.toContain('pass-word-1');
  });

  it.each(['http://localhost', 'http://127.0.0.1', 'http://[::1]'])('fault 67: %s is loopback', async (origin) => {
    const { code } = await runJson(LIST, { PETSTORE_BASE_URL: `${origin}:9/v1` }, { replies: [json([])] });
    expect(code).toBe(0);
  });

  it('fault 67: --insecure-http warns each time', async () => {
    const env = { PETSTORE_BASE_URL: 'http://pets.example/v1' };
    const { code, notes } = await runJson(['--insecure-http', ...LIST], env, { replies: [json([])] });
    const notice = 'warning: The key travels unencrypted to pets.example (--insecure-http).';
    expect({ code, notes }).toEqual({ code: 0, notes: [notice] });
  });

  it('may end in a slash, and have a path before v1', async () => {
    const context = withReplies([json([]), json([])]);
    await runIn(context, '--base-url', 'https://pets.example/v1/', ...LIST);
    await runIn(context, '--base-url', 'https://pets.example/api/store/v1', ...LIST);
    expect(context.sent.map(({ url }) => url.pathname)).toEqual(['/v1/inventory', '/api/store/v1/inventory']);
  });
});

describe('the config file', () => {
  it('fault 69: that others may read is used, reported, and not changed', async () => {
    const home = loggedIn(URL, 0o644, 'my config');
    const { code, stderr } = await runIn(withReplies([json(STOCK)], { env: {}, home }), ...LIST);
    const path = configPath(home);
    expect({ code, stderr, mode: statSync(path).mode & 0o777 }).toEqual({
      code: 0,
      stderr: `warning: Others on this machine may read the key in ${path}: run chmod 600 '${path}'\n`,
      mode: 0o644,
    });
    for (const line of [['status'], ['doctor', '--offline']])
      expect((await runIn(withReplies([], { env: {}, home }), ...line)).stdout).toContain(`chmod 600 '${path}'`);
  });

  it('fault 69: that belongs to another user is used, and reported', async (test) => {
    if (process.geteuid?.() !== 0) return test.skip();
    // Its mode is the other user's concern: this user's chmod would fail.
    const home = loggedIn(URL, 0o644, 'my config');
    const path = configPath(home);
    chownSync(path, 65_534, 65_534);
    const context = withReplies([json(STOCK)], { env: {}, home });
    expect(await runIn(context, ...LIST)).toMatchObject({
      code: 0,
      stderr: `warning: The config ${path} belongs to another user, who may send the key anywhere.\n`,
    });
    const doctor = await runIn(context, 'doctor', '--offline', '-o', 'csv');
    const fix = `"Take it over: sudo chown ""$USER"" '${path}'"`;
    expect(doctor.stdout).toContain(`config,warn,${path} belongs to another user.,${fix}`);
  });

  it('fault 72: that cannot be read says which file and why', async () => {
    const home = loggedIn('http://127.0.0.1:9/v1');
    chmodSync(configPath(home), 0o000);
    const options = { home, command: asMortal() };
    const finished = await runPetstore(['--json', '--env', 'staging', ...LIST], options);
    const result = takeApart(finished);
    expect({ code: result.code, error: result.error }).toEqual({
      code: 4,
      error: expect.objectContaining({
        kind: 'key-unreadable',
        message: `The API key could not be read from ${configPath(home)}: permission denied (EACCES).`,
      }) as unknown,
    });
    const { stdout } = await runPetstore(['--env', 'staging', 'status'], options);
    expect(stdout).toContain(`API key      none\nconfig       ${configPath(home)}  (cannot be read: EACCES)\n`);
    // The login sends nothing with a key that it could not store.
    for (const command of [['logout'], ['login', '--base-url', 'http://127.0.0.1:9/v1', '--key-stdin']]) {
      expect(await runPetstore(['--env', 'staging', ...command], { stdin: KEY, ...options })).toMatchObject(
        exits(3, `Could not read ${configPath(home)}: permission denied (EACCES).`),
      );
    }
  });
});
