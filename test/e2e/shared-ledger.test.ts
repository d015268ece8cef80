/** One key on several machines: what they share through a Redis server, and what happens without it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedPets } from '../../src/sandbox/seed.ts';
import { Tap } from '../fleet/tap.ts';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { never } from '../support/faults.ts';
import { createHome, type Home } from '../support/home.ts';
import { counted, realSandbox } from '../support/real-sandbox.ts';
import { hasRedis, redisCli, type RedisServer, startCluster, startRedis, startSentinel } from '../support/redis.ts';
import { error, item, json, type Reply, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, staging } from '../support/staging.ts';
import { caFile, tlsIdentities } from '../support/tls.ts';

const LIST = ['inventory', 'list'];
const STOCK = json([item(7, 10)]);
const DAY = tooMany(86_400);

/** A service, a Redis server unless one is given, and a way to run petstore on a machine. */
async function shop(replies: readonly Reply[], address?: string) {
  const redis = address === undefined ? await startRedis() : undefined;
  const service = await scriptedServer(replies);
  const url = address ?? redis!.url;
  const run = (home: Home, args: readonly string[] = LIST, more: Readonly<Record<string, string | undefined>> = {}) =>
    runPetstore(args, { home, env: { ...staging(service.baseUrl), PETSTORE_LEDGER: url, ...more } });
  return { redis: redis!, url, service, run };
}

describe.skipIf(!hasRedis)('machines that share a ledger on a Redis server', () => {
  it.each([
    ['a 429', DAY, 6],
    ['a 403', error(403), 12],
  ])('%s that one gets holds for all, and the server sees neither key nor address', async (_name, refusal, code) => {
    const { redis, service, run } = await shop([refusal]);
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await run(createHome())).code);
    expect({ codes, log: service.log() }).toEqual({ codes: [code, code, code], log: ['GET /v1/inventory'] });
    for (const key of (await redisCli(redis.port, 'KEYS', '*')).split('\n')) {
      expect(key).toMatch(/^petstore:\{[0-9a-f]{64}\}(:[0-9a-f]{16})?$/);
      expect(Number(await redisCli(redis.port, 'PTTL', key))).toBeGreaterThan(0);
      const value = await redisCli(redis.port, 'GET', key);
      for (const secret of [KEY, '127.0.0.1', `${service.port}`, '/v1']) expect(value).not.toContain(secret);
    }
  });

  it.each([
    ['others --timeout and five seconds', ['--timeout', '3s'], ['--max-wait', '8s'], createHome],
    ['nothing to its own machine', [], ['--no-wait'], (home: Home) => home],
  ])('a process that is killed during its first request costs %s', async (_cost, first, second, next) => {
    const { url, service, run } = await shop([never(), STOCK]);
    const home = createHome();
    const env = { ...staging(service.baseUrl), PETSTORE_LEDGER: url };
    const killed = startPetstore([...LIST, ...first], { home, env });
    await service.received(1);
    killed.kill('SIGKILL');
    await killed.exited;
    expect(await run(next(home), [...LIST, ...second])).toMatchObject({ code: 0 });
  });
});

// The build leaves out what Redis's library has for each command, and its clients for Sentinel and Cluster.
describe.skipIf(!hasRedis)('an address of each kind', () => {
  it.each<readonly [string, () => Promise<string>]>([
    ['a Sentinel', async () => (await startSentinel(await startRedis())).url],
    ['a cluster', async () => (await startCluster()).url],
    [
      'a user, a password and a database',
      async () => {
        const { url } = await startRedis({ settings: ['user clerk on >canary ~* &* +@all'] });
        return url.replace('//', '//clerk:canary@').replace('/0', '/3');
      },
    ],
  ])('%s: a block holds for all', async (_name, start) => {
    const { service, run } = await shop([STOCK, DAY], await start());
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await run(createHome())).code);
    expect({ codes, log: service.log() }).toEqual({ codes: [0, 6, 6], log: Array(2).fill('GET /v1/inventory') });
  });
});

