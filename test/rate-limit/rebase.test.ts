/** A key's state on other timelines. */
import { describe, expect, it } from 'vitest';
import { type LedgerState, UNKNOWN } from '../../src/rate-limit/governor.ts';
import { shift } from '../../src/rate-limit/ledger.ts';
import { type Moment, rebase } from '../../src/rate-limit/sqlite-ledger.ts';

const RESERVATION = { id: 'process 7@here/0/0.5', operation: 'GET /inventory', at: 900, lostAt: 120_900 };
const STATE: LedgerState = {
  windows: [
    {
      operation: 'GET /inventory',
      limit: 60,
      remaining: 12,
      resetAt: 61_000,
      lengthMs: 60_000,
      seenAt: 500,
      answeredAt: 900,
      apart: ['PATCH /inventory/{id}'],
    },
  ],
  block: { since: 700, until: 30_700, why: 'rate-limited' },
  strikes: 2,
  inFlight: [RESERVATION],
  pace: { everyMs: 2_000, nextAt: 1_500 },
  seenAt: 800,
};

const window = STATE.windows[0]!;

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
      windows: [{ ...window, remaining: 11, resetAt: 50 + 50_000, seenAt: 50, answeredAt: 50 + 50_000 }],
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
      windows: [{ ...window, resetAt: 71_000, seenAt: 10_500, answeredAt: 10_900 }],
      block: { since: 10_700, until: 40_700, why: 'rate-limited' },
      inFlight: [{ ...RESERVATION, at: 10_900, lostAt: 130_900 }],
      pace: { everyMs: 2_000, nextAt: 11_500 },
      seenAt: 10_800,
    });
    expect(shift(there, -10_000)).toEqual(STATE);
    expect(shift(UNKNOWN, 5)).toEqual(UNKNOWN);
  });
});
