/** A Service with a gate that permits everything and a connection that gives the test's answers. */
import type { AttemptFacts, Service } from '../../src/client/service.ts';
import { type Connection, HttpFailure, type HttpReply, type HttpRequest } from '../../src/ports.ts';
import type { Gate, Ticket } from '../../src/rate-limit/gate.ts';
import { onCleanup } from '../support/cleanup.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export type Send = (request: HttpRequest, maySend: () => boolean) => Promise<HttpReply>;

export const failure = (phase: HttpFailure['facts']['phase'], mayHaveBeenSent: boolean): HttpFailure =>
  new HttpFailure({ phase, mayHaveBeenSent, peer: 'pets.example:443', code: 'X', detail: '' });

/** A response's body in these pieces. */
async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

export const reply = (status = 200, ...texts: readonly string[]): HttpReply & { headers: Map<string, string[]> } => ({
  status,
  headers: new Map([['x', ['y']]]),
  body: pieces(...texts),
});

export interface ScriptedService {
  readonly service: Service;
  readonly clock: VirtualClock;
  readonly stop: AbortController;
  /** Everything that happened, in order. */
  readonly events: string[];
  readonly attempts: AttemptFacts[];
  readonly requests: HttpRequest[];
}

/** Calls each of `sends` once, in order. `connecting`: what connecting fails with. */
export function scriptedService(
  sends: readonly Send[],
  more: Partial<Omit<Service, 'clock'>> & { readonly clock?: VirtualClock } = {},
  connecting?: HttpFailure,
): ScriptedService {
  const { clock = new VirtualClock() } = more;
  const stop = new AbortController();
  const events: string[] = [];
  const attempts: AttemptFacts[] = [];
  const requests: HttpRequest[] = [];
  const left = [...sends];
  onCleanup(() => {
    if (left.length > 0) throw new Error(`${left.length} of ${sends.length} replies were not asked for`);
  });
  const ticket: Ticket = {
    isFresh: () => true,
    answered: (status, headers, at) => {
      events.push(`answered ${status} ${headers.get('x')?.join()} ${at === clock.now() ? 'now' : 'late'}`);
      return Promise.resolve(undefined);
    },
    lost: (mayHaveBeenSent) => {
      events.push(`lost ${mayHaveBeenSent ? 'perhaps sent' : 'not sent'}`);
      return Promise.resolve();
    },
  };
  const connection: Connection = {
    isOpen: true,
    release: () => undefined,
    send: (request, maySend) => {
      events.push('send');
      requests.push(request);
      const send = left.shift();
      return send === undefined ? Promise.reject(new Error('no reply was scripted')) : send(request, maySend);
    },
  };
  const gate: Gate = {
    limits: undefined,
    forecast: () => Promise.resolve(undefined),
    enter: async (operation, connect) => {
      events.push(`enter ${operation}`);
      return { ticket, connection: await connect() };
    },
  };
  const service: Service = {
    baseUrl: new URL('https://pets.example/v1'),
    environment: 'staging',
    apiKey: 'key',
    keySource: 'the test',
    userAgent: 'petstore/test',
    gate,
    http: {
      connect: ({ url, timeoutMs, signal }) => {
        events.push(`connect ${url.href} ${timeoutMs} ${signal === stop.signal ? 'signal' : 'other'}`);
        return connecting === undefined ? Promise.resolve(connection) : Promise.reject(connecting);
      },
      close: () => Promise.resolve(),
    },
    clock,
    random: () => 0,
    timeoutMs: 30_000,
    maxWaitMs: 0,
    retryForMs: 0,
    outages: new Map(),
    maxBodyBytes: 10,
    signal: stop.signal,
    watch: {
      isLive: true,
      attempt: (facts) => attempts.push(facts),
      recovered: () => undefined,
      waiting: (wait) => {
        if (wait?.why === 'answer') events.push(`${wait.holder} for at most ${wait.until - clock.now()} ms`);
      },
      warning: () => undefined,
      debug: () => undefined,
    },
    ...more,
  };
  return { service, clock, stop, events, attempts, requests };
}
