/**
 * What several requests ask of the store at the same time, in one transaction: one write to the disk, and where it
 * must survive a power cut one wait for it, is then shared by all of them. No request is answered before it is done.
 */
import type { Clock } from '../ports.ts';
import { together } from '../state/batch.ts';
import type { Handler } from './operations.ts';
import type { Store } from './store.ts';

/** Returns the same as `store.atomically`, in its turn. */
export function batched(store: Store, clock: Pick<Clock, 'turn'>): NonNullable<Handler['atomically']> {
  const add = together<{ readonly durable: boolean; work(): void }>(
    () => clock.turn(),
    (items) => {
      const work = (): void => {
        for (const each of items) each.work();
      };
      store.atomically(work, { durable: items.some(({ durable }) => durable) });
    },
  );
  return async <T>(work: () => T, { durable }: { readonly durable: boolean }) => {
    let result: T;
    await add({ durable, work: () => void (result = work()) });
    return result!;
  };
}
