/** The failure for each outcome of an attempt, and the retry that it allows. */
import { describe, expect, it } from 'vitest';
import { type Asked, judgeFailure, judgeStatus, type RetryRule } from '../../src/client/classify.ts';
import type { Service } from '../../src/client/service.ts';
import type { HttpFailureFacts, HttpFailurePhase } from '../../src/ports.ts';
import type { Failure } from '../../src/errors.ts';
import { describeFailure } from '../../src/report/failures.ts';

type Kind = Failure['kind'];

const READ: Asked = {
  service: {
    baseUrl: new URL('https://pets.example/v1'),
    environment: 'staging',
    keySource: 'PETSTORE_API_KEY',
    maxWaitMs: 75_000,
    timeoutMs: 30_000,
  } as Service,
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
    dns: { kind: 'network', unsent: 'again', read: 'again', write: 'look' },
    connect: { kind: 'network', unsent: 'again', read: 'again', write: 'look' },
    'connect-timeout': { kind: 'network', unsent: 'again', read: 'again', write: 'look' },
    tls: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
    proxy: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
    withdrawn: { kind: 'network', unsent: 'never', read: 'never', write: 'look' },
    reset: { kind: 'network', unsent: 'again', read: 'again', write: 'look' },
    'response-timeout': { kind: 'network', unsent: 'again', read: 'again', write: 'look' },
    'header-overflow': { kind: 'contract', unsent: 'never', read: 'never', write: 'look' },
    protocol: { kind: 'contract', unsent: 'never', read: 'never', write: 'look' },
    'body-cut': { kind: 'contract', unsent: 'again', read: 'again', write: 'look' },
    coding: { kind: 'contract', unsent: 'never', read: 'never', write: 'look' },
    'body-timeout': { kind: 'network', unsent: 'again', read: 'again', write: 'look' },
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

  it.each([
    ['502', 'again'],
    ['504', 'again'],
    ['407', 'never'],
  ])('a proxy that answers CONNECT with %s: %s', (code, repeat) => {
    expect(judgeFailure({ ...facts('proxy', false), code }, WRITE).repeat).toBe(repeat);
  });

  it.each(['connect', 'proxy'] as const)(
    '%s: a process with too many open files is no trouble of the network',
    (phase) => {
      expect(judgeFailure({ ...facts(phase, false), code: 'EMFILE' }, WRITE)).toMatchObject({
        repeat: 'never',
        failure: { kind: 'file', details: { path: 'a connection to pets.example:443' } },
      });
    },
  );

  it.each([
    ['protocol', 'is not HTTP'],
    ['body-cut', 'broke off before its end'],
  ] as const)('%s: the response %s', (phase, problem) => {
    expect(judgeFailure(facts(phase, true), READ).failure.details).toEqual({ what: 'The response', problem });
  });
});

