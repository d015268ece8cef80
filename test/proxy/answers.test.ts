import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { type Answer, answerOfFailure } from '../../src/proxy/answers.ts';
import { START } from '../support/virtual-clock.ts';

const bodyOf = ({ body }: Answer): unknown => JSON.parse(body);
const wait = (waitMs: number) => ({ retryAt: START + waitMs, waitMs, maxWaitMs: 5_000, refusals: 1 });
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

describe('what the proxy answers', () => {
  it.each([
    [new Failure('rate-limited', { why: 'window-spent', ...wait(59_001) }), 429, 'rate_limited', '60'],
    [new Failure('rate-limited', { why: 'window-spent', ...wait(60_000) }), 429, 'rate_limited', '60'],
    // A client that keeps to it never comes too early, and never at once.
    [new Failure('rate-limited', { why: 'asking', ...wait(0) }), 429, 'rate_limited', '1'],
    [new Failure('banned', wait(3_600_000.4)), 403, 'banned', '3601'],
    [new Failure('paused', wait(1)), 503, 'paused', '1'],
    [network('connect'), 502, 'network', undefined],
    [network('reset'), 502, 'network', undefined],
    [network('connect-timeout'), 504, 'network', undefined],
    [network('response-timeout'), 504, 'network', undefined],
    [network('body-timeout'), 504, 'network', undefined],
    [new Failure('contract', { what: 'The response', problem: 'is not HTTP' }), 502, 'contract', undefined],
    [
      new Failure('outcome-unknown', { call: 'PATCH /inventory/7', environment: 'staging', because: network('reset') }),
      502,
      'outcome_unknown',
      undefined,
    ],
    [new Failure('run-locked', { what: 'another process', waitedMs: 5_000 }), 503, 'run_locked', '5'],
    [new Failure('interrupted', { signal: 'SIGTERM', outcome: 'not-sent' }), 503, 'interrupted', '5'],
    [new Failure('bug', { message: 'x' }), 500, 'bug', undefined],
  ])('%s: %i %s, Retry-After %s', (failure, status, code, retryAfter) => {
    const answer = answerOfFailure(failure, START, { isSent: true, isWrite: true });
    expect([answer.status, answer.headers['retry-after']]).toEqual([status, retryAfter]);
    expect(bodyOf(answer)).toEqual({ code, message: expect.stringMatching(/./) as string, status });
  });

  it.each([
    [network('connect'), { isSent: false, isWrite: true }, 'refused', '5'],
    [network('connect-timeout'), { isSent: false, isWrite: true }, 'refused', '5'],
    // Of the list before a conditional update.
    [
      new Failure('forbidden', { environment: 'staging', serviceError: { status: 403 } }),
      { isSent: false, isWrite: true },
      '1',
    ],
    [network('connect'), { isSent: false, isWrite: false }, '1'],
  ])('%s, of %j: %s, Retry-After %s', (failure, request, gateway, retryAfter?: string) => {
    const { headers } = answerOfFailure(failure, START, request);
    expect([headers['petstore-gateway'], headers['retry-after']]).toEqual([gateway, retryAfter]);
  });

  it.each([
    [false, 'refused'],
    [true, '1'],
  ])('where Redis refuses the settings, and the request was sent: %s, says %s', (isSent, gateway) => {
    const answer = answerOfFailure(new Failure('ledger-refused', { says: 'WRONGPASS disabled.' }), START, {
      isSent,
      isWrite: true,
    });
    expect([answer.status, answer.headers['petstore-gateway']]).toEqual([500, gateway]);
    expect(answer.headers).not.toHaveProperty('retry-after');
    expect(bodyOf(answer)).toMatchObject({
      message: 'The Redis server of PETSTORE_LEDGER cannot be used: WRONGPASS disabled.',
    });
  });
});
