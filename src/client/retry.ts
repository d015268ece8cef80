/**
 * The retry loop around one request: send, classify the answer, wait, send again, at most ATTEMPTS times or for the
 * time of --retry-for. A 429 does not count as an attempt: the gate waits before the next one, or gives up.
 */
import { HttpFailure, type HttpFailureFacts, type HttpReply, type Wait } from '../ports.ts';
import { type Failure, isFailure, type ServiceError } from '../errors.ts';
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import { shortened } from '../api/values.ts';
import { countDown } from '../stop.ts';
import { exchange, operationOf } from './attempt.ts';
import { type Asked, type Classified, isWrite, judgeFailure, judgeStatus } from './classify.ts';
import type { Call, ClientWatch, Service } from './service.ts';

/** Most attempts, the first included. */
const ATTEMPTS = 3;
/** Longest backoff, in ms. */
const LONGEST_MS = 60_000;
/** Shorter waits are not announced, in ms. */
const NOTICED_MS = 200;
const SHOWN_CHARACTERS = 200;

export interface Operation<T> {
  readonly call: Call;
  /** False for a request that is sent once, because it is unknown whether it may run twice. */
  readonly repeats?: boolean;
  /** False if a 429 is a failure like any other. */
  readonly waits?: boolean;
  /** True for statuses whose body is read; all others are failures. Default: 200. */
  readonly reads?: (status: number) => boolean;
  /** Reads the body. May throw an HttpFailure or a Failure. */
  read(reply: HttpReply): Promise<T>;
}

export interface Trouble extends Classified {
  /** The answer, if there was one. Its body is whole. */
  readonly reply?: HttpReply;
  /** Why there was no answer. */
  readonly facts?: HttpFailureFacts;
  readonly serviceError?: ServiceError;
}

export type Result<T> = { readonly value: T } | { readonly trouble: Trouble };

/**
 * Returns what was read, or the trouble of the last attempt.
 * @param tries how many the caller has made before; counts those of this operation, too, but not those answered with 429
 * @throws {Failure} if the gate or a signal ends it, or a read finds a broken answer
 */
export async function perform<T>(service: Service, operation: Operation<T>, tries = { made: 0 }): Promise<Result<T>> {
  const { call, repeats = true, waits = true } = operation;
  for (;;) {
    const outcome = await tryOnce(operation, { service, call, attempts: tries.made + 1 });
    if ('trouble' in outcome && outcome.trouble.repeat === 'rate' && waits) continue;
    tries.made++;
    if ('value' in outcome) endOutage(service, call, tries.made);
    else if (repeats && (await mayTryAgain(service, call, outcome.trouble, tries.made))) continue;
    return outcome;
  }
}

async function tryOnce<T>(operation: Operation<T>, asked: Asked): Promise<Result<T>> {
  const { read, reads = (status) => status === 200 } = operation;
  const { service, call } = asked;
  let reply: HttpReply | undefined;
  try {
    reply = await exchange(service, call);
    if (reads(reply.status)) return { value: await read(reply) };
    // Of a body that breaks off, the status tells enough.
    const body = await wholeBody(reply).catch(() => Buffer.of());
    reply = { ...reply, body: [body] };
    const serviceError = await readError(service.watch, reply, body);
    const judged = judgeStatus(serviceError, asked, reply.headers, service.clock.now());
    return { trouble: { ...judged, reply, serviceError } };
  } catch (error) {
    if (error instanceof HttpFailure) return { trouble: judgeBroken(asked, error) };
    // An invalid answer does not tell whether the write was applied.
    if (isFailure(error) && isWrite(call.method) && reply !== undefined)
      return { trouble: { repeat: 'look', failure: error } };
    throw error;
  }
}

/** Reads the body to its end. @throws {HttpFailure} */
export async function wholeBody({ body }: HttpReply): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(body));
}

/** Classifies an exchange that broke. @throws the reason of the stop signal, if nothing can have been applied */
export function judgeBroken(asked: Asked, { facts }: HttpFailure): Trouble {
  // A write that a stop signal cut short may have been applied: its caller must say so.
  if (facts.phase === 'aborted' && !(isWrite(asked.call.method) && facts.mayHaveBeenSent))
    throw asked.service.signal.reason;
  return { ...judgeFailure(facts, asked), facts };
}

