/**
 * Translates a key's state between timelines: to the monotonic clock of another boot, or to a server's clock.
 */
import type { Clock } from '../ports.ts';
import type { LedgerState } from './governor.ts';

export interface Moment {
  /** Empty where the system has no name for a boot. */
  readonly boot: string;
  /** Monotonic ms of that boot. */
  readonly monotonic: number;
  /** Epoch ms. */
  readonly wall: number;
}

/**
 * Returns the state on the present boot's monotonic clock. A monotonic clock that has advanced belongs to the same boot,
 * whatever the wall clock says; after a reboot the wall clock has to serve, and no wait becomes longer than it was.
 * Where a reboot cannot be detected because the new boot is older than the saved one was, waits only become longer.
 */
export function rebase(state: LedgerState, saved: Moment, now: Moment): LedgerState {
  if (saved.boot === now.boot && saved.monotonic <= now.monotonic) return state;
  // A clock that was set back has passed no time.
  const passed = Math.max(0, now.wall - saved.wall);
  const move = (at: number): number => now.monotonic + Math.max(0, at - saved.monotonic - passed);
  const { windows, block, strikes, seenAt } = state;
  return {
    strikes,
    ...(seenAt !== undefined && { seenAt: now.monotonic - passed - (saved.monotonic - seenAt) }),
    // Requests that were under way when the machine stopped may have been sent.
    inFlight: [],
    windows: windows.map((window) => ({
      ...window,
      remaining: Math.max(0, window.remaining - state.inFlight.length),
      resetAt: move(window.resetAt),
      seenAt: now.monotonic,
      answeredAt: move(window.resetAt),
    })),
    ...(block !== undefined && { block: { ...block, since: now.monotonic, until: move(block.until) } }),
  };
}

/** Returns an instant of the monotonic clock as epoch ms: what people and programs want to see. */
export function toWall(clock: Pick<Clock, 'now' | 'monotonic'>, at: number): number {
  return clock.now() + at - clock.monotonic();
}

const TIMES = new Set(['at', 'lostAt', 'resetAt', 'seenAt', 'answeredAt', 'since', 'until', 'nextAt']);

/** Returns a state, or a part of one, with all its times moved by so many ms. */
export function shift<T>(value: T, by: number): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => shift(each, by)) as T;
  const move = (name: string, each: unknown): unknown => (TIMES.has(name) ? Number(each) + by : shift(each, by));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, move(name, each)])) as T;
}
