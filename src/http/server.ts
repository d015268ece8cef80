/** Shared by petstore's HTTP servers: listening, limits for slow and large clients, and shutdown. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, isIP, Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Failure, usageFailure } from '../errors.ts';
import { type Clock, errorCode, isLoopback, systemHost } from '../ports.ts';

/** How long a client may take to send a request's head, and the whole request, in ms. */
export type Patience = Readonly<Record<'headMs' | 'requestMs', number>>;

const PATIENCE: Patience = { headMs: 10_000, requestMs: 30_000 };
/** After how long a connection without any traffic is closed, in ms; the proxy makes an exception while a request waits. */
export const SILENCE_MS = 120_000;
/**
 * How long an idle connection stays open, in ms: longer than load balancers keep theirs (usually 60 s). The server must
 * not close first, because a request may be on its way.
 */
const KEEP_ALIVE_MS = 75_000;
/** How long a kept-alive connection may still be used once the server is stopping, in ms. */
const IDLE_MS = 1_000;
const MOST_CONNECTIONS = 1_000;
export const LONGEST_HEAD = 16 * 1024;

/** Status, code and message of an Error body. */
export type Refusal = readonly [status: number, code: string, message: string];

export interface RefusalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the log of every server has of a request. */
export interface ServedRequest {
  /** When it was answered, epoch ms. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  /** 0 if the connection was reset. */
  readonly status: number;
  /** Time from its head to its answer, in ms. */
  readonly ms: number;
}

/** A certificate with its chain, and the private key, PEM. */
export type Identity = Readonly<Record<'cert' | 'key', string>>;

export interface ServerOptions {
  readonly host: string;
  /** 0 for a free port. */
  readonly port: number;
  /** A listening socket passed by another process, in place of host and port. `check` throws if it may not be used. */
  readonly passed?: { readonly fd: number; check(address: string): void } | undefined;
  /** Enables TLS. */
  readonly identity?: Identity | undefined;
  readonly mostConnections?: number;
  readonly clock: Pick<Clock, 'alarm'>;
  readonly patience?: Patience | undefined;
  /** Answers a request. Never rejects. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>;
  /** Returns the response to something that is not an HTTP request. */
  refuse(refusal: Refusal): RefusalResponse | Promise<RefusalResponse>;
  readonly onConnection?: (socket: Socket) => void;
}

export interface Serving {
  /** `http://127.0.0.1:PORT/v1`. */
  readonly baseUrl: string;
  /** Uses a new certificate for new connections. */
  renew(identity: Identity): void;
  /** Stops accepting connections, answers open requests for at most `graceMs`, then closes all connections. */
  close(graceMs: number): Promise<void>;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'timeout', 'The request took too long to arrive.'],
  HPE_HEADER_OVERFLOW: [431, 'head_too_large', `The head of a request may have at most ${LONGEST_HEAD} bytes.`],
};

const NO_TUNNELS: Refusal = [501, 'no_tunnels', 'There are no tunnels here: use this address as the base URL.'];

/** Serves until it is closed. @throws {Failure} `port`, `usage` */
export async function serve(options: ServerOptions): Promise<Serving> {
  const { clock, handle, onConnection, refuse } = options;
  const { server, secure, shaking } = openServer(options);
  const unanswered = new Set<ServerResponse>();
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    // An earlier answer ends the connection (RFC 9112, 9.6).
    if (lastOn(incoming.socket)?.shouldKeepAlive === false) return;
    unanswered.add(outgoing);
    useOriginForm(incoming);
    // A server of HTTP/1.0 on the way may have read another end of the body (RFC 9112, 6.1).
    const isDoubtful = incoming.httpVersionMinor === 0 && incoming.headers['transfer-encoding'] !== undefined;
    if (!server.listening || isDoubtful) outgoing.shouldKeepAlive = false;
    void handle(incoming, outgoing).then(() => unanswered.delete(outgoing));
  };
  server.on('request', onRequest).on('checkExpectation', onRequest);
  /** Returns the last response that a complete request of the connection waits for: a refusal must come after it. */
  const lastOn = (socket: Duplex): ServerResponse | undefined =>
    [...unanswered].findLast(({ req }) => req.socket === socket && req.complete);
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Duplex) => {
    const last = lastOn(socket);
    // After a TLS failure there is no connection to answer on.
    if (/^(?:ECONNRESET$|ERR_SSL_|ERR_TLS_)/.test(code) || !socket.writable) socket.destroy();
    // The connection ends after this response.
    else if (last !== undefined) last.shouldKeepAlive = false;
    else {
      const refusal = REFUSALS[code] ?? [400, 'malformed', 'Not an HTTP request.'];
      // For the log: the body of a request is malformed or late. A client that has sent its end is gone.
      for (const each of unanswered)
        if (each.req.socket === socket && code !== 'HPE_INVALID_EOF_STATE') each.statusCode = refusal[0];
      void endRaw(socket, refuse(refusal));
    }
  });
  server.on('connect', (_incoming, socket) => {
    if (lastOn(socket) === undefined) void endRaw(socket, refuse(NO_TUNNELS));
    else socket.destroy();
  });
  if (onConnection !== undefined) server.on('connection', onConnection);
  const { host, port } = await listen(server, options);
  return {
    baseUrl: `${secure === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}/v1`,
    renew(next) {
      // Only Node has this function.
      if (secure?.setSecureContext === undefined) throw usageFailure('A new certificate needs a restart here.');
      secure.setSecureContext(next);
    },
    async close(graceMs) {
      // Node's HTTP `close` disconnects idle clients at once, even if their next request is on its way.
      const { close } = server instanceof Server ? Server.prototype : server;
      const closed = new Promise((resolve) => close.call(server, resolve));
      // Only the last answer on a connection ends it.
      const last = new Map([...unanswered].map((each) => [each.req.socket, each]));
      for (const each of last.values()) each.shouldKeepAlive = false;
      const cancelIdle = clock.alarm(IDLE_MS, () => {
        server.closeIdleConnections();
        // Node does not count those that have not sent a whole head yet.
        server.headersTimeout = 1;
        for (const socket of shaking.values()) socket.destroy();
      });
      const cancel = clock.alarm(graceMs, () => {
        server.closeAllConnections();
      });
      await closed;
      cancelIdle();
      cancel();
    },
  };
}

