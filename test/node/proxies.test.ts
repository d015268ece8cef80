/** Tables of the proxy that variables select, compared with curl 8; exceptions are named. */
import { describe, expect, it } from 'vitest';
import { proxyAuthorization, routeTo } from '../../src/node/proxies.ts';

type Environment = Readonly<Record<string, string>>;

/** The proxy's host and the variable, `direct`, or the sentence. */
function route(url: string, env: Environment): string {
  const found = routeTo(new URL(url), env);
  if (found.kind === 'direct') return 'direct';
  return found.kind === 'proxy' ? `${found.proxy.host} ${found.variable}` : `${found.variable} ${found.problem}`;
}

const HTTP = 'http://pets.example/v1';
const HTTPS = 'https://pets.example/v1';

describe('which variable', () => {
  it.each<[string, string, Environment, string]>([
    ['none', HTTPS, {}, 'direct'],
    ['https_proxy', HTTPS, { https_proxy: 'http://a:1' }, 'a:1 https_proxy'],
    ['HTTPS_PROXY', HTTPS, { HTTPS_PROXY: 'http://a:1' }, 'a:1 HTTPS_PROXY'],
    ['lower case first', HTTPS, { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:1' }, 'b:1 https_proxy'],
    ['an empty one is unset', HTTPS, { HTTPS_PROXY: 'http://a:1', https_proxy: '' }, 'a:1 HTTPS_PROXY'],
    ['http_proxy is not for https', HTTPS, { http_proxy: 'http://a:1', HTTP_PROXY: 'http://a:1' }, 'direct'],
    ['http_proxy', HTTP, { http_proxy: 'http://a:1' }, 'a:1 http_proxy'],
    ['HTTP_PROXY is ignored', HTTP, { HTTP_PROXY: 'http://a:1' }, 'direct'],
    ['https_proxy is not for http', HTTP, { https_proxy: 'http://a:1' }, 'direct'],
    ['all_proxy for https', HTTPS, { all_proxy: 'http://a:1', http_proxy: 'http://b:1' }, 'a:1 all_proxy'],
    ['ALL_PROXY for http', HTTP, { ALL_PROXY: 'http://a:1' }, 'a:1 ALL_PROXY'],
    ['all_proxy first in lower case', HTTP, { ALL_PROXY: 'http://a:1', all_proxy: 'http://b:1' }, 'b:1 all_proxy'],
    ['the own one before all_proxy', HTTPS, { HTTPS_PROXY: 'http://a:1', all_proxy: 'http://b:1' }, 'a:1 HTTPS_PROXY'],
    ['without a scheme it is http', HTTPS, { https_proxy: 'a.example:3128' }, 'a.example:3128 https_proxy'],
    ['by TLS', HTTPS, { https_proxy: 'https://a.example:8443' }, 'a.example:8443 https_proxy'],
    ['an IPv6 address', HTTPS, { https_proxy: 'http://[2001:db8::1]:3128' }, '[2001:db8::1]:3128 https_proxy'],
  ])('%s', (_what, url, env, expected) => {
    expect(route(url, env)).toBe(expected);
  });
});

describe('loopback is never proxied', () => {
  const all = {
    http_proxy: 'http://a:1',
    https_proxy: 'http://a:1',
    ALL_PROXY: 'http://a:1',
    NO_PROXY: 'other.example',
  };

  it.each([
    ...['localhost', 'LOCALHOST', 'localhost.', 'pets.localhost', '127.0.0.1', '127.255.0.9', '127.1', '0x7f000001'],
    ...['[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f12:3456]'],
  ])('fault 119: %s', (host) => {
    expect([`http://${host}:8080/v1`, `https://${host}/v1`].map((url) => route(url, all))).toEqual([
      'direct',
      'direct',
    ]);
  });

  it.each(['128.0.0.1', 'localhost.example', 'notlocalhost', '[::2]', '[::ffff:128.0.0.1]', '127.0.0.1.example'])(
    'but %s is',
    (host) => {
      expect(route(`http://${host}/v1`, all)).toBe('a:1 http_proxy');
    },
  );
});

describe('NO_PROXY', () => {
  it.each<[list: string, url: string, isDirect: boolean]>([
    ['pets.example', HTTPS, true],
    ['PETS.Example', HTTPS, true],
    ['example', HTTPS, true],
    ['.pets.example', HTTPS, true],
    ['.example', HTTPS, true],
    ['*.example', HTTPS, true],
    ['*.pets.example', HTTPS, false],
    ['pets.example.', HTTPS, true],
    ['pets.example', 'https://pets.example./v1', true],
    ['ets.example', HTTPS, false],
    ['api.pets.example', HTTPS, false],
    ['*', HTTPS, true],
    ['* ', HTTPS, true],
    ['a.example,pets.example', HTTPS, true],
    ['a.example pets.example', HTTPS, true],
    [' a.example ,\tpets.example ', HTTPS, true],
    ['', HTTPS, false],
    [' , ,', HTTPS, false],
    ['.', HTTPS, false],
    ['pets.example:443', HTTPS, true],
    ['pets.example:80', HTTPS, false],
    ['pets.example:80', HTTP, true],
    ['pets.example:8443', 'https://pets.example:8443/v1', true],
    ['10.0.0.7', 'http://10.0.0.7/v1', true],
    ['10.0.0.7:8080', 'http://10.0.0.7:8080/v1', true],
    ['10.0.0.7:8080', 'http://10.0.0.7/v1', false],
    ['0.0.7', 'http://10.0.0.7/v1', false],
    ['.7', 'http://10.0.0.7/v1', false],
    ['10.0.0.0/8', 'http://10.255.0.7/v1', true],
    ['10.0.0.0/8', 'http://11.0.0.7/v1', false],
    ['192.168.1.64/26', 'http://192.168.1.127/v1', true],
    ['192.168.1.64/26', 'http://192.168.1.128/v1', false],
    ['0.0.0.0/0', 'http://10.0.0.7/v1', true],
    ['10.0.0.0/33', 'http://10.0.0.7/v1', false],
    ['10.0.0.0/x', 'http://10.0.0.7/v1', false],
    ['10.0.0.0/8', 'http://10.example/v1', false],
    ['10.0.0.0/8', 'http://[::ffff:10.0.0.7]/v1', true],
    ['2001:db8::7', 'http://[2001:db8::7]/v1', true],
    ['[2001:db8::7]', 'http://[2001:db8::7]/v1', true],
    ['[2001:db8::7]:8080', 'http://[2001:db8::7]:8080/v1', true],
    ['[2001:db8::7]:8080', 'http://[2001:db8::7]/v1', false],
    ['2001:0db8:0::0007', 'http://[2001:db8::7]/v1', true],
    ['2001:db8::/32', 'http://[2001:db8:9::7]/v1', true],
    ['[2001:db8::]/32', 'http://[2001:db8:9::7]/v1', true],
    ['2001:db8::/32', 'http://[2001:db9::7]/v1', false],
    ['2001:db8::/129', 'http://[2001:db8::7]/v1', false],
    ['fe80::/10', 'http://10.0.0.7/v1', false],
  ])('%j and %s: direct is %s', (list, url, isDirect) => {
    const env = { http_proxy: 'http://a:1', https_proxy: 'http://a:1' };
    const results = ['NO_PROXY', 'no_proxy'].map((name) => route(url, { ...env, [name]: list }) === 'direct');
    expect(results).toEqual([isDirect, isDirect]);
  });

  it('in lower case first; an empty one is unset', () => {
    const env = { https_proxy: 'http://a:1', NO_PROXY: 'pets.example' };
    expect([route(HTTPS, { ...env, no_proxy: 'other.example' }), route(HTTPS, { ...env, no_proxy: '' })]).toEqual([
      'a:1 https_proxy',
      'direct',
    ]);
  });
});

const ENCODE = '; percent-encode / \\ ? and # in its password';

describe('a value that is not a usable proxy', () => {
  it.each([
    [':::', 'HTTPS_PROXY is not a URL: ":::"'],
    ['http://', 'HTTPS_PROXY is not a URL: "http://"'],
    ['a:99999', 'HTTPS_PROXY is not a URL: "a:99999"'],
    ['foo://a:1', 'HTTPS_PROXY is "foo://a:1", and petstore supports http and https proxies only'],
    ['socks5://a:1', 'HTTPS_PROXY is "socks5://a:1", and petstore supports http and https proxies only'],
    ['socks5h://u:pass-1@a:1', 'HTTPS_PROXY is "socks5h://***@a:1", and petstore supports http and https proxies only'],
    ['http://u:p@ss/word@a:1', `HTTPS_PROXY is not a URL: "http://***@a:1"${ENCODE}`],
    ['http://u:12/word@a:1', `HTTPS_PROXY is not a URL: "http://***@a:1"${ENCODE}`],
    ['u:pass/word@a:1', `HTTPS_PROXY is not a URL: "***@a:1"${ENCODE}`],
    ['http://u:p@ss/word@a b', `HTTPS_PROXY is not a URL: "http://***@a b"${ENCODE}`],
    ['u:pass-1@a:99999', 'HTTPS_PROXY is not a URL: "***@a:99999"'],
    ['\u001b[31m', 'HTTPS_PROXY is not a URL: "\\u001b[31m"'],
  ])('%j: %s', (value, expected) => {
    expect(route(HTTPS, { HTTPS_PROXY: value })).toBe(expected);
  });

  it('does not matter where the proxy is not used', () => {
    expect(route('https://127.0.0.1/v1', { ALL_PROXY: 'socks5://a:1' })).toBe('direct');
    expect(route(HTTPS, { ALL_PROXY: 'socks5://a:1', NO_PROXY: '*' })).toBe('direct');
  });
});

it.each([
  ['http://a:1', undefined],
  ['http://clerk:right@a:1', 'clerk:right'],
  ['http://clerk@a:1', 'clerk:'],
  ['http://clerk:p%40ss%2Fword@a:1', 'clerk:p@ss/word'],
  ['http://clerk:100%@a:1', 'clerk:100%'],
])('the credentials of %s', (url, expected) => {
  const { 'proxy-authorization': header } = proxyAuthorization(new URL(url));
  expect(header).toBe(expected === undefined ? undefined : `Basic ${Buffer.from(expected).toString('base64')}`);
});
