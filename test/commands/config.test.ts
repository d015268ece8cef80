/** The config file, `config`, `status`, and the defaults of common options that variables and the config set. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configPath, createHome, type Home, writeConfig } from '../support/home.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';
import { httpReply } from '../support/test-ports.ts';
import { createTestContext, type TestContextOptions } from '../support/test-context.ts';

const LIST = ['inventory', 'list'];

const folderOf = (home: Home): string => join(home.config, 'petstore');

function homeWith(config: string | object): Home {
  const home = createHome();
  writeConfig(home, config);
  return home;
}

function petstore(home: Home, args: readonly string[], options: TestContextOptions = {}) {
  return runIn(createTestContext({ home, ...options }), ...args);
}

/** Exit code, and the message of the error object. */
async function refusal(home: Home, args: readonly string[], options?: TestContextOptions): Promise<unknown> {
  const { code, stderr } = await petstore(home, ['--json', ...args], options);
  return [code, (JSON.parse(stderr) as { error: { message: unknown } }).error.message];
}

describe('fault 73: a broken config file is reported with its place, and left as it is', () => {
  it.each([
    ['{"version": 1,\n "environment" "staging"}', ':2:16 is not valid JSON'],
    ['', ':1:1 is not valid JSON'],
    ['{"version": 1', ':1:14 is not valid JSON'],
    ['[]', ' is not a JSON object'],
    ['{}', ' has no version number'],
    ['{"version":1,"environment":"moon"}', ' names an unknown environment'],
    ['{"version":1,"staging.api-key":7}', ' has staging.api-key, which is not a string'],
    ['{"version":1,"stagin.api-key":"some-key"}', ' has an unknown setting "stagin.api-key"'],
  ])('%j', async (text, problem) => {
    const home = homeWith(text);
    const path = configPath(home);
    for (const line of [
      'status',
      'inventory list',
      'config list',
      'config set environment staging',
      'logout --env staging',
      'login --env staging --base-url http://127.0.0.1:9/v1 --key-stdin --no-verify',
    ]) {
      const refused = await refusal(home, line.split(' '), { stdin: { text: 'some-key-123\n' } });
      expect(refused).toEqual([3, `The config file ${path}${problem}; it was left as it is.`]);
    }
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(folderOf(home))).toEqual(['config.json']);
  });

  it('without a word of what is in it', async () => {
    const home = homeWith('{"version":1,"staging.api-key":"canary-key-1"} }');
    const { stderr } = await petstore(home, ['--debug', 'status']);
    expect(stderr).toContain('is not valid JSON');
    expect(stderr).not.toContain('canary');
  });
});

it('fault 74: the half that a killed writer left is cleared away by the next', async () => {
  const home = homeWith({});
  writeFileSync(`${configPath(home)}.tmp-1700000000000abcdef`, '{"version":1,"staging.apiK');
  expect(await petstore(home, ['config', 'set', 'environment', 'staging'])).toMatchObject({ code: 0 });
  expect(readdirSync(folderOf(home))).toEqual(['config.json']);
});

describe('fault 78: a config that is not a plain file is refused', () => {
  it.each([
    ['symlink', (path: string, home: Home) => symlinkSync(join(home.path, 'elsewhere.json'), path)],
    ['directory', (path: string) => mkdirSync(path)],
  ])('a %s', async (_found, make) => {
    const home = createHome();
    mkdirSync(folderOf(home), { recursive: true, mode: 0o700 });
    writeFileSync(join(home.path, 'elsewhere.json'), '{"version":1}');
    make(configPath(home), home);
    for (const args of [['status'], ['config', 'set', 'environment', 'staging']]) {
      const message = `The config file ${configPath(home)} is not a plain file; it was left as it is.`;
      const stderr = `error: ${message}\nhint: Move it away and log in again: petstore login\n`;
      expect(await petstore(home, args)).toMatchObject({ code: 3, stderr });
    }
    expect(lstatSync(configPath(home)).isFile()).toBe(false);
    expect(readFileSync(join(home.path, 'elsewhere.json'), 'utf8')).toBe('{"version":1}');
  });
});

it('a file in the place of the config folder is named as such', async () => {
  const home = createHome();
  mkdirSync(home.config, { recursive: true });
  writeFileSync(folderOf(home), '');
  expect(await refusal(home, ['config', 'set', 'environment', 'staging'])).toEqual([
    3,
    `Could not write ${configPath(home)}: a file is in the place of a folder (EEXIST).`,
  ]);
});

