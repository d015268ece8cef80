/** The config file under everything that can happen to a file, through the built program. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore } from '../support/binary.ts';
import { createHome, type Home } from '../support/home.ts';
import { item, json, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];

function configFile(home: Home): string {
  return join(home.config, 'petstore', 'config.json');
}

function homeWith(text: string): Home {
  const home = createHome();
  mkdirSync(join(home.config, 'petstore'), { recursive: true, mode: 0o700 });
  writeFileSync(configFile(home), text, { mode: 0o600 });
  return home;
}

async function config(home: Home, ...args: string[]) {
  return takeApart(await runPetstore(['--json', 'config', ...args], { home }));
}

describe('fault 73: a broken config file is reported with its place, and left as it is', () => {
  it.each([
    ['{"version": 1,\n "environment" "staging"}', ':2:16 is not valid JSON'],
    ['', ':1:1 is not valid JSON'],
    ['{"version": 1', ':1:14 is not valid JSON'],
    ['[]', ' holds no JSON object'],
    ['{}', ' has no version number'],
    ['{"version":1,"environment":"moon"}', ' names an unknown environment'],
    ['{"version":1,"staging.api-key":7}', ' has a staging.api-key that is not a text'],
    ['{"version":1,"stagin.api-key":"some-key"}', ' has an unknown setting "stagin.api-key"'],
  ])('%j', async (text, problem) => {
    const home = homeWith(text);
    const path = configFile(home);
    for (const args of [
      ['status'],
      LIST,
      ['config', 'list'],
      ['config', 'set', 'environment', 'staging'],
      ['logout', '--all'],
      ['login', '--env', 'staging', '--base-url', 'http://127.0.0.1:9/v1', '--key-stdin', '--no-verify'],
    ]) {
      const result = takeApart(await runPetstore(['--json', ...args], { home, stdin: 'some-key-123\n' }));
      expect({ code: result.code, message: result.error?.message }).toEqual({
        code: 3,
        message: `The config file ${path}${problem}; it was left as it is.`,
      });
    }
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(join(home.config, 'petstore'))).toEqual(['config.json']);
  });

  it('of three gigabytes is not read', async () => {
    const home = homeWith('{}');
    truncateSync(configFile(home), 3 * 2 ** 30);
    const { code, stderr } = await runPetstore(['status'], { home });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(
        'is larger than 1 MiB; it was left as it is.\nhint: Fix it in an editor',
      ) as string,
    });
  });

  it('without a word of what is in it', async () => {
    const home = homeWith('{"version":1,"staging.api-key":"canary-key-1"} }');
    const { stderr } = await runPetstore(['--debug', 'status'], { home });
    expect(stderr).toContain('is not valid JSON');
    expect(stderr).not.toContain('canary');
  });
});

it('fault 74: a writer killed at any moment leaves the old file or the new one', async () => {
  const home = homeWith('{"version":1,"environment":"sandbox"}');
  const values = ['staging', 'production', 'sandbox'];
  for (let round = 0; round < 12; round++) {
    // strace is not everywhere: the moment is set by how much of a busy wait the killer does.
    const value = values[round % 3]!;
    const script = `"$@" & pid=$!; i=0; while [ $i -lt ${round * 400} ]; do i=$((i+1)); done; kill -9 $pid; wait $pid; true`;
    const command = ['/bin/sh', '-c', script, 'sh', ...petstoreCommand()] as const;
    await runPetstore(['config', 'set', 'environment', value], { home, command: [...command] });
    const kept = JSON.parse(readFileSync(configFile(home), 'utf8')) as { version: number; environment: string };
    expect({ version: kept.version, known: values.includes(kept.environment) }).toEqual({ version: 1, known: true });
  }
  expect(await config(home, 'set', 'environment', 'staging')).toMatchObject({ code: 0 });
  // The next writer clears away what a killed one left, which may hold a key.
  expect(readdirSync(join(home.config, 'petstore'))).toEqual(['config.json']);
});

it('fault 74: the half that a killed writer left is cleared away by the next', async () => {
  const home = homeWith('{"version":1}');
  writeFileSync(`${configFile(home)}.tmp-1700000000000abcdef`, '{"version":1,"staging.apiK');
  expect(await config(home, 'set', 'environment', 'staging')).toMatchObject({ code: 0 });
  expect(readdirSync(join(home.config, 'petstore'))).toEqual(['config.json']);
});

it('a value that is refused takes no lock, and a key is offered nowhere', async () => {
  const home = createHome();
  expect(await config(home, 'set', 'environment', 'stagin')).toMatchObject({ code: 2 });
  expect(await config(home, 'set', 'staging.key-command', "pass 'show")).toMatchObject({ code: 2 });
  expect(readdirSync(home.path)).toEqual([]);
  expect(await config(home, 'get', 'production.api-key')).toMatchObject({
    code: 3,
    error: { hint: 'Set it: petstore login --env production' },
  });
  const help = await runPetstore(['config', 'set', '--help'], { home });
  expect(help.stdout).not.toContain('api-key');
  expect(help.stdout).toContain('staging.key-command');
});

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
  const kept = JSON.parse(readFileSync(configFile(home), 'utf8')) as unknown;
  expect(kept).toEqual({
    version: 1,
    environment: 'sandbox',
    'production.base-url': expect.stringMatching(/^https:\/\/host\d+\.example\/v1$/) as string,
    'staging.base-url': expect.stringMatching(/^https:\/\/host\d+\.example\/v1$/) as string,
  });
  expect(readdirSync(join(home.config, 'petstore'))).toEqual(['config.json']);
}, 60_000);

describe('fault 76: a full disk', () => {
  it.skipIf(!canMountTmpfs())('leaves the old config as it was, and says so', async () => {
    const home = homeWith('{"version":1,"environment":"staging"}');
    const before = readFileSync(configFile(home), 'utf8');
    const folder = join(home.config, 'petstore');
    // In a mount namespace of its own: the folder becomes a disk of 64 KiB that is full but for the config.
    const script = `mount -t tmpfs -o size=64k tmpfs '${folder}' && printf '%s' '${before}' > '${folder}/config.json' &&
      (cat /dev/zero > '${folder}/ballast' 2>/dev/null || true) && "$@"; code=$?; cat '${folder}/config.json' >&2; ls '${folder}' >&2; exit $code`;
    const command: [string, ...string[]] = ['unshare', '-m', '/bin/sh', '-c', script, 'sh', ...petstoreCommand()];
    const { code, stderr } = await runPetstore(['config', 'set', 'environment', 'sandbox'], { home, command });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr:
        `error: Could not write ${configFile(home)}: the disk is full (ENOSPC).\n` +
        'hint: The previous contents are unchanged. Fix the problem and run the command again.\n' +
        `${before}ballast\nconfig.json\n`,
    });
  });
});

function canMountTmpfs(): boolean {
  try {
    execFileSync('unshare', ['-m', 'true'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

describe('fault 77: without a home', () => {
  const none = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined, XDG_CACHE_HOME: undefined };

  /** Without a state folder a run knows nothing of other runs, and says so. */
  const alone =
    'warning: Rate limits cannot be shared with other runs of petstore, because its state folder cannot be used: a 429 ends this command.\n';

  it('reads that need no file work', async () => {
    const server = await scriptedServer([json([item(1, 5)]), json(item(1, 6))]);
    const env = { ...none, ...staging(server.baseUrl) };
    const list = await runPetstore([...LIST, '-o', 'ndjson'], { env });
    const set = await runPetstore(['inventory', 'set', '1', '6', '--json'], { env });
    expect([list, set]).toEqual([
      {
        code: 0,
        signal: null,
        stdout: '{"petId":1,"quantity":5,"status":"available"}\n',
        stderr: expect.stringContaining('{"warning":{"message":"Rate limits cannot be shared') as string,
      },
      expect.objectContaining({ code: 0, stdout: '{"petId":1,"quantity":6,"status":"available"}\n' }),
    ]);
  });

  it('fault 48: then a 429 is not tried again', async () => {
    const server = await scriptedServer([tooMany(1)]);
    const { code } = await runPetstore(LIST, { env: { ...none, ...staging(server.baseUrl) } });
    expect({ code, log: server.log().length }).toEqual({ code: 6, log: 1 });
  });

  it('what needs one says what is missing', async () => {
    const { code, stderr } = await runPetstore(['config', 'set', 'environment', 'staging'], { env: none });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^error: No folder for the \w+: HOME is not set\.\nhint: Set HOME/) as string,
    });
  });

  it('a home that cannot be written to is enough for reading', async () => {
    const server = await scriptedServer([json([item(1, 5)])]);
    const { code, stderr } = await runPetstore(LIST, {
      env: { ...none, HOME: '/dev/null/home', ...staging(server.baseUrl) },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: alone });
  });

  it('ignores a relative HOME: each folder would have blocks of its own', async () => {
    const server = await scriptedServer([json([item(1, 5)])]);
    const { path: cwd } = createHome();
    const relative = { ...none, HOME: 'home' };
    const list = await runPetstore(LIST, { cwd, env: { ...relative, ...staging(server.baseUrl) } });
    expect(list).toMatchObject({ code: 0, stderr: alone });
    const { code, stderr } = await runPetstore(['config', 'set', 'environment', 'staging'], { cwd, env: relative });
    expect({ code, stderr, made: readdirSync(cwd) }).toEqual({
      code: 3,
      stderr: expect.stringContaining('HOME is not an absolute path.\nhint: Set HOME') as string,
      made: [],
    });
  });

  it('a relative XDG folder is ignored', async () => {
    const home = createHome();
    const env = { XDG_CONFIG_HOME: 'somewhere' };
    const { code, stdout } = await runPetstore(['config', 'path'], { home, env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(home.path, '.config', 'petstore', 'config.json')}\n` });
  });
});

describe('fault 78: a config that is not a plain file is refused', () => {
  it.each([
    ['symlink', (path: string, home: Home) => symlinkSync(join(home.path, 'elsewhere.json'), path)],
    ['directory', (path: string) => mkdirSync(path)],
    ['special file', (path: string) => execFileSync('mkfifo', [path])],
  ])('a %s', async (found, make) => {
    const home = createHome();
    mkdirSync(join(home.config, 'petstore'), { recursive: true, mode: 0o700 });
    writeFileSync(join(home.path, 'elsewhere.json'), '{"version":1}');
    make(configFile(home), home);
    for (const args of [['status'], ['config', 'set', 'environment', 'staging']]) {
      const result = takeApart(await runPetstore(['--json', ...args], { home }));
      expect({ code: result.code, message: result.error?.message }).toEqual({
        code: 3,
        message: `The config ${configFile(home)} is a ${found}, not a plain file, and was not touched.`,
      });
    }
    expect(lstatSync(configFile(home)).isFile()).toBe(false);
    expect(readFileSync(join(home.path, 'elsewhere.json'), 'utf8')).toBe('{"version":1}');
  });
});

it('fault 81: a config of a newer version is not written to', async () => {
  const text = '{"version":2,"new":true}';
  const home = homeWith(text);
  const result = await config(home, 'set', 'environment', 'staging');
  expect({ code: result.code, message: result.error?.message }).toEqual({
    code: 3,
    message: `The config file ${configFile(home)} has version 2, which a newer petstore wrote; it was left as it is.`,
  });
  expect(readFileSync(configFile(home), 'utf8')).toBe(text);
});

describe('config', () => {
  it('sets, gets, lists and unsets', async () => {
    const home = createHome();
    const run = async (...args: string[]) => {
      const { code, stdout } = await runPetstore(args, { home });
      return [code, stdout];
    };
    expect([
      await run('config', 'set', 'staging.base-url', 'https://staging.example/v1/'),
      await run('config', 'get', 'staging.base-url'),
      await run('config', 'set', 'environment', 'staging'),
      await run('config', 'list', '-o', 'csv'),
      await run('config', 'unset', 'staging.base-url'),
      await run('config', 'get', 'staging.base-url'),
      await run('config', 'get', 'staging.base-ulr'),
    ]).toEqual([
      [0, `staging.base-url is now https://staging.example/v1 (${configFile(home)}).\n`],
      [0, 'https://staging.example/v1\n'],
      [0, `environment is now staging (${configFile(home)}).\n`],
      [
        0,
        'setting,value\nenvironment,staging\nproduction.base-url,\nproduction.api-key,\nproduction.key-command,\n' +
          'staging.base-url,https://staging.example/v1\nstaging.api-key,\nstaging.key-command,\n' +
          'output,\ncolor,\nmax-wait,\nreserve,\nkeep-history,\n',
      ],
      [0, `staging.base-url is removed (${configFile(home)}).\n`],
      [3, ''],
      [2, ''],
    ]);
    expect(statSync(configFile(home)).mode & 0o777).toBe(0o600);
    expect(existsSync(join(home.state, 'petstore', 'state.db'))).toBe(true);
  });
});

