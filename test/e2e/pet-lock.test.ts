/** Real processes write the same pet at the same time, on one machine or on several that share Redis. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseFault } from '../../src/sandbox/faults.ts';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { gate, gated } from '../support/faults.ts';
import { createHome } from '../support/home.ts';
import { realSandbox } from '../support/real-sandbox.ts';
import { hasRedis, redisCli, startRedis } from '../support/redis.ts';
import { type Reply, send } from '../support/replies.ts';
import { JSON_TYPE, type ServedProxy, serveProxy } from '../support/served.ts';
import { list, openShop, type Shop, shopWith, type Stock, take } from '../support/shop.ts';

/** Ten of each of four pets. */
const stockOfTen = (): Stock => ({ 1: 10, 2: 10, 3: 10, 4: 10 });
const FILE = ['petId,quantity', '1,21', '2,22', '3,23'];
const WAITING = /aiting for another petstore process that changes pet 3/;
const IMPORT = ['inventory', 'import'] as const;

describe('fault 121: what another petstore of this machine writes during an import is a conflict, and stays', () => {
  it.each([
    // Requests: of the import, four and one more list, as the stock is read again; and two of the other command.
    ['in the same profile', [], 'changed since by this machine: change 4'],
    ['in another', ['--profile', 'berlin'], 'someone else has changed it'],
  ])('%s', async (_where, profile, by) => {
    const shop = await openShop(stockOfTen(), 7, 1);
    const file = shop.file(...FILE);
    const running = shop.start(...IMPORT, file, '--yes');
    await shop.server.received(2);
    expect(await shop.run('inventory', 'adjust', '3', '-1', ...profile)).toMatchObject({ code: 0 });
    shop.release();
    const { code, stdout } = await running.exited;
    const summary = JSON.parse(stdout) as { report: string };
    expect([code, summary]).toMatchObject([11, { applied: 2, conflicts: 1, left: 0 }]);
    expect(shop.updates()).toEqual(['1=21', '3=9', '2=22']);
    const report = readFileSync(summary.report, 'utf8');
    expect(report).toMatch(new RegExp(`^.,3,10,23,conflict,"there are 9 now, no longer 10: ${by}",13,$`, 'm'));
  });
});

describe('commands that write one pet take turns', () => {
  it('an undo waits for the change that it takes back, while the stock does not show it yet', async () => {
    const stock = stockOfTen();
    const shop = await openShop(stock, 5, 1);
    const adjusting = startPetstore(['inventory', 'adjust', '3', '-1'], shop);
    await shop.server.received(2);
    stock[3] = 10;
    const undoing = startPetstore(['inventory', 'undo', '--yes'], shop);
    await undoing.waitFor(WAITING, 'stderr');
    stock[3] = 9;
    shop.release();
    expect([(await adjusting.exited).code, (await undoing.exited).code]).toEqual([0, 0]);
    expect([stock[3], shop.updates()]).toEqual([10, ['3=9', '3=10']]);
  });

  it('a row of an import waits for an adjust that has read already, and is a conflict then', async () => {
    // The first update is that of adjust: it is held, and the import has its list read meanwhile.
    const stock = stockOfTen();
    const shop = await openShop(stock, 5, 1);
    const adjusting = startPetstore(['inventory', 'adjust', '3', '-1'], shop);
    await shop.server.received(2);
    stock[3] = 10;
    const file = shop.file('petId,quantity', '3,23');
    const importing = shop.start(...IMPORT, file, '--yes');
    await shop.server.received(3);
    stock[3] = 9;
    shop.release();
    expect((await adjusting.exited).code).toBe(0);
    const { code, stdout } = await importing.exited;
    expect([code, JSON.parse(stdout), shop.updates()]).toMatchObject([11, { conflicts: 1, applied: 0 }, ['3=9']]);
  });
});

