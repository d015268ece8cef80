/** The Http port on real sockets, with a server that delays or breaks each step of a connection. */
import dns from 'node:dns';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Connection, type Http, HttpFailure, type HttpFailureFacts, type HttpTarget } from '../../src/ports.ts';
import { openHttp } from '../../src/node/http.ts';
import { toHttpFailure } from '../../src/node/http-failure.ts';
import { onCleanup } from '../support/cleanup.ts';
import { blackhole } from '../support/holes.ts';
import { type HostileOptions, type HostileServer, hostileServer, type LogEntry } from '../support/hostile-server.ts';
import { issueIdentity, tlsIdentities, trustAuthority } from '../support/tls.ts';

/** Passes only where a test has it pass. */
const LONG = 20_000;

const ENDS = ['after the timeout', 'with the signal'] as const;

/** Ends what is under way, once the server has seen so much. */
async function end(how: (typeof ENDS)[number], server: HostileServer, seen: LogEntry, stop: AbortController) {
  await server.reached(seen);
  if (how === 'with the signal') stop.abort(new Error('stop'));
  else await vi.advanceTimersByTimeAsync(LONG);
}

interface Bench {
  readonly server: HostileServer;
  readonly http: Http;
  readonly url: URL;
}

/** A service on loopback, reached through the server itself where that is a proxy. */
async function bench(
  options: HostileOptions = {},
  scheme = options.tls === undefined ? 'http' : 'https',
): Promise<Bench> {
  const server = await hostileServer(options);
  const isProxied = options.isProxy === true || scheme === 'forwarded';
  const proxy = `http://127.0.0.1:${server.port}`;
  const http = openHttp(isProxied ? { http_proxy: proxy, https_proxy: proxy } : {});
  onCleanup(() => http.close());
  const origin = isProxied ? 'pets.example' : `127.0.0.1:${server.port}`;
  return { server, http, url: new URL(`${scheme === 'https' ? 'https' : 'http'}://${origin}/v1/inventory`) };
}

const targetOf = ({ url }: Bench, signal?: AbortSignal): HttpTarget => ({
  url,
  timeoutMs: LONG,
  ...(signal !== undefined && { signal }),
});

function send(
  connection: Connection,
  { url }: Bench,
  { maySend = () => true, ...more }: { maySend?: () => boolean; signal?: AbortSignal } = {},
): ReturnType<Connection['send']> {
  return connection.send({ method: 'GET', url, target: url.pathname, headers: {}, timeoutMs: LONG, ...more }, maySend);
}

async function failureOf(work: Promise<unknown>): Promise<HttpFailureFacts> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof HttpFailure) return error.facts;
  throw new Error(`no HttpFailure but ${String(error)}`);
}

