/** Ports for the test context. */
import {
  type Connection,
  type Http,
  type HttpBody,
  HttpFailure,
  type HttpReply,
  type HttpRequest,
  type Prompt,
} from '../../src/ports.ts';
import { onCleanup } from './cleanup.ts';
import { bodyOf, headersOf, type PlainReply } from './replies.ts';
import type { VirtualClock } from './virtual-clock.ts';

export { seeded as mulberry32 } from '../../src/sandbox/faults.ts';

/**
 * `hidden` and `text` questions take a string, `confirm` a boolean; an Error is thrown instead of an answer. A function
 * is called while the question is open, for what happens meanwhile.
 */
export type Answer = string | boolean | Error | (() => Promise<boolean>);

export interface AskedQuestion {
  readonly kind: keyof Prompt;
  readonly question: string;
}

/** Answers a request without sockets. */
export type Handler = (request: HttpRequest) => HttpReply | Promise<HttpReply>;

/** Returns a Handler's result from the same data as a scripted server's reply. `now`: epoch ms. */
export function httpReply(reply: PlainReply, now: number): HttpReply {
  return {
    status: reply.status ?? 200,
    headers: new Map(headersOf(reply, now).map(([name, values]) => [name.toLowerCase(), values])),
    body: pieces(bodyOf(reply)),
  };
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  if (bytes.length > 0) yield bytes;
}

/** Stops time while any method of the port is running. */
export function holdDuring<Port extends object>(clock: VirtualClock, port: Port): Port {
  const wrapped = Object.entries(port).map(([name, method]: [string, (...args: unknown[]) => unknown]) => [
    name,
    (...args: unknown[]) => clock.during(() => method.apply(port, args)),
  ]);
  return Object.fromEntries(wrapped) as Port;
}

/** Stops time while connecting, while waiting for a reply's head, and while reading its body. */
export function holdExchanges(clock: VirtualClock, http: Http): Http {
  return {
    async connect(target) {
      const connection = await clock.during(() => http.connect(target));
      return withSend(connection, async (request, maySend) => {
        const reply = await clock.during(() => connection.send(request, maySend));
        return { ...reply, body: heldBody(clock, reply.body) };
      });
    },
    close: () => http.close(),
  };
}

/** Returns the connection with another `send`. */
function withSend(connection: Connection, send: Connection['send']): Connection {
  return {
    get isOpen() {
      return connection.isOpen;
    },
    send,
    release: () => {
      connection.release();
    },
  };
}

async function* heldBody(clock: VirtualClock, body: HttpBody): AsyncGenerator<Uint8Array> {
  const release = clock.hold();
  try {
    yield* body;
  } finally {
    release();
  }
}

/** Returns the handler as an Http port. It may sleep on the clock like a slow service. */
export function withoutSockets(handler: Handler): Http {
  const send: Connection['send'] = (request, maySend) => {
    if (!maySend()) return Promise.reject(HttpFailure.withdrawn(request.url.host));
    return new Promise((resolve, reject) => {
      const { signal, url } = request;
      const abort = (): void => {
        reject(
          new HttpFailure({
            phase: 'aborted',
            mayHaveBeenSent: true,
            peer: url.host,
            code: 'ABORT_ERR',
            detail: 'the request was aborted',
          }),
        );
      };
      if (signal?.aborted === true) abort();
      signal?.addEventListener('abort', abort, { once: true });
      Promise.resolve()
        .then(() => handler(request))
        .then(resolve, reject)
        .finally(() => signal?.removeEventListener('abort', abort));
    });
  };
  return {
    connect: () => Promise.resolve({ isOpen: true, send, release: () => undefined }),
    close: async () => undefined,
  };
}

/** Records each request that may be written in `sent`. */
export const noting = (sent: HttpRequest[], http: Http): Http => ({
  async connect(target) {
    const connection = await http.connect(target);
    return withSend(connection, (request, maySend) =>
      connection.send(request, () => {
        const may = maySend();
        if (may) sent.push(request);
        return may;
      }),
    );
  },
  close: () => http.close(),
});

/** Connects and sends one request. */
export async function sendOver(http: Http, request: HttpRequest): Promise<HttpReply> {
  const connection = await http.connect(request);
  return connection.send(request, () => true);
}

/** Gives the answers in order. A question without an answer, or an answer without a question, fails the test. */
export function scriptedPrompt(answers: readonly Answer[]): { prompt: Prompt; questions: readonly AskedQuestion[] } {
  const left = [...answers];
  const questions: AskedQuestion[] = [];
  const unscripted: string[] = [];

  const ask = async (kind: keyof Prompt, question: string, signal: AbortSignal): Promise<string | boolean> => {
    questions.push({ kind, question });
    if (signal.aborted) throw signal.reason;
    const given = left.shift();
    const answer = typeof given === 'function' ? await given() : given;
    if (answer instanceof Error) throw answer;
    if (answer !== undefined && typeof answer === (kind === 'confirm' ? 'boolean' : 'string')) return answer;
    const problem = `the question "${question}" (${kind}) was scripted no fitting answer`;
    unscripted.push(problem);
    throw new Error(problem);
  };
  onCleanup(() => {
    const unused = left.length === 0 ? [] : [`${left.length} answers were not asked for`];
    if (unscripted.length + unused.length > 0) throw new Error([...unscripted, ...unused].join('; '));
  });
  const prompt: Prompt = {
    hidden: async (question, signal) => String(await ask('hidden', question, signal)),
    text: async (question, fallback, signal, problemOf) => {
      for (;;) {
        const answer = String(await ask('text', question, signal)) || (fallback ?? '');
        if (problemOf?.(answer) === undefined) return answer;
      }
    },
    confirm: async (question, signal) => (await ask('confirm', question, signal)) === true,
  };
  return { prompt, questions };
}
