/** The failure for each outcome of an attempt, and the retry that it allows. */
import { describe, expect, it } from 'vitest';
import { type Asked, judgeFailure, judgeStatus, type RetryRule } from '../../src/client/classify.ts';
import type { HttpFailureFacts, HttpFailurePhase } from '../../src/ports.ts';
import type { Failure, ServiceError } from '../../src/errors.ts';

type Kind = Failure['kind'];

const READ: Asked = {
  service: {
    baseUrl: new URL('https://pets.example/v1'),
    environment: 'staging',
    keySource: 'PETSTORE_API_KEY',
    maxWaitMs: 75_000,
    timeoutMs: 30_000,
  },
  call: { method: 'GET', path: '/inventory' },
  attempts: 2,
};
const WRITE: Asked = { ...READ, call: { method: 'PATCH', path: '/inventory/7', petId: 7n } };

describe('an exchange that broke', () => {
  interface Row {
    readonly kind: Kind;
    /** Where no byte of the request was sent: the same for reads and writes. */
    readonly unsent: RetryRule;
    /** Where the request may have been sent. */
    readonly read: RetryRule;
    readonly write: RetryRule;
  }
  // A write that may have been sent is never repeated before the list has been read.
  const ROWS: Readonly<Record<HttpFailurePhase, Row>> = {
    dns: { kind: 'network', unsent: 'unsent', read: 'never', write: 'look' },
    connect: { kind: 'network', unsent: 'unsent', read: 'never', write: 'look' },
    'connect-timeout': { kind: 'network', unsent: 'unsent', read: 'never', write: 'look' },
    tls: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
    proxy: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
    withdrawn: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
    reset: { kind: 'network', unsent: 'unsent', read: 'read', write: 'look' },
    'response-timeout': { kind: 'network', unsent: 'never', read: 'read', write: 'look' },
    'header-overflow': { kind: 'contract', unsent: 'never', read: 'never', write: 'look' },
    protocol: { kind: 'contract', unsent: 'never', read: 'never', write: 'look' },
    'body-cut': { kind: 'contract', unsent: 'never', read: 'read', write: 'look' },
    coding: { kind: 'contract', unsent: 'never', read: 'never', write: 'look' },
    'body-timeout': { kind: 'network', unsent: 'never', read: 'read', write: 'look' },
    aborted: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
  };
  const cases = Object.entries(ROWS) as [HttpFailurePhase, Row][];

  const facts = (phase: HttpFailurePhase, mayHaveBeenSent: boolean): HttpFailureFacts => ({
    phase,
    mayHaveBeenSent,
    peer: 'pets.example:443',
    code: 'X',
    detail: 'zstd',
  });

  it.each(cases)('%s: %j', (phase, { kind, unsent, read, write }) => {
    const judged = [
      judgeFailure(facts(phase, false), READ),
      judgeFailure(facts(phase, false), WRITE),
      judgeFailure(facts(phase, true), READ),
      judgeFailure(facts(phase, true), WRITE),
    ];
    expect(judged.map(({ failure, repeat }) => [failure.kind, repeat])).toEqual([
      [kind, unsent],
      [kind, unsent],
      [kind, read],
      [kind, write],
    ]);
  });

  it('tells of a network failure how long and how often was tried', () => {
    const reset = facts('reset', true);
    expect(judgeFailure(reset, READ).failure.details).toEqual({ ...reset, timeoutMs: 30_000, attempts: 2 });
  });

  it.each([
    ['header-overflow', 'has more headers than an HTTP client can accept'],
    ['protocol', 'is not HTTP'],
    ['coding', 'uses the content coding zstd, which petstore does not support'],
    ['body-cut', 'broke off before its end'],
  ] as const)('%s: the response %s', (phase, problem) => {
    expect(judgeFailure(facts(phase, true), READ).failure.details).toEqual({ what: 'The response', problem });
  });
});

