/** When a command has to end: on a signal or at its deadline. */
import { Failure } from '../errors.ts';
import type { Context } from '../ports.ts';

/** How long a command may take to end once it is to stop, in ms: 2 s for a write in flight, and time to record it. */
const GRACE_MS = 3_000;
/** How long a reader may leave output in a full pipe then, in ms. */
const READER_MS = 500;

/** When a command has to end: on a signal or at its deadline, and soon after, whatever holds it up. */
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
  /** Rejects with the signal's reason where the work takes longer than this after the signal. */
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
    /** Waits for the command, once it is to stop not longer than its grace. @throws the signal's reason */
    inTime: (command: Promise<void>) => within(graceMs, command),
    /** Waits for output to be taken; not for long once the command is to stop. @throws the signal's reason */
    taken: (output: Promise<void>) => within(READER_MS, output),
    cancel: (): void => {
      for (const cancel of cancels) cancel();
    },
  };
}
