/** A key's state from whatever a database or server holds, and on other timelines. */
import { describe, expect, it } from 'vitest';
import { type LedgerState, UNKNOWN } from '../../src/rate-limit/governor.ts';
import { parseState, stringifyState } from '../../src/rate-limit/ledger-state.ts';
import { type Moment, rebase, shift } from '../../src/rate-limit/rebase.ts';

const RESERVATION = { id: 'process 7@here/0/0.5', operation: 'GET /inventory', at: 900, lostAt: 120_900, left: 12 };
const STATE: LedgerState = {
  windows: [
    {
      limit: 60,
      remaining: 12,
      resetAt: 61_000,
      operations: ['GET /inventory'],
      reported: { 'GET /inventory': 12 },
      seenAt: 500,
      atFirst: 59,
      sent: 47,
      sharedWithOthers: false,
      overdrawn: false,
      quiet: 3,
    },
  ],
  block: { since: 700, until: 30_700, why: 'rate-limited' },
  strikes: 2,
  probe: RESERVATION,
  inFlight: [RESERVATION],
  pace: { everyMs: 2_000, nextAt: 1_500 },
  seenAt: 800,
};

it('a state is what it was', () => {
  expect(parseState(stringifyState(STATE))).toEqual(STATE);
  expect(parseState(stringifyState(UNKNOWN))).toEqual(UNKNOWN);
});

/** The state with one member changed. */
const damaged = (change: object): string => JSON.stringify({ ...STATE, ...change });
const window = STATE.windows[0]!;

describe('fault 128: a damaged state is unknown, but for its block', () => {
  const { block, strikes } = STATE;

  it.each(['', 'not JSON', 'null', '[]', '7', '"text"', '{}'])('%j', (text) => {
    expect(parseState(text)).toEqual(UNKNOWN);
  });

  it.each<readonly [string, object]>([
    ['no windows', { windows: undefined }],
    ['windows that are not a list', { windows: {} }],
    ['a window that is not an object', { windows: [7] }],
    ...Object.keys(window).map((name): [string, object] => [
      `a window whose ${name} is wrong`,
      { windows: [{ ...window, [name]: null }] },
    ]),
    ['a count below zero', { windows: [{ ...window, remaining: -1 }] }],
    ['a count that is not whole', { windows: [{ ...window, sent: 1.5 }] }],
    ['an operation that is not a text', { windows: [{ ...window, operations: [7] }] }],
    ['what was reported is not a count', { windows: [{ ...window, reported: { a: 'x' } }] }],
    ['a request under way that is not one', { inFlight: [{ id: 7 }] }],
    ...['id', 'operation', 'at', 'lostAt'].map((name): [string, object] => [
      `a request whose ${name} is wrong`,
      { inFlight: [{ ...RESERVATION, [name]: null }] },
    ]),
  ])('%s', (_name, change) => {
    expect(parseState(damaged(change))).toEqual({ ...UNKNOWN, block, strikes });
  });

  it('ignores strikes that are not a count', () => {
    expect(parseState(damaged({ strikes: 'many' }))).toEqual({ ...UNKNOWN, block });
  });

  it.each<readonly [string, object]>([
    ['a block of unknown reason', { block: { ...block, why: 'mood' } }],
    ['a block without an end', { block: { ...block, until: null } }],
    ['a block that is not an object', { block: 7 }],
  ])('%s is ignored', (_name, change) => {
    expect(parseState(damaged(change)).block).toBeUndefined();
  });

  it.each(['probe', 'pace', 'seenAt'])('%s that is not right is left out', (name) => {
    const found = parseState(damaged({ [name]: { wrong: true } }));
    expect([name in found, found.windows]).toEqual([false, STATE.windows]);
  });

  it('a block lasts a day at most', () => {
    expect(parseState(damaged({ block: { ...block, until: 1e15 } })).block?.until).toBe(700 + 86_400_000);
  });
});

describe('another timeline', () => {
  const saved: Moment = { boot: 'first', monotonic: 1_000, wall: 1_000_000 };

  it('of the same boot is the same', () => {
    expect(rebase(STATE, saved, { ...saved, monotonic: 1_000, wall: 0 })).toBe(STATE);
  });

  it('fault 117: without a name for the boot, the monotonic clock tells, whatever the wall clock says', () => {
    const nameless = { ...saved, boot: '' };
    expect(rebase(STATE, nameless, { boot: '', monotonic: 5_000, wall: 9e12 })).toBe(STATE);
    expect(rebase(STATE, nameless, { boot: '', monotonic: 999, wall: 1_000_000 })).not.toBe(STATE);
  });

  it('of a later boot: by the wall clock, those under way counted as sent, and no wait longer', () => {
    const after = rebase(STATE, saved, { boot: 'second', monotonic: 50, wall: 1_010_000 });
    expect(after).toEqual({
      strikes: 2,
      inFlight: [],
      seenAt: 50 - 10_000 - 200,
      windows: [{ ...window, remaining: 11, resetAt: 50 + 50_000, seenAt: 50 }],
      block: { since: 50, until: 50 + 19_700, why: 'rate-limited' },
    });
    const back = rebase(STATE, saved, { boot: 'second', monotonic: 50, wall: 0 });
    expect(back.block?.until).toBe(50 + 29_700);
    const over = rebase(STATE, saved, { boot: 'second', monotonic: 50, wall: 9e12 });
    expect([over.block?.until, over.windows[0]?.resetAt]).toEqual([50, 50]);
  });

  it('a count does not fall below zero', () => {
    const before = { ...STATE, windows: [{ ...window, remaining: 0 }] };
    expect(rebase(before, saved, { ...saved, boot: 'second' }).windows[0]?.remaining).toBe(0);
  });

  it('is every time moved alike', () => {
    const there = shift(STATE, 10_000);
    expect(there).toEqual({
      ...STATE,
      windows: [{ ...window, resetAt: 71_000, seenAt: 10_500 }],
      block: { since: 10_700, until: 40_700, why: 'rate-limited' },
      probe: { ...RESERVATION, at: 10_900, lostAt: 130_900 },
      inFlight: [{ ...RESERVATION, at: 10_900, lostAt: 130_900 }],
      pace: { everyMs: 2_000, nextAt: 11_500 },
      seenAt: 10_800,
    });
    expect(shift(there, -10_000)).toEqual(STATE);
    expect(shift(UNKNOWN, 5)).toEqual(UNKNOWN);
  });
});
