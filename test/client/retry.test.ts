/** Which failures are retried, how often, and after which wait, with controlled time and random numbers. */
import { describe, expect, it } from 'vitest';
import { type Operation, perform, type Result } from '../../src/client/retry.ts';
import type { Call, Service } from '../../src/client/service.ts';
import type { HttpFailurePhase, HttpReply } from '../../src/ports.ts';
import { Failure, isFailure } from '../../src/errors.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { failure, reply, scriptedService, type Send } from './scripted-service.ts';

const LIST: Call = { method: 'GET', path: '/inventory' };
const SET: Call = { method: 'PATCH', path: '/inventory/7', body: '{"quantity":12}' };

/** A status, perhaps with a Retry-After in seconds, and of a gateway that refuses; or where the exchange breaks and whether after sending. */
type Step =
  | number
  | readonly [status: number, retryAfter: string, by?: 'gateway']
  | readonly [HttpFailurePhase, 'sent' | 'unsent'];

interface Options {
  readonly call?: Call;
  readonly maxWaitMs?: number;
  readonly retryForMs?: number;
  readonly chance?: number;
  /** Attempts that the caller has already made. */
  readonly spent?: number;
  readonly read?: Operation<string>['read'];
}

function answer(step: Step): Promise<HttpReply> {
  if (typeof step === 'number') return Promise.resolve(reply(step));
  const [what, more, by] = step;
  if (typeof what !== 'number') return Promise.reject(failure(what, more === 'sent'));
  const headers = new Map([['retry-after', [more]]]);
  if (by === 'gateway') headers.set('petstore-gateway', ['refused']);
  return Promise.resolve({ ...reply(what), headers });
}

/** Performs the operation, and notes when each attempt began (ms) and what came of it. */
async function run(steps: readonly Step[], options: Options = {}) {
  const {
    call = LIST,
    maxWaitMs = 60_000,
    retryForMs = 0,
    chance = 0.5,
    spent = 0,
    read = () => Promise.resolve('done'),
  } = options;
  const clock = new VirtualClock({ autoAdvance: true });
  const start = clock.monotonic();
  const at: number[] = [];
  const sends = steps.map((step) => (): Promise<HttpReply> => {
    at.push(clock.monotonic() - start);
    return clock.during(() => answer(step));
  });
  const { service } = scriptedService(sends, { clock, maxWaitMs, retryForMs, random: () => chance });
  const outcome = await perform(service, { call, read }, { made: spent }).then(wordsOf, (error: unknown) => {
    if (isFailure(error)) return error.kind;
    throw error;
  });
  return { outcome, at };
}

function wordsOf(outcome: Result<string>): string {
  return 'value' in outcome ? outcome.value : `${outcome.trouble.failure.kind}, ${outcome.trouble.repeat}`;
}

const WRITE: Options = { call: SET };
const LASTING: Options = { retryForMs: 3_000, chance: 1 };
const OUTAGE = Array<Step>(9).fill(503);