describe('a status', () => {
  const NOW = 1_000_000;
  const judge = (status: number, asked: Asked, more: { location?: string; retryAfterMs?: number } = {}) =>
    judgeStatus({ status }, asked, { location: more.location, retryAfterMs: more.retryAfterMs, now: NOW });

  type Verdict = readonly [kind: Kind, repeat: RetryRule];
  const unexpected: Verdict = ['unexpected-status', 'never'];
  const failed: Verdict = ['service-failed', 'never'];
  const passing: Verdict = ['service-failed', 'read'];
  const mayBeApplied: Verdict = ['service-failed', 'look'];
  const same = (verdict: Verdict): readonly [read: Verdict, write: Verdict] => [verdict, verdict];
  const ROWS: readonly (readonly [status: number, read: Verdict, write: Verdict])[] = [
    // Not the promised 200: a write may have been applied.
    [201, unexpected, ['unexpected-status', 'look']],
    [202, unexpected, ['unexpected-status', 'look']],
    [204, unexpected, ['unexpected-status', 'look']],
    [206, unexpected, ['unexpected-status', 'look']],
    [299, unexpected, ['unexpected-status', 'look']],
    // The server that redirects may have applied a write; to send it again would be redirected again.
    [300, ['redirected', 'never'], ['redirected', 'look-only']],
    [301, ['redirected', 'never'], ['redirected', 'look-only']],
    [302, ['redirected', 'never'], ['redirected', 'look-only']],
    [303, ['redirected', 'never'], ['redirected', 'look-only']],
    [304, ['redirected', 'never'], ['redirected', 'look-only']],
    [307, ['redirected', 'never'], ['redirected', 'look-only']],
    [308, ['redirected', 'never'], ['redirected', 'look-only']],
    [399, ['redirected', 'never'], ['redirected', 'look-only']],
    // Refused: certain not to have been applied.
    [400, unexpected, ['rejected', 'never']],
    [401, ...same(['unauthorized', 'never'])],
    [402, ...same(unexpected)],
    [403, ...same(['forbidden', 'never'])],
    [404, ['not-the-service', 'never'], ['pet-not-found', 'never']],
    [405, ...same(unexpected)],
    [406, ...same(unexpected)],
    [407, ...same(unexpected)],
    [409, ...same(unexpected)],
    [410, ...same(unexpected)],
    [412, ...same(unexpected)],
    [413, ...same(unexpected)],
    [415, ...same(unexpected)],
    [421, ...same(unexpected)],
    [422, ...same(unexpected)],
    [425, ...same(unexpected)],
    [428, ...same(unexpected)],
    [431, ...same(unexpected)],
    [451, ...same(unexpected)],
    [499, ...same(unexpected)],
    // The gate decides when to try again.
    [429, ...same(['unexpected-status', 'rate'])],
    // A write may have been applied before the server failed.
    [408, failed, mayBeApplied],
    [500, passing, mayBeApplied],
    [501, failed, mayBeApplied],
    [502, passing, mayBeApplied],
    [503, passing, mayBeApplied],
    [504, passing, mayBeApplied],
    [505, failed, mayBeApplied],
    [507, failed, mayBeApplied],
    [511, failed, mayBeApplied],
    [599, failed, mayBeApplied],
  ];

  it.each(ROWS)('%i: a read is %j, a write is %j', (status, read, write) => {
    const judged = [judge(status, READ), judge(status, WRITE)];
    expect(judged.map(({ failure, repeat }) => [failure.kind, repeat])).toEqual([read, write]);
  });

  it.each<[status: number, retryAfterMs: number | undefined, verdict: Verdict, exit?: string]>([
    [400, undefined, ['gateway-refused', 'never']],
    [401, undefined, ['unauthorized', 'never']],
    [403, undefined, ['gateway-refused', 'never']],
    [403, 60_000, ['banned', 'never']],
    [405, undefined, ['gateway-refused', 'never']],
    [413, undefined, ['gateway-refused', 'never']],
    [429, 60_000, ['unexpected-status', 'rate']],
    [431, undefined, ['gateway-refused', 'never']],
    [500, undefined, ['gateway-refused', 'never']],
    [501, undefined, ['gateway-refused', 'never']],
    // Nothing was sent: a write, too, may be sent again.
    [503, 5_000, ['paused', 'unsent']],
  ])('%i of a gateway that refuses, with a wait of %s ms: %j', (status, retryAfterMs, verdict) => {
    const more = { location: undefined, retryAfterMs, now: NOW, gateway: 'refused' } as const;
    for (const asked of [READ, WRITE]) {
      const { failure, repeat } = judgeStatus({ status }, asked, more);
      expect([failure.kind, repeat]).toEqual(verdict);
    }
  });

  const serviceError: ServiceError = { status: 400, code: 'no', message: 'No.' };
  const facts = (status: number, asked: Asked) =>
    judgeStatus({ ...serviceError, status }, asked, { location: undefined, retryAfterMs: undefined, now: NOW }).failure
      .details;

  it.each<[status: number, asked: Asked, facts: object]>([
    [400, WRITE, { serviceError }],
    [
      401,
      READ,
      { serviceError: { ...serviceError, status: 401 }, environment: 'staging', keySource: 'PETSTORE_API_KEY' },
    ],
    [403, READ, { serviceError: { ...serviceError, status: 403 }, environment: 'staging' }],
    [404, READ, { serviceError: { ...serviceError, status: 404 }, url: 'https://pets.example/v1/inventory' }],
    [404, WRITE, { serviceError: { ...serviceError, status: 404 }, petId: 7n, environment: 'staging' }],
    [418, READ, { serviceError: { ...serviceError, status: 418 }, isRefusal: false }],
    [418, WRITE, { serviceError: { ...serviceError, status: 418 }, isRefusal: true }],
    [202, WRITE, { serviceError: { ...serviceError, status: 202 }, isRefusal: false }],
    [500, READ, { serviceError: { ...serviceError, status: 500 }, attempts: 2 }],
  ])('%i keeps the message of the service, and what it is about', (status, asked, expected) => {
    expect(facts(status, asked)).toEqual(expected);
  });

  it.each([
    ['https://other.example/v1/inventory', 'https://other.example'],
    ['//other.example:8443/', 'https://other.example:8443'],
    ['/login', 'https://pets.example'],
    ['http://', undefined],
    [undefined, undefined],
  ])('a redirect to %j leads to the origin %j', (location, origin) => {
    const { failure } = judge(302, READ, location === undefined ? {} : { location });
    expect(failure.details).toEqual({ serviceError: { status: 302 }, origin });
  });

  it.each([
    [503, READ],
    [503, WRITE],
    [500, READ],
  ])('%i with a Retry-After: not before then', (status, asked) => {
    const judged = judge(status, asked, { retryAfterMs: 7_000 });
    expect([judged.retryAfterMs, judged.failure.details]).toEqual([
      7_000,
      { serviceError: { status }, attempts: 2, retryAt: NOW + 7_000 },
    ]);
  });

  it('a Retry-After counts for nothing where the service did not fail', () => {
    expect(judge(403, READ, { retryAfterMs: 7_000 })).not.toHaveProperty('retryAfterMs');
  });
});
