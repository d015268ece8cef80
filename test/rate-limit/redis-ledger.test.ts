/** The ledger that machines share on a Redis server, and what happens when the server goes. */
import { describe, expect, it } from 'vitest';
import { type Redis, RedisFailure } from '../../src/ports.ts';
import { redisLedger } from '../../src/rate-limit/redis-ledger.ts';
import { nodeClock } from '../../src/node/clock.ts';
import { openRedis } from '../../src/node/redis.ts';
import { runPetstore } from '../support/binary.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { counted, realSandbox, setOften } from '../support/real-sandbox.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { item, json, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, staging } from '../support/staging.ts';
import { caFile, tlsIdentities } from '../support/tls.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

async function flush(url: string): Promise<void> {
  const client = await openRedis(url);
  await client.run("return redis.call('FLUSHALL').ok", 'none', []);
  client.close();
}

const LIST = ['inventory', 'list'];
const STOCK = json([item(7, 10)]);

describe('other clients that change the ledger meanwhile', () => {
  const intent = { id: 'a', operation: 'GET /inventory', maxWaitMs: 0, reserve: 0, timeoutMs: 30_000 };

  /** A server on which so many swaps fail. */
  function contended(failures: number) {
    const clock = new VirtualClock({ autoAdvance: true });
    const runs: string[] = [];
    let left = failures;
    const run: Redis['run'] = (_script, _key, [operation = '']) => {
      runs.push(operation);
      const swaps = operation === 'swap' && left-- <= 0;
      return Promise.resolve(JSON.stringify([clock.now(), swaps, '']));
    };
    const ledger = redisLedger({ run, close: () => undefined }, { clock, random: () => 0.5 }, 'pair');
    return { ledger, clock, runs };
  }

  it('are waited for a little longer each time, and the state is read anew', async () => {
    const { ledger, clock, runs } = contended(9);
    const from = clock.monotonic();
    expect((await ledger.admit(intent)).do).toBe('send');
    expect({ ms: clock.monotonic() - from, runs: runs.length }).toEqual({
      ms: 0.5 * (1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + 128),
      runs: 20,
    });
  });

  it('end the try after a hundred of them: the server counts as lost', async () => {
    const { ledger, runs } = contended(Number.POSITIVE_INFINITY);
    await expect(ledger.admit(intent)).rejects.toThrow(RedisFailure);
    expect(runs).toHaveLength(200);
  });
});