describe.skipIf(!hasRedis)('a block, and a server that forgets it', () => {
  const NO_WAIT = [...LIST, '--no-wait'];

  it.each<readonly [string, (redis: RedisServer) => Promise<unknown>]>([
    ['emptied', ({ port }) => redisCli(port, 'FLUSHALL')],
    ['killed', (redis) => redis.kill('SIGKILL')],
    ['stopped', (redis) => redis.kill('SIGSTOP')],
  ])('fault 114: %s, the block holds on each machine that knows it', async (_name, lose) => {
    const { redis, service, run } = await shop([DAY]);
    const homes = [createHome(), createHome()] as const;
    const codes = [];
    for (const home of homes) codes.push((await run(home, NO_WAIT)).code);
    await lose(redis);
    for (const home of homes) codes.push((await run(home, NO_WAIT)).code);
    expect({ codes, requests: service.requests.length }).toEqual({ codes: [6, 6, 6, 6], requests: 1 });
  });

  it('fault 114: met without PETSTORE_LEDGER, it holds with it, and for the machines that share it', async () => {
    const { service, run } = await shop([DAY]);
    const home = createHome();
    const runs = [
      await run(home, NO_WAIT, { PETSTORE_LEDGER: undefined }),
      await run(home, [...NO_WAIT, '--json'], {}),
      await run(home, ['limits']),
      await run(createHome(), NO_WAIT),
    ];
    const codes = runs.map(({ code }) => code);
    expect({ codes, requests: service.requests.length }).toEqual({ codes: [6, 6, 0, 6], requests: 1 });
  });
});

describe.skipIf(!hasRedis)('settings that are wrong', () => {
  // Each of them is told from a loss in test/node/redis.test.ts.
  it.each([[LIST], [['proxy', '--port', '0']]])('a wrong password: %j exits 3 and sends nothing', async (args) => {
    const { url } = await startRedis({ password: 'p' });
    const { service, run } = await shop([], url.replace('//', '//:canary-mistaken@'));
    const { code, stdout, stderr } = await run(createHome(), ['--debug', '--verbose', ...args]);
    expect({ code, stdout, requests: service.requests.length }).toEqual({ code: 3, stdout: '', requests: 0 });
    expect(stderr).toMatch(/^error: The Redis server of PETSTORE_LEDGER cannot be used: WRONGPASS.*\.$/m);
    expect(stderr).not.toMatch(/canary|does not work/);
  });

  it.each<readonly [string, number, (right: string) => string]>([
    ['password', 3, (right) => right.replace(':canary', ':mistaken')],
    ['database', 3, (right) => right.replace('/0', '/99')],
    ['port', 6, (right) => right.replace(/:\d+/g, ':1')],
  ])('a wrong %s is forgotten once it is right', async (_name, exit, wrong) => {
    const { url } = await startRedis({ password: 'canary' });
    const right = url.replace('//', '//:canary@');
    const { service, run } = await shop([STOCK], right);
    const home = createHome();
    const codes = [];
    for (const address of [wrong(right), wrong(right), right]) {
      codes.push((await run(home, [...LIST, '--no-wait'], { PETSTORE_LEDGER: address })).code);
    }
    expect({ codes, requests: service.requests.length }).toEqual({ codes: [exit, exit, 0], requests: 1 });
    const folder = join(home.state, 'petstore');
    const files = readdirSync(folder).filter((name) => name.startsWith('state.db'));
    const kept = files.map((name) => readFileSync(join(folder, name), 'latin1'));
    expect(kept.join('')).toContain('redis://127.0.0.1:');
    expect(kept.join('')).not.toMatch(/canary|mistaken/);
  });

  it('an authority that is known, and the right password, are taken', async () => {
    const { url } = await startRedis({ identity: tlsIdentities().good, password: 'canary' });
    const { run } = await shop([STOCK], url.replace('//', '//:canary@'));
    const { code, stderr } = await run(createHome(), ['--debug', '--verbose', ...LIST], {
      NODE_EXTRA_CA_CERTS: caFile(),
    });
    expect(code).toBe(0);
    expect(stderr).not.toContain('canary');
  });

  it.each([
    ['PETSTORE_LEDGER', 'http://redis.example', 3, 'http://redis.example'],
    ['PETSTORE_LEDGER', 'redis://:canary%zz@redis.example', 3, 'redis://…@redis.example'],
    ['PETSTORE_LEDGER', 'redis://redis.example?db=0&password=canary', 3, 'redis://redis.example?db=…&password=…'],
    ['PETSTORE_LEDGER_LOST', 'never', 2, 'never'],
  ])('%s=%s: exit %d', async (name, value, exit, shown) => {
    const { run } = await shop([], '');
    const { code, stderr } = await run(createHome(), LIST, { [name]: value });
    expect({ code, isShown: stderr.includes(shown) }).toEqual({ code: exit, isShown: true });
    const checked = await run(createHome(), ['doctor', '--offline'], { [name]: value });
    expect([checked.code, checked.stdout]).toEqual([13, expect.stringContaining(shown)]);
    expect(checked.stdout).toContain(`Fix: Correct or unset ${name}.\n`);
    const status = await run(createHome(), ['status'], { [name]: value });
    expect([status.code, status.stdout]).toEqual([0, expect.stringContaining(shown)]);
    expect(stderr + checked.stdout + status.stdout).not.toContain('canary');
  });
});

