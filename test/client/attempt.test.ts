/** One attempt: the order of its steps, and what the gate and the watcher receive. */
import { describe, expect, it } from 'vitest';
import { exchange } from '../../src/client/attempt.ts';
import type { Call } from '../../src/client/service.ts';
import { HttpFailure, type HttpReply } from '../../src/ports.ts';
import { Failure } from '../../src/errors.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { failure, reply, scriptedService, type Send } from './scripted-service.ts';

const LIST: Call = { method: 'GET', path: '/inventory' };
const SET: Call = { method: 'PATCH', path: '/inventory/7', body: '{"quantity":12}' };

async function text({ body }: HttpReply): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('an attempt', () => {
  it('asks for leave, connects, sends, and tells the gate what came before anything else', async () => {
    const { service, events, attempts, requests } = scriptedService([() => Promise.resolve(reply(200, '[', ']'))]);
    const answered = await exchange(service, LIST);
    expect(events).toEqual([
      'enter GET /inventory',
      'connect https://pets.example/v1/inventory 30000 signal',
      'send',
      'answered 200 y now',
    ]);
    expect([answered.status, await text(answered)]).toEqual([200, '[]']);
    expect(attempts).toEqual([{ method: 'GET', url: 'https://pets.example/v1/inventory', ms: 0, status: 200 }]);
    // Its headers are in test/e2e/http.test.ts.
    expect(requests[0]).toMatchObject({ method: 'GET', timeoutMs: 30_000 });
    expect([requests[0]?.body, requests[0]?.headers['content-type']]).toEqual([undefined, undefined]);
  });

  it('for another client carries what that one has sent, and the key of this one', async () => {
    const { service, requests } = scriptedService([() => Promise.resolve(reply())]);
    const body = Buffer.from('{"quantity":12}');
    await exchange(service, { method: 'PATCH', path: '/inventory/7?a=%2f', headers: { 'user-agent': 'till-1' }, body });
    expect(requests[0]).toMatchObject({ target: '/v1/inventory/7?a=%2f', body });
    expect(requests[0]?.headers).toEqual({
      'accept-encoding': 'gzip, br',
      authorization: 'Bearer key',
      'user-agent': 'till-1',
    });
  });

  it.each([
    ['GET', '/inventory', 'GET /inventory'],
    ['PATCH', '/inventory/7', 'PATCH /inventory/{id}'],
    ['PATCH', '/inventory/-9223372036854775808', 'PATCH /inventory/{id}'],
    ['GET', '/pets/7/photos/8?size=9', 'GET /pets/{id}/photos/{id}'],
    ['GET', '/store/orders/0d1f8a3e-11f0-4c5b', 'GET /store/orders/{id}'],
    ['GET', '/oauth2/inventories/abc', 'GET /oauth2/inventories/abc'],
    ['GET', '/v2pets/x7#8', 'GET /v2pets/x7'],
  ] as const)('%s %s counts as %s', async (method, path, operation) => {
    const { service, events } = scriptedService([() => Promise.resolve(reply())]);
    await exchange(service, { method, path });
    expect(events[0]).toBe(`enter ${operation}`);
  });

  it('fault 113: whose permit expired before the first byte asks for another, and reports no failure', async () => {
    const { service, events, attempts } = scriptedService([
      () => Promise.reject(HttpFailure.withdrawn('pets.example')),
      () => Promise.resolve(reply()),
    ]);
    await exchange(service, LIST);
    expect(events.filter((each) => !each.startsWith('connect'))).toEqual([
      'enter GET /inventory',
      'send',
      'lost not sent',
      'enter GET /inventory',
      'send',
      'answered 200 y now',
    ]);
    expect(attempts).toHaveLength(1);
  });

  it.each([LIST, SET])(
    'on a connection that the service has closed by then takes another one, once: %j',
    async (call) => {
      const closed: Send = () => Promise.reject(failure('reset', false));
      const { service, events, attempts } = scriptedService([closed, () => Promise.resolve(reply())]);
      await exchange(service, call);
      expect(events.filter((each) => /^(send|lost|answered)/.test(each))).toEqual([
        'send',
        'lost not sent',
        'send',
        'answered 200 y now',
      ]);
      expect(attempts).toMatchObject([{ status: 200 }]);
      const twice = scriptedService([closed, closed]);
      await expect(exchange(twice.service, call)).rejects.toBeInstanceOf(HttpFailure);
      expect(twice.attempts).toMatchObject([{ failure: { phase: 'reset' } }]);
    },
  );

  it.each([true, false])('without an answer is lost (may have been sent: %s)', async (mayHaveBeenSent) => {
    const phase = mayHaveBeenSent ? 'reset' : 'aborted';
    const { service, events, attempts } = scriptedService([() => Promise.reject(failure(phase, mayHaveBeenSent))]);
    await expect(exchange(service, LIST)).rejects.toBeInstanceOf(HttpFailure);
    expect(events.at(-1)).toBe(`lost ${mayHaveBeenSent ? 'perhaps sent' : 'not sent'}`);
    expect(attempts).toMatchObject([{ failure: { phase } }]);
  });

  it('without a connection reports the failure, and sends nothing', async () => {
    const { service, events, attempts } = scriptedService([], {}, failure('dns', false));
    await expect(exchange(service, LIST)).rejects.toBeInstanceOf(HttpFailure);
    expect([events.includes('send'), attempts]).toMatchObject([false, [{ failure: { phase: 'dns' } }]]);
  });
});