it.each<[title: string, steps: Step[], options: Options, outcome: string, at: number[]]>([
  ['a success', [200], {}, 'done', [0]],
  ['a broken connection', [['reset', 'sent'], 200], {}, 'done', [0, 250]],
  ['no connection', [['connect', 'unsent'], ['dns', 'unsent'], 200], {}, 'done', [0, 250, 750]],
  ['fault 16: a server that fails for a while', [500, 503, 200], {}, 'done', [0, 250, 750]],
  ['fault 16: a server that keeps failing', [500, 502, 504], {}, 'service-failed, again', [0, 250, 750]],
  ['a network that keeps failing', [503, ['reset', 'sent'], ['connect', 'unsent']], {}, 'network, again', [0, 250, 750]],
  ['a connection that is closed before each attempt', Array<Step>(6).fill(['reset', 'unsent']), {}, 'network, again', [0, 0, 250, 250, 750, 750]],
  ['a certificate that is refused', [['tls', 'unsent']], {}, 'network, never', [0]],
  ['a refusal', [401], {}, 'unauthorized, never', [0]],
  ['a failure, then a refusal', [503, 403], {}, 'forbidden, never', [0, 250]],

  ['a write', [200], WRITE, 'done', [0]],
  ['a write that was not sent', [['connect', 'unsent'], ['dns', 'unsent'], 200], WRITE, 'done', [0, 250, 750]],
  ['a write that may have been sent', [['reset', 'sent']], WRITE, 'network, look', [0]],
  ['a write not sent, then perhaps sent', [['connect', 'unsent'], ['reset', 'sent']], WRITE, 'network, look', [0, 250]],
  ['a write that is redirected', [307], WRITE, 'redirected, look-only', [0]],

  // A 429 is no attempt, and leaves the wait before the next request to the gate.
  ['429, six times', [429, 429, 429, 429, 429, 200], {}, 'done', [0, 0, 0, 0, 0, 0]],
  ['429 in between', [429, 503, 429, 503, 429, 503], {}, 'service-failed, again', [0, 0, 250, 250, 750, 750]],
  ['429 to a write', [429, 200], { ...WRITE, maxWaitMs: 0 }, 'done', [0, 0]],

  ['the least waits', [503, 503, 503], { chance: 0 }, 'service-failed, again', [0, 0, 0]],
  ['the longest waits', [503, 503, 503], { chance: 0.999 }, 'service-failed, again', [0, 499.5, 1_498.5]],
  // A second longer, as the key is blocked: the gate then has no reason to wait.
  ['a long Retry-After', [[503, '7'], [503, '2'], 503], {}, 'service-failed, again', [0, 8_000, 11_000]],
  ['a short Retry-After', [[503, '0'], 503, 503], {}, 'service-failed, again', [0, 1_000, 1_500]],
  ['a Retry-After as long as --max-wait', [[503, '59'], 503, 503], {}, 'service-failed, again', [0, 60_000, 60_500]],
  ['a Retry-After longer than --max-wait', [[503, '60']], {}, 'service-failed, again', [0]],
  ['--max-wait 0', [503], { maxWaitMs: 0 }, 'service-failed, again', [0]],
  ['a backoff that may exceed --max-wait', [503], { maxWaitMs: 499, chance: 0 }, 'service-failed, again', [0]],
  ['a second one that may', [503, 503], { maxWaitMs: 500 }, 'service-failed, again', [0, 250]],
  ['one attempt before', [503, 503], { spent: 1 }, 'service-failed, again', [0, 500]],
  ['two attempts before', [503], { spent: 2 }, 'service-failed, again', [0]],

  ['--retry-for, up to a minute apart', [...OUTAGE, 200], { retryForMs: 600_000, chance: 1 }, 'done', [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500, 63_500, 123_500, 183_500]],
  ['--retry-for, to its end', [500, 500, 500, 500], LASTING, 'service-failed, again', [0, 500, 1_500, 3_000]],
  ['--retry-for, whatever --max-wait is', [500, 200], { retryForMs: 3_000, maxWaitMs: 0 }, 'done', [0, 250]],
  ['--retry-for, not for a refusal', [500, 403], { retryForMs: 3_000 }, 'forbidden, never', [0, 250]],
  ['--retry-for, a write that was not sent', [...Array<Step>(3).fill(['connect', 'unsent']), 200], { ...WRITE, retryForMs: 9_000, chance: 1 }, 'done', [0, 500, 1_500, 3_500]],
  ['--retry-for, a write that a gateway could not send', [...Array<Step>(3).fill([502, '1', 'gateway']), 200], { ...WRITE, retryForMs: 9_000 }, 'done', [0, 2_000, 4_000, 6_000]],
  ['--retry-for, a write that may have been sent', [503], { ...WRITE, retryForMs: 9_000 }, 'service-failed, look', [0]],
])('%s: %j %j', async (_title, steps, options, outcome, at) => {
  expect(await run(steps, options)).toEqual({ outcome, at });
}); // prettier-ignore

