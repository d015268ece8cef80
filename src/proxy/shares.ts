/** Counts what each client with a share sends in a window, so that it gets no more than its share of the rate limit. */
import type { Clock, RateLimit } from '../ports.ts';
import { heldFailure } from '../rate-limit/gate.ts';
import type { Claim } from './requests.ts';

/** Before an answer has named the window: how often to check for one, and how long to count without one, in ms. */
const LOOK_MS = 100;
const UNKNOWN_WINDOW_MS = 60_000;
/** Most operations. Clients choose their names, so the oldest are forgotten. */
const MOST_PARTS = 10_000;

/** How much one client sends in a window. */
interface Part {
  count: number;
  /** Of these, the ones that are not sent yet: in another window, they count there. */
  waiting: number;
  /** End of the window, on the monotonic clock. */
  until: number;
  /** True if an answer has named the end. */
  isKnown: boolean;
}

export class Shares {
  private readonly clock: Clock;
  /** Newest limit by operation; Infinity if answers name none. */
  private readonly limits = new Map<string, number>();
  /** Newest limit of all operations: that of one without an answer. */
  private newestLimit = 0;
  /** Counts by limit and client: operations with the same limit share a window, so other paths give a client no more. */
  private readonly parts = new Map<string, Part>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Waits until the client's share has room, and counts the request. @throws {Failure} `rate-limited`: for too long */
  async take(claim: Claim, operation: string): Promise<Part | undefined> {
    for (;;) {
      const waitMs = this.check(claim, operation);
      if (waitMs === 0) break;
      await this.clock.sleep(waitMs, claim.signal);
    }
    if (claim.share === undefined) return undefined;
    const part = this.partOf(claim, operation);
    part.count++;
    part.waiting++;
    return part;
  }

  /** Ends the wait of a request that was counted: its place is free again if it was not sent. */
  settle({ isSent }: Claim, part: Part | undefined): void {
    if (part === undefined) return;
    this.renew(part);
    part.waiting--;
    if (!isSent) part.count--;
  }

  /** Returns how long a request has to wait for its client's share, in ms. @throws {Failure} `rate-limited`: too long */
  check(claim: Claim, operation: string): number {
    if (claim.share === undefined) return 0;
    const { clock } = this;
    const { maxWaitMs } = claim;
    const { count, until, isKnown } = this.partOf(claim, operation);
    // Before the first answer, one request finds out the limit.
    if (count < Math.max(1, Math.floor(this.limitOf(operation) * claim.share))) return 0;
    const waitMs = isKnown ? until - clock.monotonic() : LOOK_MS;
    if (waitMs <= claim.leftMs()) return waitMs;
    throw heldFailure({ until: clock.monotonic() + waitMs, why: 'window-spent' }, clock, { maxWaitMs });
  }

  /** Notes what an answer says about the window. */
  learn(claim: Claim, operation: string, limits: RateLimit | undefined): void {
    const { clock } = this;
    const before = claim.share === undefined ? undefined : this.partOf(claim, operation);
    if (limits !== undefined) this.newestLimit = limits.limit;
    setNewest(this.limits, operation, limits?.limit ?? this.limits.get(operation) ?? Number.POSITIVE_INFINITY);
    if (before === undefined || limits === undefined) return;
    const part = this.partOf(claim, operation);
    if (part !== before) part.count++;
    const leftMs = limits.resetAt - clock.now();
    // A late answer names the end of the last window.
    if (leftMs <= 0) return;
    part.until = clock.monotonic() + leftMs;
    part.isKnown = true;
  }

  /** Returns the operation's limit: that of the newest answer if it has none of its own. */
  limitOf(operation: string): number {
    return this.limits.get(operation) ?? this.newestLimit;
  }

  private partOf({ client }: Claim, operation: string): Part {
    const key = `${this.limitOf(operation)} ${client}`;
    const part = this.parts.get(key) ?? { count: 0, waiting: 0, until: 0, isKnown: false };
    if (!this.parts.has(key)) setNewest(this.parts, key, part);
    return this.renew(part);
  }

  /** Begins the next window if the last one has ended. */
  private renew(part: Part): Part {
    const now = this.clock.monotonic();
    if (part.until > now) return part;
    return Object.assign(part, { count: part.waiting, until: now + UNKNOWN_WINDOW_MS, isKnown: false });
  }
}

/** Sets a value, and forgets the one that was set first of more than `most`. */
export function setNewest<T>(map: Map<string, T>, key: string, value: T, most = MOST_PARTS): void {
  map.delete(key);
  map.set(key, value);
  const [oldest = ''] = map.keys();
  if (map.size > most) map.delete(oldest);
}
