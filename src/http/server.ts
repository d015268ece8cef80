/** What the HTTP servers of petstore have in common: a port, limits for slow and large clients, and the body of a request. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Failure } from '../errors.ts';
import { errorCode } from '../ports.ts';

/** In ms: how long a client may take to send a request's head, and all of it. */
export interface Patience {
  readonly headMs: number;
  readonly requestMs: number;
}

export const PATIENCE: Patience = { headMs: 10_000, requestMs: 30_000 };
/** A client that reads nothing is disconnected within this time, ms. */
export const SILENCE_MS = 120_000;
const MOST_CONNECTIONS = 1_000;
export const LONGEST_HEAD = 16 * 1024;

export function createListener({ headMs, requestMs }: Patience): Server {
  const server = createServer({
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, headMs),
    maxHeaderSize: LONGEST_HEAD,
    keepAlive: true,
    noDelay: true,
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.timeout = SILENCE_MS;
  return server;
}

/** Returns the port: a free one where it is 0. @throws {Failure} `port` */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  try {
    return await tryListen(server, host, port);
  } catch (cause) {
    const code = errorCode(cause) ?? '';
    const free = code === 'EADDRINUSE' ? await freePort(host) : undefined;
    throw new Failure('port', { host, port, code, ...(free !== undefined && { free }) }, cause);
  }
}

async function tryListen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function freePort(host: string): Promise<number | undefined> {
  const probe = createServer();
  try {
    return await tryListen(probe, host, 0);
  } catch {
    return undefined;
  } finally {
    probe.close();
  }
}

/** Status, code and message of an Error body. */
export type Refusal = readonly [status: number, code: string, message: string];

const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'timeout', 'The request took too long to arrive.'],
  HPE_HEADER_OVERFLOW: [431, 'head_too_large', `The head of a request holds at most ${LONGEST_HEAD} bytes.`],
};

/** Calls `refuse` for bytes that are not an HTTP request, unless the client is gone. */
export function onBadRequest(server: Server, refuse: (refusal: Refusal, socket: Duplex) => void): void {
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Duplex) => {
    if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(REFUSALS[code] ?? [400, 'malformed', 'Not an HTTP request.'], socket);
  });
}

/** Writes a response where Node has none to write to, and ends the connection. */
export function endRaw(
  socket: Duplex,
  { status, headers, body }: { status: number; headers: Readonly<Record<string, string>>; body: string },
): void {
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () => {
    socket.destroy();
  });
}

/** By what its head says. */
export function isTooLong({ headers }: IncomingMessage, most: number): boolean {
  return Number(headers['content-length']) > most;
}

/** Undefined where it is longer; the rest is read and dropped, so that the client gets to read its answer. */
export function readBody(incoming: IncomingMessage, most: number): Promise<Buffer | undefined> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  if (length === undefined && coding === undefined) return Promise.resolve(Buffer.alloc(0));
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
        resolve(size > most ? undefined : whole);
      })
      .once('error', reject)
      .once('close', () => {
        if (!incoming.complete) reject(new Error('the client is gone'));
      });
  });
}

/** Addresses and localhost: an attacker cannot make them his. */
const OWN_NAME = /^([0-9a-f:.]*:[0-9a-f:.]*|[0-9]{1,3}(\.[0-9]{1,3}){3}|(.*\.)?localhost)$/;

/**
 * True when a Host header names this server. A page of another site that has its name resolved to 127.0.0.1 (DNS
 * rebinding) still sends that name.
 */
export function isOurs(host: string | undefined, names: readonly string[]): boolean {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?$/i.exec(host ?? '');
  const name = (match?.[1] ?? match?.[2])?.toLowerCase();
  return name !== undefined && (OWN_NAME.test(name) || names.includes(name));
}

/** True for an address of a socket, or to listen on, that is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/i.test(address);
}
