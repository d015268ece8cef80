import { describe, expect, it } from 'vitest';
import { isLooping, pathBelowBase, returnedHeaders, sentHeaders } from '../../src/proxy/messages.ts';

describe('pathBelowBase', () => {
  it.each([
    ['/v1', ''],
    ['/v1/', '/'],
    ['/v1?limit=2', '?limit=2'],
    ['/v1/inventory', '/inventory'],
    ['/v1/inventory/9223372036854775807', '/inventory/9223372036854775807'],
    ['/v1/inventory?a=%2E%2E&b=../x&a', '/inventory?a=%2E%2E&b=../x&a'],
    // As they came, whatever they mean.
    ['/v1//inventory//7', '//inventory//7'],
    ['/v1/a%20b/%C3%A9/%00/%', '/a%20b/%C3%A9/%00/%'],
    ['/v1/...', '/...'],
    ['/v1/.well-known/..a/b..', '/.well-known/..a/b..'],
    ["/v1/a;b=c,d'(!)*~@:$&+", "/a;b=c,d'(!)*~@:$&+"],
    ['/v1/%252e%252e/x', '/%252e%252e/x'],
  ])('%s is %j', (target, path) => {
    expect(pathBelowBase(target)).toBe(path);
  });

  it.each([
    '',
    '/',
    '*',
    '/v2/inventory',
    '/v10',
    '/V1/inventory',
    '/%761/inventory',
    'v1/inventory',
    '//v1/inventory',
    '/v1#/inventory',
    '/v1/inventory#x',
    '/v1\\..\\admin',
    '/v1/..',
    '/v1/../admin',
    '/v1/./inventory',
    '/v1/inventory/..',
    '/v1/inventory/../../admin?x',
    '/v1/%2e%2e/admin',
    '/v1/%2E./admin',
    '/v1/.%2e',
    '/v1/%2e',
    '/v1/a%2f..%2fadmin',
    '/v1/a%2F%2e%2E%2Fadmin',
    '/v1/a%5c..%5cadmin',
    '/v1/..;/admin',
    '/v1/..;a=b/admin',
    '/v1/%2e%2e%3b/admin',
    'http://evil.example/v1/inventory',
    'HTTP://127.0.0.1:4011/v1/inventory',
    'https://[::1]/v1/inventory',
    'evil.example:443',
    '/v1/inventory x',
    '/v1/inventory\r\nX: y',
    '/v1/inventory\n',
    '/v1/\u0000',
    '/v1/\u007f',
    '/v1/é',
  ])('%j leads out of the base URL', (target) => {
    expect(pathBelowBase(target)).toBeUndefined();
  });
});

describe('the headers that are sent', () => {
  it('are the client’s, but for those of one connection and of this machine', () => {
    const passed = {
      'user-agent': 'till/3',
      accept: 'application/json, text/*;q=0.1',
      'content-type': 'application/json; charset=utf-8',
      'idempotency-key': 'a-b-c',
      'if-match': '"7"',
      'x-empty': '',
      'x-bytes': '\u00c3\u00a9\u00ff',
      cookie: 'a=b; c=d',
    };
    const sent = sentHeaders(
      {
        host: 'localhost:4011',
        connection: 'keep-alive, X-Secret , close, If-Match',
        'x-secret': 'of this connection',
        'keep-alive': 'timeout=5',
        'proxy-connection': 'keep-alive',
        'proxy-authorization': 'Basic eA==',
        'proxy-authenticate': 'Basic',
        te: 'trailers',
        trailer: 'x-check',
        'transfer-encoding': 'chunked',
        upgrade: 'h2c',
        expect: '100-continue',
        authorization: 'Bearer of-the-proxy',
        'content-length': '14',
        'accept-encoding': 'zstd',
        'x-urgent': '1',
        range: 'bytes=0-24',
        'if-range': '"7"',
        ...passed,
        'set-cookie': ['a=b', 'c=d'],
      },
      'x-urgent',
    );
    expect(sent).toEqual({
      ...passed,
      'set-cookie': 'a=b, c=d',
      via: '1.1 petstore_proxy',
    });
  });

  it.each([
    [undefined, '1.1 petstore_proxy'],
    ['1.0 fred, 1.1 p.example.net (nginx)', '1.0 fred, 1.1 p.example.net (nginx), 1.1 petstore_proxy'],
  ])('Via %j becomes %j, also where Connection names it', (via, expected) => {
    const given = via === undefined ? {} : { via };
    expect(sentHeaders({ ...given }).via).toBe(expected);
    expect(sentHeaders({ ...given, connection: 'via' }).via).toBe(expected);
  });

  it.each([
    [undefined, false],
    ['1.1 other', false],
    ['1.1 petstore_proxy', true],
    ['HTTP/1.1 petstore_proxy', true],
    ['1.0 a,1.1  petstore_proxy (x), 1.1 b', true],
    ['1.1 petstore (squid/5.7)', false],
    ['1.1 nginx (petstore)', false],
  ])('Via %j: a loop is %j', (via, expected) => {
    expect(isLooping(via === undefined ? {} : { via })).toBe(expected);
  });
});

describe('the headers that are returned', () => {
  it('are the service’s, but for those of one connection and of the coding', () => {
    const headers = new Map<string, readonly string[]>([
      ['content-type', ['application/json']],
      ['content-encoding', ['gzip']],
      ['content-length', ['12']],
      ['transfer-encoding', ['chunked']],
      ['connection', ['X-Hop', 'close']],
      ['x-hop', ['of this connection']],
      ['x-[redacted]', ['yes']],
      ['keep-alive', ['timeout=5']],
      ['trailer', ['x-check']],
      ['upgrade', ['h2c']],
      ['te', ['x']],
      ['proxy-authenticate', ['Basic']],
      ['proxy-connection', ['close']],
      ['date', ['Mon, 02 Mar 2026 14:03:20 GMT']],
      ['x-ratelimit-remaining', ['59']],
      ['retry-after', ['7']],
      ['etag', ['W/"\u00c3\u00a9"']],
      ['set-cookie', ['a=b', 'c=d']],
      ['www-authenticate', ['Bearer']],
    ]);
    expect(returnedHeaders({ headers })).toEqual({
      'content-type': 'application/json',
      date: 'Mon, 02 Mar 2026 14:03:20 GMT',
      'x-ratelimit-remaining': '59',
      'retry-after': '7',
      // One character for each byte.
      etag: 'W/"\u00c3\u00a9"',
      'set-cookie': ['a=b', 'c=d'],
      'www-authenticate': 'Bearer',
    });
  });
});
