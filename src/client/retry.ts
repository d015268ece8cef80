/**
 * The retry loop around one request: send, classify the answer, wait, send again, at most ATTEMPTS times or for the
 * time of --retry-for. A 429 does not count as an attempt: the gate waits before the next one, or gives up.
 */
import { HttpFailure, type HttpFailureFacts, type HttpReply, type Wait } from '../ports.ts';
import { type Failure, isFailure, type ServiceError } from '../errors.ts';
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import { countDown } from '../stop.ts';
import { exchange, operationOf } from './attempt.ts';
import { type Asked, type Classified, isWrite, judgeFailure, judgeStatus, webPageFailure } from './classify.ts';
import type { Call, Service } from './service.ts';

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
  /** True if the answer is passed on, with the whole body of a failure. Otherwise a web page is a failure. */
  readonly isRaw?: boolean;
  /** Reads the body. May throw an HttpFailure or a Failure. */
  read(reply: HttpReply): Promise<T>;
}

export interface Trouble extends Classified {
  /** The answer, if there was one. Its body is already read, unless the operation is raw. */
  readonly reply?: HttpReply;
  /** Why there was no answer. */
  readonly facts?: HttpFailureFacts;
  readonly serviceError?: ServiceError;
}

export type Result<T> = { readonly value: T } | { readonly trouble: Trouble };

/**
 * Returns what was read, or the trouble of the last attempt.
 * @param tries those that the caller has made before, and the time allowed for all of them
 * @throws {Failure} if the gate or a signal ends it, or a read finds a broken answer
 */
export async function perform<T>(
  service: Service,
  operation: Operation<T>,
  tries = new Tries(service, operation.call),
): Promise<Result<T>> {
  const { repeats = true, waits = true } = operation;
  for (;;) {
    const outcome = await tryOnce(service, operation, tries.made + 1);
    if ('trouble' in outcome && outcome.trouble.repeat === 'rate' && waits) continue;
    tries.made++;
    if ('value' in outcome) tries.end();
    else if (repeats && (await mayTryAgain(outcome.trouble, tries))) continue;
    return outcome;
  }
}

