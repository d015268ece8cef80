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
import type { HttpFailureFacts, HttpReply } from '../ports.ts';
import { Failure, type ServiceError } from '../errors.ts';
import type { Call, Service } from './service.ts';

export type RetryRule = 'never' | 'read' | 'unsent' | 'look' | 'look-only' | 'rate';

export interface Classified {
  readonly repeat: RetryRule;
  readonly failure: Failure;
  /** Minimum delay the service asked for, in ms (Retry-After on a 503). */
  readonly retryAfterMs?: number;
}

export interface RequestInfo extends Pick<Service, 'environment' | 'keySource' | 'timeoutMs'> {
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
  const { baseUrl, environment, keySource, timeoutMs } = service;
  const url = `${baseUrl.href}${path}`;
  const pet = petId !== undefined && { petId };
  return { environment, keySource, timeoutMs, isWrite: isWrite(method), url, attempts, ifMatch, ...pet };
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

/** Any status but 200. */
export function judgeStatus(
  serviceError: ServiceError,
  asked: RequestInfo,
  more: { location: string | undefined; retryAfterMs: number | undefined; now: number },
): Classified {
  const { status } = serviceError;
  const { environment } = asked;
  const never = (failure: Failure): Classified => ({ repeat: 'never', failure });

  if (status === 429) return { repeat: 'rate', failure: new Failure('unexpected-status', { serviceError }) };
  if (status === 401)
    return never(new Failure('unauthorized', { serviceError, environment, keySource: asked.keySource }));
  if (status === 403) return never(new Failure('forbidden', { serviceError, environment }));
  const { ifMatch: expected, petId } = asked;
  if (status === 412 && petId !== undefined && expected !== undefined && serviceError.quantity !== undefined)
    return never(new Failure('precondition-failed', { petId, expected, found: serviceError.quantity }));
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

function judgeServerError(
  serviceError: ServiceError,
  asked: RequestInfo,
  more: { retryAfterMs: number | undefined; now: number },
): Classified {
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

/** A captive portal answers every address with a page of its own and status 200. */
export function refuseWebPage(reply: Pick<HttpReply, 'headers'>): void {
  const type = reply.headers.get('content-type')?.[0] ?? '';
  if (!/^text\/html\b/i.test(type)) return;
  throw new Failure('contract', {
    what: 'The response',
    problem: 'is a web page, not the API; check the base URL, and whether your network asks you to log in',
  });
}
