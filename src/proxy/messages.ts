/** Selects the headers and paths that the proxy passes on, and sends the service's response to its client. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { SILENCE_MS } from '../http/server.ts';
import { MAX_WAIT_HEADER } from '../client/service.ts';
import { type HttpReply, isWhole } from '../ports.ts';
import { GATEWAY_HEADER } from '../rate-limit/headers.ts';

/** Headers of one connection only (RFC 9110, 7.6.1), and obsolete ones. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];
/** Headers that are only for the proxy. A range may contain a part of the key, which would not be redacted. */
const NOT_SENT = new Set([
  ...HOP_BY_HOP,
  'accept-encoding',
  'authorization',
  'content-length',
  'expect',
  'host',
  'if-range',
  MAX_WAIT_HEADER,
  'proxy-authenticate',
  'proxy-authorization',
  'range',
]);
/** Headers that are not returned: the proxy decodes the body and frames it again. */
const NOT_RETURNED = new Set([
  ...HOP_BY_HOP,
  'content-encoding',
  'content-length',
  GATEWAY_HEADER,
  'proxy-authenticate',
]);
/** The proxy's name in `Via`, by which it recognises its own requests. No host has it: others put theirs there. */
const VIA = 'petstore_proxy';

/** Returns the headers of a request that are sent to the service: all but `dropped` and those of the connection. */
export function sentHeaders(headers: IncomingHttpHeaders, dropped?: string): Record<string, string> {
  // A condition is meant for all recipients, whatever Connection says: the update would be sent unchecked.
  const others = [dropped, ...namedIn(headers.connection).filter((name) => name !== 'if-match')];
  const sent: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(headers)) {
    if (NOT_SENT.has(name) || others.includes(name)) continue;
    sent[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  sent.via = headers.via === undefined ? `1.1 ${VIA}` : `${headers.via}, 1.1 ${VIA}`;
  return sent;
}

/** True for a request that was sent by this or another petstore proxy. */
export function isLooping({ via = '' }: IncomingHttpHeaders): boolean {
  return via.split(',').some((each) => each.trim().split(/\s+/)[1] === VIA);
}

/** Returns the headers of a response that are sent to the client, without those whose name was redacted. */
export function returnedHeaders({ headers }: Pick<HttpReply, 'headers'>): Record<string, string | string[]> {
  const others = namedIn(headers.get('connection')?.join(','));
  const isReturned = (name: string): boolean =>
    !NOT_RETURNED.has(name) && !others.includes(name) && !name.includes('[');
  const returned = [...headers].filter(([name]) => isReturned(name));
  return Object.fromEntries(returned.map(([name, values]) => [name, values.length === 1 ? values[0]! : [...values]]));
}

function namedIn(connection = ''): string[] {
  return connection.split(',').map((name) => name.trim().toLowerCase());
}

/**
 * Returns the path below the base URL, with its query and unchanged characters; undefined if it leads out of it. A
 * server on the way may resolve dot segments, however they are encoded, even with parameters (`..;a=b`).
 */
export function pathBelowBase(target: string): string | undefined {
  if (!/^\/v1(?:[/?]|$)/.test(target) || !/^[!-~]+$/.test(target) || /[#\\]/.test(target)) return undefined;
  const [path = ''] = target.split('?');
  return /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|;|%3b|$)/i.test(path) ? undefined : target.slice('/v1'.length);
}

/** Longer bodies are streamed. Whether a small one is whole, and can be decoded, shows at its end. */
const SMALL_BODY = 64 * 1024;
/** How long a client may take to read what was written, in ms. Half of the limit, since Node starts the time again once. */
export const TAKING_MS = SILENCE_MS / 2;

/**
 * Sends the reply as fast as the client reads. Rejects if the service's body breaks off or cannot be decoded, before
 * anything is sent if that shows at once.
 */
export async function sendReply(outgoing: ServerResponse, reply: HttpReply, method: string): Promise<void> {
  const { body, status } = reply;
  const headers = returnedHeaders(reply);
  // The decoded body has another length, and a 204 has none (RFC 9110, 8.6).
  const hasLength = status !== 204 && !reply.headers.has('content-encoding');
  const length = hasLength ? reply.headers.get('content-length')?.[0] : undefined;
  outgoing.sendDate = !reply.headers.has('date');
  const isEmpty = method === 'HEAD' || status === 204 || status === 304;
  // HTTP/1.0 has no chunks, so a body that breaks off would look complete.
  const mostHeld = isWhole(body) || outgoing.req.httpVersionMinor === 0 ? Number.POSITIVE_INFINITY : SMALL_BODY;
  const held: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of isEmpty ? [] : body) {
    held.push(chunk);
    size += chunk.length;
    if (size <= mostHeld) continue;
    if (outgoing.destroyed) return;
    if (!outgoing.headersSent) outgoing.writeHead(status, headers);
    if (!outgoing.write(Buffer.concat(held.splice(0)))) await drained(outgoing);
  }
  if (outgoing.headersSent) {
    outgoing.end();
    return;
  }
  const sent = isEmpty ? length : String(size);
  outgoing.writeHead(status, { ...headers, ...(sent !== undefined && { 'content-length': sent }) });
  // As text, because Node then sends it together with the head.
  outgoing.end(Buffer.concat(held).toString('latin1'), 'latin1');
}

/** Resolves when the client has read what was written, or is gone. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      // The service may take longer than the client may.
      outgoing.setTimeout(0).off('drain', end).off('close', end);
      resolve();
    };
    outgoing.setTimeout(TAKING_MS).once('drain', end).once('close', end);
  });
}
