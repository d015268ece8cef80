/** Calls any path below the base URL and returns the answer unchanged: for `petstore api` and the clients of the proxy. */
import type { HttpReply } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isHeld, markRefused } from '../rate-limit/gate.ts';
import { isUncertain, isWrite } from './classify.ts';
import { perform, stopReason, type Trouble, wholeBody } from './retry.ts';
import type { Call, Service } from './service.ts';

export interface RawAnswer extends HttpReply {
  /** The failure that the status means, if any. */
  readonly failure?: Failure;
}

/** Sends a request once, or a read for the time of --retry-for. Returns the answer and its failure, or why none came. */
export async function sendRaw(service: Service, call: Call, waits: boolean): Promise<Partial<Trouble>> {
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
 * Sends one request and returns its whole answer. After a 429 it waits as long as the gate allows. Nothing else is
 * retried (except reads with --retry-for): running an undocumented operation twice may do harm.
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
