/** Waits that a signal cuts short. */
import { type Clock, reasonOf, type TimeLimit } from './ports.ts';

export interface Stop extends Pick<TimeLimit, 'signal'> {
  readonly clock: Clock;
}

/** Calls `end` this many ms after the signal has aborted. Returns a function that cancels it. */
export function afterStop({ clock, signal }: Stop, ms: number, end: () => void): () => void {
  let cancel = (): void => undefined;
  const onStop = (): void => {
    if (ms === 0) end();
    else cancel = clock.alarm(ms, end);
  };
  if (signal?.aborted === true) onStop();
  else signal?.addEventListener('abort', onStop, { once: true });
  return () => {
    signal?.removeEventListener('abort', onStop);
    cancel();
  };
}

/** Settles like the work, but this many ms after the signal rejects with its reason. Does not stop the work. */
export function untilStop<T>(by: Stop, ms: number, work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const cancel = afterStop(by, ms, () => {
    reject(reasonOf(by.signal!));
  });
  return Promise.race([work, over]).finally(cancel);
}

/** Sleeps, and calls `show` with what is left, in ms: at first, and once a second. */
export async function countDown({ clock, signal }: Stop, ms: number, show: (leftMs: number) => void): Promise<void> {
  const end = clock.monotonic() + ms;
  for (let left = ms; left > 0; left = end - clock.monotonic()) {
    show(left);
    await clock.sleep(Math.min(left, 1_000), signal);
  }
}

/** Settles like the work. Rejects earlier with the signal's reason, or with `late()`. Does not stop the work. */
export function inTime<T>(limit: Stop & TimeLimit, late: () => Error, work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const cancel = limit.clock.alarm(limit.timeoutMs, () => {
    reject(late());
  });
  return untilStop(limit, 0, Promise.race([work, over])).finally(cancel);
}
