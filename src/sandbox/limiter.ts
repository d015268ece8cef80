/**
 * Enforces request limits per key (service spec, part 8): fixed windows of a minute and of a day, counted in the store,
 * so that they apply across commands and processes. A window begins with its first request.
 *
 * A request before the time that a 429 named counts as early. Too many early requests ban the key for a while.
 */
import type { RateLimit } from '../ports.ts';
import type { Plan, Rules } from './plans.ts';
import type { Usage, Store } from './sandbox-store.ts';

/** With the rate limit of the window with the least left, which the three headers describe. */
export interface LimiterDecision extends RateLimit {
  readonly outcome: 'allowed' | 'spent' | 'banned';
  /** Epoch ms; set if refused. */
  readonly retryAt: number | undefined;
}

export type Window = Usage['minute'] & Pick<RateLimit, 'limit' | 'resetAt'>;

/** Counts one request and decides about it. A refused one uses up nothing. Call it within a transaction. */
export function count(store: Store, rules: Rules, apiKey: string, now: number): LimiterDecision {
  const stored = store.allowance(apiKey);
  // After the clock was set back, also to before 1970, a block or ban must still end.
  const isSetBack = now < stored.minute.from || stored.bannedUntil > now + rules.banFor;
  const usage = isSetBack ? { ...stored, blockedUntil: now, bannedUntil: now } : stored;
  const { minute, day } = windowsOf(usage, rules.plan, now);
  const decide = (outcome: LimiterDecision['outcome'], change: Partial<Usage>): LimiterDecision => {
    const after = { ...usage, ...change };
    store.setAllowance(apiKey, after);
    const retryAt = { allowed: undefined, spent: after.blockedUntil, banned: after.bannedUntil }[outcome];
    return { outcome, ...least(windowsOf(after, rules.plan, now)), retryAt };
  };
  if (now < usage.bannedUntil) return decide('banned', {});
  const early = now < usage.blockedUntil ? usage.early + 1 : 0;
  if (rules.banAfter > 0 && early >= rules.banAfter) {
    return decide('banned', { early: 0, blockedUntil: 0, bannedUntil: now + rules.banFor });
  }
  const spent = [minute, day].filter(({ used, limit }) => used >= limit);
  if (spent.length > 0) {
    return decide('spent', { early, blockedUntil: Math.max(...spent.map(({ resetAt }) => resetAt)) });
  }
  const counted = ({ from, used }: Window): Usage['minute'] => ({ from, used: used + 1 });
  return decide('allowed', { minute: counted(minute), day: counted(day), early });
}

/** Returns a key's windows, without counting a request. */
export function windowsOf({ minute, day }: Usage, plan: Plan, now: number): { minute: Window; day: Window } {
  const window = ({ from, used }: Usage['minute'], ms: number, limit: number): Window => {
    // After the clock was set back, a window must still end.
    const live = now >= from && now < from + ms;
    return live ? { limit, from, used, resetAt: from + ms } : { limit, from: now, used: 0, resetAt: now + ms };
  };
  return { minute: window(minute, plan.minuteMs ?? 60_000, plan.perMinute), day: window(day, 86_400_000, plan.perDay) };
}

function least({ minute, day }: ReturnType<typeof windowsOf>): RateLimit {
  const left = ({ limit, used }: Window): number => Math.max(0, limit - used);
  // If both have nothing left, the one that ends later counts.
  const isDay = left(day) < left(minute) || (left(day) === 0 && day.resetAt > minute.resetAt);
  const window = isDay ? day : minute;
  return { limit: window.limit, remaining: left(window), resetAt: window.resetAt };
}

/** Returns the three headers of every response, and Retry-After if the request is refused. */
export function limitHeaders(verdict: LimiterDecision, now: number, rules: Rules): Record<string, string> {
  const { limit, remaining, resetAt, retryAt } = verdict;
  // Rounded up, so that a client that returns at that second is not early.
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil(resetAt / 1_000)),
    ...(retryAt !== undefined && { 'Retry-After': retryAfter(retryAt, now, rules) }),
  };
}

/** @param until epoch ms */
export function retryAfter(until: number, now: number, { retryAfterFormat }: Rules): string {
  if (retryAfterFormat === 'seconds') return String(Math.ceil((until - now) / 1_000));
  return new Date(Math.ceil(until / 1_000) * 1_000).toUTCString();
}
