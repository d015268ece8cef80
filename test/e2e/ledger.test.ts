/** Several processes with one key never use it before its time, through the built program. */
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inBash, mayMount, runPetstore, startPetstore, withMounts } from '../support/binary.ts';
import { never } from '../support/faults.ts';
import { createHome } from '../support/home.ts';
import { error, item, json, type PlainReply, type Reply, send, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { holdState } from '../support/shop.ts';
import { KEY, staging, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const ADJUST = ['inventory', 'adjust', '7', '+1'];
const STOCK = json([item(7, 10)]);

/** A service, and a machine that uses it. */
async function shop(replies: readonly Reply[]) {
  const server = await scriptedServer(replies);
  const home = createHome();
  const env = staging(server.baseUrl);
  const run = (...args: string[]) => runPetstore(args, { home, env, stdin: `${KEY}\n` });
  return { server, home, env, run };
}

// Which answers block, and for how long, is in test/rate-limit/governor.test.ts.
describe('fault 29, 40: a block that one process has met', () => {
  it.each<readonly [string, PlainReply, number, kind: string, seconds: number]>([
    ['a 429', tooMany(86_400), 6, 'rate-limited', 86_400],
    ['fault 22: a 403, for an hour', error(403), 12, 'banned', 3_600],
  ])('%s: keeps all others, of any command, from sending anything', async (_name, refusal, code, kind, seconds) => {
    const { run, server } = await shop([refusal]);
    expect((await run(...LIST)).code).toBe(code);
    const calls = [LIST, ['inventory', 'set', '7', '12'], ADJUST, ['login', '--key-stdin']];
    const ended = await Promise.all(calls.map((call) => run('--json', ...call)));
    expect(server.log()).toEqual(['GET /v1/inventory']);
    for (const each of ended) {
      const reported = takeApart(each).error;
      expect(reported).toMatchObject({ kind, exitCode: code });
      expect(Date.parse(String(reported?.retryAt)) - Date.now()).toBeGreaterThan(1_000 * (seconds - 300));
    }
  });

  it('does not apply to another key', async () => {
    const { env, home, run } = await shop([tooMany(86_400), STOCK]);
    expect((await run(...LIST)).code).toBe(6);
    expect((await runPetstore(LIST, { home, env: { ...env, PETSTORE_API_KEY: 'another-key-42' } })).code).toBe(0);
  });
});

it('fault 46: the request of a process that was killed counts as sent', async () => {
  const window = { limits: { limit: 60, remaining: 1, resetsIn: 600 } };
  const { env, home, run, server } = await shop([json([item(7, 10)], window), never()]);
  expect((await run(...LIST)).code).toBe(0);
  const killed = startPetstore(LIST, { home, env });
  await server.received(2);
  await killed.end('SIGKILL');
  expect((await run(...LIST)).code).toBe(6);
  expect(server.log()).toHaveLength(2);
});

it('fault 46: a process that was killed is dead also while its parent does not ask how it ended', async () => {
  const { env, home, run, server } = await shop([never(), STOCK]);
  const parent = startPetstore(LIST, { home, env, command: inBash('"$@" >/dev/null & echo $!; exec sleep 600') });
  await parent.waitFor(/\n/, 'stdout');
  await server.received(1);
  process.kill(Number(parent.stdout), 'SIGKILL');
  expect((await run(...LIST, '--no-wait')).code).toBe(0);
});

it('fault 46: killed while it asked whether a block is over: nothing is sent until its answer would have come, and the error reports it', async () => {
  const { env, home, run, server } = await shop([tooMany(0, { limits: false }), never()]);
  const list = [...LIST, '--timeout', '1h'];
  const first = startPetstore(list, { home, env });
  await server.received(2);
  // While it lives, its answer may come at any time: --no-wait reports what it would wait for.
  const during = await run(...list, '--no-wait');
  await first.end('SIGKILL');
  const afterwards = await run(...list);
  expect({ codes: [during.code, afterwards.code], log: server.log() }).toEqual({
    codes: [6, 6],
    log: ['GET /v1/inventory', 'GET /v1/inventory'],
  });
  expect(during.stderr).toMatch(
    /^error: Another request with this key is still unanswered; this one would wait for it until .* \(1 h\b.*\), /,
  );
  expect(afterwards.stderr).toMatch(
    /^error: This key is rate limited \(429\) until .* \((?:1 h|59 min)\b.*\), longer than --max-wait \(1 min 15 s\); nothing was sent\.$/m,
  );
});

it.each<readonly [string, (path: string) => void]>([
  ['cut short', (path) => truncateSync(path, 100)],
  ['overwritten', (path) => writeFileSync(path, 'nothing of it is left '.repeat(1_000))],
  ['removed', (path) => ['', '-wal', '-shm'].forEach((end) => rmSync(path + end, { force: true }))],
])('fault 153: a block holds when the state database is %s; limits --clear-block clears it', async (_name, spoil) => {
  const { home, run, server } = await shop([tooMany(600), STOCK]);
  expect((await run(...LIST)).code).toBe(6);
  spoil(join(home.state, 'petstore', 'state.db'));
  expect([(await run(...LIST)).code, (await run(...LIST)).code, server.requests.length]).toEqual([6, 6, 1]);
  expect((await run('limits', '--clear-block', '--yes')).code).toBe(0);
  expect([(await run(...LIST)).code, server.requests.length]).toEqual([0, 2]);
});

describe('fault 115: a refusal that the state database cannot take', () => {
  it('while another process holds it is kept beside it, reported, and obeyed', async () => {
    let release: (() => void) | undefined;
    const { home, run, server } = await shop([
      STOCK,
      (exchange) => {
        release = holdState(home);
        return send(tooMany(600), exchange);
      },
    ]);
    expect((await run(...LIST)).code).toBe(0);
    const refused = await run(...LIST);
    expect(refused.code).toBe(6);
    expect(refused.stderr).toMatch(
      /^warning: The state database could not be written: another petstore holds it\. The service refused a request until .*; that is kept in .*\/blocks\/[0-9a-f]{32} instead\.$/m,
    );
    expect(refused.stderr).toMatch(/^error: This key is rate limited \(429\) until .+ \((9|10) min/m);
    release?.();
    expect((await run(...LIST)).code).toBe(6);
    expect((await run('limits')).stdout).toContain('429');
    expect(server.log()).toEqual(['GET /v1/inventory', 'GET /v1/inventory']);
  });

  it.skipIf(!mayMount())(
    'because the disk is full is kept where no space is needed, reported, and obeyed',
    async () => {
      const { stderr, log } = await onSmallDisk(
        tooMany(600),
        `"$@" inventory list >/dev/null && { "$@" inventory list; echo "code $?" >&2; rm "$XDG_STATE_HOME/ballast"; "$@" inventory list; echo "code $?" >&2; }`,
      );
      expect(stderr.match(/^code \d+$/gm)).toEqual(['code 6', 'code 6']);
      expect(stderr).toMatch(/^warning: The state database could not be written: the disk is full\. .* is kept in /m);
      expect(log).toEqual(['GET /v1/inventory', 'GET /v1/inventory']);
    },
  );
});

it.skipIf(!mayMount())(
  'fault 127: a full disk once an update was answered with 200: the error says applied',
  async () => {
    const { stderr } = await onSmallDisk(
      json(item(7, 12)),
      `"$@" inventory list >/dev/null && "$@" --json inventory set 7 12; echo "code $?" >&2`,
    );
    const [reported] = stderr.split('\n').filter((line) => line.startsWith('{"error"'));
    expect(stderr).toContain('code 3\n');
    const message = /^Pet 7 was set to 12 in staging, but that could not be recorded\. .*disk is full/;
    expect(JSON.parse(reported ?? '')).toMatchObject({
      error: { kind: 'unrecorded', outcome: 'applied', message: expect.stringMatching(message) as string },
    });
  },
);

/** Runs commands whose state folder is a small disk of their own, which is full once the second reply is sent. */
async function onSmallDisk(second: PlainReply, commands: string) {
  const state = join(createHome().path, 'full');
  const { env, home, server } = await shop([
    STOCK,
    (exchange) => {
      const folder = `/proc/${running.pid}/root${state}`;
      // All that SQLite could still use, the log that it writes into again included.
      truncateSync(join(folder, 'petstore', 'state.db-wal'));
      expect(() => writeFileSync(join(folder, 'ballast'), Buffer.alloc(2 ** 20))).toThrow('ENOSPC');
      return send(second, exchange);
    },
  ]);
  const script = `mkdir '${state}' && mount -t tmpfs -o size=400k tmpfs '${state}' && export XDG_STATE_HOME='${state}' && ${commands}`;
  const running = startPetstore([], { home, env, command: withMounts(script) });
  return { ...(await running.exited), log: server.log() };
}
