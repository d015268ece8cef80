import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLimitHeaders } from '../../src/limits/headers.ts';
import { parseHttpDate } from '../../src/limits/http-date.ts';

/** 2026-03-02T14:03:20Z */
const NOW = Date.UTC(2026, 2, 2, 14, 3, 20);
const DAY = 86_400_000;

function read(headers: Readonly<Record<string, string | readonly string[]>>, receivedAt = NOW) {
  const entries = Object.entries(headers).map(([name, value]) => [name, [value].flat()] as const);
  return readLimitHeaders(new Map(entries), receivedAt);
}

describe('HTTP-date (RFC 9110, 5.6.7)', () => {
  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sun Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
    ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
    ['Wed, 01 Jan 2020 23:59:60 GMT', Date.UTC(2020, 0, 2)],
    ['Monday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1)],
    ['Monday, 01-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 1)],
    ['Tue, 31 Dec 0099 00:00:00 GMT', new Date(0).setUTCFullYear(99, 11, 31)],
  ])('%s', (text, at) => {
    expect(parseHttpDate(text, NOW)).toBe(at);
  });

  it.each([
    '',
    'soon',
    '2026-03-02T14:03:20Z',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 nov 1994 08:49:37 GMT',
    'Sun, 31 Feb 2026 08:49:37 GMT',
    'Sun, 29 Feb 2023 08:49:37 GMT',
    'Sun, 00 Jan 2026 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Xun, 06 Nov 1994 08:49:37 GMT',
    'Sun Nov 6 08:49:37 1994',
  ])('is not %j', (text) => {
    expect(parseHttpDate(text, NOW)).toBeUndefined();
  });

  it('reads every second that Date prints', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        expect(parseHttpDate(new Date(seconds * 1_000).toUTCString(), NOW)).toBe(seconds * 1_000);
      }),
    );
  });
});

describe('Retry-After', () => {
  it.each<readonly [string, string, number | undefined]>([
    ['fault 28: seconds', '30', 30_000],
    ['fault 32: zero', '0', 0],
    ['seconds with leading zeros', '007', 7_000],
    ['fault 33: a month', '2592000', 2_592_000_000],
    ['fault 33: 40 digits', '9'.repeat(40), 100 * 365 * DAY],
    ['fault 30: a date', new Date(NOW + 60_000).toUTCString(), 60_000],
    ['fault 34: a date that is past', new Date(NOW - 60_000).toUTCString(), undefined],
    ['fault 34: a date that is now', new Date(NOW).toUTCString(), undefined],
    ...['-1', '1.5', '1e3', '', '1, 2', '0x10', '+1', '1 ', '١', 'Infinity'].map(
      (junk) => [`fault 31: ${JSON.stringify(junk)}`, junk, undefined] as const,
    ),
  ])('%s', (_name, value, retryAfterMs) => {
    expect(read({ 'retry-after': value })).toEqual(retryAfterMs === undefined ? {} : { retryAfterMs });
  });

  it('fault 31: given twice counts as missing', () => {
    expect(read({ 'retry-after': ['1', '2'] })).toEqual({});
  });

  it('fault 30: a date is a wait by the server’s own Date, whatever the clock here says', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: -2 * DAY, max: 2 * DAY }),
        (seconds, skew) => {
          const headers = {
            date: new Date(NOW).toUTCString(),
            'retry-after': new Date(NOW + seconds * 1_000).toUTCString(),
          };
          expect(read(headers, NOW + skew)).toEqual(read({ 'retry-after': String(seconds) }));
        },
      ),
    );
  });
});

describe('the window', () => {
  const headers = (reset: string | undefined, limit = '60', remaining = '57') => ({
    date: new Date(NOW).toUTCString(),
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    ...(reset !== undefined && { 'x-ratelimit-reset': reset }),
  });
  const second = NOW / 1_000;

  it.each([
    ['epoch seconds', `${second + 23}`, 24_000],
    ['this very second', `${second}`, 1_000],
    ['a second ago', `${second - 1}`, 60_000],
    ['fault 35: past', `${second - 600}`, 60_000],
    ['fault 35: the longest', `${second + 32 * 86_400 - 1}`, 32 * DAY],
    ['fault 35: longer than any', `${second + 32 * 86_400}`, 60_000],
    ['fault 35: in ms', `${NOW + 23_000}`, 24_000],
    ['fault 35: a small number of seconds', '23', 24_000],
    ['fault 35: zero seconds', '0', 1_000],
    ['fault 35: in a century', `${second + 3_000_000_000}`, 60_000],
    ['fault 35: words', 'soon', 60_000],
    ['fault 35: missing', undefined, 60_000],
    ['fault 35: a fraction', `${second + 23}.5`, 60_000],
  ])('Reset: %s', (_name, reset, resetInMs) => {
    expect(read(headers(reset))).toEqual({ window: { limit: 60, remaining: 57, resetInMs } });
  });

  it('may be all that is left', () => {
    expect(read(headers(`${second + 23}`, '60', '60')).window).toEqual({ limit: 60, remaining: 60, resetInMs: 24_000 });
  });

  it('fault 35: what is an instant, and in which unit, is told by its size', () => {
    const resetInMs = (reset: string, at: number) =>
      read({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': reset }, at).window
        ?.resetInMs;
    expect([
      resetInMs('100000000', 100_000_000_000 - 5_000),
      resetInMs('99999999', 100_000_000_000 - 5_000),
      resetInMs('100000000000', 100_000_000_000_000 - 5_000),
      resetInMs('100000000001', 100_000_000_001 - 5_000),
    ]).toEqual([6_000, 60_000, 6_000, 6_000]);
  });

  it('fault 36: without a Date that can be read, the clock here serves', () => {
    for (const date of ['', 'yesterday']) {
      expect(read({ ...headers(`${second + 23}`), date }, NOW - 10_000).window?.resetInMs).toBe(34_000);
      expect(read({ ...headers(`${second + 23}`), date }, NOW + DAY).window?.resetInMs).toBe(60_000);
    }
  });

  it.each([
    ['more left than there is', '60', '61'],
    ['negative', '60', '-1'],
    ['not a number', '60', 'NaN'],
    ['empty', '60', ''],
    ['a fraction', '60', '5.5'],
    ['a limit that is none', 'many', '5'],
    ['40 digits', '9'.repeat(40), '5'],
  ])('fault 45: Remaining %s counts as no window', (_name, limit, remaining) => {
    expect(read(headers(`${second + 23}`, limit, remaining))).toEqual({});
  });
});

it('whatever the headers hold, waits are finite and not negative', () => {
  const value = fc.oneof(
    fc.string(),
    fc.bigInt().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  );
  const names = fc.constantFrom(
    'date',
    'retry-after',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
  );
  fc.assert(
    fc.property(
      fc.dictionary(names, fc.oneof(value, fc.array(value, { maxLength: 3 }))),
      fc.integer(),
      (headers, at) => {
        const { window, retryAfterMs = 0 } = read(headers, at);
        for (const ms of [retryAfterMs, window?.resetInMs ?? 0]) expect(ms >= 0 && ms <= 100 * 365 * DAY).toBe(true);
        if (window !== undefined) expect(window.remaining).toBeLessThanOrEqual(window.limit);
      },
    ),
    { numRuns: 1_000 },
  );
});
