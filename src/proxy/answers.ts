/** Builds the answers of the proxy itself, as an Error body (part 2 of the service's specification). */
import { jsonObject, stringifyJson } from '../api/json.ts';
import { Failure, isFailure, type Kind } from '../errors.ts';
import type { Refusal } from '../http/server.ts';
import { HttpFailure } from '../ports.ts';
import { describeFailure } from '../report/failures.ts';

export interface Answer {
  /** Of an Error body. */
  readonly code?: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function answerOf([status, code, message]: Refusal, headers: Answer['headers'] = {}): Answer {
  const body = `${stringifyJson(jsonObject({ code, message, status }))}\n`;
  const length = String(Buffer.byteLength(body));
  const own = { 'content-type': 'application/json', 'content-length': length, ...HEADERS[status] };
  return { code, status, headers: { ...own, ...headers }, body };
}

const HEADERS: Readonly<Record<number, Answer['headers']>> = {
  401: { 'www-authenticate': 'Bearer' },
  405: { allow: 'GET, HEAD, OPTIONS' },
};

const STATUS: Partial<Record<Kind, number>> = {
  'rate-limited': 429,
  banned: 429,
  paused: 429,
  network: 502,
  contract: 502,
  'outcome-unknown': 502,
  'run-locked': 503,
  interrupted: 503,
  'ledger-refused': 503,
  state: 503,
  file: 503,
};
const TIMEOUTS: readonly string[] = ['connect-timeout', 'response-timeout', 'body-timeout'];
/** When to try again after a 503 of the proxy, s. */
const SOON = 5;

/** `now`: epoch ms. */
export function answerOfFailure(error: unknown, now: number): Answer {
  const failure = toFailure(error);
  const isTimeout = failure.is('network') && TIMEOUTS.includes(failure.details.phase);
  const status = isTimeout ? 504 : (STATUS[failure.kind] ?? 500);
  const { message } = describeFailure(failure, now);
  const retryAfter = status === 503 ? SOON : retryAfterOf(failure);
  return answerOf([status, failure.kind.replaceAll('-', '_'), wordsOf(failure, message)], {
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  });
}

function toFailure(error: unknown): Failure {
  if (isFailure(error)) return error;
  // The body broke off, or cannot be decoded.
  if (error instanceof HttpFailure)
    return new Failure('contract', { what: 'The response', problem: error.facts.detail });
  return new Failure('bug', { message: String(error) });
}

/** In whole seconds, rounded up: a client that waits this long comes when the wait is over. */
function retryAfterOf(failure: Failure): number | undefined {
  if (!failure.is('rate-limited') && !failure.is('banned') && !failure.is('paused')) return undefined;
  return Math.max(1, Math.ceil(failure.details.waitMs / 1_000));
}

function wordsOf(failure: Failure, message: string): string {
  if (failure.is('interrupted')) {
    return `The proxy is stopping${failure.details.outcome === 'not-sent' ? '; nothing was sent' : ''}.`;
  }
  if (!failure.is('outcome-unknown')) return message;
  return `${message} Read the stock before you send it again.`;
}
