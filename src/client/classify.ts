/**
 * Classifies a response or transport error: which Failure it is, and whether it may be retried.
 * Pure. The rules are those of a write that must not be sent twice by accident:
 *
 * - `never`    a repeat would fail again, or could do harm
 * - `read`     a read may be repeated, a write may not
 * - `unsent`   nothing was sent, so a write may be repeated too
 * - `look`     a write may have been applied: look first, repeat only if it was not
 * - `look-only` the same, but a repeat would fail again
 * - `rate`     429: the gate decides when
 */
import type { HttpFailureFacts } from '../ports.ts';
import { Failure, type ServiceError } from '../errors.ts';
import type { Gateway } from '../rate-limit/headers.ts';
import type { Call, Service } from './service.ts';

export type RetryRule = 'never' | 'read' | 'unsent' | 'look' | 'look-only' | 'rate';

export interface Classified {
  readonly repeat: RetryRule;
  readonly failure: Failure;
  /** Minimum delay the service asked for, in ms (Retry-After on a 503). */
  readonly retryAfterMs?: number;
}

export interface RequestInfo extends Pick<Service, 'environment' | 'keySource' | 'maxWaitMs' | 'timeoutMs'> {
  readonly isWrite: boolean;
  /** The pet that a write is for. */
  readonly petId?: bigint;
  /** See Call. */
  readonly ifMatch?: bigint | undefined;
  readonly url: string;
  readonly attempts: number;
}

const HARMLESS: readonly Call['method'][] = ['GET', 'HEAD', 'OPTIONS'];

export function isWrite(method: Call['method']): boolean {
  return !HARMLESS.includes(method);
}

export function requestInfo(
  service: Service,
  { method, path, ifMatch }: Call,
  attempts = 1,
  petId?: bigint,
): RequestInfo {
  const { baseUrl, environment, keySource, maxWaitMs, timeoutMs } = service;
  const url = `${baseUrl.href}${path}`;
  const pet = petId !== undefined && { petId };
  return { environment, keySource, maxWaitMs, timeoutMs, isWrite: isWrite(method), url, attempts, ifMatch, ...pet };
}

const UNSENT_REPEATABLE: readonly string[] = ['dns', 'connect', 'connect-timeout', 'reset'];
const READ_REPEATABLE: readonly string[] = ['reset', 'response-timeout', 'body-timeout', 'body-cut'];
/** The service answered, but not with what its contract says. */
const BROKEN_ANSWER: readonly string[] = ['header-overflow', 'protocol', 'body-cut', 'coding'];

export function judgeFailure(facts: HttpFailureFacts, asked: RequestInfo): Classified {
  const failure = BROKEN_ANSWER.includes(facts.phase)
    ? new Failure('contract', { what: 'The response', problem: brokenAnswer(facts) })
    : new Failure('network', { ...facts, timeoutMs: asked.timeoutMs, attempts: asked.attempts });
  if (!facts.mayHaveBeenSent) {
    return { repeat: UNSENT_REPEATABLE.includes(facts.phase) ? 'unsent' : 'never', failure };
  }
  if (asked.isWrite) return { repeat: 'look', failure };
  return { repeat: READ_REPEATABLE.includes(facts.phase) ? 'read' : 'never', failure };
}

function brokenAnswer(facts: HttpFailureFacts): string {
  if (facts.phase === 'header-overflow') return 'has more headers than an HTTP client can accept';
  if (facts.phase === 'protocol') return 'is not HTTP';
  if (facts.phase === 'coding') return `uses the content coding ${facts.detail}, which petstore does not support`;
  return 'broke off before its end';
}

/** Transient server statuses: worth retrying. */
const PASSING: readonly number[] = [500, 502, 503, 504];

/** What the headers of an answer say. */
interface Headers {
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Epoch ms. */
  readonly now: number;
  readonly gateway?: Gateway | undefined;
}

function never(failure: Failure): Classified {
  return { repeat: 'never', failure };
}

/** Any status but 200. */
export function judgeStatus(serviceError: ServiceError, asked: RequestInfo, more: Headers): Classified {
  const { status } = serviceError;
  const { environment, keySource } = asked;
  const { gateway } = more;

  if (status === 429) return { repeat: 'rate', failure: new Failure('unexpected-status', { serviceError }) };
  if (status === 401) return never(new Failure('unauthorized', { serviceError, environment, keySource, gateway }));
  const { ifMatch: expected, petId } = asked;
  if (status === 412 && petId !== undefined && expected !== undefined && serviceError.quantity !== undefined)
    return never(new Failure('precondition-failed', { petId, expected, found: serviceError.quantity }));
  // A 404 is about the address or the pet, whoever answers it.
  if (gateway === 'refused' && status !== 404 && status !== 408) return judgeRefusal(serviceError, asked, more);
  if (status === 403) return never(new Failure('forbidden', { serviceError, environment }));
  if (status === 400 && asked.isWrite) return never(new Failure('rejected', { serviceError }));
  if (status === 404) {
    return never(
      asked.petId === undefined
        ? new Failure('not-the-service', { url: asked.url })
        : new Failure('pet-not-found', { petId: asked.petId, environment, serviceError }),
    );
  }
  if (status >= 300 && status < 400) {
    const failure = new Failure('redirected', { status, origin: originOf(more.location, asked.url) });
    // The server that redirects may have applied the write.
    return asked.isWrite ? { repeat: 'look-only', failure } : never(failure);
  }
  if (status >= 500 || status === 408) return judgeServerError(serviceError, asked, more);
  const failure = new Failure('unexpected-status', { serviceError });
  // An undocumented 2xx does not tell whether the write was applied.
  return asked.isWrite && status < 300 ? { repeat: 'look', failure } : never(failure);
}

/** A gateway has not sent the request: the service is not to be called before a time, or the client may not do this. */
function judgeRefusal(
  serviceError: ServiceError,
  { maxWaitMs }: RequestInfo,
  { now, retryAfterMs: waitMs }: Headers,
): Classified {
  if (waitMs === undefined) return never(new Failure('gateway-refused', { serviceError }));
  const wait = { retryAt: now + waitMs, waitMs, maxWaitMs, refusals: 0 };
  if (serviceError.status === 403) return never(new Failure('banned', wait));
  return { repeat: 'unsent', failure: new Failure('paused', wait), retryAfterMs: waitMs };
}

function judgeServerError(serviceError: ServiceError, asked: RequestInfo, more: Headers): Classified {
  const { retryAfterMs } = more;
  const failure = new Failure('service-failed', {
    serviceError,
    attempts: asked.attempts,
    ...(retryAfterMs !== undefined && { retryAt: more.now + retryAfterMs }),
  });
  const repeat = asked.isWrite ? 'look' : PASSING.includes(serviceError.status) ? 'read' : 'never';
  return { repeat, failure, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function originOf(location: string | undefined, base: string): string | undefined {
  return location !== undefined && URL.canParse(location, base) ? new URL(location, base).origin : undefined;
}
