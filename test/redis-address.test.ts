/** Valid values of PETSTORE_LEDGER. */
import { expect, it } from 'vitest';
import { parseRedisAddress } from '../src/redis-address.ts';

const NOTHING = { username: '', password: '', master: '', database: 0, prefix: '', files: {} };
const at = (...places: readonly (readonly [host: string, port: number])[]) => ({
  ...{ kind: 'server', isTls: false, ...NOTHING },
  places: places.map(([host, port]) => ({ host, port })),
});
const FILES = { cert: '/a b.pem', key: 'k.pem', ca: 'c.pem' };
const SENTINEL = { kind: 'sentinel', username: 'u', password: 'p', master: 'pets hop', database: 4 };

it.each([
  ['redis://a.example', at(['a.example', 6379])],
  ['valkey://a/', at(['a', 6379])],
  ['redis://127.0.0.1:7/3', { ...at(['127.0.0.1', 7]), database: 3 }],
  ['rediss://[::1]:7', { ...at(['::1', 7]), isTls: true }],
  ['redis://u:p%40s@a', { ...at(['a', 6379]), username: 'u', password: 'p@s' }],
  ['redis://:p@s@a?prefix=shop+1:', { ...at(['a', 6379]), password: 'p@s', prefix: 'shop+1:' }],
  ['valkeys://a?cert=/a%20b.pem&key=k.pem&ca=c.pem', { ...at(['a', 6379]), isTls: true, files: FILES }],
  ['unix:///run/a%20b.sock?db=1', { ...at(), places: [{ path: '/run/a b.sock' }], database: 1 }],
  ['unix://:p@/a.sock', { ...at(), places: [{ path: '/a.sock' }], password: 'p' }],
  ['redis+sentinel://u:p@a,[::2]:7/pets%20hop/4', { ...at(['a', 26_379], ['::2', 7]), ...SENTINEL }],
  ['rediss+cluster://a:1,b/0', { ...at(['a', 1], ['b', 6379]), kind: 'cluster', isTls: true }],
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
  'redis://a:1\n2',
  'redis://:p\tw@a',
  'redis://a?prefix=shop\r',
  'redis://a?prefix=a&prefix=b',
])('%s is not', (text) => {
  expect(parseRedisAddress(text)).toBeUndefined();
});
