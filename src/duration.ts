/** Parses durations as people write them. */

export const DAY_MS = 86_400_000;

/** Longest time that setTimeout waits, 24.8 days. It fires at once for a longer one. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Longest wait, `forever`: finite, because the ledgers store it as a number. */
export const FOREVER_MS = 10 * 365 * DAY_MS;

const FORM = /^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?$/;
const MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };

/** Parses `500ms`, `30` or `30s`, `5m`, `2h`, `1d` into whole ms, rounded up; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = 's'] = FORM.exec(text) ?? [];
  // A product of doubles may be too large in its 16th digit.
  const ms = Math.ceil(Number((Number(number) * (MS[unit] ?? Number.NaN)).toPrecision(15)));
  return Number.isSafeInteger(ms) ? ms : undefined;
}
