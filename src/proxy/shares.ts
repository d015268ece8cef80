/** Counts what each client with a share sends in a window, so that it gets no more than its share of the rate limit. */
import type { Clock, RateLimit } from '../ports.ts';
import { heldFailure } from '../rate-limit/gate.ts';
import type { Claim } from './requests.ts';

/** Before an answer has named the window: how often to check for one, and how long to count without one, in ms. */
const LOOK_MS = 100;
const UNKNOWN_WINDOW_MS = 60_000;
/** Most operations, and most addresses. Clients choose them, so the oldest are forgotten. */
const MOST = 1_000;

export interface Waiting {
  readonly claim: Claim;
  readonly operation: string;
}

interface Window {
  /** How much each client with a share has sent in it. */
  readonly sent: Map<string, number>;
  /** Its end, on the monotonic clock. */
  until: number;
  /** True if an answer has named the end. */
  isKnown: boolean;
}

export function sharesOn(clock: Clock) {
  /** Newest limit by operation; Infinity if answers name none. */
  const limits = new Map<string, number>();
  /** Newest limit of all operations: that of one without an answer. */
  let newestLimit = 0;
  /** By limit: operations with the same limit share a window, so other paths give a client no more. */
  const windows = new Map<number, Window>();
  const limitOf = (operation: string): number => limits.get(operation) ?? newestLimit;
  const windowOf = (operation: string): Window => {
    const now = clock.monotonic();
    const last = windows.get(limitOf(operation));
    if (last !== undefined && last.until > now) return last;
    const next = { sent: new Map<string, number>(), until: now + UNKNOWN_WINDOW_MS, isKnown: false };
    windows.set(limitOf(operation), next);
    return next;
  };
  /** Returns the requests that wait for the window of the operation. */
  const inWindow = (operation: string, queue: readonly Waiting[]): readonly Waiting[] =>
    queue.filter((each) => limitOf(each.operation) === limitOf(operation));
  const count = ({ client, share }: Claim, operation: string, by = 1): void => {
    const { sent } = windowOf(operation);
    if (share !== undefined) sent.set(client, Math.max(0, (sent.get(client) ?? 0) + by));
  };
  return {
    inWindow,
    count,
    /** Returns how long a request has to wait for its client's share, in ms. @throws {Failure} `rate-limited`: too long */
    check(claim: Claim, operation: string, queue: readonly Waiting[]): number {
      const { client, leftMs, maxWaitMs, share } = claim;
      if (share === undefined) return 0;
      const { sent, until, isKnown } = windowOf(operation);
      const others = inWindow(operation, queue).filter((each) => each.claim.client === client && each.claim !== claim);
      // Before the first answer, one request finds out the limit.
      const most = Math.max(1, Math.floor(limitOf(operation) * share));
      if ((sent.get(client) ?? 0) + others.length < most) return 0;
      const waitMs = isKnown ? until - clock.monotonic() : LOOK_MS;
      if (waitMs <= leftMs()) return waitMs;
      throw heldFailure({ until: clock.monotonic() + waitMs, why: 'window-spent' }, clock, { maxWaitMs });
    },
    /** Notes what an answer says about the window. */
    learn(claim: Claim, operation: string, answered: RateLimit | undefined): void {
      const before = windowOf(operation);
      if (answered !== undefined) newestLimit = answered.limit;
      setNewest(limits, operation, answered?.limit ?? limits.get(operation) ?? Number.POSITIVE_INFINITY);
      const window = windowOf(operation);
      if (window !== before) count(claim, operation);
      // A late answer names the end of the last window.
      if (answered === undefined || answered.resetAt <= clock.now()) return;
      window.until = clock.monotonic() + answered.resetAt - clock.now();
      window.isKnown = true;
    },
  };
}

/** Sets a value, and forgets the one that was set first of more than `MOST`. */
export function setNewest<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest = ''] = map.keys();
  if (map.size > MOST) map.delete(oldest);
}
