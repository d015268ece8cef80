/** Failures of bulk runs, raw calls and waits in words; a part of report.ts's table. */
import type { FailureDetails, Kind } from '../errors.ts';
import { count, problemLines, said, type Wording } from './messages-service.ts';
import { clockTime, duration } from '../view/progress.ts';

type BulkKind = Extract<
  Kind,
  | 'allowance-short'
  | 'checks-failed'
  | 'unwell'
  | 'editor'
  | 'call-unknown'
  | 'path-not-found'
  | 'waited-in-vain'
  | 'bad-rows'
  | 'run-too-long'
  | 'run-held'
  | 'cannot-resume'
  | 'run-incomplete'
  | 'run-unknown'
  | 'would-change'
  | 'check-failed'
>;

export const BULK_MESSAGES = {
  'call-unknown': ({ method, path, environment }) => ({
    exit: 9,
    sentence: `It is not known whether ${method} ${path} took effect in ${environment}.`,
    hint: 'Look before you run it again.',
  }),
  'path-not-found': ({ path, said: they }) => ({
    exit: 5,
    sentence: `There is no ${path} (404${said(they)}).`,
    hint: 'Check the path; petstore status shows the base URL that it is below.',
  }),
  'allowance-short': ({ need, left, limit, resetAt, begun }, now) => ({
    exit: 6,
    sentence:
      `The checks need ${need} requests, and ${left} of ${limit} are left of the key's allowance until ` +
      `${clockTime(resetAt, now)}; nothing${begun ? ' more' : ''} was sent.`,
    hint: need > limit ? 'Run fewer checks: --only or --skip.' : 'Run the command again then, or fewer checks: --only.',
    retryable: need <= limit,
    ...(need <= limit && { retryAt: resetAt }),
  }),
  'checks-failed': ({ failed, of }) => ({
    exit: 13,
    sentence: `${failed.length} of ${count(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Tell the owners of the service; petstore smoke --list shows what each check rests on.',
  }),
  unwell: ({ failed, of }) => ({
    exit: 13,
    sentence: `${failed.length} of ${count(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Each says what mends it, above; start with the first.',
  }),
  'waited-in-vain': ({ petId, ms, found }) => ({
    exit: 13,
    sentence: `Pet ${petId} did not come to that within ${duration(ms)}: it ${found}.`,
    hint: 'Wait longer with --for.',
  }),
  editor: ({ command, problem }) => ({
    exit: 3,
    sentence: `The editor ${command} ${problem}; nothing was sent.`,
    hint: 'Say which editor to use: EDITOR=nano petstore inventory edit',
  }),
  'bad-rows': ({ source, problems, hint }) => ({
    exit: 2,
    sentence: `${count(problems.length, 'row')} of ${source} cannot be used; nothing was sent.`,
    details: problemLines(problems),
    hint: hint ?? 'Mend the file and run the command again.',
  }),
  'run-too-long': ({ requests, ms, maxWaitMs }, now) => ({
    exit: 6,
    sentence: `${count(requests, 'request')} take about ${duration(ms)} with this key, longer than the ${duration(maxWaitMs)} allowed; nothing was sent.`,
    hint: `Add --wait: it would be done at about ${clockTime(now + ms, now)}, and may be interrupted and resumed.`,
    retryable: true,
  }),
  'run-held': ({ path }) => ({
    exit: 3,
    sentence: `Another petstore is at work with the journal ${path}; nothing was sent.`,
    hint: 'Let it finish, or end it; then run the command again.',
    retryable: true,
  }),
  'cannot-resume': ({ problem, hint }) => ({ exit: 2, sentence: `${problem}; nothing was sent.`, hint }),
  'run-incomplete': ({ failed, conflicts, report }) => ({
    exit: 11,
    sentence: `Not all of it is done: ${failed} failed, ${count(conflicts, 'conflict')}.`,
    hint: report === undefined ? 'Look at the rows named above.' : `The report names them: ${report}`,
  }),
  'run-unknown': ({ unknown, resume }) => ({
    exit: 9,
    sentence: `It is not known whether ${count(unknown, 'row')} took effect.`,
    hint: `Looking again, and doing what is missing: ${resume}`,
  }),
  'would-change': ({ changes, obstacles }) => ({
    exit: 13,
    sentence:
      `${count(changes, 'pet')} would be changed` +
      (obstacles === 0 ? '.' : `, and ${count(obstacles, 'row')} cannot be applied.`),
  }),
  'check-failed': ({ check, matched }) => ({
    exit: 13,
    sentence: `The check ${check} failed: ${count(matched, 'pet')} matched.`,
  }),
} as const satisfies { readonly [K in BulkKind]: (facts: FailureDetails[K], now: number) => Wording };