describe('a status', () => {
  const NOW = 1_000_000;
  const judge = (
    status: number,
    asked: Asked,
    headers: Readonly<Record<string, string | undefined>> = {},
    code?: string,
  ) => judgeStatus({ status, ...(code !== undefined && { code }) }, asked, headersOf(headers), NOW);
  const headersOf = (headers: Readonly<Record<string, string | undefined>>) =>
    new Map(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])));

  type Verdict = readonly [kind: Kind, repeat: RetryRule];
  const unexpected: Verdict = ['unexpected-status', 'never'];
  const mayBeApplied: Verdict = ['service-failed', 'look'];
  const same = (verdict: Verdict): readonly [read: Verdict, write: Verdict] => [verdict, verdict];
  const ROWS: readonly (readonly [statuses: readonly number[], read: Verdict, write: Verdict])[] = [
    // Not the promised 200: a write may have been applied.
    [[201, 202, 204, 206, 299], unexpected, ['unexpected-status', 'look']],
    // The server that redirects may have applied a write; to send it again would be redirected again.
    [
      [300, 301, 302, 303, 304, 307, 308, 399],
      ['redirected', 'never'],
      ['redirected', 'look-only'],
    ],
    // Refused: certain not to have been applied.
    [[400], unexpected, ['rejected', 'never']],
    [[401], ...same(['unauthorized', 'never'])],
    [[403], ...same(['forbidden', 'never'])],
    [[404], ['not-the-service', 'never'], ['pet-not-found', 'never']],
    [[402, 405, 406, 407, 409, 410, 412, 413, 415, 421, 422, 425, 428, 431, 451, 499], ...same(unexpected)],
    // The gate decides when to try again.
    [[429], ...same(['unexpected-status', 'rate'])],
    // A write may have been applied before the server failed.
    [[408, 500, 502, 503, 504, 507, 520, 522, 599], ['service-failed', 'again'], mayBeApplied],
    [[501, 505, 508, 511], ['service-failed', 'never'], mayBeApplied],
  ];

  it.each(ROWS)('%j: a read is %j, a write is %j', (statuses, read, write) => {
    for (const status of statuses) {
      const judged = [judge(status, READ), judge(status, WRITE)];
      expect(judged.map(({ failure, repeat }) => [status, failure.kind, repeat])).toEqual([
        [status, ...read],
        [status, ...write],
      ]);
    }
  });

  const REFUSED = { 'petstore-gateway': 'refused' };

  it.each<[statuses: readonly number[], retryAfter: string | undefined, verdict: Verdict]>([
    [[400, 403, 405, 413, 431, 500, 501], undefined, ['gateway-refused', 'never']],
    [[401], undefined, ['unauthorized', 'never']],
    [[403], '59', ['banned', 'never']],
    [[429], '59', ['unexpected-status', 'rate']],
    // Nothing was sent: a write, too, may be sent again.
    [[502, 503, 504], '4', ['paused', 'again']],
  ])('%j of a gateway that refuses, with a wait of %s s: %j', (statuses, retryAfter, verdict) => {
    for (const status of statuses) {
      for (const asked of [READ, WRITE]) {
        const { failure, repeat } = judge(status, asked, { ...REFUSED, 'retry-after': retryAfter });
        expect([status, failure.kind, repeat]).toEqual([status, ...verdict]);
      }
    }
  });

  it.each([
    // It has already waited.
    [503, 'run_locked', undefined, 'run-locked', 'never', 'at the gateway is still running; nothing'],
    [504, 'ledger_lost', '8', 'rate-limited', 'never', 'Redis server of the gateway'],
    [503, 'paused', '8', 'paused', 'again', 'The service is unavailable (503) until'],
    [502, 'network', '8', 'paused', 'again', 'The gateway did not pass this on (502, network).'],
  ])('a gateway that says %i %s (%s s): %s, %s, %s', (status, code, retryAfter, kind, rule, says) => {
    const { failure, repeat } = judge(status, WRITE, { ...REFUSED, 'retry-after': retryAfter }, code);
    expect([failure.kind, repeat]).toEqual([kind, rule]);
    expect(describeFailure(failure, NOW).message).toContain(says);
  });

  it.each([
    ['https://other.example/v1/inventory', 'https://other.example'],
    ['//other.example:8443/', 'https://other.example:8443'],
    ['/login?next=x', 'https://pets.example/login'],
    ['http://', undefined],
    ['javascript:alert(1)', undefined],
    [undefined, undefined],
  ])('a redirect to %j leads to %j', (location, target) => {
    const { failure } = judge(302, READ, { location });
    expect(failure.details).toEqual({ serviceError: { status: 302 }, target });
  });

  it.each([
    [503, READ],
    [503, WRITE],
    [500, READ],
  ])('%i with a Retry-After: not before then', (status, asked) => {
    // A second more: it may have been rounded down.
    const judged = judge(status, asked, { 'retry-after': '6' });
    expect([judged.retryAfterMs, judged.failure.details]).toEqual([
      7_000,
      { serviceError: { status }, attempts: 2, retryAt: NOW + 7_000 },
    ]);
  });

  it('503 with a spent window: not before its end, as the key is blocked', () => {
    const { failure } = judge(503, READ, { ratelimit: '"a";r=0;t=500' });
    expect(failure.details).toMatchObject({ retryAt: NOW + 501_000 });
    expect(judge(500, READ, { ratelimit: '"a";r=0;t=500' }).failure.details).not.toHaveProperty('retryAt');
  });

  it('a Retry-After counts for nothing where the service did not fail', () => {
    expect(judge(403, READ, { 'retry-after': '6' })).not.toHaveProperty('retryAfterMs');
  });
});
