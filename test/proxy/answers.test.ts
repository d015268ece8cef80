import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { HttpFailure, type HttpFailurePhase } from '../../src/ports.ts';
import { type Answer, answerOfFailure } from '../../src/proxy/answers.ts';
import { petLocksOf } from '../../src/stock/pet-lock.ts';
import { commandContext } from '../support/command-context.ts';
import { STAGING_ENV, withReplies } from '../support/in-process.ts';
import { item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { ask, sendRaw } from '../support/served.ts';
import { createTestContext } from '../support/test-context.ts';
import { httpReply } from '../support/test-ports.ts';
import { START } from '../support/virtual-clock.ts';
import { proxyHere } from './proxy-here.ts';

const bodyOf = ({ body }: Answer): unknown => JSON.parse(body);
const wait = (waitMs: number) => ({ retryAt: START + waitMs, waitMs, maxWaitMs: 5_000, begun: true });
const network = (phase: 'connect' | 'response-timeout' | 'connect-timeout' | 'body-timeout' | 'reset') =>
  new Failure('network', {
    phase,
    mayHaveBeenSent: false,
    peer: 'pets.example:443',
    code: 'X',
    detail: 'it did not work',
    timeoutMs: 30_000,
    attempts: 1,
  });

/** A proxy in this process. Time passes while it waits. */
async function onVirtualTime(replies: readonly PlainReply[]) {
  const context = commandContext(withReplies(replies));
  const { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: apiKey } = STAGING_ENV;
  const proxy = await proxyHere(context, { url, apiKey });
  const update = (headers = {}) =>
    ask(proxy.port, '/v1/inventory/7', { method: 'PATCH', headers, body: '{"quantity":9}' });
  return { context, update, ...proxy };
}

describe('what the proxy answers', () => {
  it.each([
    [new Failure('rate-limited', { why: 'window-spent', ...wait(59_001) }), 429, 'rate_limited', '60'],
    [new Failure('rate-limited', { why: 'window-spent', ...wait(60_000) }), 429, 'rate_limited', '60'],
    // A client that keeps to it never comes too early, and never at once.
    [new Failure('rate-limited', { why: 'asking', ...wait(0) }), 429, 'rate_limited', '1'],
    [
      new Failure('rate-limited', { why: 'ledger-lost', ...wait(9_000), says: 'ECONNREFUSED' }),
      504,
      'ledger_lost',
      '9',
    ],
    [new Failure('banned', wait(3_600_000.4)), 403, 'banned', '3601'],
    [new Failure('paused', wait(1)), 503, 'paused', '1'],
    [network('connect'), 502, 'network', '5'],
    [network('reset'), 502, 'network', '5'],
    [network('connect-timeout'), 504, 'network', '5'],
    [network('response-timeout'), 504, 'network', '5'],
    [network('body-timeout'), 504, 'network', '5'],
    [new Failure('contract', { what: 'The response', problem: 'is not HTTP' }), 502, 'contract', undefined],
    [
      new Failure('outcome-unknown', { call: 'PATCH /inventory/7', environment: 'staging', because: network('reset') }),
      502,
      'outcome_unknown',
      undefined,
    ],
    [new Failure('run-locked', { what: 'another process', waitedMs: 5_000 }), 503, 'run_locked', undefined],
    [new Failure('interrupted', { signal: 'SIGTERM', outcome: 'not-sent' }), 503, 'interrupted', '5'],
    [new Failure('bug', { message: 'x' }), 500, 'bug', undefined],
    [new Failure('ledger-refused', { says: 'WRONGPASS disabled.' }), 500, 'ledger_refused', undefined],
  ])('%s: %i %s, Retry-After %s', (failure, status, code, retryAfter) => {
    const answer = answerOfFailure(failure, START, { isSent: true, isWrite: true, timeoutMs: 30_000 });
    expect([answer.status, answer.headers['retry-after']]).toEqual([status, retryAfter]);
    expect(bodyOf(answer)).toEqual({ code, message: expect.stringMatching(/./) as string, status });
  });

  it.each([
    [network('connect'), { isSent: false, isWrite: true }, 'refused', '5'],
    [network('connect-timeout'), { isSent: false, isWrite: true }, 'refused', '5'],
    // Of the list before a conditional update.
    [
      new Failure('forbidden', { environment: 'staging', serviceError: { status: 403 }, retryAt: 0 }),
      { isSent: false, isWrite: true },
      '1',
    ],
    [network('connect'), { isSent: false, isWrite: false }, '1'],
    // Redis refuses the settings.
    [new Failure('ledger-refused', { says: 'WRONGPASS disabled.' }), { isSent: false, isWrite: true }, 'refused'],
    [new Failure('ledger-refused', { says: 'WRONGPASS disabled.' }), { isSent: true, isWrite: true }, '1'],
  ])('%s, of %j: %s, Retry-After %s', (failure, request, gateway, retryAfter?: string) => {
    const { headers } = answerOfFailure(failure, START, { ...request, timeoutMs: 30_000 });
    expect([headers['petstore-gateway'], headers['retry-after']]).toEqual([gateway, retryAfter]);
  });

  it.each([
    ['whose list then cannot be read', json('no list'), 502],
    ['whose pet someone else has set meanwhile', json([item(7, 20)]), 412],
  ])('an update that was withdrawn, and %s, was not sent', async (_what, list, expected) => {
    const proxy = await onVirtualTime([json([item(7, 10)]), tooMany(30), list]);
    const { status, headers } = await proxy.update({ 'if-match': '"10"' });
    expect([status, headers['petstore-gateway']]).toEqual([expected, 'refused']);
  });

  it('a 204 has no length, even if the service names one', async () => {
    const proxy = await onVirtualTime([{ status: 204, headers: { 'Content-Length': '5' } }]);
    const { status, headers } = await ask(proxy.port, '/v1/things/1', { method: 'DELETE' });
    expect([status, headers['content-length']]).toEqual([204, undefined]);
  });

  it('a refused request whose body does not come is answered', async () => {
    const proxy = await onVirtualTime([]);
    const head = 'POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n';
    expect(await sendRaw(proxy.port, head)).toMatch(/^HTTP\/1.1 404 /);
  });

  it('an update that waits for another process that changes the pet has waited', async () => {
    const proxy = await onVirtualTime([]);
    const { context, session } = proxy;
    const { status } = await petLocksOf(context, session)(7n, () => proxy.update());
    expect(status).toBe(503);
    expect(proxy.requests[0]?.waitedMs).toBeGreaterThanOrEqual(context.globals.maxWait);
  });
});

describe('an answer that breaks off', () => {
  /** Sends a read through a proxy whose service sends this many bytes of a body, and then fails. */
  async function readBroken(phase: HttpFailurePhase, bytes: number, version = 'HTTP/1.1') {
    async function* body(): AsyncGenerator<Uint8Array> {
      await Promise.resolve();
      for (let left = bytes; left > 0; left -= 50_000) yield Buffer.alloc(Math.min(left, 50_000), 'x');
      throw new HttpFailure({ phase, mayHaveBeenSent: true, peer: 'pets.example:443', code: 'X', detail: 'zstd' });
    }
    const http = () => ({ ...httpReply(json(undefined), START), body: body() });
    const context = commandContext(createTestContext({ env: STAGING_ENV, http }));
    const { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: apiKey } = STAGING_ENV;
    const proxy = await proxyHere(context, { url, apiKey });
    const head = `${version}\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const heard = await sendRaw(proxy.port, `GET /v1/inventory ${head}`);
    await proxy.answered(1);
    const metrics = await sendRaw(proxy.port, `GET /__petstore/metrics ${head}`);
    return { heard, metrics, request: proxy.requests[0] };
  }

  it.each<[HttpFailurePhase, number, number, string, string, string?]>([
    ['body-cut', 0, 502, 'contract', 'the response broke off before its end'],
    ['body-timeout', 0, 504, 'network', 'The answer from pets.example:443 was not complete within 30 s'],
    ['coding', 0, 502, 'contract', 'the response uses the content coding zstd, which petstore does not support'],
    ['body-cut', 1, 502, 'contract', 'the response broke off before its end'],
    ['body-timeout', 1, 504, 'network', 'The answer from pets.example:443 was not complete within 30 s'],
    // A client of HTTP/1.0 could not tell that a long body is cut.
    ['body-cut', 200_000, 502, 'contract', 'the response broke off before its end', 'HTTP/1.0'],
  ])('%s after %i bytes is answered with %i', async (phase, bytes, status, error, message, version) => {
    const { heard, metrics, request } = await readBroken(phase, bytes, version);
    expect(heard).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(heard).toContain(message);
    expect(request).toMatchObject({ status, error });
    expect(metrics).toContain(`requests_total{method="GET",status="${status}"} 1\n`);
  });

  it.each([
    ['body-cut', 502, 'contract'],
    ['body-timeout', 504, 'network'],
  ] as const)(
    '%s after its beginning was passed on is cut, and logged and counted as %i',
    async (phase, status, error) => {
      const { heard, metrics, request } = await readBroken(phase, 200_000);
      expect(heard).toMatch(/^HTTP\/1.1 200 [^]*xxx/);
      expect(heard).not.toMatch(/\r\n0\r\n\r\n$/);
      expect(request).toMatchObject({ status, error });
      expect(metrics).toContain(`requests_total{method="GET",status="${status}"} 1\n`);
      expect(metrics).not.toContain('status="200"');
    },
  );
});
