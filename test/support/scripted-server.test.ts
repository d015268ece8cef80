import { once } from 'node:events';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import {
  closeIdle,
  drip,
  endless,
  garbage,
  gate,
  gated,
  hugeHeaders,
  longList,
  never,
  rawReply,
  reset,
  resetAfterHeaders,
  truncate,
} from './faults.ts';
import { item, json, tooMany } from './replies.ts';
import { scriptedServer } from './scripted-server.ts';
import { START } from './virtual-clock.ts';

/** One connection, so that the order of requests on it is certain. */
function client(): Agent {
  const agent = new Agent({ connections: 1, pipelining: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: NodeJS.ErrnoException) => error.code ?? error.name,
  );

test('replies come in order, exact to the digit; requests are kept exactly', async () => {
  const clock = { now: () => START };
  const server = await scriptedServer([json([item(2n ** 63n - 1n, 3)]), tooMany(30)], { clock });
  const dispatcher = client();
  const first = await request(`${server.baseUrl}/inventory`, { dispatcher });
  const second = await request(`${server.baseUrl}/inventory/7?x=1`, {
    dispatcher,
    method: 'PATCH',
    headers: { 'X-Case': 'Kept' },
    body: '{"quantity":3}',
  });
  const limits = { 'x-ratelimit-limit': '60', 'x-ratelimit-reset': `${START / 1_000 + 60}` };
  const shared = { ...limits, date: 'Mon, 02 Mar 2026 14:03:20 GMT', 'content-type': 'application/json' };
  expect([await first.body.text(), first.headers, await second.body.json(), second.headers]).toEqual([
    '[{"petId":9223372036854775807,"quantity":3,"status":"available"}]',
    { ...shared, connection: 'keep-alive', 'content-length': '65', 'x-ratelimit-remaining': '59' },
    { code: 'rate_limited', message: 'Too many requests', status: 429 },
    {
      ...shared,
      connection: 'keep-alive',
      'content-length': '66',
      'x-ratelimit-remaining': '0',
      'retry-after': '30',
    },
  ]);
  expect(server.log()).toEqual(['GET /v1/inventory', 'PATCH /v1/inventory/7?x=1']);
  expect(server.requests[1]).toEqual({
    method: 'PATCH',
    path: '/v1/inventory/7?x=1',
    rawHeaders: [
      ['host', `127.0.0.1:${server.port}`],
      ['connection', 'keep-alive'],
      ['X-Case', 'Kept'],
      ['content-length', '14'],
    ],
    headers: {
      host: `127.0.0.1:${server.port}`,
      connection: 'keep-alive',
      'x-case': 'Kept',
      'content-length': '14',
    },
    body: '{"quantity":3}',
    at: START,
    connection: 1,
    onConnection: 2,
  });
  server.done();
});

test('default headers are dropped, replaced and repeated', async () => {
  const server = await scriptedServer([
    { json: [], limits: false, headers: { Date: undefined, 'content-TYPE': 'text/html', 'Retry-After': ['1', '2'] } },
  ]);
  const { headers, body } = await request(server.baseUrl, { dispatcher: client() });
  await body.dump();
  expect(headers).toEqual({
    connection: 'keep-alive',
    'content-length': '2',
    'content-type': 'text/html',
    'retry-after': ['1', '2'],
  });
});

test('an unscripted request gets 599 and fails done()', async () => {
  const server = await scriptedServer([]);
  const { statusCode, body } = await request(`${server.baseUrl}/pets/1`, { dispatcher: client() });
  await body.dump();
  expect(statusCode).toBe(599);
  expect(() => {
    server.done();
  }).toThrow('Scripted server: no reply was scripted for GET /v1/pets/1. It received: GET /v1/pets/1.');
});

test('an unused reply fails done()', async () => {
  const server = await scriptedServer([json([]), json([])]);
  expect(() => {
    server.done();
  }).toThrow('Scripted server: 2 of the scripted replies were not used. It received: nothing.');
});

test.fails('without done(), what was not used fails the test at its end', async () => {
  await scriptedServer([json([])]);
});

test('what is malformed fails done()', async () => {
  const server = await scriptedServer([]);
  const socket = connect(server.port, '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
  await once(socket, 'close');
  expect(() => {
    server.done();
  }).toThrow('a malformed request came');
});

test.each([
  ['reset', reset(), 'ECONNRESET'],
  ['never, until the client gives up', never(), 'UND_ERR_HEADERS_TIMEOUT'],
  ['garbage', garbage(), 'HTTPParserError'],
  ['hugeHeaders', hugeHeaders(40_000), 'UND_ERR_HEADERS_OVERFLOW'],
  ['resetAfterHeaders', resetAfterHeaders(), 'ECONNRESET'],
  ['truncate', truncate(5, json([item(1, 1)])), 'UND_ERR_SOCKET'],
  ['drip', drip({ chunk: 1, every: 1 }, json([item(1, 1)])), 'no error'],
  ['rawReply', rawReply('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]'), 'no error'],
])('%s', async (_name, reply, code) => {
  const server = await scriptedServer([reply]);
  const attempt = request(server.baseUrl, { dispatcher: client(), method: 'PATCH', body: '{}', headersTimeout: 50 });
  expect(await codeOf(attempt.then(({ body }) => body.text()))).toBe(code);
  expect(server.requests.map(({ method, body }) => [method, body])).toEqual([['PATCH', '{}']]);
});

test('a raw client sees the reset as ECONNRESET', async () => {
  const server = await scriptedServer([reset()]);
  const socket = connect(server.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNRESET');
});

test('a truncated body arrives as far as it was sent', async () => {
  const server = await scriptedServer([truncate(5, json([item(1, 1)]))]);
  const { body } = await request(server.baseUrl, { dispatcher: client() });
  let seen = '';
  const reading = (async () => {
    for await (const piece of body) seen += String(piece);
  })();
  await expect(reading).rejects.toThrow();
  expect(seen).toBe('[{"pe');
});

test('closeIdle hangs up on a kept-alive connection, and complains of a fresh one', async () => {
  const server = await scriptedServer([json([]), closeIdle(), closeIdle()]);
  const dispatcher = client();
  await (await request(server.baseUrl, { dispatcher })).body.dump();
  expect(await codeOf(request(server.baseUrl, { dispatcher }))).toBe('UND_ERR_SOCKET');
  server.requests.forEach(({ connection }) => {
    expect(connection).toBe(1);
  });
  expect(await codeOf(request(server.baseUrl, { dispatcher }))).toBe('UND_ERR_SOCKET');
  expect(() => {
    server.done();
  }).toThrow('closeIdle() met a fresh connection');
});

test.each([false, true])('an endless body flows until the client has enough (gzip: %s)', async (gzip) => {
  const flood = endless({ gzip });
  const server = await scriptedServer([flood]);
  const { body } = await request(server.baseUrl, { dispatcher: client() });
  const enough = gzip ? 10_000 : 200_000;
  const pieces: Buffer[] = [];
  for await (const piece of body) {
    pieces.push(piece as Buffer);
    if (Buffer.concat(pieces).length > enough) break;
  }
  const start = gzip ? gunzipSync(Buffer.concat(pieces), { finishFlush: 2 }) : Buffer.concat(pieces);
  expect(start.subarray(0, 60).toString()).toBe('[{"petId":1,"quantity":1,"status":"available"},{"petId":1,"q');
  expect(flood.bytesSent).toBeGreaterThan(enough);
  expect(flood.bytesDecoded / flood.bytesSent).toBeGreaterThan(gzip ? 100 : 0.99);
});

test('a gated reply waits for its gate', async () => {
  const held = gate();
  const server = await scriptedServer([gated(held, json(['late']))]);
  const happened: string[] = [];
  const attempt = request(server.baseUrl, { dispatcher: client() }).then(async ({ body }) => {
    happened.push('answered');
    return body.text();
  });
  await server.received(1);
  happened.push('opened');
  held.open();
  expect([await attempt, happened]).toEqual(['["late"]', ['opened', 'answered']]);
});

test('longList is a list of items of about that size', () => {
  const text = longList(1_000);
  expect((JSON.parse(text) as unknown[])[1]).toEqual(item(2, 2));
  expect(text.length).toBeGreaterThanOrEqual(1_000);
});
