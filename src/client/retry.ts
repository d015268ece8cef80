/**
 * The loop around one request: send, judge the answer, wait, send again, at most ATTEMPTS times, or for the time of
 * --retry-for.
 * A 429 is not counted: the gate waits before the next request, or ends it.
 */
import { HttpFailure, type HttpFailureFacts, type HttpReply } from '../ports.ts';
import { isFailure } from '../errors.ts';
import { gatewayOf, readLimitHeaders } from '../rate-limit/headers.ts';
import { exchange } from './attempt.ts';
import { type Classified, judgeFailure, judgeStatus, type RequestInfo, requestInfo } from './classify.ts';
import { readServiceError } from './error-body.ts';
import type { Call, Service } from './service.ts';

/** One attempt and at most two more. */
const ATTEMPTS = 3;
/** The longest backoff, in ms. */
const LONGEST_MS = 60_000;
/** Shorter waits are not announced. */
const NOTICED_MS = 200;

export interface Operation<T> {
  readonly call: Call;
  readonly petId?: bigint;
  /** False: sent once, because it is not known whether it may run twice. */
  readonly repeats?: boolean;
  /** True for the statuses that are read; all others are failures. Default: 200. */
  readonly reads?: (status: number) => boolean;
  /** True: the body of a failure is needed as a whole, to be passed on. */
  readonly isRaw?: boolean;
  /** May throw HttpFailure, or a Failure. */
  read(reply: HttpReply): Promise<T>;
}

export interface Trouble extends Classified {
  /** The answer, where there was one. Its body is read already, unless the operation is raw. */
  readonly reply?: HttpReply;
  /** Why there was none. */
  readonly facts?: HttpFailureFacts;
}

export type Outcome<T> = { readonly value: T } | { readonly trouble: Trouble };

/**
 * Returns what was read, or the trouble of the last attempt.
 * @param spent attempts that the caller has already made
 * @throws {Failure} where the gate or a signal ends it, or a read finds a broken answer
 */
export async function perform<T>(service: Service, operation: Operation<T>, spent = 0): Promise<Outcome<T>> {
  const { call, petId, repeats = true } = operation;
  let period: RetryPeriod | undefined;
  for (let attempt = spent + 1; ;) {
    const outcome = await tryOnce(service, operation, requestInfo(service, call, attempt, petId));
    if ('value' in outcome) {
      period?.end(attempt);
      return outcome;
    }
    const { trouble } = outcome;
    if (trouble.repeat === 'rate') continue;
    period ??= retryPeriod(service);
    if (!repeats || !(await mayTryAgain(service, trouble, attempt, period))) return outcome;
    attempt++;
  }
}

async function tryOnce<T>(service: Service, operation: Operation<T>, asked: RequestInfo): Promise<Outcome<T>> {
  const { call, isRaw = false, read, reads = (status) => status === 200 } = operation;
  let reply: HttpReply | undefined;
  try {
    reply = await exchange(service, call);
    if (reads(reply.status)) return { value: await read(reply) };
    if (isRaw) reply = { ...reply, body: [Buffer.concat(await Array.fromAsync(reply.body))] };
    return { trouble: { ...(await judgeReply(service, asked, reply)), reply } };
  } catch (error) {
    if (error instanceof HttpFailure) return { trouble: judgeBroken(service, asked, error) };
    // An answer that cannot be accepted does not tell whether the write was applied.
    if (isFailure(error) && asked.isWrite && reply !== undefined)
      return { trouble: { repeat: 'look', failure: error } };
    throw error;
  }
}

/** Judges an exchange that broke. @throws what ends the program, where nothing can have been applied */
export function judgeBroken({ signal }: Service, asked: RequestInfo, { facts }: HttpFailure): Trouble {
  // A write that was cut short by the program's own end may have been applied: its caller must say so.
  if (facts.phase === 'aborted' && !(asked.isWrite && facts.mayHaveBeenSent)) throw signal.reason;
  return { ...judgeFailure(facts, asked), facts };
}

