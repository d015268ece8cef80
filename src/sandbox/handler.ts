/**
 * Implements the service (service spec, parts 4 to 8), from request to response, without a socket.
 *
 * Where the spec leaves something open, the sandbox chooses: see docs/sandbox.md.
 */
import { isFailure } from '../errors.ts';
import type { Refusal } from '../http/server.ts';
import type { Fault } from './faults.ts';
import { count, limitHeaders, retryAfter, type LimiterDecision } from './limiter.ts';
import {
  error,
  findOperation,
  type Handler,
  isPublic,
  type Operation,
  type SandboxRequest,
  type SandboxResponse,
} from './operations.ts';
import type { Rules } from './plans.ts';
import type { Store } from './sandbox-store.ts';

const NO_KEY = '';

/** Handles a request. @throws {Failure} `state`: the store is held, full or broken */
export async function handle(
  handler: Handler,
  request: SandboxRequest,
  fault?: Fault<'status'>,
): Promise<SandboxResponse> {
  const { store, rules } = handler;
  const given = /^Bearer ([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const isKnown = given !== undefined && (handler.apiKeys.includes(given) || store.keys().includes(given));
  const apiKey = isKnown ? given : NO_KEY;
  // Before the transaction, because the answer may need a module.
  const operation = await findOperation(handler, request);
  const work = (): SandboxResponse => {
    // Read within the transaction: another process may have counted a later request while this one waited.
    const now = handler.now();
    const verdict = count(store, rules, apiKey, now);
    const result =
      refusalOf(verdict, rules) ??
      (isKnown || isPublic(request)
        ? operate(operation, store, fault)
        : error(401, 'unauthorized', 'The API key is missing or invalid.', { 'WWW-Authenticate': 'Bearer' }));
    const limits = limitHeaders(verdict, now, rules);
    if (fault === undefined || result.isFault !== true) return withHeaders(result, limits);
    const { status, 'retry-after': waitS = status === 429 ? 1 : undefined } = fault;
    if (waitS === undefined) return withHeaders(result, limits);
    const until = now + waitS * 1_000;
    // A request before that time counts as early.
    if (status === 429) store.setAllowance(apiKey, { ...store.allowance(apiKey), blockedUntil: until });
    return withHeaders(result, { ...limits, 'Retry-After': retryAfter(until, now, rules) });
  };
  return store.exclusively(work, { durable: request.method === 'PATCH' });
}

/** Describes an error in the sandbox itself. */
export function troubleOf(problem: unknown): SandboxResponse {
  if (!isFailure(problem) || !problem.is('state')) return error(500, 'internal', 'The sandbox failed.');
  const { problem: reason } = problem.details;
  return error(503, reason === 'damaged' ? reason : 'busy', `The sandbox cannot use its store: ${reason}.`);
}

/** Returns a refusal with the headers of every response, and with the limits if the store works. */
export async function refuse({ now, rules, store }: Handler, refusal: Refusal): Promise<ReturnType<typeof error>> {
  const result = error(...refusal);
  const work = (): typeof result => {
    const at = now();
    const verdict = count(store, rules, NO_KEY, at);
    return withHeaders(refusalOf(verdict, rules) ?? result, limitHeaders(verdict, at, rules));
  };
  return store.exclusively(work).catch(() => withHeaders(result));
}

export function withHeaders<R extends SandboxResponse>(result: R, limits = {}): R {
  return { ...result, headers: { 'Content-Type': 'application/json', ...limits, ...result.headers } };
}

/** Returns all headers of a response. @param now epoch ms on the sandbox's clock */
export function headersOf({ status, headers, body }: SandboxResponse, now: number): Record<string, string> {
  const hasLength = typeof body === 'string' && status !== 204;
  return {
    ...headers,
    Date: new Date(now).toUTCString(),
    ...(hasLength && { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
}

function refusalOf({ outcome, limit }: LimiterDecision, { banStatus }: Rules): ReturnType<typeof error> | undefined {
  if (outcome === 'banned') {
    return error(banStatus, 'banned', 'The API key is banned for a while: it was used too often after a 429.');
  }
  if (outcome === 'allowed') return undefined;
  return error(429, 'rate_limited', `The limit of ${limit} is used up: wait as long as Retry-After says.`);
}

function operate(operation: Operation, store: Store, fault: Fault<'status'> | undefined): SandboxResponse {
  if (fault === undefined) return operation(store);
  if (fault.after === true) operation(store);
  return { ...error(fault.status, 'fault', 'Fault injected by the sandbox.'), isFault: true };
}
