/** `petstore proxy` between real sockets: what it passes on, what it refuses, and what a client learns of failures. */
import { once } from 'node:events';
import { readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { exits, type PetstoreOptions, runPetstore } from '../support/binary.ts';
import { gate, gated, rawReply, reset, truncate } from '../support/faults.ts';
import { createHome, fileIn } from '../support/home.ts';
import { error, item, json, type Reply, tooMany } from '../support/replies.ts';
import { type ScriptedServer, scriptedServer } from '../support/scripted-server.ts';
import {
  ask,
  heardBy,
  JSON_TYPE,
  listen,
  openSocket,
  type Plain,
  plentyLeft,
  sendRaw,
  type ServedProxy,
  serveProxy,
  serveSandbox,
} from '../support/served.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { jsonLines, KEY, staging } from '../support/staging.ts';

/** The standalone executable has another runtime: it ends such a read only after its grace, and knows sockets less well. */
const isNode = process.env.PETSTORE_BIN === undefined;
const proxies: ServedProxy[] = [];

async function start(env: Readonly<Record<string, string>>, args: readonly string[] = [], options?: PetstoreOptions) {
  const proxy = await serveProxy(env, args, options);
  proxies.push(proxy);
  return proxy;
}

/** A proxy in front of scripted replies. */
async function inFrontOf(replies: readonly Reply[], args: readonly string[] = [], options?: PetstoreOptions) {
  const server = await scriptedServer(replies);
  return { server, proxy: await start(staging(server.baseUrl), args, options) };
}

afterEach(() => {
  for (const { stdout, stderr } of proxies.splice(0)) expect(stdout + stderr).not.toContain(KEY);
});

/** A service that answers anything, and notes each request as method, target and body. */
async function recorder(): Promise<{ readonly baseUrl: string; readonly seen: string[]; readonly names: string[] }> {
  const seen: string[] = [];
  const names: string[] = [];
  const port = await listen(async (req, res) => {
    const chunks = await Array.fromAsync(req as AsyncIterable<Buffer>);
    seen.push([req.method, req.url, Buffer.concat(chunks).toString()].join(' ').trim());
    names.push(...Object.keys(req.headers));
    res.writeHead(200, plentyLeft()).end('{}');
  });
  return { baseUrl: `http://127.0.0.1:${port}/v1`, seen, names };
}

/** The status lines in what a connection heard. */
const statuses = (heard: string): number[] =>
  [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** The proxy's own answer about itself. */
const own = ({ port, token }: ServedProxy, name: string): Promise<Plain> =>
  ask(port, `/__petstore/${name}`, { headers: { authorization: `Bearer ${token}` } });

/** Resolves once that many requests wait. */
async function queued(proxy: ServedProxy, count: number): Promise<void> {
  while (!(await own(proxy, 'status')).body.includes(`"queue":${count},`)) continue;
}

const headOf = ({ token }: ServedProxy, line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`, ...headers, '', ''].join('\r\n');

/** Resolves once the proxy has noticed what happened before on other connections. */
async function caughtUp({ port }: ServedProxy): Promise<void> {
  expect(await sendRaw(port, 'garbage\r\n\r\n')).toContain('malformed');
}

const PATCH = { method: 'PATCH', headers: { ...JSON_TYPE, 'user-agent': 'till/3' }, body: '{"quantity":12}' };

async function history(server: ScriptedServer, options: PetstoreOptions): Promise<unknown[]> {
  const { stdout } = await runPetstore(['inventory', 'history', '--json'], {
    ...options,
    env: staging(server.baseUrl),
  });
  return JSON.parse(stdout) as unknown[];
}

describe('what passes', () => {
  it('methods, targets, headers and bodies both ways, digit for digit', async () => {
    const big = '[{"petId":9223372036854775807,"quantity":-9223372036854775808,"x":1.10}]';
    const { server, proxy } = await inFrontOf([
      json(undefined, { headers: { 'X-Trace': ['a', 'b'] } }),
      { body: big, headers: { 'Content-Type': 'application/json; charset=utf-8' } },
      { status: 201, body: 'made', headers: { Location: '/v1/things/1' } },
      { status: 204 },
      // Bytes that are not ASCII: é in UTF-8, and one that is not.
      { status: 304, headers: { ETag: '"\u00c3\u00a9\u00ff"' } },
      { body: big, headers: { 'Content-Length': `${big.length}` } },
    ]);
    const own = { 'X-Own': 'one', 'User-Agent': 'till/3' };
    const answer = await proxy.ask("/a%2Fb//c;d='e'?q=%C3%A9&q=&x[]=1", { headers: own });
    expect(answer.headers).toMatchObject({ 'x-trace': 'a, b', 'x-ratelimit-remaining': '59' });
    expect((await proxy.ask('/inventory')).body).toBe(big);
    const made = await proxy.ask('/things', { method: 'POST', body: '{"n":9223372036854775807}', headers: JSON_TYPE });
    expect([made.status, made.body, made.headers.location]).toEqual([201, 'made', '/v1/things/1']);
    expect((await proxy.ask('/things/1', { method: 'DELETE' })).status).toBe(204);
    expect(await proxy.ask('/things/1', { headers: { 'If-None-Match': '"7"' } })).toMatchObject({
      status: 304,
      headers: { etag: '"\u00c3\u00a9\u00ff"' },
    });
    const head = await proxy.ask('/inventory', { method: 'HEAD' });
    expect([head.body, head.headers['content-length']]).toEqual(['', `${big.length}`]);
    expect(server.log()).toEqual([
      "GET /v1/a%2Fb//c;d='e'?q=%C3%A9&q=&x[]=1",
      'GET /v1/inventory',
      'POST /v1/things',
      'DELETE /v1/things/1',
      'GET /v1/things/1',
      'HEAD /v1/inventory',
    ]);
    const { headers } = server.requests[0]!;
    expect(headers).toMatchObject({ 'x-own': 'one', 'user-agent': 'till/3', via: '1.1 petstore_proxy' });
    expect(headers).toMatchObject({ authorization: `Bearer ${KEY}`, host: `127.0.0.1:${server.port}` });
    expect(server.requests[2]).toMatchObject({ body: '{"n":9223372036854775807}' });
  });

  it('the key itself is accepted as the token; a file keeps a token; --no-token asks for none', async () => {
    const home = createHome();
    const { baseUrl } = await recorder();
    const file = join(home.path, 'token');
    const first = await start(staging(baseUrl), ['--token-file', file], { home });
    const token = readFileSync(file, 'utf8').trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(first.stdout).not.toContain(token);
    for (const [given, status] of [
      [token, 200],
      [KEY, 200],
      [`${token}x`, 401],
    ] as const) {
      const headers = { authorization: `Bearer ${given}` };
      expect((await ask(first.port, '/v1/inventory', { headers })).status).toBe(status);
    }
    const second = await start(staging(baseUrl), ['--no-token', '--read-only'], { home });
    expect((await ask(second.port, '/v1/inventory')).status).toBe(200);
    expect(JSON.parse((await ask(second.port, '/v1/inventory/7', PATCH)).body)).toMatchObject({ code: 'read_only' });
  });

  it('fault 145: a token file without an end, or that others may read, is told', async () => {
    const home = createHome();
    const { baseUrl } = await recorder();
    const run = (...args: string[]) =>
      runPetstore(['proxy', '--port', '0', '--token-file', ...args], { home, env: staging(baseUrl) });
    expect(await run('/dev/zero')).toMatchObject(exits(2, '/dev/zero is larger than'));
    const file = fileIn(home, 'my token', 'two words of a file\n', 0o640);
    expect(await run(file)).toMatchObject(exits(3, `${file} does not contain a token: `));
    writeFileSync(file, `${'t'.repeat(20)}\n`, { mode: 0o640 });
    symlinkSync(file, join(home.path, 'link'));
    const link = await start(staging(baseUrl), ['--token-file', join(home.path, 'link')], { home });
    const headers = { authorization: `Bearer ${'t'.repeat(20)}` };
    expect((await ask(link.port, '/v1/inventory', { headers })).status).toBe(200);
    const shared = await start(staging(baseUrl), ['--token-file', file], { home });
    expect(shared.stderr).toContain(`read or change the token in ${file}: run chmod 600 '${file}'`);
  });

  it('production has to be asked for', async () => {
    const env = { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: 'http://127.0.0.1:9/v1' };
    const home = createHome();
    await runPetstore(['config', 'set', 'env', 'production'], { home });
    const refused = await runPetstore(['proxy', '--port', '0'], { home, env });
    expect(refused).toMatchObject(exits(2, 'petstore proxy --env production'));
  });
});

describe('the catalog of a gateway', () => {
  it('is that of the terminals behind it, which keep what they have themselves', async () => {
    const shop = await serveSandbox([]);
    const [office, till] = [createHome(), createHome()];
    const staged = staging(shop.baseUrl, shop.apiKey);
    const petstore = async (env: Readonly<Record<string, string>>, ...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runPetstore(args, { home: env === staged ? office : till, env });
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/warning|error/)]);
      return stdout;
    };
    await petstore(staged, ...'catalog set 7 --name Goldfish --barcode 4006381333931 --min 4 --target 20'.split(' '));
    await petstore(staged, ...'catalog set 8 --name Budgerigar'.split(' '));
    const proxy = await start(staged, [], { home: office });
    const gateway = staging(proxy.baseUrl, proxy.token);

    await petstore(gateway, 'catalog', 'set', '8', '--name', 'Budgie');
    // A wrong token does not keep the catalog away from the right one.
    const wrong = { home: till, env: staging(proxy.baseUrl, 'another-token') };
    expect((await runPetstore(['inventory', 'list'], wrong)).code).toBe(4);
    // A smoke test also asks with a wrong key.
    await petstore(gateway, 'smoke', '--quiet');
    expect(await petstore(gateway, 'inventory', 'get', '--barcode', '4006381333931')).toContain('Goldfish');
    const goldfish = { petId: 7, name: 'Goldfish', barcodes: ['4006381333931'], min: 4, target: 20, source: 'service' };
    const budgie = { petId: 8, name: 'Budgie', barcodes: [], min: null, target: null, source: 'local' };
    const catalog = async (): Promise<unknown> => JSON.parse(await petstore(gateway, 'catalog', 'list', '--json'));
    expect(await catalog()).toEqual([goldfish, budgie]);

    // Asked for again after a minute, and taken over where it has changed. A clock can be set on Node alone.
    if (!isNode) return;
    await petstore(staged, 'catalog', 'remove', '7');
    await petstore(staged, 'catalog', 'set', '9', '--name', 'Persian cat');
    await petstore(gateway, 'inventory', 'list', '--quiet');
    expect(await catalog()).toEqual([goldfish, budgie]);
    const listLater = (minutes: number): Promise<string> => {
      const later = `data:text/javascript,const{now}=Date;Date.now=()=>now()+${minutes}*61e3`;
      return petstore({ ...gateway, NODE_OPTIONS: `--import=${later}` }, 'inventory', 'list', '--quiet');
    };
    await listLater(1);
    const cat = { ...budgie, petId: 9, name: 'Persian cat', source: 'service' };
    expect(await catalog()).toEqual([budgie, cat]);
    await petstore(gateway, 'catalog', 'remove', '8');
    await listLater(2);
    expect(await catalog()).toEqual([{ ...budgie, name: 'Budgerigar', source: 'service' }, cat]);
  });

  it('has an ETag, and needs the token', async () => {
    const proxy = await start(staging((await serveSandbox([])).baseUrl));
    const ask = (headers: Record<string, string>): Promise<Response> =>
      fetch(proxy.baseUrl.replace(/v1$/, '__petstore/catalog'), { headers });
    const first = await ask({ authorization: `Bearer ${proxy.token}` });
    expect([first.status, await first.json()]).toEqual([200, []]);
    const etag = first.headers.get('etag')!;
    for (const known of [etag, `W/${etag}`]) {
      const again = await ask({ authorization: `Bearer ${proxy.token}`, 'if-none-match': known });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
    expect((await ask({})).status).toBe(401);
  });
});

describe('an update with If-Match', () => {
  const conditional = (ifMatch: string) => ({ ...PATCH, headers: { ...PATCH.headers, 'if-match': ifMatch } });
  const list = json([item(7, 10)]);

  it.each([
    ['"10"', [list, json(item(7, 12))], ['GET /v1/inventory', 'PATCH /v1/inventory/7'], 200, '"quantity":12'],
    ['*', [json(item(7, 12))], ['PATCH /v1/inventory/7'], 200, '"quantity":12'],
    ['"11"', [list], ['GET /v1/inventory'], 412, '"code":"precondition_failed"'],
    ['10', [], [], 400, '"code":"usage"'],
    ['"10"', [json([item(8, 10)])], ['GET /v1/inventory'], 404, '"code":"pet_not_found"'],
    ['"10"', [error(401)], ['GET /v1/inventory'], 401, '"code":"unauthorized"'],
    // It could not be checked.
    ['"10"', [], [], 400, 'If-Match needs a body', '{"quantity":1.5}'],
    ['*', [error(400)], ['PATCH /v1/inventory/7'], 400, '', '{"quantity":1.5}'],
  ])('%s', async (ifMatch, replies, sent, status, text, body = PATCH.body) => {
    const { server, proxy } = await inFrontOf(replies);
    const answer = await proxy.ask('/inventory/7', { ...conditional(ifMatch), body });
    const isPassed = status < 400 || replies.at(-1)?.status === status;
    expect([answer.status, answer.headers['petstore-gateway']]).toEqual([status, isPassed ? '1' : 'refused']);
    expect(answer.body).toContain(text);
    expect(server.log()).toEqual(sent);
    expect(server.requests.filter(({ headers }) => headers['if-match'] === '"10"')).toEqual([]);
  });

  it.each(
    ['7/', '/7', '007', '+7', '%2B7', '7.0', '-7', '-07'].map((pet) => `/inventory/${pet}`).concat('//Inventory/7'),
  )('counts for %s, which a service may read as pet 7 or -7', async (path) => {
    const { server, proxy } = await inFrontOf([json([item(7, 10), item(-7, 10)])]);
    expect((await proxy.ask(path, conditional('"11"'))).status).toBe(412);
    expect(server.log()).toEqual(['GET /v1/inventory']);
  });

  it('a 412 has what the pet has, and is in no history; the others are, with their client and the quantity before', async () => {
    const home = createHome();
    const { server, proxy } = await inFrontOf([list, list, json(item(7, 12)), json(item(8, 12))], [], { home });
    const refused = JSON.parse((await proxy.ask('/inventory/7', conditional('"9"'))).body) as unknown;
    const message = 'Pet 7 has a quantity of 10, not the expected 9; nothing was changed.';
    expect(refused).toEqual({ code: 'precondition_failed', message, status: 412, quantity: 10 });
    expect((await proxy.ask('/inventory/7', conditional('"10"'))).status).toBe(200);
    await proxy.ask('/inventory/8', { ...PATCH, headers: { ...JSON_TYPE, 'user-agent': 'till/4' } });
    expect(await history(server, { home })).toMatchObject([
      { petId: 8, before: null, after: 12, who: 'till/4' },
      { petId: 7, before: 10, after: 12, who: 'till/3' },
    ]);
  });

  it('passes through on every other request; a header of the service that claims a gateway does not', async () => {
    const claims = json(item(7, 1), { headers: { 'Petstore-Gateway': '2' } });
    const { server, proxy } = await inFrontOf([claims]);
    const read = await proxy.ask('/inventory', { headers: { 'if-match': '"a"' } });
    expect(read.headers['petstore-gateway']).toBe('1');
    expect(server.requests.map(({ headers }) => headers['if-match'])).toEqual(['"a"']);
    expect(await sendRaw(proxy.port, 'garbage\r\n\r\n')).toContain('petstore-gateway: refused');
  });
});

describe('what is refused', () => {
  it('reaches no service: tunnels, other paths, what is no request', async () => {
    const { baseUrl, seen } = await recorder();
    const proxy = await start(staging(baseUrl));
    const close = 'Connection: close';
    const target = '/v1/inventory';
    const cases: readonly (readonly [string, number, string])[] = [
      [headOf(proxy, 'CONNECT evil.example:443'), 501, 'no_tunnels'],
      [headOf(proxy, 'GET /v1/%2e%2e%2fadmin', close), 404, 'not_found'],
      [headOf(proxy, `GET ${target}`, 'Host: localhost', close), 400, 'malformed'],
      [headOf(proxy, `GET ${target}`, close).replace(/Host.*\r\n/, ''), 400, 'malformed'],
      [headOf(proxy, `GET ${target}`, `X-Long: ${'x'.repeat(20_000)}`), 431, 'head_too_large'],
      [headOf(proxy, `GET ${target}?${'x'.repeat(20_000)}`), 431, 'head_too_large'],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed'],
      ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'malformed'],
    ];
    for (const [sent, status, code] of cases) {
      const heard = await sendRaw(proxy.port, sent);
      expect([heard.split('\r\n')[0], heard], sent.slice(0, 100)).toEqual([
        expect.stringContaining(` ${status} `),
        expect.stringContaining(`"code":"${code}"`),
      ]);
      expect(statuses(heard)).toHaveLength(1);
      expect(heard).toMatch(/^petstore-gateway: refused\r$/m);
    }
    expect(seen).toEqual([]);
  });

  it('a body that is too large', async () => {
    const { baseUrl, seen } = await recorder();
    const proxy = await start(staging(baseUrl));
    const large = await proxy.ask('/inventory/7', { ...PATCH, body: ' '.repeat(2 ** 20 + 1) });
    expect([large.status, JSON.parse(large.body)]).toEqual([413, expect.objectContaining({ code: 'too_large' })]);
    const line = 'PATCH /v1/inventory/7';
    // Many clients read no answer before they have sent all.
    const slow = openSocket(proxy.port);
    const refusal = heardBy(slow);
    slow.write(`${headOf(proxy, 'PATCH /other', 'Content-Length: 2')} `);
    await caughtUp(proxy);
    expect(refusal.text()).toBe('');
    slow.write(' ');
    expect(statuses(await refusal.closed)).toEqual([404]);
    expect(seen).toEqual([]);
    const socket = openSocket(proxy.port);
    const heard = heardBy(socket);
    socket.write(headOf(proxy, line, 'Content-Length: 2', 'Expect: 100-continue', 'Connection: close'));
    await once(socket, 'data');
    expect(heard.text()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('{}');
    expect(statuses(await heard.closed)).toEqual([100, 200]);
    const old = headOf(proxy, line, 'Content-Length: 2', 'Expect: 100-continue').replace('HTTP/1.1', 'HTTP/1.0');
    expect(statuses(await sendRaw(proxy.port, `${old}{}`))).toEqual([200]);
    expect(seen).toEqual(['PATCH /v1/inventory/7 {}', 'PATCH /v1/inventory/7 {}']);
  });
});

describe('a request within a request', () => {
  const HIDDEN = 'DELETE /v1/hidden HTTP/1.1\r\nHost: localhost\r\nX: ';

  it('the service sees exactly the requests that were meant', async () => {
    const { baseUrl, seen, names } = await recorder();
    // Without a token, so that a hidden request would not be stopped by that.
    const proxy = await start(staging(baseUrl), ['--no-token']);
    const post = (...lines: string[]): string =>
      ['POST /v1/meant HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines].join('\r\n');
    const chunked = `0\r\n\r\n${HIDDEN}`;
    const refused = [
      post('Content-Length: 6', 'Transfer-Encoding: chunked', '', chunked),
      post('Transfer-Encoding: chunked', 'Content-Length: 6', '', chunked),
      post('Content-Length: 4', 'Content-Length: 60', '', `abcd${HIDDEN}`),
      post('Content-Length: +4', '', `abcd${HIDDEN}`),
      post('Content-Length: -1', '', HIDDEN),
      post('Content-Length : 4', '', `abcd${HIDDEN}`),
      post('Content-Length: 99999999999999999999', '', HIDDEN),
      post('Transfer-Encoding: xchunked', '', chunked),
      post('Transfer-Encoding:\x0bchunked', '', chunked),
      post('Transfer-Encoding : chunked', '', chunked),
      post('X: y\nTransfer-Encoding: chunked', '', chunked),
      post('Transfer-Encoding: identity', '', chunked),
      post('Transfer-Encoding: chunked', '', `-1\r\n${HIDDEN}`),
      post('Transfer-Encoding: chunked', '', `1\r\nab\r\n${chunked}`),
      post('Transfer-Encoding: chunked', '', `fffffffffffffffff\r\n${HIDDEN}`),
      post('X: y\r\n folded: z', '', HIDDEN),
      post('X: y\0z', '', HIDDEN),
    ];
    for (const sent of refused) {
      const heard = await sendRaw(proxy.port, sent);
      expect(statuses(heard), sent).toEqual([400]);
      expect(seen, sent).toEqual([]);
    }
    const passed: readonly (readonly [string, string])[] = [
      [post(`Content-Length: ${HIDDEN.length}`, '', HIDDEN), HIDDEN.trim()],
      [post('Transfer-Encoding: chunked', '', '5;a=b;c="d"\r\nhello\r\n0;x\r\nX-Trailer: y\r\n\r\n'), 'hello'],
      [post('Transfer-Encoding: chunked', '', '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'), 'hello'],
      // As Java asks for HTTP/2: the answer is one of HTTP/1.1.
      [post('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'Content-Length: 2', '', '{}'), '{}'],
      // What follows the last request of a connection is not read.
      [post('Content-Length: 2', '', `{}${HIDDEN}y\r\n\r\n`), '{}'],
    ];
    for (const [sent, body] of passed) {
      expect(statuses(await sendRaw(proxy.port, sent)), sent).toEqual([200]);
      expect(seen.splice(0), sent).toEqual([`POST /v1/meant ${body}`]);
    }
    expect(names).not.toContain('transfer-encoding');
    expect(names).not.toContain('x-trailer');
  });

  it('requests of a pipeline are answered in their order', async () => {
    const { baseUrl, seen } = await recorder();
    const proxy = await start(staging(baseUrl));
    const one = headOf(proxy, 'GET /v1/one');
    const two = `${headOf(proxy, 'PATCH /v1/inventory/7', 'Content-Length: 2')}{}`;
    const heard = await sendRaw(proxy.port, one + two + headOf(proxy, 'GET /v1/three', 'Connection: close'));
    expect(statuses(heard)).toEqual([200, 200, 200]);
    expect(seen.splice(0).toSorted()).toEqual(['GET /v1/one', 'GET /v1/three', 'PATCH /v1/inventory/7 {}']);
    // A refusal ends the connection, and so does a body whose end is doubtful.
    const most = 2 ** 20;
    const long = `${headOf(proxy, 'PUT /v1/a', `Content-Length: ${most + 1}`)}${'x'.repeat(most + 1)}`;
    const chunks = `${most.toString(16)}\r\n${'x'.repeat(most)}\r\n1\r\nx\r\n0\r\n\r\n`;
    const chunked = headOf(proxy, 'PUT /v1/a', 'Transfer-Encoding: chunked', 'Connection: keep-alive');
    const old = `${chunked.replace('HTTP/1.1', 'HTTP/1.0')}0\r\n\r\n`;
    for (const [first, status] of [
      [headOf(proxy, 'GET /other'), 404],
      [long, 413],
      [chunked + chunks, 413],
      [old, 200],
    ])
      expect(statuses(await sendRaw(proxy.port, `${first}${two}`))).toEqual([status]);
    await proxy.ask('/last');
    expect(seen).toEqual(['PUT /v1/a', 'GET /v1/last']);
  });

  it('what follows a write that is under way does not become its answer', async () => {
    const held = [gate(), gate()] as const;
    const { server, proxy } = await inFrontOf(held.map((each) => gated(each, json(item(7, 12)))));
    const write = `${headOf(proxy, 'PATCH /v1/inventory/7', 'Content-Length: 15')}{"quantity":12}`;
    const begin = async (count: number) => {
      const socket = openSocket(proxy.port);
      const heard = heardBy(socket);
      socket.write(write);
      await server.received(count);
      return { socket, heard };
    };
    const first = await begin(1);
    first.socket.write('garbage\r\n\r\n');
    await caughtUp(proxy);
    held[0].open();
    const text = await first.heard.closed;
    expect(statuses(text)).toEqual([200]);
    expect(text).toMatch(/^connection: close\r$/im);
    const second = await begin(2);
    second.socket.write(headOf(proxy, 'CONNECT evil.example:443'));
    expect(await second.heard.closed).toBe('');
    held[1].open();
    await proxy.answered(2);
    expect(proxy.log()).toEqual([expect.stringMatching(/ 200 {2}PATCH/), expect.stringMatching(/ 499 {2}PATCH/)]);
  });
});

describe('the log', () => {
  it('has a line for each request, and nothing of a client becomes a line or a control character of its own', async () => {
    const { baseUrl } = await recorder();
    const proxy = await start(staging(baseUrl));
    const heard = await sendRaw(
      proxy.port,
      headOf(proxy, 'GET /v1/x?%9b', 'User-Agent: \x9b2Jtill\t\xff', 'Connection: close'),
    );
    expect(statuses(heard)).toHaveLength(1);
    await proxy.ask(`/x?key=${KEY}`);
    await proxy.answered(2);
    // eslint-disable-next-line no-control-regex -- it is about control characters
    expect(proxy.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect(proxy.log()).toHaveLength(2);
  });

  it('is JSON lines in a file; status and metrics tell the rest', async () => {
    const home = createHome();
    const { baseUrl } = await recorder();
    const file = join(home.path, 'log');
    const proxy = await start(staging(baseUrl), ['--log', file], { home });
    await proxy.ask('/inventory?a=1', { headers: { 'user-agent': 'till/3' } });
    // As a log rotation does.
    while (readFileSync(file, 'utf8') === '') await new Promise(setImmediate);
    renameSync(file, `${file}.1`);
    await proxy.ask('/../x', { headers: { 'user-agent': '' } });
    expect(JSON.parse((await own(proxy, 'status')).body)).toMatchObject({
      environment: 'staging',
      baseUrl,
      queue: 0,
      inFlight: 0,
      rateLimit: { limit: 99_999, remaining: 99_998 },
      block: null,
      ledger: null,
    });
    const metrics = await own(proxy, 'metrics');
    expect(metrics.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(metrics.body).toContain('petstore_proxy_requests_total{method="GET",status="404"} 1\n');
    expect((await own(proxy, 'else')).status).toBe(404);
    await proxy.end('SIGTERM');
    expect(jsonLines(readFileSync(`${file}.1`, 'utf8'))).toMatchObject([
      {
        method: 'GET',
        target: '/v1/inventory?a=1',
        status: 200,
        client: 'till/3',
        waitedMs: expect.any(Number) as number,
      },
    ]);
    expect(jsonLines(readFileSync(file, 'utf8'))).toMatchObject([
      { method: 'GET', target: '/v1/../x', status: 404, client: 'unknown', error: 'not_found' },
      { target: '/__petstore/status', status: 200 },
      { target: '/__petstore/metrics', status: 200 },
      { target: '/__petstore/else', status: 404 },
    ]);
    expect(proxy.stderr).toBe('');
  });
});

describe('the rate limit', () => {
  it.skipIf(!hasRedis)('shared with other machines: status and metrics show that, and a loss', async () => {
    const redis = await startRedis();
    const { baseUrl } = await recorder();
    const proxy = await start({ ...staging(baseUrl), PETSTORE_LEDGER: redis.url });
    const body = async (name: string): Promise<string> => (await own(proxy, name)).body;
    const ledger = async (): Promise<unknown> => (JSON.parse(await body('status')) as { ledger: unknown }).ledger;
    expect(await ledger()).toEqual({ machines: 1, lent: 0, lost: null });
    expect(await body('metrics')).toMatch(/^petstore_ledger_up 1\n[^]*^petstore_ledger_machines 1\n/m);
    await redis.kill('SIGKILL');
    await expect.poll(ledger).toEqual({
      machines: 1,
      lent: 0,
      lost: {
        since: expect.any(String) as string,
        says: expect.any(String) as string,
        nextTry: expect.any(String) as string,
      },
    });
    expect(await body('metrics')).toContain('\npetstore_ledger_up 0\n');
    expect(proxy.stderr.match(/Redis/g)).toHaveLength(1);
  });

  it('a 429 of the service blocks: it is answered with 429 and its end, and nothing more is sent', async () => {
    const home = createHome();
    const { server, proxy } = await inFrontOf([tooMany(3_600)], ['--max-wait', '5s'], { home });
    for (const path of ['/inventory', '/inventory', '/other']) {
      const answer = await proxy.ask(path);
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        429,
        { code: 'rate_limited', message: expect.any(String) as string, status: 429 },
      ]);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(3_400);
    }
    expect((await proxy.ask('/inventory/7', PATCH)).status).toBe(429);
    expect(server.requests).toHaveLength(1);
    // What was refused at once is no change.
    expect(await history(server, { home })).toEqual([]);
  });

  it('what would wait longer than --max-wait is refused without a request; the reserve is for urgent ones', async () => {
    const limits = (remaining: number) => ({ limits: { limit: 60, remaining, resetsIn: 600 } });
    const { server, proxy } = await inFrontOf(
      [json([], limits(2)), json([], limits(1)), json([], limits(0))],
      ['--max-wait', '5s', '--reserve', '2', '--priority-header', 'X-Urgent'],
    );
    const urgent = { headers: { 'X-Urgent': '1' } };
    expect((await proxy.ask('/inventory')).status).toBe(200);
    const refused = await proxy.ask('/inventory');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(400);
    expect(server.requests).toHaveLength(1);
    expect((await proxy.ask('/inventory', urgent)).status).toBe(200);
    expect((await proxy.ask('/inventory', urgent)).status).toBe(200);
    expect((await proxy.ask('/inventory', urgent)).status).toBe(429);
    expect(server.requests).toHaveLength(3);
    expect(server.requests[1]!.headers).not.toHaveProperty('x-urgent');
  });
});

describe('a client that is gone', () => {
  it('and whose PATCH was sent is in the history, under its name', async () => {
    const home = createHome();
    const held = gate();
    const { server, proxy } = await inFrontOf([gated(held, json(item(7, 12))), error(404, 'No such pet.')], [], {
      home,
    });
    const socket = openSocket(proxy.port);
    const body = '{"quantity":12}';
    socket.write(headOf(proxy, 'PATCH /v1/inventory/7', 'User-Agent: till/3', 'Content-Length: 15') + body);
    await server.received(1);
    socket.destroy();
    await caughtUp(proxy);
    held.open();
    await proxy.waitFor(/ 499 {2}PATCH/, 'stderr');
    expect((await proxy.ask('/inventory/8', PATCH)).status).toBe(404);
    expect(await history(server, { home })).toMatchObject([
      { petId: 8, command: 'proxy', who: 'till/3', outcome: 'failed' },
      { petId: 7, command: 'proxy', who: 'till/3', outcome: 'applied', after: 12 },
    ]);
  });

  it('leaves those that wait for another change of the same pet', async () => {
    const held = gate();
    const { server, proxy } = await inFrontOf([gated(held, json(item(7, 12))), json([])]);
    const first = proxy.ask('/inventory/7', PATCH);
    await server.received(1);
    const socket = openSocket(proxy.port);
    socket.write(`${headOf(proxy, 'PATCH /v1/inventory/7', 'Content-Length: 15')}{"quantity":13}`);
    await caughtUp(proxy);
    socket.destroy();
    await caughtUp(proxy);
    held.open();
    expect((await first).status).toBe(200);
    await proxy.waitFor(/ 499 {2}PATCH/, 'stderr');
    expect((await proxy.ask('/inventory')).status).toBe(200);
    expect(server.requests).toHaveLength(2);
  });

  it('in the middle of its body leaves nothing behind', async () => {
    const { proxy } = await inFrontOf([]);
    const half = openSocket(proxy.port);
    half.write(`${headOf(proxy, 'PATCH /v1/inventory/7', 'User-Agent: half', 'Content-Length: 15')}{"qu`, () =>
      half.destroy(),
    );
    await proxy.waitFor(/ 499 {2}PATCH .*half/, 'stderr');
    expect((await proxy.end('SIGTERM')).code).toBe(0);
  });
});

