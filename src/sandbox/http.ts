/** One request of the service over HTTP: read, handled, answered, logged. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../http/server.ts';
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
    body = (await readBody(incoming, LARGEST_BODY))?.toString();
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
