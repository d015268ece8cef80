/** Describes waits, limits and times, and draws the live line. */
import type { Output, RateLimit, Wait } from '../ports.ts';
import { bar, fitting, prepareWidths } from './width.ts';
import { capital } from './words.ts';

const SECOND = 1_000;
const DAY_S = 86_400;
const YEAR = 365 * DAY_S * SECOND;
/** Latest possible Date (ECMA-262, 21.4.1.1), epoch ms. */
const LAST_INSTANT = 8.64e15;

/** Returns `400 ms`, `23 s`, `4 min 5 s`, `2 h 3 min` or `3 days`, rounded up so that a countdown never ends early. */
export function duration(ms: number): string {
  if (ms > 0 && ms <= SECOND - 1) return `${Math.ceil(ms)} ms`;
  const seconds = Math.max(0, Math.ceil(ms / SECOND));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return two(seconds, 'min', 's');
  if (seconds < 2 * DAY_S) return two(Math.ceil(seconds / 60), 'h', 'min');
  return `${Math.ceil(seconds / DAY_S)} days`;
}

/** Sixty of the small units are a large one. */
function two(units: number, large: string, small: string): string {
  const rest = units % 60;
  return `${Math.floor(units / 60)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

/** Returns the local time `14:03:20`, with the date unless it is today. Both epoch ms. */
export function clockTime(at: number, now: number): string {
  const date = new Date(Math.min(at, LAST_INSTANT));
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(':');
  return dayOf(date) === dayOf(new Date(now)) ? time : `${dayOf(date)} ${time}`;
}

/** Like `clockTime` in at most eleven columns: without seconds on another day, without the time in another year. */
export function shortTime(at: number, now: number): string {
  const full = clockTime(at, now);
  const [day = '', time] = full.split(' ');
  if (time === undefined) return full;
  return new Date(at).getFullYear() === new Date(now).getFullYear() ? `${day.slice(5)} ${time.slice(0, 5)}` : day;
}

/** Returns the local date: `2026-03-01`. */
export function dayOf(date: Date): string {
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

export function limitWords({ limit, remaining, resetAt }: RateLimit, now: number): string {
  return `${remaining} of ${limit} requests left, resets in ${duration(resetAt - now)} (${clockTime(resetAt, now)})`;
}

/** Short words, so that a line of 80 columns has room for the rest. */
const WHY: Readonly<Record<Wait['why'], string>> = {
  'rate-limited': 'Rate limited (429)',
  banned: 'Key banned? (403)',
  paused: 'Service down (503)',
  'window-spent': 'Rate limit reached',
  asking: 'Waiting for another request',
  paced: 'Rate limit unknown',
  'ledger-lost': 'Redis does not work',
  backoff: 'Request failed',
  look: 'Update failed',
  locked: 'Waiting for another petstore',
  answer: 'Waiting for an answer',
};

/** What petstore does after a wait, unless it just continues. */
const NEXT: Readonly<Partial<Record<Wait['why'], string>>> = {
  'ledger-lost': 'retrying',
  backoff: 'retrying',
  look: 'reading the stock',
};

/** What broke a request, by phase. */
const BROKEN: Readonly<Record<string, string>> = {
  dns: 'Name not found',
  connect: 'Cannot connect',
  'connect-timeout': 'Connecting timed out',
  reset: 'Connection lost',
  'response-timeout': 'No answer in time',
  'body-timeout': 'No answer in time',
  'body-cut': 'Answer cut off',
};

/** Returns what failed: `Service failed (503)`, `Unexpected answer (204)`, `Connection refused`. */
function failureWords({ status, failure, why }: Pick<Wait, 'status' | 'failure' | 'why'>): string {
  if (status !== undefined) return `${status < 300 ? 'Unexpected answer' : 'Service failed'} (${status})`;
  if (failure?.code === 'ECONNREFUSED') return 'Connection refused';
  return BROKEN[failure?.phase ?? ''] ?? WHY[why];
}

/**
 * Returns why the command waits and when it continues: in full, then shorter for narrow terminals.
 * @param now epoch ms
 * @param canStop false without a terminal, and so without Ctrl-C
 * @param progress of a run: `57 of 200 applied`
 */
export function waitLines(
  wait: Wait,
  { now, canStop = true, progress }: { now: number; canStop?: boolean; progress?: string | undefined },
): readonly [string, ...string[]] {
  const { why, attempt, attempts, giveUpAt, holder } = wait;
  const short = failureWords(wait);
  const what = holder === undefined ? short : `Waiting for ${holder}`;
  // Without a terminal, this is the only line about the wait.
  if (giveUpAt !== undefined && !canStop && progress === undefined) {
    return [`${what}; retrying until ${clockTime(giveUpAt, now)} (${duration(giveUpAt - now)}).`];
  }
  const stop = canStop ? ' Ctrl-C stops.' : '';
  const then = untilWords(wait, now);
  if (progress !== undefined) {
    // For a run, these two are not worth a line.
    if (why === 'asking' || why === 'paced') return [progress];
    const full = `${progress}; ${what.charAt(0).toLowerCase()}${what.slice(1)}, ${then}`;
    return [`${full}${stop && `.${stop}`}`, full, `${progress}; ${then}`, `${capital(then)}.`];
  }
  // The first attempt has not failed; it only waits for permission.
  const which =
    attempt === 1 || why === 'look' ? '' : `, try ${attempt}${attempts === undefined ? '' : `/${attempts}`}`;
  return [
    `${what}; ${then}${which}.${stop}`,
    `${short}; ${then}.${stop}`,
    `${capital(then)}.${stop}`,
    `${capital(then)}.`,
  ];
}

function untilWords({ why, until }: Wait, now: number): string {
  const at = clockTime(until, now);
  const left = duration(until - now);
  // Another request may be answered at any time, so there is no countdown.
  if (why === 'asking') return `until ${at} at most`;
  if (why === 'locked' || why === 'answer')
    return until - now > YEAR ? 'for as long as it takes' : `for at most ${left}`;
  return `${NEXT[why] ?? 'continuing'} at ${at} (${left})`;
}

/** How much is done, out of how much. */
export type Share = readonly [done: number, of: number];

/** When a run began, on the monotonic clock, and how much was done then. */
export interface Began {
  readonly at: number;
  readonly done: number;
}

const BAR_COLUMNS = 16;

/** Returns `[████    ] 57 of 200 set, 3.2/s, 45 s left`, then shorter texts; only the line without a total. */
export function progressLines(
  line: string,
  [done, of]: Share = [0, 0],
  began: Began | undefined,
  now: number,
): [string, ...string[]] {
  if (began === undefined) return [line];
  const drawn = `[${bar(BigInt(done), BigInt(of), BAR_COLUMNS).padEnd(BAR_COLUMNS)}] ${line}`;
  const perSecond = ((done - began.done) * SECOND) / (now - began.at);
  // The speed of the first second is not reliable.
  if (now - began.at < SECOND || perSecond <= 0 || done === of) return [drawn, line];
  const rate = `${Number(perSecond.toPrecision(2))}/s, ${duration(((of - done) * SECOND) / perSecond)} left`;
  return [`${drawn}, ${rate}`, `${line}, ${rate}`, line];
}

const ERASE_LINE = '\r\u001b[2K';

/** Returns a line at the bottom of a terminal that is overwritten. The caller decides when to draw. */
export function liveLine(output: Output) {
  let isShown = false;
  return {
    /** Draws the first text that fits, or what fits of the last. */
    async draw(...texts: readonly [string, ...string[]]): Promise<void> {
      // With room for the ^C that the terminal echoes: a full line would wrap, and could not be erased.
      const width = (output.columns ?? 80) - 3;
      isShown = true;
      await prepareWidths(texts);
      await output.write(`${ERASE_LINE}${fitting(texts, width)}`);
    },
    async clear(): Promise<void> {
      if (!isShown) return;
      isShown = false;
      await output.write(ERASE_LINE);
    },
  };
}
