/** Ledgers that live as long as the program: one for each origin and key. */
import type { Clock } from '../context.ts';
import { decide, type LedgerState, lose, observe, UNKNOWN } from './governor.ts';
import type { Ledger, LedgerView } from './ledger.ts';

export class MemoryLedgers {
  private readonly ledgers = new Map<string, Ledger>();
  private readonly clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  /** The same ledger for the same pair, as long as this object lives. */
  of(origin: string, apiKey: string): Ledger {
    const name = JSON.stringify([origin, apiKey]);
    const known = this.ledgers.get(name);
    if (known !== undefined) return known;
    const ledger = memoryLedger(this.clock);
    this.ledgers.set(name, ledger);
    return ledger;
  }
}

function memoryLedger(clock: Pick<Clock, 'monotonic'>): Ledger {
  let state: LedgerState = UNKNOWN;
  const view = (): LedgerView => ({
    ...(state.window !== undefined && { window: state.window }),
    ...(state.block !== undefined && { block: state.block }),
  });
  return {
    admit(intent) {
      const decided = decide(state, clock.monotonic(), intent);
      state = decided.state;
      return Promise.resolve(decided.decision);
    },
    answered(answer) {
      state = observe(state, clock.monotonic(), answer);
      return Promise.resolve(view());
    },
    lost(id, mayHaveBeenSent) {
      state = lose(state, clock.monotonic(), id, mayHaveBeenSent);
      return Promise.resolve();
    },
    view: () => Promise.resolve(view()),
  };
}
