/** Waits for another process that holds a lock of SQLite. */
import { type Context, DatabaseFailure } from '../ports.ts';

/** How long to wait for another process that does nothing, in ms. */
export const PATIENCE_MS = 5_000;

export function isBusy(error: unknown): boolean {
  return error instanceof DatabaseFailure && error.problem === 'busy';
}

export class Patience {
  private readonly ports: Pick<Context, 'clock' | 'random'>;
  private readonly patienceMs: number;
  private readonly signal: AbortSignal | undefined;
  private giveUp: number;
  private progress: unknown;

  constructor(ports: Pick<Context, 'clock' | 'random'>, patienceMs = PATIENCE_MS, signal?: AbortSignal) {
    this.ports = ports;
    this.patienceMs = patienceMs;
    this.signal = signal;
    this.giveUp = ports.clock.monotonic() + patienceMs;
  }

  /**
   * Waits until the next try; false once the time is over. It begins anew with each change of `progress`, which shows
   * that those who hold the lock get on.
   */
  async wait(progress?: unknown): Promise<boolean> {
    const { clock, random } = this.ports;
    if (progress !== this.progress) this.giveUp = clock.monotonic() + this.patienceMs;
    this.progress = progress;
    if (clock.monotonic() >= this.giveUp) return false;
    await clock.sleep(15 + 25 * random(), this.signal);
    return true;
  }
}
