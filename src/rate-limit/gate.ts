/**
 * The gate that every request passes. The connection comes first, then the ledger's leave, then the first byte: so that
 * no refusal that arrives while a connection is made is overlooked.
 */
import type { Clock, Random } from '../ports.ts';
import { Failure } from '../errors.ts';
import { type Hold, type Intent, type WaitReason } from './governor.ts';
import { readLimitHeaders } from './headers.ts';
import { isRefusal, type Ledger, toWall } from './ledger.ts';
import { type Demand, liveWindows } from './windows.ts';

export interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch ms. */
  readonly resetAt: number;
}

export interface Wait {
  readonly why: WaitReason;
  /** Epoch ms. */
  readonly until: number;
  readonly remainingMs: number;
  /** The attempt that follows the wait, from 1, and how many there are at most. */
  readonly attempt: number;
  readonly attempts: number;
}

/** The part of a connection that the gate looks after. */
export interface Gated {
  readonly isOpen: boolean;
  release(): void;
}

export interface Ticket {
  /**
   * True while the leave still holds: at once after it was given, and no refusal has come since. A process that was
   * stopped in between has to ask again.
   */
  isFresh(): boolean;
  /**
   * Returns what is left of the operation's window, if that is known. Called before anything else is done with the
   * response. `receivedAt`: epoch ms.
   */
  answered(
    status: number,
    headers: ReadonlyMap<string, readonly string[]>,
    receivedAt: number,
  ): Promise<RateLimit | undefined>;
  lost(mayHaveBeenSent: boolean): Promise<void>;
}

/** What a client needs of a gate. */
export type Gate = Pick<LedgerGate, 'enter' | 'forecast' | 'limits'>;

/** What one request may have of its own: a client of the proxy that leaves, or has waited already. */
export interface OwnLimits extends Partial<Pick<GateOptions, 'maxWaitMs' | 'reserve' | 'signal'>> {
  /** Connects without a look at the ledger first: a wait is not expected. The leave to send is asked for in any case. */
  readonly connectsFirst?: boolean;
}

export interface GateOptions {
  readonly ledger: Ledger;
  /** What the service's address is called, such as `@5d0c2f`: operations at other addresses have windows of their own. */
  readonly address: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly maxWaitMs: number;
  /** Longest time that an answer may take, ms. */
  readonly timeoutMs: number;
  /** How many requests may follow a 429, each after its wait; one more strike ends the command. May fall while it runs. */
  readonly probes: number;
  /** Begins the ids of reservations, see `ownerOf`. */
  readonly owner: string;
  /** Requests to leave for others. */
  readonly reserve: number;
  readonly signal: AbortSignal;
  /** Called once a second while waiting; undefined: the wait is over. */
  onWait(wait: Wait | undefined): void;
}

const TICK_MS = 1_000;
/** Waits shorter than this are not announced, ms. */
const NOTICED_MS = 200;
const NOTICED_PACE_MS = 5_000;
/** Leave that is older has to be asked for again, ms: between it and the first byte nothing waits. */
const FRESH_MS = 250;

export class LedgerGate {
  /** By the newest headers. */
  limits: RateLimit | undefined;
  private readonly options: GateOptions;
  /** Strikes of the key that this command has met in a row. */
  private refusals = 0;
  private lastStrikes = 0;
  /** Counts answers that refuse, of any request. */
  private refused = 0;
  private entered = 0;

  constructor(options: GateOptions) {
    this.options = options;
  }

  /**
   * Resolves when one request of the operation may be written now, on the connection.
   * @param connect is called once nothing is known that holds the request back
   * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait is longer than allowed, and was not begun
   */
  async enter<C extends Gated>(
    operation: string,
    connect: () => Promise<C>,
    own: OwnLimits = {},
  ): Promise<{ ticket: Ticket; connection: C }> {
    const { clock, ledger, maxWaitMs, owner, random, reserve, signal, timeoutMs } = { ...this.options, ...own };
    if (this.refusals > this.options.probes) {
      const { block = { until: clock.monotonic(), why: 'rate-limited' } } = await ledger.view();
      throw this.failure(block);
    }
    const id = `${owner}/${this.entered++}/${random()}`;
    const intent = { id, operation: this.at(operation), maxWaitMs, reserve, timeoutMs };
    const since = clock.monotonic();
    const waits = waitsOf(this.options, signal, this.refusals + 1);
    let connection: C | undefined;
    try {
      for (let isFirst = true; ; isFirst = false) {
        signal.throwIfAborted();
        // A wait that is known keeps even the connection from being made.
        let decision = isFirst && own.connectsFirst === true ? undefined : await ledger.check(intent);
        if (decision === undefined || decision.do === 'send') {
          if (connection?.isOpen !== true) connection = await connect();
          const { refused } = this;
          // A machine that was suspended may have stopped its monotonic clock.
          const passed = clock.now() - clock.monotonic();
          decision = await ledger.admit(intent);
          if (decision.do === 'send') {
            const { at } = decision;
            const age = (): number => clock.monotonic() - at + Math.max(0, clock.now() - clock.monotonic() - passed);
            const isFresh = (): boolean => this.refused === refused && age() <= FRESH_MS;
            const admitted = { connection, ticket: { ...this.ticket(intent), isFresh } };
            connection = undefined;
            return admitted;
          }
        }
        // Waits add up: another client's probe may be asked after again and again.
        if (decision.do === 'refuse' || clock.monotonic() - since > maxWaitMs) throw this.failure(decision, maxWaitMs);
        const { again, until } = decision;
        // What may be over at any time is asked after for no longer than allowed.
        await waits.sleep(decision, again === undefined ? until : Math.min(again, since + maxWaitMs + 1));
      }
    } finally {
      waits.end();
      connection?.release();
    }
  }

