/**
 * The gate that every request passes. The connection comes first, then the ledger's leave, then the first byte: so that
 * no refusal that arrives while a connection is made is overlooked.
 */
import type { Clock, Random } from '../ports.ts';
import { Failure } from '../errors.ts';
import { type Decision, forecast, type Hold, type Intent, type LedgerState, type WaitReason } from './governor.ts';
import { readLimitHeaders } from './headers.ts';
import { isRefusal, type Ledger, toWall } from './ledger.ts';
import { type Demand, tightestWindow } from './windows.ts';

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

export interface Gate {
  /**
   * Resolves when one request of the operation may be written now, on the connection.
   * @param connect is called once nothing is known that holds the request back
   * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait is longer than allowed, and was not begun
   */
  enter<C extends Gated>(
    operation: string,
    connect: () => Promise<C>,
    own?: OwnLimits,
  ): Promise<{ ticket: Ticket; connection: C }>;
  /** Resolves with how long requests would have to wait, as far as is known: `until` on the monotonic clock. */
  forecast(demand: Demand): Promise<Hold | undefined>;
  /** By the newest headers. */
  readonly limits: RateLimit | undefined;
}

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
  /** Begins the ids of reservations (owner.ts). */
  readonly owner?: string;
  /** Requests to leave for others. */
  readonly reserve: number;
  readonly signal: AbortSignal;
  /** Called once a second while waiting; undefined: the wait is over. */
  onWait(wait: Wait | undefined): void;
}

/** `refused` and the clocks as they were before leave was asked for, and when it was given. */
interface Leave {
  readonly refused: number;
  readonly monotonic: number;
  readonly wall: number;
  readonly at: number;
}

const TICK_MS = 1_000;
/** Waits shorter than this are not announced, ms. */
const NOTICED_MS = 200;
const NOTICED_PACE_MS = 5_000;
/** Leave that is older has to be asked for again, ms: between it and the first byte nothing waits. */
const FRESH_MS = 250;

export function createGate(options: GateOptions): Gate {
  return new LedgerGate(options);
}

class LedgerGate implements Gate {
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

  async enter<C extends Gated>(
    operation: string,
    connect: () => Promise<C>,
    own: OwnLimits = {},
  ): Promise<{ ticket: Ticket; connection: C }> {
    const { options } = this;
    const { clock, ledger, owner = '', probes, random, timeoutMs } = options;
    const { maxWaitMs = options.maxWaitMs, reserve = options.reserve, signal = options.signal } = own;
    if (this.refusals > probes) throw await this.giveUp();
    const id = `${owner}/${this.entered++}/${random()}`;
    const intent: Intent = { id, operation: this.at(operation), maxWaitMs, reserve, timeoutMs };
    const since = clock.monotonic();
    const waiting = new WaitLoop(options, signal, this.refusals + 1);
    const waitOut = async (held: Exclude<Decision, { do: 'send' }>): Promise<void> => {
      // Waits add up: another client's probe may be asked after again and again.
      if (held.do === 'refuse' || clock.monotonic() - since > maxWaitMs) throw this.failure(held, maxWaitMs);
      // What may be over at any time is asked after for no longer than allowed.
      const again = held.again === undefined ? {} : { again: Math.min(held.again, since + maxWaitMs + 1) };
      await waiting.sleepThrough({ ...held, ...again });
    };
    let connection: C | undefined;
    let { connectsFirst = false } = own;
    try {
      for (;;) {
        if (signal.aborted) throw signal.reason;
        // A wait that is known keeps even the connection from being made.
        const known = connectsFirst ? undefined : await ledger.check(intent);
        connectsFirst = false;
        if (known !== undefined && known.do !== 'send') {
          await waitOut(known);
          continue;
        }
        if (connection?.isOpen !== true) connection = await connect();
        const asked = { refused: this.refused, monotonic: clock.monotonic(), wall: clock.now() };
        const decision = await ledger.admit(intent);
        if (decision.do !== 'send') {
          await waitOut(decision);
          continue;
        }
        const admitted = { connection, ticket: this.ticket(intent, { ...asked, at: decision.at }) };
        connection = undefined;
        return admitted;
      }
    } finally {
      waiting.end();
      connection?.release();
    }
  }

