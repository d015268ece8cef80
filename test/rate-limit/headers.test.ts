import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LimitHeaders, readLimitHeaders } from '../../src/rate-limit/headers.ts';

/** 2026-03-02T14:03:20Z */
const NOW = Date.UTC(2026, 2, 2, 14, 3, 20);
const DAY = 86_400_000;

function read(headers: Readonly<Record<string, string | readonly string[]>>, receivedAt = NOW) {
  const entries = Object.entries(headers).map(([name, value]) => [name, [value].flat()] as const);
  return readLimitHeaders(new Map(entries), receivedAt);
}

describe('Retry-After', () => {
  const http = (ms: number): string => new Date(NOW + ms).toUTCString();

  it.each<readonly [string, string | readonly string[], number]>([
    ['fault 28: seconds', '30', 30_000],
    ['fault 32: zero', '0', 0],
    ['seconds with leading zeros', '007', 7_000],
    ['fault 33: a month', '2592000', 2_592_000_000],
    ['fault 33: 40 digits', '9'.repeat(40), 100 * 365 * DAY],
    ['fault 30: a date', http(60_000), 60_000],
    ['fault 31: a fraction', '1.5', 1_500],
    ['fault 31: a fraction of a millisecond is rounded up', '89.9801', 89_981],
    ['fault 31: white space behind it', '3600 \t', 3_600_000],
    ['fault 31: white space before it', ' 3600', 3_600_000],
    ['fault 31: a plus', '+3600', 3_600_000],
    ['fault 31: a unit', '3600s', 3_600_000],
    ['fault 31: several values', '30, 300', 300_000],
    ['fault 31: a trailing comma', '3600,', 3_600_000],
    ['fault 31: two lines', ['3600', '7200'], 7_200_000],
    ['fault 31: a date in small letters', http(60_000).toLowerCase(), 60_000],
    ['fault 31: a date with a numeric zone', http(60_000).replace('GMT', '+0000'), 60_000],
    ['fault 31: a date without a weekday', http(60_000).slice(5), 60_000],
    ['fault 31: an ISO date', new Date(NOW + 60_000).toISOString(), 60_000],
    ['fault 31: an ISO date without a zone', new Date(NOW + 7_200_000).toISOString().slice(0, 19), 7_200_000],
    ['fault 31: two dates in one line', `${http(60_000)}, ${http(90_000)}`, 90_000],
    ['fault 31: a date and seconds', `${http(60_000)}, 90`, 90_000],
  ])('%s', (_name, value, retryAfterMs) => {
    expect(read({ 'retry-after': value })).toEqual({ retryAfterMs });
  });

  it.each<readonly [string, string]>([
    ['fault 34: a date that is past', http(-60_000)],
    ['fault 34: a date that is now', http(0)],
    ...['-1', '-1s', '""', 'PT2H', '', '١', 'Infinity', 'soon', ','].map(
      (junk) => [`fault 31: ${JSON.stringify(junk)}`, junk] as const,
    ),
  ])('cannot be read: %s', (_name, value) => {
    expect(read({ 'retry-after': value })).toEqual({ unreadable: true });
  });

  it.each<readonly [string, number]>([
    ['"7200"', 7_200],
    ['7200 seconds', 7_200],
    ['7200sec', 7_200],
    ['7200; why', 7_200],
    ['7200 (two hours)', 7_200],
    ['"7200 s"; q=1', 7_200],
    ['7200 s s', 7_200],
    ['1 hour', 60],
    ['0x10', 60],
    ['9'.repeat(400) + ' of them', 100 * 365 * 86_400],
  ])('fault 31: of no standard form, but read, as a minute at least: %s', (value, seconds) => {
    expect(read({ 'retry-after': value })).toEqual({ retryAfterMs: seconds * 1_000, unreadable: true });
  });

  it('fault 31: what can be read counts beside what cannot', () => {
    expect(read({ 'retry-after': 'soon, 300' })).toEqual({ retryAfterMs: 300_000, unreadable: true });
  });

  it.each<readonly [string, string, number]>([
    ['x-retry-after', '7200', 7_200_000],
    ['retry-after-ms', '1500', 1_500],
    ['x-ratelimit-reset-after', '64.57', 64_570],
    ['retry-after-long', '7200', 7_200_000],
    ['x-ratelimit-retry-after', '7200', 7_200_000],
    ['x-ms-retry-after-ms', '1500', 1_500],
    ['x-ratelimit-retry-after', `${NOW / 1_000 + 7_200}`, 7_200_000],
  ])('%s is read, too', (name, value, retryAfterMs) => {
    expect(read({ [name]: value })).toEqual({ retryAfterMs });
  });

  it('fault 30: a date is a wait by the server’s own Date, whatever the clock here says', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: -2 * DAY, max: 2 * DAY }),
        (seconds, skew) => {
          const headers = { date: http(0), 'retry-after': http(seconds * 1_000) };
          const { retryAfterMs = 0 } = read(headers, NOW + skew);
          // A clock that agrees with the server's to a minute may only make the wait longer.
          const longer = Math.abs(skew) <= 60_000 ? Math.max(0, -skew) : 0;
          expect(retryAfterMs).toBe(seconds * 1_000 + longer);
        },
      ),
    );
  });

  it('fault 30: where by the server’s Date it has passed, a plausible clock here counts', () => {
    const headers = { date: http(DAY), 'retry-after': http(3_600_000) };
    expect(read(headers)).toEqual({ retryAfterMs: 3_600_000 });
    expect(read(headers, NOW - 2 * DAY)).toEqual({ unreadable: true });
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
    ['fault 35: a fraction', `${second + 23}.5`, 24_500],
    ['fault 35: in µs', `${(NOW + 23_000) * 1_000}`, 24_000],
    ['fault 35: in ns', `${BigInt(NOW + 23_000) * 1_000_000n}`, 24_000],
    ['fault 35: an ISO date', new Date(NOW + 23_000).toISOString(), 24_000],
    ['fault 35: a Date as JavaScript writes it', `${new Date((second + 23) * 1_000)}`, 24_000],
    ['fault 35: white space behind it', `${second + 23} `, 24_000],
  ])('Reset: %s', (_name, reset, resetInMs) => {
    expect(read(headers(reset)).window).toEqual({ limit: 60, remaining: 57, resetInMs });
  });

  it.each(['x-ratelimit-', 'ratelimit-'])('without a limit is known if nothing is left: %s', (prefix) => {
    const spent = (left: string) => read({ [`${prefix}remaining`]: left, [`${prefix}reset`]: '7' }).window;
    expect([spent('0'), spent('3')]).toEqual([{ limit: 1, remaining: 0, resetInMs: 8_000 }, undefined]);
  });

  it('may be all that is left, and is the least that is named', () => {
    const twice = { ...headers(`${second + 23}`), 'x-ratelimit-remaining': ['57', '3'] };
    expect(read(twice).window).toMatchObject({ limit: 60, remaining: 3 });
    expect(read(headers(`${second + 23}`, '60', '60')).window).toEqual({ limit: 60, remaining: 60, resetInMs: 24_000 });
  });

  it('fault 35: the size decides what is an instant, and in which unit', () => {
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

  it('fault 36: without a Date that can be read, and only then, the clock here serves', () => {
    expect(read(headers(`${second + 23}`), NOW - 30_000).window?.resetInMs).toBe(24_000);
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
    ['in hexadecimal', '60', '0x5'],
    ['an invalid limit', 'many', '5'],
    ['40 digits', '9'.repeat(40), '5'],
  ])('fault 45: Remaining %s counts as no window', (_name, limit, remaining) => {
    const found = read(headers(`${second + 23}`, limit, remaining));
    expect([found.window, found.resetMs]).toEqual([undefined, 23_000]);
  });

  it.each<readonly [string, Record<string, string>, LimitHeaders['window']]>([
    ['white space', { limit: '60 ', remaining: '57\t', reset: '23' }, { limit: 60, remaining: 57, resetInMs: 24_000 }],
    [
      'a policy behind the limit',
      { limit: '3, 3;w=90', remaining: '2', reset: '90' },
      { limit: 3, remaining: 2, resetInMs: 91_000 },
    ],
    [
      'a fraction of nothing',
      { limit: '60', remaining: '0.0', reset: '23' },
      { limit: 60, remaining: 0, resetInMs: 24_000 },
    ],
  ])('fault 35: %s', (_name, { limit = '', remaining = '', reset = '' }, window) => {
    expect(read(headers(reset, limit, remaining)).window).toEqual(window);
  });
});

