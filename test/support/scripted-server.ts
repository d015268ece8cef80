/**
 * A real HTTP(S) server on loopback that sends scripted replies in order and keeps an exact log. An unscripted request
 * or an unused reply fails the test when it ends.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { listenOnLoopback, onCleanup } from './cleanup.ts';
import { type Exchange, type ReceivedRequest, type Reply, send } from './replies.ts';
import type { Identity } from './tls.ts';

export interface ScriptedServer {
  readonly port: number;
  /** Ends in the path segment v1. */
  readonly baseUrl: string;
  readonly requests: readonly ReceivedRequest[];
  /** `GET /v1/inventory`, one per request. */
  log(): string[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Adds replies to the end of the script. */
  script(...replies: Reply[]): void;
  /** Resolves once `count` complete requests have arrived. */
  received(count: number): Promise<void>;
}

export async function scriptedServer(
  replies: readonly Reply[],
  { tls }: { readonly tls?: Identity } = {},
): Promise<ScriptedServer> {
  const script = new Script(replies);
  const { sockets } = script;
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    script.answer(req, res).catch((error: unknown) => {
      script.failures.push(`a reply could not be given: ${String(error)}`);
      req.socket.destroy();
    });
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer({ ...tls }, listener);
  // No timeouts: tests must not depend on how long they take.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!HUNG_UP.has(error.code ?? '')) script.failures.push(`a malformed request came: ${error.message}`);
    socket.destroy();
  });
  // Called once the server is closed.
  onCleanup(() => script.done());
  const port = await listenOnLoopback(server);
  return {
    port,
    baseUrl: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/v1`,
    requests: script.requests,
    log: () => script.log(),
    get connections() {
      return sockets.accepted;
    },
    script: (...more) => void script.left.push(...more),
    received: (count) => script.received(count),
  };
}

/** Errors of a client that hangs up, also during a TLS handshake. They do not mean a malformed request. */
const HUNG_UP: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** The remaining replies, and the requests so far. */
class Script {
  readonly left: Reply[];
  readonly requests: ReceivedRequest[] = [];
  readonly failures: string[] = [];
  readonly sockets = new Sockets();
  readonly #waiting = new Set<() => void>();

  constructor(replies: readonly Reply[]) {
    this.left = [...replies];
  }

  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // Chosen on arrival, before the body is read, so that parallel requests keep the script's order.
    const reply = this.left.shift();
    const place = this.sockets.place(req.socket);
    const connection = this.sockets.raw(req.socket);
    const request = { ...readHead(req), body: await readBody(req), ...place };
    this.requests.push(request);
    for (const look of this.#waiting) look();
    if (reply === undefined) this.failures.push(`no reply was scripted for ${request.method} ${request.path}`);
    const fail = (problem: string): void => void this.failures.push(problem);
    const exchange: Exchange = { request, req, res, connection, fail };
    await send(reply ?? { status: 599, body: 'unscripted' }, exchange);
  }

  log(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  received(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.requests.length >= count) resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** @throws {Error} naming what was unscripted, unused or malformed */
  done(): void {
    const unused = this.left.length === 0 ? [] : [`${this.left.length} of the scripted replies were not used`];
    const problems = [...this.failures, ...unused];
    if (problems.length === 0) return;
    throw new Error(`Scripted server: ${problems.join('; ')}. It received: ${this.log().join(', ') || 'nothing'}.`);
  }
}

/** Numbers the TCP connections; with TLS, a request has only its secure socket. */
class Sockets {
  readonly #byPort = new Map<number | undefined, { socket: Socket; connection: number; requests: number }>();
  accepted = 0;

  add(socket: Socket): void {
    const { remotePort } = socket;
    this.accepted += 1;
    this.#byPort.set(remotePort, { socket, connection: this.accepted, requests: 0 });
    // A client that hangs up must not make the server fail.
    socket.on('error', () => undefined);
  }

  place(socket: Socket): { connection: number; onConnection: number } {
    const entry = this.#entry(socket);
    entry.requests += 1;
    return { connection: entry.connection, onConnection: entry.requests };
  }

  raw(socket: Socket): Socket {
    return this.#entry(socket).socket;
  }

  #entry(socket: Socket) {
    const entry = this.#byPort.get(socket.remotePort);
    if (entry === undefined) throw new Error('a request came on a connection that was never accepted');
    return entry;
  }
}

function readHead({ method = '', url: path = '', headersDistinct }: IncomingMessage) {
  const headers = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]);
  return { method, path, headers: Object.fromEntries(headers) as Record<string, string> };
}

/** Reads the body, or the part that arrived before the client hung up. */
async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of req) chunks.push(chunk as Buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}
