/**
 * The ledger of a machine that shares its key's windows with other machines, through a Redis server. This machine's own
 * ledger decides about each request, as everywhere; besides, a request needs a permit that the server has lent (lease.ts).
 * The server hears of answers with the next question; of a refusal, and of how a probe has ended, at once.
 */
import { type Context, type Redis, RedisFailure } from '../ports.ts';
import { Failure } from '../errors.ts';
import { type Decision, type Intent, type LedgerState, lose, type Loss, observe } from './governor.ts';
import {
  afterLoss,
  afterReply,
  ASKING_MS,
  decideLeased,
  isProbing,
  type Leased,
  parseReply,
  type Question,
  reportOf,
  withLease,
} from './lease.ts';
import { LEASE_SCRIPT } from './lease-script.ts';
import { createLedger, isRefusal, type Ledger, type Step } from './ledger.ts';

export interface SharedOptions {
  /** What the key is called on the server: it must not tell it. */
  readonly name: string;
  /** Where the server is lost: `hold` waits for it, `share` sends a part of the limit. */
  readonly whenLost: 'hold' | 'share';
  /** Called when the server is lost, and when it is back. */
  onChange(lost: Loss | undefined): void;
}

/** What is shown is asked for again and again: the server is asked this often, ms. */
const SHOWN_MS = 1_000;
/** @param step runs a step of this machine's own ledger */
export function redisLedger(
  step: Step,
  redis: Redis,
  { clock, random, randomBytes, signal }: Pick<Context, 'clock' | 'random' | 'randomBytes' | 'signal'>,
  { name, whenLost, onChange }: SharedOptions,
): Ledger {
  const own = createLedger(step);
  const shares = whenLost === 'share';
  let isLost = false;
  /** How many requests of this process wait for leave. */
  let waiting = 0;
  /** The question that is under way: all who need permits wait for it. */
  let asking: Promise<void> | undefined;
  let shownAt: number | undefined;
  /** Whether this process has sent, or wanted to. */
  let isSender = false;

  const hex = (bytes: number): string => Buffer.from(randomBytes(bytes)).toString('hex');
  const leased = (state: LedgerState): Leased => withLease(state, () => hex(8));
  const instant = () => ({ monotonic: clock.monotonic(), wall: clock.now() });

  /** Says once that the server is lost, and once that it is back. */
  const notice = (lost: Loss | undefined): void => {
    if ((lost !== undefined) === isLost) return;
    isLost = lost !== undefined;
    onChange(lost);
  };

  const noticed = (state: Leased, decision: Decision): Decision => {
    if (decision.do !== 'send' && decision.why === 'ledger-lost') notice(state.lease.lost);
    return decision;
  };

  const visit = async (before: Leased, question: Question): Promise<void> => {
    const report = reportOf(before, instant(), hex(16), question);
    try {
      const text = await redis.run(LEASE_SCRIPT, name, [JSON.stringify(report)], {
        timeoutMs: ASKING_MS,
        ...(question.want !== undefined && { signal }),
      });
      const reply = parseReply(text);
      if (reply === undefined) throw new RedisFailure(new Error(`it answered ${text.slice(0, 80)}`));
      const spread = random();
      await step((state) => keep(afterReply(leased(state), instant(), reply, question, spread)), {
        despiteSignal: true,
        durable: reply.block !== undefined,
        // What a user has cleared on another machine is no longer kept here, either.
        clears: before.block !== undefined && before.block.since <= clock.monotonic() - (reply.cleared ?? Infinity),
      });
      notice(undefined);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      const { lease } = await step((known, now) => keep(afterLoss(leased(known), now, error.message)), {
        despiteSignal: true,
      });
      if (error.kind === 'settings') throw new Failure('ledger-refused', { says: error.message }, error);
      if (!signal.aborted) notice(lease.lost);
    }
  };

  /** Tells what is known, unless the server is lost: the next question will. */
  const tell = async (state: Leased, question: Question = {}): Promise<void> => {
    const { lost } = state.lease;
    if (lost === undefined || clock.monotonic() >= lost.next) await visit(state, question);
  };

  /** Tells the server at once what other machines wait for: a refusal, and how a probe has ended. */
  const tellAfter = async (
    work: (before: Leased, now: number) => LedgerState,
    status?: number,
  ): Promise<LedgerState> => {
    const isRefused = status !== undefined && isRefusal({ status });
    const { after, hasProbed } = await step(
      (known, now) => {
        const before = leased(known);
        const after = leased(work(before, now));
        return { state: after, result: { after, hasProbed: isProbing(before, now) && !isProbing(after, now) } };
      },
      { despiteSignal: true, durable: isRefused },
    );
    if (isRefused || hasProbed) await tell(after, { opened: hasProbed && status !== undefined && !isRefused });
    return after;
  };

  return {
    check: async (intent) => {
      const { state, decision } = await step(
        (known, now) => {
          const { lease, ...rest } = leased(known);
          // Whether another process asks the server now is seen when leave is asked for.
          const { askedUntil: _asking, ...alone } = lease;
          const { state, decision } = decideLeased({ ...rest, lease: alone }, now, intent, shares);
          return { state: known, result: { state, decision: decision ?? ({ do: 'send', at: now } as const) } };
        },
        { isRead: true },
      );
      return noticed(state, decision);
    },
    async admit(intent) {
      const { operation, reserve, timeoutMs } = intent;
      waiting++;
      isSender = true;
      try {
        for (;;) {
          const { state, decision } = await step((known, now) => {
            const result = decideLeased(leased(known), now, intent, shares);
            return { state: result.state, result };
          });
          if (decision === undefined) {
            const want = { operation, reserve, timeoutMs, waiting };
            asking ??= visit(state, { want, settles: true }).finally(() => (asking = undefined));
          } else if (decision.do === 'send' || asking === undefined) return noticed(state, decision);
          await asking;
        }
      } finally {
        waiting--;
      }
    },
    answered: (answer) => tellAfter((before, now) => observe(before, now, answer), answer.status),
    lost: (id, mayHaveBeenSent) => tellAfter((before, now) => lose(before, now, id, mayHaveBeenSent)),
    async view() {
      // The first time a server that was lost is tried, too.
      const isFirst = shownAt === undefined;
      if (isFirst || clock.monotonic() - shownAt! >= SHOWN_MS) {
        shownAt = clock.monotonic();
        const state = await step((known) => keep(leased(known)));
        await (isFirst ? visit(state, {}) : tell(state));
      }
      return own.view();
    },
    clearBlock: async () => {
      await visit(leased(await own.clearBlock()), { clears: true });
      return own.view();
    },
    close: async () => {
      // A process that only showed what is lent leaves it to those that send.
      if (!isSender) return;
      const state = await step(
        (known, now) => {
          const before = leased(known);
          const { askedUntil = now, lost } = before.lease;
          if (lost !== undefined || now < askedUntil) return { state: known, result: undefined };
          // What is lent meanwhile would be given back, too: no other process asks.
          const lease = { ...before.lease, permits: {}, askedUntil: now + ASKING_MS };
          return keep({ ...before, lease });
        },
        { despiteSignal: true },
      );
      if (state !== undefined) await visit(state, { settles: true });
    },
  };
}

function keep(state: Leased): { state: Leased; result: Leased } {
  return { state, result: state };
}