describe.skipIf(!hasRedis)('a ledger on a Redis server', () => {
  it('a value that is not a state counts as unknown: one probe', async () => {
    const redis = await openRedis((await startRedis()).url);
    onCleanup(() => redis.close());
    await redis.run("redis.call('SET', KEYS[1], ARGV[1]) return ''", 'petstore:ledger:2:pair', ['{"windows":7}']);
    const ledger = redisLedger(redis, { clock: nodeClock, random: Math.random }, 'pair');
    const intent = { operation: 'GET /inventory', maxWaitMs: 0, reserve: 0, timeoutMs: 30_000 };
    expect((await ledger.admit({ ...intent, id: 'a' })).do).toBe('send');
    expect((await ledger.admit({ ...intent, id: 'b' })).do).toBe('refuse');
  });

  it('two machines: a block that one gets holds for the other, and the Redis server sees neither key nor address', async () => {
    const redis = await startRedis();
    const server = await scriptedServer([tooMany(86_400)]);
    const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: redis.url };
    const first = await runPetstore(LIST, { home: createHome(), env });
    const second = await runPetstore(LIST, { home: createHome(), env });
    expect({ codes: [first.code, second.code], log: server.log() }).toEqual({
      codes: [6, 6],
      log: ['GET /v1/inventory'],
    });
    const client = await openRedis(redis.url);
    const dump = await client.run(
      "local all = ''; for _, k in ipairs(redis.call('KEYS', '*')) do all = all .. k .. ' ' .. redis.call('PTTL', k) .. redis.call('GET', k) end return all",
      'none',
      [],
    );
    client.close();
    expect(dump).toMatch(/^petstore:ledger:2:[0-9a-f]{64} [1-9]\d+\{/);
    expect(dump).not.toContain(KEY);
    expect(dump).not.toContain('127.0.0.1');
  });

  it('two machines at once, two processes each, windows that are spent: no 429, nothing lost', async () => {
    const redis = await startRedis();
    const sandbox = await realSandbox({ perMinute: 100, perDay: 100_000, minuteMs: 2_000 });
    const env = { ...sandbox.env, PETSTORE_LEDGER: redis.url };
    const homes = [createHome(), createHome()];
    const work = (pet: number) => setOften(sandbox, { pet, count: 75, home: homes[pet % 2]!, env });
    const ended = await Promise.all([1, 2, 3, 4].map(work));
    expect(ended.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(['0 ', '0 ', '0 ', '0 ']);
    expect(counted(sandbox.log)).toEqual({ 200: 300 });
    expect(await sandbox.stock()).toMatchObject({ 1: 75, 2: 75, 3: 75, 4: 75 });
  }, 60_000);

  it('fault 48: the loss is reported, a 429 is not tried again, and the block holds on this machine', async () => {
    const redis = await startRedis();
    const server = await scriptedServer([STOCK, tooMany(1)]);
    const home = createHome();
    const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: redis.url };
    expect((await runPetstore(LIST, { home, env })).stderr).toBe('');
    await redis.kill('SIGKILL');
    const run = () => runPetstore(['--no-wait', ...LIST], { home, env });
    const [refused, after] = [await run(), await run()];
    expect(refused.stderr).toMatch(
      /^warning: The ledger of PETSTORE_LEDGER cannot be used \(ECONNREFUSED\), so rate limits are not/,
    );
    expect({ codes: [refused.code, after.code], requests: server.requests.length }).toEqual({
      codes: [6, 6],
      requests: 2,
    });
  });

  it('a block met while it was there holds after it is gone', async () => {
    const redis = await startRedis();
    const server = await scriptedServer([tooMany(86_400)]);
    const home = createHome();
    const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: redis.url };
    expect((await runPetstore(LIST, { home, env })).code).toBe(6);
    await redis.kill('SIGKILL');
    expect((await runPetstore(LIST, { home, env })).code).toBe(6);
    expect(server.requests).toHaveLength(1);
  });

  const LIMITS = [...LIST, '--no-wait'];

  it.each<readonly [string, (redis: Awaited<ReturnType<typeof startRedis>>) => Promise<void>]>([
    ['emptied', ({ url }) => flush(url)],
    ['killed', (redis) => redis.kill('SIGKILL')],
    ['stopped', (redis) => redis.kill('SIGSTOP')],
  ])('fault 114: %s, what this machine was answered or has learnt from it holds', async (_name, lose) => {
    const redis = await startRedis();
    const server = await scriptedServer([tooMany(86_400)]);
    const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: redis.url };
    const homes = [createHome(), createHome()] as const;
    const codes = [];
    for (const home of homes) codes.push((await runPetstore(LIMITS, { home, env })).code);
    await lose(redis);
    for (const home of homes) codes.push((await runPetstore(LIMITS, { home, env })).code);
    expect({ codes, requests: server.requests.length }).toEqual({ codes: [6, 6, 6, 6], requests: 1 });
  });

  it('fault 114: a block met without PETSTORE_LEDGER holds with it, and for the machines that share it', async () => {
    const redis = await startRedis();
    const server = await scriptedServer([tooMany(86_400)]);
    const home = createHome();
    const alone = staging(server.baseUrl);
    const shared = { ...alone, PETSTORE_LEDGER: redis.url };
    const runs = [
      await runPetstore(LIMITS, { home, env: alone }),
      await runPetstore(LIMITS, { home, env: shared }),
      await runPetstore(LIMITS, { home: createHome(), env: shared }),
    ];
    expect({ codes: runs.map(({ code }) => code), requests: server.requests.length }).toEqual({
      codes: [6, 6, 6],
      requests: 1,
    });
  });

  it('a server that hangs is lost after two seconds', async () => {
    const redis = await startRedis();
    const server = await scriptedServer([STOCK]);
    await redis.kill('SIGSTOP');
    const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: redis.url };
    const { code, stderr } = await runPetstore(LIST, { env });
    expect({ code, warned: stderr.startsWith('warning: The ledger of PETSTORE_LEDGER') }).toEqual({
      code: 0,
      warned: true,
    });
  });

  it('rediss:// is TLS, with the certificate checked', async () => {
    const { good, expired } = tlsIdentities();
    const servers = [await startRedis({ identity: good }), await startRedis({ identity: expired })];
    const server = await scriptedServer([STOCK, STOCK]);
    const warned = servers.map(async ({ url }) => {
      const env = { ...staging(server.baseUrl), PETSTORE_LEDGER: url, NODE_EXTRA_CA_CERTS: caFile() };
      return (await runPetstore(LIST, { env })).stderr.includes('cannot be used');
    });
    expect(await Promise.all(warned)).toEqual([false, true]);
  });

  it('a password is taken, and never shown', async () => {
    const redis = await startRedis({ password: 'canary-password' });
    const server = await scriptedServer([STOCK, STOCK]);
    const run = (password: string) =>
      runPetstore(['--debug', '--verbose', ...LIST], {
        env: { ...staging(server.baseUrl), PETSTORE_LEDGER: redis.url.replace('//', `//:${password}@`) },
      });
    const [right, wrong] = [await run('canary-password'), await run('canary-mistaken')];
    expect([right.code, right.stderr.includes('cannot be used')]).toEqual([0, false]);
    expect([wrong.code, wrong.stderr.includes('cannot be used (WRONGPASS')]).toEqual([0, true]);
    for (const { stdout, stderr } of [right, wrong]) expect(stdout + stderr).not.toMatch(/canary/);
  });
});

it.each([
  ['http://redis.example', 'http://redis.example'],
  ['redis.example:6379', 'redis.example:6379'],
  ['redis://', 'redis://'],
  ['redis://redis.example/abc', 'redis://redis.example/abc'],
  ['redis://redis.example/0/1', 'redis://redis.example/0/1'],
  ['redis://redis.example/0?ssl=1', 'redis://redis.example/0?ssl=1'],
  ['redis://:canary-password%zz@redis.example', 'redis://…@redis.example'],
  ['file://user:canary-password@/x', 'file://…@/x'],
])('PETSTORE_LEDGER=%s is refused before anything is sent', async (address, shown) => {
  const { code, stderr } = await runPetstore(LIST, {
    env: { ...staging('http://127.0.0.1:1/v1'), PETSTORE_LEDGER: address },
  });
  expect(code).toBe(2);
  expect(stderr).toContain(shown);
  expect(stderr).not.toContain('canary-password');
});
