/** Valid values of PETSTORE_LEDGER. */
import { expect, it } from 'vitest';
import { parseRedisAddress, type RedisAddress } from '../src/redis-address.ts';

const NOTHING = { isTls: false, username: '', password: '', master: '', database: 0, prefix: '', files: {} };

/** The address of one server. */
function server(host: string, port = 6379, more: Partial<RedisAddress> = {}): RedisAddress {
  return { ...NOTHING, kind: 'server', places: [{ host, port }], ...more };
}

const SENTINELS = [
  { host: 'a', port: 26_379 },
  { host: '::2', port: 7 },
];
const NODES = [
  { host: 'a', port: 1 },
  { host: 'b', port: 6379 },
];
const FILES = { cert: '/a b.pem', key: 'k.pem', ca: 'c.pem' };

it.each<[text: string, address: RedisAddress]>([
  ['redis://a.example', server('a.example')],
  ['valkey://a/', server('a')],
  ['redis://127.0.0.1:7/3', server('127.0.0.1', 7, { database: 3 })],
  ['rediss://[::1]:7', server('::1', 7, { isTls: true })],
  ['redis://u:p%40s@a', server('a', 6379, { username: 'u', password: 'p@s' })],
  ['redis://:p@s@a?prefix=shop:', server('a', 6379, { password: 'p@s', prefix: 'shop:' })],
  ['valkeys://a?cert=/a%20b.pem&key=k.pem&ca=c.pem', server('a', 6379, { isTls: true, files: FILES })],
  ['unix:///run/a%20b.sock?db=1', server('', 0, { places: [{ path: '/run/a b.sock' }], database: 1 })],
  ['unix://:p@/a.sock', server('', 0, { places: [{ path: '/a.sock' }], password: 'p' })],
  [
    'redis+sentinel://u:p@a,[::2]:7/pets%20hop/4',
    { ...NOTHING, kind: 'sentinel', places: SENTINELS, username: 'u', password: 'p', master: 'pets hop', database: 4 },
  ],
  ['rediss+cluster://a:1,b/0', { ...NOTHING, kind: 'cluster', places: NODES, isTls: true }],
])('%s is an address', (text, address) => {
  expect(parseRedisAddress(text)).toEqual(address);
});

it.each([
  'http://a',
  'a:6379',
  'redis://',
  'redis:///0',
  'redis://:6379',
  'redis://a:65536',
  'redis://a,b',
  'redis://a/x',
  'redis://a/0/1',
  'redis://a/9999999999',
  'redis://a#b',
  'redis://:p%zz@a',
  'redis://a?ssl=1',
  'redis://a?db=1',
  'redis://a?ca=c.pem',
  'rediss://a?cert=c.pem',
  'redis+sentinel://a',
  'redis+sentinel://a,/petshop',
  'redis+sentinel://a/petshop/x',
  'redis+cluster://a/1',
  'redis+other://a',
  'unix://a/b.sock',
  'unix://',
  'unix:///b.sock?db=x',
])('%s is not', (text) => {
  expect(parseRedisAddress(text)).toBeUndefined();
});
