/**
 * The ledger of a machine that shares its key with other machines, through a Redis server. The machine's own ledger
 * decides about each request as usual; in addition, a request needs a permit that the server has lent (lease.ts). The
 * server learns of answers with the next question, and of a refusal or the end of a probe at once.
 */
import { type Context, type Redis, RedisFailure } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { untilStop } from '../stop.ts';
import { type Hold, type Intent, isNameless, type LedgerState, type Loss } from './governor.ts';
import {
  afterFailure,
  afterReply,
  decideLeased,
  forecastLeased,
  isProbing,
  type Leased,
  parseReply,
  type Question,
  reportOf,
  takeTurn,
  withLease,
} from './lease.ts';
import { ASKING_MS, LEASE_SCRIPT } from './lease-script.ts';
import { createLedger, kept, type Ledger, type Step, type StepOptions, type Work } from './ledger.ts';
import type { Demand } from './windows.ts';

export interface SharedOptions extends Pick<Context, 'clock' | 'random' | 'randomBytes' | 'signal'> {
  readonly redis: Redis;
  /** Address without a password. */
  readonly server: string;
  /** Name of the key on the server; must not reveal the key. */
  readonly name: string;
  /** While the server is lost: `hold` waits for it, `share` sends this machine's share of the limit. */
  readonly whenLost: 'hold' | 'share';
  /** Called when the server is lost, with what it said last, and with undefined when it is back. */
  onChange(says: string | undefined): void;
}

/** Shortest time between two questions to the server for what is only shown, in ms. */
const SHOWN_MS = 1_000;
/** How long a process that ends waits for the reply to its question, in ms. */
const LAST_REPLY_MS = 500;

/** Runs a step of this machine's own ledger. */
type LeasedStep = <T>(work: (before: Leased, now: number) => ReturnType<Work<T>>, how?: StepOptions) => Promise<T>;

export class RedisLedger implements Ledger {
  /** Those of this machine's own ledger. The server hears at once of what other machines wait for. */
  readonly answered: Ledger['answered'];
  readonly lost: Ledger['lost'];
  readonly clearBlock: Ledger['clearBlock'];
  private readonly step: LeasedStep;
  private readonly options: SharedOptions;
  private readonly shares: boolean;
  private isLost = false;
  /** Since when the server refuses this process's settings, and why. Other processes of this machine may have others. */
  private refusal: Loss | undefined;
  /** How many requests of this process wait for permission. */
  private waiting = 0;
  /** The question in flight: every request that needs a permit waits for it. */
  private asking: Promise<void> | undefined;
  private shownAt = Number.NEGATIVE_INFINITY;
  /** True once this process has asked to send. */
  private isSender = false;

  /** @param step runs a step of this machine's own ledger */
  constructor(step: Step, options: SharedOptions) {
    const newMachine = (): string => Buffer.from(options.randomBytes(8)).toString('hex');
    this.step = (work, how) => step((before, now) => work(withLease(before, options.server, newMachine), now), how);
    const own = createLedger((work, how) => this.stepAndTell(work, how));
    ({ answered: this.answered, lost: this.lost, clearBlock: this.clearBlock } = own);
    this.options = options;
    this.shares = options.whenLost === 'share';
  }

  /** True while this machine sends its share, and other machines' blocks are unknown. */
  get isAlone(): boolean {
    return this.isLost && this.shares;
  }

  async check(intent: Intent): Promise<Hold | undefined> {
    const hold = await this.read((before, now) => decideLeased(before, now, intent, this.shares).hold);
    if (hold?.why === 'ledger-lost') this.notice(hold.says);
    return hold;
  }

  async admit(intent: Intent) {
    const { operation, reserve, timeoutMs } = intent;
    this.waiting++;
    this.isSender = true;
    const { signal } = this.options;
    try {
      for (;;) {
        signal.throwIfAborted();
        const { state, hold, mustAsk, at } = await this.step((before, now) => {
          const decided = decideLeased(before, now, intent, this.shares);
          const result = decided.mustAsk === true ? takeTurn(before, now) : decided;
          return { state: result.state, result: { ...result, at: now } };
        });
        if (mustAsk === true) {
          const want = { operation, reserve, timeoutMs, waiting: this.waiting };
          this.asking ??= this.visit(state, { want }).finally(() => (this.asking = undefined));
        } else if (hold === undefined || this.asking === undefined) {
          if (hold?.why === 'ledger-lost') this.notice(hold.says);
          return { hold, at };
        }
        await untilStop(this.options, 0, Promise.resolve(this.asking));
      }
    } finally {
      this.waiting--;
    }
  }

