/** Receives a response from undici: headers as a map, and the decoded body. */
import { pipeline, Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { HttpFailure, type HttpReply, reasonOf } from '../ports.ts';
import { type Exchange, proxyRefusal, toHttpFailure } from './http-failure.ts';

type Controller = Dispatcher.DispatchController;

/** Same limit as curl: each coding takes memory. */
const MOST_CODINGS = 5;
/** In bytes. */
const LONG_BODY = 1 << 20;
/** Unread bytes after which the service is paused. */
const MOST_WAITING = 64 * 1024;

export interface Reception extends Exchange {
  readonly timeoutMs: number;
  /** Called immediately before the first byte is written. */
  maySend(): boolean;
  /** Called once, when nothing more will arrive. */
  onOver(): void;
}

/** Receives one response. */
export class Receiver implements Dispatcher.DispatchHandler {
  readonly #reception: Reception;
  readonly #head = Promise.withResolvers<Omit<HttpReply, 'body'>>();
  readonly #body: Readable;
  #controller: Controller | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(reception: Reception) {
    this.#reception = reception;
    reception.signal?.addEventListener('abort', this.#onAbort);
    this.#body = new Readable({
      highWaterMark: MOST_WAITING,
      read: () => this.#controller?.resume(),
      destroy: (error, done) => {
        // Close the connection if the reader does not want the rest.
        if (!this.#isOver) this.#controller?.abort(new Error('the rest of the body is not read'));
        done(error);
      },
    });
    // An error that no reader waits for must not end the program.
    this.#body.on('error', () => undefined);
  }

  /** Called by undici before it writes, in the same turn. */
  onRequestStart(controller: Controller): void {
    const { maySend, signal, target, timeoutMs } = this.#reception;
    this.#controller = controller;
    if (signal?.aborted === true) {
      controller.abort(reasonOf(signal));
      return;
    }
    if (!maySend()) throw HttpFailure.withdrawn(target);
    this.#reception.isWritten = true;
    this.#timer = setTimeout(() => {
      controller.abort(responseTimeout(target));
    }, timeoutMs);
  }

  onResponseStart(controller: Controller, status: number, names: Record<string, string | string[] | undefined>): void {
    if (status < 200) return;
    clearTimeout(this.#timer);
    const { forwarder } = this.#reception;
    if (status === 407 && forwarder !== undefined) {
      controller.abort(proxyRefusal(forwarder, status));
      return;
    }
    const headers = new Map(Object.entries(names).map(([name, value = '']) => [name, [value].flat()]));
    this.#head.resolve({ status, headers });
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    if (!this.#body.push(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body.push(null);
  }

  onResponseError(_controller: Controller | undefined, error: unknown): void {
    this.#head.reject(toHttpFailure(error, 'headers', this.#reception));
    this.#finish();
    this.#body.destroy(toHttpFailure(error, 'body', this.#reception));
  }

  /** @throws {HttpFailure} no response */
  async reply(): Promise<HttpReply> {
    const { status, headers } = await this.#head.promise;
    const codings = codingsOf(headers.get('content-encoding')?.join(','));
    const hasArrived = this.#isOver && !this.#body.destroyed;
    // A response to HEAD names a coding but has no body.
    if (hasArrived && (codings.length === 0 || this.#body.readableLength === 0)) {
      return { status, headers, body: [(this.#body.read() as Uint8Array | null) ?? new Uint8Array()] };
    }
    return { status, headers, body: decodedBody(this.#body, codings, this.#reception) };
  }

  readonly #onAbort = (): void => {
    const { signal } = this.#reception;
    if (signal !== undefined) this.#controller?.abort(reasonOf(signal));
  };

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#reception.signal?.removeEventListener('abort', this.#onAbort);
    this.#reception.onOver();
  }
}

function responseTimeout(peer: string): HttpFailure {
  const detail = 'the response headers did not come in time';
  return new HttpFailure({ phase: 'response-timeout', mayHaveBeenSent: true, peer, code: 'TIMEOUT', detail });
}

function codingsOf(text = ''): string[] {
  const codings = text.split(',').map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => coding !== '' && coding !== 'identity');
}

/** Yields the body without its content codings. */
async function* decodedBody(
  received: Readable,
  codings: readonly string[],
  exchange: Exchange,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  try {
    const decoders = codings.length === 0 ? [] : await openDecoders(codings, exchange);
    // Errors reach the reader through the last stream, which it iterates.
    const body = decoders.reduce<Readable>((from, decoder) => pipeline(from, decoder, () => undefined), received);
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (length < LONG_BODY && length + chunk.length >= LONG_BODY) stopYoungGenerationGrowth();
      length += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw toHttpFailure(error, 'body', exchange);
  } finally {
    received.destroy();
  }
}

/** Returns a stream for each coding; the last coding is undone first. @throws {HttpFailure} */
async function openDecoders(codings: readonly string[], { target }: Exchange) {
  const { createBrotliDecompress, createUnzip } = await import('node:zlib');
  const decoders = new Map([
    ['gzip', createUnzip],
    ['x-gzip', createUnzip],
    ['deflate', createUnzip],
    ['br', createBrotliDecompress],
  ]);
  return codings.toReversed().map((coding) => {
    const open = decoders.get(coding);
    if (open !== undefined && codings.length <= MOST_CODINGS) return open();
    const detail = codings.join(', ').slice(0, 80);
    const facts = { peer: target, code: 'UNSUPPORTED_CODING', detail };
    throw new HttpFailure({ phase: 'coding', mayHaveBeenSent: true, ...facts });
  });
}

/**
 * Keeps V8's space for new objects at a few MB instead of up to 32. Chunks of a stream become garbage at once, so more
 * space would be wasted.
 */
function stopYoungGenerationGrowth(): void {
  try {
    process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
  } catch {
    // Bun has a different engine.
  }
}
