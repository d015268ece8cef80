/**
 * Request limits per key (service spec, part 8): fixed windows of a minute and of a day, counted in the store,
 * so that they hold between commands and across processes.
 */
import type { Store } from './store.ts';

export interface Plan {
  readonly perMinute: number;
  readonly perDay: number;
  /** A shorter minute, in ms, for those who cannot wait. */
  readonly minuteMs?: number;
}

/** The Free plan of the service spec. */
export const FREE: Plan = { perMinute: 60, perDay: 1_000 };

const WINDOWS = [
  { name: 'minute', ms: (plan: Plan) => plan.minuteMs ?? 60_000, limit: (plan: Plan) => plan.perMinute },
  { name: 'day', ms: () => 86_400_000, limit: (plan: Plan) => plan.perDay },
] as const;

export interface Verdict {
  readonly allowed: boolean;
  /** The window with the least left: what the three headers describe. */
  readonly limit: number;
  readonly remaining: number;
  /** Epoch ms. */
  readonly resetAt: number;
}

/** Counts one request and judges it. A refused one is not counted. To be called within a transaction. */
export function count(store: Store, plan: Plan, apiKey: string, now: number): Verdict {
  const windows = WINDOWS.map(({ name, ms: length, limit }) => {
    const ms = length(plan);
    const counter = store.counter(apiKey, name);
    // A clock that was set back must not leave a window that never ends.
    const live = counter !== undefined && now >= counter.startedAt && now < counter.startedAt + ms;
    const startedAt = live ? counter.startedAt : now;
    const used = live ? counter.used : 0;
    return { name, limit: limit(plan), startedAt, used, resetAt: startedAt + ms };
  });
  const spent = windows.filter(({ used, limit }) => used >= limit);
  if (spent.length > 0) {
    const last = spent.reduce((a, b) => (b.resetAt > a.resetAt ? b : a));
    return { allowed: false, limit: last.limit, remaining: 0, resetAt: last.resetAt };
  }
  for (const { name, startedAt, used } of windows) store.setCounter(apiKey, name, { startedAt, used: used + 1 });
  const least = windows.reduce((a, b) => (b.limit - b.used < a.limit - a.used ? b : a));
  return { allowed: true, limit: least.limit, remaining: least.limit - least.used - 1, resetAt: least.resetAt };
}

/** The three headers of every response; Retry-After besides where the request is refused. */
export function limitHeaders(verdict: Verdict, now: number): Record<string, string> {
  const { allowed, limit, remaining, resetAt } = verdict;
  // Rounded up: a client that comes back at that second is welcome.
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(resetAt / 1_000)),
    ...(!allowed && { 'Retry-After': String(Math.max(1, Math.ceil((resetAt - now) / 1_000))) }),
  };
}