  async view(): Promise<LedgerState> {
    const now = this.options.clock.monotonic();
    // The first time, it also tries a server that was lost.
    const isFirst = this.shownAt === Number.NEGATIVE_INFINITY;
    if (now - this.shownAt >= SHOWN_MS) {
      this.shownAt = now;
      const state = await this.step(kept);
      await untilStop(this.options, 0, isFirst ? this.visit(state, {}) : this.tell(state));
    }
    const { lease, ...known } = await this.read(withoutNameless);
    return { ...known, lease: this.refusal === undefined ? lease : { ...lease, lost: this.refusal } };
  }

  async forecast(demand: Demand): Promise<Hold | undefined> {
    await this.view();
    return this.read((before, now) => forecastLeased(withoutNameless(before), now, demand, this.shares));
  }

  async close(): Promise<void> {
    // A process that only showed the permits leaves them to those that send.
    if (!this.isSender) return;
    // The reply to its last question may bring permits, which would keep other machines waiting.
    await untilStop(this.options, LAST_REPLY_MS, Promise.resolve(this.asking)).catch(() => undefined);
    const state = await this.step(
      (before, now) => {
        const { askedUntil = now, lost } = before.lease;
        if (lost !== undefined || now < askedUntil) return { state: before, result: undefined };
        // No other process may ask meanwhile: its permits would be given back too.
        return kept({ ...before, lease: { ...before.lease, permits: {}, askedUntil: now + ASKING_MS } });
      },
      { despiteSignal: true },
    );
    if (state === undefined) return;
    await this.visit(state, { leaves: true }).catch(unlessRefused);
  }

  private read<T>(of: (state: Leased, now: number) => T): Promise<T> {
    return this.step((before, now) => ({ state: before, result: of(before, now) }), { isRead: true });
  }

  /** Runs a step; then tells the server of a refusal, of the end of a probe, or of a block that the user has cleared. */
  private async stepAndTell<T>(work: Work<T>, how: StepOptions = {}): Promise<T> {
    const { state, result, hasNews } = await this.step((before, now) => {
      const worked = work(before, now);
      const state = { ...worked.state, lease: before.lease };
      const hasNews = how.durable === true || (isProbing(before, now) && !isProbing(state, now));
      return { state, result: { ...worked, state, hasNews } };
    }, how);
    if (how.clears === true) await this.visit(state, { clears: true });
    else if (hasNews) await this.tell(state);
    return result;
  }

  /** Reports what is known, unless the server is lost: then the next question does. */
  private async tell(state: Leased): Promise<void> {
    const { lost } = state.lease;
    if (lost !== undefined && this.options.clock.monotonic() < lost.next) return;
    await this.visit(state, {}).catch(unlessRefused);
  }

  private async visit(before: Leased, question: Question): Promise<void> {
    const { clock, name, random, randomBytes, redis, signal } = this.options;
    const { want } = question;
    const timeoutMs = want?.timeoutMs ?? ASKING_MS;
    const instant = () => ({ monotonic: clock.monotonic(), wall: clock.now() });
    const report = reportOf(before, instant(), Buffer.from(randomBytes(16)).toString('hex'), question);
    try {
      const text = await redis.run(LEASE_SCRIPT, name, [JSON.stringify(report)], { timeoutMs });
      const reply = parseReply(text);
      if (reply === undefined) throw new RedisFailure(new Error(`it answered ${text.slice(0, 80)}`));
      const spread = random();
      await this.step((state) => kept(afterReply(state, instant(), reply, question, spread)), {
        despiteSignal: true,
        durable: reply.block !== undefined,
        // Drops what a user has cleared on another machine.
        clears: before.block !== undefined && before.block.since <= clock.monotonic() - (reply.cleared ?? Infinity),
      });
      this.refusal = undefined;
      this.notice(undefined);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      // A stop closes the connection, which says nothing about the server.
      if (signal.aborted) return;
      await this.step((state, now) => kept(afterFailure(state, now, error)), { despiteSignal: true });
      const { kind, message: says } = error;
      const now = clock.monotonic();
      this.refusal = kind === 'settings' ? { since: now, ...this.refusal, says, next: now } : undefined;
      if (kind === 'settings') throw new Failure('ledger-refused', { says }, error);
      this.notice(says);
    }
  }

  /** Reports once that the server is lost, and once that it is back. @param says what it said last; undefined if it works */
  private notice(says: string | undefined): void {
    if ((says !== undefined) === this.isLost) return;
    this.isLost = says !== undefined;
    this.options.onChange(says);
  }
}

/** Ignores that the server refuses the settings: what was sent counts, and the next question fails before anything is. */
function unlessRefused(error: unknown): void {
  if (!isFailure(error) || !error.is('ledger-refused')) throw error;
}

function withoutNameless(state: Leased): Leased {
  const { block, ...rest } = state;
  return block !== undefined && isNameless(block) ? rest : state;
}