async function tryOnce<T>(service: Service, operation: Operation<T>, attempts: number): Promise<Result<T>> {
  const { call, isRaw = false, read, reads = (status) => status === 200 } = operation;
  const asked = { service, call, attempts };
  let reply: HttpReply | undefined;
  try {
    reply = await exchange(service, call);
    if (reads(reply.status)) {
      const page = isRaw ? undefined : webPageFailure(reply);
      if (page !== undefined) throw page;
      return { value: await read(reply) };
    }
    if (isRaw) {
      const body = wholeBody(reply);
      // A refusal is known by its status, even if its body breaks off.
      reply = { ...reply, body: [await (reply.status < 500 ? body.catch(() => Buffer.of()) : body)] };
    }
    return { trouble: await judgeReply(service, asked, reply) };
  } catch (error) {
    if (error instanceof HttpFailure) return { trouble: judgeBroken(service, call, attempts, error) };
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
export function judgeBroken(service: Service, call: Call, attempts: number, { facts }: HttpFailure): Trouble {
  // A write that a stop signal cut short may have been applied: its caller must say so.
  if (facts.phase === 'aborted' && !(isWrite(call.method) && facts.mayHaveBeenSent)) throw service.signal.reason;
  return { ...judgeFailure(facts, { service, call, attempts }), facts };
}

async function judgeReply({ clock, watch }: Service, asked: Asked, reply: HttpReply): Promise<Trouble> {
  const { bodyStatus = reply.status, ...serviceError } = await readServiceError(reply);
  const { status, raw } = serviceError;
  if (bodyStatus !== status)
    watch.debug(`The Error body says status ${bodyStatus}, the response ${status}: the response counts.`);
  if (raw !== undefined) watch.debug(`The body of the ${status} is not an Error body: ${raw}`);
  return { ...judgeStatus(serviceError, asked, reply.headers, clock.now()), reply, serviceError };
}

/** Parses the body of an error from the service or a gateway, as far as possible. */
async function readServiceError(reply: HttpReply): Promise<ServiceError & { bodyStatus?: number }> {
  const { status, headers } = reply;
  // Of a body that breaks off, the status tells enough.
  const text = new TextDecoder().decode(await wholeBody(reply).catch(() => Buffer.of()));
  if (text === '') return { status };
  const { readErrorBody } = await import('../api/schemas.ts');
  try {
    const value = parseJson(text);
    const error = readErrorBody(value);
    // The HTTP status counts; the body's status is only kept for comparison.
    if (error !== undefined) return { ...error, status, bodyStatus: error.status };
    const isProblem = /^application\/problem\+json\b/i.test(headers.get('content-type')?.[0] ?? '');
    const message = isProblem ? problemMessage(value) : '';
    if (message !== '') return { status, message: message.slice(0, SHOWN_CHARACTERS) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
  }
  return { status, raw: text.slice(0, SHOWN_CHARACTERS) };
}

/** Returns a problem's title and detail, once if they are equal (RFC 9457, 3.1: other types are ignored). */
function problemMessage(value: JsonValue): string {
  const members = value instanceof Map ? [value.get('title'), value.get('detail')] : [];
  const texts = members.map((each) => (typeof each === 'string' ? each.trim().replace(/\.$/, '') : ''));
  return [...new Set(texts.filter(Boolean))].join(': ');
}

/** Operations that failed for all of --retry-for and have not been answered since, by service. */
const lost = new WeakMap<Service['http'], Set<string>>();

/**
 * The attempts of an operation, and the time of --retry-for since the first failure. An operation that has used it up
 * gets no more until it is answered.
 */
export class Tries {
  readonly service: Service;
  /** How many attempts were made. Those that were answered with 429 do not count. */
  made = 0;
  private readonly operation: string;
  private readonly down: Set<string>;
  private readonly ms: number;
  private from: number | undefined;

  constructor(service: Service, call: Call) {
    const { http, retryForMs } = service;
    this.service = service;
    this.operation = operationOf(call);
    this.down = lost.get(http) ?? new Set();
    lost.set(http, this.down);
    this.ms = this.down.has(this.operation) ? 0 : retryForMs;
  }

  /** Returns how long this failure may still be retried, in ms: 0 for an answer below 500. */
  left({ facts, failure }: Trouble): number {
    if (this.ms === 0 || (facts === undefined && !failure.is('service-failed') && !failure.is('paused'))) return 0;
    const now = this.service.clock.monotonic();
    this.from ??= now;
    const left = Math.max(0, this.from + this.ms - now);
    if (left === 0) this.down.add(this.operation);
    return left;
  }

  /** Notes that the service has answered. */
  end(): void {
    const { clock, watch } = this.service;
    this.down.delete(this.operation);
    if (this.from !== undefined) watch.recovered({ attempts: this.made, ms: clock.monotonic() - this.from });
  }
}

/** Waits before the next attempt; returns false if there is none. */
async function mayTryAgain(trouble: Trouble, tries: Tries): Promise<boolean> {
  if (trouble.repeat !== 'unsent' && trouble.repeat !== 'read') return false;
  // By the longest possible backoff, so that chance does not decide.
  const isLast = tries.made >= ATTEMPTS || longestBackoffMs(tries.made) > tries.service.maxWaitMs;
  if (isLast && tries.left(trouble) === 0) return false;
  return waitBefore(trouble, tries);
}

/**
 * Waits as long as the service asks, at least the backoff, at most to the end of the period. Returns false if the
 * service asks for longer than allowed.
 */
export async function waitBefore(trouble: Trouble, tries: Tries): Promise<boolean> {
  const { made, service } = tries;
  const { clock, maxWaitMs, random, watch } = service;
  const { facts, reply, retryAfterMs: askedMs = 0 } = trouble;
  const leftMs = tries.left(trouble);
  if (askedMs > Math.max(maxWaitMs, leftMs)) return false;
  const backoffMs = Math.max(random() * longestBackoffMs(made), askedMs);
  const ms = leftMs > 0 ? Math.min(backoffMs, leftMs) : backoffMs;
  const wait: Wait = {
    why: 'backoff',
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
  const reason: unknown = signal.reason;
  return signal.aborted && isFailure(reason) ? reason : undefined;
}
