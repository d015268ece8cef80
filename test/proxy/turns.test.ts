/** Turns in front of a gate that the test opens itself. */
import { describe, expect, it } from 'vitest';
import { Failure, isFailure } from '../../src/errors.ts';
import type { TurnOptions } from '../../src/proxy/lane.ts';
import { Turns } from '../../src/proxy/turns.ts';
import type { Gate, Gated, OwnLimits, RateLimit, Ticket } from '../../src/rate-limit/gate.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const READ = 'GET /inventory';

/** One request at the gate. */
interface Asking {
  readonly name: string;
  readonly own: OwnLimits;
  /** The gate lets it through. */
  admit(): Promise<void>;
  /** The gate refuses it. */
  refuse(failure: Failure): Promise<void>;
}

interface Request {
  readonly name: string;
  readonly ended: Promise<Failure | undefined>;
  readonly gone: AbortController;
  waitedMs: number;
  /** Once it was admitted. */
  ticket?: Ticket;
}

interface Ask {
  readonly client?: string;
  readonly isUrgent?: boolean;
  readonly operation?: string;
}

function bench(options: Partial<Pick<TurnOptions, 'maxWaitMs' | 'reserve' | 'block'>> = {}) {
  const clock = new VirtualClock();
  const asking: Asking[] = [];
  /** What the next answer says. */
  let reported: RateLimit | undefined;
  const ticket: Ticket = {
    isFresh: () => true,
    answered: () => Promise.resolve(reported),
    lost: () => Promise.resolve(),
  };
  const gate: Gate = {
    limits: undefined,
    async enter<C extends Gated>(operation: string, connect: () => Promise<C>, own: OwnLimits = {}) {
      const connection = await connect();
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      const leave = (): void => {
        const at = asking.indexOf(one);
        if (at >= 0) asking.splice(at, 1);
      };
      const one: Asking = {
        name: operation,
        own,
        admit() {
          leave();
          resolve(undefined);
          return clock.advance(0);
        },
        refuse(failure) {
          leave();
          reject(failure);
          return clock.advance(0);
        },
      };
      own.signal?.addEventListener('abort', () => void one.refuse(own.signal?.reason as Failure));
      asking.push(one);
      await promise;
      return { ticket, connection };
    },
  };
  const turns = new Turns({
    gate,
    clock,
    maxWaitMs: 60_000,
    reserve: 0,
    block: () => Promise.resolve(undefined),
    ...options,
  });
  const sent: string[] = [];

  const ask = async (name: string, { client = name[0]!, isUrgent = false, operation = READ }: Ask = {}) => {
    const gone = new AbortController();
    const claim = {
      client,
      isUrgent,
      since: clock.monotonic(),
      signal: gone.signal,
      onWaited: (ms: number) => void (request.waitedMs += ms),
    };
    const connection = { isOpen: true, release: () => undefined };
    const { promise: ended, resolve } = Promise.withResolvers<Failure | undefined>();
    const request: Request = { name, ended, gone, waitedMs: 0 };
    const entered = turns.gateFor(claim).enter(operation, () => Promise.resolve(connection));
    entered.then(
      (admitted) => {
        request.ticket = admitted.ticket;
        sent.push(name);
        resolve(undefined);
      },
      (error: unknown) => {
        resolve(isFailure(error) ? error : new Failure('bug', { message: String(error) }));
      },
    );
    await clock.advance(0);
    return request;
  };

  const answer = async (request: Request, limits?: Partial<RateLimit> & { readonly inMs?: number }) => {
    const { inMs = 10_000, ...more } = limits ?? {};
    reported = limits && { limit: 60, remaining: 59, resetAt: clock.now() + inMs, ...more };
    await request.ticket?.answered(200, new Map(), clock.now());
    await clock.advance(0);
  };

  /** Makes the limits of an operation known, as one request and its answer do. */
  const learn = async (limits: Partial<RateLimit> & { readonly inMs?: number }, operation = READ) => {
    const first = await ask('first', { operation });
    await asking.at(-1)!.admit();
    await answer(first, limits);
    sent.length = 0;
  };
  return { clock, turns, asking, sent, ask, answer, learn };
}

