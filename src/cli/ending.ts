/** When a command has to end: on a signal or at its deadline, and soon after, whatever holds it up. */
import type { Context } from '../ports.ts';
import { Failure } from '../errors.ts';

/** How long a command may take to end once it is to stop, in ms: 2 s for a write in flight, and time to record it. */
const GRACE_MS = 3_000;
/** How long a reader may leave output in a full pipe then, in ms. */
const READER_MS = 500;

export interface Ending {
  /** Aborts on the program's signal, or at the deadline. */
  readonly signal: AbortSignal;
  /** Rejects with the signal's reason where the command has not ended in its grace. */
  readonly overdue: Promise<never>;
  /** Waits for output to be taken; not for long once the command is to stop. @throws the signal's reason */
  taken(output: Promise<void>): Promise<void>;
  cancel(): void;
}

export function endingOf(
  { clock, signal: stop }: Pick<Context, 'clock' | 'signal'>,
  deadlineMs: number | undefined,
  graceMs = GRACE_MS,
): Ending {
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
  const onStop = (act: () => void): (() => void) => {
    if (signal.aborted) act();
    else signal.addEventListener('abort', act, { once: true });
    return () => {
      signal.removeEventListener('abort', act);
    };
  };
  const overdue = new Promise<never>((_resolve, reject) => {
    const forget = onStop(() => {
      after(graceMs, () => {
        reject(signal.reason as Failure);
      });
    });
    cancels.push(forget);
  });
  // Only a command that is still at work hears it.
  overdue.catch(() => undefined);
  return {
    signal,
    overdue,
    async taken(output) {
      let forget: () => void = () => undefined;
      const late = new Promise<never>((_resolve, reject) => {
        forget = onStop(() => {
          after(READER_MS, () => {
            reject(signal.reason as Failure);
          });
        });
      });
      try {
        await Promise.race([output, late]);
      } finally {
        forget();
      }
    },
    cancel: () => {
      for (const cancel of cancels) cancel();
    },
  };
}