  async forecast(demand: Demand): Promise<Hold | undefined> {
    const { clock, ledger } = this.options;
    return forecast(await ledger.view(), clock.monotonic(), { ...demand, operation: this.at(demand.operation) });
  }

  /** Returns the operation as the ledger calls it, with the address. */
  private at(operation: string): string {
    return operation.replace(' ', ` ${this.options.address}`);
  }

  private ticket({ id, operation }: Intent, leave: Leave): Ticket {
    const { clock, ledger, random } = this.options;
    return {
      isFresh: () =>
        this.refused === leave.refused &&
        clock.monotonic() - leave.at <= FRESH_MS &&
        // A machine that was suspended may have stopped its monotonic clock.
        clock.now() - leave.wall - (clock.monotonic() - leave.monotonic) <= FRESH_MS,
      answered: async (status, headers, receivedAt) => {
        const read = readLimitHeaders(headers, receivedAt);
        if (isRefusal({ status })) this.refused++;
        const view = await ledger.answered({ id, operation, status, headers: read, random: random() });
        this.countStrikes(status, view);
        const window = tightestWindow(view, clock.monotonic(), operation) ?? read.window;
        if (window === undefined) return undefined;
        const { limit, remaining } = window;
        const resetAt = 'resetAt' in window ? toWall(clock, window.resetAt) : clock.now() + window.resetInMs;
        return (this.limits = { limit, remaining, resetAt });
      },
      lost: async (mayHaveBeenSent) => {
        await ledger.lost(id, mayHaveBeenSent);
      },
    };
  }

  /** Several requests that are refused together are one strike. */
  private countStrikes(status: number, { strikes }: LedgerState): void {
    if (status === 429 && (strikes !== this.lastStrikes || this.refusals === 0)) this.refusals++;
    if (strikes === 0) this.refusals = 0;
    this.lastStrikes = strikes;
  }

  private async giveUp(): Promise<Failure> {
    const { clock, ledger } = this.options;
    const { block } = await ledger.view();
    return this.failure({ until: block?.until ?? clock.monotonic(), why: block?.why ?? 'rate-limited' });
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

/** The waits before one request, and reports them: once a second, and at the end. */
class WaitLoop {
  private readonly options: GateOptions;
  private readonly signal: AbortSignal;
  private readonly attempt: number;
  private reported: Hold['why'] | undefined;
  private askingSince: number | undefined;
  private reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: GateOptions, signal: AbortSignal, attempt: number) {
    this.options = options;
    this.signal = signal;
    this.attempt = attempt;
  }

  async sleepThrough(hold: Hold): Promise<void> {
    const { clock } = this.options;
    if (hold.why !== this.reported) this.end();
    this.askingSince = hold.again === undefined ? undefined : (this.askingSince ?? clock.monotonic());
    const until = hold.again ?? hold.until;
    // The monotonic clock is asked again after each sleep: a suspended machine never sends early.
    for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
      if (this.isWorthReporting(hold)) this.report(hold);
      await clock.sleep(Math.min(left, TICK_MS), this.signal);
    }
  }

  end(): void {
    if (this.reported !== undefined) this.options.onWait(undefined);
    this.reported = undefined;
    this.reportedAt = Number.NEGATIVE_INFINITY;
  }

  private isWorthReporting({ until, why }: Hold): boolean {
    const now = this.options.clock.monotonic();
    if (now - this.reportedAt < TICK_MS) return false;
    if (this.reported !== undefined) return true;
    if (this.askingSince !== undefined) return now - this.askingSince >= TICK_MS;
    return until - now >= (why === 'paced' ? NOTICED_PACE_MS : NOTICED_MS);
  }

  private report({ until, why }: Hold): void {
    const { clock, probes, onWait } = this.options;
    this.reported = why;
    this.reportedAt = clock.monotonic();
    const remainingMs = until - this.reportedAt;
    const attempts = probes + 1;
    onWait({ why, until: clock.now() + remainingMs, remainingMs, attempt: this.attempt, attempts });
  }
}
