/** A call of any path below the base URL, its answer as it came: for `petstore api`. */
import { HttpFailure, type HttpReply } from '../ports.ts';
import { Failure } from '../errors.ts';
import { exchange } from './attempt.ts';
import { judgeFailure, type RequestInfo, requestInfo } from './classify.ts';
import { readServiceError } from './error-body.ts';
import { judgeReply } from './retry.ts';
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
  const { failure } = judgeReply(service, asked, reply, serviceError);
  return asked.isWrite && reply.status >= 500 ? unknown(service, call, failure) : failure;
}

function unknown({ environment }: Service, { method, path }: Call, because: Failure): Failure {
  return new Failure('outcome-unknown', { call: `${method} ${path}`, environment, because });
}
