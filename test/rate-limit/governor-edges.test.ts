/** Edge cases of the governor: exact states, and the moments at which a decision changes. */
import { describe, expect, it } from 'vitest';
import {
  type Block,
  decide,
  forecast,
  type Hold,
  isTooLong,
  type LedgerState,
  learn,
  observe,
  UNKNOWN,
} from '../../src/rate-limit/governor.ts';
import type { LimitHeaders } from '../../src/rate-limit/headers.ts';
import { shownOperation, type Window } from '../../src/rate-limit/windows.ts';

const NOW = 1_000_000;
const LIST = 'GET /inventory';
const SET = 'PATCH /inventory/{id}';
const open = (remaining: number, resetAt = NOW + 60_000, more: Partial<Window> = {}): Window => ({
  operation: LIST,
  limit: 60,
  remaining,
  resetAt,
  seenAt: NOW - 1_000,
  answeredAt: NOW - 500,
  apart: {},
  ...more,
});
const reported = (remaining: number, resetInMs = 60_000, limit = 60): LimitHeaders => ({
  window: { limit, remaining, resetInMs },
});
const flying = (...ats: readonly number[]) => ats.map((at, i) => sent(`f${i}`, at));
const sent = (id: string, at: number, operation = LIST) => ({ id, operation, at, lostAt: at + 120_000 });
const probe = (at: number) => ({ ...sent('p', at), isProbe: true });
const state = (more: Partial<LedgerState>): LedgerState => ({ ...UNKNOWN, ...more });

const INTENT = { id: 'new', operation: LIST, reserve: 0, timeoutMs: 30_000 };

function ask(before: LedgerState): Hold | undefined {
  return decide(before, NOW, INTENT).hold;
}

function answer(before: LedgerState, status: number, headers: LimitHeaders = {}, id = 'f0', now = NOW): LedgerState {
  return observe(before, now, { id, operation: LIST, status, headers, random: 0 });
}

const blocked = (until: number, why: Block['why'] = 'rate-limited'): Block => ({ since: NOW - 9_000, until, why });

describe('a wait', () => {
  it.each<readonly [string, Partial<LedgerState>, Hold | undefined]>([
    [
      'for a probe: asks again soon',
      { inFlight: [probe(NOW)] },
      { until: NOW + 120_000, why: 'asking', again: NOW + 50 },
    ],
    [
      'for the probe of a block: the same',
      { inFlight: [probe(NOW - 7_000)], block: blocked(NOW, 'banned') },
      { until: NOW + 113_000, why: 'asking', again: NOW + 50 },
    ],
    [
      'without limits: one in flight',
      { pace: { everyMs: 1_000, nextAt: NOW - 1 }, inFlight: flying(NOW - 10) },
      { until: NOW + 119_990, why: 'asking', again: NOW + 50 },
    ],
    [
      'without limits: one a second',
      { pace: { everyMs: 1_000, nextAt: NOW + 700 } },
      { until: NOW + 700, why: 'paced' },
    ],
    [
      'without limits, but after a block: none',
      { pace: { everyMs: 1_000, nextAt: NOW + 700 }, block: blocked(NOW) },
      undefined,
    ],
    [
      'in a window with three left beside the one in flight: none',
      { windows: [open(4)], inFlight: flying(NOW) },
      undefined,
    ],
    [
      'in a window with two left beside the one in flight: for its answer, until the end at most',
      { windows: [open(3)], inFlight: flying(NOW) },
      { until: NOW + 60_000, why: 'asking', again: NOW + 50 },
    ],
    ['in a window with two left and none in flight: none', { windows: [open(2)] }, undefined],
    [
      'in a window with none left beside the one in flight: for its end',
      { windows: [open(1)], inFlight: flying(NOW) },
      { until: NOW + 60_000, why: 'window-spent' },
    ],
  ])('%s', (_name, before, decision) => {
    expect(ask(state(before))).toEqual(decision);
  });
});

it.each<readonly [string, Hold, number, boolean]>([
  ['as long as allowed', { why: 'rate-limited', until: NOW + 5_000 }, 5_000, false],
  ['longer than allowed', { why: 'rate-limited', until: NOW + 5_000 }, 4_999, true],
  [
    'for an answer: as long as it takes to ask again',
    { why: 'asking', until: NOW + 5_000, again: NOW + 50 },
    50,
    false,
  ],
  ['for an answer: longer than that', { why: 'asking', until: NOW + 5_000, again: NOW + 50 }, 49, true],
  ['for a person', { why: 'banned', until: NOW + 1 }, Number.POSITIVE_INFINITY, true],
])('a wait %s', (_name, hold, maxWaitMs, isLong) => {
  expect(isTooLong(hold, NOW, maxWaitMs)).toBe(isLong);
});

