/**
 * One attempt: connects, asks the gate for permission, sends the request, and reports the response's headers to the
 * gate. Repeats only what was not sent, and does not classify.
 */
import { type Connection, type HttpBody, HttpFailure, type HttpReply, type HttpRequest, isWhole } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isRefusal } from '../rate-limit/ledger.ts';
import { isWrite } from './classify.ts';
import { type AttemptFacts, type Call, type ClientWatch, MAX_WAIT_HEADER, type Service } from './service.ts';
import { gatewayOf } from '../rate-limit/headers.ts';
import { parseHttpDate } from '../http/http-date.ts';
import { afterStop, untilStop } from '../stop.ts';

/** Grace period for an in-flight write after a stop signal, in ms. */
const GRACE_MS = 2_000;
/** How long the ledger may take to record an answer after a stop signal, in ms. */
const NOTED_MS = 500;
/** How long the body of a 429 may take, in ms: the wait is in its headers. */
const REFUSAL_MS = 1_000;
/** After how long a slow request is announced, and how often after that, in ms. */
const LONG_MS = 2_000;
const TICK_MS = 1_000;

/**
 * Sends one request and returns the response. Asks for permission again if it expired before the first byte, and once
 * if the connection was closed before it: a service may close one at any time (RFC 9112, 9.3).
 * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait would be longer than allowed; nothing was sent
 * @throws {HttpFailure} no connection, no response, or (from `body`) a broken one
 */
export async function exchange(service: Service, call: Call, isRepeat = false): Promise<HttpReply> {
  const { clock, gate, http, maxBodyBytes, signal, timeoutMs, watch } = service;
  const url = new URL(`${service.baseUrl.href}${call.path}`);
  let started = 0;
  const tell = (result: Pick<AttemptFacts, 'status' | 'failure'>): void => {
    watch.attempt({ method: call.method, url: url.href, ms: clock.monotonic() - started, ...result });
  };
  const connect = async (): Promise<Connection> => {
    started = clock.monotonic();
    return announced(service, call, http.connect({ url, timeoutMs, signal })).catch((error: unknown) => {
      if (error instanceof HttpFailure) tell({ failure: error.facts });
      throw error;
    });
  };
  // Before the permission, which does not last, and again if that took long.
  await call.confirm?.();
  const { ticket, connection } = await gate.enter(operationOf(call), connect);
  await call.confirm?.();
  // A stop signal ends a read at once; a write gets a grace period for its answer.
  const cut = new AbortController();
  const answered = afterStop(service, isWrite(call.method) ? GRACE_MS : 0, () => {
    cut.abort(signal.reason);
  });
  started = clock.monotonic();
  try {
    const mayLeave = (): boolean => !signal.aborted && ticket.isFresh() && call.isCurrent?.() !== false;
    const request = requestOf(service, call, url, cut.signal);
    const reply = await announced(service, call, connection.send(request, mayLeave));
    const noted = isFromService(reply) ? ticket.answered(reply.status, reply.headers, clock.now()) : ticket.lost(false);
    // Once the program has to stop, this must not keep a write's answer from it. A refusal, which must be recorded, may
    // take longer.
    await untilStop(service, isRefusal(reply) ? GRACE_MS : NOTED_MS, noted).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    tell({ status: reply.status });
    // One that does not know the token would refuse it its catalog, too.
    if (gatewayOf(reply.headers) !== undefined && reply.status !== 401) gateways.add(service.http);
    warnOfSunset(reply.headers, service, call);
    const { body } = reply;
    if (!isWhole(body) || body.reduce((size, { length }) => size + length, 0) > maxBodyBytes) {
      const bodyMs = reply.status === 429 ? Math.min(timeoutMs, REFUSAL_MS) : timeoutMs;
      return { ...reply, body: limited(body, { ...service, timeoutMs: bodyMs }, cut, answered) };
    }
    answered();
    return reply;
  } catch (error) {
    answered();
    if (!(error instanceof HttpFailure)) throw error;
    const { mayHaveBeenSent, phase } = error.facts;
    await ticket.lost(mayHaveBeenSent);
    const isClosed = phase === 'reset' && !mayHaveBeenSent && !isRepeat;
    if (isClosed || (phase === 'withdrawn' && call.isCurrent?.() !== false))
      return exchange(service, call, isClosed || isRepeat);
    tell({ failure: error.facts });
    throw error;
  }
}

/** False if a gateway has refused the request for a reason of its own, without a time: no block follows. */
function isFromService({ headers, status }: HttpReply): boolean {
  return gatewayOf(headers) !== 'refused' || status === 429 || (isRefusal({ status }) && headers.has('retry-after'));
}

