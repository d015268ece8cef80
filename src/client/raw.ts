/** A call of any path below the base URL, its answer as it came: for `petstore api`. */
import { HttpFailure, type HttpReply } from '../ports.ts';
import { Failure } from '../errors.ts';
import { readLimitHeaders } from '../rate-limit/headers.ts';
import { exchange } from './attempt.ts';
import { type RequestInfo, judgeFailure, judgeStatus } from './classify.ts';
import { readSaid } from './error-body.ts';
import type { Call, Service } from './service.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: HttpReply['headers'];
  readonly body: Uint8Array;
  /** What the status means for whoever asked. */
  readonly failure?: Failure;
}

const HARMLESS: readonly Call['method'][] = ['GET', 'HEAD', 'OPTIONS'];

export function isWrite(method: Call['method']): boolean {
  return !HARMLESS.includes(method);
}

/**
 * Sends one request. A 429 is waited out as far as the gate allows; nothing else is retried, because it is unknown
 * whether an undocumented operation may run twice.
 * @throws {Failure} `network`, `outcome-unknown`, `contract`, `rate-limited`
 */
export async function callRaw(service: Service, call: Call): Promise<RawAnswer> {
  const asked: RequestInfo = {
    isWrite: isWrite(call.method),
    url: call.path,
    environment: service.environment,
    keySource: service.keySource,
    timeoutMs: service.timeoutMs,
    attempts: 1,
  };
  for (;;) {
    try {
      const reply = await exchange(service, call);
      const body = await collect(reply.body);
      if (reply.status === 429) continue;
      const failure =
        reply.status < 300 ? undefined : await meaning(service, call, asked, { ...reply, body: one(body) });
      return { status: reply.status, headers: reply.headers, body, ...(failure !== undefined && { failure }) };
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      const mayBeApplied = asked.isWrite && error.facts.mayHaveBeenSent;
      if (error.facts.phase === 'aborted' && !mayBeApplied) throw service.signal.reason;
      const { failure } = judgeFailure(error.facts, asked);
      throw mayBeApplied ? unknown(service, call, failure) : failure;
    }
  }
}

async function meaning(service: Service, call: Call, asked: RequestInfo, reply: HttpReply): Promise<Failure> {
  const serviceError = await readSaid(reply);
  if (reply.status === 404) return new Failure('not-found', { path: call.path, serviceError });
  const { retryAfterMs } = readLimitHeaders(reply.headers, service.clock.now());
  const location = reply.headers.get('location')?.[0];
  const { failure } = judgeStatus(serviceError, asked, { location, retryAfterMs, now: service.clock.now() });
  return asked.isWrite && reply.status >= 500 ? unknown(service, call, failure) : failure;
}

function unknown({ environment }: Service, { method, path }: Call, because: Failure): Failure {
  return new Failure('outcome-unknown', { call: `${method} ${path}`, environment, because });
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

// eslint-disable-next-line @typescript-eslint/require-await -- a body is a stream
async function* one(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
