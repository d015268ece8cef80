/** Steps of a ledger that are taken together. */
import { describe, expect, it } from 'vitest';
import { type LedgerState, UNKNOWN } from '../../src/rate-limit/governor.ts';
import { createLedger, inBatches, type Ledger, type Step, type StepOptions } from '../../src/rate-limit/ledger.ts';
import { mulberry32 } from '../support/test-ports.ts';

interface Place {
  readonly step: Step;
  readonly batches: StepOptions[];
  state(): LedgerState;
  at: number;
}

/** Steps as a ledger in memory takes them. */
function place(fail: () => Error | undefined = () => undefined): Place {
  let state = UNKNOWN;
  const batches: StepOptions[] = [];
  const made: Place = {
    at: 0,
    batches,
    state: () => state,
    step: (work, options = {}) => {
      batches.push(options);
      const error = fail();
      if (error !== undefined) return Promise.reject(error);
      const { state: after, result } = work(state, made.at);
      if (options.isRead !== true) state = after;
      return Promise.resolve(result);
    },
  };
  return made;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A step with a ledger: which one, by chance. */
type Try = (ledger: Ledger) => Promise<unknown>;

function anyStep(random: () => number, i: number): Try {
  const operation = random() < 0.7 ? 'GET /inventory' : 'PATCH /inventory/{id}';
  const id = `${Math.floor(random() * 12)}`;
  const intent = {
    id: `${i}`,
    operation,
    maxWaitMs: random() * 20_000,
    reserve: Math.floor(random() * 2),
    timeoutMs: 1,
  };
  const window = { limit: 5, remaining: Math.floor(random() * 5), resetInMs: 3_000 };
  const status = random() < 0.1 ? 429 : 200;
  const headers = random() < 0.8 ? { window } : {};
  const answer = { id, operation, status, headers, random: random() };
  const steps: readonly Try[] = [
    (ledger) => ledger.admit(intent),
    (ledger) => ledger.admit({ ...intent, id }),
    (ledger) => ledger.check(intent),
    (ledger) => ledger.answered(answer),
    (ledger) => ledger.lost(id, status === 200),
    (ledger) => ledger.view(),
    (ledger) => (status === 429 ? ledger.clearBlock() : ledger.check(intent)),
  ];
  return steps[Math.floor(random() * steps.length)]!;
}

describe('inBatches', () => {
  it('any sequence of steps has the results that it has one by one', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = mulberry32(seed);
      const [single, batched] = [place(), place()];
      const [one, other] = [createLedger(single.step), createLedger(inBatches(batched.step, turn))];
      for (let round = 0; round < 15; round++) {
        single.at = batched.at = single.at + random() * 1_500;
        const steps = Array.from({ length: Math.ceil(random() * 8) }, (_, i) => anyStep(random, round * 8 + i));
        const before = batched.batches.length;
        const results = Promise.all(steps.map((step) => step(other)));
        const expected = [];
        for (const step of steps) expected.push(await step(one));
        expect(await results, `seed ${seed}`).toEqual(expected);
        expect(batched.batches.length).toBe(before + 1);
      }
      expect(batched.state()).toEqual(single.state());
    }
  });

  it('reads are never kept, and a batch of nothing else is a read', async () => {
    const { step, batches, state } = place();
    const run = inBatches(step, turn);
    const changed = { ...UNKNOWN, strikes: 9 };
    const read = run(() => ({ state: changed, result: 'read' }), { isRead: true });
    const seen = run((before) => ({ state: before, result: before.strikes }), { isRead: true });
    expect(await Promise.all([read, seen])).toEqual(['read', 0]);
    expect(batches).toEqual([{ isRead: true, durable: false, despiteSignal: false }]);
    const mixed = [
      run((before) => ({ state: { ...before, strikes: 1 }, result: before.strikes })),
      run(() => ({ state: changed, result: 'read' }), { isRead: true }),
      run((before) => ({ state: before, result: before.strikes }), { isRead: true }),
    ];
    expect(await Promise.all<unknown>(mixed)).toEqual([0, 'read', 1]);
    expect(state().strikes).toBe(1);
  });

  it.each([
    [[{}, {}], { isRead: false, durable: false, despiteSignal: false }],
    [[{ isRead: true }, { durable: true }], { isRead: false, durable: true, despiteSignal: false }],
    [[{ isRead: true }, { despiteSignal: true }], { isRead: false, durable: false, despiteSignal: true }],
  ] as const)('steps with %j are taken with %j', async (options, expected) => {
    const { step, batches } = place();
    const run = inBatches(step, turn);
    await Promise.all(options.map((each) => run((state) => ({ state, result: 0 }), each)));
    expect(batches).toEqual([expected]);
  });

  it('nothing changes where nothing is to be changed: the state is the same object', async () => {
    const { step, state } = place();
    const run = inBatches(step, turn);
    await Promise.all([1, 2, 3].map((result) => run((before) => ({ state: before, result }))));
    expect(state()).toBe(UNKNOWN);
  });

  it('an error of the step rejects all of them, and the next ones are taken', async () => {
    let isBroken = true;
    const error = new Error('the disk is full');
    const { step } = place(() => (isBroken ? error : undefined));
    const run = inBatches(step, turn);
    const work = (state: LedgerState) => ({ state, result: 'done' });
    const results = await Promise.allSettled([run(work), run(work, { isRead: true })]);
    expect(results).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
    ]);
    isBroken = false;
    expect(await run(work)).toBe('done');
  });

  it('an error of one of them rejects all, and keeps nothing', async () => {
    const { step, state } = place();
    const wrong = new Error('one is wrong');
    // As a transaction does, which is rolled back.
    const run = inBatches(async (work, options) => step(work, options), turn);
    const results = await Promise.allSettled([
      run((before) => ({ state: { ...before, strikes: 1 }, result: 0 })),
      run(() => {
        throw wrong;
      }),
    ]);
    expect(results.map((each) => each.status === 'rejected' && each.reason === wrong)).toEqual([true, true]);
    expect(state()).toBe(UNKNOWN);
  });

  it('steps that come while a batch is taken are the next batch', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    const { step, batches } = place();
    const run = inBatches(async (work, options) => {
      await held;
      return step(work, options);
    }, turn);
    const work = (state: LedgerState) => ({ state: { ...state, strikes: state.strikes + 1 }, result: state.strikes });
    const first = run(work);
    await turn();
    await turn();
    const others = [run(work), run(work)];
    release(undefined);
    expect(await Promise.all([first, ...others])).toEqual([0, 1, 2]);
    expect(batches).toHaveLength(2);
  });
});
