/**
 * The ledger that several machines share, on a Redis server: each step is one script there (governor-script.ts), on
 * the server's clock, so that no machine's clock matters. A key goes a day after what it says is over.
 */
import type { Clock, Redis } from '../context.ts';
import type { Decision, LedgerState } from './governor.ts';
import { GOVERNOR_SCRIPT } from './governor-script.ts';
import { type Ledger, type LedgerView, viewOf } from './ledger.ts';

interface Told {
  /** The server's time, ms. */
  readonly now: number;
  readonly decision: Decision;
  readonly state: LedgerState;
}

/** JSON has no Infinity. */
const LONGEST_MS = 1e15;

/**
 * @param name what the pair of origin and key is called on the server: it must not tell either
 * @param time the server's time in ms, for tests; by default the server's own
 */
export function redisLedger(redis: Redis, clock: Pick<Clock, 'monotonic'>, name: string, time?: () => number): Ledger {
  const step = async (operation: string, argument: object): Promise<Told & { view: LedgerView }> => {
    const args = [operation, JSON.stringify(argument), time === undefined ? '' : String(time())];
    const told = JSON.parse(await redis.run(GOVERNOR_SCRIPT, `petstore:ledger:1:${name}`, args)) as Told;
    return { ...told, view: viewOf(here(told.state, clock.monotonic() - told.now)) };
  };
  return {
    async admit(intent) {
      const { now, decision } = await step('admit', { ...intent, maxWaitMs: Math.min(intent.maxWaitMs, LONGEST_MS) });
      if (decision.do === 'send') return decision;
      const shift = clock.monotonic() - now;
      const { again } = decision;
      return { ...decision, until: decision.until + shift, ...(again !== undefined && { again: again + shift }) };
    },
    answered: async (answer) => (await step('answered', answer)).view,
    lost: async (id, mayHaveBeenSent) => {
      await step('lost', { id, mayHaveBeenSent });
    },
    view: async () => (await step('view', {})).view,
    clearBlock: async () => (await step('clear', {})).view,
  };
}

/** From the server's clock to this machine's. Redis writes an empty list as it writes an empty object. */
function here(state: LedgerState, shift: number): LedgerState {
  const { window, block, seenAt } = state;
  const inFlight = Array.isArray(state.inFlight) ? (state.inFlight as LedgerState['inFlight']) : [];
  return {
    ...state,
    inFlight: inFlight.map(({ id, at }) => ({ id, at: at + shift })),
    ...(window !== undefined && { window: { ...window, resetAt: window.resetAt + shift } }),
    ...(block !== undefined && { block: { ...block, since: block.since + shift, until: block.until + shift } }),
    ...(seenAt !== undefined && { seenAt: seenAt + shift }),
  };
}
