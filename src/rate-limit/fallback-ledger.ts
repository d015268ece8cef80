/**
 * A ledger that machines share, and this machine's own. A request needs leave of both, and a block that one of them
 * knows is noted in the other: so nothing is sent early when the shared one is emptied, restarted or lost.
 */
import { type Clock, RedisFailure } from '../ports.ts';
import type { Block, Decision } from './governor.ts';
import type { Ledger, LedgerView } from './ledger.ts';

/** The same block may end this much apart in two ledgers, ms. */
const SAME_BLOCK_MS = 1_000;

export interface Fallback {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly shared: Ledger;
  readonly own: Ledger;
  /** Called once. */
  onLost(failure: RedisFailure): void;
}

export function withFallback({ clock, shared, own, onLost }: Fallback): Ledger {
  let isLost = false;
  const noteIn = (ledger: Ledger, decision: Decision): Promise<void> =>
    noteBlock(ledger, blockOf(decision), clock.monotonic());
  /** Undefined once the shared ledger is lost. */
  const onShared = async <T>(work: (ledger: Ledger) => Promise<T>): Promise<T | undefined> => {
    if (isLost) return undefined;
    try {
      return await work(shared);
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      isLost = true;
      onLost(error);
      return undefined;
    }
  };
  const both = async (ask: (ledger: Ledger, coordinated: boolean) => Promise<Decision>): Promise<Decision> => {
    const there = await onShared((ledger) => ask(ledger, false));
    if (there !== undefined && there.do !== 'send') {
      await noteIn(own, there);
      return there;
    }
    // This machine's own ledger comes last: it holds what the service has answered this process.
    const here = await ask(own, there !== undefined);
    if (here.do !== 'send') await onShared((ledger) => noteIn(ledger, here));
    return here;
  };
  const tellBoth = async (tell: (ledger: Ledger) => Promise<LedgerView>): Promise<LedgerView> => {
    const here = await tell(own);
    const there = await onShared(tell);
    if (there !== undefined) await noteBlock(own, there.block, clock.monotonic());
    return there ?? here;
  };
  return {
    check: (intent) => both((ledger, coordinated) => ledger.check({ ...intent, coordinated })),
    async admit(intent) {
      const decision = await both((ledger, coordinated) => ledger.admit({ ...intent, coordinated }));
      if (decision.do !== 'send') await onShared((ledger) => ledger.lost(intent.id, false));
      return decision;
    },
    answered: (answer) => tellBoth((ledger) => ledger.answered(answer)),
    lost: (id, mayHaveBeenSent) => tellBoth((ledger) => ledger.lost(id, mayHaveBeenSent)),
    async learn(block) {
      await own.learn(block);
      await onShared((ledger) => ledger.learn(block));
    },
    async view() {
      const view = await own.view();
      const there = await onShared((ledger) => ledger.view());
      if (there === undefined) return view;
      const block = [view.block, there.block].sort((a, b) => (b?.until ?? 0) - (a?.until ?? 0))[0];
      return { ...there, ...(block !== undefined && { block }) };
    },
    async clearBlock() {
      const view = await own.clearBlock();
      return (await onShared((ledger) => ledger.clearBlock())) ?? view;
    },
  };
}

/** Notes in one ledger the block that the other one knows. */
export async function noteBlock(ledger: Ledger, known: Block | undefined, now: number): Promise<void> {
  if (known === undefined || known.until <= now) return;
  const { block } = await ledger.view();
  // Noted once: the ends differ by what the clocks do.
  if (block !== undefined && block.until >= known.until - SAME_BLOCK_MS) return;
  await ledger.learn({ ...known, since: now });
}

/** Returns the block that a decision names. */
function blockOf(decision: Decision): Block | undefined {
  if (decision.do === 'send') return undefined;
  const { until, why } = decision;
  return why === 'rate-limited' || why === 'banned' || why === 'paused' ? { since: until, until, why } : undefined;
}
