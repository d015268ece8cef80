/** `petstore proxy`: an HTTP server in front of the service, whose requests all pass the gate of one key. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isOneOf } from '../api/values.ts';
import { type Means, recordedCall, sharedMeans } from '../stock/write-one.ts';
import { operationOf } from '../client/attempt.ts';
import { isWrite } from '../client/classify.ts';
import { forward, type RawAnswer } from '../client/raw.ts';
import { type Call, METHODS } from '../client/service.ts';
import { Failure } from '../errors.ts';
import { LONGEST_HEAD, type Patience, readBody, serve, type Serving } from '../http/server.ts';
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { type Access, isOwnPath, refusalOf } from './access.ts';
import { type Answer, answerOf, answerOfFailure } from './answers.ts';
import { pathBelowBase, sendReply, sentHeaders, TAKING_MS } from './messages.ts';
import { Metrics, ownAnswer } from './metrics.ts';
import { afterWrites, type Passing, type ProxiedRequest } from './requests.ts';
import { Turns } from './turns.ts';

/** A request is held in memory until it may be sent: the permission to send does not wait for a slow client. */
const LARGEST_BODY = 2 ** 20;
/** Held of one client's requests, in bytes: each counts as its body and the longest head. */
const MOST_HELD = 16 * 2 ** 20;
/** Shown of a User-Agent, in characters. */
const LONGEST_CLIENT = 80;
/** Nginx's name for a client that did not wait for its answer. */
const CLIENT_GONE = 499;
/** Connections that have shown no token; fewer than an HTTP server of petstore has places for. */
const MOST_STRANGERS = 500;

export interface ProxyOptions extends Access {
  readonly port: number;
  /** Lower-case name of a header: requests that have it go first, and may use the reserve. */
  readonly priorityHeader?: string;
  readonly patience?: Patience;
  readonly onRequest?: (request: ProxiedRequest) => void;
}

/** Its `close` refuses what waits, and gives what was sent the time to be answered. @throws {Failure} `port` */
export async function startProxy(context: CommandContext, session: Session, options: ProxyOptions): Promise<Serving> {
  const { patience, port } = options;
  const proxy = new ProxyServer(context, session, options);
  const { baseUrl, close } = await serve({
    host: '127.0.0.1',
    port,
    clock: context.clock,
    patience,
    handle: (incoming, outgoing) => proxy.accept(incoming, outgoing),
    refuse: answerOf,
    unsupported: {
      connect: [501, 'no_tunnels', 'The proxy opens no tunnels: use its address as the base URL.'],
      upgrade: [501, 'no_upgrades', 'The proxy speaks HTTP/1.1 only.'],
    },
    onConnection: (socket) => {
      proxy.limitStrangers(socket);
    },
  });
  return {
    baseUrl,
    async close(graceMs) {
      const closed = close(graceMs);
      proxy.stop();
      await closed;
      // Writes whose clients are gone are recorded all the same.
      await Promise.all([...proxy.passing].map(({ ended }) => ended));
    },
  };
}

class ProxyServer {
  /** The requests that are being answered, in the order in which their heads came. */
  readonly passing = new Set<Passing>();
  /** Connections that have not shown a token, the oldest first. */
  private readonly strangers = new Set<Duplex>();
  private readonly context: CommandContext;
  private readonly session: Session;
  private readonly options: ProxyOptions;
  private readonly turns: Turns;
  private readonly metrics = new Metrics();
  private readonly means: Means;
  private isStopping = false;

  constructor(context: CommandContext, session: Session, options: ProxyOptions) {
    this.context = context;
    this.session = session;
    this.options = options;
    this.means = sharedMeans(context, session);
    const { clock, globals } = context;
    const { gate } = session.service;
    this.turns = new Turns({ gate, clock, maxWaitMs: globals.maxWait, reserve: globals.reserve });
  }