describe('an answer', () => {
  it('is about the request it answers, not about another one in flight', () => {
    const before = state({ block: blocked(NOW - 100), inFlight: flying(NOW - 5_000, NOW - 50), strikes: 1 });
    expect([answer(before, 200, {}, 'f0').block, answer(before, 200, {}, 'f1').block]).toEqual([
      before.block,
      undefined,
    ]);
  });

  it('429: nothing is left of the window that it tells', () => {
    const before = state({ inFlight: flying(NOW - 10) });
    const after = answer(before, 429, { ...reported(7, 30_000), retryAfterMs: 10_000 });
    expect(after).toMatchObject({
      strikes: 1,
      inFlight: [],
      seenAt: NOW,
      block: { since: NOW, until: NOW + 11_000, why: 'rate-limited' },
      windows: [{ operation: LIST, limit: 60, remaining: 0, resetAt: NOW + 30_000 }],
    });
    expect(answer(before, 429).windows).toEqual([]);
  });

  it.each<readonly [string, Partial<LedgerState>, number, Block['why']]>([
    ['to what was sent before the block adds no strike', { inFlight: flying(NOW - 10) }, 2, 'rate-limited'],
    ['to the probe adds one', { inFlight: flying(NOW), block: blocked(NOW) }, 3, 'rate-limited'],
    ['to an unknown request adds one', {}, 3, 'rate-limited'],
    ['leaves a ban a ban', { block: blocked(NOW + 1, 'banned'), inFlight: flying(NOW) }, 2, 'banned'],
    ['after a ban is no longer a ban', { block: blocked(NOW, 'banned'), inFlight: flying(NOW) }, 3, 'rate-limited'],
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
  const before = (window: Partial<Window> = {}, more: Partial<LedgerState> = {}) =>
    state({ windows: [open(40, undefined, window)], inFlight: flying(NOW - 10), ...more });
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
    ['is a new one', before(), reported(59, 62_501), [59, NOW + 62_501]],
    ['is over, and so a new one', before({ resetAt: NOW }), reported(59, 1_000), [59, NOW + 1_000]],
    ['another client drew from it', before(), reported(20), [20, NOW + 60_000]],
    [
      'a word from the one before',
      before({}, { inFlight: flying(NOW - 1_001) }),
      reported(3, 57_499),
      [40, NOW + 60_000],
    ],
    [
      'no word from the one before: sent since',
      before({}, { inFlight: flying(NOW - 1_000) }),
      reported(3, 57_499),
      [3, NOW + 57_499],
    ],
    ['no word from the one before: unknown', before({}, { inFlight: [] }), reported(3, 57_499), [3, NOW + 57_499]],
    ['of another limit replaces it', before(), reported(3, 57_499, 5), [3, NOW + 57_499]],
    ['without headers is counted', before(), {}, [39, NOW + 60_000]],
  ])('%s', (_name, from, headers, after) => {
    expect(room(answer(from, 200, headers))).toEqual(after);
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
    expect(ask(state({ windows })) !== undefined).toBe(isHeld);
  });

  it('that ended a day ago is forgotten, and there are never more than 32', () => {
    const after = (...windows: readonly Window[]) =>
      answer(before({}, { windows }), 200, reported(39)).windows.map(({ operation }) => operation);
    expect(
      after(open(1, NOW - 86_400_000, { operation: 'older' }), open(1, NOW - 86_399_999, { operation: 'old' })),
    ).toEqual([LIST, 'old']);
    const many = after(...Array.from({ length: 40 }, (_, i) => open(1, undefined, { operation: `GET /${i}` })));
    expect([many.length, many[0]]).toEqual([32, LIST]);
  });
});

it.each([
  [SET, SET],
  ['PATCH @5d0c2f/inventory/{id}', SET],
])('%s is shown without its address', (operation, shown) => {
  expect(shownOperation(operation)).toBe(shown);
});

it.each<readonly [string, Block, Block, Partial<Block>]>([
  ['the later end counts', blocked(NOW + 5), blocked(NOW + 9), { until: NOW + 9 }],
  ['an earlier end does not', blocked(NOW + 9), blocked(NOW + 5), { until: NOW + 9 }],
  ['a ban stays one', blocked(NOW + 5, 'banned'), blocked(NOW + 9), { until: NOW + 9, why: 'banned' }],
  ['a ban that is learnt is one', blocked(NOW + 9), blocked(NOW + 5, 'banned'), { until: NOW + 9, why: 'banned' }],
  ['a block that is over is replaced', blocked(NOW - 9_000, 'banned'), blocked(NOW + 5), { why: 'rate-limited' }],
])('a block that is learnt: %s', (_name, known, learnt, after) => {
  expect(learn(state({ block: known }), learnt).block).toMatchObject(after);
});