it('fault 81: a config of a newer version is not written to', async () => {
  const text = '{"version":2,"new":true}';
  const home = homeWith(text);
  expect(await refusal(home, ['config', 'set', 'environment', 'staging'])).toEqual([
    3,
    `The config file ${configPath(home)} has version 2, which a newer petstore wrote; it was left as it is.`,
  ]);
  expect(readFileSync(configPath(home), 'utf8')).toBe(text);
});

describe('config', () => {
  it('sets, gets, lists and unsets', async () => {
    const home = createHome();
    const run = async (...args: string[]) => {
      const { code, stdout } = await petstore(home, ['config', ...args]);
      return [code, stdout];
    };
    expect([
      await run('set', 'staging.base-url', 'https://staging.example/v1/'),
      await run('get', 'staging.base-url'),
      await run('set', 'environment', 'Staging'),
      await run('list', '-o', 'csv'),
      await run('unset', 'staging.base-url'),
      await run('get', 'staging.base-url'),
      await run('get', 'staging.base-ulr'),
    ]).toEqual([
      [0, `staging.base-url is now https://staging.example/v1 (${configPath(home)}).\n`],
      [0, 'https://staging.example/v1\n'],
      [0, `environment is now staging (${configPath(home)}).\n`],
      [
        0,
        'setting,value\nenvironment,staging\nproduction.base-url,\nproduction.api-key,\nproduction.key-command,\n' +
          'staging.base-url,https://staging.example/v1\nstaging.api-key,\nstaging.key-command,\n' +
          'output,\ncolor,\nmax-wait,\nretry-for,\nreserve,\nkeep-history,\n',
      ],
      [0, `staging.base-url is removed (${configPath(home)}).\n`],
      [3, ''],
      [2, ''],
    ]);
    expect(statSync(configPath(home)).mode & 0o777).toBe(0o600);
  });

  it('keeps the rest of the config, but for a key that a key command replaces', async () => {
    const home = homeWith({ environment: 'sandbox', 'staging.api-key': 'some-key-0123', output: 'json' });
    const set = ['config', 'set', 'staging.key-command', "pass show 'the key'", '-o', 'table'];
    expect((await petstore(home, set)).stdout).toContain("'the key', in place of the stored API key (");
    expect((await petstore(home, set)).stdout).toContain("'the key' (");
    await petstore(home, ['config', 'set', 'max-wait', 'forever']);
    await petstore(home, ['config', 'unset', 'environment']);
    const again = await petstore(home, ['config', 'unset', 'environment', '-o', 'table']);
    expect(again.stdout).toBe('environment is not set.\n');
    const kept = { version: 1, output: 'json', 'staging.key-command': "pass show 'the key'", 'max-wait': 'forever' };
    expect(JSON.parse(readFileSync(configPath(home), 'utf8'))).toEqual(kept);
  });

  it.each([
    ['production', 'warning: PETSTORE_ENV is set, and overrides this setting.\n'],
    ['staging', ''],
  ])('with PETSTORE_ENV %s, to set environment to staging warns: %j', async (PETSTORE_ENV, stderr) => {
    const set = ['config', 'set', 'environment', 'staging'];
    expect((await petstore(createHome(), set, { env: { PETSTORE_ENV } })).stderr).toBe(stderr);
  });

  it('offers a key nowhere, and says how to log in', async () => {
    const home = createHome();
    const { stderr } = await petstore(home, ['config', 'get', 'production.api-key']);
    expect(stderr).toContain('hint: Set it: petstore login --env production\n');
    const { stdout } = await petstore(home, ['help', 'config', 'set']);
    expect(stdout).not.toContain('api-key');
    expect(stdout).toContain('staging.key-command');
  });

  it.each([
    ['environment', 'prod', 'environment must be one of production, staging, sandbox, not "prod".\nhint: Did you mean'],
    ['environment', 'berlin/staging', 'environment must be one of production, staging, sandbox, not "berlin/staging".'],
    ['staging.key-command', "pass 'show", 'The key command must be a command whose quotes are closed'],
    ['staging.base-url', 'https://pets.example', 'does not end in the path segment v1'],
    ['output', 'xml', 'output must be one of table, json, ndjson, csv, not "xml".'],
    ['reserve', '-1', 'reserve must be a whole number from 0 to 1000000, not "-1".'],
    // A unit that was forgotten must not remove the history.
    ['keep-history', '730', 'keep-history must be a duration such as 400d, of at least 1d, or forever, not "730".'],
  ])('set %s %s is refused, and takes no lock', async (key, value, problem) => {
    const home = createHome();
    const { code, stderr } = await petstore(home, ['config', 'set', '--', key, value]);
    expect([code !== 0, stderr]).toEqual([true, expect.stringContaining(problem)]);
    expect(readdirSync(home.path)).toEqual([]);
  });
});

