/** The gate that every request passes: asks the ledger, waits or refuses, and brings the answer back. */
import type { Clock, Random } from '../context.ts';
import { Failure } from '../errors.ts';
import type { Hold, WaitReason } from './governor.ts';
import { readLimitHeaders } from './headers.ts';
import type { Ledger } from './ledger.ts';

export interface Wait {
  readonly why: WaitReason;
  /** Epoch ms. */
  readonly until: number;
  readonly remainingMs: number;
  /** The attempt that follows the wait, from 1, and how many there are at most. */
  readonly attempt: number;
  readonly attempts: number;
}

export interface Ticket {
  /** `receivedAt`: epoch ms. Told before anything else is done with the response. */
  answered(status: number, headers: ReadonlyMap<string, readonly string[]>, receivedAt: number): Promise<void>;
  lost(mayHaveBeenSent: boolean): Promise<void>;
}

export interface Gate {
  /**
   * Resolves when one request may be sent.
   * @throws {Failure} `rate-limited`: the wait is longer than allowed, and was not begun
   */
  enter(): Promise<Ticket>;
  /** The newest headers; `resetAt` in epoch ms. */
  readonly limits: { readonly limit: number; readonly remaining: number; readonly resetAt: number } | undefined;
}

export interface GateOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Random;
  readonly maxWaitMs: number;
  /**
   * How many requests may follow a 429, each after its wait; one more refusal ends the command. May fall while it
   * runs.
   */
  readonly probes: number;
  /** Who asks, for people who look at the ledger: the process. */
  readonly owner?: string;
  /** Requests to leave for others. */
  readonly reserve: number;
  readonly signal: AbortSignal;
  /** Once a second while waiting; undefined: the wait is over. */
  onWait(wait: Wait | undefined): void;
}

const TICK_MS = 1_000;
/** Nobody needs to be told of a shorter wait whose end is known. */
const NOTICED_MS = 200;

export function createGate(options: GateOptions): Gate {
  const { ledger, clock, random, maxWaitMs, signal } = options;
  let limits: Gate['limits'];
  let refusals = 0;
  let entered = 0;

  const refusal = (decision: Hold): Failure => {
    const waitMs = Math.max(0, decision.until - clock.monotonic());
    return new Failure('rate-limited', {
      why: decision.why,
      retryAt: clock.now() + waitMs,
      waitMs,
      maxWaitMs,
      refusals,
    });
  };

  const ticket = (id: string): Ticket => ({
    async answered(status, headers, receivedAt) {
      const read = readLimitHeaders(headers, receivedAt);
      // In a row: a run of hours may meet one now and then, with another client on the key.
      refusals = status === 429 ? refusals + 1 : 0;
      const { window } = await ledger.answered({ id, status, headers: read, random: random() });
      if (read.window === undefined) return;
      const resetAt = clock.now() + (window === undefined ? read.window.resetInMs : window.resetAt - clock.monotonic());
      limits = { limit: read.window.limit, remaining: window?.remaining ?? read.window.remaining, resetAt };
    },
    lost: (mayHaveBeenSent) => ledger.lost(id, mayHaveBeenSent),
  });

  return {
    get limits() {
      return limits;
    },
    async enter() {
      if (refusals > options.probes) {
        const { block } = await ledger.view();
        throw refusal({ until: block?.until ?? clock.monotonic(), why: block?.why ?? 'rate-limited' });
      }
      const id = `${options.owner ?? ''}/${entered++}/${random()}`;
      const since = clock.monotonic();
      const waiting = new Waiting(options, refusals + 1);
      try {
        for (;;) {
          if (signal.aborted) throw signal.reason;
          const decision = await ledger.admit({ id, maxWaitMs, reserve: options.reserve });
          if (decision.do === 'send') return ticket(id);
          // Waits add up: another client's probe may be asked after again and again.
          if (decision.do === 'refuse' || clock.monotonic() - since > maxWaitMs) throw refusal(decision);
          await waiting.sleepThrough(decision);
        }
      } finally {
        waiting.end();
      }
    },
  };
}

/** The waits before one request, and what is told of them: once a second, and when all is over. */
class Waiting {
  private readonly options: GateOptions;
  private readonly attempt: number;
  private told: Hold['why'] | undefined;
  private askingSince: number | undefined;
  private toldAt = Number.NEGATIVE_INFINITY;

  constructor(options: GateOptions, attempt: number) {
    this.options = options;
    this.attempt = attempt;
  }

  async sleepThrough(hold: Hold): Promise<void> {
    const { clock, signal } = this.options;
    if (hold.why !== this.told) this.end();
    this.askingSince = hold.again === undefined ? undefined : (this.askingSince ?? clock.monotonic());
    const until = hold.again ?? hold.until;
    // The monotonic clock is asked again after each sleep: a suspended machine never sends early.
    for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
      if (this.isWorthTelling(hold)) this.tell(hold);
      await clock.sleep(Math.min(left, TICK_MS), signal);
    }
  }

  end(): void {
    if (this.told !== undefined) this.options.onWait(undefined);
    this.told = undefined;
    this.toldAt = Number.NEGATIVE_INFINITY;
  }

  private isWorthTelling({ until }: Hold): boolean {
    const now = this.options.clock.monotonic();
    if (now - this.toldAt < TICK_MS) return false;
    if (this.told !== undefined) return true;
    return this.askingSince === undefined ? until - now >= NOTICED_MS : now - this.askingSince >= TICK_MS;
  }

  private tell({ until, why }: Hold): void {
    const { clock, probes, onWait } = this.options;
    this.told = why;
    this.toldAt = clock.monotonic();
    const remainingMs = until - this.toldAt;
    const attempts = probes + 1;
    onWait({ why, until: clock.now() + remainingMs, remainingMs, attempt: this.attempt, attempts });
  }
}
