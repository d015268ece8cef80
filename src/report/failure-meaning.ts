/** The columns of the table of failures, and the values that many of its rows share. */
import type { ExitCode, Outcome } from '../errors.ts';

export interface FailureMeaning {
  readonly exit: ExitCode;
  /** What happened, and the offending value. Nothing here is sanitised or redacted: the reporter does both. */
  readonly message: string;
  /** For a failure that the user asked for: the message is printed without `error:`, or not at all. */
  readonly text?: 'plain' | 'none';
  /** Extra lines below the message. */
  readonly lines?: readonly string[];
  /** One step, or one command. */
  readonly hint: string | undefined;
  /** Whether the same command may succeed later without a change. */
  readonly retryable: boolean;
  /** Epoch ms before which a repeat is useless or harmful. */
  readonly retryAt?: number;
  /** Outcome of a single write; undefined if the failure does not tell it. */
  readonly outcome: Outcome | undefined;
  readonly bulkRow: RowOutcome;
}

/** What the failure of a row's request means for the row, and whether the run continues after it. */
export interface RowOutcome {
  readonly state: 'planned' | 'applied' | 'failed' | 'unknown' | 'conflict';
  /** Always with `failed`, `unknown` and `conflict`. */
  readonly reason?: string;
  /** True if a gateway refused it, so the service never received it: it does not count as sent. */
  readonly isUnsent?: boolean;
  /** `always`: the cause is in the row. `unless-often`: every row may fail with it. */
  readonly continues: 'always' | 'unless-often' | 'never';
}

/** Describes a kind of failure. `Details`: the type of `details` in a Failure of this kind. `now`: epoch ms. */
export type FailureRow<Details> = (details: Details, now: number) => FailureMeaning;

/** For rows with several messages. */
export type Words = readonly [message: string, hint: string];

/** Kind of failure -> its row. */
export type FailureTable = Readonly<Record<string, FailureRow<never>>>;

type SharedMeaning = Pick<FailureMeaning, 'exit' | 'retryable' | 'outcome' | 'bulkRow'>;

/** Nothing was sent, or any further request would fail too: a run stops, and the row stays planned. */
export function stops(exit: ExitCode): SharedMeaning {
  return { exit, retryable: false, outcome: undefined, bulkRow: { state: 'planned', continues: 'never' } };
}

/** The service refused this one request: a run marks the row as failed and continues. */
export function refused(exit: ExitCode, reason: string): SharedMeaning {
  return { exit, retryable: false, outcome: 'not-applied', bulkRow: { state: 'failed', reason, continues: 'always' } };
}

/** `begun`: true when the command has sent other requests before. */
export function nothingSent(begun: boolean): string {
  return begun ? 'nothing more was sent' : 'nothing was sent';
}

export const NO_SUCH_PET = 'the service does not have this pet';
export const NO_ANSWER = 'no answer, so it may or may not have been applied';

/** The write may have been applied: a run continues, unless it happens often. */
export function uncertain(exit: ExitCode, reason = NO_ANSWER): SharedMeaning {
  return {
    exit,
    retryable: false,
    outcome: undefined,
    bulkRow: { state: 'unknown', reason, continues: 'unless-often' },
  };
}
