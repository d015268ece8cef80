/**
 * Decides which request goes next. The gate decides when one may be sent; here clients take turns, and urgent requests go
 * before all others. No more requests of an operation ask the gate at once than it has room for: at the gate, a later
 * one could be sent before an earlier one.
 */
import { Failure, isFailure } from '../errors.ts';
import type { Gate, Gated, RateLimit, Ticket } from '../rate-limit/gate.ts';
import { type Claim, Lane, type TurnOptions } from './lane.ts';

/** Operations that are kept when none of their requests wait: what they are called is up to the clients. */
const MOST_LANES = 64;

export class Turns {
  private readonly options: TurnOptions;
  private readonly lanes = new Map<string, Lane>();

  constructor(options: TurnOptions) {
    this.options = options;
  }

  get waiting(): number {
    return [...this.lanes.values()].reduce((sum, { waiting }) => sum + waiting, 0);
  }

  get inFlight(): number {
    return [...this.lanes.values()].reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  /** Returns the gate as one request sees it. */
  gateFor(claim: Claim): Gate {
    const { gate } = this.options;
    return {
      enter: (operation, connect) => this.enter(claim, operation, connect),
      get limits() {
        return gate.limits;
      },
    };
  }

  /**
   * Refuses a request that would wait for too long, as far as is known: before a lock is taken for it, and it is recorded.
   * @throws {Failure} `rate-limited`, `banned`, `paused`
   */
  async checkWait(claim: Claim, operation: string): Promise<void> {
    const lane = this.laneOf(operation);
    const failure = await this.withBlock(lane.tooLong(lane.leastWaitMs(claim)));
    if (failure.details.waitMs > this.leftOf(claim)) throw failure;
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
    const { clock, gate, reserve } = this.options;
    const { isUrgent, signal } = claim;
    const lane = this.laneOf(operation);
    const from = clock.monotonic();
    let isAsking = false;
    try {
      await lane.turn(claim, this.leftOf(claim));
      isAsking = true;
      const own = {
        maxWaitMs: this.leftOf(claim),
        reserve: isUrgent ? 0 : reserve,
        signal,
        connectsFirst: lane.leastWaitMs(claim) === 0 && lane.isKnown,
      };
      const { ticket, connection } = await gate.enter(operation, connect, own);
      lane.sent(isUrgent);
      return { connection, ticket: watched(ticket, lane) };
    } catch (error) {
      if (isAsking) lane.askedInVain(isUrgent);
      else if (isFailure(error) && error.is('rate-limited')) throw await this.withBlock(error);
      throw error;
    } finally {
      claim.onWaited(clock.monotonic() - from);
    }
  }

  /** Returns why a request has to wait: a block may end later than the window. */
  private async withBlock(failure: Failure<'rate-limited'>): Promise<Failure<'rate-limited' | 'banned' | 'paused'>> {
    const block = await this.options.block();
    if (block === undefined || block.until <= failure.details.retryAt) return failure;
    const { until: retryAt, why } = block;
    const facts = { ...failure.details, retryAt, waitMs: retryAt - this.options.clock.now() };
    return why === 'rate-limited' ? new Failure(why, { ...facts, why }) : new Failure(why, facts);
  }

  private laneOf(operation: string): Lane {
    const known = this.lanes.get(operation);
    if (known !== undefined) return known;
    for (const [name, lane] of this.lanes) {
      if (this.lanes.size >= MOST_LANES && lane.isIdle) this.lanes.delete(name);
    }
    const lane = new Lane(this.options);
    this.lanes.set(operation, lane);
    return lane;
  }
}

/** Notes in the lane that the request has been answered, or lost. */
function watched(ticket: Ticket, lane: Lane): Ticket {
  return {
    isFresh: () => ticket.isFresh(),
    async answered(...answer) {
      let limits: RateLimit | undefined;
      try {
        return (limits = await ticket.answered(...answer));
      } finally {
        lane.over(limits);
      }
    },
    lost: (mayHaveBeenSent) =>
      ticket.lost(mayHaveBeenSent).finally(() => {
        lane.over(undefined);
      }),
  };
}
