/**
 * Decides which request asks the gate next: clients take turns, and urgent requests go first. The gate alone decides
 * when a request may be sent: the first one waits there, and the next ones only ask whether they may go too.
 */
import { type Admitted, heldFailure, isHeld, type Ticket } from '../rate-limit/gate.ts';
import { isTooLong } from '../rate-limit/governor.ts';
import type { Service } from '../client/service.ts';
import type { Session } from '../session/connect.ts';
import type { Connection } from '../ports.ts';
import type { Claim } from './requests.ts';
import { sharesOn, type Waiting } from './shares.ts';

/** How many requests may ask the gate at once: it then admits them together. */
const MOST_ASKING = 64;
/** The first may wait for something that does not hold the others: how often they ask in that time, in ms. */
const LOOK_MS = 1_000;

/** `reserve`: number of requests that only urgent ones may use. */
export type TurnOptions = Pick<Session, 'gate'> & Pick<Service, 'clock'> & { readonly reserve: number };

interface Entry extends Waiting {
  /** Round in which it is sent: each round has one request of each client. */
  readonly round: number;
  /** When the rate limit allows it, as far as is known, on the monotonic clock. */
  dueAt: number;
  /** Lets it ask the gate; undefined if it already does. `isFirst`: true if it may wait there. */
  start: ((isFirst: boolean) => void) | undefined;
}

/** One queue for all operations, so that a client gets no more turns by asking for many paths. */
export class Turns {
  private readonly options: TurnOptions;
  private readonly shares: ReturnType<typeof sharesOn>;
  /** The requests that wait: urgent ones first, then by rounds. */
  private readonly entries: Entry[] = [];
  /** Rounds of the last requests that were sent: of an urgent one, and of another. */
  private readonly rounds = new Map<boolean, number>();
  /** How many may ask the gate at once: one more for each that is sent, only one after a wait. */
  private width = 1;

  constructor(options: TurnOptions) {
    this.options = options;
    this.shares = sharesOn(options.clock);
  }

  get waiting(): number {
    return this.entries.length;
  }

  gateFor(claim: Claim): Service['gate'] {
    return { enter: (operation, connect) => this.enter(claim, operation, connect) };
  }

  /**
   * Refuses a request that would wait too long, as far as is known, before a lock is taken for it and it is recorded.
   * @throws {Failure} `rate-limited`, `banned`, `paused`
   */
  async checkWait(claim: Claim, operation: string, place = this.nextTurn(claim).place): Promise<void> {
    const { clock, gate } = this.options;
    this.shares.check(claim, operation, this.entries);
    const before = this.shares.inWindow(operation, this.entries.slice(0, place));
    const held = await gate.forecast({ operation, reserve: this.reserveOf(claim), count: before.length + 1 });
    if (held === undefined || !isTooLong(held, clock.monotonic(), claim.leftMs())) return;
    throw heldFailure(held, clock, { maxWaitMs: claim.maxWaitMs });
  }

  private reserveOf({ isUrgent }: Claim): number {
    return isUrgent ? 0 : this.options.reserve;
  }

