/** The governor at its edges: states to the letter, and the moments at which a decision turns. */
import { describe, expect, it } from 'vitest';
import {
  abandon,
  type Block,
  decide,
  type Decision,
  type LedgerState,
  lose,
  observe,
  unblock,
  UNKNOWN,
  type Window,
} from '../../src/limits/governor.ts';
import type { LimitHeaders } from '../../src/limits/headers.ts';

const NOW = 1_000_000;
const open = (remaining: number, resetAt = NOW + 60_000): Window => ({ limit: 60, remaining, resetAt });
const told = (remaining: number, resetInMs = 60_000, limit = 60): LimitHeaders => ({
  window: { limit, remaining, resetInMs },
});
const flying = (...ats: readonly number[]) => ats.map((at, i) => ({ id: `f${i}`, at }));
const state = (more: Partial<LedgerState>): LedgerState => ({ ...UNKNOWN, ...more });

function ask(before: LedgerState, maxWaitMs = 1e9, now = NOW): Decision {
  return decide(before, now, { id: 'new', maxWaitMs, reserve: 0 }).decision;
}

function answer(before: LedgerState, status: number, headers: LimitHeaders = {}, id = 'f0', now = NOW): LedgerState {
  return observe(before, now, { id, status, headers, random: 0 });
}

const blocked = (until: number, why: Block['why'] = 'rate-limited'): Block => ({ since: NOW - 9_000, until, why });

describe('a wait', () => {
  it('as long as allowed is waited, a longer one refused', () => {
    const before = state({ block: blocked(NOW + 5_000) });
    expect([ask(before, 5_000).do, ask(before, 4_999).do]).toEqual(['wait', 'refuse']);
  });

  it.each<readonly [string, Partial<LedgerState>, Decision]>([
    [
      'for a probe: asks again soon',
      { probe: { id: 'p', at: NOW } },
      { do: 'wait', until: NOW + 120_000, why: 'asking', again: NOW + 50 },
    ],
    [
      'for the probe of a block: the same',
      { probe: { id: 'p', at: NOW - 7_000 }, block: blocked(NOW, 'banned') },
      { do: 'wait', until: NOW + 113_000, why: 'asking', again: NOW + 50 },
    ],
    [
      'without limits: one in flight',
      { pacedUntil: NOW - 1, inFlight: flying(NOW - 10) },
      { do: 'wait', until: NOW + 119_990, why: 'asking', again: NOW + 50 },
    ],
    ['without limits: one a second', { pacedUntil: NOW + 700 }, { do: 'wait', until: NOW + 700, why: 'paced' }],
    ['without limits, but after a block: none', { pacedUntil: NOW + 700, block: blocked(NOW) }, { do: 'send' }],
    ['in a window that nobody else draws on: none', { window: open(2), inFlight: flying(NOW) }, { do: 'send' }],
  ])('%s', (_name, before, decision) => {
    expect(ask(state(before))).toEqual(decision);
  });

  it('for an answer is refused only where not even asking again is allowed', () => {
    const before = state({ probe: { id: 'p', at: NOW } });
    expect([ask(before, 50).do, ask(before, 49).do]).toEqual(['wait', 'refuse']);
  });

  it('near the edge of a shared window is for the one in flight', () => {
    const near = (remaining: number, inFlight: LedgerState['inFlight']) =>
      ask(state({ foreign: true, window: open(remaining), inFlight })).do;
    expect([near(7, flying(NOW)), near(6, flying(NOW)), near(6, []), near(2, [])]).toEqual([
      'send',
      'wait',
      'send',
      'wait',
    ]);
  });
});

describe('what nobody will answer any more', () => {
  const after = (before: Partial<LedgerState>) =>
    decide(state(before), NOW, { id: 'new', maxWaitMs: 0, reserve: 0 }).state;

  it.each<readonly [string, Partial<LedgerState>, readonly string[]]>([
    ['is waited for for two minutes', { inFlight: flying(NOW - 120_000) }, ['f0', 'new']],
    ['and forgotten then', { inFlight: flying(NOW - 120_001) }, ['new']],
    ['but counts while its window lasts', { window: open(9), inFlight: flying(NOW - 120_001) }, ['f0', 'new']],
    ['and no longer', { window: open(9, NOW), inFlight: flying(NOW - 120_001) }, ['new']],
    ['a recent one outlives its window', { window: open(9, NOW), inFlight: flying(NOW - 10) }, ['f0', 'new']],
  ])('%s', (_name, before, ids) => {
    expect(after(before).inFlight.map(({ id }) => id)).toEqual(ids);
  });

  it('a probe too', () => {
    const probing = (at: number) => ask(state({ probe: { id: 'p', at } })).do;
    expect([probing(NOW - 120_000), probing(NOW - 120_001)]).toEqual(['wait', 'send']);
  });
});

