/** A real HTTP proxy on loopback: CONNECT tunnels and absolute-form requests (RFC 9110, 7.3.2 and 9.3.6), with a log. */
import { createServer, type IncomingMessage, request as forward, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { onCleanup } from './cleanup.ts';
import type { Identity } from './tls.ts';

export interface ProxyOptions {
  /** `user:password`; other requests get a 407. */
  readonly credentials?: string;
  /** Makes clients connect to the proxy itself over TLS. */
  readonly tls?: Identity;
  /** Answers everything with this status. */
  readonly refuse?: number;
  /** Maps a `host:port` to another address, so that names need not exist. */
  readonly route?: (authority: string) => { readonly host: string; readonly port: number };
}

export interface Proxy {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, or https, for http_proxy and HTTPS_PROXY. */
  readonly url: string;
  /** `CONNECT pets.example:443`, `GET http://pets.example/v1/inventory`. */
  readonly log: readonly string[];
  /** Proxy-Authorization of each request, as sent. */
  readonly authorizations: readonly (string | undefined)[];
  close(): Promise<void>;
}

interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

export async function startProxy(options: ProxyOptions = {}): Promise<Proxy> {
  const route = options.route ?? hostAndPort;
  const log: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Duplex>();
  const keep = <S extends Duplex>(socket: S): S => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    return socket;
  };
  const note = (req: IncomingMessage): Refusal | undefined => {
    log.push(`${req.method} ${req.url}`);
    authorizations.push(req.headers['proxy-authorization']);
    return refusal(req, options);
  };

  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    const refused = note(req);
    if (refused === undefined) relay(req, res, route);
    else res.writeHead(refused.status, refused.headers).end();
  };
  const { tls } = options;
  const server = tls === undefined ? createServer(listener) : createSecureServer({ ...tls }, listener);
  server.on('connection', keep);
  server.on('connect', (req: IncomingMessage, client: Duplex) => {
    const refused = note(req);
    if (refused === undefined) {
      const { host, port } = route(req.url ?? '');
      tunnel(client, keep(connect(port, host)));
    } else client.end(rawHead(refused));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  onCleanup(close);
  return { port, url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, log, authorizations, close };
}

function refusal(req: IncomingMessage, { credentials, refuse }: ProxyOptions): Refusal | undefined {
  if (refuse !== undefined) return { status: refuse, headers: {} };
  if (credentials === undefined) return undefined;
  const expected = `Basic ${Buffer.from(credentials).toString('base64')}`;
  if (req.headers['proxy-authorization'] === expected) return undefined;
  return { status: 407, headers: { 'Proxy-Authenticate': 'Basic realm="proxy"' } };
}

const rawHead = ({ status, headers }: Refusal): string =>
  [`HTTP/1.1 ${status} Refused`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  );

function tunnel(client: Duplex, upstream: Socket): void {
  upstream.once('connect', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    client.pipe(upstream).pipe(client);
  });
  upstream.once('error', () => client.end(rawHead({ status: 502, headers: {} })));
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
