/** How a response is read that arrives in pieces; test/node/http.test.ts has the rest on real sockets. */
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
function begun(headers = {}) {
  const receiver = new Receiver({
    target: 'pets.example:80',
    forwarder: undefined,
    isWritten: false,
    signal: undefined,
    timeoutMs: 20_000,
    maySend: () => true,
    onOver: () => undefined,
  });
  const controller = new Controller();
  receiver.onRequestStart(controller);
  receiver.onResponseStart(controller, 200, { 'x-a': ['1', '2'], etag: '"7"', ...headers });
  const arrive = (...pieces: (string | Buffer)[]): void => {
    for (const piece of pieces) receiver.onResponseData(controller, Buffer.from(piece));
  };
  return { receiver, controller, arrive };
}

const asText = (chunk: Uint8Array): string => Buffer.from(chunk).toString();

describe('a response in many pieces', () => {
  it('what has come is read as one chunk: a service may send each byte on its own', async () => {
    const { receiver, arrive } = begun();
    const { status, headers, body } = await receiver.reply();
    const fields = [
      ['x-a', ['1', '2']],
      ['etag', ['"7"']],
    ];
    expect([status, [...headers]]).toEqual([200, fields]);
    arrive('a', 'b', 'c');
    const chunks: string[] = [];
    for await (const chunk of body) {
      chunks.push(asText(chunk));
      if (chunks.length === 1) arrive('d', 'e', 'f');
      else receiver.onResponseEnd();
    }
    expect(chunks).toEqual(['abc', 'def']);
  });

  it.each([
    ['that is whole when its head is read is a list of one chunk', {}, ['a', 'b', 'c']],
    ['that is empty is not decoded, whatever its coding: a response to HEAD', { 'content-encoding': 'gzip' }, []],
  ])('%s', async (_what, headers, pieces) => {
    const { receiver, arrive } = begun(headers);
    arrive(...pieces);
    receiver.onResponseEnd();
    const { body } = await receiver.reply();
    expect((body as readonly Uint8Array[]).map(asText)).toEqual([pieces.join('')]);
  });

  it('pauses while more than 64 KiB wait, continues once they are read, and ends with its reader', async () => {
    const { receiver, controller, arrive } = begun();
    const { body } = await receiver.reply();
    arrive(Buffer.alloc(40_000));
    expect(controller.calls).toEqual([]);
    arrive(Buffer.alloc(40_000));
    expect(controller.calls).toEqual(['pause']);
    for await (const chunk of body) {
      expect(chunk.length).toBe(80_000);
      break;
    }
    expect(controller.calls).toEqual(['pause', 'resume', 'abort: the rest of the body is not read']);
  });
});
