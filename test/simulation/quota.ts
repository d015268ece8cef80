/** How a service may count a key's requests (service spec, part 8, does not say which): three models. */

export const QUOTAS = ['fixed', 'sliding', 'bucket'] as const;
export type QuotaName = (typeof QUOTAS)[number];

export const LIMIT = 60;
export const WINDOW_MS = 60_000;

export interface Verdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** When a request is allowed again, or the whole limit is there again; ms of the simulation. */
  readonly resetAt: number;
}

export interface Quota {
  /** Counts a request that arrives at `now`. */
  count(now: number): Verdict;
}

/** `offset`: when the first window of all began, ms before the simulation; undefined: with the first request. */
export function createQuota(name: QuotaName, offset: number | undefined): Quota {
  if (name === 'fixed') return fixedWindow(offset);
  return name === 'sliding' ? slidingWindow() : tokenBucket();
}

function fixedWindow(offset: number | undefined): Quota {
  let start = offset === undefined ? Number.NEGATIVE_INFINITY : -offset;
  let used = 0;
  return {
    count(now) {
      if (now >= start + WINDOW_MS) {
        start = offset === undefined ? now : now - ((now - start) % WINDOW_MS);
        used = 0;
      }
      const allowed = used < LIMIT;
      if (allowed) used++;
      return { allowed, remaining: LIMIT - used, resetAt: start + WINDOW_MS };
    },
  };
}

function slidingWindow(): Quota {
  let times: number[] = [];
  return {
    count(now) {
      times = times.filter((at) => at > now - WINDOW_MS);
      const allowed = times.length < LIMIT;
      if (allowed) times.push(now);
      return { allowed, remaining: LIMIT - times.length, resetAt: times[0]! + WINDOW_MS };
    },
  };
}

function tokenBucket(): Quota {
  const perMs = LIMIT / WINDOW_MS;
  let tokens = LIMIT;
  let filledAt = 0;
  return {
    count(now) {
      tokens = Math.min(LIMIT, tokens + (now - filledAt) * perMs);
      filledAt = now;
      const allowed = tokens >= 1;
      if (allowed) tokens -= 1;
      return { allowed, remaining: Math.floor(tokens), resetAt: now + (Math.floor(tokens) + 1 - tokens) / perMs };
    },
  };
}
