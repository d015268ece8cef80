/** The Failure class and the exit codes. The table of failures with details and messages is in report/. */
import { errorCode } from './ports.ts';
import type { Failures } from './report/failures.ts';

/** The exit codes; the only place with their numbers. Scripts depend on them, so none may change its meaning. */
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
export const OUTCOMES = ['not-sent', 'not-applied', 'applied', 'unknown'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The service's Error body (service spec, part 2), as far as it could be parsed. */
export interface ServiceError {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  /** The pet's quantity, in a gateway's 412. */
  readonly quantity?: bigint | undefined;
}

/** A single write of a pet's quantity. */
export interface PetWrite {
  petId: bigint;
  quantity: bigint;
  environment: string;
}

export type Kind = keyof Failures;

/** Kind of failure -> its details, as its row of the table takes them. */
export type FailureDetails = { readonly [K in Kind]: Parameters<Failures[K]>[0] };

/** An error that report/ can explain. The type of `details` depends on `kind`. */
export class Failure<K extends Kind = Kind> extends Error {
  override name = 'Failure';
  readonly kind: K;
  readonly details: FailureDetails[K];
  /** Outcome of the single write that failed, if the kind of failure does not tell. A failure has that of its cause. */
  outcome: Outcome | undefined;

  constructor(kind: K, details: FailureDetails[K], cause?: unknown) {
    super(kind, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.details = details;
    this.outcome = isFailure(cause) ? cause.outcome : undefined;
  }

  is<L extends Kind>(kind: L): this is Failure<L> {
    const own: string = this.kind;
    return own === kind;
  }
}

export function usageFailure(problem: string, hint?: string): Failure<'usage'> {
  return new Failure('usage', { problem, ...(hint !== undefined && { hint }) });
}

/** Type guard: `instanceof` alone would lose the kind and so the details. */
export function isFailure(error: unknown): error is Failure {
  return error instanceof Failure;
}

/** Returns a failure. @throws any other error */
export function onlyFailure(error: unknown): Failure {
  if (isFailure(error)) return error;
  throw error;
}

/** Marks a Ctrl-C that is the usual way to end input or a watch; returns any other error unchanged. */
export function stoppedByUser(error: unknown, during: 'input' | 'prompt' | 'watch'): unknown {
  const isUsual = isFailure(error) && error.is('interrupted') && error.details.signal === 'SIGINT';
  return isUsual ? new Failure('interrupted', { ...error.details, during }, error) : error;
}

/** Marks a failure that came after other requests: `nothing more was sent`. @param resume continues the run */
export function midway<K extends Kind>(failure: Failure<K>, resume?: string): Failure {
  const { kind, details } = failure;
  return new Failure<K>(kind, { ...details, begun: true, ...(resume !== undefined && { resume }) }, failure);
}

/** Converts the error of a system call on a file to a failure. */
export function fileFailure(operation: FileOperation, path: string, cause: unknown): Failure {
  return new Failure('file', { operation, path, code: errorCode(cause) ?? String(cause) }, cause);
}

/** Returns a handler that throws the failure of a system call on a file. */
export function fileFailed(operation: FileOperation, path: string): (cause: unknown) => never {
  return (cause) => {
    throw fileFailure(operation, path, cause);
  };
}

type FileOperation = FailureDetails['file']['operation'];
