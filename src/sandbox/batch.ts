/**
 * What several requests ask of the store at the same time, in one transaction: one write to the disk, and where it
 * must survive a power cut one wait for it, is then shared by all of them. No request is answered before it is done.
 */
import type { Clock } from '../ports.ts';
import type { Handler } from './operations.ts';
import type { Store } from './store.ts';

interface PendingWrite {
  readonly durable: boolean;
  work(): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** Rounds of the event loop that the first of a batch waits, at most. */
const MOST_ROUNDS = 4;

/** Returns the same as `store.atomically`, in its turn. */
export function batched(store: Store, clock: Pick<Clock, 'turn'>): NonNullable<Handler['atomically']> {
  let waiting: PendingWrite[] = [];
  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    try {
      const work = (): void => {
        for (const each of batch) each.work();
      };
      store.atomically(work, { durable: batch.some((each) => each.durable) });
      for (const each of batch) each.resolve();
    } catch (error) {
      for (const each of batch) each.reject(error);
    }
  };
  /** Not before a round has brought no more, nor after too many of them. */
  const flushSoon = async (): Promise<void> => {
    for (let round = 0, before = 0; round < MOST_ROUNDS && waiting.length > before; round++) {
      before = waiting.length;
      await clock.turn();
    }
    flush();
  };
  return <T>(work: () => T, { durable }: { readonly durable: boolean }) =>
    new Promise<T>((resolve, reject) => {
      let result: T;
      waiting.push({
        durable,
        work: () => {
          result = work();
        },
        reject,
        resolve: () => {
          resolve(result);
        },
      });
      if (waiting.length === 1) void flushSoon();
    });
}
