import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { count, limitHeaders } from '../../src/sandbox/limiter.ts';
import { DEFAULT_RULES, type Plan, PLANS, type Rules } from '../../src/sandbox/plans.ts';
import type { Store } from '../../src/sandbox/sandbox-store.ts';
import { createHome } from '../support/home.ts';
import { newStore } from '../support/sandbox.ts';
import { START } from '../support/virtual-clock.ts';

/** What requests at these seconds get: outcome, what is left, Retry-After. */
async function asked(changed: Partial<Rules>, seconds: readonly number[]) {
  const store = await newStore();
  const rules = { ...DEFAULT_RULES, ...changed };
  return seconds.map((second) => {
    const now = START + second * 1_000;
    const verdict = count(store, rules, 'key', now);
    const { 'Retry-After': retryAfter } = limitHeaders(verdict, now, rules);
    return [verdict.outcome, verdict.remaining, retryAfter];
  });
}

const of = (plan: Plan): Partial<Rules> => ({ plan });

describe('the limits', () => {
  it.each([
    ['a minute', { perMinute: 2, perDay: 1_000 }, [0, 1, 2, 59.5, 60], '58'],
    [
      'a day, which may end before the minute’s are spent',
      { perMinute: 60, perDay: 2 },
      [0, 61, 122, 86_399, 86_400],
      '86278',
    ],
  ])('of %s', async (_what, plan, seconds, wait) => {
    expect(await asked(of(plan), seconds)).toEqual([
      ['allowed', 1, undefined],
      ['allowed', 0, undefined],
      ['spent', 0, wait],
      ['spent', 0, '1'],
      ['allowed', 1, undefined],
    ]);
  });

  it('of both at once: sends the later end', async () => {
    expect(await asked(of({ perMinute: 1, perDay: 1 }), [0, 1])).toEqual([
      ['allowed', 0, undefined],
      ['spent', 0, '86399'],
    ]);
  });

  it('hold from one run to the next, and for each key', async () => {
    const path = join(createHome().path, 'sandbox.db');
    const rules = { ...DEFAULT_RULES, plan: { perMinute: 1, perDay: 10 } };
    const first = await newStore(path);
    const counted = (store: Store, key: string) => store.exclusively(() => count(store, rules, key, START).outcome);
    expect(await counted(first, 'a')).toBe('allowed');
    first[Symbol.dispose]();
    const second = await newStore(path);
    expect(await Promise.all(['a', 'b'].map((key) => counted(second, key)))).toEqual(['spent', 'allowed']);
  });

  it('are the plans of the service', () => {
    expect(PLANS).toEqual({
      free: { perMinute: 60, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 10_000 },
      business: { perMinute: 1_000, perDay: 100_000 },
    });
  });

  it('Retry-After as a date, where asked', async () => {
    const rules = { plan: { perMinute: 1, perDay: 9 }, retryAfterFormat: 'date' } as const;
    expect((await asked(rules, [0, 1]))[1]).toEqual(['spent', 0, new Date(START + 60_000).toUTCString()]);
  });

  it.each([
    ['a window', [0, -3_600]],
    ['a block', [0, 1, -3_600]],
    ['a ban', [0, 1, 2, -3_600]],
    ['a ban long after the window began', [0, 1, 50_000, 10_000]],
  ])('%s ends with a clock that was set back', async (_what, seconds) => {
    const answers = await asked({ ...of({ perMinute: 1, perDay: 9 }), banAfter: 1 }, seconds);
    expect(answers.at(-1)).toEqual(['allowed', 0, undefined]);
  });

  it('ban nobody before 1970', async () => {
    const before = -START / 1_000 - 60;
    const answers = await asked(of({ perMinute: 1, perDay: 9 }), [before, before + 1, before + 60]);
    expect(answers.map(([outcome]) => outcome)).toEqual(['allowed', 'spent', 'allowed']);
  });
});

describe('fault 111: early after a 429', () => {
  const rules = { plan: { perMinute: 1, perDay: 100 }, banAfter: 3, banFor: 100_000 };
  const outcomes = async (more: Partial<Rules>, seconds: readonly number[]) =>
    (await asked({ ...rules, ...more }, seconds)).map(([outcome, , retryAfter]) => [outcome, retryAfter]);

  it('is counted, and the third time the key is banned, for everything', async () => {
    expect(await outcomes({}, [0, 1, 2, 3, 4, 61, 103.5, 104])).toEqual([
      ['allowed', undefined],
      ['spent', '59'],
      ['spent', '58'],
      ['spent', '57'],
      ['banned', '100'],
      ['banned', '43'],
      ['banned', '1'],
      ['allowed', undefined],
    ]);
  });

  it('a client that waits as asked starts anew', async () => {
    const polite = [0, 1, 2, 3, 60, 61, 62, 63];
    expect((await outcomes({}, polite)).map(([outcome]) => outcome)).toEqual([
      'allowed',
      ...Array.from({ length: 3 }, () => 'spent'),
      'allowed',
      ...Array.from({ length: 3 }, () => 'spent'),
    ]);
  });

  it('bans no client where that is off', async () => {
    const eager = Array.from({ length: 50 }, (_, i) => i);
    expect(new Set((await outcomes({ banAfter: 0 }, eager)).slice(1).map(([outcome]) => outcome))).toEqual(
      new Set(['spent']),
    );
  });
});
