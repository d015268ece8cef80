/**
 * What several requests ask of the store at the same time, in one transaction: one write to the disk, and where it
 * must survive a power cut one wait for it, is then shared by all of them. Nobody is answered before it is done.
 */
import type { Clock } from '../ports.ts';
import type { Store } from './store.ts';

interface PendingWrite {
  readonly durable: boolean;
  work(): void;
  fail(error: unknown): void;
  done(): void;
}

/** Rounds of the event loop that the first of a batch waits, at most. */
const MOST_ROUNDS = 4;

export class Batch {
  private readonly store: Store;
  private readonly clock: Pick<Clock, 'turn'>;
  private waiting: PendingWrite[] = [];

  constructor(store: Store, clock: Pick<Clock, 'turn'>) {
    this.store = store;
    this.clock = clock;
  }

  /** The same as `store.atomically`, in its turn. @throws {DatabaseFailure} `busy`: nothing of it happened */
  atomically<T>(work: () => T, { durable }: { readonly durable: boolean }): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T;
      this.waiting.push({
        durable,
        work: () => {
          result = work();
        },
        fail: reject,
        done: () => {
          resolve(result);
        },
      });
      if (this.waiting.length === 1) void this.flushSoon();
    });
  }

  /** Not before a round has brought no more, nor after too many of them. */
  private async flushSoon(): Promise<void> {
    for (let round = 0, before = 0; round < MOST_ROUNDS && this.waiting.length > before; round++) {
      before = this.waiting.length;
      await this.clock.turn();
    }
    this.flush();
  }

  private flush(): void {
    const batch = this.waiting;
    this.waiting = [];
    try {
      const durable = batch.some((each) => each.durable);
      this.store.atomically(
        () => {
          for (const each of batch) each.work();
        },
        { durable },
      );
    } catch (error) {
      for (const each of batch) each.fail(error);
      return;
    }
    for (const each of batch) each.done();
  }
}
