/** The governor as a script on a Redis server, beside the one in TypeScript; and what happens when the server goes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, type LedgerState, lose, observe, unblock, UNKNOWN } from '../../src/limits/governor.ts';
import type { LimitHeaders } from '../../src/limits/headers.ts';
import { GOVERNOR_SCRIPT } from '../../src/limits/governor-script.ts';
import { openRedis } from '../../src/node/redis.ts';
import { runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { counted, realSandbox, setOften } from '../support/real-sandbox.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { item, json, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, staging } from '../support/staging.ts';
import { caFile, tlsIdentities } from '../support/tls.ts';

const LIST = ['inventory', 'list'];
const STOCK = json([item(7, 10)]);

const headers: fc.Arbitrary<LimitHeaders> = fc.record(
  {
    window: fc
      .tuple(fc.nat(12), fc.nat(12), fc.integer({ min: 0, max: 100_000 }))
      .map(([a, b, resetInMs]) => ({ limit: Math.max(a, b), remaining: Math.min(a, b), resetInMs })),
    retryAfterMs: fc.integer({ min: 0, max: 100_000_000 }),
  },
  { requiredKeys: [] },
);
const event = fc.record({
  pass: fc.oneof(fc.constant(0), fc.nat(2_000), fc.nat(130_000)),
  type: fc.constantFrom('admit', 'admit', 'admit', 'answered', 'answered', 'answered', 'lost', 'clear'),
  which: fc.nat(5),
  maxWaitMs: fc.constantFrom(0, 5_000, 1e15),
  reserve: fc.nat(3),
  status: fc.constantFrom(200, 200, 200, 200, 429, 403, 500),
  headers,
  sent: fc.boolean(),
});

describe.skipIf(!hasRedis)('the governor on a Redis server', () => {
  it('decides and remembers as the one here does, whatever happens', async () => {
    const server = await startRedis();
    const redis = await openRedis(server.url);
    let run = 0;
    const property = fc.asyncProperty(fc.array(event, { maxLength: 50 }), async (events) => {
      const key = `run ${run++}`;
      let state: LedgerState = UNKNOWN;
      let now = 1_000_000;
      let ids = 0;
      const flying: string[] = [];
      for (const each of events) {
        now += each.pass;
        const id = each.type === 'admit' ? `r${ids++}` : (flying[each.which % flying.length] ?? 'nobody');
        const intent = { id, maxWaitMs: each.maxWaitMs, reserve: each.reserve };
        const answer = { id, status: each.status, headers: each.headers, random: 0 };
        const lost = { id, mayHaveBeenSent: each.sent };
        const argument = { admit: intent, answered: answer, lost, clear: {} }[each.type];
        const text = await redis.run(GOVERNOR_SCRIPT, key, [each.type, JSON.stringify(argument), `${now}`]);
        const there = JSON.parse(text) as { decision?: unknown; state: LedgerState };
        let decision: unknown;
        if (each.type === 'admit') {
          const decided = decide(state, now, intent);
          ({ state, decision } = decided);
          if (decided.decision.do === 'send') flying.push(id);
        } else {
          if (each.type === 'answered') state = observe(state, now, answer);
          else if (each.type === 'lost') state = lose(state, now, id, each.sent);
          else state = unblock(state);
          if (each.type !== 'clear' && flying.includes(id)) flying.splice(flying.indexOf(id), 1);
        }
        const inFlight = Array.isArray(there.state.inFlight) ? (there.state.inFlight as unknown[]) : [];
        expect({ decision: there.decision, state: { ...there.state, inFlight } }).toEqual({ decision, state });
      }
    });
    await fc.assert(property, { numRuns: 400 });
    redis.close();
  });

  it('jitter only adds to a wait', async () => {
    const redis = await openRedis((await startRedis()).url);
    const wait = async (random: number): Promise<number> => {
      const answer = { id: 'a', status: 429, headers: { retryAfterMs: 10_000 }, random };
      const args = ['answered', JSON.stringify(answer), '1000'];
      const { state } = JSON.parse(await redis.run(GOVERNOR_SCRIPT, `${random}`, args)) as { state: LedgerState };
      return state.block!.until - 1_000;
    };
    expect([await wait(0), await wait(0.5), await wait(0.999_999)]).toEqual([11_000, 11_500, 12_000]);
    redis.close();
  });

  it('two machines: what one is told, the other keeps to, and neither key nor address is told to the server', async () => {
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
    expect(dump).toMatch(/^petstore:ledger:1:[0-9a-f]{64} [1-9]\d+\{/);
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

  it('fault 48: lost, it is said, a 429 is not tried again, and the block holds on this machine', async () => {
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
