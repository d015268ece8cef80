/** Judges the client by the log of a front. */
import type { Entry } from './front.ts';

/** What was under way when the refusal was given may arrive late on a busy machine: at most this, or half the time asked. */
const UNDER_WAY_MS = 1_000;

/** Requests that came within a time which an earlier answer had asked to wait, and how far into it. */
export function strikes(log: readonly Entry[]): string[] {
  return log.flatMap((entry, i) => {
    const asked = log.slice(0, i).find(({ answeredAt, askedMs }) => {
      const since = entry.at - answeredAt;
      return askedMs !== undefined && since > Math.min(UNDER_WAY_MS, askedMs / 2) && since < askedMs;
    });
    if (asked === undefined) return [];
    const since = ((entry.at - asked.answeredAt) / 1_000).toFixed(1);
    return [`${entry.method} ${entry.path}: ${since} s into ${(asked.askedMs ?? 0) / 1_000} s of a ${asked.status}`];
  });
}

export function refused(log: readonly Entry[]): Entry[] {
  return log.filter(({ status }) => status === 429 || status === 403 || status === 503);
}

/** How many fixed windows, each begun by a request, the answered requests were spread over. */
export function windowsUsed(log: readonly Entry[], windowMs: number): number {
  let count = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { at } of log) {
    if (at < end) continue;
    count++;
    end = at + windowMs;
  }
  return count;
}

/**
 * Returns how long a refusal asks to wait, read independently of the program's own reader; undefined if it names no time.
 * `headers`: lower-case names, repeated ones repeated. `now`: epoch ms of the server.
 */
export function askedWaitMs(
  status: number,
  headers: readonly (readonly [name: string, value: string])[],
  now: number,
): number | undefined {
  if (status !== 429 && status !== 403 && status !== 503) return undefined;
  const values = (wanted: string): string[] =>
    headers.filter(([name]) => name === wanted).flatMap(([, value]) => value.split(','));
  const longest = (waits: readonly number[]): number | undefined => {
    const known = waits.filter((each) => Number.isFinite(each) && each >= 0);
    return known.length === 0 ? undefined : Math.max(...known) * 1_000;
  };
  return (
    longest(values('retry-after').map(Number)) ??
    longest(values('ratelimit-reset').map(Number)) ??
    longest(
      values('ratelimit').flatMap((each) => [...each.matchAll(/\b(?:t|reset)=(\d+)/g)].map(([, s]) => Number(s))),
    ) ??
    longest(values('x-ratelimit-reset').map((each) => (Number(each) > 1e9 ? Number(each) - now / 1_000 : Number(each))))
  );
}
