/** Real processes write the same pet at the same time, on one machine or on several that share Redis. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.ts';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { freePort } from '../support/free-port.ts';
import { createHome, type Home } from '../support/home.ts';
import { realSandbox } from '../support/real-sandbox.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { item, json, type Reply, send } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { JSON_TYPE, type ServedProxy, serveProxy } from '../support/served.ts';
import { staging } from '../support/staging.ts';

interface Till {
  readonly home: Home;
  readonly env: Readonly<Record<string, string>>;
  readonly stock: Map<string, number>;
  /** `7=12`, one per update, in the order of arrival. */
  updates(): string[];
  /** Resolves once that many requests have come in. */
  received(count: number): Promise<void>;
  /** Lets the answer go that is held. */
  release(): void;
  file(name: string, rows: readonly string[]): string;
  run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** A shop with ten of each of four pets. Takes `requests` requests; the update with the number `held` has to wait. */
async function till(requests: number, held: number): Promise<Till> {
  const home = createHome();
  const stock = new Map(['1', '2', '3', '4'].map((petId) => [petId, 10]));
  const released = Promise.withResolvers<undefined>();
  let updates = 0;
  const answer: Reply = async (exchange) => {
    const { method, path, body } = exchange.request;
    if (method === 'GET')
      return send(json([...stock].map(([petId, quantity]) => item(BigInt(petId), quantity))), exchange);
    const petId = path.split('/').at(-1) ?? '';
    const { quantity } = JSON.parse(body) as { quantity: number };
    stock.set(petId, quantity);
    if (++updates === held) await released.promise;
    return send(json(item(BigInt(petId), quantity)), exchange);
  };
  const server = await scriptedServer(Array.from({ length: requests }, () => answer));
  const env = staging(server.baseUrl);
  return {
    home,
    env,
    stock,
    updates: () =>
      server.requests
        .filter(({ method }) => method === 'PATCH')
        .map(({ path, body }) => `${path.split('/').at(-1)}=${(JSON.parse(body) as { quantity: number }).quantity}`),
    received: (count) => server.received(count),
    release: () => {
      released.resolve(undefined);
    },
    file(name, rows) {
      const path = join(home.path, name);
      writeFileSync(path, ['petId,quantity', ...rows].join('\n'));
      return path;
    },
    run: (...args) => runPetstore(args, { home, env }),
  };
}

const IMPORT = ['inventory', 'import'] as const;

describe('fault 121: what another petstore of this machine writes during an import is a conflict, and stays', () => {
  it.each([
    // Requests: of the import, four and one more list, as the stock is read again; and those of the other command.
    ['adjust', ['inventory', 'adjust', '3', '-1'], 7],
    ['set', ['inventory', 'set', '3', '9'], 6],
    ['api', ['api', 'PATCH', '/inventory/3', '-f', 'quantity=9'], 6],
  ])('%s', async (_name, other, requests) => {
    const shop = await till(requests, 1);
    const file = shop.file('stock.csv', ['1,21', '2,22', '3,23']);
    const running = startPetstore([...IMPORT, file, '--yes', '--json'], { home: shop.home, env: shop.env });
    await shop.received(2);
    expect(await shop.run(...other)).toMatchObject({ code: 0 });
    shop.release();
    const { code, stdout } = await running.exited;
    const summary = JSON.parse(stdout) as { report: string };
    expect([code, summary]).toMatchObject([11, { applied: 2, conflicts: 1, left: 0 }]);
    expect([shop.updates(), shop.stock.get('3')]).toEqual([['1=21', '3=9', '2=22'], 9]);
    const report = readFileSync(summary.report, 'utf8');
    const why = 'there are 9 now, no longer 10: changed since by this machine: change 4';
    expect(report).toContain(`4,3,10,23,conflict,"${why}",13,\n`);
  });
});

