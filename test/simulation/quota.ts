/** Models of how a service counts requests (open in the service spec, part 8): three, and two for each operation. */
import { START } from '../support/virtual-clock.ts';

const QUOTAS = ['fixed', 'sliding', 'bucket'] as const;
export const SERVERS = [...QUOTAS, 'short', 'per-operation', 'two-counters'] as const;
export type QuotaName = (typeof QUOTAS)[number];
export type ServerName = (typeof SERVERS)[number];

export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

const MINUTE: Rate = { limit: 60, windowMs: 60_000 };

/** What each server allows. `reads`: counted apart from the writes; undefined: one counter for both. */
export const RATES: Readonly<Record<ServerName, { readonly writes: Rate; readonly reads?: Rate }>> = {
  fixed: { writes: MINUTE },
  sliding: { writes: MINUTE },
  bucket: { writes: MINUTE },
  short: { writes: { limit: 20, windowMs: 3_000 } },
  'per-operation': { writes: { limit: 6, windowMs: 3_000 }, reads: { limit: 100, windowMs: 3_600_000 } },
  'two-counters': { writes: MINUTE, reads: MINUTE },
};

export interface Verdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** When a request is allowed again, or the whole limit is there again; ms of the simulation. */
  readonly resetAt: number;
}

export interface Quota {
  readonly rate: Rate;
  /** Counts a request that arrives at `now`. */
  count(now: number): Verdict;
  /** Whether a request at `now` would be allowed. */
  hasRoom(now: number): boolean;
}

/** The headers of an answer at `now`, with those of a 429 if it is refused. */
export function limitHeaders(now: number, { limit }: Rate, { allowed, remaining, resetAt }: Verdict) {
  return {
    date: new Date(START + now).toUTCString(),
    'x-ratelimit-limit': `${limit}`,
    'x-ratelimit-remaining': `${remaining}`,
    'x-ratelimit-reset': `${Math.ceil((START + resetAt) / 1_000)}`,
    ...(!allowed && { 'retry-after': `${Math.max(1, Math.ceil((resetAt - now) / 1_000))}` }),
  };
}

/**
 * The share of the limit that was used by allowed requests at these times, in order, of each window during all of which
 * there was work: from the first request on, up to `workUntil`. Windows begin as the fixed one's do: with a request,
 * unless aligned (`offset`).
 */
export function usedShares(times: readonly number[], rate: Rate, workUntil: number, offset?: number): number[] {
  const { limit, windowMs } = rate;
  const shares: number[] = [];
  let start = offset === undefined ? times[0] : times[0]! - ((times[0]! + offset) % windowMs);
  // An aligned window that had begun before anybody came was not all there to be used.
  if (start !== undefined && start < times[0]!) start += windowMs;
  while (start !== undefined && start + windowMs <= workUntil) {
    const end: number = start + windowMs;
    const from = start;
    shares.push(times.filter((at) => at >= from && at < end).length / limit);
    start = offset === undefined ? times.find((at) => at >= end) : end;
  }
  return shares;
}

/** `offset`: when the first window of all began, ms before the simulation; undefined: with the first request. */
export function createQuota(name: QuotaName, rate: Rate, offset: number | undefined): Quota {
  if (name === 'fixed') return fixedWindow(rate, offset);
  return name === 'sliding' ? slidingWindow(rate) : tokenBucket(rate);
}

function fixedWindow(rate: Rate, offset: number | undefined): Quota {
  const { limit, windowMs } = rate;
  let start = offset === undefined ? Number.NEGATIVE_INFINITY : -offset;
  let used = 0;
  return {
    rate,
    count(now) {
      if (now >= start + windowMs) {
        start = offset === undefined ? now : now - ((now - start) % windowMs);
        used = 0;
      }
      const allowed = used < limit;
      if (allowed) used++;
      return { allowed, remaining: limit - used, resetAt: start + windowMs };
    },
    hasRoom: (now) => used < limit || now >= start + windowMs,
  };
}

function slidingWindow(rate: Rate): Quota {
  const { limit, windowMs } = rate;
  let times: number[] = [];
  return {
    rate,
    count(now) {
      times = times.filter((at) => at > now - windowMs);
      const allowed = times.length < limit;
      if (allowed) times.push(now);
      return { allowed, remaining: limit - times.length, resetAt: times[0]! + windowMs };
    },
    hasRoom: (now) => times.filter((at) => at > now - windowMs).length < limit,
  };
}

function tokenBucket(rate: Rate): Quota {
  const { limit, windowMs } = rate;
  const perMs = limit / windowMs;
  let tokens = limit;
  let filledAt = 0;
  const fill = (now: number): void => {
    tokens = Math.min(limit, tokens + (now - filledAt) * perMs);
    filledAt = now;
  };
  return {
    rate,
    count(now) {
      fill(now);
      const allowed = tokens >= 1;
      if (allowed) tokens -= 1;
      return { allowed, remaining: Math.floor(tokens), resetAt: now + (Math.floor(tokens) + 1 - tokens) / perMs };
    },
    hasRoom(now) {
      fill(now);
      return tokens >= 1;
    },
  };
}
