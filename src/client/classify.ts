/**
 * Classifies a response or transport error: which Failure it is, and whether it may be retried.
 * Pure. The rules keep a write from being sent twice by accident:
 *
 * - `never`    a repeat would fail again, or could do harm
 * - `again`    it may be repeated: a read, or a write that was not sent
 * - `look`     a write may have been applied: look first, repeat only if it was not
 * - `look-only` the same, but never repeat: it would fail again
 * - `rate`     429: the gate decides when
 */
import type { HttpFailureFacts, HttpReply } from '../ports.ts';
import { Failure, type ServiceError } from '../errors.ts';
import { gatewayOf, readLimitHeaders, refusalOf, ROUNDING_MS } from '../rate-limit/headers.ts';
import type { Call, Service } from './service.ts';

export type RetryRule = 'never' | 'again' | 'look' | 'look-only' | 'rate';

export interface Classified {
  readonly repeat: RetryRule;
  readonly failure: Failure;
  /** Minimum delay the service asked for, in ms (Retry-After on a 503). */
  readonly retryAfterMs?: number | undefined;
}

/** The request that was sent, and how often. */
export interface Asked {
  readonly service: Service;
  readonly call: Call;
  readonly attempts: number;
}

const HARMLESS: readonly Call['method'][] = ['GET', 'HEAD', 'OPTIONS'];

export function isWrite(method: Call['method']): boolean {
  return !HARMLESS.includes(method);
}

/** Phases in which another attempt may succeed. */
const PASSING = /^(dns|connect|connect-timeout|reset|response-timeout|body-timeout|body-cut)$/;

export function judgeFailure(facts: HttpFailureFacts, asked: Asked): Classified {
  // This machine, not the network, has refused the socket: another try would fail too.
  if (facts.code === 'EMFILE' || facts.code === 'ENFILE')
    return never(new Failure('file', { operation: 'open', path: `a connection to ${facts.peer}`, code: facts.code }));
  const { attempts, service } = asked;
  const failure = brokenAnswer(facts) ?? new Failure('network', { ...facts, timeoutMs: service.timeoutMs, attempts });
  if (facts.mayHaveBeenSent && isWrite(asked.call.method)) return { repeat: 'look', failure };
  // A proxy answers CONNECT with 502, 503 or 504 if the service is down.
  const isDown = facts.phase === 'proxy' && /^50[234]$/.test(facts.code);
  return { repeat: isDown || PASSING.test(facts.phase) ? 'again' : 'never', failure };
}

/** Returns the failure of a service that answered, but broke its contract; undefined if it did not answer. */
export function brokenAnswer({ code, detail, phase }: HttpFailureFacts): Failure | undefined {
  // Codes of node:zlib, for gzip and Brotli.
  const isCoding = /^(Z_DATA_|ERR_BROTLI_|ERR__ERROR_)/.test(code);
  const problems: Readonly<Record<string, string>> = {
    'header-overflow': 'has more headers than an HTTP client can accept',
    protocol: 'is not HTTP',
    coding: `uses the content coding ${detail}, which petstore does not support`,
    'body-cut': isCoding ? 'cannot be decoded from its content coding' : 'broke off before its end',
  };
  const problem = problems[phase];
  return problem === undefined ? undefined : new Failure('contract', { what: 'The response', problem });
}

/** Statuses of a server, a loop of gateways (508, RFC 5842) or the network in between (511), that fail again: a read is not repeated. */
const LASTING: readonly number[] = [501, 505, 508, 511];

function never(failure: Failure): Classified {
  return { repeat: 'never', failure };
}

/** True for a write that may have been applied. */
export function isUncertain({ repeat }: Partial<Classified>): boolean {
  return repeat === 'look' || repeat === 'look-only';
}

