/**
 * Every way the program can fail, as facts. The words are in report.ts, the exit codes too.
 */
import { errorCode, type HttpFailureFacts, type SignalName } from './ports.ts';

/** What is known about a write when the command ends. */
export type Outcome = 'not-sent' | 'not-applied' | 'applied' | 'unknown';

/** What the service said in an Error body (service spec, part 2), as far as it could be read. */
export interface ServiceError {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  /** First bytes of a body that is no Error body; shown with --debug only. */
  readonly raw?: string;
}

/** A wait that is longer than allowed. Times: epoch ms, durations: ms. */
interface Waiting {
  retryAt: number;
  waitMs: number;
  maxWaitMs: number;
  /** Blocks in a row that requests of this command have met. */
  refusals: number;
  /** True when the command has sent other requests before. */
  begun?: boolean;
}

/** Kind of failure -> its facts. */
export interface FailureDetails {
  /** The call itself is wrong; nothing was sent. */
  usage: { problem: string; hint?: string };
  /** A value that is not of its form; nothing was sent. */
  'invalid-value': { name: string; value: string; expected: string; hint?: string };
  /** A write to production without a terminal, environment not said explicitly. */
  'production-not-confirmed': { command: string };
  /** The person at the terminal said no. */
  declined: { action: string };
  /** A question would have to be asked and nobody is there. */
  'no-terminal': { what: string; instead: string };

  'config-invalid': { path: string; problem: string; line?: number; column?: number };
  'config-newer': { path: string; version: number };
  /** Link, FIFO, folder: not a plain file. */
  'config-not-a-file': { path: string; found: string };
  /** `config get` of a setting that has no value. */
  'config-unset': { key: string; path: string };
  /** No folder to keep files in: HOME is unset, or relative. */
  'no-home': { what: string; variable: string; problem: string };
  file: { operation: string; path: string; code: string };
  /** A database file of petstore's, or a lock. `held`: another process holds its lock. `foreign`: it is not ours. */
  state: {
    path: string;
    problem: 'held' | 'newer' | 'foreign' | 'damaged' | 'replaced' | 'row' | 'full' | 'readonly' | 'lock' | 'unusable';
    what?: 'state database' | 'journal' | 'sandbox';
    detail?: string;
  };
  /** The sandbox cannot listen there. `free`: a port that nobody uses. */
  port: { host: string; port: number; code: string; free?: number };
  'base-url': { shown: string; problem: string; hint: string };
  'no-base-url': { environment: string };
  /** 404 on the list: the base URL lacks something. */
  'not-the-service': { url: string };
  output: { code: string };

  'no-key': { environment: string };
  /** A key may be stored, but the config cannot be read. */
  'key-unreadable': { path: string; code: string };
  /** The key holds characters that no header can carry. */
  'key-malformed': { source: string; problem: string; hint?: string };
  /** 401. */
  unauthorized: { said: ServiceError; environment: string; keySource: string };

  /** 404 on one pet; without `said` the list was read and lacks it. */
  'pet-not-found': { petId: bigint; environment: string; said?: ServiceError };

  'rate-limited': {
    why: 'rate-limited' | 'window-spent' | 'asking' | 'paced';
  } & Waiting;
  /** A block after a 403 lasts. */
  banned: Waiting;
  /** The service has asked, with a 503, not to be called before a time. */
  paused: Waiting;

  network: HttpFailureFacts & { timeoutMs: number; attempts: number; begun?: boolean };
  /** The deadline of the whole command passed while nothing of a write was in flight. */
  deadline: { deadlineMs: number };

  /** 5xx after the permitted retries. */
  'service-failed': { said: ServiceError; attempts: number; retryAt?: number };
  /** The service broke its contract: wrong body, wrong type, wrong status. */
  contract: { what: string; problem: string; /** Offset in the body, in UTF-16 units. */ at?: number };
  redirected: { status: number; origin: string | undefined };
  'unexpected-status': { said: ServiceError };

