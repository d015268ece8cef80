/** How many requests a run has under way at the same time: enough to spend each window, however slow the service. */
import type { Session } from '../session/connect.ts';
import type { Service } from '../client/service.ts';
import { Failure } from '../errors.ts';
import type { Gate, Ticket } from '../rate-limit/gate.ts';

/** Of a fast service: more would only make it slower. */
const MOST_WHEN_FAST = 8;
const MOST = 32;
/** Of what would just do: windows are counted from their first request, and latency varies. */
const MARGIN = 2;
/** What a new measurement counts for. */
const WEIGHT = 0.2;
/** After this many answers without a 5xx, one more request may be under way. */
const RECOVERY = 10;

export class Pace {
  /** The session's, its attempts measured, and fewer of them let through while the service fails. */
  readonly service: Service;
  private readonly session: Session;
  /** From the gate's leave to the answer's head, ms, averaged. */
  private latencyMs: number | undefined;
  private readonly throttle: Throttle;

  constructor(session: Session) {
    this.session = session;
    const { gate, signal, watch } = session.service;
    this.throttle = new Throttle(gate, signal);
    this.service = {
      ...session.service,
      gate: this.throttle.gate,
      watch: {
        attempt: (facts) => {
          if (facts.status !== undefined) this.measured(facts.ms);
          watch.attempt(facts);
        },
        backoff: (wait) => {
          watch.backoff(wait);
        },
        warning: (text) => {
          watch.warning(text);
        },
        debug: (text) => {
          watch.debug(text);
        },
      },
    };
  }

  /** At least one; one alone where nothing is shared with other processes, or no limits are known. */
  concurrency(): number {
    const { clock, gate } = this.service;
    if (this.session.isAlone() || gate.limits === undefined) return 1;
    const { limit, remaining, resetAt } = gate.limits;
    const leftMs = Math.max(1_000, resetAt - clock.now());
    const needed = (MARGIN * remaining * (this.latencyMs ?? 0)) / leftMs;
    return Math.ceil(Math.min(this.throttle.most, Math.max(1, Math.min(MOST_WHEN_FAST, limit / 60), needed)));
  }

  /** Ends the run: requests that wait for a failing service are not sent any more. */
  end(): void {
    this.throttle.end();
  }

  private measured(ms: number): void {
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs + WEIGHT * (ms - this.latencyMs);
  }
}

/**
 * Halves the number of requests under way with each 5xx or 429, and lets it grow again slowly. While the service fails, one
 * request at a time is under way, looks and repeats included.
 */
class Throttle {
  most = MOST;
  readonly gate: Gate;
  private readonly signal: AbortSignal;
  private underWay = 0;
  private isFailing = false;
  private answersSince = 0;
  private isOver = false;
  private waiting: (() => void)[] = [];

  constructor(gate: Gate, signal: AbortSignal) {
    this.signal = signal;
    signal.addEventListener(
      'abort',
      () => {
        this.wake();
      },
      { once: true },
    );
    this.gate = {
      get limits() {
        return gate.limits;
      },
      enter: async (...call) => {
        await this.takeRoom();
        try {
          const { ticket, connection } = await gate.enter(...call);
          return { ticket: this.counted(ticket), connection };
        } catch (error) {
          this.left();
          throw error;
        }
      },
    };
  }

  end(): void {
    this.isOver = true;
    this.wake();
  }

  /** Counts the request in the same turn as it finds room: several may have been woken for one place. */
  private async takeRoom(): Promise<void> {
    while (this.underWay >= (this.isFailing ? 1 : this.most)) {
      if (this.signal.aborted) throw this.signal.reason;
      // Not the cause of the run's end, and no cause comes after it.
      if (this.isOver) throw new Failure('run-incomplete', { failed: 0, conflicts: 0, report: undefined });
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.underWay++;
  }

  private counted(ticket: Ticket): Ticket {
    return {
      ...ticket,
      answered: async (status, ...rest) => {
        try {
          await ticket.answered(status, ...rest);
        } finally {
          this.answered(status);
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

  private answered(status: number): void {
    this.isFailing = status >= 500;
    // A limiter that the window does not tell of may count requests at the same time.
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