describe('status', () => {
  it('names the source of each value, and what it hides', async () => {
    const home = homeWith(
      JSON.stringify({
        version: 1,
        environment: 'production',
        'staging.base-url': 'https://kept.example/v1',
        'staging.api-key': 'kept-key-0123456789',
      }),
    );
    const env = { PETSTORE_ENV: 'staging', PETSTORE_API_KEY: 'other-key-9876543210' };
    const { code, stdout } = await runPetstore(['status'], { home, env });
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'environment  staging  (variable PETSTORE_ENV, before config)\n' +
        'baseUrl      https://kept.example/v1  (config)\n' +
        'apiKey       ****3210  (variable PETSTORE_API_KEY, before config)\n' +
        `config       ${configFile(home)}\n`,
    });
    const asJson = await runPetstore(['status', '--json', '--env', 'production'], {
      home,
      env: { PETSTORE_ENV: 'staging' },
    });
    expect(JSON.parse(asJson.stdout)).toEqual({
      environment: { value: 'production', source: 'flag --env', shadows: 'variable PETSTORE_ENV' },
      baseUrl: { value: null, source: null, shadows: null },
      apiKey: { value: null, source: null, shadows: null },
      config: { path: configFile(home), exists: true, private: true },
      unfinished: [],
    });
  });
});