describe('an answer that breaks', () => {
  const GARBAGE = Buffer.alloc(300_000, 0xff);

  it.each([
    ['gzip', 'short', GARBAGE.subarray(0, 50)],
    ['gzip', 'long', GARBAGE],
    // As much as can be decoded is not sent before its end is known.
    ['gzip', 'without its end', gzipSync(JSON.stringify([item(7, 10)])).subarray(0, -4)],
    ['lzma', 'short', GARBAGE.subarray(0, 50)],
  ])('fault 142: in the coding %s, %s, which cannot be decoded, is a 502', async (coding, _what, body) => {
    const undecodable = { body, headers: { 'Content-Encoding': coding } };
    const { server, proxy } = await inFrontOf([undecodable, undecodable]);
    const read = await proxy.ask('/inventory');
    expect([read.status, JSON.parse(read.body)]).toEqual([502, expect.objectContaining({ code: 'contract' })]);
    const write = await proxy.ask('/inventory/7', PATCH);
    expect([write.status, JSON.parse(write.body)]).toEqual([502, expect.objectContaining({ code: 'outcome_unknown' })]);
    expect(server.requests).toHaveLength(2);
  });

  it('a write whose answer is lost is sent once, and its outcome is unknown', async () => {
    const home = createHome();
    const { server, proxy } = await inFrontOf([reset(), truncate(5, json(item(8, 12)))], [], { home });
    for (const pet of [7, 8]) {
      const answer = await proxy.ask(`/inventory/${pet}`, PATCH);
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        502,
        {
          code: 'outcome_unknown',
          message: expect.stringMatching(/may or may not have taken effect.*Read the stock/) as string,
          status: 502,
        },
      ]);
    }
    expect(server.requests).toHaveLength(2);
    expect(await history(server, { home })).toMatchObject([
      { petId: 8, outcome: 'unknown', command: 'proxy' },
      { petId: 7, outcome: 'unknown', command: 'proxy' },
    ]);
  });

  it('a read is asked for again; a write that fails is not', async () => {
    const { server, proxy } = await inFrontOf([reset(), json([]), error(500), error(503)]);
    expect((await proxy.ask('/inventory')).status).toBe(200);
    expect((await proxy.ask('/inventory/7', PATCH)).status).toBe(500);
    expect((await proxy.ask('/things', { method: 'POST' })).status).toBe(503);
    expect(server.requests).toHaveLength(4);
  });
});

