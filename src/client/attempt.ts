/**
 * One attempt: a connection, the gate's leave, one request, the response's headers back to the gate.
 * No retry, no judgement.
 */
import { type Connection, type HttpBody, HttpFailure, type HttpReply, type HttpRequest, isWhole } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isRefusal } from '../rate-limit/ledger.ts';
import { type AttemptFacts, type Call, type ClientWatch, MAX_WAIT_HEADER, type Service } from './service.ts';
import { gatewayOf } from '../rate-limit/headers.ts';
import { parseHttpDate } from '../http/http-date.ts';

/** Grace period for an in-flight write after a stop signal, in ms. */
const GRACE_MS = 2_000;
/** How long the ledger may take to note an answer then, in ms. */
const NOTED_MS = 500;
/** How long a request may take before it is shown, and how often then, ms. */
const LONG_MS = 2_000;
const TICK_MS = 1_000;

/**
 * Sends one request and returns the response. Where permission to send has ended before the first byte, it is asked for
 * again.
 * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait is longer than allowed; nothing was sent
 * @throws {HttpFailure} no connection, no response, or (from `body`) a broken one
 */
export async function exchange(service: Service, call: Call): Promise<HttpReply> {
  const { clock, gate, http, maxBodyBytes, signal, timeoutMs, watch } = service;
  const url = new URL(`${service.baseUrl.href}${call.path}`);
  let started = 0;
  const tell = (result: Pick<AttemptFacts, 'status' | 'failure'>): void => {
    watch.attempt({ method: call.method, url: url.href, ms: clock.monotonic() - started, ...result });
  };
  const connect = async (): Promise<Connection> => {
    started = clock.monotonic();
    return shown(service, call, url, http.connect({ url, timeoutMs, signal })).catch((error: unknown) => {
      if (error instanceof HttpFailure) tell({ failure: error.facts });
      throw error;
    });
  };
  const { ticket, connection } = await gate.enter(operationOf(call), connect);
  // A read ends with the program, a write has a grace period to be answered.
  const cut = new AbortController();
  const answered = afterStop(service, call.method === 'GET' ? 0 : GRACE_MS, () => {
    cut.abort(signal.reason);
  });
  started = clock.monotonic();
  try {
    const mayLeave = (): boolean => ticket.isFresh() && call.isCurrent?.() !== false;
    const reply = await shown(service, call, url, connection.send(requestOf(service, call, url, cut.signal), mayLeave));
    const noted = tellsOfService(reply)
      ? ticket.answered(reply.status, reply.headers, clock.now())
      : ticket.lost(false);
    // A refusal is recorded first of all. Once the program is to stop, all else must not keep a write's answer from it.
    await (isRefusal(reply) ? noted : untilStop(service, noted));
    tell({ status: reply.status });
    if (gatewayOf(reply.headers) !== undefined) gateways.add(service.http);
    warnOfSunset(reply.headers, service, call);
    const { body } = reply;
    if (!isWhole(body) || body.reduce((size, { length }) => size + length, 0) > maxBodyBytes) {
      return { ...reply, body: limited(body, service, url, cut, answered) };
    }
    answered();
    return reply;
  } catch (error) {
    answered();
    if (!(error instanceof HttpFailure)) throw error;
    await ticket.lost(error.facts.mayHaveBeenSent);
    if (error.facts.phase === 'withdrawn' && call.isCurrent?.() !== false) return exchange(service, call);
    tell({ failure: error.facts });
    throw error;
  }
}

/** False where a gateway has refused the request for a reason of its own, which no time changes: no block follows from it. */
function tellsOfService({ headers, status }: HttpReply): boolean {
  return gatewayOf(headers) !== 'refused' || status === 429 || headers.has('retry-after');
}

/** Shows what takes long, unless it is done for another client. */
async function shown<T>({ clock, watch }: Service, { forwarded }: Call, { host }: URL, work: Promise<T>): Promise<T> {
  if (forwarded !== undefined) return work;
  const from = clock.monotonic();
  const show = (): void => {
    watch.unanswered({ peer: host, ms: clock.monotonic() - from });
    const cancel = clock.alarm(TICK_MS, show);
    end = () => {
      cancel();
      watch.unanswered(undefined);
    };
  };
  let end = clock.alarm(LONG_MS, show);
  try {
    return await work;
  } finally {
    end();
  }
}