describe('other names for the window', () => {
  const window = { limit: 12, remaining: 11, resetInMs: 4_000 };
  const epoch = `${NOW / 1_000 + 3}`;

  it.each<readonly [string, Record<string, string>]>([
    ['draft 6', { 'ratelimit-limit': '12', 'ratelimit-remaining': '11', 'ratelimit-reset': '3' }],
    ['draft 6 with an instant', { 'ratelimit-limit': '12', 'ratelimit-remaining': '11', 'ratelimit-reset': epoch }],
    ['with a dash more', { 'x-rate-limit-limit': '12', 'x-rate-limit-remaining': '11', 'x-rate-limit-reset': epoch }],
  ])('%s', (_name, headers) => {
    expect(read({ date: new Date(NOW).toUTCString(), ...headers }).window).toEqual(window);
  });

  it.each<readonly [string, Record<string, string>, number]>([
    ['draft 6', { 'ratelimit-limit': '12', 'ratelimit-remaining': '11', 'ratelimit-reset': '3' }, 3_000],
    ['draft 7, nearly over', { ratelimit: 'limit=12, remaining=11, reset=1' }, 2_000],
    ['draft 7, longer than it should be', { ratelimit: 'limit=12, remaining=11, reset=9' }, 9_000],
    ['draft 7 without a reset', { ratelimit: 'limit=12, remaining=11' }, 3_000],
  ])('a policy names the longest time that is left: %s', (_name, headers, resetInMs) => {
    const named = read({ ...headers, 'ratelimit-policy': '12;w=3' }).window;
    expect(named).toEqual({ ...window, resetInMs, lengthMs: 3_000 });
  });
});

