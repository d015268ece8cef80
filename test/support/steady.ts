/** Times as every picture has them: what they are is the machine's, not the program's. */
import type { Run } from './screen.ts';

/** As view/progress.ts writes durations. */
const DURATION = String.raw`\d+ (?:ms|s|min|h|days)(?: \d+ (?:s|min))?`;
const SPAN = new RegExp(String.raw`(?<before>resets in |\d\d:\d\d:\d\d \()${DURATION}`, 'g');

/** Replaces times of the day, and the time until one of them. */
export function steadyTimes(text: string): string {
  return text.replace(SPAN, '$<before>42 s').replace(/\b\d\d:\d\d:\d\d\b/g, '14:03:20');
}

/** Replaces how much of the sandbox's rate limit is left, too: what takes long may go beyond a window. */
export function steady(text: string): string {
  return steadyTimes(text).replace(/\b\d+ of 60 requests left/g, '57 of 60 requests left');
}

/** The same of lines; of the full screen the rate limit is shown even if its window is over by now. */
export function steadyLines(lines: readonly (readonly Run[])[], columns: number): Run[][] {
  const textOf = (runs: readonly Run[] = []): string => runs.map(({ text }) => text).join('');
  const last = lines.findLastIndex((runs) => textOf(runs).trim() !== '');
  const isOver = textOf(lines[last]).startsWith('^X apply') && textOf(lines[last - 1]).trim() === '';
  const full = '57 of 60 requests left, resets in 42 s (14:03:20)';
  const limits: Run = {
    text: columns < full.length ? full.split(',')[0]! : full,
    colour: -1,
    ground: -1,
    bold: false,
    dim: true,
    reverse: false,
  };
  return lines.map((runs, y) =>
    isOver && y === last - 1 ? [limits] : runs.map((run) => ({ ...run, text: steady(run.text) })),
  );
}

/** A time zone in which it is noon now: no day begins while a test runs, and no time has a date beside it. */
export function noonZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  // Its sign is that of POSIX: west is positive.
  return `Etc/GMT${ahead < 0 ? '+' : '-'}${Math.abs(ahead)}`;
}
