/** Turns before a gate with an in-memory ledger, on virtual time. */
import { describe, expect, it } from 'vitest';
import { Failure, isFailure } from '../../src/errors.ts';
import type { Claim } from '../../src/proxy/requests.ts';
import { type TurnOptions, Turns } from '../../src/proxy/turns.ts';
import type { Connection } from '../../src/ports.ts';
import type { Ticket } from '../../src/rate-limit/gate.ts';
import { createLedger, memoryStep } from '../../src/rate-limit/ledger.ts';
import { gateWith } from '../support/gate.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const READ = 'GET /inventory';
const WRITE = 'PATCH /inventory/{id}';

interface Request {
  readonly name: string;
  readonly claim: Claim;
  readonly gone: AbortController;
  readonly ended: Promise<Failure | undefined>;
  /** Once it was sent. */
  ticket?: Ticket;
}

type Ask = Partial<Pick<Claim, 'client' | 'isUrgent' | 'share' | 'maxWaitMs'>> & { readonly operation?: string };

interface Answer {
  readonly limit?: number;
  readonly remaining?: number;
  /** Seconds to the end of the window, and the length of a whole one. */
  readonly reset?: number;
  readonly length?: number;
  readonly status?: number;
  readonly retryAfter?: number;
}

function bench(options: Partial<Pick<TurnOptions, 'reserve'> & Pick<Claim, 'maxWaitMs'>> = {}) {
  const clock = new VirtualClock();
  const { maxWaitMs = 60_000, reserve = 0 } = options;
  const ledger = createLedger(memoryStep(clock));
  const gate = gateWith({ ledger, clock, maxWaitMs, reserve, probes: Number.POSITIVE_INFINITY });
  const turns = new Turns({ reserve, gate, clock });
  const sent: string[] = [];
  const unanswered: Request[] = [];

  const ask = async (name: string, { client = name[0]!, isUrgent = false, operation = READ, ...own }: Ask = {}) => {
    const { promise: ended, resolve } = Promise.withResolvers<Failure | undefined>();
    const gone = new AbortController();
    const signal = gone.signal;
    const since = clock.monotonic();
    const mostMs = own.maxWaitMs ?? maxWaitMs;
    const leftMs = () => Math.max(0, mostMs - (clock.monotonic() - since));
    const times = { maxWaitMs: mostMs, leftMs, since, waitedMs: 0 };
    const claim = { client, share: undefined, isUrgent, signal, isSent: false, ...own, ...times };
    const request: Request = { name, claim, gone, ended };
    const connection = { isOpen: true, release: () => undefined } as Partial<Connection> as Connection;
    turns
      .gateFor(claim)
      .enter(operation, () => Promise.resolve(connection))
      .then(
        ({ ticket }) => {
          request.ticket = ticket;
          sent.push(name);
          unanswered.push(request);
          resolve(undefined);
        },
        (error: unknown) => {
          resolve(isFailure(error) ? error : new Failure('bug', { message: String(error) }));
        },
      );
    await clock.advance(0);
    return request;
  };

  const answer = async (request: Request, given: Answer = {}): Promise<void> => {
    const { limit = 60, remaining = 59, reset = 10, length, status = 200, retryAfter } = given;
    const headers = new Map([
      ['ratelimit-limit', [`${limit}`]],
      ['ratelimit-remaining', [`${remaining}`]],
      ['ratelimit-reset', [`${reset}`]],
      ...(length === undefined ? [] : [['ratelimit-policy', [`${limit};w=${length}`]] as [string, string[]]]),
      ...(retryAfter === undefined ? [] : [['retry-after', [`${retryAfter}`]] as [string, string[]]]),
    ]);
    unanswered.splice(unanswered.indexOf(request), 1);
    await request.ticket?.answered(status, headers, clock.now());
    await clock.advance(0);
  };

  /** Makes the limits of an operation known, as one request and its answer do. */
  const learn = async (given: Answer, operation = READ): Promise<void> => {
    await answer(await ask('first', { operation }), given);
    sent.length = 0;
  };

  /** Lets time pass, and answers all that is sent meanwhile. `remaining`: before them. */
  const pass = async (ms: number, remaining: number, given: Answer = {}): Promise<void> => {
    let left = remaining;
    for (let passed = 0; passed < ms; passed += 50) {
      for (const request of [...unanswered])
        await answer(request, { ...given, remaining: (left = Math.max(0, left - 1)) });
      await clock.advance(50);
    }
  };
  return { clock, turns, sent, ask, answer, learn, pass };
}

