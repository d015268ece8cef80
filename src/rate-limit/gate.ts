/**
 * The gate that every request passes. It connects first, then asks the ledger for permission, then writes: a refusal
 * that arrives while it connects is never missed.
 */
import type { Clock, Connection, Context, RateLimit, Wait, WaitReason } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { type Hold, type Intent, isTooLong } from './governor.ts';
import { readLimitHeaders } from './headers.ts';
import { isRefusal, type Ledger, toWall } from './ledger.ts';
import { type Demand, liveWindows } from './windows.ts';

export interface Ticket {
  /**
   * True while the permission to send is valid: it was given just now, and no refusal has arrived since. A process that
   * was suspended in between has to ask again.
   */
  isFresh(): boolean;
  /**
   * Returns what is left of the operation's window, if that is known. Must be called first with every
   * response. `receivedAt`: epoch ms.
   */
  answered(
    status: number,
    headers: ReadonlyMap<string, readonly string[]>,
    receivedAt: number,
  ): Promise<RateLimit | undefined>;
  lost(mayHaveBeenSent: boolean): Promise<unknown>;
}

/** Permission to send one request on the connection. */
export interface Admitted {
  readonly ticket: Ticket;
  readonly connection: Connection;
}

/** The gate as a session sees it. The client only enters. */
export type Gate = Pick<LedgerGate, 'enter' | 'forecast' | 'limits'>;

/** Options of a single request: a client of the proxy may disconnect, or may have waited already. */
export interface OwnLimits extends Partial<Pick<GateOptions, 'maxWaitMs' | 'reserve' | 'signal'>> {
  /** Connects before it checks the ledger, because no wait is expected. It still asks for permission to send. */
  readonly connectsFirst?: boolean;
  /** The longest wait that was set, for the failure, if `maxWaitMs` is what is left of it. */
  readonly allowedMs?: number;
}

export interface GateOptions extends Pick<Context, 'clock' | 'random' | 'signal'> {
  readonly ledger: Ledger;
  /** Identifies the service's address, such as `@5d0c2f`: operations at other addresses have their own windows. */
  readonly address: string;
  /** Longest wait before an attempt, in ms. */
  readonly maxWaitMs: number;
  /** Longest time that one attempt waits for the service, in ms. */
  readonly timeoutMs: number;
  /** How many requests may follow a 429, each after its wait. One more 429 ends the command. May decrease while it runs. */
  readonly probes: number;
  /** Prefix of the ids of reservations; see `ownerOf`. */
  readonly owner: string;
  /** Number of requests to leave for other programs; below 1, that part of the limit. */
  readonly reserve: number;
  /** Called once a second while waiting, and with undefined when the wait is over. */
  onWait(wait: Wait | undefined): void;
}

const TICK_MS = 1_000;
/** Waits shorter than this are not announced, ms. */
const NOTICED_MS = 200;
const NOTICED_PACE_MS = 5_000;
/** How long a permission to send stays valid, in ms. Nothing waits between it and the first byte. */
const FRESH_MS = 250;

export class LedgerGate {
  /** What is left of the window of the newest answer that has one. */
  limits: RateLimit | undefined;
  private readonly options: GateOptions;
  /** How many 429s in a row this command has received, each after the block before had ended. */
  private refusals = 0;
  private lastStrikes = 0;
  /** How many answers were refusals, of all requests. */
  private refused = 0;
  private entered = 0;

  constructor(options: GateOptions) {
    this.options = options;
  }

  /**
   * Resolves when one request of the operation may be written now, on the connection.
   * @param connect is called once there is no known reason to wait
   * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait would be longer than allowed, or its end was not
   * known and it has been; what connect and the ledger throw; the signal's reason
   */
  async enter(operation: string, connect: () => Promise<Connection>, own: OwnLimits = {}): Promise<Admitted> {
    const options = { ...this.options, ...own };
    const { clock, ledger, maxWaitMs, owner, probes, random, reserve, signal, timeoutMs } = options;
    const allowed = { maxWaitMs: own.allowedMs ?? maxWaitMs, ...(reserve > 0 && { reserve }) };
    const failure = (held: Hold): Failure => heldFailure(held, clock, { ...allowed, begun: this.refusals > 0 });
    if (this.refusals > probes) {
      const { block = { until: clock.monotonic(), why: 'rate-limited' } } = await ledger.view();
      throw failure(block);
    }
    const id = `${owner}/${this.entered++}/${random()}`;
    const intent = { id, operation: this.at(operation), reserve, timeoutMs };
    const since = clock.monotonic();
    const waits = waitsOf(options, this.refusals + 1);
    let connection: Connection | undefined;
    try {
      for (let skipsCheck = own.connectsFirst === true; ; skipsCheck = false) {
        signal.throwIfAborted();
        // Does not even connect while there is a known reason to wait.
        let hold = skipsCheck ? undefined : await ledger.check(intent);
        if (hold === undefined) {
          if (connection?.isOpen !== true) connection = await connect();
          const { refused } = this;
          // The monotonic clock of a suspended machine may have stopped.
          const passed = clock.now() - clock.monotonic();
          const { at, ...decision } = await ledger.admit(intent);
          if (decision.hold === undefined) {
            const ticket = this.ticket(intent, () => {
              const ageMs = clock.monotonic() - at + Math.max(0, clock.now() - clock.monotonic() - passed);
              return this.refused === refused && ageMs <= FRESH_MS;
            });
            const admitted = { ticket, connection };
            connection = undefined;
            return admitted;
          }
          hold = decision.hold;
        }
        const now = clock.monotonic();
        // Waits add up: it may have to wait for one probe of another client after the other.
        if (isTooLong(hold, now, maxWaitMs) || now - since > maxWaitMs) throw failure(hold);
        const { again, until } = hold;
        // Never polls for longer than it may wait in all.
        await waits.sleep(hold, again === undefined ? until : Math.min(again, since + maxWaitMs + 1));
      }
    } finally {
      waits.end();
      connection?.release();
    }
  }