describe('defaults of common options', () => {
  const GET = ['--env', 'sandbox', 'inventory', 'get', '7'];
  const JSON_ITEM = '{"petId":7,"quantity":10,"status":"available"}\n';
  const CSV_ITEM = 'petId,quantity,status\n7,10,available\n';
  const TEXT_ITEM = 'Pet       7\nName      Goldfish\nQuantity  10\nStatus    available\n';

  it.each([
    [{}, [], JSON_ITEM],
    [{ PETSTORE_OUTPUT: 'csv' }, [], CSV_ITEM],
    [{ PETSTORE_OUTPUT: '' }, [], JSON_ITEM],
    [{ PETSTORE_OUTPUT: 'csv' }, ['-o', 'table'], TEXT_ITEM],
    [{ PETSTORE_OUTPUT: 'csv' }, ['--json'], JSON_ITEM],
  ])('output json in the config, %j, %j', async (env, args, stdout) => {
    expect(await petstore(homeWith({ output: 'json' }), [...GET, ...args], { env })).toMatchObject({ code: 0, stdout });
  });

  it.each(['inventory nope', 'inventory set x 1', 'inventory list'])(
    'output is the form of errors too, also of those before a command runs: %s',
    async (line) => {
      const env = { PETSTORE_OUTPUT: 'json', PETSTORE_ENV: 'staging' };
      const { stderr } = await petstore(createHome(), line.split(' '), { env });
      expect(Object.keys(JSON.parse(stderr) as object)).toEqual(['error']);
    },
  );

  it('max-wait: a wait that is longer ends the command', async () => {
    const home = homeWith({ 'max-wait': '0' });
    await petstore(home, ['--env', 'sandbox', ...LIST, '--reserve', '59']);
    expect((await petstore(home, [...GET, '--reserve', '59'])).code).toBe(6);
    expect((await petstore(home, GET, { env: { PETSTORE_RESERVE: '59' } })).code).toBe(6);
    expect((await petstore(home, GET)).code).toBe(0);
  });

  it('keep-history: doctor shows it', async () => {
    const home = homeWith({ 'keep-history': '400d' });
    const doctor = async (env = {}) => (await petstore(home, ['--env=sandbox', 'doctor', '--offline'], { env })).stdout;
    expect(await doctor()).toContain('History is kept for 400 days.');
    expect(await doctor({ PETSTORE_KEEP_HISTORY: 'forever' })).toContain('History is kept forever.');
  });

  // Faults 64, 67 and 68 name the codes of a base URL and a key, the contract that of a ledger.
  it.each<[setting: string, variable: string, option: string | undefined, text: string, codes?: readonly number[]]>([
    ['environment', 'PETSTORE_ENV', '--env', 'moon'],
    ['', 'PETSTORE_PROFILE', '--profile', 'Moon'],
    ['staging.base-url', 'PETSTORE_BASE_URL', '--base-url', 'moon', [3, 3, 3]],
    ['staging.api-key', 'PETSTORE_API_KEY', undefined, 'a key', [2, 4, 4]],
    ['staging.key-command', '', undefined, "pass 'show"],
    ['', 'PETSTORE_LEDGER', undefined, 'http://redis.example', [2, 3, 3]],
    ['', 'PETSTORE_LEDGER_LOST', undefined, 'never'],
    ['output', 'PETSTORE_OUTPUT', '--output', 'xml'],
    ['color', 'PETSTORE_COLOR', '--color', 'mauve'],
    ['max-wait', 'PETSTORE_MAX_WAIT', '--max-wait', 'soon'],
    ['retry-for', 'PETSTORE_RETRY_FOR', '--retry-for', 'soon'],
    ['reserve', 'PETSTORE_RESERVE', '--reserve', 'many'],
    ['', 'PETSTORE_PERSON', '--person', 'Ada\nLovelace'],
    ['keep-history', 'PETSTORE_KEEP_HISTORY', undefined, '1h'],
  ])(
    'an invalid %s, %s or %s is exit 2 in the call, and 3 in the config',
    async (setting, variable, option, text, codes) => {
      const line = ['inventory', 'set', '7', '5'];
      const named = setting === 'environment' ? [] : ['--env', 'staging'];
      const usable = { 'staging.base-url': 'http://127.0.0.1:9/v1', 'staging.api-key': 'kept-key-0123456789' };
      const inOption =
        option === undefined ? [] : [await petstore(homeWith(usable), [...named, ...line, option, text])];
      const env = { [variable]: text };
      const inVariable = variable === '' ? [] : [await petstore(homeWith(usable), [...named, ...line], { env })];
      const home = homeWith({ ...usable, [setting]: text });
      const inConfig = setting === '' ? [] : [await petstore(home, [...named, ...line])];
      const set = setting === '' ? [] : [await petstore(createHome(), ['config', 'set', setting, text])];
      const [first, second, third] = codes ?? [2, 2, 3];
      expect([set, inOption, inVariable, inConfig].map((all) => all.map(({ code }) => code))).toEqual([
        set.map(() => first),
        inOption.map(() => first),
        inVariable.map(() => second),
        inConfig.map(() => third),
      ]);
    },
  );

  it('a wrong value of a variable names it, unless an option overrides it', async () => {
    const env = { PETSTORE_OUTPUT: 'xml' };
    expect(await petstore(createHome(), [...GET, '--json'], { env })).toMatchObject({ code: 0, stdout: JSON_ITEM });
    const { code, stderr } = await petstore(createHome(), GET, { env });
    const problem = 'error: PETSTORE_OUTPUT must be one of table, json, ndjson, csv, not "xml".\n';
    expect([code, stderr]).toEqual([2, problem]);
  });

  it('a wrong value in the config can be corrected with config', async () => {
    const home = homeWith({ output: 'xml', color: 'never' });
    expect((await petstore(home, GET)).stderr).toMatch(
      /^error: output of the config must be one of table.*\nhint: Correct it: petstore config set output VALUE\n$/,
    );
    expect(await petstore(home, ['config', 'unset', 'output'])).toMatchObject({ code: 0 });
    expect(await petstore(home, GET)).toMatchObject({ code: 0, stdout: TEXT_ITEM });
    expect((await petstore(home, ['config', 'get', 'color'])).stdout).toBe('never\n');
  });
});