describe('a refusal', () => {
  it.each([
    [403, 'refused', false, 'lost not sent'],
    [401, 'refused', false, 'lost not sent'],
    [413, 'refused', false, 'lost not sent'],
    [403, 'refused', true, 'answered 403 y now'],
    [503, 'refused', true, 'answered 503 y now'],
    [504, 'refused', true, 'lost not sent'],
    // Whoever sends it, nothing follows it for a time.
    [429, 'refused', false, 'answered 429 y now'],
    [403, '1', false, 'answered 403 y now'],
    [403, 'refused, 1', false, 'answered 403 y now'],
    [403, undefined, false, 'answered 403 y now'],
  ])('%i of the gateway %s, with a time: %s: %s', async (status, gateway, namesTime, event) => {
    const refusal = reply(status);
    if (gateway !== undefined) refusal.headers.set('petstore-gateway', [gateway]);
    if (namesTime) refusal.headers.set('retry-after', ['60']);
    const { service, events } = scriptedService([() => Promise.resolve(refusal)]);
    await exchange(service, LIST);
    expect(events.at(-1)).toBe(event);
  });
});

it.each([
  ['once a second, and no longer than it takes', LIST, [28_000, 27_000, 26_000]],
  ['not at all, if another client has sent it', { ...LIST, headers: {} }, []],
])('a request that takes long is shown %s', async (_how, call, times) => {
  const clock = new VirtualClock();
  const { service, events } = scriptedService([() => clock.sleep(4_500).then(() => reply())], { clock });
  const ended = exchange(service, call);
  await clock.advance(5_000);
  await ended;
  const shown = times.map((ms) => `pets.example for at most ${ms} ms`);
  expect(events.slice(2, -1)).toEqual(['send', ...shown]);
});

describe('once the program has to stop', () => {
  const stopped = new Failure('interrupted', { signal: 'SIGINT' });
  /** Answers when its signal aborts. */
  const held: Send = ({ signal }) =>
    new Promise((_resolve, reject) => {
      const abort = (): void => {
        reject(failure('aborted', true));
      };
      if (signal?.aborted === true) abort();
      signal?.addEventListener('abort', abort, { once: true });
    });

  it.each([
    [LIST, 0],
    [{ ...LIST, method: 'HEAD' }, 0],
    [{ ...LIST, method: 'OPTIONS' }, 0],
    [SET, 2_000],
  ] as const)('%j ends after %i ms', async (call, graceMs) => {
    const { service, clock, stop } = scriptedService([held]);
    let isOver = false;
    void exchange(service, call).catch(() => (isOver = true));
    await clock.turn();
    stop.abort(stopped);
    if (graceMs > 0) {
      await clock.advance(graceMs - 1);
      expect(isOver).toBe(false);
      await clock.advance(1);
    }
    await clock.turn();
    expect(isOver).toBe(true);
  });

  it.each([
    ['its answer', 200, 500],
    ['its refusal', 429, 2_000],
  ])('a write does not wait long for the ledger to record %s', async (_what, status, ms) => {
    const { service, clock, stop } = scriptedService([() => Promise.resolve(reply(status))]);
    const enter: typeof service.gate.enter = async (...args) => {
      const { connection, ticket } = await service.gate.enter(...args);
      return { connection, ticket: { ...ticket, answered: () => Promise.withResolvers<undefined>().promise } };
    };
    let answer: number | undefined;
    const ended = exchange({ ...service, gate: { ...service.gate, enter } }, SET).then((it) => (answer = it.status));
    await clock.turn();
    stop.abort(stopped);
    await clock.advance(ms - 1);
    expect(answer).toBeUndefined();
    await clock.advance(1);
    expect(await ended).toBe(status);
  });

  it('a write that has permission, but is not written yet, is not sent', async () => {
    let mayBeSent = true;
    const { service, stop } = scriptedService([
      (_request, maySend) => {
        stop.abort(stopped);
        mayBeSent = maySend();
        return Promise.reject(failure('aborted', false));
      },
    ]);
    await expect(exchange(service, SET)).rejects.toBeInstanceOf(HttpFailure);
    expect(mayBeSent).toBe(false);
  });

  it('the body of a read ends, too', async () => {
    const { service, stop, requests } = scriptedService([() => Promise.resolve(reply(200, 'a'))]);
    const { body } = await exchange(service, LIST);
    stop.abort(stopped);
    expect(requests[0]?.signal?.aborted).toBe(true);
    for await (const piece of body) expect(piece).toBeDefined();
  });
});

it('the body of a 429 that does not end is waited for one second: its headers name the wait', async () => {
  const clock = new VirtualClock();
  async function* silent(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    await clock.sleep(60_000, signal);
    yield Buffer.from('x');
  }
  const send: Send = ({ signal }) => Promise.resolve({ ...reply(429), body: silent(signal!) });
  const { service } = scriptedService([send], { clock });
  const read = text(await exchange(service, LIST)).catch((error: unknown) => error);
  await clock.advance(1_000);
  expect(await read).toMatchObject({ facts: { phase: 'body-timeout' } });
});

it('a body that drips is waited for as long as one attempt may take in all, a slow reader not counted', async () => {
  const clock = new VirtualClock();
  async function* drip(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (;;) {
      await clock.sleep(10_000, signal);
      yield Buffer.from('x');
    }
  }
  const send: Send = ({ signal }) => Promise.resolve({ ...reply(), body: drip(signal!) });
  const { service } = scriptedService([send], { clock });
  const { body } = await exchange(service, LIST);
  const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  for (let piece = 0; piece < 2; piece++) {
    const next = chunks.next();
    await clock.advance(10_000);
    expect((await next).done).toBe(false);
    // The reader takes its time.
    await clock.advance(60_000);
  }
  const last = chunks.next().catch((error: unknown) => error);
  await clock.advance(10_000);
  expect(await last).toMatchObject({ facts: { phase: 'body-timeout', mayHaveBeenSent: true } });
});
