import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Access, refusalOf, Visitors } from '../../src/proxy/access.ts';
import { digestOf } from '../../src/proxy/clients.ts';
import { maxWaitOf } from '../../src/proxy/requests.ts';

const TOKENS = ['the-token-of-the-proxy', 'the-key-of-the-store'].map((token) => ({ digest: digestOf(token) }));
const OPEN: Access = { clients: undefined, isReadOnly: false, isNamed: () => false };

type Given = Partial<Pick<IncomingMessage, 'method' | 'url'>> & {
  readonly headers?: Readonly<Record<string, string | undefined>>;
};

/** Status and code. */
function refused(given: Given, access: Partial<Access> = {}): readonly unknown[] {
  const { headers, ...head } = given;
  const message = {
    method: 'GET',
    url: '/v1/inventory',
    ...head,
    headers: { host: '127.0.0.1:4011', ...headers },
    headersDistinct: {},
  };
  return refusalOf(message as unknown as IncomingMessage, { ...OPEN, ...access })?.slice(0, 2) ?? [];
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

describe('who may use the proxy', () => {
  it('a client that only reads', () => {
    const clients = [{ name: 'report', digest: digestOf('t'), isReadOnly: true }];
    const headers = { authorization: 'Bearer t' };
    expect(refused({ headers }, { clients, isReadOnly: false })).toEqual([]);
    expect(refused({ headers, method: 'PATCH' }, { clients, isReadOnly: false })).toEqual([403, 'read_token']);
  });

  it.each([
    ['127.0.0.1:4011', true],
    ['127.0.0.1', true],
    ['localhost:4011', true],
    ['LOCALHOST', true],
    ['proxy.localhost:1', true],
    ['[::1]:4011', true],
    ['192.168.0.7:4011', true],
    [undefined, false],
    ['', false],
    ['evil.example', false],
    ['evil.example:4011', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example', false],
    ['localhost@evil.example', false],
    ['localhost, evil.example', false],
    ['evil.example\u0000localhost', false],
    ['127.0.0.1:4011/x', false],
  ])('Host %j: %j', (host, isAllowed) => {
    expect(refused({ headers: { host } })).toEqual(isAllowed ? [] : [403, 'foreign_host']);
  });

  it.each([
    [{ origin: 'https://evil.example' }, false],
    [{ origin: 'null' }, false],
    [{ origin: 'http://127.0.0.1:4011' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'same-origin' }, false],
    // Typed in the address bar.
    [{ 'sec-fetch-site': 'none' }, true],
  ])('%j: %j', (headers, isAllowed) => {
    expect(refused({ headers })).toEqual(isAllowed ? [] : [403, 'from_web_page']);
  });

  it.each([
    ['Bearer the-token-of-the-proxy', true],
    ['Bearer the-key-of-the-store', true],
    ['bearer the-token-of-the-proxy', true],
    ['BEARER  the-key-of-the-store', true],
    [undefined, false],
    ['', false],
    ['Bearer', false],
    ['Bearer ', false],
    ['Bearer the-token-of-the-prox', false],
    ['Bearer the-token-of-the-proxy ', false],
    ['Bearer the-token-of-the-proxy, x', false],
    ['Basic dGhlLXRva2VuLW9mLXRoZS1wcm94eTo=', false],
    ['the-token-of-the-proxy', false],
  ])('Authorization %j: %j', (authorization, isAllowed) => {
    const access = { clients: TOKENS, isReadOnly: false };
    expect(refused({ headers: { authorization } }, access)).toEqual(isAllowed ? [] : [401, 'unauthorized']);
    // Also for the status and the metrics.
    const own = refused({ url: '/__petstore/status', headers: { authorization } }, access);
    expect(own).toEqual(isAllowed ? [] : [401, 'unauthorized']);
    expect(refused({ headers: { authorization } })).toEqual([]);
  });

  it.each([
    ['GET', []],
    ['HEAD', []],
    ['OPTIONS', []],
    ['PATCH', [405, 'read_only']],
    ['POST', [405, 'read_only']],
    ['PUT', [405, 'read_only']],
    ['DELETE', [405, 'read_only']],
    ['TRACE', [501, 'unknown_method']],
    ['PROPFIND', [501, 'unknown_method']],
    ['get', [501, 'unknown_method']],
    [undefined, [501, 'unknown_method']],
  ])('%s with --read-only: %j', (method, expected) => {
    const given = method === undefined ? { method: '' } : { method };
    expect(refused(given, { clients: undefined, isReadOnly: true })).toEqual(expected);
    if (expected[1] === 'read_only') expect(refused(given)).toEqual([]);
  });

  it.each([
    [{ url: '/' }, [404, 'not_found']],
    [{ url: 'http://127.0.0.1:4011/v1/inventory' }, [404, 'not_found']],
    [{ url: '/v1/../__petstore/status' }, [404, 'not_found']],
    [{ url: '/__petstore/status' }, []],
    [{ url: '/__petstore/status', method: 'POST' }, [405, 'method_not_allowed']],
    [{ url: '/__petstore/status', method: 'HEAD' }, [405, 'method_not_allowed']],
    [{ headers: { via: '1.1 petstore' } }, [508, 'loop']],
  ])('%j: %j', (given, expected) => {
    expect(refused(given)).toEqual(expected);
  });
});
