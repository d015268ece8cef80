/** A client's request to the proxy: its state until it is answered, and its entry in the log. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOneOf } from '../api/values.ts';
import { isWrite } from '../client/classify.ts';
import { MAX_WAIT_HEADER, METHODS } from '../client/service.ts';
import { Failure } from '../errors.ts';
import type { Clock } from '../ports.ts';
import { LONGEST_HEAD } from '../http/server.ts';
import type { Client } from './clients.ts';
import type { Claim } from './shares.ts';
import { jsonObject, type JsonObject } from '../api/json.ts';
import { clockTime } from '../view/progress.ts';

export type Passing = ReturnType<typeof newPassing>;

/** Largest body, in bytes. It is held in memory first, as permission to send does not wait for a slow client. */
export const LARGEST_BODY = 2 ** 20;
/** Most characters shown of a User-Agent. */
const LONGEST_CLIENT = 80;
export const ID_HEADER = 'x-request-id';

/** Creates the state of a request. @param known the client, if its token is known */
export function newPassing(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  known: Client | undefined,
  arrival: Pick<Claim, 'isUrgent' | 'maxWaitMs' | 'since'>,
) {
  const { headers, method = '', url = '' } = incoming;
  const gone = new AbortController();
  return {
    ...arrival,
    incoming,
    method,
    url,
    outgoing,
    known,
    client: known?.name ?? (headers['user-agent'] ?? 'unknown').slice(0, LONGEST_CLIENT),
    share: known?.share,
    /** Set with `size` (memory to count, in bytes) once the token was checked; until then the name is only a claim. */
    isWrite: false,
    size: 0,
    /** Aborts when the client disconnects or the proxy stops. */
    gone,
    signal: gone.signal,
    /** True if the client disconnected before its answer was complete. */
    isGone: false,
    waitedMs: 0,
    isSent: false,
    /** Error code, if the proxy itself answered with an error. */
    error: undefined as string | undefined,
    /** Resolves once the request has been answered. */
    ended: Promise.resolve(),
  };
}

/** Returns how long a request may wait to be sent, in ms: the client's header (whole seconds), at most `mostMs`. */
export function maxWaitOf({ [MAX_WAIT_HEADER]: seconds }: IncomingMessage['headers'], mostMs: number): number {
  return typeof seconds === 'string' && /^\d{1,12}$/.test(seconds) ? Math.min(Number(seconds) * 1_000, mostMs) : mostMs;
}

/** Marks a request as its client's, with its memory, after the token check. */
export function acceptPassing(passing: Passing): void {
  const { 'content-length': length, 'transfer-encoding': coding } = passing.incoming.headers;
  passing.size = LONGEST_HEAD + Math.min(Number(length ?? (coding === undefined ? 0 : LARGEST_BODY)), LARGEST_BODY);
  passing.isWrite = isOneOf(METHODS, passing.method) && isWrite(passing.method);
}

/** Returns the id that a client, or a server before the proxy, has given a request. */
export function givenId({ [ID_HEADER]: id }: IncomingMessage['headers']): string | undefined {
  return typeof id === 'string' && /^[\w.:-]{1,64}$/.test(id) ? id : undefined;
}

/**
 * Waits until the same client's earlier writes have been answered.
 * @param all in the order in which their heads came
 * @throws {Failure} `run-locked`: that took longer than the request may wait
 */
export async function afterWrites(passing: Passing, all: ReadonlySet<Passing>, clock: Clock): Promise<void> {
  const { maxWaitMs } = passing;
  const list = [...all];
  const earlier = list.slice(0, list.indexOf(passing));
  const writes = earlier.filter(({ client, isWrite }) => client === passing.client && isWrite);
  if (writes.length === 0) return;
  const from = clock.monotonic();
  const over = new AbortController();
  const signal = AbortSignal.any([passing.signal, over.signal]);
  const tooLong = clock.sleep(maxWaitMs - (from - passing.since), signal).then(() => {
    throw new Failure('run-locked', { what: 'an earlier write of this client', waitedMs: maxWaitMs });
  });
  try {
    await Promise.race([Promise.all(writes.map(({ ended }) => ended)), tooLong]);
  } finally {
    over.abort();
    passing.waitedMs += clock.monotonic() - from;
  }
}

/** Nginx's status for a client that disconnected before its answer. */
const CLIENT_GONE = 499;

export type ProxiedRequest = ReturnType<typeof proxiedRequest>;

/** Returns the log entry of an answered request. */
export function proxiedRequest(passing: Passing, clock: Clock) {
  const { client, error, isGone, method, outgoing, since, url, waitedMs } = passing;
  return {
    // The service's own id, if it sent one.
    id: String(outgoing.getHeader(ID_HEADER)),
    at: clock.now(),
    method,
    target: url,
    status: isGone ? CLIENT_GONE : outgoing.statusCode,
    /** Time from the request's head to the end of its answer. */
    ms: clock.monotonic() - since,
    /** Part of that time spent waiting to be sent. */
    waitedMs,
    client,
    ...(error !== undefined && { error }),
  };
}

export function logLine({ at, method, target, status, ms, waitedMs, client, error }: ProxiedRequest): string {
  const waited = waitedMs < 100 ? undefined : `waited ${(waitedMs / 1_000).toFixed(1)} s`;
  const words = [clockTime(at, at), status, method, target, `${ms.toFixed(1)} ms`, waited, error, client];
  return words.filter((word) => word !== undefined).join('  ');
}

export function logObject({ at, ms, waitedMs, ...request }: ProxiedRequest): JsonObject {
  const times = { ms: Math.round(ms * 10) / 10, waitedMs: Math.round(waitedMs) };
  return jsonObject({ at: new Date(at).toISOString(), ...request, ...times });
}
