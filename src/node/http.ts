/**
 * The Http port over undici: keeps connections alive, sends one request at a time on each, follows no redirects and
 * never retries. Proxies come from the environment (proxies.ts); extra authorities from NODE_EXTRA_CA_CERTS, which Node
 * itself adds to every TLS connection.
 */
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import buildConnector, { type Connector } from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import { type Connection, type Context, type Http, type HttpRequest, type HttpTarget, systemHost } from '../ports.ts';
import { inTime } from '../stop.ts';
import { nodeClock } from './clock.ts';
import { hostAndPort, type Leg, proxyRefusal, toConnectFailure, unusableProxy } from './http-failure.ts';
import { Receiver } from './http-reply.ts';
import { portOf, proxyAuthorization, routeTo } from './proxies.ts';

/** How long to keep an unused connection, in ms: the same as undici for a used one. */
const IDLE_MS = 4_000;
/** After which Node gives up an address for the next one, in ms. Its 250 are too short for a slow network. */
const ADDRESS_MS = 1_000;

/** A connection that returns to the pool after each request. */
interface PooledConnection extends Connection {
  readonly socket: Socket;
}

export function openHttp(env: Context['env']): Http {
  const sockets = new Set<Socket>();
  const pool = new Map<string, PooledConnection[]>();
  const openSocket = socketOpener(sockets);

  const open = async (target: HttpTarget, idle: PooledConnection[]): Promise<PooledConnection> => {
    const { origin, protocol } = target.url;
    const route = routeTo(target.url, env);
    if (route.kind === 'unusable') throw unusableProxy(route.variable, route.problem);
    const proxy = route.kind === 'proxy' ? route.proxy : undefined;
    const socket = await openSocket(target, proxy);
    socket.once('timeout', () => socket.destroy());
    const client = clientOver(socket, origin);
    // A proxy forwards requests to an http URL; to https there is a tunnel.
    const forwarder = protocol === 'http:' ? proxy : undefined;
    const onOver = (): void => void idle.push(connection);
    const connection: PooledConnection = {
      socket,
      get isOpen() {
        // False also with data that no request asked for.
        return socket.readyState === 'open' && socket.readableLength === 0;
      },
      async send(request, maySend) {
        const { signal, timeoutMs, url } = request;
        const target = hostAndPort(url);
        const receiver = new Receiver({ target, forwarder, signal, timeoutMs, maySend, onOver });
        client.dispatch(optionsOf(request, forwarder), receiver);
        return receiver.reply();
      },
      release() {
        socket.unref().setTimeout(IDLE_MS);
        idle.push(connection);
      },
    };
    return connection;
  };

  return {
    async connect(target) {
      const { origin } = target.url;
      const idle = pool.get(origin) ?? [];
      pool.set(origin, idle);
      // If a server closes the connection after its response, this is noticed by the next turn.
      if (idle.length > 0) await nodeClock.turn();
      let connection = idle.pop();
      while (connection?.isOpen === false) connection = idle.pop();
      connection ??= await open(target, idle);
      connection.socket.ref().setTimeout(0);
      return connection;
    },
    async close() {
      const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

function optionsOf(call: HttpRequest, forwarder: URL | undefined): Dispatcher.DispatchOptions {
  const { url, timeoutMs, target } = call;
  return {
    origin: url.origin,
    path: forwarder === undefined ? target : `${url.origin}${target}`,
    method: call.method,
    headers:
      forwarder === undefined ? call.headers : { ...call.headers, host: url.host, ...proxyAuthorization(forwarder) },
    body: call.body ?? null,
    bodyTimeout: timeoutMs,
  };
}

/**
 * Returns a function that opens a socket to `target`, ready for a request, through `proxy` if there is one: DNS, TCP,
 * TLS and a proxy's CONNECT, all within one timeout. It throws HttpFailure. Keeps `sockets` up to date: the open ones,
 * from the moment they exist.
 */
function socketOpener(sockets: Set<Socket>) {
  // Each connector caches TLS sessions. Only a server that proves its name gets the key, whatever
  // NODE_TLS_REJECT_UNAUTHORIZED is.
  const limits = { timeout: 0, autoSelectFamilyAttemptTimeout: ADDRESS_MS };
  const newConnector = (): Connector => buildConnector({ ...limits, allowH2: false, rejectUnauthorized: true });
  const toService = newConnector();
  const toProxy = newConnector();

  return async (target: HttpTarget, proxy: URL | undefined): Promise<Socket> => {
    const { timeoutMs, url } = target;
    let newest: Socket | undefined;
    const dial = (connector: Connector, to: URL, httpSocket?: Socket): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const address = { host: to.host, hostname: systemHost(to.hostname), protocol: to.protocol, port: portOf(to) };
        const socket = connector({ ...address, ...(httpSocket && { httpSocket }) }, (error, ready) => {
          if (error === null) resolve(ready);
          else reject(error);
        });
        newest = socket;
        sockets.add(socket);
        // Node crashes if a socket is destroyed before the TLS connection on it. Destroying that one destroys both.
        if (httpSocket !== undefined) sockets.delete(httpSocket);
        socket.once('close', () => {
          sockets.delete(socket);
          // The connector does not report a socket destroyed by close() or by the timeout.
          reject(new Error('the connection was closed'));
        });
      });
    let leg: Leg = proxy === undefined ? { url, to: 'service' } : { url: proxy, to: 'proxy' };
    const open = async (): Promise<Socket> => {
      if (proxy === undefined) return dial(toService, url);
      const socket = await dial(toProxy, proxy);
      if (url.protocol === 'http:') return socket;
      leg = { url: proxy, to: 'tunnel' };
      const tunnel = await openTunnel(socket, url, proxy);
      leg = { url, to: 'service' };
      return dial(toService, url, tunnel);
    };
    try {
      const late = (): Error => Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
      return await inTime({ clock: nodeClock, ...target }, late, open());
    } catch (error) {
      newest?.destroy();
      throw toConnectFailure(error, leg, target.signal);
    }
  };
}

/** Asks the proxy for a tunnel to the service (RFC 9110, 9.3.6). */
async function openTunnel(socket: Socket, url: URL, proxy: URL): Promise<Socket> {
  const { default: connect } = await import('undici/lib/api/api-connect.js');
  const authority = `${url.hostname}:${portOf(url)}`;
  const { statusCode, socket: tunnel } = await connect.call(clientOver(socket, proxy.origin), {
    origin: proxy.origin,
    path: authority,
    headers: { host: authority, ...proxyAuthorization(proxy) },
  });
  if (statusCode >= 200 && statusCode < 300) return tunnel;
  tunnel.destroy();
  throw proxyRefusal(proxy, statusCode);
}

/** Returns undici's client over an open socket; it never opens another. */
function clientOver(socket: Socket, origin: string): Client {
  return new Client(origin, {
    allowH2: false,
    // The caller's own timers are exact, and 1xx responses do not restart them.
    headersTimeout: 0,
    connect: (_options, callback) => {
      // undici does not expect the callback during its own call.
      queueMicrotask(() => {
        // undici asks again once it has closed the socket.
        if (socket.destroyed) callback(new Error('the connection was closed before the request was written'), null);
        else callback(null, socket);
      });
    },
  });
}