async function textOf(reply: Awaited<ReturnType<Connection['send']>>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const PETS = (): HostileOptions => ({ isProxy: true, tls: issueIdentity({ names: ['pets.example'] }) });

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

it.each(['pets.localhost', 'localhost.'])('%s is this machine: no DNS server is asked', async (name) => {
  const on = await bench();
  const lookup = vi.spyOn(dns, 'lookup');
  const url = new URL(on.url.href.replace('127.0.0.1', name));
  const connection = await on.http.connect({ url, timeoutMs: LONG });
  expect([connection.isOpen, lookup.mock.calls.map(([host]) => host)]).toEqual([true, ['localhost']]);
  connection.release();
});

describe('permission to send is asked for last', () => {
  it.each<[string, 'tunnel' | 'handshake', HostileOptions]>([
    ['the TLS handshake', 'handshake', { tls: tlsIdentities().good, holds: ['handshake'] }],
    ["a proxy's CONNECT", 'tunnel', { ...PETS(), holds: ['tunnel'] }],
  ])('fault 113: not while %s is held; if refused, not a byte is written', async (_what, step, options) => {
    trustAuthority();
    const at = await bench(options);
    const maySend = vi.fn(() => false);
    const sent = at.http.connect(targetOf(at)).then((connection) => send(connection, at, { maySend }));
    await at.server.reached(step === 'tunnel' ? 'connect' : 'accepted');
    expect(maySend).not.toHaveBeenCalled();
    at.server.release(step);
    expect(await failureOf(sent)).toMatchObject({ phase: 'withdrawn', mayHaveBeenSent: false });
    expect(maySend).toHaveBeenCalledOnce();
    await at.http.close();
    await at.server.reached('closed');
    expect(at.server.log).not.toContain('request');
  });

  it('fault 113: not on a connection that is kept either; it is kept all the same', async () => {
    const at = await bench();
    expect(await textOf(await send(await at.http.connect(targetOf(at)), at))).toBe('[]');
    const refused = send(await at.http.connect(targetOf(at)), at, { maySend: () => false });
    expect(await failureOf(refused)).toMatchObject({ phase: 'withdrawn', mayHaveBeenSent: false });
    expect(await textOf(await send(await at.http.connect(targetOf(at)), at))).toBe('[]');
    expect(at.server.log).toEqual(['accepted', 'request', 'request']);
  });

  it('is not asked for once the signal has aborted', async () => {
    const at = await bench();
    const connection = await at.http.connect(targetOf(at));
    const maySend = vi.fn(() => true);
    expect(await failureOf(send(connection, at, { maySend, signal: AbortSignal.abort() }))).toMatchObject({
      phase: 'aborted',
      mayHaveBeenSent: false,
    });
    expect(maySend).not.toHaveBeenCalled();
  });
});

describe('connections', () => {
  it('one that was released unused is used by the next request', async () => {
    const at = await bench();
    (await at.http.connect(targetOf(at))).release();
    expect(await textOf(await send(await at.http.connect(targetOf(at)), at))).toBe('[]');
    expect(at.server.log).toEqual(['accepted', 'request']);
  });

  it.each(['unused', 'used'])('%s, one that the peer has closed is not open, and not handed out', async (state) => {
    const at = await bench();
    const connection = await at.http.connect(targetOf(at));
    if (state === 'used') {
      await textOf(await send(connection, at));
    } else expect(connection.isOpen).toBe(true);
    const held = state === 'used' ? await at.http.connect(targetOf(at)) : connection;
    at.server.hangUp();
    await at.server.reached('closed');
    await setImmediate();
    expect(held.isOpen).toBe(false);
    held.release();
    const before = at.server.log.length;
    expect(await textOf(await send(await at.http.connect(targetOf(at)), at))).toBe('[]');
    expect(at.server.log.slice(before)).toEqual(['accepted', 'request']);
  });

  it('closed before the request is written, nothing was sent and no permission asked for', async () => {
    const at = await bench();
    const connection = await at.http.connect(targetOf(at));
    at.server.hangUp();
    await at.server.reached('closed');
    const maySend = vi.fn(() => true);
    expect(await failureOf(send(connection, at, { maySend }))).toMatchObject({
      phase: 'reset',
      mayHaveBeenSent: false,
    });
    expect(maySend).not.toHaveBeenCalled();
  });

  it('close ends those that are being made, too', async () => {
    const at = await bench({ tls: tlsIdentities().good, holds: ['handshake'] });
    const connecting = failureOf(at.http.connect(targetOf(at)));
    await at.server.reached('accepted');
    await at.http.close();
    expect(await connecting).toMatchObject({ phase: 'connect', mayHaveBeenSent: false });
  });
});

const DRIP = { drip: 'HTTP/1.1 200 OK\r\nx: '.padEnd(100_000, 'y'), every: 20 };

describe.each(ENDS)('each step of connecting ends %s', (how) => {
  it.each<[string, () => HostileOptions, LogEntry, string]>([
    ['the TLS handshake', () => ({ tls: tlsIdentities().good, holds: ['handshake'] }), 'hello', 'connect-timeout'],
    ["a proxy's silence after CONNECT", () => ({ ...PETS(), holds: ['tunnel'] }), 'connect', 'proxy'],
    ["a proxy's answer that drips", () => ({ ...PETS(), answers: { tunnel: DRIP } }), 'connect', 'proxy'],
    ['the TLS handshake in a tunnel', () => ({ ...PETS(), holds: ['handshake'] }), 'hello', 'connect-timeout'],
  ])('fault 122: %s', async (_what, options, seen, timedOut) => {
    const at = await bench(options());
    const stop = new AbortController();
    const failure = failureOf(at.http.connect(targetOf(at, stop.signal)));
    await end(how, at.server, seen, stop);
    const phase = how === 'with the signal' ? 'aborted' : timedOut;
    expect(await failure).toMatchObject({ phase, mayHaveBeenSent: false });
    await at.server.reached('closed');
  });
});

const EARLY = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n';

describe.each(ENDS)('the wait for the response ends %s', (how) => {
  it.each<[string, HostileOptions]>([
    ['a silent service', { holds: ['head'] }],
    ['103 without end', { answers: { head: { endless: EARLY } } }],
    ['102 that drips', { answers: { head: { drip: 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(9_999), every: 1 } } }],
  ])('fault 122: %s', async (_what, options) => {
    const at = await bench(options);
    const stop = new AbortController();
    const failure = failureOf(send(await at.http.connect(targetOf(at)), at, { signal: stop.signal }));
    await end(how, at.server, 'request', stop);
    const phase = how === 'with the signal' ? 'aborted' : 'response-timeout';
    expect(await failure).toMatchObject({ phase, mayHaveBeenSent: true });
    await at.server.reached('closed');
  });
});

it('informational responses before the response are passed over', async () => {
  const head = `${EARLY}HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n`;
  const at = await bench({ answers: { head } });
  const reply = await send(await at.http.connect(targetOf(at)), at);
  expect([reply.status, await textOf(reply)]).toEqual([200, '[]']);
});

it.each([
  [
    'with a length and chunks',
    '429 Wait\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n',
  ],
  ['with a status below 100', '099 Odd\r\ncontent-length: 2\r\n\r\n[]'],
  ['that switches protocols', '101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
])('a head %s is not HTTP: no body was cut, and nothing is sent again', async (_what, rest) => {
  const head = `HTTP/1.1 ${rest}`;
  const at = await bench({ answers: { head } });
  expect(await failureOf(send(await at.http.connect(targetOf(at)), at))).toMatchObject({ phase: 'protocol' });
});

it('an error of the network on an open connection does not mean that nothing was sent', () => {
  const exchange = { target: 'pets.example:443', forwarder: undefined, signal: undefined };
  const thrown = Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' });
  const facts = (['headers', 'unsent'] as const).map((stage) => toHttpFailure(thrown, stage, exchange).facts);
  expect(facts).toMatchObject([
    { phase: 'reset', code: 'EHOSTUNREACH', mayHaveBeenSent: true },
    { phase: 'reset', code: 'EHOSTUNREACH', mayHaveBeenSent: false },
  ]);
});

it('of two addresses, the one whose attempt was not cut short tells why there is no connection', async () => {
  const port = await blackhole();
  vi.spyOn(dns, 'lookup').mockImplementation(((_host: string, _options: object, done: (...all: unknown[]) => void) => {
    done(
      null,
      ['127.0.0.1', '127.0.0.9'].map((address) => ({ address, family: 4 })),
    );
  }) as typeof dns.lookup);
  const http = openHttp({});
  onCleanup(() => http.close());
  const url = new URL(`http://pets.example:${port}/v1`);
  expect(await failureOf(http.connect({ url, timeoutMs: LONG }))).toMatchObject({
    phase: 'connect',
    code: 'ECONNREFUSED',
  });
});

describe('a proxy that does not work', () => {
  const GARBAGE = 'SSH-2.0-nothing\r\n\r\n';

  it.each<[string, string, string]>([
    ['what is not HTTP', GARBAGE, 'its answer is not HTTP'],
    ['502', 'HTTP/1.1 502 Bad Gateway\r\n\r\n', 'it answers with an error'],
  ])('one that answers CONNECT with %s is named; nothing was sent', async (_what, tunnel, detail) => {
    const at = await bench({ ...PETS(), answers: { tunnel } });
    expect(await failureOf(at.http.connect(targetOf(at)))).toMatchObject({
      phase: 'proxy',
      mayHaveBeenSent: false,
      peer: `127.0.0.1:${at.server.port}`,
      detail,
    });
  });

  it('one that hangs up after CONNECT is named', async () => {
    const at = await bench({ ...PETS(), holds: ['tunnel'] });
    const connecting = failureOf(at.http.connect(targetOf(at)));
    await at.server.reached('connect');
    at.server.hangUp();
    expect(await connecting).toMatchObject({ phase: 'proxy', detail: 'it closed the connection without an answer' });
  });

  it('one that answers a forwarded request with what is not HTTP is named; it may have been sent', async () => {
    const at = await bench({ answers: { head: GARBAGE } }, 'forwarded');
    expect(await failureOf(send(await at.http.connect(targetOf(at)), at))).toMatchObject({
      phase: 'proxy',
      mayHaveBeenSent: true,
      peer: `127.0.0.1:${at.server.port}`,
    });
  });
});