/** Judges a reply of any status but 200, by what its headers and its body say. */
export async function judgeReply({ clock, watch }: Service, asked: RequestInfo, reply: HttpReply): Promise<Classified> {
  const { bodyStatus = reply.status, ...serviceError } = await readServiceError(reply);
  const { status, raw } = serviceError;
  if (bodyStatus !== status)
    watch.debug(`The Error body says status ${bodyStatus}, the response ${status}: the response counts.`);
  if (raw !== undefined) watch.debug(`The body of the ${status} is not an Error body: ${raw}`);
  const now = clock.now();
  const { retryAfterMs } = readLimitHeaders(reply.headers, now);
  const { headers } = reply;
  const location = headers.get('location')?.[0];
  return judgeStatus(serviceError, asked, { location, retryAfterMs, now, gateway: gatewayOf(headers) });
}

/** How long the failures of one operation are met by another attempt. */
export interface RetryPeriod {
  /** In ms; 0 or less: it is over, or there is none. */
  left(): number;
  /** The service has answered. */
  end(attempts: number): void;
}

/** Starts the time of --retry-for. */
export function retryPeriod({ clock, retryForMs = 0, watch }: Service): RetryPeriod {
  const from = clock.monotonic();
  const left = (): number => from + retryForMs - clock.monotonic();
  return {
    left,
    end: (attempts) => {
      if (retryForMs > 0) watch.recovered({ attempts, ms: clock.monotonic() - from });
    },
  };
}

/** Waits before a further attempt; returns false where no other may follow. */
async function mayTryAgain(service: Service, trouble: Trouble, attempt: number, period: RetryPeriod): Promise<boolean> {
  if (trouble.repeat !== 'unsent' && trouble.repeat !== 'read') return false;
  if (period.left() > 0) return waitBefore(service, attempt, trouble, period);
  // The longest that the backoff may be, so that chance does not decide.
  if (attempt >= ATTEMPTS || longestBackoffMs(attempt) > service.maxWaitMs) return false;
  return waitBefore(service, attempt, trouble);
}

/**
 * Waits as long as the service asks, at least the backoff, at most to the end of the period; returns false where the
 * service asks for longer than allowed.
 */
export async function waitBefore(
  service: Service,
  attempt: number,
  { retryAfterMs: askedMs = 0, reply, facts }: Classified & Pick<Trouble, 'reply' | 'facts'>,
  period?: RetryPeriod,
): Promise<boolean> {
  const { clock, maxWaitMs, random, signal, watch } = service;
  const leftMs = Math.max(0, period?.left() ?? 0);
  if (askedMs > Math.max(maxWaitMs, leftMs)) return false;
  const backoffMs = Math.max(random() * longestBackoffMs(attempt), askedMs);
  const ms = leftMs > 0 ? Math.min(backoffMs, leftMs) : backoffMs;
  const end = clock.monotonic() + ms;
  const until = clock.now() + ms;
  const facing = {
    until,
    attempt: attempt + 1,
    ...(reply !== undefined && { status: reply.status }),
    ...(facts !== undefined && { failure: facts }),
    ...(leftMs > 0 ? { giveUpAt: clock.now() + leftMs } : { attempts: ATTEMPTS }),
  };
  try {
    for (let left = ms; left > 0; left = end - clock.monotonic()) {
      if (ms >= NOTICED_MS) watch.backoff({ ...facing, remainingMs: left });
      await clock.sleep(Math.min(left, 1_000), signal);
    }
  } finally {
    watch.backoff(undefined);
  }
  return true;
}

/**
 * Returns the longest wait after the given attempt (from 1), in ms: 0.5 s, 1 s, 2 s, to a minute. It is anything from 0
 * to that: full jitter, so that many clients do not return together.
 */
function longestBackoffMs(attempt: number): number {
  return Math.min(500 * 2 ** (attempt - 1), LONGEST_MS);
}
