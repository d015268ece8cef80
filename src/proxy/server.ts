/** `petstore proxy`: an HTTP server in front of the service, whose requests all pass the gate of one key. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { recordedCall, sharedMeans } from '../bulk/record-call.ts';
import type { Means } from '../bulk/write-one.ts';
import { operationOf } from '../client/attempt.ts';
import { isWrite } from '../client/classify.ts';
import { type Forwarded, forward } from '../client/forward.ts';
import type { Call } from '../client/service.ts';
import { Failure, isFailure } from '../errors.ts';
import { HttpFailure } from '../ports.ts';
import { createListener, isTooLong, listen, PATIENCE, type Patience, readBody } from '../http/server.ts';
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { type Access, isMethod, isOwnPath, refusalOf, refuseOthers } from './access.ts';
import { type Answer, answerOf, answerOfFailure } from './answers.ts';
import type { ProxiedRequest } from './log.ts';
import { pathBelowBase, sentHeaders } from './messages.ts';
import { Metrics } from './metrics.ts';
import { sendReply } from './send-reply.ts';
import { ownAnswer } from './status.ts';
import type { Claim } from './lane.ts';
import { Turns } from './turns.ts';

/** A request is held in memory until it may be sent: the permission to send does not wait for a slow client. */
const LARGEST_BODY = 2 ** 20;
/** Shown of a User-Agent, in characters. */
const LONGEST_CLIENT = 80;
/** Nginx's name for a client that did not wait for its answer. */
const CLIENT_GONE = 499;

export interface ProxyOptions extends Access {
  readonly host: string;
  readonly port: number;
  /** Lower-case name of a header: requests that have it go first, and may use the reserve. */
  readonly priorityHeader?: string;
  readonly patience?: Patience;
  readonly onRequest?: (request: ProxiedRequest) => void;
}

