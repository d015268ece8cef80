/**
 * One attempt: the gate's leave, one request, the response's headers back to the gate.
 * No retry, no judgement.
 */
import { Failure } from '../errors.ts';
import { HttpFailure, type HttpReply } from '../context.ts';
import type { Ticket } from '../limits/gate.ts';
import { warnOfSunset } from './sunset.ts';
import type { Call, Service } from './service.ts';

/** How long a write in flight may still be waited for once the program has been told to stop, in ms. */
const GRACE_MS = 2_000;

/**
 * @throws {Failure} `rate-limited`: the gate does not let the request through in time; nothing was sent
 * @throws {HttpFailure} no response, or (from `body`) a broken one
 */
export async function exchange(service: Service, call: Call): Promise<HttpReply> {
  const ticket = await service.gate.enter();
  const url = new URL(`${service.baseUrl.href.replace(/\/$/, '')}${call.path}`);
  const stop = stopper(service, call.method !== 'GET');
  const started = service.clock.monotonic();
  const tell = (facts: { status: number } | { failure: HttpFailure['facts'] }): void => {
    service.watch.attempt({ method: call.method, url: url.href, ms: service.clock.monotonic() - started, ...facts });
  };
  try {
    const reply = await send(service, call, url, stop.signal);
    await ticket.answered(reply.status, reply.headers, service.clock.now());
    tell({ status: reply.status });
    warnOfSunset(reply.headers, service, call);
    return { ...reply, body: stop.during(withinBudget(withinSize(reply.body, service), service, url, stop.abort)) };
  } catch (error) {
    stop.over();
    if (error instanceof HttpFailure) {
      tell({ failure: error.facts });
      await settleLost(ticket, error);
    }
    throw error;
  }
}

async function settleLost(ticket: Ticket, error: HttpFailure): Promise<void> {
  await ticket.lost(error.facts.mayHaveBeenSent);
}

async function send(service: Service, call: Call, url: URL, signal: AbortSignal): Promise<HttpReply> {
  const { apiKey, http, timeoutMs } = service;
  // While connecting, nothing is in flight that would need a grace period.
  const connection = await http.connect({ url, timeoutMs, signal: service.signal });
  const request = {
    method: call.method,
    url,
    headers: {
      accept: 'application/json',
      'accept-encoding': 'gzip, br',
      // Empty for who asks without one.
      ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }),
      'user-agent': service.userAgent,
      ...(call.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(call.body !== undefined && { body: call.body }),
    timeoutMs,
    signal,
  };
  return connection.send(request, () => true);
}

interface Stopper {
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  over(): void;
  during<T>(body: AsyncIterable<T>): AsyncIterable<T>;
}

/** The attempt's own signal: a read ends with the program's signal, a write has a grace period to be answered. */
function stopper(service: Service, isWrite: boolean): Stopper {
  const controller = new AbortController();
  const { signal } = service;
  let silence: () => void = () => undefined;
  const onStop = (): void => {
    const end = (): void => {
      controller.abort(signal.reason);
    };
    if (isWrite) silence = service.clock.alarm(GRACE_MS, end);
    else end();
  };
  if (signal.aborted) onStop();
  signal.addEventListener('abort', onStop, { once: true });
  const over = (): void => {
    signal.removeEventListener('abort', onStop);
    silence();
  };
  return {
    signal: controller.signal,
    abort: (reason) => {
      controller.abort(reason);
    },
    over,
    async *during(body) {
      try {
        yield* body;
      } finally {
        over();
      }
    },
  };
}

/**
 * Fails once the service has been waited for longer than the attempt's timeout in all, however it drips.
 * The time that the reader of the rows takes does not count: a pager may stand still for an hour.
 */
async function* withinBudget(
  body: AsyncIterable<Uint8Array>,
  service: Service,
  url: URL,
  abort: (reason: Error) => void,
): AsyncGenerator<Uint8Array> {
  const { clock, timeoutMs } = service;
  const chunks = body[Symbol.asyncIterator]();
  let left = timeoutMs;
  let ended = false;
  try {
    for (;;) {
      const started = clock.monotonic();
      const next = await withAlarm(service, left, url, abort, chunks.next());
      if (next.done === true) {
        ended = true;
        return;
      }
      left -= clock.monotonic() - started;
      yield next.value;
    }
  } finally {
    // Not awaited: a body that hangs answers its return() only once the attempt has been aborted.
    if (!ended) void Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}

async function withAlarm<T>(
  service: Service,
  ms: number,
  url: URL,
  abort: (reason: Error) => void,
  work: Promise<T>,
): Promise<T> {
  let cancel: () => void = () => undefined;
  const late = new Promise<never>((_resolve, reject) => {
    cancel = service.clock.alarm(ms, () => {
      const failure = new HttpFailure({
        phase: 'body-timeout',
        mayHaveBeenSent: true,
        peer: url.host,
        code: 'TIMEOUT',
        detail: 'the body did not end in time',
      });
      reject(failure);
      abort(failure);
    });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
    work.catch(() => undefined);
  }
}

async function* withinSize(body: AsyncIterable<Uint8Array>, service: Service): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > service.maxBodyBytes) {
      const problem = `is larger than the ${service.maxBodyBytes} bytes that --max-body allows`;
      throw new Failure('contract', { what: 'The response', problem });
    }
    yield chunk;
  }
}