describe('turns', () => {
  it.each([
    [
      ['a1', 'a2', 'a3'],
      ['a1', 'a2', 'a3'],
    ],
    // One request finds out what the limit is; the second waits at the gate before any other has come.
    [
      ['a1', 'a2', 'a3', 'b1'],
      ['a1', 'a2', 'b1', 'a3'],
    ],
    [
      ['a1', 'b1', 'a2', 'c1', 'b2', 'a3'],
      ['a1', 'b1', 'a2', 'c1', 'b2', 'a3'],
    ],
  ])('%j are sent as %j', async (asked, sent) => {
    const b = bench();
    for (const name of asked) await b.ask(name);
    expect([b.sent, b.turns.waiting]).toEqual([['a1'], asked.length - 1]);
    await b.pass(500, 60);
    expect([b.sent, b.turns.waiting]).toEqual([sent, 0]);
  });

  it.each([
    ['one path', () => READ],
    ['many paths', (i: number) => `GET /path${i}`],
  ])('a client that floods the queue, on %s, does not delay another by more than one request', async (_on, pathOf) => {
    const b = bench();
    for (let i = 0; i < 100; i++) await b.ask(`a${i}`, { operation: pathOf(i) });
    for (const i of [1, 2]) await b.ask(`b${i}`, { operation: pathOf(100 + i) });
    await b.pass(10_000, 200, { limit: 200 });
    expect(b.sent.slice(0, 5)).toEqual(['a0', 'a1', 'b1', 'a2', 'b2']);
    // Each client's own are in their order.
    const own = b.sent.filter((name) => name.startsWith('a'));
    expect(own).toEqual(Array.from({ length: 100 }, (_, i) => `a${i}`));
  });

  it('clients that come back at once do not hold up one that waits', async () => {
    const b = bench({ maxWaitMs: 100_000 });
    await b.learn({ remaining: 0, reset: 20, length: 20 });
    for (const name of ['a1', 'a2', 'a3']) await b.ask(name);
    for (let i = 1; i <= 4; i++) {
      await b.ask(`b${i}`);
      await b.ask(`c${i}`);
      await b.clock.advance(20_000);
      await b.pass(1_000, 2, { limit: 2, reset: 19, length: 20 });
    }
    expect(b.sent).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3']);
  });

  it('urgent ones go before all others, and take turns among themselves', async () => {
    const b = bench();
    for (const name of ['a1', 'a2', 'a3', 'a4']) await b.ask(name);
    for (const name of ['c1', 'c2', 'd1']) await b.ask(name, { isUrgent: true });
    await b.pass(1_000, 60);
    // The second waited at the gate before any urgent one came.
    expect(b.sent).toEqual(['a1', 'a2', 'c1', 'd1', 'c2', 'a3', 'a4']);
  });

  it('urgent ones do not put a client that comes after them behind all that wait', async () => {
    const b = bench();
    await b.learn({ remaining: 0, reset: 20, length: 20 });
    for (let i = 1; i <= 6; i++) await b.ask(`a${i}`);
    for (let i = 1; i <= 4; i++) await b.ask(`c${i}`, { isUrgent: true });
    await b.clock.advance(20_000);
    await b.pass(1_000, 5, { limit: 5, reset: 19, length: 20 });
    expect(b.sent).toEqual(['a1', 'c1', 'c2', 'c3', 'c4']);
    await b.ask('b1');
    await b.clock.advance(20_000);
    await b.pass(1_000, 5, { limit: 5, reset: 19, length: 20 });
    expect(b.sent.slice(5)).toEqual(['a2', 'b1', 'a3', 'a4', 'a5']);
  });

  it('those that a window has no room for go in the next one, in their turns', async () => {
    const b = bench();
    await b.learn({ remaining: 3, reset: 20, length: 20 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2']) await b.ask(name);
    await b.pass(10_000, 3, { reset: 10, length: 20 });
    expect(b.sent).toEqual(['a1', 'a2', 'b1']);
    await b.clock.advance(10_000);
    await b.pass(1_000, 60, { reset: 20, length: 20 });
    expect(b.sent).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5']);
  });

  it('where there is room, none waits for the answer to another', async () => {
    const b = bench();
    await b.learn({ limit: 10_000, remaining: 9_999 });
    for (let i = 0; i < 100; i++) await b.ask(`a${i}`);
    expect([b.sent.length, b.turns.waiting]).toEqual([100, 0]);
  });

  it('operations do not wait for each other, neither for a window nor for an answer', async () => {
    const b = bench();
    await b.learn({ reset: 50 });
    await b.learn({ limit: 100, remaining: 0, reset: 20 }, WRITE);
    await b.learn({ remaining: 0, reset: 50 });
    await b.ask('a1');
    await b.ask('a2');
    await b.ask('a3', { operation: WRITE });
    await b.clock.advance(23_000);
    expect(b.sent).toEqual(['a3']);
    await b.pass(25_000, 100, { limit: 100, reset: 100 });
    await b.ask('a4', { operation: WRITE });
    await b.clock.advance(5_000);
    await b.ask('a5', { operation: WRITE });
    await b.clock.advance(2_000);
    expect([b.sent, b.turns.waiting]).toEqual([['a3', 'a4', 'a1', 'a5'], 1]);
  });
});

describe('--max-wait', () => {
  it('a wait that is known to be longer is refused at once, with its true end, also before it is recorded', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.learn({ remaining: 0, reset: 9, length: 9 });
    const refused = await b.ask('a1');
    const tooLong = {
      kind: 'rate-limited',
      details: { why: 'window-spent', waitMs: 9_000, retryAt: b.clock.now() + 9_000, maxWaitMs: 5_000 },
    };
    expect(await refused.ended).toMatchObject(tooLong);
    expect([b.turns.waiting, refused.claim.waitedMs]).toEqual([0, 0]);
    await expect(b.turns.checkWait(refused.claim, READ)).rejects.toMatchObject(tooLong);
  });

  it('those that wait already count: who would come in the window after the next is refused at once', async () => {
    const b = bench({ maxWaitMs: 15_000 });
    await b.learn({ limit: 3, remaining: 0, reset: 10, length: 10 });
    for (const name of ['a1', 'a2', 'a3']) await b.ask(name);
    const last = await b.ask('a4');
    expect(await last.ended).toMatchObject({ kind: 'rate-limited', details: { why: 'window-spent', waitMs: 20_000 } });
    // Another client's turn comes before; it does not wait behind all of those.
    await b.ask('b1');
    expect(b.turns.waiting).toBe(4);
  });

  it('one that has waited for the longest time asks once more, and is refused', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.ask('a1');
    const late = [await b.ask('a2'), await b.ask('a3')];
    await b.clock.advance(4_999);
    expect(b.turns.waiting).toBe(2);
    await b.clock.advance(1_051);
    expect(b.turns.waiting).toBe(0);
    for (const each of late)
      expect(await each.ended).toMatchObject({ kind: 'rate-limited', details: { why: 'asking', maxWaitMs: 5_000 } });
    expect(late[1]?.claim.waitedMs).toBe(5_000);
  });

  it('a ban refuses all that wait, however long they may', async () => {
    const b = bench({ maxWaitMs: Number.MAX_SAFE_INTEGER });
    const first = await b.ask('a1');
    const others = [await b.ask('a2'), await b.ask('a3'), await b.ask('b1', { isUrgent: true })];
    await b.answer(first, { status: 403, retryAfter: 600 });
    await b.clock.advance(100);
    for (const each of others) expect(await each.ended).toMatchObject({ kind: 'banned' });
    expect(b.sent).toEqual(['a1']);
  });
});

