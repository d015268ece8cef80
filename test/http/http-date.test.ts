/** Dates in headers: every day, in the three forms of RFC 9110 (5.6.7) and in ISO 8601, read leniently. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseHttpDate } from '../../src/http/http-date.ts';

const NOW = Date.UTC(2026, 2, 2);
const LONG = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** As RFC 9110 writes it: IMF-fixdate, RFC 850, asctime. */
function forms(at: number): string[] {
  const fixdate = new Date(at).toUTCString();
  const [, , day, month, year, time] = /^(\w+), (\d\d) (\w+) (\d+) (\S+) GMT$/.exec(fixdate)!;
  const weekday = new Date(at).getUTCDay();
  return [
    fixdate,
    `${LONG[weekday]}, ${day}-${month}-${year!.slice(2)} ${time} GMT`,
    `${LONG[weekday]!.slice(0, 3)} ${month} ${day!.replace(/^0/, ' ')} ${time} ${year}`,
  ];
}

it('every second of the years that two digits can tell is read in all three forms', () => {
  const second = fc.integer({ min: Date.UTC(1977, 0, 1) / 1_000, max: Date.UTC(2077, 0, 1) / 1_000 - 1 });
  fc.assert(
    fc.property(second, (at) => {
      for (const text of forms(at * 1_000)) expect([text, parseHttpDate(text, NOW)]).toEqual([text, at * 1_000]);
    }),
    { numRuns: 1_000 },
  );
});

it.each([
  ['Sunday, 01-Nov-76 08:49:37 GMT', Date.UTC(2076, 10, 1, 8, 49, 37)],
  ['Sunday, 01-Nov-77 08:49:37 GMT', Date.UTC(1977, 10, 1, 8, 49, 37)],
  ['Sun, 06 Nov 1994 23:59:60 GMT', Date.UTC(1994, 10, 7)],
  ['Sun, 29 Feb 2032 00:00:00 GMT', Date.UTC(2032, 1, 29)],
  // Not as the RFC writes it, but nothing else can be meant.
  ['Sun, 06 Nov 1994 08:49:37 UTC', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun, 06 Nov 1994 08:49:37 gmt', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['sun, 06 nov 1994 08:49:37 +0000', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun, 6 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sunday, 06-Nov-1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['1994-11-06T08:49:37Z', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['1994-11-06 08:49:37.5Z', Date.UTC(1994, 10, 6, 8, 49, 38)],
  ['1994-11-06T08:49:37.000Z', Date.UTC(1994, 10, 6, 8, 49, 37)],
  // Python's isoformat().
  ['1994-11-06T08:49:36.123456', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['1994-11-06T10:19:37+01:30', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['1994-11-06T07:49:37-0100', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['1994-11-06 08:49:37 UTC', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['1994-11-06 09:49:37 +0100', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun, 06 Nov 1994 09:49:37 +0100', Date.UTC(1994, 10, 6, 8, 49, 37)],
  // What Node makes of a Date in a header.
  ['Sun Nov 06 1994 08:49:37 GMT+0000 (Coordinated Universal Time)', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun Nov 06 1994 03:49:37 GMT-0500', Date.UTC(1994, 10, 6, 8, 49, 37)],
])('%s is read', (text, at) => {
  expect(parseHttpDate(text, NOW)).toBe(at);
});

it.each([
  'Sun, 06 Nov 1994 24:00:00 GMT',
  'Sun, 06 Nov 1994 08:60:37 GMT',
  'Sun, 06 Nov 1994 08:49:61 GMT',
  'Sun, 31 Nov 1994 08:49:37 GMT',
  'Sun, 00 Nov 1994 08:49:37 GMT',
  'Tue, 29 Feb 2027 00:00:00 GMT',
  'Sun, 06 Nov 1994 08:49:37',
  ' Sun, 06 Nov 1994 08:49:37 GMT',
  'Sun, 06 Nov 1994 08:49:37 GMT ',
  'Sunday, 06 Nov 1994 08:49:37 GMT',
  'Sun, 06-Nov-94 08:49:37 GMT',
  'xSunday, 06-Nov-94 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37 GMT x',
  'Sun Nov  6 08:49:37 94',
  'xSun Nov  6 08:49:37 1994',
  'Sun Nov  6 08:49:37 1994 GMT',
  'Sun Nov 6 08:49:37 1994',
  'Sun Nov 06 1994 08:49:37',
  'Sun Nov 31 1994 08:49:37 GMT+0000',
  'Sun Nov 06 1994 08:49:37 GMT+0000 x',
  '1994-13-06T08:49:37Z',
  '1994-02-30T08:49:37Z',
  '1994-11-06',
  '',
])('"%s" is not a date', (text) => {
  expect(parseHttpDate(text, NOW)).toBeUndefined();
});
