/**
 * The Http port of a simulated process, in two shapes: `send` connects and sends; `connect` gives a connection, whose
 * `send` asks whether it may immediately before the first byte leaves. The client takes the one that it knows.
 */
import { HttpFailure, type HttpFailurePhase, type HttpReply, type HttpRequest } from '../../src/context.ts';

/** The network below one process. */
export interface Line {
  /** Sets a connection up where there is none; takes no time where there is one. */
  open(): Promise<void>;
  readonly isOpen: boolean;
  /** Asks, and in the same instant sends; `closed`: nothing was sent. @throws {HttpFailure} `withdrawn` after a no */
  exchange(request: Sendable, maySend: () => boolean): Promise<HttpReply | 'closed'>;
}

export type Sendable = Pick<HttpRequest, 'method' | 'url' | 'body'>;

export interface SimulatedHttp {
  send(request: Sendable): Promise<HttpReply>;
  connect(): Promise<SimulatedConnection>;
  close(): Promise<void>;
}

export interface SimulatedConnection {
  readonly isOpen: boolean;
  send(request: Sendable, maySend: () => boolean): Promise<HttpReply>;
  release(): void;
}

export function httpOver(line: Line): SimulatedHttp {
  return {
    async send(request) {
      for (;;) {
        await line.open();
        const reply = await line.exchange(request, () => true);
        if (reply !== 'closed') return reply;
      }
    },
    async connect() {
      await line.open();
      return {
        get isOpen() {
          return line.isOpen;
        },
        async send(request, maySend) {
          const reply = await line.exchange(request, maySend);
          if (reply === 'closed') throw connectionClosed(request.url);
          return reply;
        },
        release: () => undefined,
      };
    },
    close: async () => undefined,
  };
}

export function withdrawn(url: URL): HttpFailure {
  return failure(url, 'withdrawn' as HttpFailurePhase, false, 'the permission to send was withdrawn');
}

function connectionClosed(url: URL): HttpFailure {
  return failure(url, 'connect', false, 'the connection was closed before the request was sent');
}

export function connectionReset(url: URL): HttpFailure {
  return failure(url, 'reset', true, 'the connection was reset');
}

function failure(url: URL, phase: HttpFailurePhase, mayHaveBeenSent: boolean, detail: string): HttpFailure {
  return new HttpFailure({ phase, mayHaveBeenSent, peer: url.host, code: 'ECONNRESET', detail });
}
