/** A call of any path below the base URL, its answer as it came: for `petstore api` and the clients of `petstore proxy`. */
import { HttpFailure, type HttpReply } from '../ports.ts';
import { Failure, isFailure } from '../errors.ts';
import { exchange } from './attempt.ts';
import { judgeFailure, type RequestInfo, requestInfo, type Classified, isWrite } from './classify.ts';
import { readServiceError } from './error-body.ts';
import { judgeReply, mayTryAgain } from './retry.ts';
import type { Call, Service } from './service.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: HttpReply['headers'];
  readonly body: Uint8Array;
  /** What the status means for the caller. */
  readonly failure?: Failure;
}

/**
 * Sends one request. A 429 is waited out as far as the gate allows; nothing else is retried, because it is unknown
 * whether an undocumented operation may run twice.
 * @throws {Failure} `network`, `outcome-unknown`, `contract`, `rate-limited`
 */
export async function callRaw(service: Service, call: Call): Promise<RawAnswer> {
  const asked = requestInfo(service, call);
  for (;;) {
    try {
      const reply = await exchange(service, call);
      const { status, headers } = reply;
      const body = Buffer.concat(await Array.fromAsync(reply.body));
      if (status === 429) continue;
      const failure = status < 300 ? undefined : await meaning(service, call, asked, { status, headers, body: [body] });
      return { status, headers, body, ...(failure !== undefined && { failure }) };
    } catch (error) {
      // A body that is too large: the service has answered.
      if (isFailure(error) && error.is('contract') && asked.isWrite) throw unknown(service, call, error);
      if (!(error instanceof HttpFailure)) throw error;
      const mayBeApplied = asked.isWrite && error.facts.mayHaveBeenSent;
      if (error.facts.phase === 'aborted' && !mayBeApplied) throw service.signal.reason;
      const { failure } = judgeFailure(error.facts, asked);
      throw mayBeApplied ? unknown(service, call, failure) : failure;
    }
  }
}

async function meaning(
  service: Service,
  call: Call,
  asked: RequestInfo,
  reply: Pick<HttpReply, 'status' | 'headers'> & { readonly body: readonly Uint8Array[] },
): Promise<Failure> {
  const serviceError = await readServiceError(reply);
  if (reply.status === 404) return new Failure('not-found', { path: call.path, serviceError });
  const { failure, repeat } = judgeReply(service, asked, reply, serviceError);
  return repeat === 'look' || repeat === 'look-only' ? unknown(service, call, failure) : failure;
}

function unknown({ environment }: Service, { method, path }: Call, because: Failure): Failure {
  return new Failure('outcome-unknown', { call: `${method} ${path}`, environment, because });
}

export interface Forwarded extends HttpReply {
  /** What became of a write that was not carried out for certain. */
  readonly failure?: Failure;
}

/**
 * Sends a write once, apart from 429s, and returns its whole answer; a read is repeated as every command does, and its
 * answer is streamed.
 * @throws {Failure} `rate-limited`, `banned`, `paused`, `network`, `contract`, `outcome-unknown`
 */
export async function forward(service: Service, call: Call): Promise<Forwarded> {
  if (!isWrite(call.method)) return forwardRead(service, call);
  const { body, ...answer } = await callRaw(service, call);
  return { ...answer, body: [body] };
}

async function forwardRead(service: Service, call: Call): Promise<Forwarded> {
  for (let attempt = 1; ;) {
    const asked = requestInfo(service, call, attempt);
    let reply: Forwarded | undefined;
    let trouble: Classified;
    try {
      reply = await exchange(service, call);
      if (reply.status < 500 && reply.status !== 408 && reply.status !== 429) return reply;
      reply = { ...reply, body: [Buffer.concat(await Array.fromAsync(reply.body))] };
      trouble = judgeReply(service, asked, reply, await readServiceError(reply));
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      if (error.facts.phase === 'aborted') throw service.signal.reason;
      trouble = judgeFailure(error.facts, asked);
    }
    if (trouble.repeat === 'rate') continue;
    if (await mayTryAgain(service, trouble, attempt)) attempt++;
    else if (reply !== undefined) return reply;
    else throw trouble.failure;
  }
}
