/** Opens sockets on which a request can be written at once: DNS, TCP, TLS and a proxy's CONNECT, all within one time. */
import type { Socket } from 'node:net';
import Client from 'undici/lib/dispatcher/client.js';
import buildConnector, { type Connector } from 'undici/lib/core/connect.js';
import type { HttpTarget } from '../ports.ts';
import { ConnectTimeout, type Leg, proxyRefusal, toConnectFailure } from './http-failure.ts';
import { CHECKED, openChecked } from './certificates.ts';
import { inTime } from './in-time.ts';
import { portOf, proxyAuthorization } from './proxies.ts';

/** Opens one socket to `target`, through `proxy` where there is one. @throws {HttpFailure} */
export type OpenSocket = (target: HttpTarget, proxy: URL | undefined) => Promise<Socket>;

/** `onSocket` is called with each TCP or TLS socket as soon as it exists, and with the one that it takes over. */
export function socketOpener(onSocket: (socket: Socket, takenOver?: Socket) => void): OpenSocket {
  // Each has a cache of TLS sessions.
  const newConnector = (): Connector => buildConnector({ timeout: 0, allowH2: false, ...CHECKED });
  const toService = newConnector();
  const toProxy = newConnector();

  return async (target, proxy) => {
    const { timeoutMs, url } = target;
    let newest: Socket | undefined;
    const dial = (connector: Connector, to: URL, httpSocket?: Socket): Promise<Socket> =>
      dialOnce((callback) => {
        newest = openChecked(() => connector(addressOf(to, httpSocket), callback));
        onSocket(newest, httpSocket);
        return newest;
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
      return await inTime(target, () => new ConnectTimeout(`no connection within ${timeoutMs} ms`), open);
    } catch (error) {
      newest?.destroy();
      throw toConnectFailure(error, leg, target.signal);
    }
  };
}

function addressOf(url: URL, httpSocket: Socket | undefined): Parameters<Connector>[0] {
  const { host, protocol } = url;
  const hostname = url.hostname.replace(/^\[(.+)\]$/, '$1');
  return { host, hostname, protocol, port: portOf(url), ...(httpSocket !== undefined && { httpSocket }) };
}

function dialOnce(start: (callback: Parameters<Connector>[1]) => Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = start((error, ready) => {
      if (error === null) resolve(ready);
      else reject(error);
    });
    // Destroyed by close(), or because its time is over: neither is an error to the connector.
    socket.once('close', () => {
      reject(new Error('the connection was closed'));
    });
  });
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

/** undici's client over a socket that is connected already; it never opens another. */
export function clientOver(socket: Socket, origin: string): Client {
  let isTaken = false;
  return new Client(origin, {
    allowH2: false,
    // The caller's own timers are exact, and 1xx responses do not start them anew.
    headersTimeout: 0,
    connect: (_options, callback) => {
      // undici does not expect the answer within its own call.
      queueMicrotask(() => {
        if (isTaken || socket.destroyed) {
          callback(new Error('the connection was closed before the request was written'), null);
          return;
        }
        isTaken = true;
        callback(null, socket);
      });
    },
  });
}