describe('an answer', () => {
  it('is about the request it answers, not about another one in flight', () => {
    const before = state({ block: blocked(NOW - 100), inFlight: flying(NOW - 5_000, NOW - 50), strikes: 1 });
    expect([answer(before, 200, {}, 'f0').block, answer(before, 200, {}, 'f1').block]).toEqual([
      before.block,
      undefined,
    ]);
  });

  it('to nobody’s request ends no block, and paces from now', () => {
    const before = state({ block: blocked(NOW - 100), strikes: 3 });
    expect(answer(before, 200, {}, 'gone')).toEqual({ ...before, pacedUntil: NOW + 1_000, seenAt: NOW });
  });

  it('leaves the others’ reservations and their probe alone', () => {
    const probe = { id: 'p', at: NOW - 1 };
    const before = state({ inFlight: [...flying(NOW - 3, NOW - 2), probe], probe, window: open(50), admitted: 3 });
    expect(answer(before, 200, told(49))).toMatchObject({ inFlight: before.inFlight.slice(1), probe });
    expect(answer(before, 200, told(49), 'p').probe).toBeUndefined();
    expect('probe' in answer(state({ inFlight: flying(NOW) }), 200, told(49))).toBe(false);
  });

  it('429: nothing is left of the window that it tells', () => {
    const before = state({ inFlight: flying(NOW - 10), admitted: 1 });
    expect(answer(before, 429, { ...told(7, 30_000), retryAfterMs: 10_000 })).toEqual({
      strikes: 1,
      inFlight: [],
      admitted: 1,
      foreign: false,
      seenAt: NOW,
      block: { since: NOW, until: NOW + 11_000, why: 'rate-limited' },
      window: { limit: 60, remaining: 0, resetAt: NOW + 30_000 },
    });
    expect('window' in answer(before, 429)).toBe(false);
  });

  it.each<readonly [string, Partial<LedgerState>, number, Block['why']]>([
    ['to what was sent before the block is no further strike', { inFlight: flying(NOW - 10) }, 2, 'rate-limited'],
    ['to the probe is one', { inFlight: flying(NOW), block: blocked(NOW) }, 3, 'rate-limited'],
    ['to nobody’s request is one', {}, 3, 'rate-limited'],
    ['leaves a ban a ban', { block: blocked(NOW + 1, 'banned'), inFlight: flying(NOW) }, 2, 'banned'],
    ['after a ban is none', { block: blocked(NOW, 'banned'), inFlight: flying(NOW) }, 3, 'rate-limited'],
  ])('429 %s', (_name, more, strikes, why) => {
    const after = answer(state({ strikes: 2, block: blocked(NOW + 2_000), ...more }), 429);
    expect({ strikes: after.strikes, why: after.block?.why }).toEqual({ strikes, why });
  });

  it('403 never shortens a block', () => {
    const before = state({ block: blocked(NOW + 7_200_000), inFlight: flying(NOW) });
    expect(answer(before, 403).block).toEqual({ since: NOW, until: NOW + 7_200_000, why: 'banned' });
  });
});

