/** Runs the sandbox within this process: its handler as an Http port, without a server or a socket. */
import { type Clock, type Http, HttpFailure, type HttpReply, type HttpRequest } from '../ports.ts';
import type { FilePorts } from '../state/lock.ts';
import { inTime } from '../stop.ts';
import { handle, headersOf } from './handler.ts';
import { type Handler, LARGEST_BODY, type SandboxResponse } from './operations.ts';
import { DEFAULT_RULES, SANDBOX_KEY, SANDBOX_URL } from './plans.ts';
import { openStore, type SandboxFile } from './sandbox-store.ts';

/**
 * Opens the store. Like the state database, it stays open when the command ends: to close it, SQLite writes to disk
 * five times.
 * @throws {Failure} `state`, `file`
 */
export async function openInProcess(ports: FilePorts, file: SandboxFile): Promise<Http> {
  const store = await openStore(ports, file);
  const now = (): number => ports.clock.now();
  return inProcess(ports.clock, { store, rules: DEFAULT_RULES, apiKeys: [SANDBOX_KEY], baseUrl: SANDBOX_URL, now });
}

/** Returns an Http port over the handler. */
export function inProcess(clock: Clock, handler: Handler): Http {
  return {
    connect({ url, signal }) {
      if (signal?.aborted === true) return Promise.reject(aborted(url, false));
      return Promise.resolve({
        isOpen: true,
        send: (request, maySend) => send(clock, handler, request, maySend),
        release: () => undefined,
      });
    },
    close: () => Promise.resolve(),
  };
}

async function send(clock: Clock, handler: Handler, request: HttpRequest, maySend: () => boolean): Promise<HttpReply> {
  const { method, target, url } = request;
  const body = Buffer.from(request.body ?? '').toString();
  // Lets signals through between requests, as a socket would.
  await clock.turn();
  if (request.signal?.aborted === true) throw aborted(url, false);
  if (!maySend()) throw HttpFailure.withdrawn(url.host);
  const work = handle(handler, {
    method,
    target,
    headers: request.headers,
    body: Buffer.byteLength(body) > LARGEST_BODY ? undefined : body,
  });
  const detail = 'the sandbox did not answer in time';
  const late = (): Error =>
    new HttpFailure({ phase: 'response-timeout', mayHaveBeenSent: true, peer: url.host, code: 'TIMEOUT', detail });
  const response = await inTime({ clock, ...request }, late, work).catch((error: unknown) => {
    throw request.signal?.aborted === true ? aborted(url, true) : error;
  });
  const headers = Object.entries(headersOf(response, handler.now()));
  return {
    status: response.status,
    headers: new Map(headers.map(([name, value]) => [name.toLowerCase(), [value]])),
    body: pieces(clock, request, method === 'HEAD' ? '' : response.body),
  };
}

async function* pieces(
  clock: Clock,
  { url, signal }: HttpRequest,
  body: SandboxResponse['body'],
): AsyncGenerator<Uint8Array> {
  try {
    for (const piece of typeof body === 'string' ? [body] : body) {
      await clock.turn();
      if (signal?.aborted === true) throw aborted(url, true);
      yield Buffer.from(piece);
    }
  } catch (error) {
    if (error instanceof HttpFailure) throw error;
    const [peer, detail] = [url.host, String(error)];
    throw new HttpFailure({ phase: 'body-cut', mayHaveBeenSent: true, peer, code: 'SQLITE', detail });
  }
}

function aborted({ host: peer }: URL, mayHaveBeenSent: boolean): HttpFailure {
  const detail = 'the request was aborted';
  return new HttpFailure({ phase: 'aborted', mayHaveBeenSent, peer, code: 'ABORT_ERR', detail });
}
