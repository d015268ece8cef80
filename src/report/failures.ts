/** The one table of failures: details, meaning and words of each kind. A kind that lacks a column does not compile. */
import { EXIT, type Failure, type FailureDetails, type Kind, type Outcome, type PetWrite } from '../errors.ts';
import type { SignalName } from '../ports.ts';
import { CAUSES_FIRST_TO_LAST } from './exit-codes.ts';
import {
  type FailureMeaning,
  type FailureRow,
  type FailureTable,
  NOT_CONFIRMED,
  type RowOutcome,
  stops,
  uncertain,
} from './failure-meaning.ts';
import { LOCAL_FAILURES } from './local-failures.ts';
import { RUN_FAILURES } from './run-failures.ts';
import { SERVICE_FAILURES } from './service-failures.ts';
import { clockTime } from '../view/progress.ts';
import { plural } from '../view/words.ts';

/**
 * A write of unknown outcome: of a pet, perhaps even after the list was read (`looked`), or a raw call (`call`: `POST
 * /path`). `found`: the pet's present quantity, neither the earlier nor the new one. `because`: why the write, or the
 * read after it, failed.
 */
type OutcomeUnknown = { environment: string; because: Failure } & (
  { petId: bigint; quantity: bigint; looked: boolean; found?: bigint | undefined } | { call: string }
);

/** Failures caused by another one. Their types are explicit, because the type of `Failure` follows from the table. */
const FAILURES_BECAUSE: {
  readonly 'outcome-unknown': FailureRow<OutcomeUnknown>;
  readonly unrecorded: FailureRow<PetWrite & { because: Failure }>;
  readonly 'run-unknown': FailureRow<{ unknown: number; resume: string; because: Failure | undefined }>;
} = {
  'outcome-unknown': (details, now) => ({
    ...uncertain(EXIT.outcomeUnknown),
    message: describeUnknown(details, now),
    hint: soonest(details.because, checkHint(details), now),
    outcome: 'unknown',
    ...('found' in details &&
      details.found !== undefined && {
        bulkRow: { state: 'conflict', reason: `not confirmed, and ${foundWords(details.found)}`, continues: 'always' },
      }),
  }),
  unrecorded: ({ petId, quantity, environment, because }, now) => ({
    ...stops(EXIT.local),
    message: `Pet ${petId} was set to ${quantity} in ${environment}, but that could not be recorded. ${describeFailure(because, now).message}`,
    // The answered write may not be all that is missing from the history.
    hint: isReplaced(because) ? describeFailure(because, now).hint : 'Do not repeat the write. Fix the cause first.',
    outcome: 'applied',
    bulkRow: { state: 'applied', continues: 'never' },
  }),
  /** `because`: why the run stopped. */
  'run-unknown': ({ unknown, resume, because }, now) => ({
    ...stops(EXIT.outcomeUnknown),
    message: `The outcome of ${plural(unknown, 'row')} is unknown.${because === undefined ? '' : ` ${describeFailure(because, now).message}`}`,
    hint: soonest(because, `Check and apply what is missing with ${resume}`, now),
    outcome: 'unknown',
  }),
};

/** `write`: the write in flight; `outcome`: what became of it; `resume`: continues the run, which has rows left. */
interface Interruption {
  signal: SignalName;
  outcome?: Outcome;
  write?: PetWrite;
  resume?: string;
  during?: 'prompt' | 'input' | 'watch';
}

const WRITE_FAILURES = {
  'stored-differently': ({ stored, ...write }: PetWrite & { stored: { petId: bigint; quantity: bigint } }) => ({
    ...uncertain(EXIT.outcomeUnknown, `the service stored ${stored.quantity}`),
    message: `Pet ${write.petId} was set to ${write.quantity} in ${write.environment}, but the service stored ${stored.quantity} for pet ${stored.petId}.`,
    hint: `See all pets: petstore --env ${write.environment} inventory list`,
  }),
  'precondition-failed': ({ petId, expected, found }: { petId: bigint; expected: bigint; found: bigint }) => ({
    ...stops(EXIT.checkFailed),
    message: `Pet ${petId} has a quantity of ${found}, not the expected ${expected}; nothing was changed.`,
    hint: 'To change it anyway, leave out --expect.',
    outcome: 'not-applied',
    bulkRow: {
      state: 'conflict',
      isUnsent: true,
      reason: `there are ${found} now, no longer ${expected}: someone else has changed it`,
      continues: 'always',
    },
  }),
  'below-zero': ({ petId, found, delta }: { petId: bigint; found: bigint; delta: bigint }) => ({
    ...stops(EXIT.checkFailed),
    message: `Pet ${petId} has only ${found}; ${delta < 0n ? 'taking away' : 'adding'} ${delta < 0n ? -delta : delta} would leave ${found + delta}.`,
    hint: 'To allow a quantity below zero, add --allow-negative.',
    outcome: 'not-applied',
  }),
  interrupted: (details: Interruption) => ({
    ...stops(EXIT[details.signal]),
    message: describeInterrupted(details),
    hint: interruptedHint(details),
    // Not of a run that has rows left.
    outcome: details.outcome === 'applied' && details.resume !== undefined ? undefined : details.outcome,
    ...(details.during === undefined && isPlainStop(details) && { text: 'plain' }),
    ...(details.during !== undefined && { text: details.during === 'prompt' ? 'plain' : 'none' }),
    bulkRow: {
      ...(details.outcome === 'unknown'
        ? { state: 'unknown', reason: NOT_CONFIRMED }
        : { state: details.outcome === 'applied' ? 'applied' : 'planned' }),
      continues: 'never',
    },
  }),
  bug: ({ message }: { message: string }) => ({
    ...stops(EXIT.bug),
    message: `This is a bug in petstore: ${message}`,
    hint: 'Report it to the person who gave you petstore, with the command and its output with --debug.',
  }),
} satisfies FailureTable;

