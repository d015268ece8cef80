/** Serves the sandbox's page and its controls under `/__sandbox` over HTTP, to this machine only. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FilePorts } from '../state/file.ts';
import { administer } from './control.ts';
import { refuse, troubleOf } from './handler.ts';
import { readBody } from '../http/server.ts';
import { error, type SandboxResponse } from './operations.ts';
import type { LoggedRequest } from './request-log.ts';
import { send, type Served } from './serve-request.ts';

const LONGEST_COMMAND = 64 * 1024;
const BELOW = '/__sandbox';
/** Keeps a proxy or a sleeping laptop from closing the stream. */
const HEARTBEAT_MS = 15_000;

/** Never rejects. */
export async function control(
  ports: FilePorts,
  served: Served,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { pathname, searchParams: query } = new URL(incoming.url ?? '/', 'http://sandbox');
  const method = incoming.method ?? '';
  if (pathname === `${BELOW}/events` && method === 'GET') {
    stream(ports, served, incoming, outgoing);
    return;
  }
  const body = (await readBody(incoming, outgoing, LONGEST_COMMAND).catch(() => undefined))?.toString() ?? '';
  const result = isForeign(incoming)
    ? error(403, 'foreign_page', 'Only the sandbox’s own page, or a program, may do that.')
    : pathname.startsWith(`${BELOW}/`)
      ? await administer(served, { method, path: pathname.slice(BELOW.length), query, body }).catch(troubleOf)
      : await page(method, pathname);
  const response =
    result === undefined
      ? await refuse(served.handler, error(404, 'not_found', 'Unknown path.'))
      : { ...result, headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...result.headers } };
  await send(ports, outgoing, response, [], served.handler.now());
}

/** True if the page of another site made the browser send the request, according to the browser's headers. */
function isForeign({ headers, method }: IncomingMessage): boolean {
  if (headers['sec-fetch-site'] !== undefined && !['same-origin', 'none'].includes(headers['sec-fetch-site'])) {
    return true;
  }
  if (headers.origin !== undefined) return headers.origin !== `http://${headers.host ?? ''}`;
  // Without either header, an old browser could still post a form, but not JSON.
  return method === 'POST' && !/^application\/json\b/.test(headers['content-type'] ?? '');
}

async function page(method: string, path: string): Promise<SandboxResponse | undefined> {
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const { default: built } = await import('./page.json', { with: { type: 'json' } });
  return {
    status: 200,
    body: built.html,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': built.policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  };
}

/** Streams each answered request as a server-sent event. */
function stream({ clock }: FilePorts, { log }: Served, incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  outgoing.write(': here is the sandbox\n\n');
  // A slow reader misses some events; the page then fetches them.
  const onRequest = (request: LoggedRequest): void => {
    if (outgoing.writableLength < LONGEST_COMMAND) outgoing.write(`data: ${JSON.stringify(request)}\n\n`);
  };
  const onEnd = (): void => void outgoing.end();
  log.on('request', onRequest).on('end', onEnd);
  let cancel = (): void => undefined;
  const beat = (): void => {
    outgoing.write(':\n\n');
    cancel = clock.alarm(HEARTBEAT_MS, beat);
  };
  cancel = clock.alarm(HEARTBEAT_MS, beat);
  outgoing.once('close', () => {
    log.off('request', onRequest).off('end', onEnd);
    cancel();
  });
}
