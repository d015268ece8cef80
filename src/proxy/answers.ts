/** Builds the proxy's own answers, with an Error body (service spec, part 2). */
import { jsonObject, stringifyJson } from '../api/json.ts';
import { brokenAnswer } from '../client/classify.ts';
import { Failure, isFailure, type Kind } from '../errors.ts';
import type { Refusal, RefusalResponse } from '../http/server.ts';
import { HttpFailure } from '../ports.ts';
import { isHeld } from '../rate-limit/gate.ts';
import { GATEWAY_HEADER, REFUSED_BY_GATEWAY } from '../rate-limit/headers.ts';
import { describeFailure } from '../report/failures.ts';

export interface Answer extends RefusalResponse {
  /** Code of an Error body. */
  readonly code?: string;
}

/** Builds the answer to a request about the proxy itself. */
export function ownAnswer(type: string, body: string, headers: Answer['headers'] = {}): Answer {
  const length = String(Buffer.byteLength(body));
  return { status: 200, headers: { 'content-type': type, 'content-length': length, ...headers }, body };
}

/** Refuses a request that was not sent to the service. `members`: additional members of the Error body. */
export function answerOf(
  [status, code, message]: Refusal,
  headers: Answer['headers'] = {},
  members: Readonly<Record<string, bigint>> = {},
): Answer {
  const body = `${stringifyJson(jsonObject({ code, message, status, ...members }))}\n`;
  const all = { [GATEWAY_HEADER]: REFUSED_BY_GATEWAY, ...HEADERS[status], ...headers };
  return { ...ownAnswer('application/json', body, all), code, status };
}

/** When to try again if nothing else says so, in s. */
const SOON = { 'retry-after': '5' };
const HEADERS: Readonly<Record<number, Answer['headers']>> = {
  401: { 'www-authenticate': 'Bearer' },
  405: { allow: 'GET, HEAD, OPTIONS' },
  429: SOON,
};

/** Status for a kind; 500 for all that are missing here. */
const STATUSES: readonly (readonly [status: number, ...kinds: Kind[]])[] = [
  [400, 'usage'],
  [401, 'unauthorized'],
  [403, 'banned', 'forbidden'],
  [404, 'pet-not-found'],
  [412, 'precondition-failed'],
  [429, 'rate-limited'],
  [502, 'network', 'contract', 'outcome-unknown', 'service-failed'],
  [502, 'not-the-service', 'redirected', 'unexpected-status'],
  [503, 'paused', 'run-locked', 'interrupted', 'state', 'file'],
];

/** `isSent`: true if the gate had allowed the request. */
type Failed = Readonly<Record<'isSent' | 'isWrite', boolean> & { timeoutMs: number }>;

/** Returns the answer for a failure. `now`: epoch ms. */
export function answerOfFailure(error: unknown, now: number, { isSent, isWrite, timeoutMs }: Failed): Answer {
  const failure = toFailure(error, timeoutMs);
  const isTimeout = failure.is('network') && failure.details.phase.endsWith('-timeout');
  // Not a 429, which blocks the key: Redis is not the service.
  const isLost = failure.is('rate-limited') && failure.details.why === 'ledger-lost';
  const [status] =
    isTimeout || isLost ? [504] : (STATUSES.find(([, ...kinds]) => kinds.includes(failure.kind)) ?? [500]);
  // With it, the client can try again without another request.
  const members = failure.is('precondition-failed') ? { quantity: failure.details.found } : {};
  const words = wordsOf(failure, describeFailure(failure, now).message);
  const isUnsent = !isSent || (failure.is('network') && !failure.details.mayHaveBeenSent);
  // The service could not be reached, or the list before a conditional update could not be read.
  const isUnreached = isWrite && isUnsent && (status === 502 || status === 504);
  // A read that does not reach the service, or its own refusal of that list, is as if it were passed on.
  const isPassedOn = failure.is('unauthorized') || failure.is('forbidden') || (!isWrite && failure.is('network'));
  const headers = {
    // Another change of the pet does not make the service unavailable for others.
    ...((isUnreached || (status === 503 && !failure.is('run-locked'))) && SOON),
    // Rounded up, so that the client does not come too early.
    ...(isHeld(failure) && { 'retry-after': String(Math.max(1, Math.ceil(failure.details.waitMs / 1_000))) }),
    ...((!isUnsent || isPassedOn) && { [GATEWAY_HEADER]: '1' }),
  };
  return answerOf([status, isLost ? 'ledger_lost' : failure.kind.replaceAll('-', '_'), words], headers, members);
}

function toFailure(error: unknown, timeoutMs: number): Failure {
  if (isFailure(error)) return error;
  // The body broke off, is late or cannot be decoded.
  if (error instanceof HttpFailure)
    return brokenAnswer(error.facts) ?? new Failure('network', { ...error.facts, timeoutMs, attempts: 1 });
  return new Failure('bug', { message: String(error) });
}

function wordsOf(failure: Failure, message: string): string {
  if (failure.is('interrupted')) {
    return `The proxy is stopping${failure.details.outcome === 'not-sent' ? '; nothing was sent' : ''}.`;
  }
  if (!failure.is('outcome-unknown')) return message;
  return `${message} Read the stock before you send it again.`;
}
