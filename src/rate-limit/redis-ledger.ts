/**
 * The ledger of a machine that shares its key's windows with other machines, through a Redis server. This machine's own
 * ledger decides about each request, as everywhere; besides, a request needs a permit that the server has lent (lease.ts).
 * What answers teach is told with the next question; a refusal, and what a probe has found out, at once.
 */
import { type Context, type Redis, RedisFailure } from '../ports.ts';
import { Failure } from '../errors.ts';
import {
  type Answer,
  type Decision,
  decide,
  type Instant,
  type Intent,
  lose,
  type Loss,
  observe,
  UNKNOWN,
} from './governor.ts';
import {
  afterLoss,
  afterReply,
  hasPermit,
  heldBy,
  isProbing,
  type Leased,
  lentTo,
  parseReply,
  reportOf,
  takePermit,
  takeShare,
  type Want,
  withLease,
} from './lease.ts';
import { LEASE_SCRIPT } from './lease-script.ts';
import { createLedger, isRefusal, type Ledger, type Step } from './ledger.ts';

export interface SharedOptions {
  /** What the key is called on the server: it must not tell it. */
  readonly name: string;
  /** Where the server is lost: `hold` waits for it, `share` goes on with a part of the limit. */
  readonly whenLost: 'hold' | 'share';
  /** Called when the server is lost, and when it is back. */
  onChange(lost: Loss | undefined): void;
}

type Ports = Pick<Context, 'clock' | 'random' | 'randomBytes' | 'signal'>;

/** How long the server may take for one step, its connection included, ms. */
const TIMEOUT_MS = 2_000;
/** How soon to look again while another process of this machine asks the server, ms. */
const POLL_MS = 20;

/** @param step runs a step of this machine's own ledger */
export function redisLedger(step: Step, redis: Redis, ports: Ports, options: SharedOptions): Ledger {
  return new RedisLedger(step, redis, ports, options).ledger;
}

class RedisLedger {
  readonly ledger: Ledger;
  private readonly step: Step;
  private readonly redis: Redis;
  private readonly ports: Ports;
  private readonly options: SharedOptions;
  private isLost = false;
  /** How many requests of this process wait for leave. */
  private waiting = 0;
  /** The question that is under way: all who need permits wait for it. */
  private asking: Promise<void> | undefined;
  private lookedAt: number | undefined;
  /** Whether this process has sent, or wanted to. */
  private isSender = false;

  constructor(step: Step, redis: Redis, ports: Ports, options: SharedOptions) {
    this.step = step;
    this.redis = redis;
    this.ports = ports;
    this.options = options;
    const own = createLedger(step);
    this.ledger = {
      ...own,
      admit: (intent) => this.admit(intent),
      answered: (answer) => this.answered(answer),
      lost: (id, mayHaveBeenSent) => this.tellAfter((before, now) => lose(before, now, id, mayHaveBeenSent)),
      learn: async (block) => {
        await own.learn(block);
        await this.tell();
      },
      view: async () => {
        // Asked for again and again by what shows it. The first time a server that was lost is tried, too.
        const isFirst = this.lookedAt === undefined;
        if (isFirst || this.ports.clock.monotonic() - this.lookedAt! >= TIMEOUT_MS / 2) await this.tell(isFirst);
        return own.view();
      },
      clearBlock: async () => {
        await own.clearBlock();
        await this.visit({ clears: true });
        return own.view();
      },
      close: () => this.close(),
    };
  }

  private async admit(intent: Intent): Promise<Decision> {
    this.waiting++;
    this.isSender = true;
    try {
      for (;;) {
        const decision = await this.step((before, now) => this.decide(this.leased(before), now, intent));
        if (decision === 'ask') {
          const { operation, reserve, timeoutMs } = intent;
          const want = { operation, reserve, timeoutMs, waiting: this.waiting };
          this.asking ??= this.visit({ want, settles: true }).finally(() => (this.asking = undefined));
          await this.asking;
        } else if (decision.do !== 'send' && this.asking !== undefined) await this.asking;
        else return decision;
      }
    } finally {
      this.waiting--;
    }
  }

  /** This machine's own decision comes first: what it knows needs no question. */
  private decide(before: Leased, now: number, intent: Intent): { state: Leased; result: Decision | 'ask' } {
    const { state, decision } = decide(before, now, intent);
    if (decision.do !== 'send') return { state: before, result: decision };
    const { lease } = before;
    const isShared = lease.lost !== undefined && this.options.whenLost === 'share';
    const taken =
      takePermit(lease, now, intent.operation) ?? (isShared ? takeShare(before, now, intent.operation) : undefined);
    if (taken !== undefined) return { state: { ...state, lease: taken }, result: decision };
    const { askedUntil = now } = lease;
    const others = now < askedUntil ? ({ until: askedUntil, why: 'asking', again: now + POLL_MS } as const) : undefined;
    const hold = others ?? heldBy(lease, now, intent.operation);
    if (hold === undefined)
      return { state: { ...before, lease: { ...lease, askedUntil: now + TIMEOUT_MS } }, result: 'ask' };
    if (hold.why === 'ledger-lost') this.notice(lease.lost);
    const tooLong = (hold.again ?? hold.until) - now > intent.maxWaitMs;
    return { state: before, result: { do: tooLong ? 'refuse' : 'wait', ...hold } };
  }

