/** Formats the failure of a command as text and JSON. Loaded only for failures. */
import { jsonObject, stringifyJson } from '../api/json.ts';
import { Failure, fileFailure, isFailure, type ServiceError } from '../errors.ts';
import { DatabaseFailure } from '../ports.ts';
import { describeFailure } from '../report/failures.ts';
import type { OpenWrite } from '../session/globals.ts';
import { withEnvironment } from '../session/run-commands.ts';
import { visible } from '../view/words.ts';

/**
 * Returns the failure that a command reports. One of usage without a hint of its own points to the command's help.
 * @param open writes that are not recorded yet: if the command has to end before they are, it reports their outcome
 */
export function failureOf(error: unknown, path: string, open: ReadonlySet<OpenWrite>): Failure {
  const failure = toFailure(error);
  if (failure.is('usage') && failure.details.hint === undefined) {
    const hint = `See: ${['petstore', path, '--help'].filter(Boolean).join(' ')}`;
    return new Failure('usage', { ...failure.details, hint }, failure);
  }
  const [first] = [...open].sort((a, b) => b.outcome.localeCompare(a.outcome));
  if (first === undefined) return failure;
  const { outcome, ...write } = first;
  if (failure.is('interrupted')) return new Failure('interrupted', { ...failure.details, outcome, write });
  if (!failure.is('deadline')) return failure;
  if (outcome === 'applied') return new Failure('unrecorded', { ...write, because: failure });
  return new Failure('outcome-unknown', { ...write, because: failure, looked: false });
}

/** Converts any error to a Failure. One of an unknown kind is a bug. */
function toFailure(error: unknown): Failure {
  if (isFailure(error)) return error;
  // With `using`, closing may fail too: the first error counts.
  if (error instanceof Error && 'suppressed' in error) return toFailure(error.suppressed);
  if (error instanceof DatabaseFailure) {
    return new Failure('state', { path: 'the state folder', problem: 'unusable', detail: error.message }, error);
  }
  // Too many open files or one out of reach, wherever in the chain of causes that is.
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, path } = cause as Error & { code?: unknown; path?: string };
    if (code === 'EMFILE' || code === 'ENFILE') return fileFailure('open', path ?? 'a file', cause);
    if (OUT_OF_REACH.includes(code) && path !== undefined) return fileFailure('read', path, cause);
  }
  return new Failure('bug', { message: error instanceof Error ? error.message : String(error) }, error);
}

/** What keeps a file out of reach, such as a HOME that only another user may enter. */
const OUT_OF_REACH: readonly unknown[] = ['EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'ENOTDIR'];

/** Returns `error: …`, more lines, and `hint: …`; less if the user stopped the command. */
export function formatErrorLines(failure: Failure, now: number, env?: string): string[] {
  const { message, text: form, lines = [], hint } = describeFailure(failure, now);
  if (form === 'none') return [];
  const hints = hint === undefined ? [] : [`hint: ${withEnvironment(hint, env)}`];
  return [form === 'plain' ? message : `error: ${message}`, ...lines.map((line) => `  ${line}`), ...hints].map(visible);
}

/** Returns `{"error":{kind,message,exitCode,status?,code?,retryable,retryAt?,outcome?,details?,hint?}}`, times in ISO 8601. */
export function formatErrorJson(failure: Failure, now: number, env: string | undefined, isWrite: boolean): string {
  const { exit, message, lines, hint, retryable, retryAt, outcome = failure.outcome } = describeFailure(failure, now);
  const serviceError = serviceErrorOf(failure);
  const members = {
    kind: failure.kind,
    message,
    exitCode: exit,
    status: serviceError?.status,
    code: serviceError?.code,
    retryable,
    retryAt: retryAt === undefined ? undefined : new Date(retryAt).toISOString(),
    // A read may fail as a write does.
    outcome: isWrite || outcome?.startsWith('not-') !== true ? outcome : undefined,
    details: lines && [...lines],
    hint: hint && withEnvironment(hint, env),
  };
  return stringifyJson(jsonObject({ error: jsonObject(members) }));
}

/** Returns the service's error body; for a write with an unknown outcome, the one that answered the write. */
function serviceErrorOf(failure: Failure): ServiceError | undefined {
  const { details } = failure;
  if ('because' in details && details.because !== undefined) return serviceErrorOf(details.because);
  return 'serviceError' in details ? details.serviceError : undefined;
}