describe('the key', () => {
  it('reaches no client and no log, whatever the service repeats', async () => {
    const echo = { key: KEY, text: `Bearer ${KEY}`, code: `x"${KEY}` };
    const split = `["${'x'.repeat(70_000)}${KEY}"]`;
    const at = split.indexOf(KEY) + 7;
    const zipped = { headers: { 'Content-Encoding': 'gzip', 'X-Zipped': '1' } };
    const { server, proxy } = await inFrontOf([
      json(echo, {
        headers: { 'X-Key': KEY, [`X-${KEY}`]: 'y', Location: `/?key=${KEY}`, 'Set-Cookie': [`k=${KEY}`, 'a=b'] },
      }),
      error(400, `The key ${KEY} is bad.`, KEY),
      { body: gzipSync(JSON.stringify(echo)), ...zipped },
      { body: gzipSync(split), ...zipped },
      async ({ res }) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        for (const part of [split.slice(0, at), split.slice(at)]) {
          await new Promise((resolve) => res.write(part, resolve));
          await new Promise((resolve) => setImmediate(resolve));
        }
        res.end();
      },
      { status: 301, headers: { Location: `https://evil.example/?key=${KEY}` } },
      error(500, KEY),
      rawReply(`HTTP/1.1 ${KEY}\r\n\r\n`),
    ]);
    const paths = ['/a', '/b', '/c', '/d', '/e', '/f'];
    for (const path of paths) {
      const { status, headers, body } = await proxy.ask(path);
      expect(JSON.stringify([status, headers, body]), path).not.toContain(KEY);
      if (['/d', '/e'].includes(path)) expect(body.length).toBeGreaterThan(70_000);
    }
    for (const pet of [1, 2]) {
      const { headers, body } = await proxy.ask(`/inventory/${pet}`, PATCH);
      expect(JSON.stringify([headers, body])).not.toContain(KEY);
    }
    await proxy.answered(8);
    expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
  });

  it('fault 142: is in no range of an answer', async () => {
    // A service that repeats the key, and honours Range and Accept-Encoding.
    const port = await listen(({ headers }, res) => {
      const text = `you are Bearer ${KEY}, and so on`;
      const isZipped = headers['accept-encoding']?.includes('gzip') === true;
      const body = isZipped ? gzipSync(text) : Buffer.from(text);
      const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
      const part = from === undefined ? body : body.subarray(Number(from), Number(to) + 1);
      const coding = isZipped && { 'content-encoding': 'gzip' };
      res.writeHead(from === undefined ? 200 : 206, { ...plentyLeft(), ...coding }).end(part);
    });
    const proxy = await start(staging(`http://127.0.0.1:${port}/v1`));
    for (const range of ['bytes=0-18', 'bytes=19-99', 'bytes=0-9']) {
      const { status, body } = await proxy.ask('/echo', { headers: { range, 'if-range': '"7"' } });
      expect([status, body]).toEqual([200, 'you are Bearer [redacted], and so on']);
    }
  });
});

