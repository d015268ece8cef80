/** `petstore proxy`: an HTTP server in front of the service, whose requests all pass the gate of one key. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOneOf } from '../api/values.ts';
import { stateKeptOpen } from '../stock/open-journal.ts';
import { type Means, recordedCall } from '../stock/write-one.ts';
import { petLocksOf, type WithLock } from '../stock/pet-lock.ts';
import { isWrite } from '../client/classify.ts';
import { operationOf } from '../client/attempt.ts';
import { forward, type RawAnswer } from '../client/raw.ts';
import { type Call, METHODS } from '../client/service.ts';
import { Failure, isFailure } from '../errors.ts';
import { LONGEST_HEAD, readBody, type Refusal, serve, type ServerOptions, type Serving } from '../http/server.ts';
import { GATEWAY_HEADER } from '../rate-limit/headers.ts';
import type { Session } from '../session/connect.ts';
import { CATALOG_PATH, gatewayCatalog } from '../session/gateway-catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import { type Access, isOwnPath, refusalOf, Visitors } from './access.ts';
import { type Answer, answerOf, answerOfFailure, ownAnswer } from './answers.ts';
import { clientOf } from './clients.ts';
import { pathBelowBase, sendReply, sentHeaders, TAKING_MS } from './messages.ts';
import { Metrics, stateAnswer } from './metrics.ts';
import {
  afterWrites,
  ID_HEADER,
  LARGEST_BODY,
  maxWaitOf,
  newPassing,
  proxiedRequest,
  type Passing,
  type ProxiedRequest,
} from './requests.ts';
import { untilStop } from '../stop.ts';
import { Turns } from './turns.ts';

/** Most memory for one client's requests, in bytes: each counts as its body and the longest head. */
const MOST_HELD = 16 * 2 ** 20;
/** How long the body of a refused request may take, in ms. */
const REFUSED_MS = 5_000;
/** Health check for load balancers: without a token, and not logged. */
const HEALTH = '/__petstore/health';
/** Most connections: a thousand terminals with a few each. */
const MOST_CONNECTIONS = 4_000;

export interface ProxyOptions extends Pick<ServerOptions, 'host' | 'port' | 'passed' | 'patience'> {
  /** The current ones, which may change. */
  readonly credentials: Readonly<Access> & Pick<ServerOptions, 'identity'>;
  /** Name of a header in lower case. Requests that have it go first, and may use the reserve. */
  readonly priorityHeader?: string | undefined;
  readonly onRequest?: ((request: ProxiedRequest) => void) | undefined;
}

/** Starts the proxy. `close` refuses waiting requests and completes those that were sent. @throws {Failure} `port` */
export async function startProxy(context: CommandContext, session: Session, options: ProxyOptions): Promise<Serving> {
  const proxy = new ProxyServer(context, session, options);
  const serving = await serve({
    ...options,
    identity: options.credentials.identity,
    mostConnections: MOST_CONNECTIONS,
    clock: context.clock,
    handle: (incoming, outgoing) => proxy.accept(incoming, outgoing),
    refuse: answerOf,
    onConnection: (socket) => {
      proxy.visitors.arrived(socket);
    },
  });
  return {
    ...serving,
    async close(graceMs) {
      const closed = serving.close(graceMs);
      proxy.stop();
      await closed;
      // Records writes even if their clients are gone.
      await Promise.all([...proxy.passing].map(({ ended }) => ended.promise));
    },
  };
}

class ProxyServer {
  /** The requests in progress, in the order in which their heads arrived. */
  readonly passing = new Set<Passing>();
  readonly visitors = new Visitors();
  private readonly context: CommandContext;
  private readonly session: Session;
  private readonly options: ProxyOptions;
  private readonly turns: Turns;
  private readonly metrics = new Metrics();
  /** Those of all requests together. */
  private readonly means: Means;
  /** Begins the ids of requests that have none, which are then counted. */
  private readonly run: string;
  private named = 0;
  private isStopping = false;

  constructor(context: CommandContext, session: Session, options: ProxyOptions) {
    this.context = context;
    this.session = session;
    this.options = options;
    this.run = Buffer.from(context.randomBytes(8)).toString('hex');
    this.means = { withLock: petLocksOf(context, session), openState: stateKeptOpen(context) };
    this.turns = new Turns({ gate: session.gate, clock: context.clock, reserve: context.globals.reserve ?? 0 });
  }

