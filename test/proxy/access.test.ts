import { appendFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type Access, refusalOf, Visitors } from '../../src/proxy/access.ts';
import { clientOf, digestOf, lockTokens, readClients } from '../../src/proxy/clients.ts';
import { openCredentials } from '../../src/proxy/credentials.ts';
import { maxWaitOf } from '../../src/proxy/requests.ts';
import { commandContext } from '../support/command-context.ts';
import { fileIn } from '../support/home.ts';
import { createTestContext } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const TOKENS = ['the-token-of-the-proxy', 'the-key-of-the-store'];
const OPEN: Access = { clients: undefined, isReadOnly: false, isNamed: () => false };

type Given = Partial<Pick<IncomingMessage, 'method' | 'url'>> & {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly access?: Partial<Access>;
};

/** Status and code. */
function refused({ access, headers, ...head }: Given): readonly unknown[] {
  const message = {
    method: 'GET',
    url: '/v1/inventory',
    ...head,
    headers: { host: '127.0.0.1:4011', ...headers },
    headersDistinct: {},
  };
  const known = { ...OPEN, ...access };
  const client = clientOf(headers?.authorization, known.clients);
  return refusalOf(message as unknown as IncomingMessage, known, client)?.slice(0, 2) ?? [];
}

it.each<[string | undefined, number]>([
  [undefined, 75_000],
  ['0', 0],
  ['10', 10_000],
  ['76', 75_000],
  ['315360000', 75_000],
  ...['', '-1', '1.5', '10s', '10, 20', '9'.repeat(13)].map((text): [string, number] => [text, 75_000]),
])('a client that may wait for %j s waits for at most %i ms', (seconds, ms) => {
  expect(maxWaitOf({ 'petstore-max-wait': seconds }, 75_000)).toBe(ms);
});

describe('those without a token', () => {
  it('wait longer for each wrong token of their address, ten seconds at most, until a minute has passed', () => {
    const visitors = new Visitors();
    const delays = Array.from({ length: 9 }, () => visitors.delayOf('192.0.2.7', 0));
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
    expect(visitors.delayOf('192.0.2.8', 0)).toBe(100);
    expect(visitors.delayOf('192.0.2.7', 61_000)).toBe(100);
    for (let i = 0; i < 1_000; i++) visitors.delayOf(`address ${i}`, 61_000);
    expect(visitors.delayOf('192.0.2.7', 61_000)).toBe(100);
  });
});

it('a connection of a load balancer counts for the client that used it last', () => {
  const visitors = new Visitors();
  const sockets = Array.from({ length: 100 }, () => new Socket());
  for (const socket of sockets) expect(visitors.recognize(socket, 'till-1')).toBeUndefined();
  expect(visitors.recognize(new Socket(), 'till-1')?.[1]).toBe('too_many_connections');
  for (const socket of sockets.slice(0, 60)) expect(visitors.recognize(socket, 'till-2')).toBeUndefined();
  for (let i = 0; i < 60; i++) expect(visitors.recognize(new Socket(), 'till-1')).toBeUndefined();
  expect(visitors.recognize(new Socket(), 'till-1')?.[1]).toBe('too_many_connections');
});

const clients = [
  ...TOKENS.map((token) => ({ digest: digestOf(token) })),
  { name: 'report', digest: digestOf('of-the-report'), isReadOnly: true },
];
const host = (name: string | undefined): Given => ({ headers: { host: name } });
const bearer = (authorization: string, more: Given = {}): Given => ({ ...more, headers: { authorization } });

