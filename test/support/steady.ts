/** Replaces times and limits in pictures by fixed ones, because they differ on each run. */
import { PLAIN, type Run, textOf } from './screen.ts';

/** A duration as formatted by view/progress.ts. */
const DURATION = String.raw`\d+ (?:ms|s|min|h|days)(?: \d+ (?:s|min))?`;
const SPAN = new RegExp(String.raw`(?<before>resets in |\d\d:\d\d:\d\d \()${DURATION}`, 'g');

/** Replaces times of day and the durations until them. */
export function steadyTimes(text: string): string {
  return text.replace(SPAN, '$<before>42 s').replace(/\b\d\d:\d\d:\d\d\b/g, '14:03:20');
}

/** Also replaces the remaining requests of the sandbox: a slow run may extend beyond a window. */
export function steady(text: string): string {
  return steadyTimes(text).replace(/\b\d+ of 60 requests left/g, '57 of 60 requests left');
}

/** Does the same for lines; on the full screen it adds the rate limit if its window has ended. */
export function steadyLines(lines: readonly (readonly Run[])[], columns: number): Run[][] {
  const last = lines.findLastIndex((runs) => textOf(runs).trim() !== '');
  const isOver = textOf(lines[last]).startsWith('^X apply') && textOf(lines[last - 1]).trim() === '';
  const full = '57 of 60 requests left, resets in 42 s (14:03:20)';
  const limits: Run = { ...PLAIN, dim: true, text: columns < full.length ? full.split(',')[0]! : full };
  return lines.map((runs, y) =>
    isOver && y === last - 1 ? [limits] : runs.map((run) => ({ ...run, text: steady(run.text) })),
  );
}

/** Returns a time zone in which it is noon now, so that no day begins during a test and no time needs a date. */
export function noonZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  // The sign is as in POSIX: west is positive.
  return `Etc/GMT${ahead < 0 ? '+' : '-'}${Math.abs(ahead)}`;
}
