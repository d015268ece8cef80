/**
 * A ledger's state in the words of another boot. Within one boot the monotonic clock is every process's own;
 * after a reboot the wall clock has to serve, and a wait never becomes longer than it was.
 */
import type { LedgerState } from './governor.ts';

export interface Moment {
  readonly boot: string;
  /** Monotonic ms of that boot. */
  readonly monotonic: number;
  /** Epoch ms. */
  readonly wall: number;
}

export function rebase(state: LedgerState, saved: Moment, now: Moment): LedgerState {
  if (saved.boot === now.boot && saved.monotonic <= now.monotonic) return state;
  // A clock that was set back has passed no time.
  const passed = Math.max(0, now.wall - saved.wall);
  const move = (at: number): number => now.monotonic + Math.max(0, at - saved.monotonic - passed);
  const { window, block, strikes, admitted, foreign, seenAt } = state;
  return {
    strikes,
    admitted,
    foreign,
    ...(seenAt !== undefined && { seenAt: now.monotonic - passed - (saved.monotonic - seenAt) }),
    // Whoever was under way when the machine stopped has sent, for all we know.
    inFlight: [],
    ...(window !== undefined && {
      window: {
        ...window,
        remaining: Math.max(0, window.remaining - state.inFlight.length),
        resetAt: move(window.resetAt),
      },
    }),
    ...(block !== undefined && { block: { ...block, since: now.monotonic, until: move(block.until) } }),
  };
}