describe('the order of one client', () => {
  const TILL = { headers: { 'user-agent': 'till/3' } };

  /** A proxy whose window is known, with a write of `till/3` under way. */
  async function writing(replies: readonly Reply[], args: readonly string[] = []) {
    const held = gate();
    const { server, proxy } = await inFrontOf([json([]), gated(held, json(item(7, 12))), ...replies], args);
    await proxy.ask('/inventory');
    const writer = openSocket(proxy.port);
    const heard = heardBy(writer);
    const headers = ['User-Agent: till/3', 'Content-Length: 15'];
    writer.write(`${headOf(proxy, 'PATCH /v1/inventory/7', ...headers)}{"quantity":12}`);
    await server.received(2);
    return { held, server, proxy, writer, heard };
  }

  it('fault 143: a read is sent when the earlier write is answered, on one connection and on others', async () => {
    const { held, server, proxy, writer, heard } = await writing([json([]), json([]), json([])]);
    writer.write(headOf(proxy, 'GET /v1/inventory?piped', 'User-Agent: till/3', 'Connection: close'));
    const apart = proxy.ask('/inventory?apart', TILL);
    // Other clients do not wait.
    expect((await proxy.ask('/inventory?other')).status).toBe(200);
    expect(server.log().slice(1)).toEqual(['PATCH /v1/inventory/7', 'GET /v1/inventory?other']);
    held.open();
    expect(statuses(await heard.closed)).toEqual([200, 200]);
    expect((await apart).status).toBe(200);
    expect(server.log().slice(3).toSorted()).toEqual(['GET /v1/inventory?apart', 'GET /v1/inventory?piped']);
  });

  it.each([
    ['a read', '/inventory', TILL, 'earlier write'],
    ['another client’s write to that pet', '/inventory/7', PATCH, 'change of pet 7'],
    ['a write to a pet of the same lock', '/inventory/71', PATCH, 'change of pet 71'],
  ])('%s waits no longer than --max-wait', async (_what, path, request, says) => {
    const { held, proxy, heard } = await writing([], ['--max-wait', '0']);
    const refused = await proxy.ask(path, request);
    expect([refused.status, refused.headers['retry-after'], JSON.parse(refused.body)]).toEqual([
      503,
      undefined,
      expect.objectContaining({ code: 'run_locked', message: expect.stringContaining(says) as string }),
    ]);
    held.open();
    proxy.kill('SIGTERM');
    expect(statuses(await heard.closed)).toEqual([200]);
  });

  it('a read that waits ends with its client, and with the proxy', async () => {
    const { held, server, proxy, heard } = await writing([]);
    const leaving = openSocket(proxy.port);
    leaving.write(headOf(proxy, 'GET /v1/inventory?leaving', 'User-Agent: till/3'));
    const waiting = proxy.ask('/inventory?waiting', TILL);
    await caughtUp(proxy);
    leaving.destroy();
    await proxy.waitFor(/ 499 {2}GET .*leaving/, 'stderr');
    proxy.kill('SIGTERM');
    expect((await waiting).status).toBe(503);
    held.open();
    expect(statuses(await heard.closed)).toEqual([200]);
    expect((await proxy.exited).code).toBe(0);
    expect(server.requests).toHaveLength(2);
  });
});

