/**
 * Finds the proxy for a URL in the environment. Like curl: `https_proxy` for https, `http_proxy` for http (in lower
 * case only: a CGI server sets HTTP_PROXY from a request's header), else `all_proxy`, unless `no_proxy` names the host.
 * Unlike curl, never uses a proxy for this machine itself.
 */
// Imported as a whole, so that BlockList is loaded only when used.
import net from 'node:net';
import { type Context, isLoopback, type ProxyRoute } from '../ports.ts';
import { decoded } from '../redact.ts';

/** The first variable with a value counts. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'https:': ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'],
  'http:': ['http_proxy', 'all_proxy', 'ALL_PROXY'],
};
const EXCEPTIONS: readonly string[] = ['no_proxy', 'NO_PROXY'];

export function routeTo(url: URL, env: Context['env']): ProxyRoute {
  const variable = firstSet(VARIABLES[url.protocol] ?? [], env);
  if (variable === undefined) return { kind: 'direct' };
  const host = url.hostname.replace(/^\[(.+)\]$/, '$1').replace(/\.$/, '');
  // Commas or spaces between its entries.
  const exceptions = (env[firstSet(EXCEPTIONS, env) ?? ''] ?? '').toLowerCase().split(/[,\s]+/);
  const isExcepted = exceptions.some((entry) => entry !== '' && matches(entry, host, portOf(url)));
  if (isLoopback(url.hostname) || isExcepted) return { kind: 'direct' };
  return readProxy(variable, env[variable] ?? '');
}

function firstSet(names: readonly string[], env: Context['env']): string | undefined {
  return names.find((name) => (env[name] ?? '') !== '');
}

function readProxy(variable: string, value: string): ProxyRoute {
  const text = value.includes('://') ? value : `http://${value}`;
  const shown = JSON.stringify(value.replace(/^([a-z][\w+.-]*:\/\/)?.*@/i, '$1***@').slice(0, 100));
  const unusable = (problem: string): ProxyRoute => ({ kind: 'unusable', variable, problem });
  // The password has an unescaped / \ ? or #, so URL mistakes a part of it for the host or the port.
  const advice = /:\/\/[^]*[/\\?#][^]*@/.test(text) ? '; percent-encode / \\ ? and # in its password' : '';
  const proxy = URL.parse(text);
  if (proxy === null || advice !== '') return unusable(`is not a URL: ${shown}${advice}`);
  if (/^https?:$/.test(proxy.protocol)) return { kind: 'proxy', proxy, variable };
  return unusable(`is ${shown}, and petstore supports http and https proxies only`);
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const subnet = /^\[?([^\]]+?)\]?\/(\d{1,3})$/.exec(entry);
  if (subnet !== null) return isInSubnet(host, subnet[1]!, Number(subnet[2]));
  // A name or an address, in brackets if it is IPv6 with a port.
  const [, bracketed, plain = '', entryPort] = /^(?:\[(.+)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain;
  if (entryPort !== undefined && entryPort !== port) return false;
  if (net.isIP(host) !== 0) return isInSubnet(host, name, net.isIP(name) === 4 ? 32 : 128);
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '');
  return suffix !== '' && (host.endsWith(`.${suffix}`) || (host === suffix && !name.startsWith('*')));
}

function isInSubnet(host: string, network: string, bits: number): boolean {
  const version = net.isIP(network);
  if (net.isIP(host) === 0 || version === 0 || bits > (version === 4 ? 32 : 128)) return false;
  const list = new net.BlockList();
  list.addSubnet(network, bits, version === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, net.isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

export function portOf(url: URL): string {
  return url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
}

/** Returns the header with the user name and password of the proxy's URL, if it has any. */
export function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const credentials = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  return { 'proxy-authorization': `Basic ${credentials}` };
}