  /** Answers a request; never rejects. */
  async accept(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers, method, url } = incoming;
    outgoing.setHeader(GATEWAY_HEADER, '1');
    if (url === HEALTH && (method === 'GET' || method === 'HEAD')) {
      outgoing.writeHead(this.isStopping ? 503 : 204).end();
      return;
    }
    const { credentials, priorityHeader } = this.options;
    const { clock, globals } = this.context;
    const known = clientOf(headers.authorization, credentials.clients);
    const refusal = refusalOf(incoming, credentials, known) ?? this.visitors.recognize(incoming.socket, known?.name);
    const passing = newPassing(clock, incoming, outgoing, known, {
      isUrgent: headers[priorityHeader ?? ''] !== undefined,
      maxWaitMs: maxWaitOf(headers, globals.maxWait),
    });
    // The client, or a server in front of the proxy, may have given the request an id.
    const { [ID_HEADER]: given } = headers;
    const isGiven = typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given);
    outgoing.setHeader(ID_HEADER, isGiven ? given : `${this.run}-${++this.named}`);
    this.passing.add(passing);
    outgoing.once('close', () => {
      if (outgoing.writableFinished) return;
      passing.isGone = true;
      passing.gone.abort(new Failure('cancelled', {}));
    });
    const own = await this.handle(passing, refusal).catch((error: unknown) => {
      if (!passing.isSent) passing.waitedMs = clock.monotonic() - passing.since;
      const failed = { ...passing, timeoutMs: this.session.service.timeoutMs };
      return passing.isGone ? undefined : answerOfFailure(error, clock.now(), failed);
    });
    if (own !== undefined && !outgoing.headersSent) outgoing.writeHead(own.status, own.headers).end(own.body);
    else if (!outgoing.writableEnded) {
      // A response that has begun can only be cut off. The status is for the log.
      outgoing.statusCode = own?.status ?? outgoing.statusCode;
      outgoing.destroy();
    }
    outgoing.setTimeout(TAKING_MS);
    this.passing.delete(passing);
    const request = proxiedRequest(passing, clock, own?.code);
    this.metrics.observe(request, known?.name);
    this.options.onRequest?.(request);
    passing.ended.resolve();
  }

  /** Refuses all requests that wait, and all new ones. */
  stop(): void {
    this.isStopping = true;
    for (const { gone } of this.passing) gone.abort(stopping());
  }

  /** Returns the proxy's own answer, or passes the request on and sends the service's answer. */
  private async handle(passing: Passing, refusal: Refusal | undefined): Promise<Answer | undefined> {
    const { incoming, method, outgoing, signal, url } = passing;
    const { clock } = this.context;
    if (refusal !== undefined) {
      outgoing.shouldKeepAlive = false;
      if (refusal[0] === 401 && incoming.headers.authorization !== undefined) {
        this.metrics.wrongTokens++;
        await clock.sleep(this.visitors.delayOf(incoming.socket.remoteAddress ?? '', clock.monotonic()), signal);
      }
      // Many clients read no answer before they have sent their whole body.
      await Promise.race([readBody(incoming, outgoing, 0), clock.sleep(REFUSED_MS, signal)]);
      return answerOf(refusal);
    }
    if (this.isStopping) throw stopping();
    if (url === CATALOG_PATH) {
      const { etag, body } = await gatewayCatalog(this.context, this.session.origin, incoming.headers['if-none-match']);
      // Not changed (RFC 9110, 15.4.5).
      return body === undefined
        ? { status: 304, headers: { etag }, body: '' }
        : ownAnswer('application/json', body, { etag });
    }
    if (isOwnPath(url)) {
      const inFlight = [...this.passing].filter(({ isSent }) => isSent).length;
      return stateAnswer(url, this.session, this.metrics, { waiting: this.turns.waiting, inFlight });
    }
    const path = pathBelowBase(url);
    if (path === undefined || !isOneOf(METHODS, method)) throw new Failure('bug', { message: `a request for ${url}` });
    passing.isWrite = isWrite(method);
    const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
    const bodyLength = Number(length ?? (coding === undefined ? 0 : LARGEST_BODY));
    passing.size = LONGEST_HEAD + Math.min(bodyLength, LARGEST_BODY);
    let held = 0;
    for (const { client, size } of this.passing) if (client === passing.client) held += size;
    const isFull = held > MOST_HELD;
    const body = await untilStop({ clock, signal }, 0, readBody(incoming, outgoing, isFull ? 0 : LARGEST_BODY));
    if (isFull) return answerOf([429, 'too_many_waiting', 'This client has too many requests waiting.']);
    if (body === undefined) return answerOf([413, 'too_large', `A body may have at most ${LARGEST_BODY} bytes.`]);
    passing.size = LONGEST_HEAD + body.length;
    // No time limit while it waits.
    outgoing.setTimeout(0);
    const headers = sentHeaders(incoming.headers, this.options.priorityHeader);
    const hasBody = body.length > 0 || length !== undefined;
    const call: Call = { method, path, headers, ...(hasBody && { body }) };
    await sendReply(outgoing, await this.pass(call, passing), method);
    return undefined;
  }

  private async pass(call: Call, passing: Passing): Promise<RawAnswer> {
    const { context, session, turns } = this;
    if (passing.isWrite) await turns.checkWait(passing, operationOf(call));
    else await afterWrites(passing, this.passing, context.clock);
    const service = { ...session.service, gate: turns.gateFor(passing) };
    // The list before a conditional update is a request of its own.
    const reader = { ...session.service, gate: turns.gateFor({ ...passing }) };
    const withLock: WithLock = (petId, work) => {
      // An earlier try was withdrawn.
      passing.isSent = false;
      return this.means.withLock(petId, work, passing);
    };
    const by = { command: 'proxy', person: passing.client, means: { ...this.means, withLock } };
    try {
      return await recordedCall(context, { ...session, service: reader }, { ...by, call }, (each) =>
        forward(service, each),
      );
    } catch (error) {
      // The list before a conditional update was refused. If a block has begun, tells the client when it ends.
      if (isFailure(error) && (error.is('forbidden') || error.is('service-failed'))) {
        await turns.checkWait(passing, operationOf(call));
      }
      throw error;
    }
  }
}

function stopping(): Failure {
  return new Failure('interrupted', { signal: 'SIGTERM', outcome: 'not-sent' });
}
