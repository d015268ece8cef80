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
    signal: undefined,
    timeoutMs: 20_000,
    maySend: () => true,
    onOver: () => undefined,
  });
  const controller = new Controller();
  receiver.onRequestStart(controller);
  receiver.onResponseStart(controller, 200, headers);
  const arrive = (bytes: number): void => {
    receiver.onResponseData(controller, Buffer.alloc(bytes));
  };
  return { receiver, controller, arrive };
}

describe('a response', () => {
  it('that is empty is not decoded, whatever its coding: a response to HEAD', async () => {
    const { receiver } = begun({ 'content-encoding': 'gzip' });
    receiver.onResponseEnd();
    const { status, body } = await receiver.reply();
    expect([status, body]).toEqual([200, [Buffer.alloc(0)]]);
  });

  it('pauses while more than 64 KiB wait, continues once they are read, and ends with its reader', async () => {
    const { receiver, controller, arrive } = begun();
    const { body } = await receiver.reply();
    arrive(40_000);
    expect(controller.calls).toEqual([]);
    arrive(40_000);
    expect(controller.calls).toEqual(['pause']);
    for await (const chunk of body) {
      expect(chunk.length).toBe(80_000);
      break;
    }
    expect(controller.calls).toEqual(['pause', 'resume', 'abort: the rest of the body is not read']);
  });
});