describe('the wait', () => {
  type Waiting = Parameters<Service['watch']['waiting']>[0];

  /** Returns the waits that the watcher sees for a 503 that is followed by a success. */
  async function backoffsOf(first: Step): Promise<{ waits: Waiting[]; start: number }> {
    const clock = new VirtualClock({ autoAdvance: true });
    const waits: Waiting[] = [];
    const sends = [first, 200].map(
      (step): Send =>
        () =>
          clock.during(() => answer(step)),
    );
    const { service } = scriptedService(sends, { clock, maxWaitMs: 60_000, random: () => 0.3 });
    const watch = { ...service.watch, waiting: (wait: Waiting) => waits.push(wait) };
    const start = clock.now();
    await perform({ ...service, watch }, { call: LIST, read: () => Promise.resolve('done') });
    return { waits, start };
  }

  it('is reported once a second, with the attempt that follows it, and when it is over', async () => {
    const { waits, start } = await backoffsOf([503, '2']);
    const wait = { why: 'backoff', until: start + 3_000, attempt: 2, attempts: 3, status: 503 };
    expect(waits).toEqual([wait, wait, wait, undefined]);
  });

  it('is not reported where it is shorter than 0.2 s, nor its end, which would end the wait of another request', async () => {
    expect((await backoffsOf(503)).waits).toEqual([]);
  });

  it('ends when the program is to stop', async () => {
    const clock = new VirtualClock();
    const over: Waiting[] = [];
    const { service, stop } = scriptedService([() => answer(503)], { clock, maxWaitMs: 60_000, random: () => 0.5 });
    const watch = { ...service.watch, waiting: (wait: Waiting) => over.push(wait) };
    const performed = perform({ ...service, watch }, { call: LIST, read: () => Promise.resolve('done') });
    await clock.advance(100);
    const reason = new Failure('interrupted', { signal: 'SIGINT' });
    stop.abort(reason);
    await expect(performed).rejects.toBe(reason);
    expect(over.at(-1)).toBeUndefined();
  });
});

describe('a body', () => {
  const BROKEN = new Failure('contract', { what: 'The response', problem: 'is not JSON' });
  const failing = (error: Error, times: number): Operation<string>['read'] => {
    let left = times;
    return () => (left-- > 0 ? Promise.reject(error) : Promise.resolve('done'));
  };

  it('that breaks off while it is read is asked for again, three times in all', async () => {
    const cut = failure('body-cut', true);
    expect(await run([200, 200], { read: failing(cut, 1) })).toEqual({ outcome: 'done', at: [0, 250] });
    expect(await run([200, 200, 200], { read: failing(cut, 3) })).toEqual({
      outcome: 'contract, again',
      at: [0, 250, 750],
    });
  });

  it('of a write that breaks off leaves its outcome open', async () => {
    const read = failing(failure('body-cut', true), 1);
    expect(await run([200], { call: SET, read })).toEqual({ outcome: 'contract, look', at: [0] });
  });

  it('that breaks the contract is not asked for again', async () => {
    const read = failing(BROKEN, 1);
    expect(await run([200], { read })).toEqual({ outcome: 'contract', at: [0] });
    // It does not tell either whether a write was applied.
    expect(await run([200], { call: SET, read: failing(BROKEN, 1) })).toEqual({ outcome: 'contract, look', at: [0] });
  });
});

it('a refusal whose body breaks off is known by its status in a raw request, too', async () => {
  async function* cut(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{');
    await Promise.reject(failure('body-cut', true));
  }
  const sends = [429, 403].map((status) => () => Promise.resolve({ ...reply(status), body: cut() }));
  const { service } = scriptedService(sends);
  const operation = { call: LIST, read: () => Promise.resolve('done') };
  expect(await perform(service, operation)).toMatchObject({ trouble: { failure: { kind: 'forbidden' } } });
});

describe('an attempt that the program’s own end cut short', () => {
  const reason = new Failure('interrupted', { signal: 'SIGINT' });

  async function cutShort(call: Call, mayHaveBeenSent: boolean): Promise<unknown> {
    const { service, stop } = scriptedService([
      () => {
        stop.abort(reason);
        return Promise.reject(failure('aborted', mayHaveBeenSent));
      },
    ]);
    const read = () => Promise.resolve('done');
    return perform(service, { call, read }).then(wordsOf, (error: unknown) => error);
  }

  it('throws the reason to stop, where nothing can have been applied; else the outcome of a write is open', async () => {
    expect([
      await cutShort(LIST, true),
      await cutShort(LIST, false),
      await cutShort(SET, false),
      await cutShort(SET, true),
    ]).toEqual([reason, reason, reason, 'network, look']);
  });
});
