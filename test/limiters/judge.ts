/** Judges the client by the log of a front. */
import type { Entry } from './front.ts';

/** What was under way when the refusal was given may still arrive. */
const UNDER_WAY_MS = 500;

/** Requests that came within a time which an earlier answer had asked to wait, and how far into it. */
export function strikes(log: readonly Entry[]): string[] {
  return log.flatMap((entry, i) => {
    const asked = log.slice(0, i).find(({ answeredAt, askedMs }) => {
      const since = entry.at - answeredAt;
      return askedMs !== undefined && since > UNDER_WAY_MS && since < askedMs;
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
