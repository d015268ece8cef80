/** Dates as headers carry them: HTTP-date in its three forms (RFC 9110, 5.6.7), read leniently, and ISO 8601 (RFC 3339). */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const TIME = '(?<time>[0-2][0-9]:[0-5][0-9]:[0-9]{2})';
const ZONE = '(?:GMT|UTC|[+-]00:?00)';

// The weekday is not compared with the date: a wait must not become shorter because it is wrong.
const FORMS = [
  new RegExp(`^(?:[a-z]{3}, )?(?<day>[0-9]{1,2}) (?<month>[a-z]{3}) (?<year>[0-9]{4}) ${TIME} ${ZONE}$`, 'i'),
  new RegExp(
    `^(?:mon|tues|wednes|thurs|fri|satur|sun)day, (?<day>[0-9]{2})-(?<month>[a-z]{3})-(?<year>[0-9]{2}|[0-9]{4}) ${TIME} ${ZONE}$`,
    'i',
  ),
  new RegExp(`^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ 0-9][0-9]) ${TIME} (?<year>[0-9]{4})$`, 'i'),
  new RegExp(
    `^(?<year>[0-9]{4})-(?<month>[0-9]{2})-(?<day>[0-9]{2})[T ]${TIME}` +
      '(?<fraction>[.,][0-9]+)?(?:Z|(?<zone>[+-][0-9]{2}):?(?<minutes>[0-9]{2}))$',
    'i',
  ),
];

/**
 * Returns epoch ms, or undefined for anything that is not a date of the calendar. A fraction of a second is rounded up.
 * @param now epoch ms: a year of two digits is the one within 50 years of it
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  const parts = FORMS.find((form) => form.test(text))?.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const { day, month = '', year = '', time = '', fraction = '', zone = '+00', minutes = '00' } = parts;
  const thisYear = new Date(now).getUTCFullYear();
  const near = thisYear - (thisYear % 100) + Number(year);
  // Never more than 50 years ahead (RFC 9110, 5.6.7).
  const fullYear = year.length > 2 ? Number(year) : near > thisYear + 50 ? near - 100 : near;
  const midnight = new Date(0);
  midnight.setUTCFullYear(fullYear, (MONTHS.indexOf(month.toLowerCase()) + 1 || Number(month)) - 1, Number(day));
  // JavaScript carries a day that the month does not have over into the next month.
  if (midnight.getUTCDate() !== Number(day) || (Number(month) || 1) > 12) return undefined;
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (hour > 23 || second > 60) return undefined;
  const offset = Number(zone) * 60 + Number(`${zone[0]}${minutes}`);
  return midnight.getTime() + ((hour * 60 + minute - offset) * 60 + second + (/[1-9]/.test(fraction) ? 1 : 0)) * 1_000;
}
