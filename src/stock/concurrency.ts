/** Decides how many requests of a run are in flight. The gate decides when each may be sent. */
import type { Session } from '../session/connect.ts';
import type { Service } from '../client/service.ts';
import { Failure, isFailure } from '../errors.ts';
import type { Gate, Ticket } from '../rate-limit/gate.ts';

const MOST = 32;
/** Most requests if answers come sooner than `SLOW_MS`: more would only slow such a service down. */
const MOST_WHEN_FAST = 8;
const SLOW_MS = 200;
/** How much each answer adds. A slow answer adds this for each `SLOW_MS` that it took, up to one. */
const GROWTH = 0.1;
/** How much slower it grows to the number at which an answer was last refused. */
const CAUTION = 5;

/** One request at first, more with each answer, and one again after a 5xx or 429. Also limits reads and retries. */
export class Pace {
  /** The session's service, with a gate that lets at most `concurrency` requests through. */
  readonly service: Service;
  private readonly session: Session;
  private most = 1;
  /** The number of requests at which an answer was last refused. */
  private refusedAt: number | undefined;
  /** Number of requests that are in flight or wait for permission. */
  private underWay = 0;
  private isOver = false;
  private answer = Promise.withResolvers<undefined>();

  constructor(session: Session) {
    this.session = session;
    this.service = { ...session.service, gate: { enter: (...call) => this.enter(...call) } };
  }

  /** At least one; exactly one if nothing is shared with other processes. */
  get concurrency(): number {
    return this.session.isAlone() ? 1 : Math.floor(this.most);
  }

  /** Ends the run: requests that still wait are not sent. */
  end(): void {
    this.isOver = true;
    this.wake();
  }

  private async enter(...call: Parameters<Gate['enter']>): ReturnType<Gate['enter']> {
    for (;;) {
      while (this.underWay >= this.concurrency) await this.nextAnswer();
      this.underWay++;
      try {
        const { ticket, connection } = await this.session.service.gate.enter(...call);
        return { ticket: this.counted(ticket), connection };
      } catch (error) {
        this.underWay--;
        // Refused because it would wait too long for another one's answer.
        const isForAnAnswer = isFailure(error) && error.is('rate-limited') && error.details.why === 'asking';
        if (this.underWay === 0 || !isForAnAnswer) {
          this.wake();
          throw error;
        }
        // Does not wake the others that wait: they would only be refused too.
        await this.nextAnswer();
      }
    }
  }

  private async nextAnswer(): Promise<void> {
    await this.answer.promise;
    // Any failure will do: the run already has the cause of its end.
    if (this.isOver) throw new Failure('run-incomplete', { failed: 0, conflicts: 0, report: undefined });
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

  /** `ms`: time from permission to the response headers. */
  private learn(status: number, ms: number): void {
    // A limiter that sends no limits may count requests at the same time.
    if (status >= 500 || status === 429) {
      if (this.most >= 2) this.refusedAt = Math.floor(this.most);
      this.most = 1;
      return;
    }
    const growth = Math.min(1, GROWTH * Math.max(1, ms / SLOW_MS));
    const grown = this.most + (Math.floor(this.most) + 1 === this.refusedAt ? growth / CAUTION : growth);
    this.most = Math.max(this.most, Math.min(grown, ms < SLOW_MS ? MOST_WHEN_FAST : MOST));
  }

  private wake(): void {
    this.answer.resolve(undefined);
    this.answer = Promise.withResolvers();
  }
}
