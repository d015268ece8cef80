/** The columns of the table of failures, and the values that many of its rows share. */
import type { ExitCode, Outcome } from '../errors.ts';
import type { Settled } from '../state/journal.ts';

export interface FailureMeaning {
  readonly exit: ExitCode;
  /** What happened, and the offending value. The reporter sanitises and redacts it. */
  readonly message: string;
  /** How to show a failure that the user asked for: the message without `error:`, or nothing. */
  readonly text?: 'plain' | 'none';
  /** Additional lines below the message. */
  readonly lines?: readonly string[];
  /** One step, or one command. */
  readonly hint: string | undefined;
  /** Whether the same command may succeed later without a change. */
  readonly retryable: boolean;
  /** Epoch ms before which a repeat is useless or harmful. */
  readonly retryAt?: number;
  /** Outcome of a single write; undefined if the failure does not tell. */
  readonly outcome: Outcome | undefined;
  readonly bulkRow: RowOutcome;
}

/** What a failed request means for its row, and whether the run continues. */
export interface RowOutcome extends Settled {
  readonly state: 'planned' | 'applied' | 'failed' | 'unknown' | 'conflict';
  /** `always`: the cause is in the row. `unless-often`: every row may fail with it. */
  readonly continues: 'always' | 'unless-often' | 'never';
}

/** Returns what a kind of failure means. The type of `details` is that of the Failure's details. `now`: epoch ms. */
export type FailureRow<Details> = (details: Details, now: number) => FailureMeaning;

/** Message and hint, for rows with several of them. */
export type Words = readonly [message: string, hint: string];

export type FailureTable = Readonly<Record<string, FailureRow<never>>>;

type SharedMeaning = Pick<FailureMeaning, 'exit' | 'retryable' | 'outcome' | 'bulkRow'>;

/** Nothing was sent, or another request would fail too: the run stops, and the row stays planned. */
export function stops(exit: ExitCode): SharedMeaning {
  return { exit, retryable: false, outcome: undefined, bulkRow: { state: 'planned', continues: 'never' } };
}

/** The service refused this request: the run marks the row as failed and continues. */
export function refused(exit: ExitCode, reason: string): SharedMeaning {
  return { exit, retryable: false, outcome: 'not-applied', bulkRow: { state: 'failed', reason, continues: 'always' } };
}

/** `begun`: true if the command has sent other requests before. */
export function nothingSent(begun = false): string {
  return begun ? 'nothing more was sent' : 'nothing was sent';
}

export const NO_SUCH_PET = 'the service does not have this pet';
export const NOT_CONFIRMED = 'not confirmed, so it may or may not have been applied';

/** The write may have been applied: a run continues, unless it happens often. */
export function uncertain(exit: ExitCode, reason = NOT_CONFIRMED): SharedMeaning {
  return {
    exit,
    retryable: false,
    outcome: undefined,
    bulkRow: { state: 'unknown', reason, continues: 'unless-often' },
  };
}
