/** One request of a client, while it is being answered and in the log. */
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

/** A request is held in memory until it may be sent: the permission to send does not wait for a slow client. */
export const LARGEST_BODY = 2 ** 20;
/** Shown of a User-Agent, in characters. */
const LONGEST_CLIENT = 80;
export const ID_HEADER = 'x-request-id';

/** @param known by its token */
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
    /** A write, and the memory that it may take, in bytes: not before its token was seen, for its name is only claimed. */
    isWrite: false,
    size: 0,
    /** Aborts where the client has left, or the proxy ends. */
    gone,
    signal: gone.signal,
    /** The client has left before its answer was complete. */
    isGone: false,
    waitedMs: 0,
    isSent: false,
    /** The code of an Error body of the proxy's own. */
    error: undefined as string | undefined,
    /** Resolves once it has been answered. */
    ended: Promise.resolve(),
  };
}

/** Returns how long a request may wait to be sent, ms: as its client says in whole seconds, and at most `mostMs`. */
export function maxWaitOf({ [MAX_WAIT_HEADER]: seconds }: IncomingMessage['headers'], mostMs: number): number {
  return typeof seconds === 'string' && /^\d{1,12}$/.test(seconds) ? Math.min(Number(seconds) * 1_000, mostMs) : mostMs;
}

/** Counts a request as one of its client. */
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
 * Resolves when the earlier writes of the same client have been answered.
 * @param all in the order in which their heads came
 * @throws {Failure} `run-locked`: they were not for as long as it may wait
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

/** Nginx's name for a client that did not wait for its answer. */
const CLIENT_GONE = 499;

export type ProxiedRequest = ReturnType<typeof proxiedRequest>;

/** What the log has of a request, once it has been answered. */
export function proxiedRequest(passing: Passing, clock: Clock) {
  const { client, error, isGone, method, outgoing, since, url, waitedMs } = passing;
  return {
    // That of the service, if it has one.
    id: String(outgoing.getHeader(ID_HEADER)),
    at: clock.now(),
    method,
    target: url,
    status: isGone ? CLIENT_GONE : outgoing.statusCode,
    /** From its head to the end of its answer. */
    ms: clock.monotonic() - since,
    /** How long of this it waited to be sent. */
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