describe('who may use the proxy', () => {
  it.each<Given>([
    ...[
      '127.0.0.1:4011',
      '127.0.0.1',
      'localhost:4011',
      'LOCALHOST',
      'proxy.localhost:1',
      'localhost.:1',
      '[::1]:4011',
    ].map(host),
    host('192.168.0.7:4011'),
    // Typed in the address bar.
    { headers: { 'sec-fetch-site': 'none' } },
    bearer('Bearer the-token-of-the-proxy', { access: { clients } }),
    bearer('bearer the-token-of-the-proxy', { access: { clients } }),
    bearer('BEARER  the-key-of-the-store', { access: { clients } }),
    bearer('Bearer the-token-of-the-proxy', { url: '/__petstore/status', access: { clients } }),
    bearer('Bearer of-the-report', { access: { clients } }),
    { headers: { authorization: 'anything' } },
    { method: 'DELETE' },
    ...['GET', 'HEAD', 'OPTIONS'].map((method) => ({ method, access: { isReadOnly: true } })),
    { url: '/__petstore/status' },
    { url: '/__petstore/status', method: 'HEAD' },
    { headers: { 'transfer-encoding': 'Chunked' } },
  ])('%j may', (given) => {
    expect(refused(given)).toEqual([]);
  });

  it.each<readonly [code: string, status: number, Given]>([
    ...[
      undefined,
      '',
      'evil.example',
      'evil.example:4011',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'localhost@evil.example',
      'localhost, evil.example',
      'evil.example\u0000localhost',
      '127.0.0.1:4011/x',
    ].map((name) => ['foreign_host', 403, host(name)] as const),
    ...['https://evil.example', 'null', 'http://127.0.0.1:4011'].map(
      (origin) => ['from_web_page', 403, { headers: { origin } }] as const,
    ),
    ...['cross-site', 'same-site', 'same-origin'].map(
      (site) => ['from_web_page', 403, { headers: { 'sec-fetch-site': site } }] as const,
    ),
    ...[
      '',
      'Bearer',
      'Bearer ',
      'Bearer the-token-of-the-prox',
      'Bearer the-token-of-the-proxy ',
      'Bearer the-token-of-the-proxy, x',
      'Basic dGhlLXRva2VuLW9mLXRoZS1wcm94eTo=',
      'the-token-of-the-proxy',
    ].map((text) => ['unauthorized', 401, bearer(text, { access: { clients } })] as const),
    ['unauthorized', 401, { access: { clients } }],
    ['unauthorized', 401, { url: '/__petstore/status', access: { clients } }],
    ['read_token', 403, bearer('Bearer of-the-report', { method: 'PATCH', access: { clients } })],
    ...['PATCH', 'POST', 'PUT', 'DELETE'].map(
      (method) => ['read_only', 405, { method, access: { isReadOnly: true } }] as const,
    ),
    ...['TRACE', 'PROPFIND', 'get', ''].map((method) => ['unknown_method', 501, { method }] as const),
    ...['/', 'http://127.0.0.1:4011/v1/inventory', '/v1/../__petstore/status'].map(
      (url) => ['not_found', 404, { url }] as const,
    ),
    ['method_not_allowed', 405, { url: '/__petstore/status', method: 'POST' }],
    ['unknown_coding', 501, { headers: { 'transfer-encoding': 'gzip, chunked' } }],
    ['loop', 508, { headers: { via: '1.1 petstore_proxy' } }],
  ])('%s (%i): %j', (code, status, given) => {
    expect(refused(given)).toEqual([status, code]);
  });
});

const lines = (...names: string[]): string =>
  names.map((name) => `${name} ${digestOf(name).toString('hex')} write\n`).join('');

it.each([
  ['till-1 secret write', 2, 'is not: NAME'],
  [`till-1 ${'a'.repeat(64)}`, 2, 'is not: NAME'],
  [`till-1 ${'a'.repeat(64)} admin`, 2, 'is not: NAME'],
  [`till-1 ${'a'.repeat(64)} write 200%`, 2, 'is not: NAME'],
  [`${'a'.repeat(64)} write`, 2, 'is not: NAME'],
  [`a ${'a'.repeat(64)} write\n\na ${'b'.repeat(64)} read`, 4, 'has the name of an earlier line'],
  [`a ${'a'.repeat(64)} write\nb ${'A'.repeat(64)} read`, 3, 'has the token of an earlier line'],
])('a file with the line %j is unusable', (text, line, says) => {
  const details = { path: 'tokens', line, problem: expect.stringContaining(says) as string };
  expect(() => readClients(`# clients\n${text}\n`, 'tokens')).toThrow(expect.objectContaining({ details }));
});

it('a proxy uses the token of another one that creates the file at the same time', async () => {
  const clock = new VirtualClock();
  const { home, ...ports } = createTestContext({ clock });
  const tokenFile = join(home.path, 'token');
  const other = await lockTokens(commandContext(ports));
  const opened = openCredentials(commandContext(ports), { tokenFile, token: true }, 'the-key');
  await clock.advance(1_000);
  writeFileSync(tokenFile, 'token-of-the-other-one\n', { mode: 0o600 });
  other[Symbol.dispose]();
  await clock.advance(1_000);
  const { clients } = await opened;
  expect(clients?.map(({ digest }) => digest)).toContainEqual(digestOf('token-of-the-other-one'));
});

it('tokens from stdin or a pipe are read once', async () => {
  const clock = new VirtualClock();
  const ports = createTestContext({ clock, stdin: { text: lines('till-1') } });
  const stream = vi.spyOn(ports.stdin, 'stream');
  await openCredentials(commandContext(ports), { tokens: '-', token: true }, 'the-key');
  await clock.advance(5_000);
  expect(stream).toHaveBeenCalledTimes(1);
});

it('a file of tokens is read again once it is whole', async () => {
  const clock = new VirtualClock();
  const { home, ...ports } = createTestContext({ clock });
  const tokens = fileIn(home, 'tokens', lines('till-1', 'till-2'));
  const warnings: string[] = [];
  const context = commandContext(ports, (text) => void warnings.push(text));
  const credentials = await openCredentials(context, { tokens, token: true }, 'the-key');
  const names = () => credentials.clients?.map(({ name }) => name);
  writeFileSync(tokens, lines('till-1'));
  for (let i = 0; i < 2; i++) {
    await clock.advance(5_000);
    await clock.whenSleeping();
    expect(names()).toEqual(['till-1', 'till-2']);
    if (i === 0) appendFileSync(tokens, lines('till-2', 'till-3'));
    await clock.advance(500);
    await clock.whenSleeping();
  }
  await vi.waitFor(() => expect(names()).toEqual(['till-1', 'till-2', 'till-3']));
  expect(warnings).toEqual([]);
  writeFileSync(tokens, '');
  await clock.advance(5_000);
  await clock.whenSleeping();
  await clock.advance(500);
  await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining(`${tokens} has no tokens`)]));
});
