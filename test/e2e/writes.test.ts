/** Promises of every command that changes stock: for lost answers, concurrent writers and interruptions. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startPetstore } from '../support/binary.ts';
import { reset } from '../support/faults.ts';
import { error, item, json, type Reply, send } from '../support/replies.ts';
import { holdState, list, openShop, type Shop, shopWith, type Stock, take } from '../support/shop.ts';
import { takeApart } from '../support/staging.ts';

/** In this process. */
const here = (replies: readonly Reply[]): Promise<Shop> => shopWith(replies, true);

// What a look finds is in test/client/update.test.ts; that nothing unread is overwritten, of every command, in
// test/stock/writes.test.ts.
describe('fault 136: an answer is lost, and somebody else sets the pet before the stock is read', () => {
  it.each([
    ['a reset', reset(), ['adjust', '7', '+3']],
    ['a 503', error(503), ['set', '7', '13', '--expect', '10']],
    ['a web page', { headers: { 'Content-Type': 'text/html' }, body: '<html>' }, ['set', '7', '13', '--read-first']],
  ] as const satisfies readonly (readonly [string, Reply, readonly string[]])[])(
    '%s: outcome unknown, with what was found',
    async (_answer, reply, args) => {
      const stock: Stock = { 7: 10 };
      const shop = await here([list(stock), take(stock, reply, () => (stock[7] = 99)), list(stock)]);
      const { code, error: reported } = await shop.run('inventory', ...args);
      expect([code, stock, shop.updates()]).toEqual([9, { 7: 99 }, ['7=13']]);
      expect(reported).toMatchObject({ kind: 'outcome-unknown', outcome: 'unknown' });
      expect(reported?.message).toMatch(/it has 99 now: someone else has changed it/);
      expect(await shop.history()).toEqual([[7, 13, 'conflict']]);
    },
  );

  it('import: a conflict, and what the list shows of the other rows is not overwritten either', async () => {
    const stock: Stock = { 7: 10, 9: 10 };
    const foreign = take(stock, error(503), () => (stock[9] = 99));
    const shop = await here([list(stock), foreign, list(stock), list(stock), list(stock)]);
    const { code } = await shop.run('inventory', 'import', shop.file('petId,quantity\n7,13\n9,13\n'), '--yes');
    expect([code, stock, shop.updates()]).toEqual([11, { 7: 13, 9: 99 }, ['7=13']]);
  });
});

describe('fault 137: a write is answered, and its record is delayed', () => {
  it('SIGTERM: it is reported as applied', async () => {
    const stock: Stock = { 7: 10 };
    let held: (() => void) | undefined;
    const shop = await shopWith([list(stock), take(stock, undefined, () => (held = holdState(shop.home)))]);
    const running = shop.start('inventory', 'adjust', '7', '+3');
    await shop.server.received(2);
    const ended = takeApart(await running.end('SIGTERM'));
    held?.();
    expect([ended.code, ended.error]).toMatchObject([143, { kind: 'interrupted', outcome: 'applied' }]);
    expect(await shop.history()).toEqual([[7, 13, expect.stringMatching(/applied|unknown/)]]);
  });

  it('an import whose state database is removed meanwhile reports it as applied', async () => {
    const stock: Stock = { 7: 10, 8: 10 };
    const remove = (): void => rmSync(join(shop.home.state, 'petstore', 'state.db'));
    const shop: Shop = await here([list(stock), take(stock, undefined, remove)]);
    const file = shop.file('petId,delta', '7,3', '8,3');
    const { code, error: reported } = await shop.run('inventory', 'import', file, '--yes');
    expect([code, reported]).toMatchObject([3, { kind: 'unrecorded', outcome: 'applied' }]);
    expect(reported?.message).toMatch(/^Pet 7 was set to 13 in staging, but that could not be recorded\./);
    // What was applied before is lost too: another import would add it again.
    expect(reported?.hint).toMatch(/^Check the stock before you run the command again/);
  });

  it('a run whose end cannot be recorded reports it as applied', async () => {
    const held: Reply = (exchange) => {
      holdState(shop.home);
      return send(json([item(7, 13)]), exchange);
    };
    const shop: Shop = await here([list({ 7: 10 }), take({}), held]);
    const { stdout } = await shop.run('inventory', 'import', shop.file('petId,delta', '7,3'), '--yes');
    expect(JSON.parse(stdout)).toMatchObject({ applied: 1, left: 0 });
    expect((await shop.run('inventory', 'runs', '--unfinished')).stdout).toBe('[]\n');
  });

  it('--deadline: it is reported as applied, and as not recorded', async () => {
    const stock: Stock = { 7: 10 };
    const shop: Shop = await here([list(stock), take(stock, undefined, () => holdState(shop.home))]);
    const { code, error: reported } = await shop.run('inventory', 'adjust', '7', '+3', '--deadline', '5s');
    expect([code, reported]).toMatchObject([3, { kind: 'unrecorded', outcome: 'applied' }]);
    expect(reported?.message).toMatch(/^Pet 7 was set to 13 in staging, but that could not be recorded\./);
  });
});

