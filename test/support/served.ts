/** Runs `petstore sandbox serve`, `petstore proxy` and plain servers, and sends plain requests to them. */
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { type PetstoreOptions, type Running, startPetstore } from './binary.ts';
import { listenOnLoopback, onCleanup } from './cleanup.ts';

export interface Served extends Running {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly port: number;
}

/** Starts it on a free port, with its stock in the given home folder (default: a new one). */
export async function serveSandbox(args: readonly string[] = [], options: PetstoreOptions = {}): Promise<Served> {
  const running = startPetstore(['sandbox', 'serve', '--port', '0', '--json', ...args], options);
  await running.waitFor(/\n/, 'stdout');
  const { baseUrl, apiKey } = JSON.parse(running.stdout) as { baseUrl: string; apiKey: string };
  return Object.assign(running, { baseUrl, apiKey, port: Number(new URL(baseUrl).port) });
}

export interface Plain {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface PlainRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** True to speak TLS, with any certificate. */
  readonly tls?: boolean;
}

/** Sends any path and headers, including Host. */
export function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body, tls = false }: PlainRequest = {},
): Promise<Plain> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      headers,
      agent: false,
      rejectUnauthorized: false,
    } as const;
    const sent = (tls ? httpsRequest : httpRequest)(options, (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          });
        });
    });
    sent.on('error', reject).end(body);
  });
}

export const JSON_TYPE = { 'content-type': 'application/json' };

export function patch(
  { port, apiKey }: Pick<Served, 'port' | 'apiKey'>,
  petId: number | bigint | string,
  quantity: number,
): Promise<Plain> {
  return ask(port, `/v1/inventory/${petId}`, {
    method: 'PATCH',
    headers: { ...JSON_TYPE, authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ quantity }),
  });
}

/** Calls a control and returns its answer. */
export async function control(port: number, method: string, path: string, body?: unknown): Promise<unknown> {
  const { status, body: text } = await ask(port, `/__sandbox${path}`, {
    method,
    headers: JSON_TYPE,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return JSON.parse(text);
}

/** Resolves once the first fault rule of a sandbox has seen this many requests: they are in its hands. */
export async function ruleHasSeen({ port }: Pick<Served, 'port'>, requests: number): Promise<void> {
  const seen = async (): Promise<number> => ((await control(port, 'GET', '/faults')) as { seen: number }[])[0]!.seen;
  while ((await seen()) < requests) continue;
}

/** Sends raw bytes, and returns everything up to the close by the server. */
export function sendRaw(port: number, text: string): Promise<string> {
  const socket = openSocket(port);
  socket.write(text, 'latin1');
  return heardBy(socket).closed;
}

/** All that a socket hears until it is closed. */
export function heardBy(socket: Socket): { readonly text: () => string; readonly closed: Promise<string> } {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  return { text: () => text, closed: new Promise((resolve) => socket.once('close', () => resolve(text))) };
}

/** Opens a socket that closes with the test; ignores its errors. */
export function openSocket(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  onCleanup(() => void socket.destroy());
  return socket;
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => unknown;

/** Serves on loopback until the test ends. Resolves to the port. */
export async function listen(handler: Handler): Promise<number> {
  const server = createServer((req, res) => void handler(req, res));
  server.keepAliveTimeout = 0;
  return listenOnLoopback(server);
}

/** Headers of a rate limit that is never reached. */
export function plentyLeft(): Record<string, string> {
  const reset = `${Math.floor(Date.now() / 1_000) + 60}`;
  return { 'x-ratelimit-limit': '99999', 'x-ratelimit-remaining': '99998', 'x-ratelimit-reset': reset };
}

export interface ServedProxy extends Running {
  readonly port: number;
  readonly baseUrl: string;
  readonly token: string;
  /** Sends a request below /v1, with the token. */
  ask(path: string, request?: PlainRequest): Promise<Plain>;
  /** Resolves once this many requests have been answered and logged. */
  answered(count: number): Promise<void>;
  /** Returns a line for each request, in the order in which they ended. */
  log(): string[];
}

/** Starts `petstore proxy` on a free port, as `staging`, in front of the test's own server. */
export async function serveProxy(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  options: PetstoreOptions = {},
): Promise<ServedProxy> {
  const running = startPetstore(['proxy', '--port', '0', ...args], {
    ...options,
    env: { ...env, ...options.env },
  });
  await running.waitFor(/Press Ctrl-C/, 'stdout');
  const valueOf = (title: string): string => new RegExp(`^${title} +(.*)$`, 'm').exec(running.stdout)?.[1] ?? '';
  const [baseUrl, token] = [valueOf('Base URL'), valueOf('Token')];
  const port = Number(new URL(baseUrl).port);
  const authorization = `Bearer ${token}`;
  return Object.assign(running, {
    baseUrl,
    token,
    port,
    ask: (path: string, request: PlainRequest = {}) =>
      ask(port, `/v1${path}`, { ...request, headers: { authorization, ...request.headers } }),
    answered: (count: number) => running.waitFor(new RegExp(`(?:^..:..:.. [^]*?\\n){${count}}`, 'm'), 'stderr'),
    log: () => running.stderr.split('\n').filter((line) => /^..:..:.. /.test(line)),
  });
}
