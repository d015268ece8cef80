import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Block,
  decide,
  forecast,
  type Hold,
  type LedgerState,
  learn,
  lose,
  observe,
  UNKNOWN,
} from '../../src/rate-limit/governor.ts';
import type { LimitHeaders } from '../../src/rate-limit/headers.ts';
import type { Demand, Reservation, Window } from '../../src/rate-limit/windows.ts';

const LIST = 'GET /inventory';
const SET = 'PATCH /inventory/{id}';

const window = (remaining: number, resetInMs = 60_000, limit = 60): LimitHeaders => ({
  window: { limit, remaining, resetInMs },
  resetMs: resetInMs,
  ...(remaining > 0 && { hasRemaining: true }),
});

/** One key's state with a clock, so that a test reads as what happens. */
class Key {
  state: LedgerState = UNKNOWN;
  now = 1_000;
  private ids = 0;

  private readonly operations = new Map<string, string>();

  /** How many more may be sent at once, the last ones one after another. */
  room(operation = LIST): number {
    let room = 0;
    while (this.forecast({ operation, count: room + 1 }) === undefined) room++;
    return room;
  }

  forecast(demand: Partial<Demand>): Hold | undefined {
    return forecast(this.state, this.now, { operation: LIST, reserve: 0, ...demand });
  }

  /** Asks to send: `why` it has to wait, or `sent`. */
  ask(operation = LIST, reserve = 0): { readonly id: string; readonly why: string } & Partial<Omit<Hold, 'why'>> {
    const id = `r${this.ids++}`;
    this.operations.set(id, operation);
    const { state, hold } = decide(this.state, this.now, { id, operation, reserve, timeoutMs: 30_000 });
    this.state = state;
    return { id, why: 'sent', ...hold };
  }

  /** Asks and must be let through. */
  send(operation = LIST): string {
    const { id, why } = this.ask(operation);
    expect(why).toBe('sent');
    return id;
  }

  answer(id: string, status: number, headers: LimitHeaders = {}, random = 0): void {
    const operation = this.operations.get(id) ?? LIST;
    this.state = observe(this.state, this.now, { id, operation, status, headers, random });
  }

  /** One request, answered so. */
  meets(status: number, headers?: LimitHeaders, random?: number): this {
    this.answer(this.send(), status, headers, random);
    return this;
  }

  /** One request, answered with what is left. */
  exchange(operation: string, remaining: number, resetInMs?: number, limit?: number): this {
    this.answer(this.send(operation), 200, window(remaining, resetInMs, limit));
    return this;
  }

  passes(ms: number): this {
    this.now += ms;
    return this;
  }

  lose(id: string, mayHaveBeenSent: boolean): void {
    this.state = lose(this.state, this.now, id, mayHaveBeenSent);
  }

  /** A key whose window is known. */
  static open(remaining: number, resetInMs?: number): Key {
    return new Key().exchange(LIST, remaining, resetInMs);
  }
}

describe('an unknown window', () => {
  it('lets one request through; others wait for its answer', () => {
    const key = new Key();
    const first = key.send();
    expect(key.ask()).toMatchObject({ why: 'asking', until: 36_000, again: key.now + 50 });
    key.answer(first, 200, window(59));
    expect(key.ask().why).toBe('sent');
  });

  it('lets another one through when the answer never comes', () => {
    const key = new Key();
    key.lose(key.send(), true);
    expect(key.ask().why).toBe('sent');
    const killed = new Key();
    killed.send();
    killed.now += 121_000;
    expect(killed.ask().why).toBe('sent');
  });
});