  private async enter(claim: Claim, operation: string, connect: () => Promise<Connection>): Promise<Admitted> {
    const { clock, gate } = this.options;
    const { signal } = claim;
    claim.isSent = false;
    signal.throwIfAborted();
    for (;;) {
      const waitMs = this.shares.check(claim, operation, this.entries);
      if (waitMs === 0) break;
      await clock.sleep(waitMs, signal);
      // The next window begins for those before it, too: the first goes first.
      this.width = 1;
    }
    const { place, round } = this.nextTurn(claim);
    const entry: Entry = { claim, operation, round, dueAt: Number.POSITIVE_INFINITY, start: undefined };
    this.entries.splice(place, 0, entry);
    const ask = (): void => entry.start?.(false);
    const cancel = clock.alarm(claim.leftMs(), ask);
    signal.addEventListener('abort', ask);
    try {
      let turn = this.turnOf(entry);
      if (place >= this.width) {
        await this.checkWait(claim, operation, place);
        await this.unlessSoon(ask);
      }
      for (;;) {
        const isFirst = await turn;
        signal.throwIfAborted();
        const maxWaitMs = isFirst ? claim.leftMs() : 0;
        const own = { maxWaitMs, allowedMs: claim.maxWaitMs, signal, connectsFirst: this.width > 1 };
        const stopLooking = isFirst ? this.look() : undefined;
        try {
          const entered = await gate.enter(operation, connect, { ...own, reserve: this.reserveOf(claim) });
          this.width = Math.min(MOST_ASKING, this.width + 1);
          claim.isSent = true;
          return { ...entered, ticket: this.counted(claim, operation, entered.ticket) };
        } catch (error) {
          // A timer may ring up to one millisecond early.
          if (isFirst || claim.leftMs() < 1 || !isHeld(error)) throw error;
          this.width = 1;
          turn = this.turnOf(entry);
        } finally {
          stopLooking?.();
        }
      }
    } finally {
      cancel();
      signal.removeEventListener('abort', ask);
      claim.waitedMs = clock.monotonic() - claim.since;
      this.entries.splice(this.entries.indexOf(entry), 1);
      const { isSent, isUrgent } = claim;
      if (isSent) this.rounds.set(isUrgent, Math.max(this.rounds.get(isUrgent) ?? 0, round));
      this.startNext();
    }
  }

  /** Counts a request against the share of its client, unless the ticket says that it was not sent. */
  private counted(claim: Claim, operation: string, ticket: Ticket): Ticket {
    this.shares.count(claim, operation);
    return {
      ...ticket,
      answered: async (...answer) => {
        const limits = await ticket.answered(...answer);
        this.shares.learn(claim, operation, limits);
        return limits;
      },
      lost: (mayHaveBeenSent) => {
        if (!mayHaveBeenSent) this.shares.count(claim, operation, -1);
        return ticket.lost(mayHaveBeenSent);
      },
    };
  }

  /** Lets the others ask from time to time. Returns how to stop. */
  private look(): () => void {
    let cancel = this.options.clock.alarm(LOOK_MS, () => {
      cancel = this.look();
      // If the ledger fails, the first one reports it.
      void this.unlessSoon(() => {
        this.width = MOST_ASKING;
        this.startNext();
      }).catch(() => undefined);
    });
    return () => {
      cancel();
    };
  }

  /** Asks now, except around the time when the first one may be sent: it would be overtaken. */
  private async unlessSoon(ask: () => void): Promise<void> {
    const { clock, gate } = this.options;
    const first = this.entries[0]!;
    const held = await gate.forecast({ operation: first.operation, reserve: this.reserveOf(first.claim) });
    const now = clock.monotonic();
    first.dueAt = held?.until ?? Math.min(first.dueAt, now);
    if (Math.abs(first.dueAt - now) >= LOOK_MS / 2) ask();
  }

  /** Returns the round of the client's next request, and how many requests go before it. */
  private nextTurn({ client, isUrgent }: Claim): { readonly round: number; readonly place: number } {
    const { entries } = this;
    const last = entries.findLast(({ claim }) => claim.client === client && claim.isUrgent === isUrgent);
    const round = Math.max(this.rounds.get(isUrgent) ?? 0, last?.round ?? 0) + 1;
    const later = entries.findIndex((each) => (each.claim.isUrgent === isUrgent ? each.round > round : isUrgent));
    return { round, place: later === -1 ? entries.length : later };
  }

  /** Resolves when the request may ask the gate: with true for the first, which may wait there. */
  private turnOf(entry: Entry): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    entry.start = resolve;
    this.startNext();
    return promise;
  }

  private startNext(): void {
    for (const [place, entry] of this.entries.slice(0, this.width).entries()) {
      entry.start?.(place === 0);
      entry.start = undefined;
    }
  }
}
