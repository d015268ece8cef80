/** Limits the time of asynchronous work. */
import { reasonOf, type TimeLimit } from '../ports.ts';

/** Settles like the work. Rejects earlier with `late()` after the timeout, or with the signal's reason if it aborts. */
export async function inTime<T>(
  { timeoutMs, signal }: TimeLimit,
  late: () => Error,
  start: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const work = start();
  // It may fail when nothing awaits it any more.
  work.catch(() => undefined);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(late());
  }, timeoutMs);
  const onAbort = (): void => {
    if (signal !== undefined) reject(reasonOf(signal));
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
