/** Faulty replies of a scripted server. */
import { once } from 'node:events';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import {
  bodyOf,
  type Exchange,
  head,
  type PlainReply,
  type Reply,
  type ReplyFunction,
  send,
  stringify,
} from './replies.ts';

/** Reads the whole request, then breaks the connection with a TCP reset. */
export const reset =
  (): ReplyFunction =>
  ({ connection }) => {
    connection.resetAndDestroy();
  };

/** Announces the whole body, sends its first `bytes`, and closes. */
export const truncate =
  (bytes: number, reply: PlainReply): ReplyFunction =>
  async (exchange) => {
    const body = bodyOf(reply);
    head(reply, exchange, { 'Content-Length': `${body.length}` });
    exchange.res.write(body.subarray(0, bytes));
    await flushed(exchange);
    exchange.req.socket.end();
  };

/** Sends the reply's body `chunk` bytes at a time, one every `every` ms of real time, until all is sent or the client is gone. */
export const drip =
  ({ chunk, every }: { chunk: number; every: number }, reply: PlainReply): ReplyFunction =>
  async (exchange) => {
    const body = bodyOf(reply);
    head(reply, exchange, { 'Content-Length': `${body.length}` });
    const { res } = exchange;
    for (let sent = 0; sent < body.length && !res.destroyed; sent += chunk) {
      res.write(body.subarray(sent, sent + chunk));
      await new Promise((resolve) => setTimeout(resolve, every));
    }
    res.end();
  };

/** Reads the request and never answers; resolves when the client hangs up. */
export const never = (): ReplyFunction => async (exchange) => {
  await hungUp(exchange);
};

/** Sends exactly these bytes instead of a response, then closes the connection. */
export const rawReply =
  (bytes: string | Uint8Array): ReplyFunction =>
  (exchange) => {
    const { socket } = exchange.req;
    exchange.res.detachSocket(socket);
    socket.end(bytes);
  };

/** Returns a reply with headers of at least this many bytes, in values of 4 KiB. */
export const hugeHeaders = (bytes: number, reply: PlainReply = { json: [] }): PlainReply => {
  const padding = Array.from({ length: Math.ceil(bytes / 4_096) }, () => 'x'.repeat(4_096));
  return { ...reply, headers: { ...reply.headers, 'X-Padding': padding } };
};

/** Closes a kept-alive connection just when the next request arrives on it, without handling or answering it. */
export const closeIdle = (): ReplyFunction => (exchange) => {
  if (exchange.request.onConnection === 1) exchange.fail('closeIdle() met a fresh connection, not a kept-alive one');
  exchange.connection.destroy();
};

export interface Endless extends ReplyFunction {
  /** Bytes handed to the connection. */
  readonly bytesSent: number;
}

/** Sends an endless list of items, as valid JSON as possible, until the client hangs up; gzip: about 1:500. */
export function endless({ gzip = false }: { gzip?: boolean } = {}): Endless {
  const plain = Buffer.from('{"petId":1,"quantity":1,"status":"available"},'.repeat(gzip ? 20_000 : 1_400));
  const code = (bytes: Buffer): Buffer => (gzip ? gzipSync(bytes) : bytes);
  // Concatenated gzip members form one body (RFC 1952, 2.2).
  const piece = code(plain);
  let bytesSent = 0;
  const reply = async (exchange: Exchange): Promise<void> => {
    const { res } = exchange;
    const gone = hungUp(exchange);
    const headers = gzip ? { 'Content-Encoding': 'gzip' } : {};
    head({ json: [], headers }, exchange, { 'Transfer-Encoding': 'chunked' });
    res.write(code(Buffer.from('[')));
    while (!res.destroyed) {
      bytesSent += piece.length;
      if (!res.write(piece)) await Promise.race([once(res, 'drain').catch(() => undefined), gone]);
    }
  };
  return Object.defineProperty(reply, 'bytesSent', { get: () => bytesSent }) as Endless;
}

export interface Gate {
  readonly opened: Promise<undefined>;
  open(): void;
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { opened: promise, open: () => resolve(undefined) };
}

/** Sends the reply once the test opens the gate; sends nothing if the client hangs up before that. */
export const gated =
  (held: Gate, reply: Reply): ReplyFunction =>
  async (exchange) => {
    const first = await Promise.race([held.opened.then(() => 'open'), hungUp(exchange).then(() => 'gone')]);
    if (first === 'open') await send(reply, exchange);
  };

/** Returns a JSON list of at least this many bytes. */
export function longList(bytes: number): string {
  const items = [];
  for (let size = 0, petId = 1; size < bytes; petId++) {
    const text = stringify({ petId, quantity: petId % 100, status: 'available' });
    items.push(text);
    size += text.length + 1;
  }
  return `[${items.join(',')}]`;
}

/** Resolves when all output has been handed to the system. */
async function flushed({ req }: Exchange): Promise<void> {
  await promisify((done: (error?: Error | null) => void) => req.socket.write('', done))();
}

function hungUp({ connection }: Exchange): Promise<void> {
  return new Promise((resolve) => {
    if (connection.destroyed) resolve();
    else connection.once('close', () => resolve());
  });
}
