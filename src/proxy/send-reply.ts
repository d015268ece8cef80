/** Sends the service's response to a client of the proxy. */
import type { ServerResponse } from 'node:http';
import type { Forwarded } from '../client/raw.ts';
import { SILENCE_MS } from '../http/server.ts';
import { isWhole } from '../ports.ts';
import { returnedHeaders } from './messages.ts';

/** Longer bodies are streamed. */
const SMALL_BODY = 64 * 1024;
/** For what was written, ms. Node allows it twice: it begins anew once, where the system has taken a part of that. */
export const TAKING_MS = SILENCE_MS / 2;

/**
 * Sends it as fast as the client takes it. Rejects where the body of the service breaks off or cannot be decoded: before
 * anything is sent, if that shows at once.
 */
export async function sendReply(outgoing: ServerResponse, reply: Forwarded, method: string): Promise<void> {
  const { body, status } = reply;
  const headers = returnedHeaders(reply);
  // Without the coding, a body has another length.
  const length = reply.headers.has('content-encoding') ? undefined : reply.headers.get('content-length')?.[0];
  outgoing.sendDate = !reply.headers.has('date');
  if (method === 'HEAD' || status === 204 || status === 304) {
    outgoing.writeHead(status, { ...headers, ...(length !== undefined && { 'content-length': length }) }).end();
    return;
  }
  // Without chunks, which HTTP/1.0 does not have, a body that breaks off would look complete.
  const isSmall = Number(length) <= SMALL_BODY || outgoing.req.httpVersionMinor === 0;
  const whole = isWhole(body) ? body : isSmall ? await Array.fromAsync(body) : undefined;
  if (whole !== undefined) {
    const bytes = Buffer.concat(whole);
    headers['content-length'] = String(bytes.length);
    // As text, Node sends it with the head in one piece.
    outgoing.writeHead(status, headers).end(bytes.toString('latin1'), 'latin1');
    return;
  }
  for await (const chunk of body) {
    if (outgoing.destroyed) return;
    if (!outgoing.headersSent) outgoing.writeHead(status, headers);
    if (!outgoing.write(chunk)) await drained(outgoing);
  }
  if (!outgoing.headersSent) outgoing.writeHead(status, headers);
  outgoing.end();
}

/** Resolves when the client has taken what was written, or is gone. */
function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      // The service may be silent for longer.
      outgoing.setTimeout(0).off('drain', end).off('close', end);
      resolve();
    };
    outgoing.setTimeout(TAKING_MS).once('drain', end).once('close', end);
  });
}
