/** A real HTTP proxy on loopback: CONNECT tunnels and absolute-form requests (RFC 9110, 7.3.2 and 9.3.6), with a log. */
import { createServer, type IncomingMessage, request as forward, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOnLoopback, onCleanup } from './cleanup.ts';
import type { Identity } from './tls.ts';

export interface ProxyOptions {
  /** `user:password`; other requests get a 407. */
  readonly credentials?: string;
  /** Makes clients connect to the proxy itself over TLS. */
  readonly tls?: Identity;
  /** Maps a `host:port` to another address, so that names need not exist. */
  readonly route?: (authority: string) => { readonly host: string; readonly port: number };
}

export interface Proxy {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, or https, for http_proxy and HTTPS_PROXY. */
  readonly url: string;
  /** `CONNECT pets.example:443`, `GET http://pets.example/v1/inventory`. */
  readonly log: readonly string[];
}

export async function startProxy({ credentials, tls, route = hostAndPort }: ProxyOptions = {}): Promise<Proxy> {
  const log: string[] = [];
  const sockets = new Set<Duplex>();
  const keep = <S extends Duplex>(socket: S): S => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    return socket;
  };
  /** Notes the request. */
  const mayPass = ({ method, url, headers }: IncomingMessage): boolean => {
    log.push(`${method} ${url}`);
    return credentials === undefined || headers['proxy-authorization'] === `Basic ${btoa(credentials)}`;
  };

  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    if (mayPass(req)) relay(req, res, route);
    else res.writeHead(407, { 'Proxy-Authenticate': 'Basic realm="proxy"' }).end();
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer({ ...tls }, listener);
  server.on('connection', keep);
  server.on('connect', (req: IncomingMessage, client: Duplex) => {
    const { host, port } = route(req.url ?? '');
    if (mayPass(req)) tunnel(client, keep(connect(port, host)));
    else client.end('HTTP/1.1 407 Refused\r\nProxy-Authenticate: Basic realm="proxy"\r\n\r\n');
  });
  const port = await listenOnLoopback(server);
  onCleanup(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { port, url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, log };
}

function tunnel(client: Duplex, upstream: Socket): void {
  upstream.once('connect', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    client.pipe(upstream).pipe(client);
  });
  upstream.once('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  client.once('close', () => upstream.destroy());
}

function relay(req: IncomingMessage, res: ServerResponse, route: NonNullable<ProxyOptions['route']>): void {
  const url = new URL(req.url ?? '');
  const { host, port } = route(`${url.hostname}:${url.port || '80'}`);
  const headers = { ...req.headers };
  delete headers['proxy-authorization'];
  delete headers['proxy-connection'];
  const onward = forward({ host, port, method: req.method, path: `${url.pathname}${url.search}`, headers }, (reply) => {
    res.writeHead(reply.statusCode ?? 502, reply.rawHeaders as never);
    reply.pipe(res);
  });
  onward.on('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end()));
  req.pipe(onward);
}

function hostAndPort(authority: string): { host: string; port: number } {
  const colon = authority.lastIndexOf(':');
  return { host: authority.slice(0, colon), port: Number(authority.slice(colon + 1)) };
}