/** Lets all that ask the gate through, one by one, and answers each at once. */
async function sendAll({ asking }: ReturnType<typeof bench>): Promise<void> {
  while (asking.length > 0) await asking[0]!.admit();
}

const tooLong = (waitMs: number) => ({ kind: 'rate-limited', details: { why: 'window-spent', waitMs } });

describe('turns', () => {
  it('where nothing is known, one request asks the gate; the others follow it in turn', async () => {
    const b = bench();
    const first = await b.ask('a1');
    await b.ask('a2');
    await b.ask('a3');
    await b.ask('b1');
    expect(b.asking).toHaveLength(1);
    expect(b.turns.waiting).toBe(4);
    await sendAll(b);
    expect(b.sent).toEqual(['a1', 'a2', 'b1', 'a3']);
    expect(first.ticket).toBeDefined();
    expect([b.turns.waiting, b.turns.inFlight]).toEqual([0, 4]);
  });

  it('a client that floods the queue does not delay another by more than one request', async () => {
    const b = bench();
    const flood = await Promise.all(Array.from({ length: 100 }, (_, i) => b.ask(`a${i}`)));
    await b.ask('b1');
    await b.ask('b2');
    await sendAll(b);
    expect(b.sent.slice(0, 5)).toEqual(['a0', 'a1', 'b1', 'a2', 'b2']);
    // Each client's own are in their order.
    expect(b.sent.filter((name) => name.startsWith('a'))).toEqual(flood.map(({ name }) => name));
  });

  it('urgent ones go before all others, and take turns among themselves', async () => {
    const b = bench();
    await b.ask('a1');
    await b.ask('a2');
    await b.ask('b1');
    await b.ask('c1', { isUrgent: true });
    await b.ask('c2', { isUrgent: true });
    await b.ask('d1', { isUrgent: true });
    // The first of them asks beside a1, which was at the gate before.
    expect(b.asking).toHaveLength(2);
    await sendAll(b);
    expect(b.sent).toEqual(['a1', 'c1', 'c2', 'd1', 'a2', 'b1']);
  });

  it('as many ask the gate as have room, and no more than are left when some are in flight', async () => {
    const b = bench();
    await b.learn({ remaining: 3 });
    for (let i = 0; i < 5; i++) await b.ask(`a${i}`);
    expect(b.asking).toHaveLength(3);
    await b.asking[0]!.admit();
    // One is in flight: two are left for those that ask already.
    expect(b.asking).toHaveLength(2);
    await sendAll(b);
    expect(b.sent).toEqual(['a0', 'a1', 'a2', 'a3', 'a4']);
  });

  it('never more than 64 of an operation ask at once', async () => {
    const b = bench();
    await b.learn({ limit: 10_000, remaining: 9_999 });
    await Promise.all(Array.from({ length: 100 }, (_, i) => b.ask(`a${i}`)));
    expect(b.asking).toHaveLength(64);
    expect(b.turns.waiting).toBe(100);
  });

  it('operations do not wait for each other', async () => {
    const b = bench();
    await b.learn({ remaining: 0, inMs: 50_000 });
    const held = await b.ask('a1');
    await b.ask('a2');
    await b.ask('a3', { operation: 'PATCH /inventory/{id}' });
    expect(b.asking.map(({ name }) => name)).toEqual([READ, 'PATCH /inventory/{id}']);
    await b.asking[1]!.admit();
    expect(b.sent).toEqual(['a3']);
    expect(held.ticket).toBeUndefined();
  });

  it('an operation learns its limits from its own answers alone', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.learn({ remaining: 50 });
    const write = 'PATCH /inventory/{id}';
    await b.learn({ remaining: 0, inMs: 60_000 }, write);
    // An answer that tells nothing, and a request without an answer, change nothing.
    const silent = await b.ask('a1');
    await sendAll(b);
    await b.answer(silent);
    const lost = await b.ask('a2');
    await sendAll(b);
    await lost.ticket?.lost(true);
    await b.ask('a3');
    await sendAll(b);
    expect(b.sent).toEqual(['a1', 'a2', 'a3']);
    expect(await (await b.ask('a4', { operation: write })).ended).toMatchObject(tooLong(60_000));
  });

  it('the counts of those in flight go down with an answer and with a loss', async () => {
    const b = bench();
    const [one, two] = [await b.ask('a1'), await b.ask('a2')];
    await sendAll(b);
    expect(b.turns.inFlight).toBe(2);
    await b.answer(one);
    await two.ticket?.lost(false);
    expect(b.turns.inFlight).toBe(0);
  });

  it('what an operation is called is up to the clients: only some that are idle are kept', async () => {
    const b = bench({ maxWaitMs: 1_000 });
    await b.learn({ remaining: 0 });
    for (let i = 0; i < 100; i++) {
      const request = await b.ask('a1', { operation: `GET /${i}` });
      await sendAll(b);
      await b.answer(request);
    }
    // The first one has been forgotten, so its limits are unknown: it asks.
    await b.ask('a2');
    expect(b.asking).toHaveLength(1);
  });
});