describe('status', () => {
  it('breaks its lines between words at a terminal', async () => {
    const home = createHome();
    const options = { env: { PETSTORE_ENV: 'sandbox' }, stdin: { text: '7\nq\n' } };
    await petstore(home, ['inventory', 'count', '--yes'], options);
    const screen = { isTTY: true, columns: 40 };
    const { stdout } = await petstore(home, ['status', '--color', 'never'], { ...options, stdout: screen });
    expect(stdout).toMatch(
      /^unfinished {3}run 1 \(count\) in sandbox\n {13}\(continue: petstore --env\n {13}sandbox /m,
    );
    // A path is one word.
    const lines = stdout.split('\n').filter((line) => line.length > 40 && !line.includes(home.path));
    expect(lines).toEqual([]);
  });

  it('names the source of each value, and what it hides', async () => {
    const home = homeWith({
      environment: 'production',
      'staging.base-url': 'https://kept.example/v1',
      'staging.api-key': 'kept-key-0123456789',
    });
    const env = { PETSTORE_ENV: 'staging', PETSTORE_API_KEY: 'other-key-9876543210' };
    expect((await petstore(home, ['status'], { env })).stdout).toBe(
      'environment  staging  (variable PETSTORE_ENV; it overrides the config)\n' +
        'base URL     https://kept.example/v1  (config)\n' +
        'API key      ****3210  (variable PETSTORE_API_KEY; it overrides the config)\n' +
        `config       ${configPath(home)}\n`,
    );
    expect((await petstore(home, ['status'])).stdout).toContain('API key      none\nlog in       petstore login\n');
    const asJson = await petstore(home, ['status', '--json', '--env=production'], { env: { PETSTORE_ENV: 'staging' } });
    expect(JSON.parse(asJson.stdout)).toEqual({
      environment: { value: 'production', source: 'option --env', shadows: 'variable PETSTORE_ENV' },
      baseUrl: { value: null, source: null, shadows: null },
      apiKey: { value: null, source: null, shadows: null },
      config: { path: configPath(home), exists: true, private: true },
      rateLimit: null,
      unfinished: [],
    });
  });

  it.each([
    [['--profile', 'berlin'], {}, 'profile      berlin  (option --profile)\n'],
    [[], { PETSTORE_PROFILE: 'berlin' }, 'profile      berlin  (variable PETSTORE_PROFILE)\n'],
    [['--env', 'berlin/staging'], {}, ''],
  ])('names the source of the profile: %j %j', async (args, env, line) => {
    const { stdout } = await petstore(createHome(), ['status', ...args], { env });
    expect(stdout).toMatch(/^environment {2}berlin\/(?:production|staging) {2}\(/);
    expect(/^profile .*\n/m.exec(stdout)?.[0] ?? '').toBe(line);
  });

  describe('a profile on the command line and another address in PETSTORE_BASE_URL', () => {
    const BERLIN = 'https://berlin.example/v1';
    const HAMBURG = 'https://hamburg.example/v1';
    const run = async (args: string, env: Readonly<Record<string, string>>, config: object = {}) => {
      const home = createHome();
      const folder = join(folderOf(home), 'profiles', 'berlin');
      mkdirSync(folder, { recursive: true });
      const stored = { 'production.base-url': BERLIN, 'production.api-key': 'key-of-berlin-0123' };
      writeFileSync(join(folder, 'config.json'), JSON.stringify({ version: 1, ...stored, ...config }), { mode: 0o600 });
      const http = () => httpReply(json([item(7, 10)]), 0);
      const context = createTestContext({ home, env: { PETSTORE_BASE_URL: HAMBURG, ...env }, http });
      const { code, stdout, stderr } = await runIn(context, ...args.split(' '));
      return { code, stdout, stderr, hosts: new Set(context.sent.map(({ url }) => url.host)) };
    };

    it.each([
      '--profile berlin inventory adjust 7 -1 --yes',
      '--env berlin/production api PATCH /inventory/7 -f quantity=1',
      '--profile berlin inventory list',
    ])('are refused: %s', async (args) => {
      for (const env of [{}, { PETSTORE_API_KEY: 'key-of-hamburg-0123' }])
        expect(await run(args, env)).toMatchObject({
          code: 3,
          stderr:
            `error: The base URL ${HAMBURG} of PETSTORE_BASE_URL is not that of berlin/production, ${BERLIN}.\n` +
            'hint: Unset PETSTORE_BASE_URL, or give the address that is meant with --base-url.\n',
          hosts: new Set(),
        });
    });

    it.each([
      ['an option', `--profile berlin --base-url ${HAMBURG} inventory list`, {}, 'hamburg'],
      ['the same address', '--profile berlin inventory list', { PETSTORE_BASE_URL: `${BERLIN}/` }, 'berlin'],
      ['a profile from a variable', 'inventory list', { PETSTORE_PROFILE: 'berlin' }, 'hamburg'],
    ])('%s is not refused', async (_what, args, env, host) => {
      expect(await run(args, env)).toMatchObject({ code: 0, hosts: new Set([`${host}.example`]) });
    });

    it('a profile without an address of its own is not refused; status shows both', async () => {
      const unset = { 'production.base-url': undefined };
      expect(await run('--profile berlin inventory list', {}, unset)).toMatchObject({ code: 0 });
      const { code, stdout } = await run('--profile berlin status', {});
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining('(variable PETSTORE_BASE_URL; it overrides the config)'),
      ]);
    });
  });

  it('shows what is left of the rate limit, and a block', async () => {
    const context = withReplies([json([item(7, 10)]), error(403)]);
    const status = async () => (await runIn(context, 'status')).stdout;
    expect(await status()).not.toMatch(/rate limit|block/);
    await runIn(context, ...LIST);
    expect(await status()).toMatch(/^rate limit {3}59 of 60 requests left, resets in /m);
    await runIn(context, ...LIST);
    expect(await status()).toMatch(
      /^block {8}the service refused the key \(403\); it may be banned\. Nothing is sent until /m,
    );
    const [known, limits] = [await runIn(context, 'status', '--json'), await runIn(context, 'limits', '--json')];
    const { environment: _, ...rateLimit } = JSON.parse(limits.stdout) as object & { environment: string };
    expect([JSON.parse(known.stdout), rateLimit]).toMatchObject([
      { rateLimit },
      { limit: 60, block: { why: 'banned' } },
    ]);
    const env = { ...STAGING_ENV, PETSTORE_API_KEY: 'another-key' };
    expect((await petstore(context.home, ['status'], { env })).stdout).not.toMatch(/rate limit|block/);
  });

  it('names variables that it ignores', async () => {
    const env = { PETSTORE_APIKEY: 'x', PETSTORE_ENV: 'sandbox', PETSTORE_LEDGER_LOST: 'hold' };
    expect((await petstore(createHome(), ['status'], { env })).stderr).toMatch(
      /^warning: petstore ignores the variable PETSTORE_APIKEY; it reads PETSTORE_ENV, .*PETSTORE_KEEP_HISTORY\.\nwarning: .* PETSTORE_LEDGER_LOST without PETSTORE_LEDGER; .*\n$/,
    );
  });
});
