/** The config file with real processes, disks and home folders, through the built program. */
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exits, mayMount, petstoreCommand, runPetstore, withMounts } from '../support/binary.ts';
import { configPath, createHome, type Home, writeConfig } from '../support/home.ts';
import { error, item, json, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];

function homeWith(text: string): Home {
  const home = createHome();
  writeConfig(home, text);
  return home;
}

async function config(home: Home, ...args: string[]) {
  return takeApart(await runPetstore(['--json', 'config', ...args], { home }));
}

/** Kills the process at step PETSTORE_DIES_AT of writing files, from when it opens a file with this name. */
const DYING = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs';
  let steps = 0;
  for (const name of ['openSync', 'writeSync', 'fsyncSync', 'closeSync', 'renameSync']) {
    const original = fs[name];
    const step = (path) => {
      if (steps === 0 && !String(path).includes('config.json.tmp')) return;
      if (++steps === Number(process.env.PETSTORE_DIES_AT)) process.kill(process.pid, 'SIGKILL');
    };
    fs[name] = (...args) => {
      step(args[0]);
      const result = original(...args);
      step(args[0]);
      return result;
    };
  }`)}`;

// The standalone executable takes no options for Node.
it.runIf(process.env.PETSTORE_BIN === undefined)(
  'fault 74: a writer killed at any moment leaves the old file or the new one',
  async () => {
    const home = homeWith('{"version":1,"environment":"staging"}');
    const folder = join(home.config, 'petstore');
    const seen = new Set<string>();
    const set = ['config', 'set', 'environment', 'sandbox'];
    let hasLeftMore = false;
    for (let at = 1, isKilled = true; isKilled; at++) {
      const env = { NODE_OPTIONS: `--import=${DYING}`, PETSTORE_DIES_AT: String(at) };
      isKilled = (await runPetstore(set, { home, env })).signal === 'SIGKILL';
      const kept = JSON.parse(readFileSync(configPath(home), 'utf8')) as { version: number; environment: string };
      seen.add(`${kept.version} ${kept.environment}`);
      hasLeftMore ||= readdirSync(folder).length > 1;
    }
    expect([...seen]).toEqual(['1 staging', '1 sandbox']);
    // The next writer clears away what a killed one left, which may hold a key.
    expect([hasLeftMore, readdirSync(folder)]).toEqual([true, ['config.json']]);
  },
);

it('fault 75: of 50 concurrent writers none loses another one’s setting', async () => {
  const home = createHome();
  const settings = ['environment', 'production.base-url', 'staging.base-url'];
  const writes = Array.from({ length: 50 }, (_, i) => {
    const setting = settings[i % settings.length]!;
    const value = setting === 'environment' ? 'sandbox' : `https://host${i}.example/v1`;
    return config(home, 'set', setting, value);
  });
  const done = await Promise.all(writes);
  expect(done.filter(({ code }) => code !== 0)).toEqual([]);
  const kept = JSON.parse(readFileSync(configPath(home), 'utf8')) as unknown;
  expect(kept).toEqual({
    version: 1,
    environment: 'sandbox',
    'production.base-url': expect.stringMatching(/^https:\/\/host\d+\.example\/v1$/) as string,
    'staging.base-url': expect.stringMatching(/^https:\/\/host\d+\.example\/v1$/) as string,
  });
  expect(readdirSync(join(home.config, 'petstore'))).toEqual(['config.json']);
});

describe('fault 76: a full disk', () => {
  it.skipIf(!mayMount())('leaves the old config as it was, and says so', async () => {
    const home = homeWith('{"version":1,"environment":"staging"}');
    const before = readFileSync(configPath(home), 'utf8');
    const folder = join(home.config, 'petstore');
    // In a mount namespace of its own: the folder becomes a disk of 64 KiB that is full but for the config.
    const script = `mount -t tmpfs -o size=64k tmpfs '${folder}' && printf '%s' '${before}' > '${folder}/config.json' &&
      (cat /dev/zero > '${folder}/ballast' 2>/dev/null || true) && "$@"; code=$?; cat '${folder}/config.json' >&2; ls '${folder}' >&2; exit $code`;
    const command = withMounts(script);
    const { code, stderr } = await runPetstore(['config', 'set', 'environment', 'sandbox'], { home, command });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        `error: Could not write ${configPath(home)}: the disk is full (ENOSPC).\n` +
        'hint: Check the path, its permissions and the free space, then run the command again.\n' +
        `${before}ballast\nconfig.json\n`,
    });
  });
});

