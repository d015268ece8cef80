/**
 * Where one key's state is kept. Operations, not a transaction around our code: an adapter may run each as one
 * atomic step of its own, in a database or on a server. Times are ms on the clock's monotonic timeline.
 */
import type { Answer, Block, Decision, Intent, Window } from './governor.ts';

/** What the ledger knows, for people. */
export interface LedgerView {
  readonly window?: Window;
  readonly block?: Block;
}

export interface Ledger {
  /** Decides, and reserves where the answer is `send`. */
  admit(intent: Intent): Promise<Decision>;
  answered(answer: Answer): Promise<LedgerView>;
  lost(id: string, mayHaveBeenSent: boolean): Promise<void>;
  view(): Promise<LedgerView>;
}
