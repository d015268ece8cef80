/** One request of the service over HTTP: read, handled, answered, logged. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FilePorts } from '../state/file.ts';
import type { Effect, Faults } from './faults.ts';
import { respond } from './handler.ts';
import { BASE_PATH, type Handler, LARGEST_BODY, pathOf, type SandboxResponse } from './operations.ts';
import type { RequestLog } from './request-log.ts';
import { effectOf, send } from './send-response.ts';

export interface Service {
  readonly handler: Handler;
  readonly faults: Faults;
  readonly log: RequestLog;
}

/** The client disconnected, or a fault rule drops the connection. */
const CONNECTION_CLOSED: SandboxResponse = { status: 0, headers: {}, body: '' };

/** Never rejects. */
export async function answer(
  ports: FilePorts,
  service: Service,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { handler, faults, log } = service;
  const from = ports.clock.monotonic();
  const method = incoming.method ?? '';
  const target = incoming.url ?? '';
  const path = pathOf(target);
  const chosen = path.startsWith(`${BASE_PATH}/`) ? faults.choose(method, path.slice(BASE_PATH.length)) : [];
  const response = await handled(ports, handler, incoming, chosen);
  // A request that was refused before, by its key or the rate limit, keeps its status.
  const effects = chosen.filter(({ does }) => does !== 'status' || response.isFault === true);
  const now = handler.now();
  log.add({
    at: now,
    method,
    target,
    status: effectOf(effects, 'reset') === undefined ? response.status : 0,
    ms: ports.clock.monotonic() - from,
    ...numbers(response.headers),
    ...(effects.length > 0 && { faults: effects.map(({ does }) => does) }),
  });
  await send(ports, outgoing, response, effects, now);
}

async function handled(
  ports: FilePorts,
  handler: Handler,
  incoming: IncomingMessage,
  effects: readonly Effect[],
): Promise<SandboxResponse> {
  let body: string | undefined;
  try {
    body = await readBody(incoming, LARGEST_BODY);
  } catch {
    return CONNECTION_CLOSED;
  }
  const { method = '', url: target = '', headers } = incoming;
  const { authorization, 'content-type': type, 'content-encoding': coding } = headers;
  const request = {
    method,
    target,
    body,
    headers: { authorization, 'content-type': type, 'content-encoding': coding },
  };
  const delay = effectOf(effects, 'delay');
  if (delay?.applied === false) await ports.clock.sleep(delay.ms);
  if (effectOf(effects, 'reset')?.applied === false) return CONNECTION_CLOSED;
  const response = await respond(ports, handler, request, effectOf(effects, 'status'));
  if (delay?.applied === true) await ports.clock.sleep(delay.ms);
  return response;
}

function numbers(headers: SandboxResponse['headers']): { limit?: number; remaining?: number; retryAfter?: number } {
  const names = { limit: 'X-RateLimit-Limit', remaining: 'X-RateLimit-Remaining', retryAfter: 'Retry-After' };
  const found = Object.entries(names).map(([name, header]) => [name, Number(headers[header] ?? Number.NaN)] as const);
  return Object.fromEntries(found.filter(([, value]) => !Number.isNaN(value)));
}

/** By what its head says. */
export function isTooLong({ headers }: IncomingMessage, most: number): boolean {
  return Number(headers['content-length']) > most;
}

/** Undefined where it is longer; the rest is read and dropped, so that the client gets to read its answer. */
export function readBody(incoming: IncomingMessage, most: number): Promise<string | undefined> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  if (length === undefined && coding === undefined) return Promise.resolve('');
  // A client that asks first (RFC 9110, 10.1.1) gets the answer before it sends the body.
  if (isTooLong(incoming, most) && incoming.headers.expect !== undefined) return Promise.resolve(undefined);
  const chunks: Buffer[] = [];
  let size = 0;
  // By its events: an iterator of the stream costs as much as all the rest of a small request.
  return new Promise((resolve, reject) => {
    incoming
      .on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size <= most) chunks.push(chunk);
        else chunks.length = 0;
      })
      .once('end', () => {
        const [first] = chunks;
        const whole = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
        resolve(size > most ? undefined : whole.toString('utf8'));
      })
      .once('error', reject)
      .once('close', () => {
        if (!incoming.complete) reject(new Error('the client is gone'));
      });
  });
}
