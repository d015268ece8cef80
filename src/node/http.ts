/**
 * The Http port over undici: connections that are kept, one request at a time on each; redirects and retries none.
 * Proxies come from the environment (proxies.ts); extra authorities from NODE_EXTRA_CA_CERTS, which Node itself adds
 * to every TLS connection.
 */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type Client from 'undici/lib/dispatcher/client.js';
import type { Connection, Http, HttpRequest } from '../ports.ts';
import { hostAndPort, unusableProxy } from './http-failure.ts';
import { Receiver } from './http-reply.ts';
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
  /** Makes it available in the next turn: a server that closes it after its response has done so by then. */
  rest(): void;
}

export function openHttp(env: Environment): Http {
  const sockets = new Set<Socket>();
  const idle = new Map<string, Line[]>();
  /** How many lines are available in the next turn. */
  let resting = 0;
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
        const others = idle.get(origin);
        if (others === undefined) idle.set(origin, [line]);
        else others.push(line);
      },
      rest() {
        resting++;
        setImmediate(() => {
          resting--;
          line.giveBack();
        });
      },
    };
    return line;
  };

  return {
    async connect(target) {
      const { origin } = target.url;
      let line = takeIdle(origin);
      if (line === undefined && resting > 0) {
        await nextTurn();
        line = takeIdle(origin);
      }
      return handOut(line ?? (await openLine(target)));
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
      const { url, signal, timeoutMs } = call;
      const exchange = { target: hostAndPort(url), forwarder: line.forwarder, isWritten: false, signal };
      const receiver = new Receiver({ exchange, timeoutMs, maySend, onOver: line.rest });
      line.client.dispatch(optionsOf(call, line.forwarder), receiver);
      return receiver.reply();
    },
    release() {
      if (!isTaken) return;
      isTaken = false;
      socket.unref().setTimeout(IDLE_MS);
      line.giveBack();
    },
  };
}

function optionsOf(call: HttpRequest, forwarder: URL | undefined): Dispatcher.DispatchOptions {
  const { url, timeoutMs } = call;
  const { target: path = `${url.pathname}${url.search}` } = call;
  return {
    origin: url.origin,
    path: forwarder === undefined ? path : `${url.origin}${path}`,
    method: call.method,
    headers:
      forwarder === undefined ? call.headers : { ...call.headers, host: url.host, ...proxyAuthorization(forwarder) },
    body: call.bytes ?? call.body ?? null,
    bodyTimeout: timeoutMs,
  };
}