it('a client that is gone leaves the queue, and the gate', async () => {
  const cancelled = new Failure('cancelled', {});
  const b = bench();
  await b.ask('a1');
  const atGate = await b.ask('a2');
  const inQueue = await b.ask('a3');
  await b.ask('a4');
  inQueue.gone.abort(cancelled);
  await b.clock.advance(0);
  expect(b.turns.waiting).toBe(2);
  atGate.gone.abort(cancelled);
  expect([await atGate.ended, await inQueue.ended]).toEqual([cancelled, cancelled]);
  expect(b.turns.waiting).toBe(1);
  await b.pass(500, 60);
  expect(b.sent).toEqual(['a1', 'a4']);
  expect(b.clock.alarms).toEqual([]);
});

describe('a share of the limit', () => {
  it('lets a client send its part of a window; the rest waits for the next one, and others do not', async () => {
    const b = bench();
    await b.learn({ limit: 60, remaining: 59, reset: 20, length: 20 });
    for (let i = 0; i < 9; i++) await b.ask(`a${i}`, { share: 0.1 });
    for (let i = 0; i < 9; i++) await b.ask(`b${i}`);
    const given = { limit: 60, reset: 15, length: 20 };
    await b.pass(5_000, 59, given);
    expect(b.sent.filter((name) => name.startsWith('a'))).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5']);
    expect(b.sent.filter((name) => name.startsWith('b'))).toHaveLength(9);
    await b.pass(16_000, 60, given);
    expect(b.sent.slice(15)).toEqual(['a6', 'a7', 'a8']);
  });

  it('is one request until an answer tells the limit, and no bound where answers tell none', async () => {
    const b = bench();
    const asked = [];
    for (let i = 0; i < 4; i++) asked.push(await b.ask(`a${i}`, { share: 0.5 }));
    expect(b.sent).toEqual(['a0']);
    await b.answer(asked[0]!, { limit: 6, remaining: 5 });
    await b.clock.advance(200);
    expect(b.sent).toEqual(['a0', 'a1', 'a2']);
  });

  it('is one for all operations of one limit, also for those without an answer', async () => {
    const b = bench();
    const window = { limit: 20, reset: 20, length: 20 };
    await b.learn({ ...window, remaining: 19 });
    await b.learn({ ...window, remaining: 18 }, WRITE);
    for (const operation of [READ, WRITE, 'GET /other']) await b.ask(operation, { client: 'a', share: 0.1, operation });
    expect(b.sent).toEqual([READ, WRITE]);
  });

  it.each([
    [false, ['a0', 'a1', 'a2']],
    [true, ['a0', 'a1']],
  ])('counts one whose connection was closed, if it may have been sent: %s', async (mayHaveBeenSent, sent) => {
    const b = bench();
    await b.learn({ limit: 20, remaining: 19, reset: 20, length: 20 });
    await (await b.ask('a0', { share: 0.1 })).ticket?.lost(mayHaveBeenSent);
    for (const name of ['a1', 'a2', 'a3']) await b.ask(name, { share: 0.1 });
    await b.clock.advance(200);
    expect(b.sent).toEqual(sent);
  });

  it('counts those that have waited for the next window in that one', async () => {
    const b = bench();
    const window = { limit: 20, reset: 20, length: 20 };
    await b.learn({ ...window, remaining: 19 });
    await b.answer(await b.ask('a0', { share: 0.1 }), { ...window, remaining: 0 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) await b.ask(name, { share: 0.1 });
    await b.clock.advance(20_000);
    await b.pass(10_000, 20, { ...window, reset: 15 });
    expect(b.sent.slice(1)).toEqual(['a1', 'a2']);
  });

  it('is not counted anew after an answer that is late, and tells of the last window', async () => {
    const b = bench();
    const window = { limit: 20, reset: 20, length: 20 };
    await b.learn({ ...window, remaining: 19 });
    await b.answer(await b.ask('a0', { share: 0.1 }), { ...window, remaining: 18 });
    const late = await b.ask('a1', { share: 0.1 });
    await b.clock.advance(22_000);
    await b.answer(await b.ask('a2', { share: 0.1 }), { ...window, remaining: 19 });
    await b.ask('a3', { share: 0.1 });
    await b.answer(late, { ...window, remaining: 17, reset: 0 });
    await b.ask('a4', { share: 0.1 });
    await b.pass(10_000, 18, { ...window, reset: 15 });
    expect(b.sent.slice(2)).toEqual(['a2', 'a3']);
  });

  it('refuses what would wait too long for it, with the time that is left of the window', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.learn({ limit: 10, remaining: 9, reset: 20 });
    await b.answer(await b.ask('a1', { share: 0.1 }), { limit: 10, remaining: 8, reset: 20 });
    const { ended } = await b.ask('a2', { share: 0.1 });
    const failure = await ended;
    expect(failure).toMatchObject({ kind: 'rate-limited', details: { why: 'window-spent' } });
    const { waitMs } = failure?.details as { waitMs: number };
    expect([waitMs >= 20_000, waitMs <= 22_000]).toEqual([true, true]);
    expect((await b.ask('b1')).claim.isSent).toBe(true);
  });

  it('refuses nothing that has room in it, also behind others', async () => {
    const b = bench();
    const window = { limit: 10, reset: 20, length: 20 };
    await b.learn({ ...window, remaining: 9 });
    await b.answer(await b.ask('a1', { share: 0.2 }), { ...window, remaining: 8 });
    await b.answer(await b.ask('b1'), { ...window, remaining: 7, status: 429, retryAfter: 3 });
    for (const name of ['b2', 'b3', 'b4']) await b.ask(name);
    await b.ask('a2', { share: 0.2, maxWaitMs: 10_000 });
    await b.pass(10_000, 7, { ...window, reset: 10 });
    expect(b.sent).toContain('a2');
  });

  it('gives back the place of a client that leaves before its request is sent', async () => {
    const b = bench();
    await b.learn({ limit: 10, remaining: 0, reset: 20, length: 20 });
    const first = await b.ask('a1', { share: 0.1 });
    first.gone.abort(new Failure('cancelled', {}));
    await first.ended;
    await b.ask('a2', { share: 0.1 });
    await b.clock.advance(25_000);
    expect(b.sent).toEqual(['a2']);
  });
});
