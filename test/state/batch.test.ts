/** Work batched into one transaction. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLedger, type Ledger, memoryStep } from '../../src/rate-limit/ledger.ts';
import { sqliteStep } from '../../src/rate-limit/sqlite-ledger.ts';
import { inBatches } from '../../src/state/batch.ts';
import { type Exclusive, openState, type State } from '../../src/state/database.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createTestContext } from '../support/test-context.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A state database that counts its transactions, each of which may fail or take long. */
async function place(before: () => Promise<void> = () => Promise.resolve()) {
  const clock = new VirtualClock();
  const context = createTestContext({ clock });
  const opened = await openState(context, join(context.home.state, 'petstore'));
  onCleanup(() => opened[Symbol.dispose]());
  const transactions: Exclusive[] = [];
  const counted: State = {
    ...opened,
    exclusively: async (work, how = {}) => {
      transactions.push(how);
      await before();
      return opened.exclusively(work, how);
    },
    [Symbol.dispose]: () => undefined,
  };
  const state = inBatches(counted, { turn });
  const add = (value: number) => () => state.database.run('INSERT INTO meta VALUES (?, ?)', `${value}`, '');
  const count = () => Number(state.database.get("SELECT count(*) AS many FROM meta WHERE value = ''")?.many);
  return { clock, context, counted, state, transactions, add, count };
}

/** A step with a ledger that may change it: which one, by chance. */
function anyStep(random: () => number, i: number): (ledger: Ledger) => Promise<unknown> {
  const operation = random() < 0.7 ? 'GET /inventory' : 'PATCH /inventory/{id}';
  const id = `${Math.floor(random() * 12)}`;
  const asked = { operation, reserve: Math.floor(random() * 2), timeoutMs: 1 };
  const window = { limit: 5, remaining: Math.floor(random() * 5), resetInMs: 3_000 };
  const status = random() < 0.1 ? 429 : 200;
  const answer = { id, operation, status, headers: random() < 0.8 ? { window } : {}, random: random() };
  const steps: readonly ((ledger: Ledger) => Promise<unknown>)[] = [
    (ledger) => ledger.admit({ ...asked, id: `${i}` }),
    (ledger) => ledger.admit({ ...asked, id }),
    (ledger) => ledger.answered(answer),
    (ledger) => ledger.lost(id, status === 200),
    (ledger) => (status === 429 ? ledger.clearBlock() : ledger.admit({ ...asked, id })),
  ];
  return steps[Math.floor(random() * steps.length)]!;
}

describe('inBatches', () => {
  it('any sequence of steps of a ledger has the results that it has one by one, in one transaction', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = mulberry32(seed);
      const { clock, context, counted, transactions } = await place();
      const one = createLedger(memoryStep(clock));
      const other = createLedger(sqliteStep(context, counted, () => 'row', true));
      for (let round = 0; round < 15; round++) {
        await clock.advance(random() * 1_500);
        const steps = Array.from({ length: Math.ceil(random() * 8) }, (_, i) => anyStep(random, round * 8 + i));
        const before = transactions.length;
        const results = Promise.all(steps.map((step) => step(other)));
        const expected = [];
        for (const step of steps) expected.push(await step(one));
        expect(await results, `seed ${seed}`).toEqual(expected);
        expect(transactions.length).toBe(before + 1);
      }
      expect(await other.view()).toEqual(await one.view());
    }
  });

  it.each([
    [[{}, {}], { durable: false, despiteSignal: false }],
    [[{}, { durable: true }], { durable: true, despiteSignal: false }],
    [[{ durable: true }, { despiteSignal: true }], { durable: true, despiteSignal: true }],
  ] as const)('what is asked for with %j is done with %j', async (each, expected) => {
    const { state, transactions } = await place();
    await Promise.all(each.map((how) => state.exclusively(() => undefined, how)));
    expect(transactions).toEqual([expected]);
  });

  it('an error of the transaction rejects all, and the next ones are done', async () => {
    const error = new Error('the disk is full');
    let isBroken = true;
    const { state, add, count } = await place(() => (isBroken ? Promise.reject(error) : Promise.resolve()));
    const results = await Promise.allSettled([state.exclusively(add(1)), state.exclusively(add(2))]);
    expect(results.map((each) => each.status === 'rejected' && each.reason === error)).toEqual([true, true]);
    isBroken = false;
    await state.exclusively(add(3));
    expect(count()).toBe(1);
  });

  it('an error of one of them rejects all, and keeps nothing', async () => {
    const { state, add, count } = await place();
    const wrong = new Error('one is wrong');
    const fail = (): never => {
      throw wrong;
    };
    const results = await Promise.allSettled([state.exclusively(add(1)), state.exclusively(fail)]);
    expect(results.map((each) => each.status === 'rejected' && each.reason === wrong)).toEqual([true, true]);
    expect(count()).toBe(0);
  });

  it('what comes while a batch is done is the next batch', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    const { state, transactions, add, count } = await place(() => held);
    const first = state.exclusively(add(1));
    await turn();
    await turn();
    const others = [state.exclusively(add(2)), state.exclusively(add(3))];
    release(undefined);
    await Promise.all([first, ...others]);
    expect([transactions.length, count()]).toEqual([2, 3]);
  });
});
