/** Receives a response from undici: headers as a map, and the decoded body. */
import { pipeline } from 'node:stream';
import type { Dispatcher } from 'undici';
import { HttpFailure, type HttpReply, reasonOf } from '../ports.ts';
import { afterStop } from '../stop.ts';
import { BUN } from './bun.ts';
import { nodeClock } from './clock.ts';
import { type Exchange, proxyRefusal, type Stage, toHttpFailure } from './http-failure.ts';

type Controller = Dispatcher.DispatchController;

/** Same limit as curl: each coding takes memory. */
const MOST_CODINGS = 5;
const KNOWN_CODING = /^(?:br|deflate|(?:x-)?gzip)$/;
/** Memory is saved each time that this many bytes of a body have arrived. It takes Bun a few ms. */
const SAVING_STEP = (BUN === undefined ? 1 : 4) << 20;
/** Unread bytes after which the service is paused. */
const MOST_WAITING = 64 * 1024;

export interface Reception extends Exchange {
  readonly timeoutMs: number;
  /** Called immediately before the first byte is written. */
  maySend(): boolean;
  /** Called once, when nothing more will arrive. */
  onOver(): void;
}

/** Receives one response. Chunks of its body wait here until they are read. */
export class Receiver implements Dispatcher.DispatchHandler {
  private readonly reception: Reception;
  private readonly head = Promise.withResolvers<Omit<HttpReply, 'body'>>();
  private stage: Stage = 'unsent';
  private controller: Controller | undefined;
  private cancelTimer = (): void => undefined;
  private cancelStop = (): void => undefined;
  private chunks: Uint8Array[] = [];
  private waiting = 0;
  private received = 0;
  private isOver = false;
  /** What broke the body. What arrived before is still read. */
  private failure: HttpFailure | undefined;
  private wake: (() => void) | undefined;

  constructor(reception: Reception) {
    this.reception = reception;
  }

  /** Called by undici before it writes, in the same turn. */
  onRequestStart(controller: Controller): void {
    const { maySend, signal, target, timeoutMs } = this.reception;
    this.controller = controller;
    this.cancelStop = afterStop({ clock: nodeClock, signal }, 0, () => {
      controller.abort(reasonOf(signal!));
    });
    if (signal?.aborted === true) return;
    if (!maySend()) throw HttpFailure.withdrawn(target);
    this.stage = 'headers';
    this.cancelTimer = nodeClock.alarm(timeoutMs, () => {
      const facts = { peer: target, code: 'TIMEOUT', detail: 'the response headers did not come in time' };
      controller.abort(new HttpFailure({ phase: 'response-timeout', mayHaveBeenSent: true, ...facts }));
    });
  }

  onResponseStart(controller: Controller, status: number, names: Record<string, string | string[] | undefined>): void {
    if (status < 200) return;
    this.cancelTimer();
    const { forwarder } = this.reception;
    if (status === 407 && forwarder !== undefined) {
      controller.abort(proxyRefusal(forwarder, status));
      return;
    }
    const headers = new Map<string, readonly string[]>();
    for (const [name, value = ''] of Object.entries(names))
      headers.set(name, typeof value === 'string' ? [value] : value);
    this.stage = 'body';
    this.head.resolve({ status, headers });
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    const steps = Math.floor(this.received / SAVING_STEP);
    this.received += chunk.length;
    if (Math.floor(this.received / SAVING_STEP) > steps) saveMemory();
    this.chunks.push(chunk);
    this.waiting += chunk.length;
    if (this.waiting > MOST_WAITING) controller.pause();
    this.wake?.();
  }

  onResponseEnd(): void {
    this.isOver = true;
    this.cancelTimer();
    this.cancelStop();
    this.wake?.();
    this.reception.onOver();
  }

  onResponseError(_controller: Controller | undefined, error: unknown): void {
    this.failure = toHttpFailure(error, this.stage, this.reception);
    this.head.reject(this.failure);
    this.onResponseEnd();
  }

  /** @throws {HttpFailure} no response */
  async reply(): Promise<HttpReply> {
    const { status, headers } = await this.head.promise;
    const codings = codingsOf(headers.get('content-encoding')?.join(','));
    const isWhole = this.isOver && this.failure === undefined;
    // A response to HEAD names a coding but has no body.
    if (codings.length > 0 && !(isWhole && this.received === 0)) {
      return { status, headers, body: this.decoded(codings) };
    }
    return { status, headers, body: isWhole ? [this.take()] : this.body() };
  }

  /** Returns all chunks that wait as one: a service may send single bytes. */
  private take(): Uint8Array {
    const chunks = this.chunks.splice(0);
    this.waiting = 0;
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  }

  /** Closes the connection if more of the body would arrive. */
  private leaveRest(): void {
    this.controller?.abort(new Error('the rest of the body is not read'));
  }

  /** Yields the body as it arrives. */
  private async *body(): AsyncGenerator<Uint8Array> {
    try {
      while (!this.isOver || this.chunks.length > 0) {
        if (this.chunks.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
        else {
          const chunk = this.take();
          this.controller?.resume();
          yield chunk;
        }
      }
    } finally {
      this.leaveRest();
    }
    if (this.failure !== undefined) throw this.failure;
  }

  /** Yields the body without its content codings. */
  private async *decoded(codings: readonly string[]): AsyncGenerator<Uint8Array> {
    const { createBrotliDecompress, createUnzip } = process.getBuiltinModule('node:zlib');
    try {
      let body: AsyncIterable<Uint8Array> = this.body();
      // Undoes the last coding first.
      for (const coding of codings.toReversed()) {
        if (!KNOWN_CODING.test(coding) || codings.length > MOST_CODINGS) {
          const facts = { peer: this.reception.target, code: 'UNSUPPORTED_CODING' };
          const detail = codings.join(', ').slice(0, 80);
          throw new HttpFailure({ phase: 'coding', mayHaveBeenSent: true, ...facts, detail });
        }
        // Errors reach the reader through the decoder that it iterates.
        body = pipeline(body, coding === 'br' ? createBrotliDecompress() : createUnzip(), () => undefined);
      }
      yield* body;
    } catch (error) {
      throw toHttpFailure(error, 'body', this.reception);
    } finally {
      this.leaveRest();
    }
  }
}

function codingsOf(text = ''): string[] {
  const codings = text.split(',').map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => coding !== '' && coding !== 'identity');
}

let savesMemory = false;

/**
 * Saves memory during a long list. Keeps V8's space for new objects at a few MB instead of up to 32: chunks of a stream
 * become garbage at once, so more space would be wasted. Leaves out the one optimization of undici's WebAssembly parser
 * that takes 8 MB. At exit the defaults are back: V8 would reject code stored under other flags (bin/start.js).
 */
function saveMemory(): void {
  // Bun lets garbage grow with the machine's memory. With a small heap, this takes it a few ms.
  if (BUN !== undefined) (process.getBuiltinModule('bun:jsc') as { fullGC(): void }).fullGC();
  if (BUN !== undefined || savesMemory) return;
  savesMemory = true;
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--semi-space-growth-factor=1 --no-wasm-loop-unrolling');
  process.prependOnceListener('exit', () => {
    setFlagsFromString('--semi-space-growth-factor=2 --wasm-loop-unrolling');
  });
}