/** Classifies an answer with any status but 200. @param now when it was received, epoch ms */
export function judgeStatus(
  serviceError: ServiceError,
  { attempts, call, service }: Asked,
  headers: HttpReply['headers'],
  now: number,
): Classified {
  const { status } = serviceError;
  const { environment, keySource } = service;
  const { ifMatch: expected, petId } = call;
  const gateway = gatewayOf(headers);
  const limits = readLimitHeaders(headers, now);
  const { retryAfterMs: namedMs } = limits;
  const otherMs = namedMs === undefined ? undefined : namedMs + ROUNDING_MS;
  // As long as a 503 blocks the key.
  const retryAfterMs = status === 503 ? refusalOf(status, limits, 1, 0)?.ms : otherMs;
  const retryAt = now + (retryAfterMs ?? 0);
  const url = `${service.baseUrl.href}${call.path}`;
  const isUpdate = isWrite(call.method);

  if (status === 429) return { repeat: 'rate', failure: new Failure('unexpected-status', { serviceError }) };
  if (status === 401) return never(new Failure('unauthorized', { serviceError, environment, keySource, gateway }));
  if (status === 412 && petId !== undefined && expected !== undefined && serviceError.quantity !== undefined)
    return never(new Failure('precondition-failed', { petId, expected, found: serviceError.quantity }));
  // A 404 is about the address or the pet, even from a gateway.
  if (gateway === 'refused' && status !== 404 && status !== 408)
    return judgeRefusal(serviceError, service.maxWaitMs, retryAt, retryAfterMs);
  if (status === 403) {
    const { ms: blockMs = 0 } = refusalOf(status, limits, 1, 0) ?? {};
    return never(new Failure('forbidden', { serviceError, environment, retryAt: now + blockMs }));
  }
  if (status === 400 && isUpdate) return never(new Failure('rejected', { serviceError }));
  if (status === 404) {
    if (petId !== undefined) return never(new Failure('pet-not-found', { petId, environment, serviceError }));
    return never(new Failure('not-the-service', { url, serviceError }));
  }
  if (status >= 300 && status < 400) {
    const failure = new Failure('redirected', { serviceError, target: targetOf(headers.get('location')?.[0], url) });
    // The server that redirects may have applied the write.
    return isUpdate ? { repeat: 'look-only', failure } : never(failure);
  }
  if (status >= 500 || status === 408) {
    const repeat = isUpdate ? 'look' : LASTING.includes(status) ? 'never' : 'again';
    const named = retryAfterMs !== undefined && { retryAt };
    return { repeat, failure: new Failure('service-failed', { serviceError, attempts, ...named }), retryAfterMs };
  }
  const failure = new Failure('unexpected-status', { serviceError, isRefusal: isUpdate && status >= 400 });
  // An undocumented 2xx does not tell whether the write was applied.
  return isUpdate && status < 300 ? { repeat: 'look', failure } : never(failure);
}

/** Classifies a refusal by a gateway, which has not sent the request, and has waited for as long as it may. */
function judgeRefusal(
  serviceError: ServiceError,
  maxWaitMs: number,
  retryAt: number,
  waitMs: number | undefined,
): Classified {
  const { code, status } = serviceError;
  if (code === 'run_locked') {
    return never(new Failure('run-locked', { what: 'another change at the gateway', waitedMs: 0 }));
  }
  if (waitMs === undefined) return never(new Failure('gateway-refused', { serviceError }));
  const wait = { retryAt, waitMs, maxWaitMs };
  if (status === 403) return never(new Failure('banned', wait));
  if (code === 'ledger_lost') return never(new Failure('rate-limited', { why: 'ledger-lost', ...wait }));
  const failure = new Failure('paused', { ...wait, ...(code !== 'paused' && { serviceError }) });
  return { repeat: 'again', failure, retryAfterMs: waitMs };
}

/** Returns the origin that a redirect leads to; on the same one the path, which is all that differs. */
function targetOf(location: string | undefined, base: string): string | undefined {
  if (location === undefined || !URL.canParse(location, base)) return undefined;
  const { origin, pathname, protocol } = new URL(location, base);
  if (!/^https?:$/.test(protocol)) return undefined;
  return origin === new URL(base).origin ? `${origin}${pathname}` : origin;
}

/** Returns the failure of an HTML page: a captive portal answers every address with its own page and status 200. */
export function webPageFailure({ headers }: Pick<HttpReply, 'headers'>): Failure | undefined {
  if (!/^text\/html\b/i.test(headers.get('content-type')?.[0] ?? '')) return undefined;
  const fix = 'Check the base URL, and whether your network asks you to log in.';
  return new Failure('contract', { what: 'The response', problem: 'is a web page, not the API', fix });
}
