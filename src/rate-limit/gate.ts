/**
 * The gate that every request passes. It connects first, then asks the ledger for permission, then lets the first byte
 * go: a refusal that arrives while the connection is made still counts.
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

/** The part of a connection that the gate needs. */
export interface Gated {
  readonly isOpen: boolean;
  release(): void;
}

export interface Ticket {
  /**
   * True while the permission is fresh and no refusal has come since. A process that was suspended in between has to
   * ask again.
   */
  isFresh(): boolean;
  /**
   * Records the response's headers, and returns what remains of the operation's window, if known. Call it before doing
   * anything else with the response. `receivedAt`: epoch ms.
   */
  answered(
    status: number,
    headers: ReadonlyMap<string, readonly string[]>,
    receivedAt: number,
  ): Promise<RateLimit | undefined>;
  lost(mayHaveBeenSent: boolean): Promise<void>;
}

/** The gate as the client sees it. */
export type Gate = Pick<LedgerGate, 'enter' | 'forecast' | 'limits'>;

/** Limits of a single request, such as that of a proxy client that disconnects or has already waited. */
export interface OwnLimits extends Partial<Pick<GateOptions, 'maxWaitMs' | 'reserve' | 'signal'>> {
  /** Connects without checking the ledger first, as no wait is expected. Permission to send is still required. */
  readonly connectsFirst?: boolean;
}

export interface GateOptions {
  readonly ledger: Ledger;
  /** Short name of the service's address, such as `@5d0c2f`. Each address has its own windows. */
  readonly address: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly maxWaitMs: number;
  /** Longest time to wait for an answer, in ms. */
  readonly timeoutMs: number;
  /** Probes that may follow a 429, each after its wait; one more strike ends the command. May fall while it runs. */
  readonly probes: number;
  /** Prefix of reservation ids, see `ownerOf`. */
  readonly owner: string;
  /** Requests of each window to leave for other clients. */
  readonly reserve: number;
  readonly signal: AbortSignal;
  /** Called once a second during a wait, and with undefined when it is over. */
  onWait(wait: Wait | undefined): void;
}

const TICK_MS = 1_000;
/** Waits shorter than this are not announced, ms. */
const NOTICED_MS = 200;
const NOTICED_PACE_MS = 5_000;
/** Permission older than this has to be asked for again, in ms; normally the first byte follows at once. */
const FRESH_MS = 250;

export class LedgerGate {
  /** Rate limit from the newest headers. */
  limits: RateLimit | undefined;
  private readonly options: GateOptions;
  /** Consecutive strikes of the key that this command has seen. */
  private refusals = 0;
  private lastStrikes = 0;
  /** Number of refusals so far, for any request. */
  private refused = 0;
  private entered = 0;

  constructor(options: GateOptions) {
    this.options = options;
  }

  /**
   * Resolves when one request of the operation may be written to the connection.
   * @param connect called once no known reason holds the request back
   * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait would be longer than allowed
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
        // If a wait is already known, do not even connect.
        let decision = isFirst && own.connectsFirst === true ? undefined : await ledger.check(intent);
        if (decision === undefined || decision.do === 'send') {
          if (connection?.isOpen !== true) connection = await connect();
          const { refused } = this;
          // The monotonic clock may stop while the machine is suspended: compare it with the wall clock.
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
        // Waits add up: the request may have to wait for other clients' probes again and again.
        if (decision.do === 'refuse' || clock.monotonic() - since > maxWaitMs) throw this.failure(decision, maxWaitMs);
        const { again, until } = decision;
        // A wait that may end at any time is polled for no longer than allowed.
        await waits.sleep(decision, again === undefined ? until : Math.min(again, since + maxWaitMs + 1));
      }
    } finally {
      waits.end();
      connection?.release();
    }
  }

  /** Returns how long requests would have to wait, as far as is known; `until` is on the monotonic clock. */
  async forecast(demand: Demand): Promise<Hold | undefined> {
    return this.options.ledger.forecast({ ...demand, operation: this.at(demand.operation) });
  }

  /** Returns the ledger's name of the operation, which includes the address. */
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
        // Several requests refused together count as one strike.
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

/** Returns the failure that tells why a request was not sent. */
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

/** Sleeps through the waits before one request. Reports them once a second, and when they are over. */
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
      // Read the clock again after each sleep, so that a machine that was suspended never sends early.
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
