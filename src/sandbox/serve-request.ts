/** Serves one request over HTTP: reads, handles, logs and answers it, and applies faults on the way. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readBody, type ServedRequest } from '../http/server.ts';
import type { Clock } from '../ports.ts';
import { faultIn, type FaultRule, type Faults } from './faults.ts';
import { handle, headersOf, troubleOf, withHeaders } from './handler.ts';
import { BASE_PATH, type Handler, LARGEST_BODY, pathOf, type SandboxResponse } from './operations.ts';

/** A request to the sandbox and its answer, as shown in its log and on its page. */
export interface LoggedRequest extends ServedRequest {
  /** Counts from 1. */
  readonly id: number;
  readonly limit?: number;
  readonly remaining?: number;
  /** In s, if refused. */
  readonly retryAfter?: number;
  /** Why it was refused or failed. */
  readonly reason?: string;
  /** Faults that affected it. */
  readonly faults?: string[];
}

/** Number of requests that the log keeps. */
const KEPT = 1_000;

export interface Served extends Handler {
  readonly clock: Clock;
  readonly faults: Faults;
  /** The newest requests, oldest first. */
  readonly log: LoggedRequest[];
  readonly onRequest?: ((request: LoggedRequest) => void) | undefined;
  /** How far the sandbox's clock runs ahead of this machine's, in ms. */
  skewMs: number;
}

/** The client disconnected, or a fault rule drops the connection. */
const CONNECTION_CLOSED: SandboxResponse = { status: 0, headers: {}, body: '' };

/** Never rejects. */
export async function answer(served: Served, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { clock, faults, log } = served;
  const from = clock.monotonic();
  const { method = '', url: target = '' } = incoming;
  const path = pathOf(target);
  const chosen = path.startsWith(`${BASE_PATH}/`) ? faults.choose(method, path.slice(BASE_PATH.length)) : [];
  const response = await handled(served, incoming, outgoing, chosen);
  // A request already refused for its key or the rate limit keeps its status.
  const effects = chosen.filter(({ does }) => does !== 'status' || response.isFault === true);
  const request: LoggedRequest = {
    id: (log.at(-1)?.id ?? 0) + 1,
    at: served.now(),
    method,
    target,
    status: response.status,
    ms: clock.monotonic() - from,
    ...numbers(response.headers),
    ...(response.reason !== undefined && { reason: response.reason }),
    ...(effects.length > 0 && { faults: effects.map(({ does }) => does) }),
  };
  log.push(request);
  if (log.length > KEPT) log.shift();
  served.onRequest?.(request);
  await send(served, outgoing, response, effects);
}

async function handled(
  served: Served,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  effects: readonly FaultRule[],
): Promise<SandboxResponse> {
  const body = await readBody(incoming, outgoing, LARGEST_BODY).catch(() => 'gone' as const);
  if (body === 'gone') return CONNECTION_CLOSED;
  const { method = '', url: target = '', headers } = incoming;
  const delay = faultIn(effects, 'delay');
  if (delay !== undefined && delay.after !== true) await served.clock.sleep(delay.delay);
  const reset = faultIn(effects, 'reset');
  if (reset !== undefined && reset.after !== true) return CONNECTION_CLOSED;
  const response = await handle(
    served,
    { method, target, headers, body: body?.toString() },
    faultIn(effects, 'status'),
  ).catch((problem: unknown) => withHeaders(troubleOf(problem)));
  if (delay?.after === true) await served.clock.sleep(delay.delay);
  return reset === undefined ? response : { ...response, status: 0 };
}

function numbers(headers: SandboxResponse['headers']): Pick<LoggedRequest, 'limit' | 'remaining' | 'retryAfter'> {
  const names = { limit: 'X-RateLimit-Limit', remaining: 'X-RateLimit-Remaining', retryAfter: 'Retry-After' };
  const found = Object.entries(names).map(([name, header]) => [name, Number(headers[header] ?? Number.NaN)] as const);
  return Object.fromEntries(found.filter(([, value]) => !Number.isNaN(value)));
}

const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
/** Bytes sent at a time with `drip`. */
const DROP = 8;

/** Sends a response. Never rejects: a client that is gone needs none. */
export async function send(
  { clock, now }: Served,
  outgoing: ServerResponse,
  response: SandboxResponse,
  effects: readonly FaultRule[] = [],
): Promise<void> {
  if (response.status === 0) {
    outgoing.socket?.resetAndDestroy();
    return;
  }
  // Of several rules with the same effect, the first counts.
  const merged = Object.assign({}, ...effects.toReversed()) as Partial<FaultRule>;
  const { 'bad-int64': isBad, date = 0, drip, truncate, type } = merged;
  let { body } = response;
  if (effects.length > 0 && typeof body !== 'string') body = [...body].join('');
  if (isBad && typeof body === 'string') body = body.replace(/"petId":-?[0-9]+/g, '"petId":9223372036854775808');
  const missing = effects.flatMap(({ 'no-header': name }) => (name === 'limits' ? LIMIT_HEADERS : (name ?? [])));
  const headers = { ...headersOf({ ...response, body }, now() + date), ...(type && { 'Content-Type': type }) };
  const sent = Object.entries(headers).filter(([name]) => !missing.includes(name.toLowerCase()));
  outgoing.sendDate = false;
  outgoing.writeHead(response.status, Object.fromEntries(sent));
  try {
    if (typeof body !== 'string') await pipeline(Readable.from(body), outgoing);
    else if (truncate !== undefined) await cutOff(outgoing, body, truncate);
    else if (drip !== undefined) await pipeline(Readable.from(drops(clock, body, drip)), outgoing);
    else outgoing.end(body);
  } catch {
    outgoing.destroy();
  }
}

/** Announces the whole body, but closes the connection before its end. */
async function cutOff(outgoing: ServerResponse, body: string, bytes: number | true): Promise<void> {
  const whole = Buffer.from(body);
  outgoing.flushHeaders();
  const part = whole.subarray(0, Math.min(bytes === true ? Math.floor(whole.length / 2) : bytes, whole.length - 1));
  await new Promise((resolve) => outgoing.write(part, resolve));
  outgoing.socket?.end();
}

async function* drops(clock: Clock, body: string, ms: number): AsyncGenerator<Buffer> {
  const whole = Buffer.from(body);
  for (let at = 0; at < whole.length; at += DROP) {
    await clock.sleep(ms);
    yield whole.subarray(at, at + DROP);
  }
}
