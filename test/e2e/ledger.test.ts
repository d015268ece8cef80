/** Several processes with one key never use it before its time, through the built program. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { never } from '../support/faults.ts';
import { createHome, type Home } from '../support/home.ts';
import { error, type Exchange, item, json, type Reply, send, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = json([item(7, 10)]);

describe('fault 29, 40: a block that one process has met', () => {
  it('keeps all others, of any command, from sending anything', async () => {
    const server = await scriptedServer([tooMany(86_400)]);
    const home = createHome();
    const run = (...args: string[]) => runPetstore(args, { home, env: staging(server.baseUrl) });
    expect((await run(...LIST)).code).toBe(6);
    const calls = [
      LIST,
      ['inventory', 'set', '7', '12'],
      ['inventory', 'set', '7', '12', '--expect', '10'],
      ['login', '--key-stdin'],
    ];
    const codes = await Promise.all(
      calls.map(async (call) => {
        const stdin = call[0] === 'login' ? `${staging(server.baseUrl).PETSTORE_API_KEY}\n` : '';
        return (await runPetstore(call, { home, env: staging(server.baseUrl), stdin })).code;
      }),
    );
    expect({ codes, log: server.log() }).toEqual({ codes: [6, 6, 6, 6], log: ['GET /v1/inventory'] });
  });

  const named = (status: 403 | 503, seconds: number) =>
    error(status, undefined, undefined, { headers: { 'Retry-After': `${seconds}` } });

  it.each<readonly [string, Reply, number, number, RegExp]>([
    [
      'fault 22: a 403, for an hour',
      error(403),
      12,
      3_600,
      /^The key may be banned \(403\): petstore sends nothing with it until /,
    ],
    [
      'fault 126: a 403 that names a time, to that time',
      named(403, 86_400),
      12,
      86_400,
      /^The key may be banned \(403\)/,
    ],
    [
      'fault 135: a 503 that names a time',
      named(503, 3_600),
      8,
      3_600,
      /^The service is unavailable \(503\) until about .* nothing was sent\.$/,
    ],
  ])('%s, keeps every command from sending', async (_name, reply, code, seconds, message) => {
    const server = await scriptedServer([reply]);
    const home = createHome();
    const run = (...args: string[]) => runPetstore(['--json', ...args], { home, env: staging(server.baseUrl) });
    const ended = [await run(...LIST), await run(...LIST), await run('inventory', 'adjust', '7', '+1')];
    const codes = ended.map((each) => each.code);
    expect({ codes, log: server.log() }).toEqual({ codes: [code, code, code], log: ['GET /v1/inventory'] });
    const { error: told } = JSON.parse(ended[1]!.stderr) as { error: { retryAt: string; message: string } };
    expect(told.message).toMatch(message);
    expect(Date.parse(told.retryAt) - Date.now()).toBeGreaterThan(seconds * 990);
  });

  it('does not apply to another key', async () => {
    const server = await scriptedServer([tooMany(86_400), STOCK]);
    const home = createHome();
    const env = staging(server.baseUrl);
    expect((await runPetstore(LIST, { home, env })).code).toBe(6);
    expect((await runPetstore(LIST, { home, env: { ...env, PETSTORE_API_KEY: 'another-key-42' } })).code).toBe(0);
  });
});

it('fault 46: the request of a process that was killed counts as sent', async () => {
  const window = { limits: { limit: 60, remaining: 1, resetsIn: 600 } };
  const server = await scriptedServer([json([item(7, 10)], window), never()]);
  const home = createHome();
  const env = staging(server.baseUrl);
  expect((await runPetstore(LIST, { home, env })).code).toBe(0);
  const killed = startPetstore(LIST, { home, env });
  await server.received(2);
  killed.kill('SIGKILL');
  await killed.exited;
  expect((await runPetstore(LIST, { home, env })).code).toBe(6);
  expect(server.log()).toHaveLength(2);
});

it('fault 46: killed while it asked whether a block is over: nothing is sent until its answer would have come, and the error reports it', async () => {
  const server = await scriptedServer([tooMany(0, { limits: false }), never()]);
  const home = createHome();
  const env = staging(server.baseUrl);
  const list = [...LIST, '--timeout', '90s'];
  const first = startPetstore(list, { home, env });
  await server.received(2);
  // While it lives, its answer may come at any time: --no-wait reports what it would wait for.
  const during = await runPetstore([...list, '--no-wait'], { home, env });
  first.kill('SIGKILL');
  await first.exited;
  const after = await runPetstore(list, { home, env });
  expect({ codes: [during.code, after.code], log: server.log() }).toEqual({
    codes: [6, 6],
    log: ['GET /v1/inventory', 'GET /v1/inventory'],
  });
  expect(during.stderr).toMatch(
    /^error: Another request with this key is still unanswered; this one would wait for it until .* \(1 min \d+ s\), /,
  );
  expect(after.stderr).toMatch(
    /^error: The service is rate limiting this key \(429\) until .* \(1 min \d+ s\), longer than --max-wait \(1 min 15 s\); nothing was sent\.$/m,
  );
});

it.each([
  ['is not a database', Buffer.from('this is no database, however long it may be '.repeat(200))],
  ['is cut short', Buffer.from('SQLite format 3\0cut')],
])('fault 47: a state database that %s is put aside, and one request asks for the limits', async (_name, bytes) => {
  const home = createHome();
  const folder = join(home.state, 'petstore');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'state.db'), bytes);
  const server = await scriptedServer([STOCK]);
  const { code, stderr } = await runPetstore(LIST, { home, env: staging(server.baseUrl) });
  expect({ code, aside: readdirSync(folder).filter((name) => name.includes('damaged')).length }).toEqual({
    code: 0,
    aside: 1,
  });
  expect(stderr).toMatch(
    /^warning: The state database was damaged; it is now .*state\.db\.damaged-\d+, and a new one was begun\. The history, unfinished runs and rate limits that were in it went with it\.\n$/,
  );
});

describe.each<readonly [string, (path: string) => void]>([
  [
    'cut short',
    (path) => {
      truncateSync(path, 100);
    },
  ],
  [
    'overwritten',
    (path) => {
      writeFileSync(path, 'nothing of it is left '.repeat(1_000));
    },
  ],
  [
    'removed',
    (path) => {
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    },
  ],
])('fault 153: a state database that is %s during a block', (_, spoil) => {
  it('is refused with what is kept beside it; limits --clear-block clears that, too', async () => {
    const home = createHome();
    const server = await scriptedServer([tooMany(600), STOCK]);
    const run = (...args: string[]) => runPetstore(args, { home, env: staging(server.baseUrl) });
    expect((await run(...LIST)).code).toBe(6);
    spoil(join(home.state, 'petstore', 'state.db'));
    expect([(await run(...LIST)).code, (await run(...LIST)).code, server.requests.length]).toEqual([6, 6, 1]);
    expect((await run('limits', '--clear-block', '--yes')).code).toBe(0);
    expect([(await run(...LIST)).code, server.requests.length]).toEqual([0, 2]);
  });
});

it('eight processes at once, a window of five: five requests, no refusal', async () => {
  // Each answer is held until the process that got the one before has ended, so that they are recorded in their order.
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<undefined>());
  const replies = ends.map((_, i) => async (exchange: Exchange): Promise<void> => {
    await ends[i - 1]?.promise;
    await send(json([item(7, 10)], { limits: { limit: 5, remaining: 4 - i, resetsIn: 600 } }), exchange);
  });
  const server = await scriptedServer(replies);
  const home = createHome();
  let succeeded = 0;
  const run = async (): Promise<number | null> => {
    const { code } = await runPetstore(['--max-wait', '20s', ...LIST], { home, env: staging(server.baseUrl) });
    if (code === 0) ends[succeeded++]?.resolve(undefined);
    return code;
  };
  const codes = await Promise.all(Array.from({ length: 8 }, run));
  expect({ codes: codes.sort(), requests: server.requests.length }).toEqual({
    codes: [0, 0, 0, 0, 0, 6, 6, 6],
    requests: 5,
  });
});

describe('fault 115: a refusal that the state database cannot take', () => {
  it('while another process holds it is kept beside it, reported, and obeyed', async () => {
    const home = createHome();
    const path = join(home.state, 'petstore', 'state.db');
    let holder: DatabaseSync | undefined;
    const server = await scriptedServer([
      STOCK,
      (exchange) => {
        holder = new DatabaseSync(path);
        holder.exec('BEGIN IMMEDIATE');
        return send(tooMany(600), exchange);
      },
    ]);
    const run = () => runPetstore(LIST, { home, env: staging(server.baseUrl) });
    expect((await run()).code).toBe(0);
    const refused = await run();
    expect(refused.code).toBe(6);
    expect(refused.stderr).toMatch(
      /^warning: The state database could not be written: another petstore holds it\. The service refused a request until .*; that is kept in .*\/blocks\/[0-9a-f]{32} instead\.$/m,
    );
    expect(refused.stderr).toMatch(/^error: The service is rate limiting this key \(429\) until .+ \((9|10) min/m);
    holder?.close();
    expect((await run()).code).toBe(6);
    expect((await runPetstore(['limits'], { home, env: staging(server.baseUrl) })).stdout).toContain('429');
    expect(server.log()).toEqual(['GET /v1/inventory', 'GET /v1/inventory']);
  });

  it('because the disk is full is kept where no space is needed, reported, and obeyed', async (test) => {
    if (spawnSync('unshare', ['-m', 'true']).status !== 0) return test.skip();
    const home = createHome();
    const disk: { fill?: () => void } = {};
    const server = await scriptedServer([
      STOCK,
      (exchange) => {
        disk.fill?.();
        return send(tooMany(600), exchange);
      },
    ]);
    const commands = `"$@" inventory list >/dev/null && { "$@" inventory list; echo "code $?" >&2; rm "$XDG_STATE_HOME/ballast"; "$@" inventory list; echo "code $?" >&2; }`;
    const small = onSmallDisk(home, staging(server.baseUrl), commands);
    disk.fill = small.fill;
    const { stderr } = await small.exited;
    expect(stderr.match(/^code \d+$/gm)).toEqual(['code 6', 'code 6']);
    expect(stderr).toMatch(/^warning: The state database could not be written: the disk is full\. .* is kept in /m);
    expect(server.log()).toEqual(['GET /v1/inventory', 'GET /v1/inventory']);
  });
});

/** Runs commands whose state folder is a small disk of their own; `fill` takes the rest of it. */
function onSmallDisk(home: Home, env: Readonly<Record<string, string>>, commands: string) {
  const state = join(home.path, 'full');
  const script = `mkdir '${state}' && mount -t tmpfs -o size=400k tmpfs '${state}' && export XDG_STATE_HOME='${state}' && ${commands}`;
  const running = startPetstore([], {
    home,
    env,
    command: ['unshare', '-m', '/bin/sh', '-c', script, 'sh', ...petstoreCommand()],
  });
  return {
    exited: running.exited,
    fill(): void {
      const folder = `/proc/${running.pid}/root${state}`;
      // All that SQLite could still use, the log that it writes into again included.
      truncateSync(join(folder, 'petstore', 'state.db-wal'));
      expect(() => writeFileSync(join(folder, 'ballast'), Buffer.alloc(2 ** 20))).toThrow('ENOSPC');
    },
  };
}

it.skipIf(spawnSync('unshare', ['-m', 'true']).status !== 0)(
  'fault 127: the disk is full once an update was answered with 200: the error says that it was applied',
  async () => {
    const home = createHome();
    const disk: { fill?: () => void } = {};
    const server = await scriptedServer([
      STOCK,
      (exchange) => {
        disk.fill?.();
        return send(json(item(7, 12)), exchange);
      },
    ]);
    const commands = `"$@" inventory list >/dev/null && "$@" --json inventory set 7 12; echo "code $?" >&2`;
    const small = onSmallDisk(home, staging(server.baseUrl), commands);
    disk.fill = small.fill;
    const { stderr } = await small.exited;
    const [reported] = stderr.split('\n').filter((line) => line.startsWith('{"error"'));
    expect(stderr).toContain('code 3\n');
    expect(JSON.parse(reported ?? '')).toMatchObject({
      error: {
        kind: 'unrecorded',
        outcome: 'applied',
        message: expect.stringMatching(
          /^Pet 7 was set to 12 in staging, but that could not be recorded\. .*disk is full/,
        ) as string,
      },
    });
  },
);
