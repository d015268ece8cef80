/** Decides when a command has to end: on a signal or at its deadline. */
import { Failure } from '../errors.ts';
import type { Context } from '../ports.ts';

/** Time for a command to end after it was told to stop, in ms: 2 s for a write in flight, and the rest to record it. */
const GRACE_MS = 3_000;
/** Time for the reader of a full pipe to take output after that, in ms. */
const READER_MS = 500;

/** Stops a command on a signal or at its deadline, and abandons it soon after if it does not end. */
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
  const signal = AbortSignal.any([stop, deadline.signal]);
  if (deadlineMs !== undefined) {
    after(deadlineMs, () => {
      deadline.abort(new Failure('deadline', { deadlineMs }));
    });
  }
  /** Rejects with the signal's reason if the work takes longer than `ms` after the signal. */
  const within = async (ms: number, work: Promise<void>): Promise<void> => {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const onStop = (): void => {
      after(ms, () => {
        reject(signal.reason);
      });
    };
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
    try {
      await Promise.race([work, late]);
    } finally {
      signal.removeEventListener('abort', onStop);
    }
  };
  return {
    /** Aborts on the program's signal, or at the deadline. */
    signal,
    /** Waits for the command; after a stop, no longer than its grace. @throws the signal's reason */
    inTime: (command: Promise<void>) => within(graceMs, command),
    /** Waits until the reader has taken the output; only briefly after a stop. @throws the signal's reason */
    taken: (output: Promise<void>) => within(READER_MS, output),
    cancel: (): void => {
      for (const cancel of cancels) cancel();
    },
  };
}
