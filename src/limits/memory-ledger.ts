/** Ledgers that live as long as the program: one for each origin and key. */
import type { Clock } from '../context.ts';
import { decide, type LedgerState, lose, observe, unblock, UNKNOWN } from './governor.ts';
import { type Ledger, viewOf } from './ledger.ts';

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
  return {
    admit(intent) {
      const decided = decide(state, clock.monotonic(), intent);
      state = decided.state;
      return Promise.resolve(decided.decision);
    },
    answered(answer) {
      state = observe(state, clock.monotonic(), answer);
      return Promise.resolve(viewOf(state));
    },
    lost(id, mayHaveBeenSent) {
      state = lose(state, clock.monotonic(), id, mayHaveBeenSent);
      return Promise.resolve();
    },
    view: () => Promise.resolve(viewOf(state)),
    clearBlock() {
      state = unblock(state);
      return Promise.resolve(viewOf(state));
    },
  };
}
