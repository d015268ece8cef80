/**
 * Where one key's state is kept. Operations, not a transaction around our code: an adapter may run each as one
 * atomic step of its own, in a database or on a server. Times are ms on the clock's monotonic timeline.
 */
import type { Answer, Block, Decision, Intent, LedgerState, Reservation, Window } from './governor.ts';

/** What the ledger knows, for people. */
export interface LedgerView {
  readonly window?: Window;
  readonly block?: Block;
  readonly strikes: number;
  readonly inFlight: readonly Reservation[];
  readonly foreign: boolean;
  readonly seenAt?: number;
}

export function viewOf({ window, block, strikes, inFlight, foreign, seenAt }: LedgerState): LedgerView {
  return {
    ...(window !== undefined && { window }),
    ...(block !== undefined && { block }),
    strikes,
    inFlight,
    foreign,
    ...(seenAt !== undefined && { seenAt }),
  };
}

export interface Ledger {
  /** Decides, and reserves where the answer is `send`. */
  admit(intent: Intent): Promise<Decision>;
  answered(answer: Answer): Promise<LedgerView>;
  lost(id: string, mayHaveBeenSent: boolean): Promise<void>;
  view(): Promise<LedgerView>;
  /** Forgets the block, at its caller's risk. */
  clearBlock(): Promise<LedgerView>;
}