  private async answered(answer: Answer): ReturnType<Ledger['answered']> {
    try {
      return await this.tellAfter((before, now) => observe(before, now, answer), answer);
    } catch (error) {
      // What cannot be kept here is known to the other machines at least.
      if (isRefusal(answer)) await this.visit({ seen: observe(UNKNOWN, this.ports.clock.monotonic(), answer) });
      throw error;
    }
  }

  /** Tells the server at once what other machines wait for: a refusal, and how a probe has ended. */
  private async tellAfter(
    work: (before: Leased, now: number) => ReturnType<typeof observe>,
    answer?: Answer,
  ): ReturnType<Ledger['answered']> {
    const isRefused = answer !== undefined && isRefusal(answer);
    const { view, isUrgent } = await this.step(
      (known, now) => {
        const before = this.leased(known);
        const after = this.leased(work(before, now));
        const { probesSince } = before.lease;
        const sent = before.inFlight.find(({ id }) => id === answer?.id);
        const hasOpened = !isRefused && probesSince !== undefined && (sent?.at ?? 0) >= probesSince;
        const state = hasOpened ? { ...after, lease: { ...after.lease, hasOpened } } : after;
        const hasProbed = isProbing(before, now) && !isProbing(after, now);
        return { state, result: { view: state, isUrgent: isRefused || hasOpened || hasProbed } };
      },
      { despiteSignal: true, durable: isRefused },
    );
    if (isUrgent) await this.tell();
    return view;
  }

  /** Tells what is known, unless the server is lost: the next question will. */
  private async tell(triesLost = false): Promise<void> {
    const { lease } = await this.step((state) => kept(this.leased(state)), { isRead: true });
    const now = (this.lookedAt = this.ports.clock.monotonic());
    if (triesLost || lease.lost === undefined || now >= lease.lost.next) await this.visit({});
  }

  /**
   * Gives back what is not used. A process that only showed it leaves it to those that send. Nobody asks meanwhile: what
   * is lent then would be given back, too.
   */
  private async close(): Promise<void> {
    if (!this.isSender) return;
    const isDue = await this.step(
      (known, now) => {
        const before = this.leased(known);
        const { askedUntil = now, isLent, lost } = before.lease;
        if (!isLent || lost !== undefined || now < askedUntil) return { state: before, result: false };
        const lease = { ...before.lease, permits: {}, askedUntil: now + TIMEOUT_MS };
        return { state: { ...before, lease }, result: true };
      },
      { despiteSignal: true },
    );
    if (isDue) await this.visit({ settles: true });
  }

  private async visit({
    want,
    settles = false,
    clears = false,
    seen,
  }: {
    readonly want?: Want;
    /** Tells what is lent. */
    readonly settles?: boolean;
    readonly clears?: boolean;
    readonly seen?: ReturnType<typeof observe>;
  }): Promise<void> {
    const { clock, randomBytes, random, signal } = this.ports;
    const newId = Buffer.from(randomBytes(16)).toString('hex');
    const before = await this.step((state) => kept(this.leased(state)), { despiteSignal: true });
    const lent = settles ? lentTo(before, clock.monotonic()) : undefined;
    // Permits that are left only need to be confirmed.
    const wanted = want !== undefined && hasPermit(before.lease, clock.monotonic(), want.operation) ? undefined : want;
    const report = { ...reportOf({ ...before, ...seen }, this.now(), newId, wanted), lent, clear: clears };
    try {
      const text = await this.redis.run(LEASE_SCRIPT, this.options.name, [JSON.stringify(report)], {
        timeoutMs: TIMEOUT_MS,
        ...(want !== undefined && { signal }),
      });
      const reply = parseReply(text);
      if (reply === undefined) throw new RedisFailure(new Error(`it answered ${text.slice(0, 80)}`));
      const asked = { operation: wanted?.operation, lent, random: random() };
      const adopted = await this.step((state) => kept(afterReply(this.leased(state), this.now(), reply, asked)), {
        ...{ despiteSignal: true, durable: reply.block !== undefined },
      });
      this.notice(adopted.lease.lost);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      const lost = await this.step(
        (state, now) => {
          const leased = this.leased(state);
          const lease = afterLoss(leased.lease, now, error.message);
          return { state: { ...leased, lease }, result: lease.lost };
        },
        { despiteSignal: true },
      );
      if (error.kind === 'settings') throw new Failure('ledger-refused', { says: error.message }, error);
      if (!signal.aborted) this.notice(lost);
    }
  }

  /** Says once that the server is lost, and once that it is back. */
  private notice(lost: Loss | undefined): void {
    if ((lost !== undefined) === this.isLost) return;
    this.isLost = lost !== undefined;
    this.options.onChange(lost);
  }

  private leased(state: Parameters<typeof withLease>[0]): Leased {
    return withLease(state, () => Buffer.from(this.ports.randomBytes(8)).toString('hex'));
  }

  private now(): Instant {
    const { clock } = this.ports;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }
}

function kept(state: Leased): { state: Leased; result: Leased } {
  return { state, result: state };
}