/** Parses the body of an error from the service or a gateway, as far as possible. */
async function readError(watch: ClientWatch, { status, headers }: HttpReply, body: Buffer): Promise<ServiceError> {
  if (body.length === 0) return { status };
  const { readErrorBody } = await import('../api/schemas.ts');
  const text = new TextDecoder().decode(body);
  try {
    const value = parseJson(text);
    const error = readErrorBody(value);
    if (error !== undefined) {
      if (error.status !== status)
        watch.debug(`The Error body says status ${error.status}, the response ${status}: the response counts.`);
      return { ...error, status };
    }
    const isProblem = /^application\/problem\+json\b/i.test(headers.get('content-type')?.[0] ?? '');
    const message = isProblem ? problemMessage(value) : '';
    if (message !== '') return { status, message: shortened(message, SHOWN_CHARACTERS) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  watch.debug(`The body of the ${status} is not an Error body: ${shortened(text, SHOWN_CHARACTERS)}`);
  return { status };
}

/** Returns a problem's title and detail, once if they are equal (RFC 9457, 3.1: other types are ignored). */
function problemMessage(value: JsonValue): string {
  const members = value instanceof Map ? [value.get('title'), value.get('detail')] : [];
  const texts = members.map((each) => (typeof each === 'string' ? each.trim().replace(/\.$/, '') : ''));
  return [...new Set(texts.filter(Boolean))].join(': ');
}

/** Returns how long this failure may still be retried (--retry-for), in ms: 0 for an answer below 500. */
export function retryLeftMs({ clock, outages, retryForMs }: Service, call: Call, { facts, failure }: Trouble): number {
  if (retryForMs === 0 || (facts === undefined && !failure.is('service-failed') && !failure.is('paused'))) return 0;
  const operation = operationOf(call);
  const now = clock.monotonic();
  const end = outages.get(operation) ?? now + retryForMs;
  outages.set(operation, end);
  return Math.max(0, end - now);
}

function endOutage({ clock, outages, retryForMs, watch }: Service, call: Call, attempts: number): void {
  const operation = operationOf(call);
  const end = outages.get(operation);
  if (end !== undefined) watch.recovered({ attempts, ms: clock.monotonic() - (end - retryForMs) });
  outages.delete(operation);
}

/** Waits before the next attempt; returns false if there is none. */
async function mayTryAgain(service: Service, call: Call, trouble: Trouble, made: number): Promise<boolean> {
  if (trouble.repeat !== 'again') return false;
  // By the longest possible backoff, so that chance does not decide.
  const isLast = made >= ATTEMPTS || longestBackoffMs(made) > service.maxWaitMs;
  if (isLast && retryLeftMs(service, call, trouble) === 0) return false;
  return waitBefore(service, call, trouble, made);
}

/**
 * Waits as long as the service asks, at least the backoff, at most to the end of the period. Returns false if the
 * service asks for longer than allowed.
 */
export async function waitBefore(service: Service, call: Call, trouble: Trouble, made: number): Promise<boolean> {
  const { clock, maxWaitMs, random, watch } = service;
  const { facts, reply, retryAfterMs: askedMs = 0 } = trouble;
  const leftMs = retryLeftMs(service, call, trouble);
  if (askedMs > Math.max(maxWaitMs, leftMs)) return false;
  const backoffMs = Math.max(random() * longestBackoffMs(made), askedMs);
  const ms = leftMs > 0 ? Math.min(backoffMs, leftMs) : backoffMs;
  const wait: Wait = {
    why: trouble.repeat === 'again' ? 'backoff' : 'look',
    until: clock.now() + ms,
    attempt: made + 1,
    ...(reply !== undefined && { status: reply.status }),
    ...(facts !== undefined && { failure: facts }),
    ...(leftMs > 0 ? { giveUpAt: clock.now() + leftMs } : { attempts: Math.max(ATTEMPTS, made + 1) }),
  };
  try {
    await countDown(service, ms, () => {
      if (ms >= NOTICED_MS) watch.waiting(wait);
    });
  } finally {
    // The end of a wait that was not shown would be taken for that of another request.
    if (ms >= NOTICED_MS) watch.waiting(undefined);
  }
  return true;
}

/**
 * Returns the longest backoff after an attempt (from 1), in ms: 0.5 s, 1 s, 2 s, up to a minute. The backoff is
 * anything from 0 to that (full jitter), so that many clients do not return together.
 */
function longestBackoffMs(attempt: number): number {
  return Math.min(500 * 2 ** (attempt - 1), LONGEST_MS);
}

/** Returns why the command has to stop, if it has to: a signal, or its deadline. */
export function stopReason({ signal }: Service): Failure | undefined {
  return isFailure(signal.reason) ? signal.reason : undefined;
}