  /** Resolves with how long requests would have to wait, as far as is known: `until` on the monotonic clock. */
  async forecast(demand: Demand): Promise<Hold | undefined> {
    return this.options.ledger.forecast({ ...demand, operation: this.at(demand.operation) });
  }

  /** Returns the operation as the ledger calls it, with the address. */
  private at(operation: string): string {
    return operation.replace(' ', ` ${this.options.address}`);
  }

  private ticket({ id, operation }: Pick<Intent, 'id' | 'operation'>): Omit<Ticket, 'isFresh'> {
    const { clock, ledger, random } = this.options;
    return {
      answered: async (status, headers, receivedAt) => {
        const read = readLimitHeaders(headers, receivedAt);
        if (isRefusal({ status })) this.refused++;
        const state = await ledger.answered({ id, operation, status, headers: read, random: random() });
        // Several requests that are refused together are one strike.
        if (status === 429 && (state.strikes !== this.lastStrikes || this.refusals === 0)) this.refusals++;
        if (state.strikes === 0) this.refusals = 0;
        this.lastStrikes = state.strikes;
        const [window] = liveWindows(state, clock.monotonic(), operation);
        if (window === undefined) return undefined;
        const { limit, remaining, resetAt } = window;
        return (this.limits = { limit, remaining, resetAt: toWall(clock, resetAt) });
      },
      lost: async (mayHaveBeenSent) => {
        await ledger.lost(id, mayHaveBeenSent);
      },
    };
  }

  private failure(held: Hold, maxWaitMs = this.options.maxWaitMs): Failure {
    return heldFailure(held, this.options.clock, { maxWaitMs, refusals: this.refusals });
  }
}

/** Returns why a request is not sent. */
export function heldFailure(
  { until, why, says }: Hold,
  clock: Clock,
  known: { readonly maxWaitMs: number; readonly refusals: number },
): Failure {
  const waitMs = Math.max(0, until - clock.monotonic());
  const facts = { retryAt: clock.now() + waitMs, waitMs, ...known };
  if (why === 'banned' || why === 'paused') return new Failure(why, facts);
  return new Failure('rate-limited', { why, ...facts, ...(says !== undefined && { says }) });
}

/** The waits before one request. Reports them once a second, and when they are over. */
function waitsOf({ clock, probes, onWait }: GateOptions, signal: AbortSignal, attempt: number) {
  let wait: { readonly why: WaitReason; readonly since: number; reportedAt?: number } | undefined;
  const end = (): void => {
    if (wait?.reportedAt !== undefined) onWait(undefined);
    wait = undefined;
  };
  return {
    end,
    async sleep({ again, until, why }: Hold, to: number): Promise<void> {
      if (why !== wait?.why) end();
      const current = (wait ??= { why, since: clock.monotonic() });
      // The monotonic clock is asked again after each sleep: a suspended machine never sends early.
      for (let now = clock.monotonic(); now < to; now = clock.monotonic()) {
        const { since, reportedAt } = current;
        const remainingMs = until - now;
        const isLong = remainingMs >= (why === 'paced' ? NOTICED_PACE_MS : NOTICED_MS);
        const isNoticed = again === undefined ? isLong : now - since >= TICK_MS;
        if (reportedAt === undefined ? isNoticed : now - reportedAt >= TICK_MS) {
          current.reportedAt = now;
          onWait({ why, until: clock.now() + remainingMs, remainingMs, attempt, attempts: probes + 1 });
        }
        await clock.sleep(Math.min(to - now, TICK_MS), signal);
      }
    },
  };
}
