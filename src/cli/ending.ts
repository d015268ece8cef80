/** When a command has to end: on a signal or at its deadline, and soon after, whatever holds it up. */
import type { Context } from '../ports.ts';
import { Failure } from '../errors.ts';

/** How long a command may take to end once it is to stop, in ms: 2 s for a write in flight, and time to record it. */
const GRACE_MS = 3_000;
/** How long a reader may leave output in a full pipe then, in ms. */
const READER_MS = 500;

export type Ending = ReturnType<typeof endingOf>;

export function endingOf(
  { clock, signal: stop }: Pick<Context, 'clock' | 'signal'>,
  deadlineMs: number | undefined,
  graceMs = GRACE_MS,
) {
  const cancels: (() => void)[] = [];
  const after = (ms: number, ring: () => void): void => {
    cancels.push(clock.alarm(ms, ring));
  };
  const deadline = new AbortController();
  if (deadlineMs !== undefined) {
    after(deadlineMs, () => {
      deadline.abort(new Failure('deadline', { deadlineMs }));
    });
  }
  const signal = AbortSignal.any([stop, deadline.signal]);
  const lateBy = (ms: number): { late: Promise<never>; forget: () => void } => {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const onStop = (): void => {
      after(ms, () => {
        reject(signal.reason);
      });
    };
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
    // Only who is still at work hears it.
    late.catch(() => undefined);
    const forget = (): void => {
      signal.removeEventListener('abort', onStop);
    };
    return { late, forget };
  };
  const { late: overdue, forget } = lateBy(graceMs);
  cancels.push(forget);
  return {
    /** Aborts on the program's signal, or at the deadline. */
    signal,
    /** Rejects with the signal's reason where the command has not ended in its grace. */
    overdue,
    /** Waits for output to be taken; not for long once the command is to stop. @throws the signal's reason */
    async taken(output: Promise<void>): Promise<void> {
      const { late, forget } = lateBy(READER_MS);
      try {
        await Promise.race([output, late]);
      } finally {
        forget();
      }
    },
    cancel: (): void => {
      for (const cancel of cancels) cancel();
    },
  };
}
