/** What every kind of failure means for the exit code, for a retry, for a single write and for a row of a bulk run. */
import { expect, it } from 'vitest';
import { Failure, type FailureDetails, type Kind } from '../../src/errors.ts';
import { formatErrorJson } from '../../src/cli/error-output.ts';
import { describeFailure, rowOutcome } from '../../src/report/failures.ts';

const serviceError = { status: 500, code: 'X', message: 'x' };
const waiting = { retryAt: 60_000, waitMs: 60_000, maxWaitMs: 1_000 };
const write = { petId: 7n, quantity: 1n, environment: 'staging' };
const network = { code: 'ECONNRESET', peer: 'pets.example:443', detail: '', timeoutMs: 1_000, attempts: 1 };
const lost = { ...network, phase: 'reset', mayHaveBeenSent: true } as const;
const because = new Failure('network', lost);

type Row = readonly [exit: number, retryable: boolean, outcome: string | undefined, row: string, continues: string];
type Case<K extends Kind> = readonly [details: FailureDetails[K], expected: Row];

const stops = (exit: number, retryable = false): Row => [exit, retryable, undefined, 'planned', 'never'];

const CASES: { readonly [K in Kind]: readonly Case<K>[] } = {
  usage: [[{ problem: 'p' }, stops(2)]],
  'invalid-value': [[{ name: 'n', value: 'v', expected: 'e' }, stops(2)]],
  'production-not-confirmed': [[{ environment: 'production', line: 'c' }, stops(2)]],
  cancelled: [[{}, stops(2)]],
  'no-terminal': [[{ what: 'w', instead: 'i' }, stops(2)]],
  'config-invalid': [[{ place: 'p', problem: 'p', hint: 'h' }, stops(3)]],
  'ledger-refused': [[{ says: 's' }, stops(3)]],
  'config-unset': [[{ key: 'k', path: 'p', command: 'c' }, stops(3)]],
  'no-home': [[{ what: 'w', variable: 'v', problem: 'p' }, stops(3)]],
  file: [[{ operation: 'read', path: 'p', code: 'ENOENT' }, stops(3)]],
  state: [
    [{ path: 'p', problem: 'held' }, stops(3, true)],
    [{ path: 'p', problem: 'full' }, stops(3)],
  ],
  port: [[{ host: 'h', port: 1, code: 'EADDRINUSE' }, stops(3)]],
  'base-url': [[{ shown: 's', problem: 'p', hint: 'h' }, stops(3)]],
  'no-profile': [[{ profile: 'berlin' }, stops(3)]],
  'no-base-url': [[{ environment: 'staging' }, stops(3)]],
  'not-the-service': [[{ url: 'u', serviceError }, stops(3)]],
  output: [[{ code: 'ENOSPC' }, stops(3)]],
  'key-command': [
    [{ command: 'c', problem: 'p' }, stops(4)],
    [{ command: 'c', problem: 'p', isLocal: true }, stops(3)],
  ],
  'alert-command': [[{ option: 'o', command: 'c', problem: 'p' }, stops(3)]],
  editor: [[{ command: 'c', problem: 'p' }, stops(3)]],
  'no-key': [[{ environment: 'staging' }, stops(4)]],
  'key-unreadable': [[{ path: 'p', code: 'EACCES' }, stops(4)]],
  'key-malformed': [[{ source: 's', problem: 'p' }, stops(4)]],
  unauthorized: [[{ serviceError, environment: 'staging', keySource: 'k', gateway: undefined }, stops(4)]],
  'pet-not-found': [[{ petId: 7n, environment: 'staging' }, [5, false, 'not-applied', 'failed', 'always']]],
  'rate-limited': [[{ why: 'rate-limited', ...waiting }, stops(6, true)]],
  banned: [[waiting, stops(12)]],
  paused: [[waiting, stops(8, true)]],
  network: [
    [lost, [7, true, undefined, 'unknown', 'unless-often']],
    [{ ...lost, mayHaveBeenSent: false }, [7, true, 'not-sent', 'planned', 'unless-often']],
    [{ ...lost, phase: 'tls', mayHaveBeenSent: false }, [7, false, 'not-sent', 'planned', 'unless-often']],
  ],
  deadline: [[{ deadlineMs: 1 }, stops(7, true)]],
  'service-failed': [[{ serviceError, attempts: 3 }, [8, true, undefined, 'unknown', 'unless-often']]],
  contract: [[{ what: 'w', problem: 'p' }, [8, false, undefined, 'unknown', 'unless-often']]],
  redirected: [[{ serviceError, target: undefined }, stops(8)]],
  'unexpected-status': [
    [{ serviceError }, [8, false, undefined, 'unknown', 'unless-often']],
    [{ serviceError, isRefusal: true }, [8, false, 'not-applied', 'failed', 'unless-often']],
  ],
  'outcome-unknown': [
    [{ ...write, because, looked: true }, [9, false, 'unknown', 'unknown', 'unless-often']],
    [{ ...write, because, looked: true, found: 9n }, [9, false, 'unknown', 'conflict', 'always']],
    [{ call: 'POST /p', environment: 'staging', because }, [9, false, 'unknown', 'unknown', 'unless-often']],
  ],
  unrecorded: [
    [{ ...write, because: new Failure('output', { code: 'EIO' }) }, [3, false, 'applied', 'applied', 'never']],
    [{ ...write, because }, [3, false, 'applied', 'applied', 'never']],
  ],
  'not-found': [[{ path: '/p', serviceError }, [5, false, undefined, 'failed', 'always']]],
  'stored-differently': [
    [{ ...write, stored: { petId: 7n, quantity: 2n } }, [9, false, undefined, 'unknown', 'unless-often']],
  ],
  rejected: [[{ serviceError }, [10, false, 'not-applied', 'failed', 'always']]],
  forbidden: [[{ serviceError, environment: 'staging', retryAt: 0 }, stops(12)]],
  'gateway-refused': [[{ serviceError }, stops(12)]],
  'quota-insufficient': [
    [{ need: 2, left: 1, limit: 60, resetAt: 1, begun: false }, stops(6, true)],
    [{ need: 61, left: 1, limit: 60, resetAt: 1, begun: false }, stops(6)],
  ],
  'checks-failed': [[{ failed: ['a'], of: 1 }, stops(13)]],
  'doctor-failed': [[{ failed: ['a'], of: 1 }, stops(13)]],
  'wait-timeout': [[{ petId: 7n, ms: 1, found: 'f' }, stops(13)]],
  'invalid-rows': [[{ source: 's', problems: [] }, stops(2)]],
  'rows-after-apply': [[{ source: 's', problems: [] }, stops(11)]],
  'run-too-long': [[{ requests: 1, ms: 1, maxWaitMs: 1 }, stops(6, true)]],
  'file-unusable': [[{ path: 'p', line: 2, problem: 'p' }, stops(3)]],
  'run-locked': [[{ what: 'w', waitedMs: 1 }, [6, true, 'not-sent', 'planned', 'never']]],
  'cannot-undo': [[{ petId: 7n, reason: 'r', direction: 'undo' }, [11, false, 'not-applied', 'planned', 'never']]],
  'cannot-resume': [[{ problem: 'p', hint: 'h' }, stops(2)]],
  'run-incomplete': [[{ failed: 1, conflicts: 1, report: undefined }, stops(11)]],
  'run-unknown': [[{ unknown: 1, resume: 'r', because: undefined }, [9, false, 'unknown', 'planned', 'never']]],
  'precondition-failed': [[{ petId: 7n, expected: 1n, found: 9n }, [13, false, 'not-applied', 'conflict', 'always']]],
  'below-zero': [[{ petId: 7n, found: 1n, delta: -2n }, [13, false, 'not-applied', 'planned', 'never']]],
  'would-change': [[{ changes: 1, obstacles: 0 }, stops(13)]],
  'check-failed': [[{ check: '--fail-if-any', matched: 1, isPart: false }, stops(13)]],
  interrupted: [
    [{ signal: 'SIGINT' }, stops(130)],
    [{ signal: 'SIGHUP', outcome: 'applied', write }, [129, false, 'applied', 'applied', 'never']],
    [{ signal: 'SIGHUP', outcome: 'applied', write, resume: 'r' }, [129, false, undefined, 'applied', 'never']],
    [{ signal: 'SIGTERM', outcome: 'unknown', write }, [143, false, 'unknown', 'unknown', 'never']],
    [{ signal: 'SIGTERM', outcome: 'not-sent' }, [143, false, 'not-sent', 'planned', 'never']],
  ],
  bug: [[{ message: 'm' }, stops(1)]],
};