describe('fault 138: the end comes between a lost answer and the look', () => {
  /** What follows need not wait for the end of Retry-After. */
  const CLEAR = ['limits', '--clear-block', '--yes'];
  const lost = (stock: Stock): Reply => take(stock, error(503, 'No.', 'error', { headers: { 'Retry-After': '60' } }));

  it('--deadline: unknown, and undo names it', async () => {
    const stock: Stock = { 7: 10, 9: 10 };
    const undo = [list(stock), take(stock), list(stock)];
    const shop = await shopWith([list(stock), take(stock), list(stock), lost(stock), ...undo]);
    await shop.run('inventory', 'adjust', '9', '+1');
    const { code, error: reported } = await shop.run('inventory', 'adjust', '7', '+3', '--deadline', '5s');
    expect([code, reported]).toMatchObject([9, { kind: 'outcome-unknown', outcome: 'unknown' }]);
    expect(await shop.history()).toEqual([
      [7, 13, 'unknown'],
      [9, 11, 'applied'],
    ]);
    await shop.run(...CLEAR);
    const undone = await shop.run('inventory', 'undo', '--yes', '-v');
    expect(undone.notes).toContainEqual(expect.stringMatching(/^The outcome of change 2 \(\w+\) is unknown/));
    expect([undone.code, stock, shop.updates()]).toEqual([0, { 7: 10, 9: 11 }, ['9=11', '7=13', '7=10']]);
  });

  it('SIGTERM: unknown', async () => {
    const stock: Stock = { 7: 10 };
    const shop = await shopWith([list(stock), lost(stock)]);
    const running = shop.start('inventory', 'adjust', '7', '+3', '-v');
    await running.waitFor(/PATCH .* 503/, 'stderr');
    const ended = takeApart(await running.end('SIGTERM'));
    expect([ended.code, ended.error]).toMatchObject([143, { kind: 'interrupted', outcome: 'unknown' }]);
    expect(await shop.history()).toEqual([[7, 13, 'unknown']]);
  });

  it('an import keeps its row as unknown, and the next run finds out', async () => {
    const stock: Stock = { 7: 10 };
    const shop = await shopWith([list(stock), lost(stock), list(stock), list(stock)]);
    const file = shop.file('petId,delta', '7,3');
    const { code } = await shop.run('inventory', 'import', file, '--yes', '--deadline', '5s');
    expect([code, await shop.history()]).toEqual([9, [[7, 13, 'unknown']]]);
    await shop.run(...CLEAR);
    const resumed = await shop.run('inventory', 'runs', 'resume', '--yes');
    expect([resumed.code, JSON.parse(resumed.stdout)]).toMatchObject([0, { applied: 1, conflicts: 0 }]);
  });
});