describe('many at once', () => {
  it('fault 154: one client cannot fill the memory: what is too much is refused, and others are served', async () => {
    const spent = { limits: { limit: 60, remaining: 0, resetsIn: 60 } };
    const { server, proxy } = await inFrontOf([json([], spent)]);
    await proxy.ask('/inventory');
    const body = ' '.repeat(2 ** 20);
    const large = Array.from({ length: 16 }, async () => proxy.ask('/things', { ...PATCH, method: 'POST', body }));
    const refused = await Promise.race(large);
    expect([refused.status, refused.headers['retry-after'], JSON.parse(refused.body)]).toEqual([
      429,
      '5',
      expect.objectContaining({ code: 'too_many_waiting' }),
    ]);
    const other = proxy.ask('/inventory', { headers: { 'user-agent': 'other' } });
    await queued(proxy, 16);
    proxy.kill('SIGTERM');
    expect((await other).status).toBe(503);
    const rest = await Promise.all(large);
    expect(rest.filter(({ status }) => status === 429)).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });
});

describe('SIGTERM', () => {
  it('refuses what waits, finishes what was sent, and ends', async () => {
    const held = gate();
    const { server, proxy } = await inFrontOf([gated(held, json([item(1, 2)]))]);
    const sent = openSocket(proxy.port);
    const heard = heardBy(sent);
    // It would keep its connection open, and waits for two answers.
    sent.write(headOf(proxy, 'GET /v1/inventory'));
    await server.received(1);
    sent.write(headOf(proxy, 'GET /v1/inventory'));
    const waiting = proxy.ask('/inventory');
    await queued(proxy, 2);
    // Their bodies do not come.
    const stranger = sendRaw(proxy.port, 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n');
    const slow = sendRaw(proxy.port, headOf(proxy, 'POST /v1/things', 'Content-Length: 9'));
    await caughtUp(proxy);
    proxy.kill('SIGTERM');
    expect([statuses(await stranger), statuses(await slow)]).toEqual([[503], [503]]);
    const refused = await waiting;
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(JSON.parse(refused.body)).toMatchObject({ code: 'interrupted', status: 503 });
    held.open();
    const text = await heard.closed;
    expect(statuses(text)).toEqual([200, 503]);
    expect(text).toContain('"petId":1');
    expect((await proxy.exited).code).toBe(0);
    const passed = proxy.log().filter((line) => !line.includes('__petstore'));
    expect(passed.map((line) => line.slice(10, 13))).toEqual(['503', '503', '503', '503', '200']);
  });
});