describe('--max-wait', () => {
  it('a wait that is known to be longer is refused at once, with its true end', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.learn({ remaining: 0, inMs: 8_500 });
    const refused = await b.ask('a1');
    expect(await refused.ended).toMatchObject({
      kind: 'rate-limited',
      details: { waitMs: 8_500, retryAt: b.clock.now() + 8_500, maxWaitMs: 5_000 },
    });
    expect(b.asking).toEqual([]);
    expect(b.turns.waiting).toBe(0);
    expect(refused.waitedMs).toBe(0);
  });

  it.each([
    // remaining, waiting already, windows that have to pass
    [3, 2, 0],
    [3, 3, 1],
    [3, 12, 1],
    [3, 13, 2],
    [0, 9, 1],
    [0, 10, 2],
    [0, 20, 3],
  ])('with %i of 10 left and %i before it, %i windows have to end', async (remaining, waiting, windows) => {
    const least = windows === 0 ? 0 : 11_000 + (windows - 1) * 10_000;
    const after = async (maxWaitMs: number): Promise<Failure | 'waits'> => {
      const b = bench({ maxWaitMs });
      // Two ends tell how long a window is.
      await b.learn({ limit: 10, remaining: 5, inMs: 1_000 });
      await b.learn({ limit: 10, remaining, inMs: 11_000 });
      for (let i = 0; i < waiting; i++) await b.ask(`a${i}`);
      const waitingBefore = b.turns.waiting;
      const last = await b.ask('a-last');
      return b.turns.waiting === waitingBefore ? ((await last.ended) ?? 'waits') : 'waits';
    };
    expect(await after(least)).toBe('waits');
    if (windows > 0) expect(await after(least - 1)).toMatchObject(tooLong(least));
  });

  it('one that has waited for the longest time is refused, with the wait that is left', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.learn({ remaining: 1, inMs: 60_000 });
    await b.ask('a1');
    const slow = await b.ask('b1', { client: 'a' });
    expect(await slow.ended).toMatchObject(tooLong(60_000));
    // Nothing is known yet: it waits, and then does not know for how long.
    const c = bench({ maxWaitMs: 5_000 });
    await c.ask('a1');
    const late = await c.ask('a2');
    await c.clock.advance(4_999);
    expect(c.turns.waiting).toBe(2);
    await c.clock.advance(1);
    expect(await late.ended).toMatchObject(tooLong(1));
    expect(late.waitedMs).toBe(5_000);
    expect(c.turns.waiting).toBe(1);
  });

  it.each([
    ['rate-limited', 'rate-limited'],
    ['banned', 'banned'],
    ['paused', 'paused'],
  ] as const)('a block that ends later than the window is the end: %s', async (why, kind) => {
    let until = 0;
    const b = bench({ maxWaitMs: 5_000, block: () => Promise.resolve({ why, until }) });
    await b.learn({ remaining: 0, inMs: 60_000 });
    until = b.clock.now() + 3_600_000;
    expect(await (await b.ask('a1')).ended).toMatchObject({ kind, details: { waitMs: 3_600_000, retryAt: until } });
    until = b.clock.now() + 1_000;
    expect(await (await b.ask('a2')).ended).toMatchObject(tooLong(60_000));
  });

  it('the gate gets what is left of the wait', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.ask('a1');
    await b.ask('a2');
    await b.clock.advance(2_000);
    await b.asking[0]!.admit();
    expect(b.asking[0]!.own).toMatchObject({ maxWaitMs: 3_000, reserve: 0 });
  });

  it('the gate’s own refusal is passed on, and the next one asks', async () => {
    const b = bench();
    const first = await b.ask('a1');
    await b.ask('a2');
    const banned = new Failure('banned', { retryAt: 0, waitMs: 9, maxWaitMs: 1, refusals: 0 });
    await b.asking[0]!.refuse(banned);
    expect(await first.ended).toBe(banned);
    expect(b.asking).toHaveLength(1);
  });
});

