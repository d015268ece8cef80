/**
 * The service (service spec, parts 4 to 8), from request to response, without a socket.
 *
 * What the spec does not show is the sandbox's own choice:
 *
 * | open in the spec             | here                                                                  |
 * |------------------------------|-----------------------------------------------------------------------|
 * | range of quantity            | 0 to 2147483647 (`--quantity`); anything else is 400                  |
 * | values of Error.code         | the words in this folder's calls of `error`                           |
 * | body of a 429                | an Error body                                                         |
 * | the ban                      | 403 with Retry-After (`--ban-status`), for 15 minutes (`--ban-for`),  |
 * |                              | after 10 early requests (`--ban-after`)                               |
 * | limits without a valid key   | one bucket for all such requests, with the limits of the plan         |
 * | an unknown path              | 404; a known path with another method: 405 with Allow                 |
 * | HEAD, OPTIONS                | as GET without its body; 204 with Allow                               |
 * | a body of another type       | 400; in a content coding or another charset: 415; beyond 64 KiB: 413  |
 * | which window the headers say | the one with the least left                                           |
 * | the sunset of GET /pets/{id} | the last day of next year, by the sandbox's clock                     |
 */
import {
  error,
  type Handler,
  type Operation,
  type Result,
  type SandboxRequest,
  type SandboxResponse,
} from './types.ts';
import type { Effect } from './faults.ts';
import { blockUntil, count, limitHeaders, retryAfter, type LimiterDecision } from './limiter.ts';
import { findOperation } from './operations.ts';
import type { Rules } from './plans.ts';
import type { Store } from './store.ts';

export type StatusEffect = Extract<Effect, { does: 'status' }>;

const NO_KEY = '';
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** @throws {DatabaseFailure} `busy`: another process holds the store; worth another try */
export async function handle(
  handler: Handler,
  request: SandboxRequest,
  fault?: StatusEffect,
): Promise<SandboxResponse> {
  const { store, rules } = handler;
  const given = bearer(request.headers.authorization);
  const isKnown = given !== undefined && (handler.apiKeys.includes(given) || store.hasKey(given));
  const apiKey = isKnown ? given : NO_KEY;
  // Before the transaction: the checks may load a module.
  const operation = await findOperation(handler, request);
  const now = handler.now();
  const work = (): SandboxResponse => {
    const verdict = count(store, rules, apiKey, now);
    const result =
      refusalOf(verdict, rules) ??
      (isKnown || operation.isPublic === true
        ? operate(operation, store, fault)
        : error(401, 'unauthorized', 'The API key is missing or invalid.', { 'WWW-Authenticate': 'Bearer' }));
    const response = withLimits(result, verdict, now, rules);
    if (fault?.status !== 429) return response;
    const until = now + (fault.retryAfterS ?? 1) * 1_000;
    blockUntil(store, apiKey, until);
    return { ...response, headers: { ...response.headers, 'Retry-After': retryAfter(until, now, rules.retryAfter) } };
  };
  const how = { durable: operation.writes };
  return handler.atomically === undefined ? store.atomically(work, how) : handler.atomically(work, how);
}

/** For what is refused before it can be handled: still an Error body with the three headers. */
export function refuse(handler: Handler, result: Result): SandboxResponse {
  const { store, rules } = handler;
  const now = handler.now();
  return store.atomically(() => withLimits(result, count(store, rules, NO_KEY, now), now, rules));
}

function withLimits(result: Result, verdict: LimiterDecision, now: number, rules: Rules): SandboxResponse {
  const headers = { ...JSON_TYPE, ...limitHeaders(verdict, now, rules.retryAfter), ...result.headers };
  return { status: result.status, headers, body: result.body };
}

function refusalOf({ outcome }: LimiterDecision, { banStatus }: Rules): Result | undefined {
  if (outcome === 'banned') {
    return error(banStatus, 'banned', 'The API key is banned for a while: it came back too often after a 429.');
  }
  if (outcome === 'allowed') return undefined;
  return error(429, 'rate_limited', 'Too many requests: wait as long as Retry-After says.');
}

function operate(operation: Operation, store: Store, fault: StatusEffect | undefined): Result {
  if (fault === undefined) return operation.run(store);
  if (fault.applied) operation.run(store);
  const { status, retryAfterS } = fault;
  const headers = retryAfterS === undefined ? undefined : { 'Retry-After': String(retryAfterS) };
  return error(status, 'fault', 'The sandbox was told to answer so.', headers);
}

function bearer(header: string | undefined): string | undefined {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(header ?? '')?.[1];
}