describe('a lock that petstore proxy has used', () => {
  const patch = (proxy: ServedProxy, quantity: number) =>
    proxy.ask('/inventory/3', { method: 'PATCH', headers: JSON_TYPE, body: `{"quantity":${quantity}}` });
  const SET = ['inventory', 'set', '3', '5'];
  const asProxy = async ({ home, env }: Shop): Promise<ServedProxy> => serveProxy(env, [], { home });

  it('is free for others between its writes, is taken again, and is freed by kill -9', async () => {
    const shop = await openShop(stockOfTen(), 4, 3);
    const proxy = await asProxy(shop);
    expect((await patch(proxy, 1)).status).toBe(200);
    expect(await shop.run(...SET)).toMatchObject({ code: 0, notes: [] });
    patch(proxy, 2).catch(() => undefined);
    await shop.server.received(3);
    const waiting = startPetstore(SET, shop);
    await waiting.waitFor(WAITING, 'stderr');
    proxy.kill('SIGKILL');
    expect([(await waiting.exited).code, shop.updates()]).toEqual([0, ['3=1', '3=5', '3=2', '3=5']]);
  });

  it.runIf(process.platform !== 'win32')('stays taken while its holder is stopped', async () => {
    const shop = await openShop(stockOfTen(), 2, 1);
    const proxy = await asProxy(shop);
    const answer = patch(proxy, 2);
    await shop.server.received(1);
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
    const shop = await openShop(stockOfTen(), 3, 2);
    const proxy = await asProxy(shop);
    expect((await patch(proxy, 1)).status).toBe(200);
    damage(join(shop.home.state, 'petstore'));
    const answer = patch(proxy, 2);
    await shop.server.received(2);
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
  const elsewhere = ({ env }: Shop, ledger: string) => ({
    home: createHome(),
    env: { ...env, PETSTORE_LEDGER: ledger },
  });

  it('fault 171: four of them sell three of one pet at once: all twelve are sold', async () => {
    const { url } = await startRedis();
    const fault = [parseFault('delay=20ms')];
    const sandbox = await realSandbox({ perMinute: 5_000, perDay: 100_000, minuteMs: 60_000 }, { fault });
    const home = createHome();
    expect(await runPetstore(['inventory', 'set', '7', '12'], { home, env: sandbox.env })).toMatchObject({ code: 0 });
    const env = { ...sandbox.env, PETSTORE_LEDGER: url };
    const sales = Array.from({ length: 4 }, () => createHome()).flatMap((home) =>
      Array.from({ length: 3 }, () =>
        runPetstore(['--max-wait', '1h', 'inventory', 'adjust', '7', '-1'], { home, env, killAfterMs: 200_000 }),
      ),
    );
    const codes = new Set((await Promise.all(sales)).map(({ code }) => code));
    expect([codes, (await sandbox.stock())['7']]).toEqual([new Set([0]), 0]);
  }, 240_000);

  it('fault 171: no sale is lost where Redis is emptied while one of them reads', async () => {
    const { url, port } = await startRedis();
    const stock = stockOfTen();
    const read = gate();
    const first = list({ ...stock });
    let lists = 0;
    const answer: Reply = (exchange) => {
      if (exchange.request.method !== 'GET') return send(take(stock), exchange);
      return send(++lists === 1 ? gated(read, first) : list(stock), exchange);
    };
    const shop = await shopWith(Array.from({ length: 5 }, () => answer));
    const sale = ['inventory', 'adjust', '3', '-1'];
    const slow = startPetstore(sale, elsewhere(shop, url));
    await shop.server.received(1);
    await redisCli(port, 'FLUSHALL');
    const quick = startPetstore(sale, elsewhere(shop, url));
    await shop.server.received(3);
    read.open();
    expect([(await slow.exited).code, (await quick.exited).code, stock[3]]).toEqual([0, 0, 8]);
  });

  it('fault 171: no sale is lost where they wait for a Redis server that was stopped', async () => {
    const { url, kill } = await startRedis();
    const fault = [parseFault('delay=300ms')];
    const sandbox = await realSandbox({ perMinute: 5_000, perDay: 100_000, minuteMs: 60_000 }, { fault });
    const machines = Array.from({ length: 3 }, () => ({
      home: createHome(),
      env: { ...sandbox.env, PETSTORE_LEDGER: url },
    }));
    for (const machine of machines)
      expect(await runPetstore(['inventory', 'set', '7', '12'], machine)).toMatchObject({ code: 0 });
    await kill('SIGSTOP');
    const sales = machines.map((machine) => startPetstore(['inventory', 'adjust', '7', '-1'], machine));
    for (const sale of sales) await sale.waitFor(/Until it does, this machine sends only what it was lent/, 'stderr');
    await kill('SIGCONT');
    const codes = new Set((await Promise.all(sales.map(({ exited }) => exited))).map(({ code }) => code));
    expect([codes, (await sandbox.stock())['7']]).toEqual([new Set([0]), 9]);
  });

  it.runIf(process.platform === 'linux')(
    'a process that is killed during a write costs its own machine nothing',
    async () => {
      const { url } = await startRedis();
      const shop = await openShop(stockOfTen(), 2, 1);
      const machine = elsewhere(shop, url);
      const killed = startPetstore(['inventory', 'set', '3', '5'], machine);
      await shop.server.received(1);
      await killed.end('SIGKILL');
      expect(await runPetstore(['inventory', 'set', '3', '6', '--no-wait'], machine)).toMatchObject({ code: 0 });
    },
  );

  it('fault 171: what another one changes during an import is a conflict, and stays', async () => {
    const { url } = await startRedis();
    const shop = await openShop(stockOfTen(), 7, 1);
    const file = shop.file(...FILE);
    const running = startPetstore([...IMPORT, file, '--yes', '--json'], elsewhere(shop, url));
    await shop.server.received(2);
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
});
