/** How petstore's servers shut down. */
import dns from 'node:dns';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { serve, type ServerOptions } from '../../src/http/server.ts';
import { isLoopback } from '../../src/ports.ts';
import { onCleanup } from '../support/cleanup.ts';
import { openSocket } from '../support/served.ts';
import { tlsIdentities } from '../support/tls.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** A server whose alarms the test rings: the first is for idle connections, the second for all. */
async function served(identity?: ServerOptions['identity'], host = '127.0.0.1') {
  const rings: (() => void)[] = [];
  const arrivals: Socket[] = [];
  const serving = await serve({
    host,
    port: 0,
    identity,
    patience: { headMs: 3_600_000, requestMs: 3_600_000 },
    clock: { alarm: (_ms, ring) => (rings.push(ring), () => undefined) },
    handle: ({ headers, url }, outgoing) => {
      outgoing.end(`${headers.host} ${url}`);
      return Promise.resolve();
    },
    refuse: ([status], body = '') => ({ status, headers: {}, body }),
    onConnection: (socket) => arrivals.push(socket),
  });
  onCleanup(() => serving.close(0));
  const port = Number(new URL(serving.baseUrl).port);
  return {
    serving,
    rings,
    async connect(): Promise<Socket> {
      const count = arrivals.length;
      const socket = openSocket(port);
      await once(socket, 'connect');
      while (arrivals.length === count) await new Promise(setImmediate);
      return socket;
    },
  };
}

async function answer(socket: Socket, request = REQUEST): Promise<string> {
  socket.write(request);
  return String((await once(socket, 'data'))[0]);
}

it.each(['pets.localhost', 'localhost.'])('at %s listens on this machine, whatever a DNS server says', async (name) => {
  const lookup = vi.spyOn(dns, 'lookup');
  const { serving } = await served(undefined, name);
  expect(isLoopback(new URL(serving.baseUrl).hostname)).toBe(true);
  expect(lookup.mock.calls.map(([host]) => host)).toEqual(['localhost']);
});

it('that ends answers the requests that come on idle and on new connections, and closes them then', async () => {
  const { serving, rings, connect } = await served();
  const [idle, quiet, fresh, silent] = [await connect(), await connect(), await connect(), await connect()];
  for (const socket of [idle, quiet])
    expect(await answer(socket)).toContain('Connection: keep-alive\r\nKeep-Alive: timeout=75\r\n');
  const closed = serving.close(20_000);
  for (const socket of [idle, fresh]) {
    const end = once(socket, 'close');
    expect(await answer(socket)).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close[^]*localhost/);
    await end;
  }
  expect([quiet.destroyed, silent.destroyed]).toEqual([false, false]);
  rings[0]?.();
  await closed;
});

it('that ends does not wait for a TLS handshake', async () => {
  const { serving, rings, connect } = await served(tlsIdentities().good);
  await connect();
  (await connect()).write('\x16\x03\x01');
  const closed = serving.close(20_000);
  rings[0]?.();
  await closed;
});

it.each([
  ['http://127.0.0.1:80/v1/a?b=//c', '127.0.0.1:80 /v1/a?b=//c'],
  ['HTTPS://shop.example', 'shop.example /'],
  ['http://?a', ' /?a'],
  ['/http://shop.example/', 'localhost /http://shop.example/'],
])('a target %s is read as %s', async (target, expected) => {
  const { connect } = await served();
  const heard = await answer(await connect(), REQUEST.replace('/', target));
  expect(heard.split('\r\n\r\n')[1]).toBe(expected);
});