describe('RateLimit and RateLimit-Policy', () => {
  const minute = { limit: 60, remaining: 50, resetInMs: 31_000, lengthMs: 60_000 };
  const burst = { limit: 12, remaining: 11, resetInMs: 3_000, lengthMs: 3_000 };

  it.each<readonly [string, string | readonly string[], string | readonly string[], LimitHeaders['window']]>([
    ['draft 7', 'limit=12, remaining=11, reset=3', '12;w=3', burst],
    ['draft 7 without a policy', 'limit=12, remaining=11, reset=3', [], { limit: 12, remaining: 11, resetInMs: 4_000 }],
    ['draft 7, several policies', 'limit=12, remaining=11, reset=3', '1000;w=86400, 12;w=3;comment="a, b"', burst],
    ['draft 8', '"12-in-3sec"; r=11; t=3', '"12-in-3sec"; q=12; w=3; pk=:ZmY=:', burst],
    ['draft 8, a name without quotes', 'minute;r=50;t=30', 'minute;q=60;w=60', minute],
    ['draft 10', '"default";r=50;t=30', '"default";q=60;w=60;qu="requests"', minute],
    ['draft 10, a partition', '"default";r=50;t=30;pk=:dHdv:', '"default";q=60;w=60;pk=:dHdv:', minute],
    ['what is no list has no names', '"a";r=50;t=30;x=(1);y', '"a";q=60;w=60', undefined],
    ['of a fraction what is whole', '"a";r=50.9;t=29.5', '"a";q=60;w=60', { ...minute, resetInMs: 30_500 }],
    ['no names, no list, the same parameters', '60-in-1min;r=50;t=30', '60-in-1min;q=60;w=60', minute],
    ['the policy of that name', '"minute";r=50;t=30', '"hour";q=1000;w=3600,"minute";q=60;w=60', minute],
    [
      'the policy of that name, which is the last one',
      '"hour";r=500;t=1000',
      '"minute";q=60;w=60,"hour";q=1000;w=3600',
      { limit: 1000, remaining: 500, resetInMs: 1_001_000, lengthMs: 3_600_000 },
    ],
    ['of two the tighter one', '"day";r=900;t=80000, "a";r=11;t=3', '"a";q=12;w=3, "day";q=1000;w=86400', burst],
    [
      'of two in lines of their own the tighter one',
      ['"day";r=900;t=80000', '"a";r=11;t=3'],
      ['"day";q=1000;w=86400', '"a";q=12;w=3'],
      burst,
    ],
    [
      'of two that are spent the one that lasts longer',
      '"a";r=0;t=3, "minute";r=0;t=30',
      '"a";q=12;w=3, "minute";q=60;w=60',
      { ...minute, remaining: 0 },
    ],
    ['nothing where the tighter one has no policy', '"a";r=1;t=3, "minute";r=50;t=30', '"minute";q=60;w=60', undefined],
    ['a name that looks like parameters', '"a;r=0;t=99";r=50;t=30', '"a;r=0;t=99";q=60;w=60', minute],
    ['one request', '"default";r=50;t=30', '"default";q=60;w=60;qu="request"', minute],
    ['bytes are not requests', '"peruser";r=300;t=5', '"peruser";q=65535;qu="content-bytes";w=10', undefined],
    ['nor are requests of another kind', '"a";r=50;t=30', '"a";q=60;w=60;qu="concurrent-requests"', undefined],
    ['nor what is counted per request', '"a";r=50;t=30', '"a";q=60;w=60;qu="requests-bytes"', undefined],
    [
      'requests beside bytes that are tighter',
      '"bytes";r=20;t=5, "minute";r=50;t=30',
      '"bytes";q=65535;qu="content-bytes", "minute";q=60;w=60',
      minute,
    ],
    ['no policy of that name', '"minute";r=50;t=30', '"hour";q=1000;w=3600', undefined],
    ['nothing left, and no policy', '"minute";r=0;t=30', '', { limit: 1, remaining: 0, resetInMs: 31_000 }],
    ['nothing left, no policy, no time', '"minute";r=0', '', undefined],
    [
      'no end: at most a whole window',
      '"a";r=50',
      '"a";q=60;w=3600',
      { ...minute, resetInMs: 3_600_000, lengthMs: 3_600_000 },
    ],
    ['no end and no length', '"a";r=50', '"a";q=60', { limit: 60, remaining: 50, resetInMs: 60_000 }],
    ['fault 45: no length', '"a";r=50;t=30', '"a";q=60;w=0', { limit: 60, remaining: 50, resetInMs: 31_000 }],
    [
      'fault 45: a length of years',
      '"a";r=50;t=30',
      '"a";q=60;w=99999999',
      { limit: 60, remaining: 50, resetInMs: 31_000 },
    ],
    ['fault 45: more left than there is', '"a";r=61;t=30', '"a";q=60;w=60', undefined],
    ['fault 45: less than nothing left', '"a";r=-1;t=30', '"a";q=60;w=60', undefined],
  ])('%s', (_name, ratelimit, policy, window) => {
    expect(read({ ratelimit, 'ratelimit-policy': policy }).window).toEqual(window);
  });

  it('come after X-RateLimit', () => {
    const older = { 'x-ratelimit-limit': '12', 'x-ratelimit-remaining': '11', 'x-ratelimit-reset': '3' };
    const { window } = read({ ratelimit: '"a";r=50;t=30', 'ratelimit-policy': '"a";q=60;w=60', ...older });
    expect(window).toEqual({ limit: 12, remaining: 11, resetInMs: 4_000 });
  });
});

