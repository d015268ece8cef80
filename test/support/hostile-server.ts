/**
 * A server on real sockets that can pause at any step of a connection until the test releases it, and sends any bytes.
 * As a proxy it answers CONNECT, and then acts as the service inside the tunnel.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { listenOnLoopback } from './cleanup.ts';
import { type Gate, gate } from './faults.ts';
import type { Identity } from './tls.ts';

/** Pauses, in this order: before the CONNECT answer, the TLS handshake, the response. */
export type Step = 'tunnel' | 'handshake' | 'head';

/** Bytes; the same bytes repeated until the client hangs up; or single bytes, `every` ms apart. */
export type Bytes =
  string | Uint8Array | { readonly endless: string } | { readonly drip: string; readonly every: number };

export interface HostileOptions {
  readonly tls?: Identity;
  /** Expects a CONNECT first. */
  readonly isProxy?: boolean;
  /** Steps at which it pauses until `release`. */
  readonly holds?: readonly Step[];
  /** Replace the defaults: `200`, a minimal head, an empty list. */
  readonly answers?: { readonly tunnel?: Bytes; readonly head?: Bytes; readonly body?: Bytes };
}

export type LogEntry = 'accepted' | 'connect' | 'hello' | 'request' | 'closed';

export interface HostileServer {
  readonly port: number;
  /** Events on all connections; `hello` is the first byte of a handshake that is held, `request` that of a request. */
  readonly log: readonly LogEntry[];
  /** The heads of requests, CONNECT included. */
  readonly heads: readonly string[];
  /** Resolves once the entry is in the log `times` times. */
  reached(entry: LogEntry, times?: number): Promise<void>;
  /** Lets all connections pass the step from now on. */
  release(step: Step): void;
  /** Closes all connections with a FIN. */
  hangUp(): void;
}

const DEFAULTS = {
  tunnel: 'HTTP/1.1 200 OK\r\n\r\n',
  head: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n',
  body: '[]',
} as const;

export async function hostileServer(options: HostileOptions = {}): Promise<HostileServer> {
  const gates = new Map<Step, Gate>((options.holds ?? []).map((step) => [step, gate()]));
  const answers = { ...DEFAULTS, ...options.answers };
  const log: LogEntry[] = [];
  const heads: string[] = [];
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  const note = (entry: LogEntry): void => {
    log.push(entry);
    for (const look of waiting) look();
  };
  const pass = (step: Step): Promise<undefined> | undefined => gates.get(step)?.opened;

  const serve = async (socket: Socket): Promise<void> => {
    let stream: Duplex = socket;
    if (options.isProxy === true) {
      heads.push(
        await readHead(socket, () => {
          note('connect');
        }),
      );
      await pass('tunnel');
      await write(socket, answers.tunnel);
    }
    if (options.tls !== undefined) {
      socket.once('data', () => {
        note('hello');
      });
      await readWhile(socket, pass('handshake'));
      stream = new TLSSocket(socket, { isServer: true, ...options.tls }).on('error', () => undefined);
      await once(stream, 'secure');
    }
    for (;;) {
      heads.push(
        await readHead(stream, () => {
          note('request');
        }),
      );
      await pass('head');
      await write(stream, answers.head);
      await write(stream, answers.body);
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      note('closed');
    });
    note('accepted');
    // Rejects when the client hangs up.
    serve(socket).catch(() => undefined);
  });
  return {
    port: await listenOnLoopback(server),
    log,
    heads,
    reached: (entry, times = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (log.filter((each) => each === entry).length >= times) resolve();
        };
        waiting.add(look);
        look();
      }),
    release: (step) => {
      gates.get(step)?.open();
    },
    hangUp: () => {
      for (const socket of sockets) socket.end();
    },
  };
}

/** Keeps reading, to notice the end of the connection, and then puts the data back. */
async function readWhile(socket: Socket, held: Promise<undefined> | undefined): Promise<void> {
  const chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => void chunks.push(chunk);
  socket.on('data', onData);
  await held;
  socket.off('data', onData).pause();
  socket.unshift(Buffer.concat(chunks));
}

/** Reads up to the empty line; leaves the rest in the stream. Rejects if the stream ends. */
async function readHead(stream: Duplex, onFirstByte: () => void): Promise<string> {
  let head = '';
  while (!head.endsWith('\r\n\r\n')) {
    const byte = stream.read(1) as Buffer | null;
    if (byte === null) {
      if (stream.destroyed || stream.readableEnded) throw new Error('the client hung up');
      await Promise.race([once(stream, 'readable'), once(stream, 'close')]);
      continue;
    }
    if (head === '') onFirstByte();
    head += byte.toString('latin1');
  }
  return head;
}

async function write(stream: Duplex, bytes: Bytes): Promise<void> {
  if (typeof bytes === 'string' || bytes instanceof Uint8Array) {
    stream.write(bytes);
  } else if ('endless' in bytes) {
    while (!stream.destroyed) {
      if (!stream.write(bytes.endless)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
    }
  } else {
    for (const byte of bytes.drip) {
      if (stream.destroyed) return;
      stream.write(byte);
      await new Promise((resolve) => setTimeout(resolve, bytes.every));
    }
  }
}