export interface Proxy {
  /** `http://127.0.0.1:PORT/v1`. */
  readonly baseUrl: string;
  /** Refuses what waits, and resolves when what was sent has been answered, or after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** @throws {Failure} `port` */
export async function startProxy(context: CommandContext, session: Session, options: ProxyOptions): Promise<Proxy> {
  const server = createListener(options.patience ?? PATIENCE);
  const port = await listen(server, options.host, options.port);
  const proxy = new ProxyServer(context, session, options);
  const answers = new Set<Promise<void>>();
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (!server.listening) outgoing.setHeader('connection', 'close');
    const answer = proxy.answer(incoming, outgoing);
    answers.add(answer);
    void answer.finally(() => answers.delete(answer));
  };
  server.on('request', onRequest).on('checkContinue', onRequest).on('checkExpectation', onRequest);
  refuseOthers(server, (socket) => proxy.lastOn(socket));
  return {
    baseUrl: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}/v1`,
    async close(graceMs) {
      const closed = new Promise((resolve) => server.close(resolve));
      proxy.stop();
      const cancel = context.clock.alarm(graceMs, () => {
        server.closeAllConnections();
      });
      await closed;
      cancel();
      // Writes whose clients are gone are recorded all the same.
      await Promise.all(answers);
    },
  };
}

/** What is known of one request while it is answered. */
interface Passing {
  readonly since: number;
  readonly client: string;
  readonly outgoing: ServerResponse;
  /** Aborts where the client has left, or the proxy ends. */
  readonly gone: AbortController;
  /** The client has left before its answer was complete. */
  isGone: boolean;
  waitedMs: number;
  error?: string;
}

class ProxyServer {
  readonly context: CommandContext;
  readonly session: Session;
  readonly turns: Turns;
  readonly metrics = new Metrics();
  private readonly options: ProxyOptions;
  private readonly means: Means;
  private readonly passing = new Set<Passing>();
  private isStopping = false;

  constructor(context: CommandContext, session: Session, options: ProxyOptions) {
    this.context = context;
    this.session = session;
    this.options = options;
    this.means = sharedMeans(context);
    const { clock, globals } = context;
    const { gate } = session.service;
    const block = (): ReturnType<Session['block']> => session.block();
    this.turns = new Turns({ gate, clock, block, maxWaitMs: globals.maxWait, reserve: globals.reserve });
  }

  /** Never rejects. */
  async answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { clock } = this.context;
    const client = (incoming.headers['user-agent'] ?? 'unknown').slice(0, LONGEST_CLIENT);
    const gone = new AbortController();
    const passing: Passing = { since: clock.monotonic(), client, outgoing, gone, isGone: false, waitedMs: 0 };
    this.passing.add(passing);
    outgoing.once('close', () => {
      if (outgoing.writableFinished) return;
      passing.isGone = true;
      gone.abort(new Failure('cancelled', {}));
    });
    try {
      await this.handle(incoming, outgoing, passing);
    } catch (error) {
      this.fail(error, outgoing, passing);
    }
    this.passing.delete(passing);
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
    this.metrics.observe({ ...request, method: isMethod(method) ? method : 'other' });
    this.options.onRequest?.(request);
  }

  /** Refuses all requests that wait, and those that come. */
  stop(): void {
    this.isStopping = true;
    for (const { gone, outgoing } of this.passing) {
      outgoing.shouldKeepAlive = false;
      gone.abort(stopping());
    }
  }

  /** Returns the last of the answers that whole requests of a connection wait for. */
  lastOn(socket: Duplex): ServerResponse | undefined {
    const answers = [...this.passing].map(({ outgoing }) => outgoing);
    return answers.findLast(({ req }) => req.socket === socket && req.complete);
  }

  private async handle(incoming: IncomingMessage, outgoing: ServerResponse, passing: Passing): Promise<void> {
    const refusal = refusalOf(incoming, this.options);
    if (refusal !== undefined) {
      // Its body is not read.
      outgoing.setHeader('connection', 'close');
      this.send(outgoing, answerOf(refusal, HEADERS[refusal[0]]), passing, refusal[1]);
      return;
    }
    if (this.isStopping) throw stopping();
    const { method = '', url = '' } = incoming;
    if (isOwnPath(url)) {
      this.send(outgoing, await ownAnswer(url, this), passing);
      return;
    }
    if (incoming.headers.expect !== undefined && !isTooLong(incoming, LARGEST_BODY)) outgoing.writeContinue();
    const body = await readBody(incoming, LARGEST_BODY);
    if (body === undefined) {
      outgoing.setHeader('connection', 'close');
      const problem = `A body holds at most ${LARGEST_BODY} bytes.`;
      this.send(outgoing, answerOf([413, 'too_large', problem]), passing, 'too_large');
      return;
    }
    // However long it waits.
    incoming.socket.setTimeout(0);
    const path = pathBelowBase(url);
    if (path === undefined || !isMethod(method)) throw new Failure('bug', { message: `a request for ${url}` });
    const { priorityHeader } = this.options;
    const isUrgent = priorityHeader !== undefined && incoming.headers[priorityHeader] !== undefined;
    const headers = sentHeaders(incoming.headers, priorityHeader === undefined ? [] : [priorityHeader]);
    const hasBody = body.length > 0 || incoming.headers['content-length'] !== undefined;
    const call: Call = { method, path, forwarded: { headers, ...(hasBody && { body }) } };
    const reply = await this.pass(call, passing, isUrgent);
    await sendReply(outgoing, reply, method);
  }

  private async pass(call: Call, passing: Passing, isUrgent: boolean): Promise<Forwarded> {
    const { context, session, turns } = this;
    const { client, gone, since } = passing;
    const claim: Claim = {
      client,
      isUrgent,
      since,
      signal: gone.signal,
      onWaited: (ms) => {
        passing.waitedMs += ms;
      },
    };
    if (isWrite(call.method)) await turns.checkWait(claim, operationOf(call));
    const service = { ...session.service, gate: turns.gateFor(claim) };
    const by = { command: 'proxy', person: client, means: this.means };
    return recordedCall(context, session, { ...by, call }, () => forward(service, call));
  }

  private send(outgoing: ServerResponse, answer: Answer, passing: Passing, error?: string): void {
    if (error !== undefined) passing.error = error;
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(answer.body);
  }

  private fail(error: unknown, outgoing: ServerResponse, passing: Passing): void {
    if (outgoing.headersSent || passing.isGone) {
      // A response that was begun cannot be taken back: it ends without its end.
      outgoing.destroy();
      return;
    }
    const { clock } = this.context;
    const failure = toFailure(error);
    this.send(outgoing, answerOfFailure(failure, clock.now()), passing, failure.kind.replaceAll('-', '_'));
  }
}

function toFailure(error: unknown): Failure {
  if (isFailure(error)) return error;
  // The body of a small answer broke off.
  if (error instanceof HttpFailure)
    return new Failure('contract', { what: 'The response', problem: error.facts.detail });
  return new Failure('bug', { message: String(error) });
}

const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  405: { allow: 'GET, HEAD, OPTIONS' },
};

function stopping(): Failure {
  return new Failure('interrupted', { signal: 'SIGTERM', outcome: 'not-sent' });
}
