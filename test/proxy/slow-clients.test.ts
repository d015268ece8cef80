/** The proxy in this process, with patience for clients that is soon over. */
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { nodeClock } from '../../src/node/clock.ts';
import type { Patience } from '../../src/http/server.ts';
import { onCleanup } from '../support/cleanup.ts';
import { commandContext } from '../support/command-context.ts';
import { gate, gated } from '../support/faults.ts';
import { item, json, type Reply, send } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { ask, heardBy, openSocket, sendRaw } from '../support/served.ts';
import { KEY } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';
import { type Identity, tlsIdentities } from '../support/tls.ts';
import { proxyHere } from './proxy-here.ts';

/** So long that only a client that is slow takes it, on a busy machine too. */
const PATIENCE: Patience = { headMs: 1_000, requestMs: 2_000 };

async function proxyFor(replies: readonly Reply[], patience?: Patience, identity?: Identity) {
  const server = await scriptedServer(replies);
  const context = commandContext({ ...createTestContext(), clock: nodeClock });
  return { server, ...(await proxyHere(context, { url: server.baseUrl, apiKey: KEY }, { patience, identity })) };
}

describe('a slow client', () => {
  it.each([
    '',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    '\x16\x03\x01\x00\x05hello',
    'GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ])('of TLS that sends %j of a handshake is disconnected, and others are served', async (sent) => {
    const { server, port } = await proxyFor([json([item(1, 2)])], PATIENCE, tlsIdentities().good);
    const slow = sendRaw(port, sent);
    const socket = connectTls({ host: '127.0.0.1', port, ca: tlsIdentities().ca });
    onCleanup(() => void socket.destroy());
    socket.write('GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(await heardBy(socket).closed).toContain('"petId":1');
    expect(await slow).not.toContain('HTTP');
    expect(server.requests).toHaveLength(1);
  });

  it('whose next request is late gets the answer to the one before it', async () => {
    const held = gate();
    const { server, port } = await proxyFor([gated(held, json([item(1, 2)]))], PATIENCE);
    const socket = openSocket(port);
    const { closed } = heardBy(socket);
    socket.write('GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/inventory HTTP/1.1\r\nX: ');
    await server.received(1);
    // By then the time of the second one is over too.
    expect(await sendRaw(port, 'GET /v1/inventory HTTP/1.1\r\nX: ')).toContain('408');
    held.open();
    const heard = await closed;
    expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(heard).toContain('"petId":1');
  });

  it.each([
    ['Content-Length: 5\r\n\r\nab', 408],
    ['Transfer-Encoding: chunked\r\n\r\nno size\r\n', 400],
  ])('whose body does not come (%j) is logged with the answer that it got', async (rest, status) => {
    const { port, requests, answered } = await proxyFor([], PATIENCE);
    const heard = await sendRaw(port, `PATCH /v1/inventory/7 HTTP/1.1\r\nHost: localhost\r\n${rest}`);
    expect(heard).toContain(`HTTP/1.1 ${status} `);
    await answered(1);
    expect(requests.map((each) => each.status)).toEqual([status]);
  });

  it('whose body has not arrived does not hold up its reads; once it has, later ones wait for the write', async () => {
    const held = gate();
    const done = gated(held, json(item(7, 12)));
    const byTarget: Reply = (exchange) => send(exchange.request.method === 'PATCH' ? done : json([]), exchange);
    const { server, port, requests } = await proxyFor(Array<Reply>(5).fill(byTarget), PATIENCE);
    const till = { headers: { 'user-agent': 'till/3' } };
    await ask(port, '/v1/inventory');
    const writer = openSocket(port);
    const { closed } = heardBy(writer);
    const head = 'Host: localhost\r\nUser-Agent: till/3\r\nContent-Length: 15\r\nConnection: close\r\n\r\n';
    writer.write(`PATCH /v1/inventory/7 HTTP/1.1\r\n${head}{"quan`);
    await ask(port, '/__petstore/status');
    await ask(port, '/v1/inventory?early', till);
    expect(requests.map(({ method, status }) => `${method} ${status}`)).not.toContain('PATCH 408');
    writer.write('tity":12}');
    await server.received(3);
    const late = ask(port, '/v1/inventory?late', till);
    await ask(port, '/v1/inventory?other');
    held.open();
    expect(await closed).toContain('HTTP/1.1 200 ');
    await late;
    const sent = ['?early', '/7', '?other', '?late'].map((end) => expect.stringContaining(`inventory${end}`) as string);
    expect(server.log().slice(1)).toEqual(sent);
  });

  it('has no share in the time that a request waits', async () => {
    const held = gate();
    const { server, port, requests } = await proxyFor([gated(held, json([])), json([])], PATIENCE);
    const [first, second] = [ask(port, '/v1/inventory'), ask(port, '/v1/inventory')];
    await server.received(1);
    expect(await sendRaw(port, 'GET /v1/inventory HTTP/1.1\r\nX: ')).toContain('408');
    held.open();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect(requests.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('the end', () => {
  // Node 22 and 26.0 read no more of a connection whose pipeline waits, so they learn of the end with the answer.
  it.skipIf(/^(22|26\.0)\./.test(process.versions.node))(
    'comes for a client of a pipeline that has left, also while its answer is long',
    async () => {
      const held = gate();
      const long = { body: 'x'.repeat(2_000_000) };
      const byTarget: Reply = (exchange) =>
        send(exchange.request.path.endsWith('long') ? long : gated(held, json([])), exchange);
      const { server, port, requests, answered, close } = await proxyFor([json([]), byTarget, byTarget]);
      await ask(port, '/v1/inventory');
      const socket = openSocket(port);
      const request = 'GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n';
      // The answer to the second one has to wait for the first.
      socket.write(request + request.replace('inventory', 'inventory?long'));
      await server.received(3);
      // Meanwhile it begins to come.
      for (let i = 0; i < 20; i++) await ask(port, '/__petstore/status');
      socket.destroy();
      await answered(22);
      held.open();
      await answered(23);
      await close();
      const passed = requests.filter(({ target }) => target.startsWith('/v1/'));
      expect(passed.map(({ status }) => status)).toEqual([200, 499, 499]);
    },
  );
});
