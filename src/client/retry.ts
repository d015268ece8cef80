/**
 * The loop around one operation: try, judge, wait, try again, at most ATTEMPTS times.
 * A 429 is not counted here: the gate has its own say.
 */
import { HttpFailure, type HttpReply, type Random } from '../ports.ts';
import type { ServiceError } from '../errors.ts';
import { readLimitHeaders } from '../rate-limit/headers.ts';
import { exchange } from './attempt.ts';
import { type Classified, judgeFailure, judgeStatus, type RequestInfo, requestInfo } from './classify.ts';
import { readServiceError } from './error-body.ts';
import type { Call, Service } from './service.ts';

/** One attempt and at most two more. */
const ATTEMPTS = 3;
/** Shorter waits are not announced. */
const NOTICED_MS = 200;

/** Thrown when retries are exhausted, or when the caller must verify the outcome (`look`) before retrying. */
export class AttemptError extends Error {
  override name = 'Troubled';
  readonly trouble: Classified;
  constructor(trouble: Classified) {
    super(trouble.failure.message, { cause: trouble.failure });
    this.trouble = trouble;
  }
}

export interface Operation<T> {
  readonly call: Call;
  readonly petId?: bigint;
  /** Reads the body of a 200. May throw HttpFailure, or a Failure. */
  read(reply: HttpReply): Promise<T>;
}

/** @throws {AttemptError} after the last permitted attempt; @throws {Failure} where the gate or a signal ends it */
export async function perform<T>(service: Service, operation: Operation<T>, spent = 0): Promise<T> {
  for (let attempt = spent + 1; ;) {
    const asked = requestInfo(service, operation.call, attempt, operation.petId);
    const result = await tryOnce(service, operation, asked);
    if ('value' in result) return result.value;
    const { trouble } = result;
    if (trouble.repeat === 'rate') continue;
    if (!(await mayTryAgain(service, trouble, attempt))) throw new AttemptError(trouble);
    attempt++;
  }
}

async function tryOnce<T>(
  service: Service,
  operation: Operation<T>,
  asked: RequestInfo,
): Promise<{ value: T } | { trouble: Classified }> {
  try {
    const reply = await exchange(service, operation.call);
    if (reply.status === 200) return { value: await operation.read(reply) };
    const serviceError = await readServiceError(reply);
    debugError(service, serviceError);
    return { trouble: judgeReply(service, asked, reply, serviceError) };
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    // A write that was cut short by the program's own end may have been applied: its caller must say so.
    const { phase, mayHaveBeenSent } = error.facts;
    if (phase === 'aborted' && !(asked.isWrite && mayHaveBeenSent)) throw service.signal.reason;
    return { trouble: judgeFailure(error.facts, asked) };
  }
}

/** Judges a reply of any status but 200, by what its headers and its body say. */
export function judgeReply(
  { clock }: Service,
  asked: RequestInfo,
  { headers }: Pick<HttpReply, 'headers'>,
  serviceError: ServiceError,
): Classified {
  const now = clock.now();
  const { retryAfterMs } = readLimitHeaders(headers, now);
  return judgeStatus(serviceError, asked, { location: headers.get('location')?.[0], retryAfterMs, now });
}

function debugError({ watch }: Service, error: Awaited<ReturnType<typeof readServiceError>>): void {
  const { status, bodyStatus = status, raw } = error;
  if (bodyStatus !== status)
    watch.debug(`The Error body says status ${bodyStatus}, the response ${status}: the response counts.`);
  if (raw !== undefined) watch.debug(`The body of the ${status} is not an Error body: ${raw}`);
}

/** Waits before a further attempt; false where there is none. */
export async function mayTryAgain(service: Service, trouble: Classified, attempt: number): Promise<boolean> {
  if (trouble.repeat !== 'unsent' && trouble.repeat !== 'read') return false;
  // The longest that the backoff may be, so that chance does not decide.
  if (attempt >= ATTEMPTS || longestBackoffMs(attempt) > service.maxWaitMs) return false;
  return waitBefore(service, trouble, attempt);
}

/** Waits as long as the service asks, at least the backoff; false where the service asks for longer than allowed. */
export async function waitBefore(service: Service, trouble: Classified, attempt: number): Promise<boolean> {
  const { clock } = service;
  const askedMs = trouble.retryAfterMs ?? 0;
  if (askedMs > service.maxWaitMs) return false;
  const ms = Math.max(backoffMs(attempt, service.random), askedMs);
  const end = clock.monotonic() + ms;
  const until = clock.now() + ms;
  try {
    for (let left = ms; left > 0; left = end - clock.monotonic()) {
      if (ms >= NOTICED_MS)
        service.watch.backoff({ until, remainingMs: left, attempt: attempt + 1, attempts: ATTEMPTS });
      await clock.sleep(Math.min(left, 1_000), service.signal);
    }
  } finally {
    service.watch.backoff(undefined);
  }
  return true;
}

/** Of the waits after network failures and server errors. */
const BASE_MS = 500;
const CAP_MS = 20_000;

/**
 * Before the attempt that follows the given one (from 1), in ms: anything from 0 to 0.5 s, 1 s, 2 s, … 20 s. Full
 * jitter, so that many clients do not return together.
 */
export function backoffMs(attempt: number, random: Random): number {
  return random() * longestBackoffMs(attempt);
}

export function longestBackoffMs(attempt: number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
}
