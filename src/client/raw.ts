/** Sends single requests, and returns the answers as they are: for checks, `petstore api`, and the clients of the proxy. */
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import { Failure } from '../errors.ts';
import { parseHttpDate } from '../http/http-date.ts';
import type { HttpFailureFacts, HttpReply } from '../ports.ts';
import { isHeld, markRefused } from '../rate-limit/gate.ts';
import { isUncertain, isWrite } from './classify.ts';
import { perform, stopReason, type Trouble, wholeBody } from './retry.ts';
import type { Call, Service } from './service.ts';

export interface RawAnswer extends HttpReply {
  /** The failure that the status means, if any. */
  readonly failure?: Failure;
}

/** Sends a request once, or a read for the time of --retry-for. Returns the answer and its failure, or why none came. */
async function sendRaw(service: Service, call: Call, waits: boolean): Promise<Partial<Trouble>> {
  const outcome = await perform(service, {
    call,
    repeats: !isWrite(call.method) && service.retryForMs > 0,
    waits,
    reads: (status) => status < 300,
    read: async (reply) => ({ ...reply, body: [await wholeBody(reply)] }),
  });
  return 'value' in outcome ? { reply: outcome.value } : outcome.trouble;
}

/**
 * Sends one request and returns its whole answer. After a 429 it waits as long as the gate allows. Nothing else that
 * may have been sent is retried (except reads with --retry-for): running an undocumented operation twice may do harm.
 * @throws {Failure} `network`, `outcome-unknown`, `contract`, `rate-limited`, `banned`, `paused`
 */
export async function callRaw(service: Service, call: Call): Promise<RawAnswer> {
  const isUpdate = isWrite(call.method);
  const trouble = await sendRaw(service, call, true).catch((error: unknown) => {
    throw isUpdate && isHeld(error) ? markRefused(error) : error;
  });
  const { failure: because, reply, serviceError } = trouble;
  let failure = because;
  if (because !== undefined && isUncertain(trouble)) {
    const { environment } = service;
    const stop = stopReason(service);
    const unknown = { call: `${call.method} ${call.path}`, environment, because: stop ?? because };
    failure =
      stop?.is('interrupted') === true
        ? new Failure('interrupted', { ...stop.details, outcome: 'unknown' })
        : new Failure('outcome-unknown', unknown);
  } else if (reply?.status === 404 && serviceError !== undefined) {
    failure = new Failure('not-found', { path: call.path, serviceError });
  } else if (because?.is('unexpected-status') === true) {
    const fix = 'Check the method, the path and the body: petstore api --help';
    failure = new Failure(reply?.status === 400 ? 'rejected' : 'unexpected-status', { ...because.details, fix });
  }
  if (isUpdate && failure !== undefined && !isUncertain(trouble)) markRefused(failure);
  if (reply === undefined) throw failure;
  return { ...reply, ...(failure !== undefined && { failure }) };
}

/**
 * Sends a write as callRaw does. Retries a read as every command does, and streams its answer.
 * @throws {Failure} see callRaw
 */
export async function forward(service: Service, call: Call): Promise<RawAnswer> {
  if (isWrite(call.method)) return callRaw(service, call);
  const outcome = await perform(service, {
    call,
    reads: (status) => status < 500 && status !== 408 && status !== 429,
    read: (reply) => Promise.resolve(reply),
  });
  if ('value' in outcome) return outcome.value;
  const { failure, reply } = outcome.trouble;
  if (reply === undefined) throw failure;
  return reply;
}

/** What a request was answered; without a status, why it was not. */
export interface Reply {
  /** `GET /inventory`. */
  readonly request: string;
  readonly status: number | undefined;
  readonly headers: HttpReply['headers'];
  /** Undefined if the body is not JSON; `problem` then has the reason. */
  readonly json?: JsonValue;
  readonly problem?: string;
  readonly unreachable: HttpFailureFacts | undefined;
  /** The failure that any command would report; undefined if nothing is wrong. */
  readonly failure: Failure | undefined;
  readonly ms: number;
  readonly receivedAt: number;
}

/**
 * Sends one request. `waits`: sends it again after a 429, when the gate allows it.
 * @throws {Failure} `rate-limited` and what else the gate or a signal ends it with
 */
export async function probe(service: Service, call: Call, { waits = false } = {}): Promise<Reply> {
  const { clock } = service;
  const started = clock.monotonic();
  const { facts: unreachable, failure, reply } = await sendRaw(service, call, waits);
  if (reply === undefined && unreachable === undefined) throw failure;
  return {
    request: `${call.method} ${call.path}`,
    status: reply?.status,
    headers: reply?.headers ?? new Map<string, string[]>(),
    ...(reply && read(await wholeBody(reply))),
    unreachable,
    failure,
    ms: clock.monotonic() - started,
    receivedAt: clock.now(),
  };
}

function read(body: Uint8Array): { json: JsonValue } | { problem: string } {
  try {
    return { json: parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)) };
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message };
    if (error instanceof TypeError) return { problem: 'it is not valid UTF-8' };
    throw error;
  }
}

/** Returns the time on the service's clock, epoch ms; undefined without a Date header. */
export function dateOf({ headers, receivedAt }: Pick<Reply, 'headers' | 'receivedAt'>): number | undefined {
  const text = headers.get('date')?.[0];
  return text === undefined ? undefined : parseHttpDate(text, receivedAt);
}
