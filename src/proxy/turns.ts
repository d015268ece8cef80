/**
 * Decides who asks the gate next: clients take turns, and urgent requests go before all others. When a request may be
 * sent, the gate alone decides: the first of a queue waits there, and those behind it only ask whether they may go too.
 */
import { isFailure } from '../errors.ts';
import { type Gate, type Gated, heldFailure, type Ticket } from '../rate-limit/gate.ts';
import { isTooLong } from '../rate-limit/governor.ts';
import type { Clock } from '../ports.ts';
import { FairQueue } from './fair-queue.ts';

/** Most requests of a queue that ask the gate at once: it then takes them together. */
const MOST_ASKING = 64;
/** Operations that are kept when none of their requests wait: what they are called is up to the clients. */
const MOST_LANES = 64;

export interface TurnOptions {
  readonly gate: Gate;
  readonly clock: Clock;
  /** Longest wait of a request, from its arrival, ms. */
  readonly maxWaitMs: number;
  /** Requests that only urgent ones may use. */
  readonly reserve: number;
}

export interface Claim {
  /** Who asks. */
  readonly client: string;
  readonly isUrgent: boolean;
  /** When the request arrived, on the monotonic clock. */
  readonly since: number;
  /** Aborts when the client is gone, with a Failure as its reason. */
  readonly signal: AbortSignal;
  /** Receives each wait, ms. */
  onWaited(ms: number): void;
}

export class Turns {
  /** Requests that were sent and are not answered yet. */
  inFlight = 0;
  private readonly options: TurnOptions;
  private readonly lanes = new Map<string, Lane>();

  constructor(options: TurnOptions) {
    this.options = options;
  }

  get waiting(): number {
    return [...this.lanes.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Returns the gate as one request sees it. */
  gateFor(claim: Claim): Gate {
    const { gate } = this.options;
    return {
      enter: (operation, connect) => this.enter(claim, operation, connect),
      forecast: (demand) => gate.forecast(demand),
      get limits() {
        return gate.limits;
      },
    };
  }

  /**
   * Refuses a request that would wait for too long, as far as is known: before a lock is taken for it, and it is recorded.
   * @throws {Failure} `rate-limited`, `banned`, `paused`
   */
  async checkWait(claim: Claim, operation: string, count = this.laneOf(operation).ahead(claim) + 1): Promise<void> {
    const { clock, gate, maxWaitMs } = this.options;
    const held = await gate.forecast({ operation, reserve: this.reserveOf(claim), count });
    if (held === undefined || !isTooLong(held, clock.monotonic(), this.leftOf(claim))) return;
    throw heldFailure(held, clock, { maxWaitMs, refusals: 0 });
  }

  private reserveOf({ isUrgent }: Claim): number {
    return isUrgent ? 0 : this.options.reserve;
  }

  private leftOf({ since }: Claim): number {
    const { clock, maxWaitMs } = this.options;
    return Math.max(0, maxWaitMs - (clock.monotonic() - since));
  }

  private async enter<C extends Gated>(
    claim: Claim,
    operation: string,
    connect: () => Promise<C>,
  ): Promise<{ ticket: Ticket; connection: C }> {
    const { clock, gate } = this.options;
    const { client, isUrgent, signal } = claim;
    signal.throwIfAborted();
    const lane = this.laneOf(operation);
    const queue = lane.queueOf(isUrgent);
    const from = clock.monotonic();
    const count = lane.ahead(claim) + 1;
    const entry = new Entry(client);
    queue.add(entry);
    const ask = (): void => entry.start?.(false);
    const cancel = clock.alarm(this.leftOf(claim), () => {
      entry.isLate = true;
      ask();
    });
    signal.addEventListener('abort', ask);
    try {
      let turn = lane.turnOf(entry);
      if (entry.start !== undefined) await this.checkWait(claim, operation, count);
      for (;;) {
        const isFirst = await turn;
        signal.throwIfAborted();
        const own = {
          maxWaitMs: isFirst ? this.leftOf(claim) : 0,
          reserve: this.reserveOf(claim),
          signal,
          connectsFirst: queue.width > 1,
        };
        try {
          const { ticket, connection } = await gate.enter(operation, connect, own);
          queue.remove(entry, true);
          queue.width = Math.min(MOST_ASKING, queue.width + 1);
          this.inFlight++;
          return { connection, ticket: this.counted(ticket) };
        } catch (error) {
          if (isFirst || entry.isLate || !isHeld(error)) throw error;
          queue.width = 1;
          turn = lane.turnOf(entry);
        }
      }
    } finally {
      cancel();
      signal.removeEventListener('abort', ask);
      queue.remove(entry, false);
      lane.startNext();
      claim.onWaited(clock.monotonic() - from);
    }
  }

  /** Notes that the request has been answered, or lost. */
  private counted(ticket: Ticket): Ticket {
    const over = (): void => {
      this.inFlight--;
    };
    return {
      isFresh: () => ticket.isFresh(),
      answered: (...answer) => ticket.answered(...answer).finally(over),
      lost: (mayHaveBeenSent) => ticket.lost(mayHaveBeenSent).finally(over),
    };
  }

  private laneOf(operation: string): Lane {
    const known = this.lanes.get(operation);
    if (known !== undefined) return known;
    for (const [name, lane] of this.lanes) {
      if (this.lanes.size >= MOST_LANES && lane.size === 0) this.lanes.delete(name);
    }
    const lane = new Lane();
    this.lanes.set(operation, lane);
    return lane;
  }
}

class Entry {
  readonly client: string;
  /** It has waited for as long as it may: it asks once more. */
  isLate = false;
  /** Lets it ask the gate; undefined: it asks already. `isFirst`: it may wait there. */
  start: ((isFirst: boolean) => void) | undefined;

  constructor(client: string) {
    this.client = client;
  }
}

/** How many of a queue may ask at once: one more for each that is sent, one alone after a wait. */
class Queue extends FairQueue<Entry> {
  width = 1;

  startFirst(): void {
    for (const [i, { start }] of this.first(this.width).entries()) start?.(i === 0);
  }
}

/** The requests of one operation, which share a rate limit. */
class Lane {
  private readonly urgent = new Queue();
  private readonly others = new Queue();

  get size(): number {
    return this.urgent.size + this.others.size;
  }

  queueOf(isUrgent: boolean): Queue {
    return isUrgent ? this.urgent : this.others;
  }

  /** Returns how many go before the next request of that client. */
  ahead({ client, isUrgent }: Pick<Claim, 'client' | 'isUrgent'>): number {
    return isUrgent ? this.urgent.ahead(client) : this.urgent.size + this.others.ahead(client);
  }

  /** Resolves when it may ask the gate: true for the first, which may wait there. */
  turnOf(entry: Entry): Promise<boolean> {
    return new Promise((resolve) => {
      entry.start = (isFirst) => {
        entry.start = undefined;
        resolve(isFirst);
      };
      this.startNext();
    });
  }

  /** Urgent ones go first: they may use the reserve that the others wait for. */
  startNext(): void {
    this.urgent.startFirst();
    if (this.urgent.size === 0) this.others.startFirst();
  }
}

function isHeld(error: unknown): boolean {
  return isFailure(error) && (error.is('rate-limited') || error.is('banned') || error.is('paused'));
}