describe('fault 141: smoke --write', () => {
  const only = ['smoke', '--write', '--pet', '7', '--only', 'write-set,write-restore', '--format', 'json'];
  it('is in the history, and undo passes it over: it has put the pet back', async () => {
    const stock = { 7: 10, 9: 10 };
    const shop = await openShop(stock, 12);
    await shop.run('inventory', 'adjust', '9', '+1');
    expect((await shop.run(...only)).code).toBe(0);
    expect(await shop.history()).toEqual([
      [7, 10, 'applied'],
      [7, 11, 'applied'],
      [9, 11, 'applied'],
    ]);
    expect((await shop.run('inventory', 'undo', '--yes')).code).toBe(0);
    expect(stock).toEqual({ 7: 10, 9: 10 });
    // Its value is not that of a later command.
    await shop.run('inventory', 'adjust', '7', '+1');
    expect((await shop.run('inventory', 'undo', '--run', '1', '--yes')).code).toBe(11);
  });

  it('holds the pet: an adjust beside it is not lost', async () => {
    const stock = { 7: 10 };
    const shop = await openShop(stock, 6, 1);
    const smoking = shop.start(...only);
    await shop.server.received(2);
    const adjusting = startPetstore(['inventory', 'adjust', '7', '+5'], shop);
    await adjusting.waitFor(/Waiting for another petstore process that changes pet 7; for at most/, 'stderr');
    shop.release();
    expect([(await smoking.exited).code, (await adjusting.exited).code, stock]).toEqual([0, 0, { 7: 15 }]);
  });

  const killed = async (stock: Stock, requests: number, args: readonly string[] = only) => {
    const shop = await openShop(stock, requests, 1);
    const smoking = shop.start(...args);
    await shop.server.received(2);
    await smoking.end('SIGKILL');
    shop.release();
    return shop;
  };

  it('killed before it has put the pet back: undo does', async () => {
    const stock = { 7: 10 };
    const shop = await killed(stock, 5);
    expect((await shop.run('inventory', 'undo', '--yes')).code).toBe(0);
    expect([stock, shop.updates()]).toEqual([{ 7: 10 }, ['7=11', '7=10']]);
  });

  it('killed before it has put the pet back: the next smoke does, first of all', async () => {
    const stock = { 7: 10 };
    const shop = await killed(stock, 7);
    const { code, notes } = await shop.run(...only);
    expect([code, notes]).toEqual([
      0,
      ['warning: A smoke test that was stopped has left pet 7 at 11; putting it back to 10.'],
    ]);
    expect([stock, shop.updates()]).toEqual([{ 7: 10 }, ['7=11', '7=10', '7=11', '7=10']]);
    expect((await shop.history()).map(([, , outcome]) => outcome)).toEqual(Array.from({ length: 4 }, () => 'applied'));
    const { stdout } = await shop.run('inventory', 'runs', '--unfinished');
    expect(JSON.parse(stdout)).toEqual([]);
  });

  it('killed while an invalid body is applied: the next smoke puts the pet back', async () => {
    const stock = { 7: 10 };
    const shop = await killed(stock, 5, ['smoke', '--write', '--pet', '7', '--only', 'write-text']);
    await shop.run('smoke', '--write', '--pet', '7', '--only', 'write-same');
    expect([stock, shop.updates()]).toEqual([{ 7: 10 }, ['7=1', '7=10', '7=10']]);
  });

  it('stopped by a signal while the test value is sent: the pet is put back, and that is said', async () => {
    const stock = { 7: 10 };
    const shop = await openShop(stock, 4, 1);
    const smoking = shop.start('smoke', '--write', '--pet', '7', '--only', 'write-set,write-bad-json');
    await shop.server.received(2);
    const { code, error: reported } = takeApart(await smoking.end('SIGTERM'));
    expect([code, reported, stock]).toMatchObject([143, { outcome: 'not-applied' }, { 7: 10 }]);
    expect(reported?.message).toBe('Stopped by SIGTERM; pet 7 was put back to 10.');
  });
});
