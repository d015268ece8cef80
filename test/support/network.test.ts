import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Agent, ProxyAgent, request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { blackhole, refusedPort } from './holes.ts';
import { startProxy } from './proxy.ts';
import { json } from './replies.ts';
import { scriptedServer } from './scripted-server.ts';
import { caFile, type Identities, tlsIdentities } from './tls.ts';

test('refusedPort refuses', async () => {
  const [error] = (await once(connect(await refusedPort(), '127.0.0.1'), 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('blackhole neither accepts nor refuses', async () => {
  const { port } = await blackhole();
  const socket = connect({ port, host: '127.0.0.1', timeout: 300 });
  onTestFinished(() => void socket.destroy());
  const first = await new Promise((resolve) => {
    for (const event of ['connect', 'error', 'timeout']) socket.once(event, () => resolve(event));
  });
  expect(first).toBe('timeout');
});

test.each<[keyof Omit<Identities, 'ca'>, string]>([
  ['good', 'trusted'],
  ['expired', 'CERT_HAS_EXPIRED'],
  ['selfSigned', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['wrongHost', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])('the %s certificate is %s', async (name, verdict) => {
  const identities = tlsIdentities();
  const server = await scriptedServer(verdict === 'trusted' ? [json([])] : [], { tls: identities[name] });
  const dispatcher = new Agent({ connect: { ca: readFileSync(caFile()) } });
  onTestFinished(() => dispatcher.destroy());
  const seen = await request(server.baseUrl, { dispatcher }).then(
    async ({ body }) => body.text().then(() => 'trusted'),
    (error: NodeJS.ErrnoException) => error.code,
  );
  expect(seen).toBe(verdict);
});

test('the good certificate is not trusted without its authority', async () => {
  const server = await scriptedServer([], { tls: tlsIdentities().good });
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.destroy());
  await expect(request(server.baseUrl, { dispatcher })).rejects.toMatchObject({
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  });
});

test.each([
  ['CONNECT', true],
  ['GET', false],
])('the proxy passes on %s', async (method, proxyTunnel) => {
  const server = await scriptedServer([json(['through'])]);
  const route = () => ({ host: '127.0.0.1', port: server.port });
  const proxy = await startProxy({ credentials: 'clerk:secret', route });
  const token = `Basic ${Buffer.from('clerk:secret').toString('base64')}`;
  const dispatcher = new ProxyAgent({ uri: proxy.url, proxyTunnel, token });
  onTestFinished(() => dispatcher.destroy());
  const { body } = await request('http://pets.example/v1/inventory', { dispatcher });
  expect(await body.json()).toEqual(['through']);
  expect(proxy.log).toEqual([proxyTunnel ? 'CONNECT pets.example:80' : 'GET http://pets.example/v1/inventory']);
  expect(proxy.authorizations).toEqual([token]);
  expect(server.requests.map(({ method: seen, path, headers }) => [seen, path, headers.host])).toEqual([
    ['GET', '/v1/inventory', 'pets.example'],
  ]);
  expect(method).toBe(proxy.log[0]?.split(' ')[0]);
});

test.each([
  ['wants credentials', { credentials: 'clerk:secret' }, 407],
  ['refuses', { refuse: 403 }, 403],
])('a proxy that %s lets nothing through', async (_name, options, status) => {
  const server = await scriptedServer([]);
  const proxy = await startProxy({ ...options, route: () => ({ host: '127.0.0.1', port: server.port }) });
  const { hostname, port } = new URL(proxy.url);
  const socket = connect(Number(port), hostname, () => socket.write('CONNECT pets.example:443 HTTP/1.1\r\n\r\n'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(`HTTP/1.1 ${status} `);
  expect([proxy.log, server.connections]).toEqual([['CONNECT pets.example:443'], 0]);
});
