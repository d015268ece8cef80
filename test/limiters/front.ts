/**
 * A server in front of every rate limiter under test: logs when each request arrived, and when and how it was answered.
 * Promises are checked only against this log.
 */
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { type Handler, listen } from '../support/served.ts';
import { KEY, staging } from '../support/staging.ts';
import { askedWaitMs } from './judge.ts';

export interface Entry {
  readonly method: string;
  readonly path: string;
  /** Ms on one monotonic clock. */
  readonly at: number;
  /** When the answer had been written. */
  answeredAt: number;
  status: number;
  /** How long the answer asks to wait, where it refuses and names a time. */
  askedMs: number | undefined;
}

export interface Front {
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** Requests of petstore, in the order of their arrival. */
  readonly log: readonly Entry[];
  /**
   * How many requests another client with the same key sends before one of petstore's reaches the limiter. The request
   * is the last one of the log.
   */
  drawBefore: (log: readonly Entry[]) => number;
}

const FOREIGN = 'x-other-client';

export async function startFront(handler: Handler): Promise<Front> {
  const log: Entry[] = [];
  const port = await listen(async (req, res) => {
    if (req.headers[FOREIGN] === undefined) {
      log.push(begin(req, res));
      const count = front.drawBefore(log);
      await Promise.all(Array.from({ length: count }, () => drawOne(port)));
    }
    await handler(req, res);
  });
  const front: Front = { port, env: staging(`http://127.0.0.1:${port}/v1`), log, drawBefore: () => 0 };
  return front;
}

/** Passes requests on to a server on this machine, each on a connection of its own. */
export function relayTo(port: number): Handler {
  return (req, res) => {
    const { method, url, headers } = req;
    const passed = httpRequest({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    passed.on('error', () => res.destroy());
    req.pipe(passed);
  };
}

function begin(req: IncomingMessage, res: ServerResponse): Entry {
  const entry: Entry = {
    method: req.method ?? '',
    path: req.url ?? '',
    at: performance.now(),
    answeredAt: Number.POSITIVE_INFINITY,
    status: 0,
    askedMs: undefined,
  };
  // What writeHead is given as a list is not in getHeaders(), so both are looked at.
  const { writeHead } = res;
  let written: readonly string[] = [];
  res.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    const list = args.find(Array.isArray) as readonly string[] | undefined;
    if (list !== undefined) written = list;
    return (writeHead as (...all: unknown[]) => ServerResponse).apply(this, args);
  };
  res.on('finish', () => {
    entry.answeredAt = performance.now();
    entry.status = res.statusCode;
    const headers = Object.entries(res.getHeaders()).map(([name, value]) => [name, String(value)] as const);
    const pairs = written.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), written[i + 1]!] as const] : []));
    entry.askedMs = askedWaitMs(res.statusCode, [...headers, ...pairs], Date.now());
  });
  return entry;
}

/** A write that changes nothing, so that it draws on the limit of the writes. */
function drawOne(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { [FOREIGN]: 'yes', authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port, path: '/v1/inventory/0', method: 'PATCH', headers, agent: false };
    const sent = httpRequest(options, (response) => response.resume().on('end', resolve));
    sent.on('error', reject).end('{"quantity":0}');
  });
}