describe('the wait of a refusal', () => {
  it.each<readonly [string, Record<string, string>, number | undefined]>([
    ['Reset alone', { 'x-ratelimit-reset': `${NOW / 1_000 + 300}` }, 300_000],
    ['Reset of draft 6', { 'ratelimit-reset': '300' }, 300_000],
    ['Reset in quotes', { 'x-ratelimit-reset': `"${NOW / 1_000 + 300}"` }, 300_000],
    ['Reset with its sign and unit', { 'x-ratelimit-reset': '+300 s' }, 300_000],
    ['reset of draft 7', { ratelimit: 'limit=60, remaining=0, reset=300' }, 300_000],
    ['t of draft 8', { ratelimit: '"a";r=0;t=300' }, 300_000],
    ['of two policies that are spent the longest', { ratelimit: '"a";r=0;t=300, "b";r=0;t=3' }, 300_000],
    [
      'bytes that are spent, too',
      { ratelimit: '"a";r=0;t=3, "b";r=0;t=300', 'ratelimit-policy': '"b";q=9;qu="content-bytes"' },
      300_000,
    ],
    [
      'not of a policy with requests left beside one that is spent',
      { ratelimit: '"day";r=900;t=80000, "a";r=0;t=3' },
      3_000,
    ],
    [
      'not of a window with requests left beside a policy that is spent',
      { 'x-ratelimit-remaining': '900', 'x-ratelimit-reset': '80000', ratelimit: '"a";r=0;t=3' },
      3_000,
    ],
    [
      'not of a policy with requests left beside a window that is spent',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '3', ratelimit: '"day";r=900;t=80000' },
      3_000,
    ],
    ['of two policies with requests left the longest', { ratelimit: '"day";r=900;t=80000, "a";r=1;t=3' }, 80_000_000],
    ['of a list that is broken off the longest', { ratelimit: '"a";r=0;t=3, "b";r=0;t=300, "c' }, 300_000],
    ['several resets: the longest', { 'x-ratelimit-reset': '30', 'ratelimit-reset': '300' }, 300_000],
    ['Remaining that cannot be', { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '300' }, 300_000],
    ['none', {}, undefined],
  ])('%s', (_name, headers, resetMs) => {
    expect(read({ date: new Date(NOW).toUTCString(), ...headers }).resetMs).toBe(resetMs);
  });

  it.each([
    ['"a";r=5;t=3, "b";r=9;t=300', true],
    ['"a";r=5;t=3, "bytes";r=0;t=300', undefined],
  ])('is told by a policy with nothing left, whatever it counts: %s', (ratelimit, hasRemaining) => {
    const policy = '"a";q=60, "b";q=60, "bytes";q=900;qu="content-bytes"';
    const other = { 'x-ratelimit-remaining': '40' };
    expect(read({ ratelimit, 'ratelimit-policy': policy }).hasRemaining).toBe(hasRemaining);
    expect(read({ ratelimit, 'ratelimit-policy': policy, ...other }).hasRemaining).toBe(hasRemaining);
  });
});

it('whatever the headers hold, waits are finite and not negative', () => {
  const value = fc.oneof(
    fc.string(),
    fc.bigInt().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    fc
      .tuple(fc.constantFrom('q', 'r', 't', 'w', 'qu'), fc.integer())
      .map(([key, number]) => `a;r=5;t=30;${key}=${number}`),
  );
  const names = fc.constantFrom(
    'date',
    'ratelimit',
    'ratelimit-policy',
    'ratelimit-reset',
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
        const { window, retryAfterMs = 0, resetMs = 0 } = read(headers, at);
        for (const ms of [retryAfterMs, resetMs, window?.resetInMs ?? 0])
          expect(ms >= 0 && ms <= 100 * 365 * DAY).toBe(true);
        if (window !== undefined) expect(window.remaining).toBeLessThanOrEqual(window.limit);
      },
    ),
    { numRuns: 1_000 },
  );
});
