/** One request of a client: while it is in progress, and as an entry of the log. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MAX_WAIT_HEADER } from '../client/service.ts';
import type { Clock } from '../ports.ts';
import { patiently } from '../stock/pet-lock.ts';
import type { Client } from './clients.ts';

export type Passing = ReturnType<typeof newPassing>;
/** What is needed to send a request in its turn. */
export type Claim = Pick<
  Passing,
  'client' | 'isSent' | 'isUrgent' | 'leftMs' | 'maxWaitMs' | 'share' | 'signal' | 'since' | 'waitedMs'
>;

/** Most bytes of a body. It is read into memory first, so that a slow client does not use up the permission to send. */
export const LARGEST_BODY = 2 ** 20;
/** Most characters shown of a User-Agent. */
const LONGEST_CLIENT = 80;
export const ID_HEADER = 'x-request-id';

/**
 * @param known the client that the token belongs to
 * @param maxWaitMs longest wait from its arrival
 */
export function newPassing(
  clock: Clock,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  known: Client | undefined,
  { isUrgent, maxWaitMs }: { readonly isUrgent: boolean; readonly maxWaitMs: number },
) {
  const { headers, method = '', url = '' } = incoming;
  const gone = new AbortController();
  const since = clock.monotonic();
  const ended: PromiseWithResolvers<void> = Promise.withResolvers();
  return {
    isUrgent,
    maxWaitMs,
    since,
    /** Returns what is left of the wait, in ms. */
    leftMs: () => Math.max(0, maxWaitMs - (clock.monotonic() - since)),
    incoming,
    method,
    url,
    outgoing,
    client: known?.name ?? (headers['user-agent'] || 'unknown').slice(0, LONGEST_CLIENT),
    /** The client's share of the rate limit; undefined for all of it. */
    share: known?.share,
    /** Set for a request that is not refused, as its memory, in bytes: the client of another is only a claim. */
    isWrite: false,
    size: 0,
    /** Aborts when the client has left or the proxy stops, with a Failure as the reason. */
    gone,
    signal: gone.signal,
    /** True if the client left before its answer was complete. */
    isGone: false,
    /** How long after its arrival it was sent, or could no longer be sent, in ms. */
    waitedMs: 0,
    /** True once the gate has allowed it. */
    isSent: false,
    /** Resolves when it has been answered. */
    ended,
  };
}

/** Returns how long a request may wait to be sent, in ms: as the client's header says, at most `mostMs`. */
export function maxWaitOf({ [MAX_WAIT_HEADER]: seconds }: IncomingMessage['headers'], mostMs: number): number {
  return typeof seconds === 'string' && /^\d{1,12}$/.test(seconds) ? Math.min(Number(seconds) * 1_000, mostMs) : mostMs;
}

/**
 * Resolves when the earlier writes of the same client, whose bodies have arrived, have been answered.
 * @param all requests in progress, in the order in which their heads arrived
 * @throws {Failure} `run-locked`: they were not answered for as long as this one may wait
 */
export async function afterWrites(passing: Passing, all: ReadonlySet<Passing>, clock: Clock): Promise<void> {
  const writes: Promise<void>[] = [];
  for (const each of all) {
    if (each === passing) break;
    if (each.isWrite && each.incoming.complete && each.client === passing.client) writes.push(each.ended.promise);
  }
  if (writes.length > 0) await patiently(clock, passing, 'an earlier write of this client', Promise.all(writes));
}

/** Nginx's status for a client that did not wait for its answer. */
const CLIENT_GONE = 499;

export type ProxiedRequest = ReturnType<typeof proxiedRequest>;

/** The log entry of an answered request. @param error code of the Error body, if the proxy itself has answered */
export function proxiedRequest(passing: Passing, clock: Clock, error: string | undefined) {
  const { client, isGone, method, outgoing, since, url, waitedMs } = passing;
  return {
    id: String(outgoing.getHeader(ID_HEADER)),
    at: clock.now(),
    method,
    target: url,
    // A request that did not arrive whole was refused with another status.
    status: isGone && (outgoing.headersSent || outgoing.statusCode === 200) ? CLIENT_GONE : outgoing.statusCode,
    /** From the request's head to the end of its answer, in ms. */
    ms: clock.monotonic() - since,
    /** How long of this passed before it was sent, in ms. */
    waitedMs: Math.round(waitedMs),
    client,
    ...(error !== undefined && { error }),
  };
}

/** Returns the last words of its line in the log. */
export function logWords({ waitedMs, client, error }: ProxiedRequest): (string | undefined)[] {
  return [waitedMs < 100 ? undefined : `waited ${(waitedMs / 1_000).toFixed(1)} s`, error, client];
}