describe('commands that write one pet take turns', () => {
  it.each([
    ['set after adjust', ['inventory', 'adjust', '3', '-1'], 2, ['inventory', 'set', '3', '5'], 3, ['3=9', '3=5'], 5],
    ['adjust after set', ['inventory', 'set', '3', '5'], 1, ['inventory', 'adjust', '3', '-1'], 3, ['3=5', '3=4'], 4],
  ])('%s', async (_name, first, until, second, requests, updates, quantity) => {
    const shop = await till(requests, 1);
    const running = startPetstore(first, { home: shop.home, env: shop.env });
    await shop.received(until);
    const waiting = startPetstore(second, { home: shop.home, env: shop.env });
    await waiting.waitFor(/Waiting for another petstore process that is changing pet 3\./, 'stderr');
    shop.release();
    expect([(await running.exited).code, (await waiting.exited).code]).toEqual([0, 0]);
    expect([shop.updates(), shop.stock.get('3')]).toEqual([updates, quantity]);
  });

  it('a row of an import waits for an adjust that has read already, and is a conflict then', async () => {
    // The first update is that of adjust: it is held, and the import has its list read meanwhile.
    const shop = await till(5, 1);
    const adjusting = startPetstore(['inventory', 'adjust', '3', '-1'], { home: shop.home, env: shop.env });
    await shop.received(2);
    shop.stock.set('3', 10);
    const file = shop.file('stock.csv', ['3,23']);
    const importing = startPetstore([...IMPORT, file, '--yes', '--json'], { home: shop.home, env: shop.env });
    await shop.received(3);
    shop.stock.set('3', 9);
    shop.release();
    expect((await adjusting.exited).code).toBe(0);
    const { code, stdout } = await importing.exited;
    expect([code, JSON.parse(stdout), shop.updates()]).toMatchObject([11, { conflicts: 1, applied: 0 }, ['3=9']]);
  });
});

describe('a lock that petstore proxy has used', () => {
  const patch = (proxy: ServedProxy, quantity: number) =>
    proxy.ask('/inventory/3', { method: 'PATCH', headers: JSON_TYPE, body: `{"quantity":${quantity}}` });
  const WAITING = /Waiting for another petstore process that is changing pet 3\./;
  const SET = ['inventory', 'set', '3', '5'];
  const asProxy = async ({ home, env }: Till): Promise<ServedProxy> => serveProxy(env, [], { home });

  it('is free for others between its writes, is taken again, and is freed by kill -9', async () => {
    const shop = await till(4, 3);
    const proxy = await asProxy(shop);
    expect((await patch(proxy, 1)).status).toBe(200);
    expect(await shop.run(...SET)).toMatchObject({ code: 0, stderr: '' });
    patch(proxy, 2).catch(() => undefined);
    await shop.received(3);
    const waiting = startPetstore(SET, shop);
    await waiting.waitFor(WAITING, 'stderr');
    proxy.kill('SIGKILL');
    expect([(await waiting.exited).code, shop.updates()]).toEqual([0, ['3=1', '3=5', '3=2', '3=5']]);
  });

  it.runIf(process.platform !== 'win32')('stays taken while its holder is stopped', async () => {
    const shop = await till(2, 1);
    const proxy = await asProxy(shop);
    const answer = patch(proxy, 2);
    await shop.received(1);
    proxy.kill('SIGSTOP');
    const waiting = startPetstore(SET, shop);
    await waiting.waitFor(WAITING, 'stderr');
    shop.release();
    expect(shop.updates()).toEqual(['3=2']);
    proxy.kill('SIGCONT');
    expect([(await answer).status, (await waiting.exited).code, shop.updates()]).toEqual([200, 0, ['3=2', '3=5']]);
  });

  it.runIf(process.platform !== 'win32').each([
    ['the folder of the locks is removed', (folder: string) => rmSync(join(folder, 'locks'), { recursive: true })],
    ['the state folder is removed', (folder: string) => rmSync(folder, { recursive: true })],
    ['its file is overwritten', (folder: string) => writeFileSync(join(folder, 'locks', '3.db'), 'x'.repeat(5_000))],
  ])('keeps others waiting after %s', async (_name, damage) => {
    const shop = await till(3, 2);
    const proxy = await asProxy(shop);
    expect((await patch(proxy, 1)).status).toBe(200);
    damage(join(shop.home.state, 'petstore'));
    const answer = patch(proxy, 2);
    await shop.received(2);
    const waiting = startPetstore(SET, shop);
    await waiting.waitFor(WAITING, 'stderr');
    shop.release();
    expect([(await answer).status, (await waiting.exited).code, shop.updates()]).toEqual([
      200,
      0,
      ['3=1', '3=2', '3=5'],
    ]);
  });
});