/** Announces a request that takes long on a live line, unless it is forwarded for another client. */
async function announced<T>(service: Service, { headers }: Call, work: Promise<T>): Promise<T> {
  const { baseUrl, clock, timeoutMs, watch } = service;
  if (headers !== undefined || !watch.isLive) return work;
  const until = clock.now() + timeoutMs;
  const show = (): void => {
    watch.waiting({ why: 'answer', until, attempt: 1, holder: baseUrl.host });
    const cancel = clock.alarm(TICK_MS, show);
    end = () => {
      cancel();
      watch.waiting(undefined);
    };
  };
  let end = clock.alarm(LONG_MS, show);
  return work.finally(() => {
    end();
  });
}

/** HTTP clients whose answers have shown that the base URL is that of a `petstore proxy`. */
export const gateways = new WeakSet<Service['http']>();

/**
 * Returns the name of a call's operation, which a service may limit separately: `PATCH /inventory/{id}`. Numbers are
 * ids, and longer segments with a digit, such as UUIDs.
 */
export function operationOf({ method, path }: Pick<Call, 'method' | 'path'>): string {
  const [plain = ''] = path.split(/[?#]/);
  return `${method} ${plain.replace(/\/(?:-?[0-9]+|(?=[^/]*[0-9])[^/]{8,})(?=\/|$)/g, '/{id}')}`;
}

function requestOf(service: Service, call: Call, url: URL, signal: AbortSignal): HttpRequest {
  const { body, ifMatch, method, path } = call;
  const own = {
    accept: 'application/json',
    // A cached stock could make petstore overwrite someone else's change.
    'cache-control': 'no-cache',
    'user-agent': service.userAgent,
    [MAX_WAIT_HEADER]: `${Math.floor(service.maxWaitMs / 1_000)}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
  };
  return {
    method,
    url,
    target: `${service.baseUrl.pathname}${path}`,
    headers: {
      ...(call.headers ?? own),
      'accept-encoding': 'gzip, br',
      // Empty for unauthenticated requests (smoke checks).
      ...(service.apiKey !== '' && { authorization: `Bearer ${service.apiKey}` }),
    },
    ...(body !== undefined && { body }),
    timeoutMs: service.timeoutMs,
    signal,
  };
}

/**
 * Streams the body. Fails if it is larger than allowed, or if the waits for its chunks exceed the attempt's timeout in
 * total. Time spent by the consumer does not count: a pager may block for an hour.
 */
async function* limited(
  body: HttpBody,
  { baseUrl, clock, maxBodyBytes, timeoutMs }: Service,
  cut: AbortController,
  ended: () => void,
): AsyncGenerator<Uint8Array> {
  let left = timeoutMs;
  let size = 0;
  let late: HttpFailure | undefined;
  const end = (): void => {
    const facts = { peer: baseUrl.host, code: 'TIMEOUT', detail: 'the body did not end in time' };
    late = new HttpFailure({ phase: 'body-timeout', mayHaveBeenSent: true, ...facts });
    cut.abort(late);
  };
  let from = clock.monotonic();
  let cancel = clock.alarm(left, end);
  try {
    for await (const chunk of body) {
      cancel();
      left -= clock.monotonic() - from;
      size += chunk.length;
      if (size > maxBodyBytes) {
        const problem = `is larger than the ${maxBodyBytes} bytes that --max-body allows`;
        const fix = 'If the list is really this long, allow more with --max-body.';
        throw new Failure('contract', { what: 'The response', problem, fix });
      }
      yield chunk;
      from = clock.monotonic();
      cancel = clock.alarm(left, end);
    }
  } catch (error) {
    throw late ?? error;
  } finally {
    cancel();
    ended();
  }
}

const warned = new WeakMap<ClientWatch, Set<string>>();

/** Warns once per command and operation. Ignores a header that cannot be read. */
function warnOfSunset(headers: HttpReply['headers'], { clock, watch }: Service, call: Call): void {
  const day = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);
  const deprecated = /^@(\d{1,12})$/.exec(headers.get('deprecation')?.[0]?.trim() ?? '')?.[1];
  const sunset = parseHttpDate(headers.get('sunset')?.[0] ?? '', clock.now());
  const parts = [
    deprecated !== undefined && `is deprecated as of ${day(Number(deprecated) * 1_000)}`,
    sunset !== undefined && `will be removed on ${day(sunset)}`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return;
  const operation = operationOf(call);
  const seen = warned.get(watch) ?? new Set();
  if (seen.has(operation)) return;
  warned.set(watch, seen.add(operation));
  watch.warning(`The service says that ${operation} ${parts.join(' and ')}.`);
}
