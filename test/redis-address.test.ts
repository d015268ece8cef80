/** Valid values of PETSTORE_LEDGER. */
import { expect, it } from 'vitest';
import { parseRedisAddress } from '../src/redis-address.ts';

const NOTHING = { username: '', password: '', master: '', database: 0, prefix: '', files: {} };
const SERVER = { kind: 'server', isTls: false, ...NOTHING };

it.each([
  ['redis://a.example', { ...SERVER, places: [{ host: 'a.example', port: 6379 }] }],
  ['valkey://a/', { ...SERVER, places: [{ host: 'a', port: 6379 }] }],
  ['redis://127.0.0.1:7/3', { ...SERVER, places: [{ host: '127.0.0.1', port: 7 }], database: 3 }],
  ['rediss://[::1]:7', { ...SERVER, isTls: true, places: [{ host: '::1', port: 7 }] }],
  ['redis://u:p%40s@a', { ...SERVER, places: [{ host: 'a', port: 6379 }], username: 'u', password: 'p@s' }],
  ['redis://:p@s@a?prefix=shop:', { ...SERVER, places: [{ host: 'a', port: 6379 }], password: 'p@s', prefix: 'shop:' }],
  [
    'valkeys://a?cert=/a%20b.pem&key=k.pem&ca=c.pem',
    {
      ...SERVER,
      isTls: true,
      places: [{ host: 'a', port: 6379 }],
      files: { cert: '/a b.pem', key: 'k.pem', ca: 'c.pem' },
    },
  ],
  ['unix:///run/a%20b.sock?db=1', { ...SERVER, places: [{ path: '/run/a b.sock' }], database: 1 }],
  ['unix://:p@/a.sock', { ...SERVER, places: [{ path: '/a.sock' }], password: 'p' }],
  [
    'redis+sentinel://u:p@a,[::2]:7/pets%20hop/4',
    {
      ...SERVER,
      kind: 'sentinel',
      places: [
        { host: 'a', port: 26_379 },
        { host: '::2', port: 7 },
      ],
      username: 'u',
      password: 'p',
      master: 'pets hop',
      database: 4,
    },
  ],
  [
    'rediss+cluster://a:1,b/0',
    {
      ...SERVER,
      kind: 'cluster',
      isTls: true,
      places: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
      ],
    },
  ],
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
