/** Selects the headers and paths that the proxy passes on. */
import type { IncomingHttpHeaders } from 'node:http';
import type { HttpReply } from '../ports.ts';

/** Of one connection only (RFC 9110, 7.6.1), or obsolete ones that are. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
/** Concern only the client and the proxy. */
const NOT_SENT = [
  ...HOP_BY_HOP,
  'accept-encoding',
  'authorization',
  'content-length',
  'expect',
  'host',
  'proxy-authenticate',
  'proxy-authorization',
];
/** The body is decoded, and framed anew. */
const NOT_RETURNED = [...HOP_BY_HOP, 'content-encoding', 'content-length', 'proxy-authenticate', 'proxy-connection'];
/** The name of this proxy in `Via`, by which it knows a request that comes back to it. */
const VIA = 'petstore';

/** Returns the headers of a client's request that are sent to the service. */
export function sentHeaders(headers: IncomingHttpHeaders, dropped: readonly string[]): Record<string, string> {
  const others = [...NOT_SENT, ...dropped, ...namedIn(headers.connection)];
  const kept = Object.entries(headers).filter(([name]) => !others.includes(name));
  const via = [headers.via, `1.1 ${VIA}`].filter((each) => each !== undefined).join(', ');
  const sent: Record<string, string> = {};
  for (const [name, value = ''] of kept) sent[name] = Array.isArray(value) ? value.join(', ') : value;
  return { ...sent, via };
}

/** True for a request that this or another petstore proxy has sent. */
export function isLooping({ via = '' }: IncomingHttpHeaders): boolean {
  return via.split(',').some((each) => each.trim().split(/\s+/)[1] === VIA);
}

/** Returns the headers of the service's response that the client gets: bytes of a value as they came. */
export function returnedHeaders({ headers }: Pick<HttpReply, 'headers'>): Record<string, string | string[]> {
  const others = [...NOT_RETURNED, ...namedIn(headers.get('connection')?.join(','))];
  const kept = [...headers].filter(([name]) => !others.includes(name));
  return Object.fromEntries(
    kept.map(([name, values]) => {
      const bytes = values.map((value) => (isAscii(value) ? value : Buffer.from(value).toString('latin1')));
      return [name, bytes.length === 1 ? bytes[0]! : bytes];
    }),
  );
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

function namedIn(connection = ''): string[] {
  if (connection === '' || connection === 'keep-alive') return [];
  return connection.split(',').map((name) => name.trim().toLowerCase());
}

/**
 * Returns the path below the base URL, with its query: undefined where it leads out of it. Characters stay as they are.
 * A server on the way may resolve a segment of dots, however it is encoded and also with parameters (`..;a=b`).
 */
export function pathBelowBase(target: string): string | undefined {
  if (!/^\/v1(?:[/?]|$)/.test(target) || !/^[!-~]+$/.test(target) || /[#\\]/.test(target)) return undefined;
  const [path = ''] = target.split('?');
  return /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|;|%3b|$)/i.test(path) ? undefined : target.slice('/v1'.length);
}
