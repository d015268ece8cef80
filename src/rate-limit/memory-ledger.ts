/** A ledger that lives as long as the program. */
import type { Clock } from '../ports.ts';
import { type LedgerState, UNKNOWN } from './governor.ts';
import { createLedger, type Ledger } from './ledger.ts';

export function memoryLedger(clock: Pick<Clock, 'monotonic'>): Ledger {
  let state: LedgerState = UNKNOWN;
  return createLedger((work, { isRead } = {}) => {
    const worked = work(state, clock.monotonic());
    if (isRead !== true) ({ state } = worked);
    return Promise.resolve(worked.result);
  });
}