describe.skipIf(!hasRedis)('a server that does not answer', () => {
  it.each<readonly [string, string, RegExp, (redis: RedisServer) => Promise<unknown>]>([
    ['killed', 'hold', /ECONNREFUSED/, (redis) => redis.kill('SIGKILL')],
    ['stopped', 'hold', /no answer within/, (redis) => redis.kill('SIGSTOP')],
    // What other machines may have sent in the first minute is not known.
    ['killed', 'share', /ECONNREFUSED/, (redis) => redis.kill('SIGKILL')],
  ])('%s, with `%s`: exit 6 once --max-wait is over, and nothing is sent', async (_name, lost, why, lose) => {
    const { redis, service, run } = await shop([]);
    await lose(redis);
    const { code, stderr } = await run(createHome(), [...LIST, '--max-wait', '3s'], { PETSTORE_LEDGER_LOST: lost });
    expect({ code, requests: service.requests.length }).toEqual({ code: 6, requests: 0 });
    const [warning, failure] = stderr.split('\n').filter((line) => /^(?:warning|error): /.test(line));
    expect(warning).toMatch(/^warning: The Redis server of PETSTORE_LEDGER does not work/);
    expect(warning).toMatch(why);
    expect(failure).toMatch(
      /^error: The Redis server of PETSTORE_LEDGER does not work \(.*\), and .*; nothing was sent\.$/,
    );
  });

  it('answers 1.5 s late: its time counts against --max-wait', async () => {
    const tap = await Tap.open((await startRedis()).port);
    tap.delayMs = 1_500;
    const { service, run } = await shop([], `redis://127.0.0.1:${tap.port}`);
    expect((await run(createHome(), [...LIST, '--max-wait', '1s'])).code).toBe(6);
    expect(service.requests).toHaveLength(0);
  });

  it('is killed during an import and comes back empty: the import goes on, and says each once', async () => {
    const redis = await startRedis();
    let requests = 0;
    const sandbox = await realSandbox(
      { perMinute: 100, perDay: 100_000, minuteMs: 2_000 },
      { pets: generatedPets(100), onRequest: () => void (++requests === 5 && redis.kill('SIGKILL')) },
    );
    const home = createHome();
    const file = join(home.path, 'rows.csv');
    const rows = [...generatedPets(100)].map(({ petId }) => `${petId},7`);
    writeFileSync(file, ['petId,quantity', ...rows, ''].join('\n'));
    const env = { ...sandbox.env, PETSTORE_LEDGER: redis.url };
    const running = startPetstore(['inventory', 'import', file, '--yes', '--max-wait', '60s'], {
      ...{ home, env },
    });
    await running.waitFor(/does not work/, 'stderr');
    await startRedis({ port: redis.port });
    const { code, stderr } = await running.exited;
    expect({ code, refused: counted(sandbox.log)[429] ?? 0 }).toEqual({ code: 0, refused: 0 });
    const said = stderr.split('\n').filter((line) => /does not work|works again/.test(line));
    expect(said).toEqual([
      expect.stringMatching(/^warning: The Redis server of PETSTORE_LEDGER does not work \(.*\)\. Until it does, /),
      'The Redis server of PETSTORE_LEDGER works again.',
    ]);
  });
});
