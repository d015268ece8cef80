/** Decides who may use the proxy (programs with a token, never web pages) and how many connections each may have. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { isOneOf } from '../api/values.ts';
import { isWrite } from '../client/classify.ts';
import { METHODS } from '../client/service.ts';
import { peerOf, type Refusal, refusalOfHost } from '../http/server.ts';
import type { Client } from './clients.ts';
import { isLooping, pathBelowBase } from './messages.ts';
import { setNewest } from './shares.ts';

/** What clients need. */
export interface Access {
  /** Clients whose tokens are accepted; undefined if no token is needed. */
  clients: readonly Client[] | undefined;
  readonly isReadOnly: boolean;
  /** True if clients reach the proxy by this host name, in lower case. */
  isNamed: (name: string) => boolean;
}

/** Returns why a request is refused, judged by its head. `client`: the one that its token belongs to. */
export function refusalOf(
  incoming: IncomingMessage,
  { clients, isReadOnly, isNamed }: Access,
  client: Client | undefined,
): Refusal | undefined {
  const { headers, method = '', url = '' } = incoming;
  const hostRefusal = refusalOfHost(incoming, isNamed);
  if (hostRefusal !== undefined) return hostRefusal;
  if (headers.origin !== undefined || !['none', undefined].includes(headers['sec-fetch-site']?.toString())) {
    return [403, 'from_web_page', 'Web pages cannot use this proxy.'];
  }
  if (clients !== undefined && client === undefined) {
    return [401, 'unauthorized', "Send the proxy's token: Authorization: Bearer TOKEN."];
  }
  if (isLooping(headers)) {
    return [508, 'loop', 'The request comes from a petstore proxy: its base URL must be that of the service.'];
  }
  // RFC 9112, 6.1: the body would be passed on still encoded.
  if (!/^(chunked)?$/i.test(headers['transfer-encoding'] ?? '')) return [501, 'unknown_coding', 'Send it chunked.'];
  if (!isOneOf(METHODS, method)) return [501, 'unknown_method', `The proxy does not pass on ${method}.`];
  if (isOwnPath(url)) return isWrite(method) ? [405, 'method_not_allowed', 'This path is read-only.'] : undefined;
  if (pathBelowBase(url) === undefined) {
    return [404, 'not_found', 'Paths begin with /v1, such as /v1/inventory, and have no dot segments.'];
  }
  if (isReadOnly && isWrite(method)) return [405, 'read_only', 'This proxy only passes on GET, HEAD and OPTIONS.'];
  if (client?.isReadOnly === true && isWrite(method)) return [403, 'read_token', 'This token is read-only.'];
  return undefined;
}

/** True for the proxy's own paths: status, metrics, catalog. */
export function isOwnPath(url: string): boolean {
  return url.startsWith('/__petstore/');
}

/** Most connections without a valid token so far. */
const MOST_STRANGERS = 500;
/** Most connections of one named client. */
const MOST_OF_ONE = 100;

const SHORTEST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 10_000;
const FORGOTTEN_MS = 60_000;

/** Limits the connections of clients without a token, and of each named client. */
export class Visitors {
  /** Connections without a token, oldest first. */
  private readonly strangers = new Map<string, Socket>();
  /** The client that used a connection last: a load balancer sends requests of several clients on one. */
  private readonly users = new Map<Socket, string>();
  /** By address: how many wrong tokens, and when the last one came. */
  private readonly wrong = new Map<string, { readonly count: number; readonly at: number }>();

  /** Closes the oldest connection without a token if there are too many, so that they never take all places. */
  arrived(socket: Socket): void {
    const { strangers } = this;
    const peer = peerOf(socket);
    strangers.set(peer, socket);
    socket.once('close', () => strangers.delete(peer));
    const [oldest] = strangers;
    if (oldest === undefined || strangers.size <= MOST_STRANGERS) return;
    strangers.delete(oldest[0]);
    oldest[1].destroy();
  }

  /** Notes that a connection has sent a valid token. Returns a refusal if its client has too many connections. */
  recognize(socket: Socket, name: string | undefined): Refusal | undefined {
    const { users } = this;
    this.strangers.delete(peerOf(socket));
    if (name === undefined || users.get(socket) === name) return undefined;
    if ([...users.values()].filter((user) => user === name).length === MOST_OF_ONE) {
      return [429, 'too_many_connections', `A token may have at most ${MOST_OF_ONE} connections.`];
    }
    if (!users.has(socket)) socket.once('close', () => users.delete(socket));
    users.set(socket, name);
    return undefined;
  }

  /** Counts a wrong token, and returns how long to delay its refusal, in ms. Valid tokens are never delayed. */
  delayOf(address: string, now: number): number {
    const { wrong } = this;
    const { count, at } = wrong.get(address) ?? { count: 0, at: now };
    const before = now - at > FORGOTTEN_MS ? 0 : count;
    setNewest(wrong, address, { count: before + 1, at: now });
    return Math.min(LONGEST_DELAY_MS, SHORTEST_DELAY_MS * 2 ** before);
  }
}