describe('an open window', () => {
  it('is spent to its last request, then waited out', () => {
    const key = Key.open(5);
    const ids = [key.send(), key.send(), key.send()];
    for (const [i, id] of ids.entries()) key.answer(id, 200, window(4 - i));
    key.exchange(LIST, 1);
    key.exchange(LIST, 0);
    expect(key.ask()).toMatchObject({ why: 'window-spent', until: 61_000 });
    key.now = 61_000;
    expect(key.ask().why).toBe('sent');
    expect(key.ask().why).toBe('asking');
  });

  it('gives back what was certainly not sent, and counts what may have been', () => {
    const key = Key.open(1);
    key.lose(key.send(), false);
    key.lose(key.send(), true);
    expect(key.ask().why).toBe('window-spent');
  });

  it('counts a lost request also where the service answered another one before it', () => {
    const key = Key.open(6);
    const [lost, answered] = [key.send(), key.send()];
    key.lose(lost, true);
    key.answer(answered, 200, window(5));
    expect(key.room()).toBe(4);
    // It may still be on its way.
    expect(key.exchange(LIST, 4).room()).toBe(3);
    // The answer to a later request includes it.
    expect(key.passes(5_001).exchange(LIST, 3, 54_999).room()).toBe(3);
  });

  it.each([
    { lengthMs: 60_000, lateMs: 5_000, room: 46 },
    { lengthMs: 60_000, lateMs: 5_001, room: 47 },
    { lengthMs: 8_000, lateMs: 2_001, room: 47 },
  ])('of $lengthMs ms: one of another operation, until an answer $lateMs ms later', ({ lengthMs, lateMs, room }) => {
    const key = new Key();
    const exchange = (operation: string, remaining: number): void => {
      const left = { limit: 60, remaining, resetInMs: 61_000 - key.now, lengthMs };
      key.answer(key.send(operation), 200, { window: left });
    };
    exchange(LIST, 50);
    exchange(SET, 49);
    key.lose(key.send(SET), true);
    key.passes(lateMs);
    exchange(LIST, 47);
    expect(key.room()).toBe(room);
  });

  it('counts each lost request until an answer of its own window includes it', () => {
    const key = new Key().exchange(SET, 5, 60_000, 6).exchange(LIST, 9);
    for (const operation of [LIST, SET]) key.lose(key.send(operation), true);
    key.passes(5_001).exchange(LIST, 7, 54_999);
    key.lose(key.send(), true);
    expect([key.room(), key.room(SET)]).toEqual([6, 4]);
  });

  it('lets none of the last two go while a lost one may still arrive', () => {
    const key = Key.open(3);
    key.lose(key.send(), true);
    expect(key.ask().why).toBe('asking');
    expect(key.passes(5_001).ask().why).toBe('sent');
  });

  it('counts it also in a window that is first known by such an answer', () => {
    const key = Key.open(9);
    const lost = key.send(SET);
    const answered = key.passes(1_000).send(SET);
    key.lose(lost, true);
    key.answer(answered, 200, window(8, 59_000));
    expect(key.room(SET)).toBe(7);
  });

  it('fault 42: its last two requests go one at a time: another client may take one of them', () => {
    const key = Key.open(4);
    const [first, second] = [key.send(), key.send()];
    expect(key.ask()).toMatchObject({ why: 'asking', until: 61_000, again: key.now + 50 });
    key.answer(first, 200, window(3));
    expect(key.ask().why).toBe('asking');
    key.answer(second, 200, window(1));
    const last = key.send();
    expect(key.ask()).toMatchObject({ why: 'window-spent', until: 61_000 });
    key.answer(last, 200, window(0));
    expect(key.ask()).toMatchObject({ why: 'window-spent' });
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
    ['fault 31: Reset alone, however far', window(5, 3_600_000), 3_601_000],
    ['fault 31: something that cannot be read: at least 60 s', { retryAfterMs: 5_000, unreadable: true }, 61_000],
    [
      'Reset of a window with requests left, beside Retry-After',
      { ...window(9_000, 3_600_000), retryAfterMs: 5_000 },
      6_000,
    ],
    ['fault 49: ten years: a day', { retryAfterMs: 10 * 365 * 86_400_000 }, 86_400_000],
  ])('blocks: %s', (_name, headers, ms) => {
    const key = Key.open(50).meets(429, headers);
    expect(key.ask()).toMatchObject({ why: 'rate-limited', until: 1_000 + ms });
    key.now += ms - 1;
    expect(key.ask().why).toBe('rate-limited');
    key.now += 1;
    expect(key.ask().why).toBe('sent');
  });

  it('jitter only adds: at most 10 %, at most 5 s', () => {
    const wait = (retryAfterMs: number): number => {
      const key = Key.open(50).meets(429, { retryAfterMs }, 0.999_999);
      const { until } = key.state.block!;
      return until - 1_000;
    };
    expect([wait(10_000), wait(1_000_000)].map(Math.round)).toEqual([12_000, 1_006_000]);
  });

  it('fault 41: when the block ends, exactly one of eight that wait goes first', () => {
    const key = Key.open(50).meets(429, { retryAfterMs: 30_000 });
    key.now += 31_000;
    const decisions = Array.from({ length: 8 }, () => key.ask());
    expect(decisions.map(({ why }) => why)).toEqual(['sent', ...Array.from({ length: 7 }, () => 'asking')]);
    key.answer(decisions[0]!.id, 200, window(50));
    expect(key.ask().why).toBe('sent');
  });

  it('again doubles the wait; another answer resets it', () => {
    const key = Key.open(50);
    const waits: number[] = [];
    for (let strike = 0; strike < 4; strike++) {
      key.meets(429, { retryAfterMs: 10_000 });
      waits.push(key.state.block!.until - key.now);
      key.now = key.state.block!.until;
    }
    expect(waits).toEqual([11_000, 21_000, 41_000, 81_000]);
    key.meets(404, window(50));
    key.meets(429, { retryAfterMs: 10_000 });
    expect(key.state.block!.until - key.now).toBe(11_000);
  });

  it('of a gateway never doubles the wait that it names', () => {
    const key = Key.open(50);
    for (let strike = 0; strike < 4; strike++) {
      key.meets(429, { retryAfterMs: 10_000, isOfGateway: true });
      expect(key.state.block!.until - key.now).toBe(11_000);
      key.now = key.state.block!.until;
    }
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
            key.meets(429, { retryAfterMs }, random);
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

describe('a 403', () => {
  it.each<readonly [string, LimitHeaders, number]>([
    ['fault 22: that names nothing: an hour', {}, 3_600_000],
    ['fault 22: whose window has requests left: an hour', window(49), 3_600_000],
    ['whose window has requests left for longer than an hour: as long', window(49, 7_200_000), 7_200_000],
    ['whose window has requests left for a month: a day', window(49, 30 * 86_400_000), 86_400_000],
    ['fault 126: with Retry-After: as long', { retryAfterMs: 7_200_000 }, 7_201_000],
    ['fault 126: with a short Retry-After: a minute', { retryAfterMs: 3_000 }, 61_000],
    ['fault 126: with nothing left until Reset: as long', window(0, 600_000), 601_000],
    ['for ten years: a day', { retryAfterMs: 10 * 365 * 86_400_000 }, 86_400_000],
  ])('%s', (_name, headers, ms) => {
    const key = Key.open(50).meets(403, headers);
    expect(key.ask()).toMatchObject({ why: 'banned', until: 1_000 + ms });
  });
});

describe('a 503', () => {
  it.each<readonly [string, LimitHeaders, number | undefined]>([
    ['fault 135: with Retry-After pauses for as long', { retryAfterMs: 5_000 }, 6_000],
    ['fault 135: with nothing left until Reset pauses for as long', window(0, 40_000), 41_000],
    ['fault 135: with something that cannot be read pauses for a minute', { unreadable: true }, 61_000],
    ['that names no time pauses nothing', window(49), undefined],
    ['without headers pauses nothing', {}, undefined],
  ])('%s', (_name, headers, ms) => {
    const key = Key.open(50).meets(503, headers);
    if (ms === undefined) expect(key.ask().why).toBe('sent');
    else expect(key.ask()).toMatchObject({ why: 'paused', until: 1_000 + ms });
  });

  it('adds no strike, and after its pause one probe goes first', () => {
    const key = Key.open(50).meets(503, { retryAfterMs: 5_000 });
    expect(key.state.strikes).toBe(0);
    key.now += 6_000;
    expect([key.ask().why, key.ask().why]).toEqual(['sent', 'asking']);
  });
});

describe('fault 133: limits of each operation', () => {
  it('neither stalls the other', () => {
    const key = new Key().exchange(LIST, 99, 3_600_000, 100).exchange(SET, 5, 3_000, 6);
    for (let left = 4; left >= 0; left--) key.exchange(SET, left, 3_000, 6);
    expect(key.ask(SET)).toMatchObject({ why: 'window-spent', until: 4_000 });
    expect(key.ask(LIST).why).toBe('sent');
    key.now = 4_000;
    expect(key.ask(SET).why).toBe('sent');
  });

  it('a spent window of an hour leaves the other operation alone, once it has been seen to have its own', () => {
    const key = new Key().exchange(LIST, 1, 3_600_000, 100).exchange(SET, 5, 3_000, 6);
    key.exchange(LIST, 0, 3_600_000, 100);
    expect([key.ask(LIST).why, key.ask(SET).why]).toEqual(['window-spent', 'sent']);
    key.now += 600_000;
    expect([key.ask(LIST).why, key.ask(SET).why]).toEqual(['window-spent', 'sent']);
  });

  it('an operation whose own window was spent before a block does not send the probe after it', () => {
    const key = new Key().exchange(SET, 5, 3_000, 6).exchange(LIST, 0, 3_600_000, 100).passes(1);
    key.answer(key.send(SET), 429, { ...window(0, 3_000, 6), retryAfterMs: 3_000 });
    key.passes(4_000);
    expect(key.ask(LIST)).toMatchObject({ why: 'window-spent', until: 3_601_000 });
    expect(key.ask(SET).why).toBe('sent');
  });

  it('an operation that no answer has named yet waits for its first answer, and for a window that is spent', () => {
    const key = new Key().exchange(LIST, 10);
    const first = key.send(SET);
    expect(key.ask(SET)).toMatchObject({ why: 'asking' });
    expect(key.ask(LIST).why).toBe('sent');
    key.answer(first, 200, window(8));
    expect(key.ask(SET).why).toBe('sent');
    const spent = new Key().exchange(LIST, 0);
    expect(spent.ask(SET)).toMatchObject({ why: 'window-spent' });
  });

  describe('beside its first request, which is slow, another one', () => {
    const whenAsked = (key: Key, ms: number): string => {
      key.now += ms;
      return key.ask(SET).why;
    };

    it('goes each second, where a window is known that has room', () => {
      const key = Key.open(10);
      key.send(SET);
      expect([999, 1, 999, 1].map((ms) => whenAsked(key, ms))).toEqual(['asking', 'sent', 'asking', 'sent']);
    });

    it.each<readonly [string, () => Key]>([
      ['no window is known', () => new Key()],
      [
        'a block has just ended',
        () =>
          Key.open(10, 600_000)
            .meets(429, { ...window(9, 600_000), retryAfterMs: 2_000 })
            .passes(3_000),
      ],
      [
        'answers have named its window before, which is over',
        () => Key.open(10, 600_000).exchange(SET, 5, 3_000, 6).passes(3_000),
      ],
    ])('never goes where %s', (_name, begin) => {
      const key = begin();
      key.send(SET);
      expect(whenAsked(key, 5_000)).toBe('asking');
    });
  });

  it('operations that name the same limit and end share one window, in every window that follows', () => {
    const key = new Key().exchange(LIST, 59).exchange(SET, 58);
    expect([key.room(LIST), key.room(SET)]).toEqual([58, 58]);
    key.now += 60_000;
    key.exchange(SET, 0);
    expect(key.ask(LIST)).toMatchObject({ why: 'window-spent' });
  });

  it('share the next one also while the last of one of them is still believed to last: services round its end up', () => {
    const key = new Key().exchange(LIST, 59, 60_000).exchange(SET, 58, 59_000);
    key.now += 59_000;
    key.exchange(SET, 0, 60_000);
    expect(key.ask(LIST).why).toBe('window-spent');
  });

  it('share its end: once the first of them is over, only a probe goes: a sliding window has room for one more', () => {
    const key = new Key().exchange(LIST, 37, 4_200).exchange(SET, 0, 4_000).passes(4_000);
    expect([key.ask(SET).why, key.ask(LIST).why]).toEqual(['sent', 'asking']);
  });

  it('share one also where a slow answer names its end later', () => {
    const key = new Key().exchange(SET, 59);
    const list = key.send(LIST);
    key.passes(5_000).answer(list, 200, window(58));
    key.exchange(SET, 0, 55_000);
    expect(key.ask(LIST).why).toBe('window-spent');
  });

  it('the same limit with more left than a shared window can have is a window of its own', () => {
    const key = new Key().exchange(LIST, 59).exchange(SET, 59);
    for (let left = 58; left >= 10; left--) key.exchange(SET, left);
    expect([key.room(LIST), key.room(SET)]).toEqual([10, 10]);
    key.now += 30_000;
    key.exchange(LIST, 58, 30_000);
    expect([key.room(LIST), key.room(SET)]).toEqual([58, 10]);
  });

  describe('proof that windows are two needs an answer that tells', () => {
    const END = 601_000;
    const exchange = (key: Key, operation: string, remaining: number): void => {
      key.exchange(operation, remaining, END - key.now);
    };
    const shared = (): Key => {
      const key = new Key();
      exchange(key, LIST, 40);
      exchange(key, SET, 39);
      key.now += 1_000;
      return key;
    };
    /** The updates take all that is left: the list is held only if its window is the same. */
    const isHeld = (key: Key, end = END): boolean => {
      key.exchange(SET, 0, end - key.now);
      return key.ask(LIST).why !== 'sent';
    };

    it('one with more left than the other had', () => {
      const key = shared();
      exchange(key, LIST, 39);
      expect(isHeld(key)).toBe(false);
    });

    it('not one that was sent before the other’s', () => {
      const key = shared();
      const list = key.send(LIST);
      key.now += 1_000;
      exchange(key, SET, 37);
      key.answer(list, 200, window(38, END - key.now));
      expect(isHeld(key)).toBe(true);
    });

    it('not one that names as much as we have counted: a lost request may not have arrived', () => {
      const key = shared();
      key.lose(key.send(SET), true);
      key.lose(key.send(SET), true);
      exchange(key, SET, 38);
      key.now += 1_000;
      exchange(key, LIST, 37);
      expect(isHeld(key)).toBe(true);
    });

    it('not one of the next window, while the other is only believed to last: services round its end up', () => {
      const key = new Key().exchange(LIST, 5, 2_000).exchange(SET, 4, 4_000);
      key.now += 2_000;
      key.exchange(LIST, 59, 4_000);
      key.now += 100;
      key.exchange(LIST, 58, 3_900);
      expect(isHeld(key, 7_000)).toBe(true);
    });

    it('not one of the next window, of a request that was sent in the last one', () => {
      const key = new Key().exchange(SET, 12, 3_000, 20).passes(100).exchange(LIST, 11, 3_000, 20).passes(1_500);
      key.exchange(SET, 19, 3_950, 20).exchange(SET, 0, 3_900, 20);
      expect(key.ask(LIST).why).toBe('window-spent');
    });

    it.each([400, 404, 500])('not a %i, which some services do not count', (status) => {
      const key = shared();
      key.answer(key.send(SET), status, window(39, END - key.now));
      key.now += 1_000;
      key.answer(key.send(LIST), status, window(39, END - key.now));
      expect(isHeld(key)).toBe(true);
    });

    it('not a refusal, which draws nothing', () => {
      const key = shared();
      for (const operation of [SET, LIST]) {
        key.answer(key.send(operation), 429, { ...window(38, END - key.now), retryAfterMs: 5_000 });
        key.now = key.state.block!.until;
      }
      key.now = END;
      key.exchange(LIST, 59);
      key.exchange(SET, 58);
      expect(isHeld(key, END + 60_000)).toBe(true);
    });
  });
});

it('a reserve never keeps all of a small window', () => {
  const key = new Key().exchange(LIST, 2, 3_000, 2);
  expect([key.ask(LIST, 10).why, key.ask(LIST, 10).why]).toEqual(['sent', 'window-spent']);
});

describe('fault 44: answers without limits', () => {
  it('one in flight, one a second', () => {
    const key = new Key();
    const first = key.send();
    key.now += 100;
    key.answer(first, 200);
    expect(key.ask()).toMatchObject({ until: 2_000 });
    key.now = 2_000;
    const second = key.send();
    expect(key.ask().why).toBe('asking');
    key.now += 1_500;
    key.answer(second, 200);
    expect(key.ask().why).toBe('sent');
  });

  it('a 429 halves the pace, which then recovers slowly', () => {
    const key = new Key();
    const pace = (): number => {
      key.now = Math.max(key.state.block?.until ?? 0, key.state.pace?.nextAt ?? 0, key.now);
      const id = key.send();
      const at = key.now;
      key.answer(id, 200);
      return key.state.pace!.nextAt - at;
    };
    expect(pace()).toBe(1_000);
    key.now = key.state.pace!.nextAt;
    key.meets(429);
    expect(pace()).toBe(1_998);
    const paces = Array.from({ length: 1_000 }, pace);
    expect(paces.every((each, i) => i === 0 || each <= paces[i - 1]!)).toBe(true);
    expect([paces[100]! > 1_800, paces.at(-1)]).toEqual([true, 1_000]);
  });

  it.each([
    ['of the same operation', LIST, 1_000],
    ['of another operation', SET, 1_998],
  ])('the pace is forgotten once an answer %s has headers', (_which, operation, everyMs) => {
    const key = new Key();
    key.answer(key.send(), 429);
    key.now = key.state.block!.until;
    key.exchange(operation, 59);
    key.now += 61_000;
    key.answer(key.send(), 502);
    expect(key.ask()).toMatchObject({ why: 'paced', until: key.now + everyMs });
  });
});

describe('a forecast', () => {
  const HOUR = 3_600_000;
  const blocked = () => Key.open(50).meets(429, { retryAfterMs: 30_000 });
  const unlimited = () => new Key().meets(200);
  /** With so many requests under way. */
  const busy = (remaining: number, requests: number): Key => {
    const key = Key.open(remaining);
    for (let i = 0; i < requests; i++) key.send();
    return key;
  };
  const edge = () => busy(3, 1);
  const others = () => busy(40, 8);
  /** A window of 60 with so many left that ends in 20 s, and the one before ended so long before that. */
  const second = (remaining: number, lengthMs: number) =>
    Key.open(0, lengthMs)
      .passes(lengthMs)
      .exchange(LIST, remaining, lengthMs)
      .passes(lengthMs - 20_000);
  const rested = () => second(10, 40_000).passes(500_000).exchange(LIST, 10, 20_000);
  const named = (lengthMs: number) =>
    new Key().meets(200, { window: { limit: 60, remaining: 10, resetInMs: 20_000, lengthMs } });
  const day = () => Key.open(0, HOUR).passes(HOUR).exchange(LIST, 999, 86_400_000, 1_000).exchange(LIST, 0, 60_000);
  const rolling = () => Key.open(50, 20_000).passes(5_000).exchange(LIST, 49, 20_000);
  const mixed = () => unlimited().passes(1_000).exchange(LIST, 40);
  const resumed = () => Key.open(0).passes(60_000).meets(502);

  it.each<readonly [string, () => Key, Partial<Demand>, (Partial<Hold> & { readonly inMs: number }) | undefined]>([
    ['nothing is known: one may ask', () => new Key(), {}, undefined],
    ['room for one', () => Key.open(1), {}, undefined],
    ['room for all', () => Key.open(20), { count: 20 }, undefined],
    ['room beside the reserve', () => Key.open(20), { count: 10, reserve: 10 }, undefined],
    ['a block', blocked, {}, { why: 'rate-limited', inMs: 31_000 }],
    ['a block, however many', blocked, { count: 500 }, { why: 'rate-limited', inMs: 31_000 }],
    ['a spent window: its end', () => Key.open(0), {}, { why: 'window-spent', inMs: 60_000 }],
    ['only the reserve is left: its end', () => Key.open(5), { reserve: 5 }, { why: 'window-spent', inMs: 60_000 }],
    ['more than a tenth of the limit is left', () => Key.open(7), { reserve: 0.1 }, undefined],
    ['a tenth of it is left: its end', () => Key.open(6), { reserve: 0.1 }, { why: 'window-spent', inMs: 60_000 }],
    ['one too many: its end', () => Key.open(20), { count: 21 }, { why: 'window-spent', inMs: 60_000 }],
    ['a whole window more: its end', () => Key.open(20), { count: 80 }, { why: 'window-spent', inMs: 60_000 }],
    ['and one more: the end after', () => Key.open(20), { count: 81 }, { why: 'window-spent', inMs: 120_000 }],
    ['each window keeps the reserve', () => Key.open(20), { count: 61, reserve: 10 }, { inMs: 120_000 }],
    ['a window as long as the one before', () => second(10, 40_000), { count: 130 }, { inMs: 20_000 + 40_000 }],
    ['a window as long as ever, after a long rest', rested, { count: 130 }, { inMs: 20_000 + 40_000 }],
    ['a window of an hour', () => second(10, HOUR), { count: 130 }, { inMs: 20_000 + HOUR }],
    ['a window whose length is named', () => named(30_000), { count: 130 }, { inMs: 20_000 + 30_000 }],
    ['of unknown length: a minute at least', () => Key.open(10, 20_000), { count: 130 }, { inMs: 20_000 + 60_000 }],
    ['of unknown length: what is left of it', () => Key.open(10, HOUR), { count: 130 }, { inMs: 2 * HOUR }],
    ['a length is that of one limit, not of another', day, { count: 61 }, { inMs: 60_000 + 60_000 }],
    ['an end that moves tells no length', rolling, { count: 110 }, { inMs: 20_000 + 60_000 }],
    ['requests under way count as sent', others, { count: 33 }, { inMs: 60_000 }],
    ['below the reserve: the end of this window', others, { reserve: 50 }, { inMs: 60_000 }],
    ['the edge: when the answer comes', edge, {}, { why: 'asking', inMs: 60_000, again: 1_050 }],
    ['the edge, for more than is left', edge, { count: 3 }, { why: 'window-spent', inMs: 60_000 }],
    ['no headers: one a second', unlimited, {}, { why: 'paced', inMs: 1_000 }],
    ['no headers: as many seconds', unlimited, { count: 10 }, { why: 'paced', inMs: 10_000 }],
    ['one answer without headers, before those of another operation', mixed, { operation: SET, count: 10 }, undefined],
    ['one answer without headers, after a window of its own', resumed, { count: 10 }, undefined],
    ['a share of plenty, evenly', () => Key.open(60), { share: 0.5 }, { inMs: 2_000 }],
    ['a share of little', () => Key.open(4), { share: 0.5 }, { inMs: 30_000 }],
    ['a share of next to nothing: the next window', () => Key.open(1), { share: 0.5 }, { inMs: 60_000 }],
  ])('%s', (_name, make, demand, expected) => {
    const key = make();
    const { inMs = 0, ...rest } = expected ?? {};
    const hold = key.forecast(demand);
    if (expected === undefined) expect(hold).toBeUndefined();
    else expect(hold).toMatchObject({ ...rest, until: key.now + inMs });
  });
});

describe('a window, to the ms', () => {
  const NOW = 1_000_000;
  const open = (remaining: number, resetAt = NOW + 60_000, more: Partial<Window> = {}): Window => ({
    ...{
      operation: LIST,
      limit: 60,
      remaining,
      resetAt,
      slackMs: 0,
      seenAt: NOW - 1_000,
      answeredAt: NOW - 500,
      sentAt: 0,
      apart: {},
    },
    ...more,
  });
  const sent = (at: number) => ({ id: 'a', operation: LIST, at, lostAt: at + 120_000 });
  const reported = (remaining: number, resetInMs = 60_000, limit = 60): LimitHeaders => ({
    window: { limit, remaining, resetInMs },
  });
  const observed = (from: LedgerState, headers: LimitHeaders): LedgerState =>
    observe(from, NOW, { id: 'a', operation: LIST, status: 200, headers, random: 0 });
  const before = (window: Partial<Window> = {}, more: Partial<LedgerState> = {}) => ({
    ...UNKNOWN,
    windows: [open(40, undefined, window)],
    inFlight: [sent(NOW - 10)],
    ...more,
  });
  /** How many more may be sent, and from when on the one after. */
  const room = (from: LedgerState) => {
    const after = (count: number) => forecast(from, NOW, { operation: LIST, reserve: 0, count });
    let left = 0;
    while (after(left + 1) === undefined) left++;
    return [left, after(left + 1)?.until];
  };

  it.each<readonly [string, LedgerState, LimitHeaders, readonly [number, number]]>([
    ['stays the same: the lesser is left, the earlier end', before(), reported(39, 59_500), [39, NOW + 59_500]],
    ['stays the same: more left is an older answer', before(), reported(45), [40, NOW + 60_000]],
    ['stays the same though named to end a little later', before(), reported(39, 62_500), [39, NOW + 60_000]],
    ['stays the same though named to end a little earlier', before(), reported(39, 57_500), [39, NOW + 57_500]],
    ['is perhaps the same: a slow answer names its end later', before(), reported(45, 62_510), [40, NOW + 62_510]],
    ['is a new one', before(), reported(59, 62_511), [59, NOW + 62_511]],
    ['is over, and so a new one', before({ resetAt: NOW }), reported(59, 1_000), [59, NOW + 1_000]],
    ['another client drew from it', before(), reported(20), [20, NOW + 60_000]],
    [
      'a word from the one before',
      before({}, { inFlight: [sent(NOW - 1_001)] }),
      reported(3, 57_499),
      [40, NOW + 60_000],
    ],
    [
      'no word from the one before: sent since',
      before({}, { inFlight: [sent(NOW - 1_000)] }),
      reported(3, 57_499),
      [3, NOW + 57_499],
    ],
    ['no word from the one before: unknown', before({}, { inFlight: [] }), reported(3, 57_499), [3, NOW + 57_499]],
    ['of another limit replaces it', before(), reported(3, 57_499, 5), [3, NOW + 57_499]],
    ['without headers is counted', before(), {}, [39, NOW + 60_000]],
  ])('%s', (_name, from, headers, after) => {
    expect(room(observed(from, headers))).toEqual(after);
  });

  it.each<readonly [string, readonly Window[], boolean]>([
    ['of one limit and end is shared', [open(40), open(0, NOW + 57_500, { operation: SET })], true],
    ['of another end is not', [open(40), open(0, NOW + 57_499, { operation: SET })], false],
    ['of another limit is not', [open(40), open(0, undefined, { operation: SET, limit: 61 })], false],
    [
      'is not, once the other has proved it',
      [open(40), open(0, undefined, { operation: SET, apart: { [LIST]: true } })],
      false,
    ],
    [
      'is not, once it has proved it',
      [open(40, undefined, { apart: { [SET]: true } }), open(0, undefined, { operation: SET })],
      false,
    ],
    ['that is over holds nothing', [open(40), open(0, NOW, { operation: SET })], false],
    ['of one limit is shared after its own is over', [open(9, NOW), open(0, undefined, { operation: SET })], true],
    ['of another limit is not, even then', [open(9, NOW), open(0, undefined, { operation: SET, limit: 61 })], false],
    ['holds what has none of its own', [open(0, undefined, { operation: SET })], true],
    ['at another address does not', [open(0, undefined, { operation: 'GET @5d0c2f/inventory' })], false],
  ])('%s', (_name, windows, isHeld) => {
    expect(
      decide({ ...UNKNOWN, windows }, NOW, { id: 'new', operation: LIST, reserve: 0, timeoutMs: 30_000 }).hold !==
        undefined,
    ).toBe(isHeld);
  });

  it.each<readonly [string, Block | undefined, string, boolean]>([
    ['before anything is known is waited for', undefined, SET, true],
    ['at another address is not', undefined, 'GET @5d0c2f/inventory', false],
    ['after a block is, at every address', { since: 0, until: NOW - 1, why: 'banned' }, 'GET @5d0c2f/inventory', true],
  ])('a probe %s', (_name, block, operation, isHeld) => {
    const probe: Reservation = { id: 'other', operation, at: NOW, lostAt: NOW + 9_000, isProbe: true };
    const state = { ...UNKNOWN, inFlight: [probe], ...(block !== undefined && { block }) };
    const { hold } = decide(state, NOW, { id: 'new', operation: LIST, reserve: 0, timeoutMs: 30_000 });
    expect(hold !== undefined).toBe(isHeld);
  });

  it('is forgotten where there are more than 32', () => {
    const windows = Array.from({ length: 40 }, (_, i) => open(1, undefined, { operation: `GET /${i}` }));
    const many = observed(before({}, { windows }), reported(39)).windows;
    expect([many.length, many[0]?.operation]).toEqual([32, LIST]);
  });
});

const blocked = (until: number, why: Block['why'] = 'rate-limited'): Block => ({ since: -9_000, until, why });

it.each<readonly [string, Block, Block, Partial<Block>]>([
  ['the later end counts', blocked(5), blocked(9), { until: 9 }],
  ['an earlier end does not', blocked(9), blocked(5), { until: 9 }],
  ['a ban stays one', blocked(5, 'banned'), blocked(9), { until: 9, why: 'banned' }],
  ['a ban that is learnt is one', blocked(9), blocked(5, 'banned'), { until: 9, why: 'banned' }],
  ['a block that is over is replaced', blocked(-9_000, 'banned'), blocked(5), { why: 'rate-limited' }],
])('a block that is learnt: %s', (_name, known, learnt, after) => {
  expect(learn({ ...UNKNOWN, block: known }, learnt).block).toMatchObject(after);
});
