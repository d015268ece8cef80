/** HTTP-date in its three forms (RFC 9110, 5.6.7), checked against the calendar. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})';
const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
const LONG_DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

// A recipient need not check that the weekday is the right one; a wait must not become shorter because it is not.
const FORMS = [
  new RegExp(`^(?:${DAYS.join('|')}), (?<day>[0-9]{2}) ${MONTH} (?<year>[0-9]{4}) ${TIME} GMT$`),
  new RegExp(`^(?:${LONG_DAYS.join('|')}), (?<day>[0-9]{2})-${MONTH}-(?<year>[0-9]{2}) ${TIME} GMT$`),
  new RegExp(`^(?:${DAYS.join('|')}) ${MONTH} (?<day>[ 0-9][0-9]) ${TIME} (?<year>[0-9]{4})$`),
];

/**
 * Epoch ms, or undefined for anything that is not an HTTP-date of a real day.
 * @param now epoch ms: what a year of two digits is near to
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  const parts = FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return undefined;
  const number = (name: string): number => Number(parts[name]);
  const month = MONTHS.indexOf(parts.month ?? '');
  const [day, hour, minute, second] = [number('day'), number('hour'), number('minute'), number('second')];
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const year = parts.year?.length === 2 ? fullYear(number('year'), now) : number('year');
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month, day);
  // A day that the month does not have would be one of another month.
  if (midnight.getUTCDate() !== day) return undefined;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1_000;
}

/** Two digits that would be more than 50 years ahead are of the past (RFC 9110, 5.6.7). */
function fullYear(twoDigits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
