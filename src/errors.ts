/** Every way the program can fail, with its details, and the exit codes. Messages and meanings are in report/. */
import { errorCode, type HttpFailureFacts, type SignalName } from './ports.ts';

/** The exit codes, and the only place with their numbers. Scripts depend on them: none changes its meaning. */
export const EXIT = {
  ok: 0,
  bug: 1,
  usage: 2,
  local: 3,
  key: 4,
  notFound: 5,
  rateLimited: 6,
  network: 7,
  service: 8,
  outcomeUnknown: 9,
  rejected: 10,
  incomplete: 11,
  forbidden: 12,
  checkFailed: 13,
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Outcome of a write, as far as known when the command ends. */
export type Outcome = 'not-sent' | 'not-applied' | 'applied' | 'unknown';

/** The service's Error body (spec part 2), as far as it could be parsed. */
export interface ServiceError {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  /** First bytes of a body that is not an Error body; shown with --debug only. */
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

/** A single write of a pet's quantity. */
export interface PetWrite {
  petId: bigint;
  quantity: bigint;
  environment: string;
}

/** Failures of the call, the config and this machine: nothing was sent. */
export interface LocalFailures {
  usage: { problem: string; hint?: string };
  /** A value of the wrong form. */
  'invalid-value': { name: string; value: string; expected: string; hint?: string };
  /** A write to production without a terminal and without an explicit environment. */
  'production-not-confirmed': { command: string };
  /** The user answered no, or ended the question. */
  cancelled: Record<string, never>;
  /** The command needs to ask a question, but has no terminal. */
  'no-terminal': { what: string; instead: string };

  'config-invalid': { path: string; problem: string; line?: number; column?: number };
  'config-newer': { path: string; version: number };
  /** Link, FIFO, folder: not a plain file. */
  'config-not-a-file': { path: string; found: string };
  /** `config get` of a setting that has no value. */
  'config-unset': { key: string; path: string; command: string };
  /** No folder to keep files in: HOME is unset, or relative. */
  'no-home': { what: string; variable: string; problem: string };
  file: { operation: 'create' | 'find' | 'open' | 'read' | 'write'; path: string; code: string };
  /** A database file of petstore's, or a lock. `held`: another process holds its lock. `foreign`: it is not ours. */
  state: {
    path: string;
    problem: 'held' | 'newer' | 'foreign' | 'damaged' | 'replaced' | 'full' | 'readonly' | 'lock' | 'unusable';
    what?: 'state database' | 'sandbox';
    detail?: string;
  };
  /** The sandbox cannot listen on the port. `free`: a port that can be used instead. */
  port: { host: string; port: number; code: string; free?: number };
  'base-url': { shown: string; problem: string; hint: string };
  'no-base-url': { environment: string };
  output: { code: string; isDone?: boolean };
  /** $EDITOR could not be run, or ended with an error. */
  editor: { variable?: 'VISUAL' | 'EDITOR'; command: string; problem: string };

  'no-key': { environment: string };
  /** `problem` follows "The key command". `isLocal`: it could not be started. */
  'key-command': { command: string; problem: string; isLocal?: boolean; hint?: string };
  /** A key may be stored, but the config cannot be read. */
  'key-unreadable': { path: string; code: string };
  /** The key holds characters that no header can carry. */
  'key-malformed': { source: string; problem: string; hint?: string };
}

/** Failures of the service, of the network and of the limits. */
export interface ServiceFailures {
  /** 404 on the list: the base URL lacks something. */
  'not-the-service': { url: string };
  /** 401. */
  unauthorized: { serviceError: ServiceError; environment: string; keySource: string };
  /** 403. */
  forbidden: { serviceError: ServiceError; environment: string };
  /** 400. */
  rejected: { serviceError: ServiceError };
  /** 404 on one pet; without `serviceError` the list was read and lacks it. */
  'pet-not-found': { petId: bigint; environment: string; serviceError?: ServiceError };
  /** 404 on a raw call. */
  'not-found': { path: string; serviceError: ServiceError };

  'rate-limited': {
    why: 'rate-limited' | 'window-spent' | 'asking' | 'paced';
  } & Waiting;
  /** A block after a 403 lasts. */
  banned: Waiting;
  /** The service has asked, with a 503, not to be called before a time. */
  paused: Waiting;
  /** The checks need more requests than the rate limit has left. `resetAt`: epoch ms. */
  'quota-insufficient': { need: number; left: number; limit: number; resetAt: number; begun: boolean };

  network: HttpFailureFacts & { timeoutMs: number; attempts: number; begun?: boolean };
  /** The deadline of the whole command passed while nothing of a write was in flight. */
  deadline: { deadlineMs: number };

  /** 5xx after the permitted retries. */
  'service-failed': { serviceError: ServiceError; attempts: number; retryAt?: number };
  /** The service broke its contract: wrong body, wrong type, wrong status. */
  contract: { what: string; problem: string; /** Offset in the body, in UTF-16 units. */ at?: number };
  redirected: { status: number; origin: string | undefined };
  'unexpected-status': { serviceError: ServiceError };
}

/** Failures of a single write. */
export interface WriteFailures {
  /**
   * A write whose outcome is not known: of a pet, even after the list was read (`looked`), or a raw call (`call`:
   * `POST /path`). `found`: the pet's quantity now, which is neither the earlier nor the wanted one. `because`: what went
   * wrong with the write itself.
   */
  'outcome-unknown': { environment: string; because: Failure } & (
    { petId: bigint; quantity: bigint; looked: boolean; found?: bigint | undefined } | { call: string }
  );
  /** A write that the service has confirmed, but that could not be noted in the history. */
  unrecorded: PetWrite & { because: Failure };
  /** The service stored something else than it was asked to. */
  'stored-differently': PetWrite & { stored: { petId: bigint; quantity: bigint } };
  /** --expect: the stock is not what the caller believed. */
  'precondition-failed': { petId: bigint; expected: bigint; found: bigint };
  /** `adjust`: the stock is too low for it. Nothing was written. */
  'below-zero': { petId: bigint; found: bigint; delta: bigint };
  /** `write`: the one that was in flight, and what became of it. */
  interrupted: { signal: SignalName; outcome?: Outcome; write?: PetWrite; during?: 'prompt' | 'input' | 'watch' };
  bug: { message: string };
}

/** Failures of bulk runs, checks and waits. */
export interface RunFailures {
  /** Rows of a file that are not what they must be; nothing was sent. */
  'invalid-rows': {
    source: string;
    problems: readonly { line: number; reason: string }[];
    hint?: string;
    /** By default: nothing was sent. */
    unchanged?: string;
  };
  /** A bulk run would take longer than allowed; nothing was sent. In ms. */
  'run-too-long': { requests: number; ms: number; maxWaitMs: number };
  /** Another process of this machine applies a run, or changes the pet. `what` names it. */
  'run-locked': { what: string; waitedMs: number; begun?: boolean };
  /** `undo` of one change: the pet's stock is not what the change left, or the old quantity is not known. */
  'cannot-undo': { petId: bigint; reason: string };
  /** What the run is about has changed since: the file, for instance. Nothing was sent. */
  'cannot-resume': { problem: string; hint: string };
  /** A bulk run ended, but not all of it is done. */
  'run-incomplete': { failed: number; conflicts: number; report: string | undefined };
  /** Rows of a bulk run whose outcome is not known. */
  'run-unknown': { unknown: number; resume: string };

  /** --exit-code: the shop is not as the file says. `obstacles`: rows that cannot be applied. */
  'would-change': { changes: number; obstacles: number };
  /** --fail-if-any, --fail-if-none. */
  'check-failed': { check: string; matched: number };
  /** Ids of the smoke checks that failed. */
  'checks-failed': { failed: readonly string[]; of: number };
  /** Ids of the doctor checks that failed. */
  'doctor-failed': { failed: readonly string[]; of: number };
  /** `wait`: the pet did not reach the condition in time. */
  'wait-timeout': { petId: bigint; ms: number; found: string };
}

/** Kind of failure -> its details. */
export interface FailureDetails extends LocalFailures, ServiceFailures, WriteFailures, RunFailures {}

export type Kind = keyof FailureDetails;

/** A failure that the tool knows how to explain. `details` belong to `kind`. */
export class Failure<K extends Kind = Kind> extends Error {
  override name = 'Failure';
  readonly kind: K;
  readonly details: FailureDetails[K];

  constructor(kind: K, details: FailureDetails[K], cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.details = details;
  }

  is<L extends Kind>(kind: L): this is Failure<L> {
    const own: string = this.kind;
    return own === kind;
  }
}

/** `instanceof` alone would leave the kind, and so the details, open. */
export function isFailure(error: unknown): error is Failure {
  return error instanceof Failure;
}

/** Returns the error as it is, except for a Ctrl-C that is the usual end of what the command was doing. */
export function stoppedByUser(error: unknown, during: 'input' | 'watch'): unknown {
  const isUsual = isFailure(error) && error.is('interrupted') && error.details.signal === 'SIGINT';
  return isUsual ? new Failure('interrupted', { ...error.details, during }, error) : error;
}

/** Returns the failure of a system call on a file. */
export function fileFailure(operation: FailureDetails['file']['operation'], path: string, cause: unknown): Failure {
  return new Failure('file', { operation, path, code: errorCode(cause) ?? String(cause) }, cause);
}
