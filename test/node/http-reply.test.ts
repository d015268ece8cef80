import { describe, expect, it } from 'vitest';
import { Receiver } from '../../src/node/http-reply.ts';

class Controller {
  readonly calls: string[] = [];
  readonly aborted = false;
  readonly paused = false;
  readonly reason = null;
  pause(): void {
    this.calls.push('pause');
  }
  resume(): void {
    this.calls.push('resume');
  }
  abort(reason: Error): void {
    this.calls.push(`abort: ${reason.message}`);
  }
}

/** A receiver whose response has begun. */
function begun(headers = {}): {
  readonly receiver: Receiver;
  readonly controller: Controller;
  readonly isOver: () => boolean;
} {
  let isOver = false;
  const receiver = new Receiver({
    exchange: { target: 'pets.example:80', forwarder: undefined, isWritten: false, signal: undefined },
    timeoutMs: 20_000,
    maySend: () => true,
    onOver: () => {
      isOver = true;
    },
  });
  const controller = new Controller();
  receiver.onRequestStart(controller);
  receiver.onResponseStart(controller, 103, {});
  receiver.onResponseStart(controller, 200, { 'x-a': ['1', '2'], etag: '"7"', ...headers });
  return { receiver, controller, isOver: () => isOver };
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
const asText = (chunk: Uint8Array | undefined): string => Buffer.from(chunk ?? []).toString();

describe('a response in many pieces', () => {
  it('what has come is read as one chunk: a service may send each byte on its own', async () => {
    const { receiver, controller } = begun();
    const { status, headers, body } = await receiver.reply();
    expect([status, [...headers]]).toEqual([
      200,
      [
        ['x-a', ['1', '2']],
        ['etag', ['"7"']],
      ],
    ]);
    expect(body).toBe(receiver);
    for (const byte of 'abc') receiver.onResponseData(controller, bytes(byte));
    expect(asText((await receiver.next()).value)).toBe('abc');
    const next = receiver.next();
    for (const byte of 'def') receiver.onResponseData(controller, bytes(byte));
    expect(asText((await next).value)).toBe('def');
    receiver.onResponseEnd();
    expect((await receiver.next()).done).toBe(true);
  });

  it('that is whole when its head is read is a list of one chunk', async () => {
    const { receiver, controller, isOver } = begun();
    for (const byte of 'abc') receiver.onResponseData(controller, bytes(byte));
    expect(isOver()).toBe(false);
    receiver.onResponseEnd();
    expect(isOver()).toBe(true);
    const { body } = await receiver.reply();
    expect((body as readonly Uint8Array[]).map(asText)).toEqual(['abc']);
  });

  it('that is empty is not decoded, whatever its coding: a response to HEAD', async () => {
    const { receiver } = begun({ 'content-encoding': 'gzip' });
    receiver.onResponseEnd();
    const { body } = await receiver.reply();
    expect((body as readonly Uint8Array[]).map(asText)).toEqual(['']);
  });

  it('pauses while more than 64 KiB wait, and continues once they are read', async () => {
    const { receiver, controller } = begun();
    const piece = Buffer.alloc(40_000);
    receiver.onResponseData(controller, piece);
    expect(controller.calls).toEqual([]);
    receiver.onResponseData(controller, piece);
    expect(controller.calls).toEqual(['pause']);
    expect((await receiver.next()).value?.length).toBe(80_000);
    expect(controller.calls).toEqual(['pause', 'resume']);
  });

  it('what came before a break is read first', async () => {
    const { receiver, controller } = begun();
    receiver.onResponseData(controller, bytes('abc'));
    receiver.onResponseError(controller, Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    expect(asText((await receiver.next()).value)).toBe('abc');
    await expect(receiver.next()).rejects.toMatchObject({ facts: { phase: 'body-cut' } });
  });

  it('a reader that stops early ends the connection, unless all has come', async () => {
    const { receiver, controller } = begun();
    await receiver.return();
    expect(controller.calls).toEqual(['abort: the rest of the body is not read']);
    const other = begun();
    other.receiver.onResponseEnd();
    await other.receiver.return();
    expect(other.controller.calls).toEqual([]);
  });
});
