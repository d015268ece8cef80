/** Ends a command on a signal or at its deadline. */
import { Failure } from '../errors.ts';
import type { Context } from '../ports.ts';

/** How long a command may take to stop, in ms: 2 s for a write in flight, and time to record it. */
const GRACE_MS = 3_000;
/** How long a stopping command waits for the reader of a full pipe, in ms. */
const READER_MS = 500;

/** Makes a command end on a signal or at its deadline, and soon after that whatever holds it up. */
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
  /** Settles as the work does, or rejects with the signal's reason if it takes longer than this after the signal. */
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
    /** Waits for the command, and after the signal no longer than its grace period. @throws the signal's reason */
    inTime: (command: Promise<void>) => within(graceMs, command),
    /** Waits until output is written, and after the signal not for long. @throws the signal's reason */
    taken: (output: Promise<void>) => within(READER_MS, output),
    cancel: (): void => {
      for (const cancel of cancels) cancel();
    },
  };
}
