/**
 * The Http port over undici: connections that are kept, one request at a time on each; redirects and retries none.
 * Proxies come from the environment (proxies.ts); extra authorities from NODE_EXTRA_CA_CERTS, which Node itself adds
 * to every TLS connection.
 */
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type Client from 'undici/lib/dispatcher/client.js';
import request from 'undici/lib/api/api-request.js';
import { type Connection, type Http, HttpFailure, type HttpRequest } from '../ports.ts';
import { type Exchange, hostAndPort, proxyRefusal, toHttpFailure, unusableProxy } from './http-failure.ts';
import { toReply } from './http-reply.ts';
import { clientOver, socketOpener } from './http-socket.ts';
import { type Environment, proxyAuthorization, routeTo } from './proxies.ts';

/** How long an unused connection is kept, in ms: as long as undici keeps a used one. */
const IDLE_MS = 4_000;

/** A connection between requests. */
interface Line {
  readonly socket: Socket;
  readonly client: Client;
  /** The proxy to which requests are sent whole: that of an http URL. */
  readonly forwarder: URL | undefined;
  /** Makes it available again. */
  giveBack(): void;
}

export function openHttp(env: Environment): Http {
  const sockets = new Set<Socket>();
  const idle = new Map<string, Line[]>();
  const openSocket = socketOpener((socket, takenOver) => {
    sockets.add(socket);
    // Node crashes where a socket is destroyed before the TLS connection on it; that destroys both.
    if (takenOver !== undefined) sockets.delete(takenOver);
    socket.once('close', () => sockets.delete(socket));
  });

  const takeIdle = (origin: string): Line | undefined => {
    const lines = idle.get(origin) ?? [];
    let line = lines.pop();
    while (line !== undefined && !isOpen(line.socket)) line = lines.pop();
    return line;
  };

  const openLine = async (target: Parameters<Http['connect']>[0]): Promise<Line> => {
    const { origin, protocol } = target.url;
    const proxy = proxyFor(target.url, env);
    const socket = await openSocket(target, proxy);
    socket.once('timeout', () => socket.destroy());
    const line: Line = {
      socket,
      client: clientOver(socket, origin),
      forwarder: protocol === 'http:' ? proxy : undefined,
      giveBack() {
        if (!isOpen(socket)) return;
        idle.set(origin, [...(idle.get(origin) ?? []), line]);
      },
    };
    return line;
  };

  return {
    async connect(target) {
      return handOut(takeIdle(target.url.origin) ?? (await openLine(target)));
    },
    async close() {
      const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** @throws {HttpFailure} */
function proxyFor(url: URL, env: Environment): URL | undefined {
  const route = routeTo(url, env);
  if (route.kind === 'unusable') throw unusableProxy(route.variable, route.problem);
  return route.kind === 'proxy' ? route.proxy : undefined;
}

/** Data that no request asked for ends a connection too. */
function isOpen(socket: Socket): boolean {
  return socket.readyState === 'open' && socket.readableLength === 0;
}

function handOut(line: Line): Connection {
  const { socket } = line;
  let isTaken = true;
  socket.ref().setTimeout(0);
  return {
    get isOpen() {
      return isTaken && isOpen(socket);
    },
    async send(call, maySend) {
      isTaken = false;
      const exchange: Exchange = {
        target: hostAndPort(call.url),
        forwarder: line.forwarder,
        isWritten: false,
        signal: call.signal,
      };
      try {
        return toReply(await dispatch(line, call, exchange, maySend), exchange, line.giveBack);
      } catch (error) {
        line.giveBack();
        throw toHttpFailure(error, 'headers', exchange);
      }
    },
    release() {
      if (!isTaken) return;
      isTaken = false;
      socket.unref().setTimeout(IDLE_MS);
      line.giveBack();
    },
  };
}

async function dispatch(
  { client, forwarder }: Line,
  call: HttpRequest,
  exchange: Exchange,
  maySend: () => boolean,
): Promise<Dispatcher.ResponseData> {
  const { url, signal, timeoutMs } = call;
  const { target: path = `${url.pathname}${url.search}` } = call;
  let timer: NodeJS.Timeout | undefined;
  /** undici calls it before it writes, in the same turn. */
  const beforeWriting = (controller: Dispatcher.DispatchController): void => {
    if (signal?.aborted === true) return;
    if (!maySend()) throw HttpFailure.withdrawn(exchange.target);
    exchange.isWritten = true;
    timer = setTimeout(() => {
      controller.abort(responseTimeout(exchange.target));
    }, timeoutMs);
  };
  try {
    const response = await request.call(withHook(client, beforeWriting), {
      origin: url.origin,
      path: forwarder === undefined ? path : `${url.origin}${path}`,
      method: call.method,
      headers: {
        ...call.headers,
        ...(forwarder !== undefined && { host: url.host, ...proxyAuthorization(forwarder) }),
      },
      body: call.bytes ?? call.body ?? null,
      ...(signal !== undefined && { signal }),
      bodyTimeout: timeoutMs,
      responseHeaders: 'raw',
    });
    if (forwarder === undefined || response.statusCode !== 407) return response;
    response.body.on('error', () => undefined).destroy();
    throw proxyRefusal(forwarder, response.statusCode);
  } finally {
    clearTimeout(timer);
  }
}

function withHook(
  client: Client,
  beforeWriting: (controller: Dispatcher.DispatchController) => void,
): Pick<Dispatcher, 'dispatch'> {
  return {
    dispatch(options, handler) {
      const start = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        beforeWriting(controller);
        start?.(controller, context);
      };
      return client.dispatch(options, handler);
    },
  };
}

function responseTimeout(peer: string): HttpFailure {
  const detail = 'the response headers did not come in time';
  return new HttpFailure({ phase: 'response-timeout', mayHaveBeenSent: true, peer, code: 'TIMEOUT', detail });
}