  accept(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers, method = '' } = incoming;
    const { priorityHeader } = this.options;
    const gone = new AbortController();
    const length = headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : LARGEST_BODY);
    const passing: Passing = {
      client: (headers['user-agent'] ?? 'unknown').slice(0, LONGEST_CLIENT),
      isUrgent: priorityHeader !== undefined && headers[priorityHeader] !== undefined,
      since: this.context.clock.monotonic(),
      signal: gone.signal,
      outgoing,
      gone,
      isWrite: isOneOf(METHODS, method) && isWrite(method),
      size: LONGEST_HEAD + Math.min(Number(length), LARGEST_BODY),
      isGone: false,
      waitedMs: 0,
      isSent: false,
      ended: Promise.resolve(),
    };
    this.passing.add(passing);
    outgoing.once('close', () => {
      if (outgoing.writableFinished) return;
      passing.isGone = true;
      gone.abort(new Failure('cancelled', {}));
    });
    passing.ended = this.answer(incoming, passing);
    return passing.ended;
  }

  /** Never rejects. */
  private async answer(incoming: IncomingMessage, passing: Passing): Promise<void> {
    const { clock } = this.context;
    const { client, gone, outgoing } = passing;
    try {
      const own = await this.handle(incoming, outgoing, passing);
      if (own !== undefined) this.send(passing, own);
    } catch (error) {
      // A response that was begun cannot be taken back: it ends without its end.
      if (outgoing.headersSent || passing.isGone) outgoing.destroy();
      else this.send(passing, answerOfFailure(error, clock.now()));
    }
    outgoing.setTimeout(TAKING_MS);
    this.passing.delete(passing);
    gone.abort();
    const { method = '', url = '' } = incoming;
    const request: ProxiedRequest = {
      at: clock.now(),
      method,
      target: url,
      status: passing.isGone ? CLIENT_GONE : outgoing.statusCode,
      ms: clock.monotonic() - passing.since,
      waitedMs: passing.waitedMs,
      client,
      ...(passing.error !== undefined && { error: passing.error }),
    };
    this.metrics.observe({ ...request, method: isOneOf(METHODS, method) ? method : 'other' });
    this.options.onRequest?.(request);
  }

  /** Refuses all requests that wait, and those that come. */
  stop(): void {
    this.isStopping = true;
    for (const { gone } of this.passing) gone.abort(stopping());
  }

  /** Disconnects the oldest of the connections that have shown no token, so that they never take all places. */
  limitStrangers(socket: Duplex): void {
    const { strangers } = this;
    strangers.add(socket);
    socket.once('close', () => strangers.delete(socket));
    const [oldest] = strangers;
    if (oldest === undefined || strangers.size <= MOST_STRANGERS) return;
    strangers.delete(oldest);
    oldest.destroy();
  }

  /** Returns the proxy's own answer, or passes the request on and sends the answer of the service. */
  private async handle(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    passing: Passing,
  ): Promise<Answer | undefined> {
    const refusal = refusalOf(incoming, this.options);
    if (refusal !== undefined) {
      // Its body is not read.
      outgoing.shouldKeepAlive = false;
      return answerOf(refusal);
    }
    this.strangers.delete(incoming.socket);
    if (this.isStopping) throw stopping();
    const { method = '', url = '' } = incoming;
    if (isOwnPath(url)) {
      const inFlight = [...this.passing].filter(({ isSent }) => isSent).length;
      return ownAnswer(url, this.session, this.metrics, { waiting: this.turns.waiting, inFlight });
    }
    const held = [...this.passing].reduce((sum, { client, size }) => sum + (client === passing.client ? size : 0), 0);
    const body = await readBody(incoming, outgoing, held > MOST_HELD ? 0 : LARGEST_BODY);
    if (held > MOST_HELD) {
      outgoing.shouldKeepAlive = false;
      return TOO_MANY;
    }
    if (body === undefined) return TOO_LARGE;
    passing.size = LONGEST_HEAD + body.length;
    // However long it waits.
    outgoing.setTimeout(0);
    const path = pathBelowBase(url);
    if (path === undefined || !isOneOf(METHODS, method)) throw new Failure('bug', { message: `a request for ${url}` });
    const { priorityHeader } = this.options;
    const headers = sentHeaders(incoming.headers, priorityHeader === undefined ? [] : [priorityHeader]);
    const hasBody = body.length > 0 || incoming.headers['content-length'] !== undefined;
    const call: Call = { method, path, forwarded: { headers, ...(hasBody && { body }) } };
    await sendReply(outgoing, await this.pass(call, passing), method);
    return undefined;
  }

  private async pass(call: Call, passing: Passing): Promise<RawAnswer> {
    const { context, session, turns } = this;
    if (passing.isWrite) await turns.checkWait(passing, operationOf(call));
    else await afterWrites(passing, this.passing, context.clock, context.globals.maxWait);
    const service = { ...session.service, gate: turns.gateFor(passing) };
    const by = { command: 'proxy', person: passing.client, means: this.means };
    return recordedCall(context, session, { ...by, call }, () => forward(service, call));
  }

  private send(passing: Passing, { status, headers, body, code }: Answer): void {
    if (code !== undefined) passing.error = code;
    passing.outgoing.writeHead(status, headers).end(body);
  }
}

const TOO_LARGE = answerOf([413, 'too_large', `A body holds at most ${LARGEST_BODY} bytes.`]);
const TOO_MANY = answerOf([429, 'too_many_waiting', 'Too many requests of this client are waiting.'], {
  'retry-after': '5',
});

function stopping(): Failure {
  return new Failure('interrupted', { signal: 'SIGTERM', outcome: 'not-sent' });
}