const ALL = Object.entries(CASES).flatMap(([kind, cases]: [string, readonly Case<Kind>[]]) =>
  cases.map(([details, expected]) => ({ kind, failure: new Failure(kind as Kind, details), expected })),
);

const NOT_CONFIRMED = 'not confirmed, so it may or may not have been applied';
const REASONS: { readonly [K in Kind]?: string } = {
  'pet-not-found': 'the service does not have this pet',
  'not-found': 'the service does not have this pet',
  rejected: 'the service refused the value (400: x)',
  'stored-differently': 'the service stored 2',
  'precondition-failed': 'there are 9 now, no longer 1: someone else has changed it',
};

it.each(ALL)('$kind: $expected', ({ kind, failure, expected }) => {
  const { error } = JSON.parse(formatErrorJson(failure, 0, undefined, true)) as {
    error: { kind: string; exitCode: number; retryable: boolean; outcome?: string };
  };
  const { state, continues, reason } = rowOutcome(failure);
  expect([error.kind, error.exitCode, error.retryable, error.outcome, state, continues]).toEqual([kind, ...expected]);
  const otherwise: Partial<Record<typeof state, string>> = {
    conflict: 'not confirmed, and it has 9 now: someone else has changed it',
    failed: 'the service refused it (500, X: x)',
    unknown: NOT_CONFIRMED,
  };
  expect(reason).toBe(state in otherwise ? (REASONS[failure.kind] ?? otherwise[state]) : undefined);
});