describe.skipIf(!hasRedis)('machines that share a ledger', () => {
  /** A command of another machine, with a home of its own. */
  const elsewhere = ({ env }: Till, ledger: string) => ({
    home: createHome(),
    env: { ...env, PETSTORE_LEDGER: ledger },
  });

  it('fault 171: six of them sell five of one pet at once: all thirty are sold', async () => {
    const { url } = await startRedis();
    const faults = [parseFault('delay=20ms')];
    const sandbox = await realSandbox({ perMinute: 5_000, perDay: 100_000, minuteMs: 60_000 }, { faults });
    const home = createHome();
    expect(await runPetstore(['inventory', 'set', '7', '30'], { home, env: sandbox.env })).toMatchObject({ code: 0 });
    const env = { ...sandbox.env, PETSTORE_LEDGER: url };
    const sales = Array.from({ length: 6 }, () => createHome()).flatMap((home) =>
      Array.from({ length: 5 }, () =>
        runPetstore(['--max-wait', '1h', 'inventory', 'adjust', '7', '-1'], { home, env, killAfterMs: 200_000 }),
      ),
    );
    const codes = new Set((await Promise.all(sales)).map(({ code }) => code));
    expect([codes, (await sandbox.stock())['7']]).toEqual([new Set([0]), 0]);
  }, 240_000);

  it('fault 171: after the kill -9 of the one that changes a pet, the others go on', async () => {
    const { url } = await startRedis();
    const shop = await till(6, 2);
    const first = elsewhere(shop, url);
    const adjust = ['inventory', 'adjust', '3', '-1'];
    expect(await runPetstore(adjust, first)).toMatchObject({ code: 0 });
    const killed = startPetstore(['--timeout', '3s', ...adjust], first);
    await shop.received(4);
    killed.kill('SIGKILL');
    await killed.exited;
    const waiting = startPetstore(adjust, elsewhere(shop, url));
    await waiting.waitFor(/Waiting for another machine that is changing pet 3\./, 'stderr');
    expect([(await waiting.exited).code, shop.updates()]).toEqual([0, ['3=9', '3=8', '3=7']]);
    shop.release();
  });

  it('fault 171: what another one changes during an import is a conflict, and stays', async () => {
    const { url } = await startRedis();
    const shop = await till(7, 1);
    const file = shop.file('stock.csv', ['1,21', '2,22', '3,23']);
    const running = startPetstore([...IMPORT, file, '--yes', '--json'], elsewhere(shop, url));
    await shop.received(2);
    const other = await runPetstore(['inventory', 'adjust', '3', '-1'], elsewhere(shop, url));
    shop.release();
    const { code, stdout } = await running.exited;
    expect([other.code, code, JSON.parse(stdout), shop.updates()]).toMatchObject([
      0,
      11,
      { applied: 2, conflicts: 1, left: 0 },
      ['1=21', '3=9', '2=22'],
    ]);
  });

  it('without the server, say once that stock is unprotected, and that nothing was sent', async () => {
    const shop = await till(0, 0);
    const nowhere = `redis://127.0.0.1:${await freePort()}/0`;
    const adjust = ['--no-wait', 'inventory', 'adjust', '3', '-1'];
    const { code, stderr } = await runPetstore(adjust, elsewhere(shop, nowhere));
    expect([code, stderr.split('\n')]).toEqual([
      6,
      [
        expect.stringMatching(/^warning: Stock is unprotected from other machines: .* \(ECONNREFUSED\)/),
        expect.stringMatching(/^warning: The Redis server of PETSTORE_LEDGER does not answer \(ECONNREFUSED\)\. Until/),
        expect.stringMatching(/^error: .*; nothing was sent\.$/),
        'hint: See what is wrong with it: petstore doctor',
        '',
      ],
    ]);
  });
});