  /** Resolves with how long requests would have to wait, as far as is known. `until` is on the monotonic clock. */
  forecast(demand: Omit<Demand, 'reserve'> & Partial<Demand>): Promise<Hold | undefined> {
    const { ledger, reserve } = this.options;
    return ledger.forecast({ reserve, ...demand, operation: this.at(demand.operation) });
  }

  /** Returns the operation's name in the ledger, which contains the address. */
  private at(operation: string): string {
    return operation.replace(' ', ` ${this.options.address}`);
  }

  private ticket({ id, operation }: Intent, isFresh: () => boolean): Ticket {
    const { clock, ledger, random } = this.options;
    return {
      isFresh,
      answered: async (status, headers, receivedAt) => {
        const read = readLimitHeaders(headers, receivedAt);
        if (isRefusal({ status })) this.refused++;
        const state = await ledger.answered({ id, operation, status, headers: read, random: random() });
        // Several requests that are refused at the same time count as one 429.
        if (status === 429 && (state.strikes !== this.lastStrikes || this.refusals === 0)) this.refusals++;
        if (state.strikes === 0) this.refusals = 0;
        this.lastStrikes = state.strikes;
        const [window] = liveWindows(state, clock.monotonic(), operation);
        if (window === undefined) return undefined;
        const { limit, remaining, resetAt } = window;
        return (this.limits = { limit, remaining, resetAt: toWall(clock, resetAt) });
      },
      lost: (mayHaveBeenSent) => ledger.lost(id, mayHaveBeenSent),
    };
  }
}

/** Returns the failure of a request that is not sent. */
export function heldFailure(
  { until, why, says }: Hold,
  clock: Clock,
  known: { readonly maxWaitMs: number; readonly begun?: boolean; readonly reserve?: number },
): Failure {
  const waitMs = Math.max(0, until - clock.monotonic());
  const facts = { retryAt: clock.now() + waitMs, waitMs, ...known };
  if (why === 'banned' || why === 'paused') return new Failure(why, facts);
  return new Failure('rate-limited', { why, ...facts, ...(says !== undefined && { says }) });
}

/** True for a failure that `heldFailure` returns. */
export function isHeld(error: unknown): error is Failure<'rate-limited' | 'banned' | 'paused'> {
  return isFailure(error) && (error.is('rate-limited') || error.is('banned') || error.is('paused'));
}

/** Notes in a failure that its write was not applied, or not even sent. */
export function markRefused(failure: Failure): Failure {
  failure.outcome = isHeld(failure) && failure.details.begun !== true ? 'not-sent' : 'not-applied';
  return failure;
}

/** Waits before one request, and reports each wait once a second and at its end. */
function waitsOf({ clock, probes, onWait, signal }: GateOptions, attempt: number) {
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
      // Reads the monotonic clock again after each sleep, so that a machine that was suspended never sends early.
      for (let now = clock.monotonic(); now < to; now = clock.monotonic()) {
        const { since, reportedAt } = current;
        const remainingMs = until - now;
        const isLong = remainingMs >= (why === 'paced' ? NOTICED_PACE_MS : NOTICED_MS);
        const isNoticed = again === undefined ? isLong : now - since >= TICK_MS;
        if (reportedAt === undefined ? isNoticed : now - reportedAt >= TICK_MS) {
          current.reportedAt = now;
          onWait({ why, until: clock.now() + remainingMs, attempt, attempts: probes + 1 });
        }
        await clock.sleep(Math.min(to - now, TICK_MS), signal);
      }
    },
  };
}
