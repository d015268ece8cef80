/** One request of the service over HTTP: read, handled, answered, logged. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Context, DatabaseFailure } from '../ports.ts';
import { error, type Handler, type SandboxResponse } from './types.ts';
import { effectOf, send } from './send-response.ts';
import type { Effect, Faults } from './faults.ts';
import { handle, refuse } from './handler.ts';
import { BASE_PATH, LARGEST_BODY, pathOf } from './operations.ts';
import type { RequestLog } from './request-log.ts';

export type Ports = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random'>;

export interface Service {
  readonly handler: Handler;
  readonly faults: Faults;
  readonly log: RequestLog;
}

/** For who is gone, or is to think that the sandbox is. */
const CONNECTION_CLOSED: SandboxResponse = { status: 0, headers: {}, body: '' };

/** How long to wait for another process that writes, in ms. */
const PATIENCE_MS = 5_000;

/** Again, for a while, as long as another process holds the store. */
export async function patiently<T>({ clock, random }: Ports, work: () => T | Promise<T>): Promise<T> {
  const giveUp = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof DatabaseFailure) || problem.problem !== 'busy') throw problem;
      if (clock.monotonic() >= giveUp) throw problem;
      await clock.sleep(10 + 20 * random());
    }
  }
}

/** Never rejects. */
export async function answer(
  ports: Ports,
  service: Service,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { handler, faults, log } = service;
  const from = ports.clock.monotonic();
  const method = incoming.method ?? '';
  const target = incoming.url ?? '';
  const path = pathOf(target);
  const effects = path.startsWith(`${BASE_PATH}/`) ? faults.choose(method, path.slice(BASE_PATH.length)) : [];
  const response = await respond(ports, handler, incoming, effects);
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

async function respond(
  ports: Ports,
  handler: Handler,
  incoming: IncomingMessage,
  effects: readonly Effect[],
): Promise<SandboxResponse> {
  try {
    const body = await readBody(incoming, LARGEST_BODY);
    const request = { method: incoming.method ?? '', target: incoming.url ?? '', headers: headersOf(incoming), body };
    const delay = effectOf(effects, 'delay');
    if (delay?.applied === false) await ports.clock.sleep(delay.ms);
    const reset = effectOf(effects, 'reset');
    if (reset?.applied === false) return CONNECTION_CLOSED;
    const response = await patiently(ports, () => handle(handler, request, effectOf(effects, 'status')));
    if (delay?.applied === true) await ports.clock.sleep(delay.ms);
    return response;
  } catch (problem) {
    if (!incoming.complete) return CONNECTION_CLOSED;
    return asRefusal(handler, troubleOf(problem));
  }
}

function troubleOf(problem: unknown): ReturnType<typeof error> {
  if (!(problem instanceof DatabaseFailure)) return error(500, 'internal', 'The sandbox failed.');
  if (problem.problem !== 'corrupt') return error(503, 'busy', `The sandbox cannot use its store: ${problem.message}.`);
  return error(503, 'damaged', "The sandbox's file is damaged. Begin a new one with: petstore sandbox reset");
}

/** With the headers of every response, as far as the store can still tell. */
export function asRefusal(handler: Handler, result: ReturnType<typeof error>): SandboxResponse {
  try {
    return refuse(handler, result);
  } catch {
    return { ...result, headers: { 'Content-Type': 'application/json', ...result.headers } };
  }
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string | undefined>> {
  return {
    authorization: headers.authorization,
    'content-type': headers['content-type'],
    'content-encoding': headers['content-encoding'],
  };
}

function numbers(headers: SandboxResponse['headers']): { limit?: number; remaining?: number; retryAfter?: number } {
  const [limit, remaining, wait] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'Retry-After'].map((name) =>
    headers[name] === undefined ? undefined : Number(headers[name]),
  );
  return {
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining }),
    ...(wait !== undefined && !Number.isNaN(wait) && { retryAfter: wait }),
  };
}

/** By what its head says. */
export function isTooLong({ headers }: IncomingMessage, most: number): boolean {
  return Number(headers['content-length']) > most;
}

/** Undefined where it is longer; the rest is read and dropped, so that the client gets to read its answer. */
export function readBody(incoming: IncomingMessage, most: number): Promise<string | undefined> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  if (length === undefined && coding === undefined) return Promise.resolve('');
  // Whoever asks first (RFC 9110, 10.1.1) is told before it has sent anything.
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