/** Calls `end` when the program has been told to stop, and that long ago (ms). Returns what cancels it. */
function afterStop({ clock, signal }: Service, ms: number, end: () => void): () => void {
  let cancel = (): void => undefined;
  const onStop = (): void => {
    if (ms === 0) end();
    else cancel = clock.alarm(ms, end);
  };
  if (signal.aborted) onStop();
  else signal.addEventListener('abort', onStop, { once: true });
  return () => {
    signal.removeEventListener('abort', onStop);
    cancel();
  };
}

/** Resolves with the work, or soon after the program has been told to stop. */
function untilStop(service: Service, work: Promise<unknown>): Promise<unknown> {
  const { promise: stopped, resolve } = Promise.withResolvers<undefined>();
  const cancel = afterStop(service, NOTED_MS, () => {
    resolve(undefined);
  });
  return Promise.race([work, stopped]).finally(cancel);
}

/** The connections that lead to a gateway, by an answer that came over them. */
const gateways = new WeakSet<Service['http']>();

/** True where an answer has shown that the base URL is that of a `petstore proxy`. */
export function isGateway({ http }: Service): boolean {
  return gateways.has(http);
}

/** Returns what a service may count apart: method and path without ids, such as `PATCH /inventory/{id}`. */
export function operationOf({ method, path }: Pick<Call, 'method' | 'path'>): string {
  const [plain = ''] = path.split(/[?#]/);
  return `${method} ${plain.replace(/\/-?[0-9]+(?=\/|$)/g, '/{id}')}`;
}

function requestOf(service: Service, call: Call, url: URL, signal: AbortSignal): HttpRequest {
  const { forwarded } = call;
  const own = {
    accept: 'application/json',
    'user-agent': service.userAgent,
    [MAX_WAIT_HEADER]: `${Math.floor(service.maxWaitMs / 1_000)}`,
    ...(call.body !== undefined && { 'content-type': 'application/json' }),
    ...(call.ifMatch !== undefined && { 'if-match': `"${call.ifMatch}"` }),
  };
  return {
    method: call.method,
    url,
    ...(forwarded !== undefined && { target: `${service.baseUrl.pathname}${call.path}` }),
    ...(forwarded?.body !== undefined && { bytes: forwarded.body }),
    headers: {
      ...(forwarded?.headers ?? own),
      'accept-encoding': 'gzip, br',
      // Empty for unauthenticated requests (smoke checks).
      ...(service.apiKey !== '' && { authorization: `Bearer ${service.apiKey}` }),
    },
    ...(call.body !== undefined && { body: call.body }),
    timeoutMs: service.timeoutMs,
    signal,
  };
}

/**
 * Fails where the body is larger than allowed, and once the service has been waited for longer than the attempt's
 * timeout in all, however it drips. Time spent by the consumer does not count: a pager may block for an hour.
 */
async function* limited(
  body: HttpBody,
  { clock, maxBodyBytes, timeoutMs }: Service,
  url: URL,
  cut: AbortController,
  ended: () => void,
): AsyncGenerator<Uint8Array> {
  let left = timeoutMs;
  let size = 0;
  let late: HttpFailure | undefined;
  const end = (): void => {
    const facts = { peer: url.host, code: 'TIMEOUT', detail: 'the body did not end in time' };
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
        throw new Failure('contract', { what: 'The response', problem });
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

/** Warns once per command and operation; a header that cannot be read is ignored. */
function warnOfSunset(headers: HttpReply['headers'], { clock, watch }: Service, call: Call): void {
  const now = clock.now();
  const seconds = /^@(\d{1,12})$/.exec(headers.get('deprecation')?.[0]?.trim() ?? '')?.[1];
  const deprecated = seconds === undefined ? undefined : Number(seconds) * 1_000;
  const sunset = parseHttpDate(headers.get('sunset')?.[0] ?? '', now);
  if (deprecated === undefined && sunset === undefined) return;

  const operation = operationOf(call);
  const seen = warned.get(watch) ?? new Set();
  if (seen.has(operation)) return;
  warned.set(watch, seen.add(operation));

  const parts = [
    deprecated !== undefined && `is deprecated ${deprecated <= now ? 'since' : 'from'} ${day(deprecated)}`,
    sunset !== undefined && `${deprecated === undefined ? 'goes' : 'and goes'} away on ${day(sunset)}`,
  ];
  watch.warning(`The service says that ${operation} ${parts.filter(Boolean).join(' ')}.`);
}

function day(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
