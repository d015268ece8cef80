import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  decide,
  type Decision,
  type LedgerState,
  lose,
  observe,
  UNKNOWN,
} from '../../src/limits/governor.ts';
import type { LimitHeaders } from '../../src/limits/headers.ts';
import { MemoryLedgers } from '../../src/limits/memory-ledger.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const window = (remaining: number, resetInMs = 60_000, limit = 60): LimitHeaders => ({
  window: { limit, remaining, resetInMs },
});

/** One key's state with a clock, so that a test reads as what happens. */
class Key {
  state: LedgerState = UNKNOWN;
  now = 1_000;
  private ids = 0;

  ask(maxWaitMs = Number.POSITIVE_INFINITY, reserve = 0): Decision & { id: string } {
    const id = `r${this.ids++}`;
    const { state, decision } = decide(this.state, this.now, { id, maxWaitMs, reserve });
    this.state = state;
    return { ...decision, id };
  }

  /** Asks and must be let through. */
  send(): string {
    const { do: done, id } = this.ask();
    expect(done).toBe('send');
    return id;
  }

  answer(id: string, status: number, headers: LimitHeaders = {}, random = 0): void {
    this.state = observe(this.state, this.now, { id, status, headers, random });
  }

  lose(id: string, mayHaveBeenSent: boolean): void {
    this.state = lose(this.state, this.now, id, mayHaveBeenSent);
  }

  /** A key whose window is known. */
  static open(remaining: number, resetInMs?: number): Key {
    const key = new Key();
    key.answer(key.send(), 200, window(remaining, resetInMs));
    return key;
  }
}

describe('an unknown window', () => {
  it('lets one request through; others wait for its answer', () => {
    const key = new Key();
    const first = key.send();
    expect(key.ask()).toMatchObject({ do: 'wait', why: 'asking' });
    key.answer(first, 200, window(59));
    expect(key.ask().do).toBe('send');
  });

  it('lets another one through when the answer never comes', () => {
    const key = new Key();
    key.lose(key.send(), true);
    expect(key.ask().do).toBe('send');
    const killed = new Key();
    killed.send();
    killed.now += 121_000;
    expect(killed.ask().do).toBe('send');
  });
});

describe('an open window', () => {
  it('is spent to its last request, then waited out', () => {
    const key = Key.open(3);
    expect([key.ask().do, key.ask().do, key.ask().do]).toEqual(['send', 'send', 'send']);
    expect(key.ask()).toMatchObject({ do: 'wait', why: 'window-spent', until: 61_000 });
    expect(key.ask(10_000)).toMatchObject({ do: 'refuse', why: 'window-spent', until: 61_000 });
    key.now = 61_000;
    expect(key.ask().do).toBe('send');
    expect(key.ask().do).toBe('wait');
  });

  it('keeps a reserve', () => {
    const key = Key.open(3);
    expect([0, 1, 2].map(() => key.ask(0, 2).do)).toEqual(['send', 'refuse', 'refuse']);
  });

  it('within it, what is left only falls, in whatever order the answers come', () => {
    const key = Key.open(10);
    const [a, b] = [key.send(), key.send()];
    key.answer(b, 200, window(8));
    key.answer(a, 200, window(9));
    expect(key.state.window?.remaining).toBe(8);
  });

  it('gives back what was certainly not sent, and counts what may have been', () => {
    const key = Key.open(1);
    key.lose(key.send(), false);
    key.lose(key.send(), true);
    expect(key.ask(0).do).toBe('refuse');
  });

  it('fault 46: a request whose sender was killed counts as sent until the window ends', () => {
    const key = Key.open(1, 600_000);
    key.send();
    key.now += 300_000;
    expect(key.ask(0).do).toBe('refuse');
    key.now += 300_000;
    expect(key.ask().do).toBe('send');
  });

  it('fault 42: another client that draws too is noticed, and two requests are left at the edge', () => {
    const key = Key.open(20);
    key.answer(key.send(), 200, window(10));
    expect(key.state.foreign).toBe(true);
    for (let left = 9; left >= 5; left--) key.answer(key.send(), 200, window(left));
    const last = key.send();
    expect(key.ask(0).do).toBe('refuse');
    key.answer(last, 200, window(2));
    expect(key.ask(0)).toMatchObject({ do: 'refuse', why: 'window-spent' });
  });

  it('a late answer from the window before says nothing of this one', () => {
    const key = Key.open(30, 4_000);
    const [late, next] = [key.send(), key.send()];
    key.now += 1_000;
    key.answer(next, 200, window(59));
    key.answer(late, 200, window(28, 3_000));
    expect(key.state).toMatchObject({ window: { remaining: 59, resetAt: 62_000 }, foreign: false });
    const shorter = key.send();
    key.answer(shorter, 200, window(1, 3_000, 5));
    expect(key.state.window?.remaining).toBe(1);
  });

  it('our own requests are nobody else’s', () => {
    const key = Key.open(20);
    const ids = Array.from({ length: 10 }, () => key.send());
    for (const [i, id] of ids.reverse().entries()) key.answer(id, 200, window(10 + i));
    expect(key.state.foreign).toBe(false);
  });
});