function openServer({ identity, mostConnections = MOST_CONNECTIONS, patience = PATIENCE }: ServerOptions) {
  const { headMs, requestMs } = patience;
  const settings = {
    headersTimeout: headMs,
    requestTimeout: requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(1_000, headMs),
    maxHeaderSize: LONGEST_HEAD,
    // The handler refuses a request without Host: Node's own answer has no body.
    requireHostHeader: false,
    keepAlive: true,
    noDelay: true,
  };
  const secure = identity && createSecureServer({ ...settings, ...identity, handshakeTimeout: headMs });
  const server = secure ?? createServer(settings);
  server.maxConnections = mostConnections;
  server.timeout = SILENCE_MS;
  /** Connections whose TLS handshake has not ended, by the client's port. */
  const shaking = new Map<string, Socket>();
  secure?.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    shaking.set(peer, socket);
    socket.once('close', () => shaking.delete(peer));
  });
  secure?.on('secureConnection', (socket) => shaking.delete(peerOf(socket)));
  return { server, secure, shaking };
}

/** Identifies a connection, which has one socket for TCP and another for TLS. */
export function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}

/** Replaces an absolute target (RFC 9112, 3.2.2) by its path, and the Host header by its host. */
function useOriginForm(incoming: IncomingMessage): void {
  const [, host, path = ''] = /^https?:\/\/([^/?]*)(.*)$/i.exec(incoming.url ?? '') ?? [];
  if (host === undefined) return;
  incoming.headers.host = host;
  incoming.url = path.startsWith('/') ? path : `/${path}`;
}

/** Starts to listen, and returns the address. @throws {Failure} `port`, `usage` */
async function listen(server: Server, { host, port, passed }: ServerOptions) {
  server.listen(passed === undefined ? { host: systemHost(host), port } : { fd: passed.fd });
  await once(server, 'listening').catch((cause: unknown) => {
    const code = errorCode(cause) ?? '';
    if (passed !== undefined) throw usageFailure(`The socket that was passed cannot be used: ${code}.`);
    throw new Failure('port', { host, port, code }, cause);
  });
  // Null for a socket of the file system that was passed.
  const own = server.address() as AddressInfo | null;
  if (own === null) throw usageFailure('The socket that was passed is not a TCP socket.');
  passed?.check(own.address);
  return { host: passed === undefined ? host : own.address, port: own.port };
}

/** Writes a response directly to a socket for which Node has no response object, and ends the connection. */
async function endRaw(socket: Duplex, response: ReturnType<ServerOptions['refuse']>): Promise<void> {
  const { status, headers, body } = await response;
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`, () => {
    socket.destroy();
  });
}

/**
 * Reads the whole body; undefined if it is longer than `most` bytes. The connection then ends with the answer, and the
 * rest is read and dropped first, so that the client can read the answer.
 */
export function readBody(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  most: number,
): Promise<Buffer | undefined> {
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  if (length === undefined && coding === undefined) return Promise.resolve(Buffer.alloc(0));
  // Before the body has arrived: a request that is pipelined behind it is not processed.
  if (Number(length ?? 1) > most) outgoing.shouldKeepAlive = false;
  const chunks: Buffer[] = [];
  let size = 0;
  // With events: an async iterator costs as much as everything else about a small request.
  return new Promise((resolve, reject) => {
    incoming
      .on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size <= most) chunks.push(chunk);
        else [chunks.length, outgoing.shouldKeepAlive] = [0, false];
      })
      .once('end', () => {
        resolve(size > most ? undefined : Buffer.concat(chunks));
      })
      .once('error', reject)
      .once('close', () => {
        if (!incoming.complete) reject(new Error('the client is gone'));
      });
  });
}

/**
 * Returns why the Host header is refused: there must be one (RFC 9112, 3.2), and it must name this server. A web page
 * whose site resolves to 127.0.0.1 (DNS rebinding) still sends the name of its site. `isNamed` gets it in lower case.
 */
export function refusalOfHost(
  { headers, headersDistinct, httpVersionMinor }: IncomingMessage,
  isNamed: (name: string) => boolean,
): Refusal | undefined {
  const hosts = headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && httpVersionMinor > 0)) return [400, 'malformed', 'Send exactly one Host header.'];
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?$/i.exec(headers.host ?? '');
  // A name may end in the dot of the root (RFC 1034, 3.1).
  const name = (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '');
  // An attacker can register neither an address nor localhost.
  if (name !== undefined && (isIP(name) !== 0 || isLoopback(name) || isNamed(name))) return undefined;
  return [403, 'foreign_host', 'The Host header must be localhost, an address or a name from --allow-host.'];
}
