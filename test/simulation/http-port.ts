/** The Http port of a simulated process: a connection whose `send` calls `maySend` just before the first byte. */
import {
  type Connection,
  type Http,
  HttpFailure,
  type HttpFailurePhase,
  type HttpReply,
  type HttpRequest,
} from '../../src/ports.ts';

/** The network below one process. */
export interface Line {
  /** Sets a connection up; takes no time if one is open. */
  open(): Promise<void>;
  readonly isOpen: boolean;
  /** Asks, and in the same instant sends; `closed`: nothing was sent. @throws {HttpFailure} `withdrawn` after a no */
  exchange(request: Sendable, maySend: () => boolean): Promise<HttpReply | 'closed'>;
}

export type Sendable = Pick<HttpRequest, 'method' | 'url' | 'body'>;

export function httpOver(line: Line): Http {
  return {
    async connect(): Promise<Connection> {
      await line.open();
      return {
        get isOpen() {
          return line.isOpen;
        },
        async send(request, maySend) {
          const reply = await line.exchange(request, maySend);
          if (reply === 'closed') throw failure(request.url, 'reset', false, 'the connection was closed before');
          return reply;
        },
        release: () => undefined,
      };
    },
    close: async () => undefined,
  };
}

export function connectionReset(url: URL): HttpFailure {
  return failure(url, 'reset', true, 'the connection was reset');
}

function failure(url: URL, phase: HttpFailurePhase, mayHaveBeenSent: boolean, detail: string): HttpFailure {
  return new HttpFailure({ phase, mayHaveBeenSent, peer: url.host, code: 'ECONNRESET', detail });
}