describe('fault 77: without a home', () => {
  const none = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined, XDG_CACHE_HOME: undefined };
  const SET = ['config', 'set', 'environment', 'staging'];

  it.each([
    ['no home', none],
    ['a home that is a file', { ...none, HOME: process.execPath }],
    ['a relative home, in which each folder would have blocks of its own', { ...none, HOME: 'home' }],
  ])('%s is enough to read, not to write: each write is recorded first', async (_name, home) => {
    const { path: cwd } = createHome();
    const server = await scriptedServer([json([item(1, 5)]), json([item(1, 5)])]);
    const env = { ...home, ...staging(server.baseUrl), EDITOR: 'true' };
    const list = await runPetstore([...LIST, '-o', 'ndjson'], { cwd, env });
    expect(list).toMatchObject({
      code: 0,
      stdout: '{"petId":1,"quantity":5,"status":"available"}\n',
      // Without a state folder a run knows nothing of other runs.
      stderr: expect.stringContaining('{"warning":{"message":"Rate limits cannot be shared') as string,
    });
    const set = await runPetstore(['inventory', 'set', '1', '6'], { cwd, env });
    // No warning about the rate limit: nothing is sent.
    expect(set).toMatchObject(exits(3, /^error: /));
    expect((await runPetstore(['inventory', 'edit', '--yes'], { cwd, env })).code).toBe(3);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('fault 48: then a 429 is not tried again', async () => {
    const server = await scriptedServer([tooMany(1)]);
    const { code } = await runPetstore(LIST, { env: { ...none, ...staging(server.baseUrl) } });
    expect({ code, log: server.log().length }).toEqual({ code: 6, log: 1 });
  });

  it.each([
    [undefined, /^error: No folder for the \w+: HOME is not set\.\nhint: Set HOME/],
    ['home', /^error: No folder for the \w+: HOME is not an absolute path\.\nhint: Set HOME/],
  ])('HOME=%s: what needs one says what is missing', async (HOME, says) => {
    const { path: cwd } = createHome();
    const { code, stderr } = await runPetstore(SET, { cwd, env: { ...none, HOME } });
    expect({ code, stderr, made: readdirSync(cwd) }).toEqual({
      code: 3,
      stderr: expect.stringMatching(says) as string,
      made: [],
    });
  });
});

it.each([
  ['status', 0],
  ['inventory history', 3],
  ['sandbox status', 3],
  ['doctor --offline', 13],
])('a HOME out of reach is no bug: %s', async (line, exitCode) => {
  const { code, stderr } = await runPetstore(line.split(' '), {
    env: { HOME: `/${'x'.repeat(300)}`, XDG_STATE_HOME: undefined },
  });
  expect([code, stderr]).toEqual([exitCode, expect.not.stringContaining('bug')]);
});

describe('profiles', () => {
  it('have their own settings, catalog and history; a block of the key holds in all of them', async () => {
    const home = createHome();
    const { baseUrl } = await scriptedServer([
      ...Array.from({ length: 5 }, () => json([item(7, 10)])),
      json(item(7, 9)),
      tooMany(3_000),
    ]);
    const petstore = (...args: string[]) => runPetstore(args, { home, stdin: 'a-key-of-the-shop\n' });
    const login = ['login', '--env', 'staging', '--base-url', baseUrl, '--key-stdin'];
    for (const name of ['berlin', 'bonn']) {
      expect(await petstore('--profile', name, ...login)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining(`/profiles/${name}/config.json`) as string,
      });
    }
    expect(readdirSync(join(home.config, 'petstore'))).toEqual(['profiles']);
    writeFileSync(join(home.config, 'petstore', 'profiles', '.DS_Store'), '');
    expect((await petstore('config', 'profiles', '-o', 'csv')).stdout).toBe(
      `profile,environment,production,staging\nberlin,staging,,${baseUrl}\nbonn,staging,,${baseUrl}\n`,
    );
    mkdirSync(join(home.config, 'petstore', 'profiles', 'cologne'));
    writeFileSync(join(home.config, 'petstore', 'profiles', 'cologne', 'config.json'), '{');
    for (const line of [
      ['--profile', 'cologne', 'status'],
      ['config', 'profiles'],
    ]) {
      expect((await petstore(...line)).stderr).toMatch(/^hint: .* log in again: petstore --profile cologne login\n$/m);
    }

    await petstore('--profile', 'berlin', 'catalog', 'set', '7', '--name', 'Goldfish');
    expect((await petstore('--profile', 'berlin', 'inventory', 'list')).stdout).toContain('Goldfish');
    expect((await petstore('--profile', 'bonn', 'inventory', 'list')).stdout).not.toContain('Goldfish');
    expect(await petstore('--profile', 'berlin', 'inventory', 'adjust', '7', '-1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('10 → 9 (-1) in berlin/staging.') as string,
    });
    expect(await petstore('--profile', 'bonn', 'inventory', 'undo', '--yes')).toMatchObject(
      exits(2, 'not changed any stock in bonn/staging'),
    );

    expect(await petstore('--env', 'berlin/staging', 'inventory', 'list')).toMatchObject({ code: 6 });
    expect(await petstore('--profile', 'bonn', 'inventory', 'list', '--no-wait')).toMatchObject({ code: 6 });
  });

  it('hints name the profile: with --env, in each message', async () => {
    const home = createHome();
    const { baseUrl } = await scriptedServer([json([item(7, 10)]), error(403)]);
    const petstore = (...args: string[]) => runPetstore(args, { home, stdin: 'a-key-of-the-shop\n' });
    const login = ['login', '--env', 'production', '--base-url', baseUrl, '--key-stdin'];
    expect(await petstore('--profile', 'berlin', ...login)).toMatchObject({ code: 0 });
    const says = async (...args: string[]) => (await petstore('--profile', 'berlin', ...args)).stderr;
    const again = 'petstore --env berlin/production --profile berlin inventory set 7 1\n';
    expect(await says('inventory', 'set', '7', '1')).toContain(again);
    await says('inventory', 'list');
    expect(await says('inventory', 'list')).toContain('run petstore --env berlin/production limits --clear-block\n');
    expect(await says('inventory', 'undo', '99')).toContain('petstore --env berlin/production inventory history');
    expect(await petstore('--env', 'berlin/production', 'limits', '--clear-block', '--yes')).toMatchObject({ code: 0 });
    expect(await says('config', 'get', 'output')).toContain('petstore --profile berlin config set output VALUE\n');
  });

  it.each([
    ['--profile', '../other', '--profile must be 1 to 32 small letters'],
    ['--env', '../other/staging', '--env must be'],
    ['--env', 'berlin/sandbox', '--env must be one of production, staging'],
  ])('%s %s is refused', async (option, name, says) => {
    expect(await runPetstore([option, name, 'status'], { home: createHome() })).toMatchObject(exits(2, says));
  });
});

it('is written for a user without a name and without HOME, as in a container', async (test) => {
  if (process.getuid?.() !== 0) return test.skip();
  const home = createHome();
  chownSync(home.path, 4_000_000, 4_000_000);
  // It may read the program, wherever it is.
  const readsAll = ['--inh-caps', '+dac_read_search', '--ambient-caps', '+dac_read_search'];
  const command = ['setpriv', '--reuid', '4000000', '--clear-groups', ...readsAll, ...petstoreCommand()] as const;
  const env = { HOME: undefined, XDG_CACHE_HOME: undefined };
  expect(await runPetstore(['config', 'set', 'output', 'json'], { home, env, command })).toMatchObject({
    code: 0,
    stdout: `output is now json (${configPath(home)}).\n`,
  });
});
