/** Replies of a scripted server: plain ones as data, faulty ones as functions. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  /** Lower-case name -> value; repeated ones joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Number of its connection, and its number on that connection, both from 1. */
  readonly connection: number;
  readonly onConnection: number;
}

/** A request that waits for its answer. */
export interface Exchange {
  readonly request: ReceivedRequest;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The TCP connection, below TLS. */
  readonly connection: Socket;
  /** Makes the test fail when it ends. */
  fail(problem: string): void;
}

export interface Limits {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds from now until the window ends. */
  readonly resetsIn: number;
}

export interface PlainReply {
  /** Default 200. */
  readonly status?: number;
  /** Added to the default headers, or replacing them; undefined drops a default one, an array repeats the header. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The three headers of the service spec, part 8: on every response unless false. */
  readonly limits?: Partial<Limits> | false;
  /** A value sent as JSON, bigints digit for digit. */
  readonly json?: unknown;
  /** Raw bytes; overrides `json`. */
  readonly body?: string | Uint8Array;
}

/** Answers the exchange itself, in any way. Resolves when it has finished. */
export type ReplyFunction = (exchange: Exchange) => void | Promise<void>;
export type Reply = PlainReply | ReplyFunction;
export type Init = Omit<PlainReply, 'json' | 'body'>;

/** Returns the value as JSON, with status 200 unless `init` overrides it. */
export const json = (value: unknown, init: Init = {}): PlainReply => ({ ...init, json: value });

/** Returns an InventoryItem (service spec, part 2). */
export const item = (petId: bigint | number, quantity: bigint | number, status = 'available') => ({
  petId,
  quantity,
  status,
});

/** Returns an Error body (service spec, part 2) with its status. */
export const error = (status: number, message = 'No.', code = 'error', init: Init = {}): PlainReply =>
  json({ code, message, status }, { status, ...init });

/** Returns a 429, with Retry-After if given. */
export const tooMany = (retryAfter?: string | number, init: Init = {}): PlainReply =>
  error(429, 'Too many requests', 'rate_limited', {
    limits: { remaining: 0 },
    ...init,
    headers: { 'Retry-After': retryAfter === undefined ? undefined : `${retryAfter}`, ...init.headers },
  });

export async function send(reply: Reply, exchange: Exchange): Promise<void> {
  if (typeof reply === 'function') return reply(exchange);
  const body = bodyOf(reply);
  head(reply, exchange, { 'Content-Length': `${body.length}` });
  exchange.res.end(body);
}

export function bodyOf({ body, json: value }: PlainReply): Buffer {
  return Buffer.from(body ?? (value === undefined ? '' : stringify(value)));
}

/** Writes status line and headers. `framing`: the headers that mark the body's end, unless the reply has its own. */
export function head(reply: PlainReply, { res }: Exchange, framing: Record<string, string>): void {
  const pairs = headersOf(reply, Date.now(), framing).flatMap(([name, values]) => values.map((value) => [name, value]));
  res.sendDate = false;
  // A flat list of names and values keeps case and repetitions; the types do not allow it.
  res.writeHead(reply.status ?? 200, pairs.flat() as unknown as OutgoingHttpHeaders);
}

/** Returns the reply's headers, including the default ones. `now`: epoch ms. */
export function headersOf(
  reply: PlainReply,
  now: number,
  framing: Readonly<Record<string, string>> = {},
): (readonly [name: string, values: readonly string[]])[] {
  const { limit = 60, remaining = 59, resetsIn = 60 } = reply.limits === false ? {} : (reply.limits ?? {});
  const defaults = {
    Date: new Date(now).toUTCString(),
    ...(reply.json !== undefined && { 'Content-Type': 'application/json' }),
    ...(reply.limits !== false && {
      'X-RateLimit-Limit': `${limit}`,
      'X-RateLimit-Remaining': `${remaining}`,
      'X-RateLimit-Reset': `${Math.floor(now / 1_000) + resetsIn}`,
    }),
    ...(reply.status !== 204 && framing),
  };
  const headers = new Map<string, readonly [string, readonly string[]]>();
  for (const [name, value] of [...Object.entries(defaults), ...Object.entries(reply.headers ?? {})]) {
    if (value === undefined) headers.delete(name.toLowerCase());
    else headers.set(name.toLowerCase(), [name, typeof value === 'string' ? [value] : value]);
  }
  return [...headers.values()];
}

/** Returns JSON text, with bigints as plain integers. */
export function stringify(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? rawJSON(`${each}`) : each));
}
