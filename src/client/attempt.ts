/**
 * One attempt: a connection, the gate's leave, one request, the response's headers back to the gate.
 * No retry, no judgement.
 */
import { type Connection, type HttpBody, HttpFailure, type HttpReply, type HttpRequest, isWhole } from '../ports.ts';
import { Failure } from '../errors.ts';
import { isRefusal } from '../rate-limit/ledger.ts';
import type { Call, Service } from './service.ts';
import { parseHttpDate } from '../rate-limit/http-date.ts';

/** Grace period for an in-flight write after a stop signal, in ms. */
const GRACE_MS = 2_000;
/** How long the ledger may take to note an answer then, in ms. */
const NOTED_MS = 500;

/**
 * Sends one request and returns the response.
 * @throws {Failure} `rate-limited`, `banned`, `paused`: the wait is longer than allowed; nothing was sent
 * @throws {HttpFailure} no connection, no response, or (from `body`) a broken one
 */
export async function exchange(service: Service, call: Call): Promise<HttpReply> {
  const url = new URL(`${service.baseUrl.href}${call.path}`);
  for (;;) {
    const reply = await attempt(service, call, url);
    if (reply !== undefined) return reply;
  }
}

/** Undefined where the leave to send ended before the first byte: it has to be asked for again. */
async function attempt(service: Service, call: Call, url: URL): Promise<HttpReply | undefined> {
  const { clock, gate } = service;
  const { ticket, connection } = await gate.enter(operationOf(call), () => connect(service, call, url));
  const stop = stopper(service, call.method !== 'GET');
  const started = clock.monotonic();
  try {
    const mayLeave = (): boolean => ticket.isFresh() && call.isCurrent?.() !== false;
    const reply = await connection.send(requestOf(service, call, url, stop.signal), mayLeave);
    const noted = ticket.answered(reply.status, reply.headers, clock.now());
    // A refusal is recorded first of all. Once the program is to stop, all else must not keep a write's answer from it.
    await (isRefusal(reply) ? noted : untilStop(service, noted));
    tell(service, call, url, started, { status: reply.status });
    warnOfSunset(reply.headers, service, call);
    if (isWhole(reply.body) && sizeOf(reply.body) <= service.maxBodyBytes) {
      stop.over();
      return reply;
    }
    return { ...reply, body: limited(reply.body, service, url, stop) };
  } catch (error) {
    stop.over();
    if (!(error instanceof HttpFailure)) throw error;
    await ticket.lost(error.facts.mayHaveBeenSent);
    if (error.facts.phase === 'withdrawn' && call.isCurrent?.() !== false) return undefined;
    tell(service, call, url, started, { failure: error.facts });
    throw error;
  }
}

/** Resolves with the work, or soon after the program has been told to stop. */
function untilStop({ clock, signal }: Service, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => void clock.alarm(NOTED_MS, resolve);
    if (signal.aborted) onStop();
    else signal.addEventListener('abort', onStop, { once: true });
    work
      .finally(() => {
        signal.removeEventListener('abort', onStop);
      })
      .then(() => {
        resolve();
      }, reject);
  });
}

async function connect(service: Service, call: Call, url: URL): Promise<Connection> {
  const started = service.clock.monotonic();
  try {
    return await service.http.connect({ url, timeoutMs: service.timeoutMs, signal: service.signal });
  } catch (error) {
    if (error instanceof HttpFailure) tell(service, call, url, started, { failure: error.facts });
    throw error;
  }
}

function tell(
  { clock, watch }: Service,
  { method }: Call,
  url: URL,
  started: number,
  result: { status: number } | { failure: HttpFailure['facts'] },
): void {
  watch.attempt({ method, url: url.href, ms: clock.monotonic() - started, ...result });
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
    ...(call.body !== undefined && { 'content-type': 'application/json' }),
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

interface Stopper {
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  over(): void;
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
  };
}

/**
 * Fails where the body is larger than allowed, and once the service has been waited for longer than the attempt's
 * timeout in all, however it drips. Time spent by the consumer does not count: a pager may block for an hour.
 */
async function* limited(body: HttpBody, service: Service, url: URL, stop: Stopper): AsyncGenerator<Uint8Array> {
  const { clock, maxBodyBytes, timeoutMs } = service;
  const chunks = chunksOf(body);
  let left = timeoutMs;
  let size = 0;
  let ended = false;
  try {
    for (;;) {
      const started = clock.monotonic();
      const next = await withAlarm(service, left, url, stop.abort, chunks.next());
      ended = next.done === true;
      if (next.done === true) return;
      left -= clock.monotonic() - started;
      size += next.value.byteLength;
      if (size > maxBodyBytes) {
        const problem = `is larger than the ${maxBodyBytes} bytes that --max-body allows`;
        throw new Failure('contract', { what: 'The response', problem });
      }
      yield next.value;
    }
  } finally {
    // Not awaited: a body that hangs answers its return() only once the attempt has been aborted.
    if (!ended) void Promise.resolve(chunks.return(undefined)).catch(() => undefined);
    stop.over();
  }
}

async function* chunksOf(body: HttpBody): AsyncGenerator<Uint8Array> {
  yield* body;
}

function sizeOf(body: readonly Uint8Array[]): number {
  return body.reduce((size, { length }) => size + length, 0);
}

function withAlarm<T>(
  service: Service,
  ms: number,
  url: URL,
  abort: (reason: Error) => void,
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = service.clock.alarm(ms, () => {
      const detail = 'the body did not end in time';
      const failure = new HttpFailure({
        phase: 'body-timeout',
        mayHaveBeenSent: true,
        peer: url.host,
        code: 'TIMEOUT',
        detail,
      });
      reject(failure);
      abort(failure);
    });
    work.finally(cancel).then(resolve, reject);
  });
}

const warned = new WeakMap<Service, Set<string>>();

/** Warns once per command and operation; a header that cannot be read is ignored. */
function warnOfSunset(headers: HttpReply['headers'], service: Service, call: Call): void {
  const deprecated = readDeprecation(headers.get('deprecation'));
  const sunset = readSunset(headers.get('sunset'), service.clock.now());
  if (deprecated === undefined && sunset === undefined) return;

  const operation = `${call.method} ${call.path.replace(/\d+/, '{petId}')}`;
  const seen = warned.get(service) ?? new Set();
  if (seen.has(operation)) return;
  warned.set(service, seen.add(operation));

  const parts = [
    deprecated !== undefined &&
      `is deprecated ${deprecated <= service.clock.now() ? 'since' : 'from'} ${day(deprecated)}`,
    sunset !== undefined && `${deprecated === undefined ? 'goes' : 'and goes'} away on ${day(sunset)}`,
  ];
  service.watch.warning(`The service says that ${operation} ${parts.filter(Boolean).join(' ')}.`);
}

function readDeprecation(values: readonly string[] | undefined): number | undefined {
  const match = /^@(\d{1,12})$/.exec(values?.[0]?.trim() ?? '');
  return match === null ? undefined : Number(match[1]) * 1_000;
}

function readSunset(values: readonly string[] | undefined, now: number): number | undefined {
  return values?.[0] === undefined ? undefined : parseHttpDate(values[0], now);
}

function day(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
