/** Passes on a request of another client, for `petstore proxy`. */
import { HttpFailure, type HttpReply } from '../ports.ts';
import type { Failure } from '../errors.ts';
import { exchange } from './attempt.ts';
import { type Classified, isWrite, judgeFailure, requestInfo } from './classify.ts';
import { readServiceError } from './error-body.ts';
import { callRaw } from './raw.ts';
import { judgeReply, mayTryAgain } from './retry.ts';
import type { Call, Service } from './service.ts';

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