describe('a 429', () => {
  it.each([
    ['Retry-After', { retryAfterMs: 30_000 }, 31_000],
    ['fault 32: Retry-After 0: at least 2 s', { retryAfterMs: 0 }, 3_000],
    ['fault 31: nothing: 60 s', {}, 61_000],
    ['Reset where nothing is left', window(0, 45_000), 46_000],
    ['the longer of both', { ...window(0, 45_000), retryAfterMs: 10_000 }, 46_000],
    ['fault 43: Remaining overruled', { ...window(50), retryAfterMs: 30_000 }, 31_000],
    ['fault 43: Remaining overruled, no Retry-After', window(50), 61_000],
    ['fault 49: ten years: a day', { retryAfterMs: 10 * 365 * 86_400_000 }, 86_400_000],
  ])('blocks: %s', (_name, headers, ms) => {
    const key = Key.open(50);
    key.answer(key.send(), 429, headers);
    expect(key.ask()).toMatchObject({ do: 'wait', why: 'rate-limited', until: 1_000 + ms });
    key.now += ms - 1;
    expect(key.ask().do).toBe('wait');
    key.now += 1;
    expect(key.ask().do).toBe('send');
  });

  it('jitter only adds: at most 10 %, at most 5 s', () => {
    const wait = (retryAfterMs: number): number => {
      const key = Key.open(50);
      key.answer(key.send(), 429, { retryAfterMs }, 0.999_999);
      const { until } = key.state.block!;
      return until - 1_000;
    };
    expect([wait(10_000), wait(1_000_000)].map(Math.round)).toEqual([12_000, 1_006_000]);
  });

  it('fault 41: when the block ends, exactly one of eight that wait goes first', () => {
    const key = Key.open(50);
    key.answer(key.send(), 429, { retryAfterMs: 30_000 });
    key.now += 31_000;
    const decisions = Array.from({ length: 8 }, () => key.ask());
    expect(decisions.map(({ do: done }) => done)).toEqual(['send', ...Array.from({ length: 7 }, () => 'wait')]);
    key.answer(decisions[0]!.id, 200, window(50));
    expect(key.ask().do).toBe('send');
  });

  it('again doubles the wait; an answer that is none forgets it', () => {
    const key = Key.open(50);
    const waits: number[] = [];
    for (let strike = 0; strike < 4; strike++) {
      key.answer(key.send(), 429, { retryAfterMs: 10_000 });
      waits.push(key.state.block!.until - key.now);
      key.now = key.state.block!.until;
    }
    expect(waits).toEqual([11_000, 21_000, 41_000, 81_000]);
    key.answer(key.send(), 404, window(50));
    key.answer(key.send(), 429, { retryAfterMs: 10_000 });
    expect(key.state.block!.until - key.now).toBe(11_000);
  });

  it('to several at once is one strike; a late answer to what was sent before ends no block', () => {
    const key = Key.open(50);
    const ids = [key.send(), key.send(), key.send()];
    key.answer(ids[0]!, 429, { retryAfterMs: 10_000 });
    key.answer(ids[1]!, 429, { retryAfterMs: 10_000 });
    expect(key.state.strikes).toBe(1);
    key.now += 20_000;
    key.answer(ids[2]!, 200, window(40));
    expect(key.state.block).toBeDefined();
  });

  it('waits grow with the strikes, whatever the headers', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e15 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (retryAfterMs, random) => {
          const key = Key.open(50);
          let before = 0;
          for (let strike = 0; strike < 5; strike++) {
            key.answer(key.send(), 429, { retryAfterMs }, random);
            const wait = key.state.block!.until - key.now;
            expect(wait).toBeGreaterThanOrEqual(Math.min(before, 86_400_000));
            expect(wait).toBeGreaterThanOrEqual(Math.min(retryAfterMs, 86_400_000));
            before = wait;
            key.now = key.state.block!.until;
          }
        },
      ),
    );
  });
});

