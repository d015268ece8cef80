/** Builds the answers of the proxy itself, as an Error body (part 2 of the service's specification). */
import { jsonObject, stringifyJson } from '../api/json.ts';
import { Failure, isFailure, type Kind } from '../errors.ts';
import type { Refusal } from '../http/server.ts';
import { HttpFailure } from '../ports.ts';
import { describeFailure } from '../report/failures.ts';
import { LARGEST_BODY } from './requests.ts';
import { MOST_OF_ONE } from './visitors.ts';

export interface Answer {
  /** Of an Error body. */
  readonly code?: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers a request for the catalog; without a body: it has not changed (RFC 9110, 15.4.5). */
export function catalogAnswer({ etag, body }: { readonly etag: string; readonly body: string | undefined }): Answer {
  if (body === undefined) return { status: 304, headers: { etag }, body: '' };
  const length = String(Buffer.byteLength(body));
  return { status: 200, headers: { etag, 'content-type': 'application/json', 'content-length': length }, body };
}

/** `members`: of the body, besides those of every Error body. */
export function answerOf(
  [status, code, message]: Refusal,
  headers: Answer['headers'] = {},
  members: Readonly<Record<string, bigint>> = {},
): Answer {
  const body = `${stringifyJson(jsonObject({ code, message, status, ...members }))}\n`;
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
  // Of the list that is read before a conditional update.
  forbidden: 502,
  'not-the-service': 502,
  redirected: 502,
  'service-failed': 502,
  unauthorized: 502,
  'unexpected-status': 502,
  'outcome-unknown': 502,
  usage: 400,
  'pet-not-found': 404,
  'precondition-failed': 412,
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
  // The client can try again with it, without another request.
  const members = failure.is('precondition-failed') ? { quantity: failure.details.found } : {};
  const retryAfter = status === 503 ? SOON : retryAfterOf(failure);
  return answerOf(
    [status, failure.kind.replaceAll('-', '_'), wordsOf(failure, message)],
    {
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    },
    members,
  );
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

export const TOO_LARGE = answerOf([413, 'too_large', `A body holds at most ${LARGEST_BODY} bytes.`]);
export const TOO_MANY = answerOf([429, 'too_many_waiting', 'Too many requests of this client are waiting.'], {
  'retry-after': '5',
});

export const TOO_MANY_CONNECTIONS = answerOf(
  [429, 'too_many_connections', `A token has at most ${MOST_OF_ONE} connections.`],
  {
    'retry-after': '5',
  },
);
