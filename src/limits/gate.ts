/** The gate that every request passes: asks the ledger, waits or refuses, and brings the answer back. */
import type { Clock, Random } from '../context.ts';
import { Failure } from '../errors.ts';
import type { WaitReason } from './governor.ts';
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
/** Nobody needs to be told of a shorter wait. */
const NOTICED_MS = 200;

export function createGate(options: GateOptions): Gate {
  const { ledger, clock, random, maxWaitMs, signal } = options;
  let limits: Gate['limits'];
  let refusals = 0;
  let entered = 0;

  const refusal = (decision: { until: number; why: WaitReason }): Failure => {
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
      for (;;) {
        if (signal.aborted) throw signal.reason;
        const decision = await ledger.admit({ id, maxWaitMs, reserve: options.reserve });
        if (decision.do === 'send') return ticket(id);
        // Waits add up: another client's probe may be asked after again and again.
        const waited = clock.monotonic() - since;
        if (decision.do === 'refuse' || waited > maxWaitMs) throw refusal(decision);
        await waitOut(options, decision, refusals + 1);
      }
    },
  };
}

async function waitOut(
  { clock, probes, signal, onWait }: GateOptions,
  { until, why }: { until: number; why: WaitReason },
  attempt: number,
): Promise<void> {
  const told = until - clock.monotonic() >= NOTICED_MS;
  try {
    // The monotonic clock is asked again after each sleep: a suspended machine never sends early.
    for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
      if (told) onWait({ why, until: clock.now() + left, remainingMs: left, attempt, attempts: probes + 1 });
      await clock.sleep(Math.min(left, TICK_MS), signal);
    }
  } finally {
    if (told) onWait(undefined);
  }
}
