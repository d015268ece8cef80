/** A reverse proxy that only forwards requests, for test/bench/proxy.ts: with undici or http-proxy-3. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'node:http';
import { Pool } from 'undici';

const CONNECTIONS = 64;

interface HttpProxy3 {
  createProxyServer(options: object): { web: RequestListener };
}

const [kind = '', origin = '', module = ''] = process.argv.slice(2);
const server = createServer(kind === 'undici' ? overUndici() : await overHttpProxy3());
server.listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port);
});

function overUndici(): RequestListener {
  const pool = new Pool(origin, { connections: CONNECTIONS });
  return (incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    const { host: _host, connection: _connection, ...sent } = headers;
    const hasBody = headers['content-length'] !== undefined;
    pool.stream(
      { method, path: url, headers: sent, body: hasBody ? incoming : null },
      ({ statusCode, headers: { connection: _own, ['keep-alive']: _time, ...returned } }) =>
        outgoing.writeHead(statusCode, returned),
      (error) => {
        if (error !== null) outgoing.destroy(error);
      },
    );
  };
}

async function overHttpProxy3(): Promise<RequestListener> {
  const { createProxyServer } = (await import(module)) as HttpProxy3;
  const proxy = createProxyServer({ target: origin, agent: new Agent({ keepAlive: true, maxSockets: CONNECTIONS }) });
  return (incoming, outgoing) => {
    proxy.web(incoming, outgoing);
  };
}