  /** A write whose fate is not known, even after looking. `because`: what went wrong with the write itself. */
  'outcome-unknown': { petId: bigint; quantity: bigint; environment: string; because: Failure; looked: boolean };
  /** A write that the service has confirmed, but that could not be noted in the history. */
  unrecorded: { petId: bigint; quantity: bigint; environment: string; because: Failure };
  /** A raw call that may or may not have taken effect. */
  'call-unknown': { method: string; path: string; environment: string; because: Failure };
  /** 404 on a raw call. */
  'path-not-found': { path: string; said: ServiceError };
  /** The checks need more requests than are left of the allowance. `resetAt`: epoch ms. */
  'allowance-short': { need: number; left: number; limit: number; resetAt: number; begun: boolean };
  /** Ids of the checks that failed. */
  'checks-failed': { failed: readonly string[]; of: number };
  /** Ids of what doctor found wrong. */
  unwell: { failed: readonly string[]; of: number };
  /** `wait`: it did not come to that in time. */
  'waited-in-vain': { petId: bigint; ms: number; found: string };
  /** The service stored something else than it was asked to. */
  'stored-differently': {
    petId: bigint;
    quantity: bigint;
    stored: { petId: bigint; quantity: bigint };
    environment: string;
  };

  /** 400. */
  rejected: { said: ServiceError };
  /** 403. */
  forbidden: { said: ServiceError; environment: string };

  /** $EDITOR could not be run, or ended with an error; nothing was sent. */
  editor: { command: string; problem: string };
  /** Rows of a file that are not what they must be; nothing was sent. */
  'bad-rows': { source: string; problems: readonly { line: number; reason: string }[]; hint?: string };
  /** A bulk run would take longer than allowed; nothing was sent. In ms. */
  'run-too-long': { requests: number; ms: number; maxWaitMs: number };
  /** Another bulk run works with that journal. */
  'run-held': { path: string };
  /** What the run is about has changed since: the file, for instance. Nothing was sent. */
  'cannot-resume': { problem: string; hint: string };
  /** A bulk run ended, but not all of it is done. */
  'run-incomplete': { failed: number; conflicts: number; report: string | undefined };
  /** Rows of a bulk run whose fate is not known. */
  'run-unknown': { unknown: number; resume: string };

  /** --expect: the stock is not what the caller believed. */
  'not-as-expected': { petId: bigint; expected: bigint; found: bigint };
  /** `adjust`: the stock is too low for it. Nothing was written. */
  'below-zero': { petId: bigint; found: bigint; delta: bigint };
  /** --exit-code: the shop is not as the file says. `obstacles`: rows that cannot be applied. */
  'would-change': { changes: number; obstacles: number };
  /** --fail-if-any, --fail-if-none. */
  'check-failed': { check: string; matched: number };

  /** `write`: the one that was in flight, and what became of it. */
  interrupted: {
    signal: SignalName;
    outcome?: Outcome;
    write?: { petId: bigint; quantity: bigint; environment: string };
  };
  bug: { message: string };
}

export type Kind = keyof FailureDetails;

/** A failure that the tool knows how to explain. `facts` belongs to `kind`. */
export class Failure<K extends Kind = Kind> extends Error {
  override name = 'Failure';
  readonly kind: K;
  readonly facts: FailureDetails[K];

  constructor(kind: K, facts: FailureDetails[K], cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.facts = facts;
  }

  is<L extends Kind>(kind: L): this is Failure<L> {
    const own: string = this.kind;
    return own === kind;
  }
}

/** `instanceof` alone would leave the kind, and so the facts, open. */
export function isFailure(error: unknown): error is Failure {
  return error instanceof Failure;
}

/** Returns the failure of a system call on a file. */
export function fileFailure(operation: FailureDetails['file']['operation'], path: string, cause: unknown): Failure {
  return new Failure('file', { operation, path, code: errorCode(cause) ?? String(cause) }, cause);
}
