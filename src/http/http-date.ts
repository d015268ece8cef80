/**
 * Parses dates in headers: the three forms of HTTP-date (RFC 9110, 5.6.7), leniently, JavaScript's form, and ISO 8601:
 * without a zone it is in UTC.
 */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})';
const ZONE = '(?:Z|GMT|UTC|(?:GMT|UTC)?(?<sign>[+-])(?<zoneHour>[0-9]{2}):?(?<zoneMinute>[0-9]{2}))';
const DAYS = '(?:mon|tue|wed|thu|fri|sat|sun)';
const LONG_DAYS = '(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)';

// Ignores the weekday: a wrong one must not make a wait shorter.
const FORMS = [
  new RegExp(`^(?:${DAYS}, )?(?<day>[0-9]{1,2}) ${MONTH} (?<year>[0-9]{4}) ${TIME} ${ZONE}$`, 'i'),
  new RegExp(`^${LONG_DAYS}, (?<day>[0-9]{2})-${MONTH}-(?<year>[0-9]{2}|[0-9]{4}) ${TIME} ${ZONE}$`, 'i'),
  new RegExp(`^${DAYS} ${MONTH} (?<day>[ 0-9][0-9]) ${TIME} (?<year>[0-9]{4})$`, 'i'),
  // JavaScript's String(date).
  new RegExp(`^${DAYS} ${MONTH} (?<day>[0-9]{2}) (?<year>[0-9]{4}) ${TIME} ${ZONE}(?: \\([^()]*\\))?$`, 'i'),
  new RegExp(`^(?<year>[0-9]{4})-(?<month>[0-9]{2})-(?<day>[0-9]{2})[T ]${TIME}(?:[.,][0-9]+)?(?: ?${ZONE})?$`, 'i'),
];

/**
 * Returns epoch ms; undefined for anything that is not a valid date. Rounds a fraction of a second up.
 * @param now epoch ms, by which a year of two digits is completed
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  const parts = FORMS.find((form) => form.test(text))?.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const number = (name: string): number => Number(parts[name] ?? 0);
  const named = MONTHS.indexOf((parts.month ?? '').toLowerCase());
  const month = named < 0 ? number('month') - 1 : named;
  const [day, hour, minute, second] = [number('day'), number('hour'), number('minute'), number('second')];
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const year = parts.year?.length === 2 ? fullYear(number('year'), now) : number('year');
  const midnight = new Date(Date.UTC(year, month, day));
  // JavaScript carries a day that the month does not have into the next month.
  if (midnight.getUTCDate() !== day || midnight.getUTCMonth() !== month) return undefined;
  const offset = (parts.sign === '-' ? -1 : 1) * (number('zoneHour') * 60 + number('zoneMinute')) * 60_000;
  const fraction = /[.,][0-9]*[1-9]/.test(text.slice(19)) ? 1_000 : 0;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1_000 + fraction - offset;
}

/** Returns the year that two digits mean: never more than 50 years ahead (RFC 9110, 5.6.7). */
function fullYear(twoDigits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