it.each([
  // Also of a report of smoke, where changing to another folder does not help.
  ['find', 'Use a folder that exists, then run the command again.'],
  ['read', 'Check the path and its permissions, then run the command again.'],
  ['write', 'Check the path, its permissions and the free space, then run the command again.'],
] as const)('a file that petstore could not %s has a hint of its own', (operation, hint) => {
  const failure = new Failure('file', { operation, path: '/nope.csv', code: 'ENOENT' });
  expect(describeFailure(failure, 0)).toMatchObject({
    message: `Could not ${operation} /nope.csv: it does not exist (ENOENT).`,
    hint,
  });
});

it('a link that cannot be followed is named in words', () => {
  const failure = new Failure('file', { operation: 'read', path: '/loop.csv', code: 'ELOOP' });
  const message = 'Could not read /loop.csv: a link in its path cannot be followed (ELOOP).';
  expect(describeFailure(failure, 0)).toMatchObject({ message });
});

it.each([
  ['EROFS', 'the file system is read-only (EROFS).', /^Check the file, its folder and the disk/],
  ['file is not a database', 'file is not a database.', /^Remove it, .*: rm '\/s\/my locks\/7\.db'$/],
])('a lock that cannot be used (%s) is only to be removed if its content is wrong', (detail, words, hint) => {
  const failure = new Failure('state', { path: '/s/my locks/7.db', problem: 'lock', detail });
  expect(describeFailure(failure, 0)).toMatchObject({
    message: `The lock file /s/my locks/7.db cannot be used: ${words}`,
    hint: expect.stringMatching(hint) as string,
  });
});

it('a write whose lock Redis has lost again does not blame the network', () => {
  const failure = new Failure('network', { ...network, phase: 'withdrawn', mayHaveBeenSent: false, code: 'WITHDRAWN' });
  expect(describeFailure(failure, 0)).toMatchObject({
    message: 'The lock of the pet on the Redis server of PETSTORE_LEDGER was lost; nothing was sent.',
    hint: 'Check the network and run the command again.',
  });
});

it.each([
  [false, 'nothing was sent'],
  [true, 'nothing more was sent'],
])('a connection that is lost before a request (after others: %s): %s', (begun, words) => {
  const failure = new Failure('network', { ...lost, mayHaveBeenSent: false, begun });
  const message = `The connection to pets.example:443 was lost before the answer (ECONNRESET); ${words}.`;
  expect(describeFailure(failure, 0)).toMatchObject({ message });
});

it.each([
  ['127.0.0.1:8080', 'Did you mean http://127.0.0.1:8080/v1?'],
  ['[::1]:8080', 'Did you mean http://[::1]:8080/v1?'],
  ['pets.example:80', 'Check the port of the base URL.'],
])('http is proposed instead of https only where it is allowed: %s', (peer, hint) => {
  const code = 'ERR_SSL_WRONG_VERSION_NUMBER';
  const failure = new Failure('network', { ...lost, phase: 'tls', mayHaveBeenSent: false, code, peer });
  expect(describeFailure(failure, 0).hint).toBe(hint);
});

it('a raw call of unknown outcome says what the service answered', () => {
  const failed = new Failure('service-failed', { serviceError, attempts: 1 });
  const failure = new Failure('outcome-unknown', { call: 'POST /p', environment: 'staging', because: failed });
  expect(JSON.parse(formatErrorJson(failure, 0, undefined, true))).toEqual({
    error: {
      kind: 'outcome-unknown',
      message: expect.stringMatching(
        /^The outcome is unknown: POST \/p may or may not have taken effect in staging\. The service failed \(500, X/,
      ) as string,
      exitCode: 9,
      status: 500,
      code: 'X',
      retryable: false,
      outcome: 'unknown',
      hint: 'Check whether it has taken effect before you run it again.',
    },
  });
});