describe('the window', () => {
  const seen = { at: NOW - 1_000, remaining: 50, admitted: 10 };
  const before = (more: Partial<LedgerState> = {}) =>
    state({ window: open(40), baseline: seen, admitted: 21, inFlight: flying(NOW - 10), ...more });

  it.each<readonly [string, Partial<LedgerState>, LimitHeaders, Partial<LedgerState>]>([
    ['goes on: the lesser is left, the later end', {}, told(39, 59_500), { window: open(39) }],
    ['goes on: more left is an older word', {}, told(45), { window: open(40) }],
    ['ends a little later', {}, told(39, 62_500), { window: open(39, NOW + 62_500), baseline: seen }],
    [
      'is a new one',
      {},
      told(59, 62_501),
      { window: open(59, NOW + 62_501), baseline: { at: NOW, remaining: 59, admitted: 21 } },
    ],
    [
      'is over, and so a new one',
      { window: open(40, NOW) },
      told(59, 1_000),
      { window: open(59, NOW + 1_000), baseline: { at: NOW, remaining: 59, admitted: 21 } },
    ],
    [
      'counts from now where nobody saw it begin',
      { baseline: undefined },
      told(39),
      { baseline: { at: NOW, remaining: 40, admitted: 21 } },
    ],
    ['ours: all that was drawn', {}, told(39), { foreign: false }],
    ['others’: one more', {}, told(38), { foreign: true }],
    ['a word from the one before', { inFlight: flying(NOW - 1_001) }, told(3, 57_499), { window: open(40) }],
    [
      'no word from the one before: sent since',
      { inFlight: flying(NOW - 1_000) },
      told(3, 57_499),
      { window: open(3) },
    ],
    ['no word from the one before: same end', { inFlight: flying(NOW - 1_001) }, told(3, 57_500), { window: open(3) }],
    [
      'no word from the one before: another limit',
      { inFlight: flying(NOW - 1_001) },
      told(3, 57_499, 5),
      { window: { ...open(3), limit: 5 } },
    ],
    ['no word from the one before: nobody’s', { inFlight: [] }, told(3, 57_499), { window: open(3) }],
  ])('%s', (_name, more, headers, after) => {
    expect(answer(before(more), 200, headers)).toMatchObject(after);
  });

  it('without headers is counted while it lasts, then unknown', () => {
    expect(answer(before(), 200)).toMatchObject({ window: open(39), baseline: seen });
    const { window, baseline, pacedUntil } = answer(before({ window: open(40, NOW) }), 200);
    expect({ window, baseline, pacedUntil }).toEqual({ pacedUntil: NOW - 10 + 1_000 });
  });
});

describe('a request without an answer', () => {
  const before = state({ window: open(40), inFlight: flying(NOW - 2, NOW - 1), admitted: 2 });

  it.each<readonly [string, LedgerState, string, boolean, number, number]>([
    ['counts where it may have been sent', before, 'f1', true, NOW, 39],
    ['does not where it was not', before, 'f1', false, NOW, 40],
    ['does not where it is nobody’s', before, 'gone', true, NOW, 40],
    ['does not once the window is over', before, 'f1', true, NOW + 60_000, 40],
    ['never brings less than nothing', { ...before, window: open(0) }, 'f0', true, NOW, 0],
  ])('%s', (_name, from, id, sent, now, remaining) => {
    expect(lose(from, now, id, sent).window?.remaining).toBe(remaining);
  });
});

describe('a request whose process is no more', () => {
  const flight = flying(NOW - 9_000, NOW - 2_000);
  const asking = state({
    window: open(40),
    inFlight: flight,
    probe: flight[1]!,
    block: blocked(NOW - 3_000),
    strikes: 1,
  });

  it('counts, and is not waited for', () => {
    const { block: _none, ...unblocked } = asking;
    expect(abandon(unblocked, NOW, 'f1')).toEqual(lose(unblocked, NOW, 'f1', true));
  });

  it('prolongs the block that it was to ask about, as long as its answer would have been waited for', () => {
    const until = NOW - 2_000 + 120_000;
    expect(abandon(asking, NOW, 'f1')).toEqual({
      ...lose(asking, NOW, 'f1', true),
      block: { ...blocked(NOW - 3_000), until },
    });
    const longer = { ...asking, block: blocked(until + 1) };
    expect(abandon(longer, NOW, 'f1').block).toEqual(longer.block);
  });

  it('leaves the block alone where another was to ask', () => {
    expect(abandon(asking, NOW, 'f0')).toEqual(lose(asking, NOW, 'f0', true));
  });
});

it('a block that is lifted takes the window and the strikes with it, and nothing else', () => {
  const rest = { inFlight: flying(NOW), admitted: 7, foreign: true, seenAt: NOW };
  const before: LedgerState = { ...rest, strikes: 4, window: open(9), block: blocked(NOW + 1) };
  expect(unblock(before)).toEqual({ ...rest, strikes: 0 });
});
