import { reasonOf } from '../ports.ts';

/** How long work may take, and what ends it before. */
export interface TimeLimit {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Settles as the work does, or before: with `late()` after the time, with the signal's reason once it aborts. */
export async function inTime<T>(
  { timeoutMs, signal }: TimeLimit,
  late: () => Error,
  start: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const work = start();
  // It may fail after nothing waits for it any more.
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
