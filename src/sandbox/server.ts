/** The sandbox over real HTTP, on loopback, within this process. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Context, DatabaseFailure } from '../context.ts';
import { error, type Handler, handle, type SandboxRequest, type SandboxResponse } from './handler.ts';
import { SANDBOX_KEY } from './key.ts';
import { FREE, type Plan } from './limiter.ts';
import { openStore, type Store } from './store.ts';

const LARGEST_BODY = 64 * 1024;
/** How long to wait for another process that writes, in ms. */
const PATIENCE_MS = 5_000;

export interface Sandbox {
  /** `http://127.0.0.1:PORT/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  close(): Promise<void>;
}

/** One line of the server's log. */
export interface LoggedRequest {
  /** When its answer was settled, epoch ms. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly status: number;
  /** Of a 429, in s. */
  readonly retryAfter?: number;
}

export interface SandboxOptions {
  readonly folder: string;
  readonly plan?: Plan;
  onRequest?(request: LoggedRequest): void;
}

type Ports = Pick<Context, 'clock' | 'files' | 'openDatabase' | 'random'>;

/** @throws {Failure} `state`, `file`; @throws {DatabaseFailure} */
export async function startSandbox(context: Ports, options: SandboxOptions): Promise<Sandbox> {
  await context.files.makePrivateFolder(options.folder);
  const store = await openPatiently(context, `${options.folder}/sandbox.db`);
  const handler: Handler = {
    store,
    plan: options.plan ?? FREE,
    apiKeys: [SANDBOX_KEY],
    now: () => context.clock.now(),
  };
  const server = createServer((request, response) => {
    void answer(context, handler, request, response, options.onRequest);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    apiKey: SANDBOX_KEY,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      store.close();
    },
  };
}

async function openPatiently(context: Ports, path: string): Promise<Store> {
  const database = await context.openDatabase(path);
  try {
    return await patiently(context, () => openStore(database));
  } catch (problem) {
    database.close();
    throw problem;
  }
}

/** Again, for a while, as long as another process holds the store. */
async function patiently<T>({ clock, random }: Ports, work: () => T | Promise<T>): Promise<T> {
  const giveUp = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof DatabaseFailure) || problem.problem !== 'busy') throw problem;
      if (clock.monotonic() >= giveUp) throw problem;
      await clock.sleep(10 + 20 * random());
    }
  }
}

async function answer(
  context: Ports,
  handler: Handler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  log: SandboxOptions['onRequest'],
): Promise<void> {
  const response = await respond(context, handler, incoming);
  const retryAfter = response.headers['Retry-After'];
  log?.({
    at: handler.now(),
    method: incoming.method ?? '',
    target: incoming.url ?? '',
    status: response.status,
    ...(retryAfter !== undefined && { retryAfter: Number(retryAfter) }),
  });
  outgoing.writeHead(response.status, {
    ...response.headers,
    'Content-Length': Buffer.byteLength(response.body),
  });
  outgoing.end(response.body);
}

async function respond(context: Ports, handler: Handler, incoming: IncomingMessage): Promise<SandboxResponse> {
  const refuse = (...facts: Parameters<typeof error>): SandboxResponse => {
    const { status, body, headers } = error(...facts);
    return { status, body, headers: { 'Content-Type': 'application/json', ...headers } };
  };
  try {
    const body = await readBody(incoming);
    if (body === undefined) return refuse(413, 'too_large', `A body holds at most ${LARGEST_BODY} bytes.`);
    return await patiently(context, () => handle(handler, toRequest(incoming, body)));
  } catch (problem) {
    if (!(problem instanceof DatabaseFailure)) return refuse(500, 'internal', 'The sandbox failed.');
    return refuse(503, 'busy', `The sandbox cannot use its store: ${problem.message}.`);
  }
}

function toRequest(incoming: IncomingMessage, body: string): SandboxRequest {
  const { authorization } = incoming.headers;
  return { method: incoming.method ?? '', target: incoming.url ?? '', headers: { authorization }, body };
}

async function readBody(incoming: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= LARGEST_BODY) chunks.push(chunk);
  }
  return size > LARGEST_BODY ? undefined : Buffer.concat(chunks).toString('utf8');
}
