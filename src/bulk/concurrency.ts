/** Decides how many requests a run sends at the same time: enough to use each window, however slow the service. */
import type { Session } from '../session/connect.ts';
import type { Service } from '../client/service.ts';
import { Failure, isFailure } from '../errors.ts';
import type { Gate, Ticket } from '../rate-limit/gate.ts';

/** The most for a fast service, which more requests would only slow down. */
const MOST_WHEN_FAST = 8;
const MOST = 32;
/** A multiple of what would just suffice: windows are counted from their first request, and latency varies. */
const MARGIN = 2;
/** The weight of a new measurement in the average. */
const WEIGHT = 0.2;
/** After this many answers without a 5xx, one more request may be under way. */
const RECOVERY = 10;

/**
 * Halves the number of requests under way with each 5xx or 429, and lets it grow again slowly. While the service fails,
 * one request at a time is under way, reads and retries included.
 */
export class Pace {
  /** The session's service, with a gate that measures each request and lets fewer through while the service fails. */
  readonly service: Service;
  private readonly session: Session;
  /** Average time from permission to the head of the answer, ms. */
  private latencyMs: number | undefined;
  private most = MOST;
  /** Requests that were sent, or wait for permission. */
  private underWay = 0;
  private isFailing = false;
  private answersSince = 0;
  private isOver = false;
  private waiting: (() => void)[] = [];

  constructor(session: Session) {
    this.session = session;
    const { gate, signal } = session.service;
    const wake = (): void => {
      this.wake();
    };
    signal.addEventListener('abort', wake, { once: true });
    this.service = { ...session.service, gate: this.throttled(gate) };
  }

  /** Returns at least one; exactly one if nothing is shared with other processes, or no limits are known. */
  concurrency(): number {
    const { clock, gate } = this.service;
    if (this.session.isAlone() || gate.limits === undefined) return 1;
    const { limit, remaining, resetAt } = gate.limits;
    const leftMs = Math.max(1_000, resetAt - clock.now());
    const needed = (MARGIN * remaining * (this.latencyMs ?? 0)) / leftMs;
    return Math.ceil(Math.min(this.most, Math.max(1, Math.min(MOST_WHEN_FAST, limit / 60), needed)));
  }

  /** Ends the run: requests that wait for a failing service are not sent any more. */
  end(): void {
    this.isOver = true;
    this.wake();
  }

  private throttled(gate: Gate): Gate {
    return {
      get limits() {
        return gate.limits;
      },
      enter: async (...call) => {
        for (;;) {
          await this.takeRoom();
          try {
            const { ticket, connection } = await gate.enter(...call);
            return { ticket: this.counted(ticket), connection };
          } catch (error) {
            if (!(await this.isAnswered(error))) throw error;
          }
        }
      },
    };
  }

  /** Counts the request in the same turn as it finds room: several may have been woken for one place. */
  private async takeRoom(): Promise<void> {
    const { signal } = this.service;
    while (this.underWay >= (this.isFailing ? 1 : this.most)) {
      if (signal.aborted) throw signal.reason;
      // Not the cause of the run's end, and no cause comes after it.
      if (this.isOver) throw new Failure('run-incomplete', { failed: 0, conflicts: 0, report: undefined });
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.underWay++;
  }

  /**
   * Waits for another request of this run, where the refused one would have to wait for an answer: which is not a wait for
   * the rate limit.
   * @returns whether to try again
   */
  private async isAnswered(refusal: unknown): Promise<boolean> {
    if (this.underWay === 1 || !isForAnAnswer(refusal)) {
      this.left();
      return false;
    }
    // Without waking others, which would only be refused as well.
    this.underWay--;
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return !this.isOver && !this.service.signal.aborted;
  }

  private counted(ticket: Ticket): Ticket {
    const { clock } = this.service;
    const permitted = clock.monotonic();
    return {
      ...ticket,
      answered: async (status, ...rest) => {
        try {
          await ticket.answered(status, ...rest);
        } finally {
          this.answered(status, clock.monotonic() - permitted);
          this.left();
        }
      },
      lost: async (...how) => {
        try {
          await ticket.lost(...how);
        } finally {
          this.left();
        }
      },
    };
  }

  private answered(status: number, ms: number): void {
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs + WEIGHT * (ms - this.latencyMs);
    this.isFailing = status >= 500;
    // A limiter whose limit the headers do not tell may count requests at the same time.
    if (this.isFailing || status === 429) {
      this.most = Math.max(1, Math.floor(Math.min(this.most, this.underWay) / 2));
      this.answersSince = 0;
    } else if (++this.answersSince >= RECOVERY) {
      this.most = Math.min(MOST, this.most + 1);
      this.answersSince = 0;
    }
  }

  private left(): void {
    this.underWay--;
    this.wake();
  }

  private wake(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const each of waiting) each();
  }
}

/** True where a request would have to wait longer than allowed for the answer to another one. */
function isForAnAnswer(error: unknown): boolean {
  return isFailure(error) && error.is('rate-limited') && error.details.why === 'asking';
}
