/** Decides how many rows and requests of a run are under way: one number. When a request may be sent, the gate decides. */
import type { Session } from '../session/connect.ts';
import type { Service } from '../client/service.ts';
import { Failure, isFailure } from '../errors.ts';
import type { Gate, Ticket } from '../rate-limit/gate.ts';

const MOST = 32;
/** The most where answers come sooner than `SLOW_MS`: more would only slow such a service down. */
const MOST_WHEN_FAST = 8;
const SLOW_MS = 200;
/** What one answer adds. Until one is refused, a slow one adds as much for each `SLOW_MS` that it took, up to one. */
const GROWTH = 0.1;

/** Grows with answers, is halved by each 5xx or 429, and bounds reads and retries as well as rows. */
export class Pace {
  /** The session's service, with a gate that lets no more requests through than the number. */
  readonly service: Service;
  private readonly session: Session;
  private most = 1;
  private wasRefused = false;
  /** Requests that were sent, or wait for permission. */
  private underWay = 0;
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

  /** At least one; exactly one if nothing is shared with other processes. */
  get concurrency(): number {
    return this.session.isAlone() ? 1 : Math.floor(this.most);
  }

  /** Ends the run: requests that wait for room are not sent any more. */
  end(): void {
    this.isOver = true;
    this.wake();
  }

  private throttled(gate: Gate): Gate {
    return {
      get limits() {
        return gate.limits;
      },
      forecast: (demand) => gate.forecast(demand),
      enter: async (...call) => {
        for (;;) {
          await this.takeRoom();
          try {
            const { ticket, connection } = await gate.enter(...call);
            return { ticket: this.counted(ticket), connection };
          } catch (error) {
            this.underWay--;
            const isForAnother = this.underWay > 0 && isForAnAnswer(error) && !this.isOver;
            if (!isForAnother || this.service.signal.aborted) {
              this.wake();
              throw error;
            }
            // Others that wait are not woken: they would only be refused as well.
            await this.nextAnswer();
          }
        }
      },
    };
  }

  /** Counts the request in the same turn as it finds room: several may have been woken for one place. */
  private async takeRoom(): Promise<void> {
    const { signal } = this.service;
    while (this.underWay >= this.concurrency) {
      if (signal.aborted) throw signal.reason;
      // Not the cause of the run's end, and no cause comes after it.
      if (this.isOver) throw new Failure('run-incomplete', { failed: 0, conflicts: 0, report: undefined });
      await this.nextAnswer();
    }
    this.underWay++;
  }

  private nextAnswer(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private counted(ticket: Ticket): Ticket {
    const { clock } = this.service;
    const permitted = clock.monotonic();
    const left = (): void => {
      this.underWay--;
      this.wake();
    };
    return {
      ...ticket,
      answered: (status, ...rest) => {
        this.learn(status, clock.monotonic() - permitted);
        return ticket.answered(status, ...rest).finally(left);
      },
      lost: (...how) => ticket.lost(...how).finally(left),
    };
  }

  /** `ms`: from permission to the head of the answer. */
  private learn(status: number, ms: number): void {
    // A limiter that sends no limits may count requests at the same time.
    if (status >= 500 || status === 429) {
      this.most = Math.max(1, Math.min(this.most, this.underWay) / 2);
      this.wasRefused = true;
      return;
    }
    const times = this.wasRefused ? 1 : Math.max(1, ms / SLOW_MS);
    const grown = this.most + Math.min(1, GROWTH * times);
    this.most = Math.max(this.most, Math.min(grown, ms < SLOW_MS ? MOST_WHEN_FAST : MOST));
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