it('fault 22: a 403 blocks for an hour', () => {
  const key = Key.open(50);
  key.answer(key.send(), 403, window(49));
  expect(key.ask(0)).toMatchObject({ do: 'refuse', why: 'banned', until: 1_000 + 3_600_000 });
});

describe('fault 44: answers without limits', () => {
  it('one in flight, one a second', () => {
    const key = new Key();
    const first = key.send();
    key.now += 100;
    key.answer(first, 200);
    expect(key.ask()).toMatchObject({ do: 'wait', until: 2_000 });
    key.now = 2_000;
    const second = key.send();
    expect(key.ask().do).toBe('wait');
    key.now += 1_500;
    key.answer(second, 200);
    expect(key.ask().do).toBe('send');
  });

  it('within a known window are counted by ourselves', () => {
    const key = Key.open(2);
    key.answer(key.send(), 200);
    expect(key.state.window?.remaining).toBe(1);
  });
});

it('fault 50: two keys, and two origins, have separate ledgers', async () => {
  const clock = new VirtualClock();
  const ledgers = new MemoryLedgers(clock);
  const intent = { id: 'a', maxWaitMs: 0, reserve: 0 };
  const blocked = ledgers.of('https://a.example', 'key-1');
  await blocked.admit(intent);
  await blocked.answered({ id: 'a', status: 429, headers: { retryAfterMs: 60_000 }, random: 0 });
  const others = [ledgers.of('https://a.example', 'key-2'), ledgers.of('https://b.example', 'key-1')];
  expect((await ledgers.of('https://a.example', 'key-1').admit(intent)).do).toBe('refuse');
  for (const other of others) expect((await other.admit(intent)).do).toBe('send');
});

describe('whatever happens', () => {
  type Event =
    | { readonly type: 'ask' }
    | { readonly type: 'pass'; readonly ms: number }
    | { readonly type: 'lose'; readonly which: number; readonly sent: boolean }
    | ({ readonly type: 'answer'; readonly which: number } & Pick<Answer, 'status' | 'headers' | 'random'>);

  const headers: fc.Arbitrary<LimitHeaders> = fc.record(
    {
      window: fc
        .tuple(fc.nat(100), fc.nat(100), fc.integer({ min: 0, max: 100_000 }))
        .map(([a, b, resetInMs]) => ({ limit: Math.max(a, b), remaining: Math.min(a, b), resetInMs })),
      retryAfterMs: fc.integer({ min: 0, max: 200_000 }),
    },
    { requiredKeys: [] },
  );
  const event: fc.Arbitrary<Event> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('ask' as const) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.nat(50_000) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('lose' as const), which: fc.nat(5), sent: fc.boolean() }) },
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('answer' as const),
        which: fc.nat(5),
        status: fc.constantFrom(200, 200, 200, 429, 401, 403, 500),
        headers,
        random: fc.double({ min: 0, max: 0.999, noNaN: true }),
      }),
    },
  );

  it('nothing is sent within a block, nor more than what is left of a live window', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const key = new Key();
        const flying: string[] = [];
        for (const each of events) {
          if (each.type === 'pass') key.now += each.ms;
          else if (each.type === 'ask') {
            const { block, window: live } = key.state;
            const inFlight = key.state.inFlight.length;
            const { do: done, id } = key.ask();
            if (done !== 'send') continue;
            flying.push(id);
            expect(block === undefined || key.now >= block.until).toBe(true);
            if (block === undefined && live !== undefined && key.now < live.resetAt) {
              expect(inFlight).toBeLessThan(live.remaining);
            }
          } else if (flying.length > 0) {
            const [id] = flying.splice(each.which % flying.length, 1) as [string];
            if (each.type === 'lose') key.lose(id, each.sent);
            else key.answer(id, each.status, each.headers, each.random);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