const FAILURES = { ...LOCAL_FAILURES, ...SERVICE_FAILURES, ...FAILURES_BECAUSE, ...WRITE_FAILURES, ...RUN_FAILURES };

/** The type of the table: errors.ts takes kinds and details from it. */
export type Failures = typeof FAILURES;

export const FAILURE_KINDS = Object.keys(FAILURES) as Kind[];

const ROWS: { readonly [K in Kind]: FailureRow<FailureDetails[K]> } = FAILURES;

/** Returns the failure's row of the table; `now` is epoch ms. */
export function describeFailure<K extends Kind>({ kind, details }: Failure<K>, now: number): FailureMeaning {
  return ROWS[kind](details, now);
}

/** True if the state database that held the write is gone. */
function isReplaced(failure: Failure): boolean {
  return failure.is('state') && failure.details.problem === 'replaced';
}

/** Returns what a failed request means for its row and the run. */
export function rowOutcome(failure: Failure): RowOutcome {
  return describeFailure(failure, 0).bulkRow;
}

/** Returns the most important cause for a script; of equal ones, the most uncertain write. */
export function firstCause(causes: readonly Failure[]): Failure | undefined {
  const place = (failure: Failure): number => {
    const { exit, outcome } = describeFailure(failure, 0);
    const at = CAUSES_FIRST_TO_LAST.indexOf(exit);
    const certainty = outcome === 'unknown' ? 0 : outcome === 'applied' ? 1 : 2;
    return (at === -1 ? CAUSES_FIRST_TO_LAST.length : at) + certainty / 3;
  };
  return causes.toSorted((a, b) => place(a) - place(b))[0];
}

function describeUnknown(details: OutcomeUnknown, now: number): string {
  const { environment, because } = details;
  const { message } = describeFailure(because, now);
  if ('call' in details)
    return `The outcome is unknown: ${details.call} may or may not have taken effect in ${environment}. ${message}`;
  const { petId, quantity, looked, found } = details;
  if (found !== undefined) {
    return `The outcome is unknown: pet ${petId} in ${environment} was to be set to ${quantity}, and ${foundWords(found)}. ${message}`;
  }
  const look = looked ? 'even after reading the stock' : 'and the stock could not be read';
  return `The outcome is unknown, ${look}: pet ${petId} in ${environment} may or may not have been set to ${quantity}. ${message}`;
}

function foundWords(found: bigint): string {
  return `it has ${found} now: someone else has changed it`;
}

function checkHint(write: PetWrite | OutcomeUnknown): string {
  if ('call' in write) return 'Check whether it has taken effect before you run it again.';
  return `Check before you run it again: petstore --env ${write.environment} inventory list --pet ${write.petId}`;
}

/** Adds the time to a hint if nothing is sent before it, not even the request that would show what happened. */
function soonest(because: Failure | undefined, hint: string, now: number): string {
  const details = because?.details ?? {};
  if (!('retryAt' in details)) return hint;
  return `After ${clockTime(details.retryAt, now)}: ${hint.charAt(0).toLowerCase()}${hint.slice(1)}`;
}

function interruptedHint({ outcome, resume, write }: Interruption): string | undefined {
  if (outcome !== 'unknown' || write === undefined) return undefined;
  return resume === undefined ? checkHint(write) : `Continue: ${resume}`;
}

/** True for Ctrl-C while no write was in flight. */
function isPlainStop({ signal, outcome }: Interruption): boolean {
  return signal === 'SIGINT' && outcome === undefined;
}

function describeInterrupted(details: Interruption): string {
  const { signal, outcome, write, during } = details;
  if (during === 'prompt') return 'Cancelled.';
  if (isPlainStop(details)) return 'Stopped.';
  const stopped = `Stopped by ${signal}`;
  if (write === undefined) {
    if (outcome === 'unknown') return `${stopped}: the outcome of a write is unknown.`;
    return outcome === 'applied' ? `${stopped} after the change was made.` : `${stopped}; no write was in flight.`;
  }
  const { petId, quantity } = write;
  if (outcome === 'not-applied') return `${stopped}; pet ${petId} was put back to ${quantity}.`;
  return outcome === 'applied'
    ? `${stopped}; pet ${petId} had been set to ${quantity} by then.`
    : `${stopped} while a write was in flight: the outcome is unknown, pet ${petId} may or may not be ${quantity}.`;
}
