/** Decides who may use the proxy: programs of this machine that know its token, and no web page. */
import type { IncomingMessage } from 'node:http';
import { isOneOf } from '../api/values.ts';
import { isWrite } from '../client/classify.ts';
import { METHODS } from '../client/service.ts';
import { isOurs, type Refusal } from '../http/server.ts';
import { type Client, clientOf } from './clients.ts';
import { isLooping, pathBelowBase } from './messages.ts';

/** What is asked of clients. */
export interface Access {
  /** A token of one of them has to be sent; undefined: no token is asked for. */
  readonly clients: readonly Client[] | undefined;
  readonly isReadOnly: boolean;
  /** Lower-case host names by which clients reach the proxy. */
  readonly names?: readonly string[] | undefined;
}

/** Returns why a request is refused, by its head alone. */
export function refusalOf(
  incoming: IncomingMessage,
  { clients, isReadOnly, names = [] }: Access,
  client = clientOf(incoming.headers.authorization, clients),
): Refusal | undefined {
  const { headers, headersDistinct, method = '', url = '' } = incoming;
  if ((headersDistinct.host?.length ?? 0) > 1) return [400, 'malformed', 'A request has one Host header.'];
  // By a name of another site that is resolved to this machine (DNS rebinding).
  if (!isOurs(headers.host, names)) {
    return [403, 'foreign_host', 'The Host header must be localhost, an address or a name by --allow-host.'];
  }
  if (headers.origin !== undefined || !['none', undefined].includes(headers['sec-fetch-site']?.toString())) {
    return [403, 'from_web_page', 'Web pages cannot use this proxy.'];
  }
  if (clients !== undefined && client === undefined) {
    return [401, 'unauthorized', "Send the proxy's token: Authorization: Bearer TOKEN."];
  }
  if (isLooping(headers)) return [508, 'loop', 'The base URL of this proxy leads back to it.'];
  if (!isOneOf(METHODS, method)) return [501, 'unknown_method', `The proxy does not pass on ${method}.`];
  if (isOwnPath(url)) return method === 'GET' ? undefined : [405, 'method_not_allowed', 'Allowed here: GET.'];
  if (pathBelowBase(url) === undefined) {
    return [404, 'not_found', 'The proxy passes on paths below /v1, without dot segments.'];
  }
  if (isReadOnly && isWrite(method)) {
    return [405, 'read_only', 'This proxy was started with --read-only. Allowed: GET, HEAD, OPTIONS.'];
  }
  if (client?.isReadOnly === true && isWrite(method)) {
    return [403, 'read_token', 'This token is for reading only.'];
  }
  return undefined;
}

/** True for the status and the metrics of the proxy. */
export function isOwnPath(url: string): boolean {
  return url.startsWith('/__petstore/');
}