describe('a client that is gone', () => {
  const cancelled = new Failure('cancelled', {});

  it('leaves the queue', async () => {
    const b = bench();
    await b.ask('a1');
    const gone = await b.ask('a2');
    await b.ask('a3');
    gone.gone.abort(cancelled);
    expect(await gone.ended).toBe(cancelled);
    expect(b.turns.waiting).toBe(2);
    await sendAll(b);
    expect(b.sent).toEqual(['a1', 'a3']);
    expect(b.clock.alarms).toEqual([]);
  });

  it('does not ask the gate any longer, and the next one does', async () => {
    const b = bench();
    const gone = await b.ask('a1');
    await b.ask('a2');
    gone.gone.abort(cancelled);
    await b.clock.advance(0);
    expect(await gone.ended).toBe(cancelled);
    await sendAll(b);
    expect(b.sent).toEqual(['a2']);
  });

  it('that was gone before it came does not queue', async () => {
    const b = bench();
    await b.ask('a1');
    const gone = new AbortController();
    gone.abort(cancelled);
    const claim = { client: 'b', isUrgent: false, since: 0, signal: gone.signal, onWaited: () => undefined };
    const connect = () => Promise.resolve({ isOpen: true, release: () => undefined });
    await expect(b.turns.gateFor(claim).enter(READ, connect)).rejects.toBe(cancelled);
    expect(b.turns.waiting).toBe(1);
  });
});

describe('--reserve', () => {
  it('is left by those that are not urgent, whether they wait here or at the gate', async () => {
    const b = bench({ reserve: 3, maxWaitMs: 60_000 });
    await b.learn({ remaining: 3, inMs: 50_000 });
    await b.ask('a1');
    await b.ask('a2');
    // One asks, so that the end of the window is known.
    expect(b.asking.map(({ own }) => own.reserve)).toEqual([3]);
    await b.ask('b1', { isUrgent: true });
    await b.ask('b2', { isUrgent: true });
    expect(b.asking.map(({ own }) => own.reserve)).toEqual([3, 0, 0]);
    await b.asking[1]!.admit();
    await b.asking[1]!.admit();
    expect(b.sent).toEqual(['b1', 'b2']);
  });

  it('does not make an urgent one wait longer than --max-wait that need not wait', async () => {
    const b = bench({ reserve: 2, maxWaitMs: 5_000 });
    await b.learn({ remaining: 4, inMs: 60_000 });
    await b.ask('a1');
    await b.ask('a2');
    expect(await (await b.ask('a3')).ended).toMatchObject(tooLong(60_000));
    const urgent = await b.ask('b1', { isUrgent: true });
    await b.ask('b2', { isUrgent: true });
    expect(b.asking).toHaveLength(4);
    await sendAll(b);
    expect(urgent.ticket).toBeDefined();
    expect(await (await b.ask('b3', { isUrgent: true })).ended).toMatchObject(tooLong(60_000));
  });

  it('those that are not urgent count all the urgent ones as before them', async () => {
    const b = bench({ maxWaitMs: 5_000 });
    await b.learn({ limit: 200, remaining: 70, inMs: 60_000 });
    await Promise.all(Array.from({ length: 70 }, (_, i) => b.ask(`u${i}`, { isUrgent: true })));
    expect(b.asking).toHaveLength(64);
    expect(await (await b.ask('a1')).ended).toMatchObject(tooLong(60_000));
  });
});
