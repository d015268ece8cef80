/** The part of the table of failures about bulk runs, checks and waits. */
import { EXIT, type RunFailures } from '../errors.ts';
import { clockTime, duration } from '../view/progress.ts';
import { capital, plural } from '../view/words.ts';
import { type FailureTable, stops } from './failure-meaning.ts';

export const RUN_FAILURES = {
  'invalid-rows': ({ source, problems, hint }) => ({
    ...stops(EXIT.usage),
    message: `${plural(problems.length, 'row')} of ${source} cannot be used; nothing was sent.`,
    lines: problemLines(problems),
    hint: hint ?? 'Fix the file and run the command again.',
  }),
  'run-too-long': ({ requests, ms, maxWaitMs }, now) => ({
    ...stops(EXIT.rateLimited),
    message: `${plural(requests, 'request')} take about ${duration(ms)} with this key, longer than the ${duration(maxWaitMs)} allowed; nothing was sent.`,
    hint: `Add --wait: it would be done at about ${clockTime(now + ms, now)}, and may be interrupted and resumed.`,
    retryable: true,
  }),
  'run-locked': ({ what, waitedMs }) => ({
    ...stops(EXIT.rateLimited),
    message: `${capital(what)} is still running${waitedMs > 0 ? ` after ${duration(waitedMs)}` : ''}; nothing was sent.`,
    hint: 'Run the command again later, or wait longer with --max-wait.',
    retryable: true,
    outcome: 'not-sent',
  }),
  'cannot-undo': ({ petId, reason }) => ({
    ...stops(EXIT.incomplete),
    message: `Pet ${petId}: cannot undo: ${reason}.`,
    hint: `See what was changed: petstore inventory history --pet ${petId}`,
    outcome: 'not-applied',
  }),
  'cannot-resume': ({ problem, hint }) => ({ ...stops(EXIT.usage), message: `${problem}; nothing was sent.`, hint }),
  'run-incomplete': ({ failed, conflicts, report }) => ({
    ...stops(EXIT.incomplete),
    message: `Not all of it is done: ${failed} failed, ${plural(conflicts, 'conflict')}.`,
    hint: report === undefined ? 'Look at the rows named above.' : `The report names them: ${report}`,
  }),
  'run-unknown': ({ unknown, resume }) => ({
    ...stops(EXIT.outcomeUnknown),
    message: `It is not known whether ${plural(unknown, 'row')} took effect.`,
    hint: `Looking again, and doing what is missing: ${resume}`,
  }),

  'would-change': ({ changes, obstacles }) => ({
    ...stops(EXIT.checkFailed),
    message:
      `${plural(changes, 'pet')} would be changed` +
      (obstacles === 0 ? '.' : `, and ${plural(obstacles, 'row')} cannot be applied.`),
    hint: undefined,
  }),
  'check-failed': ({ check, matched }) => ({
    ...stops(EXIT.checkFailed),
    message: `The check ${check} failed: ${plural(matched, 'pet')} matched.`,
    hint: undefined,
  }),
  'checks-failed': ({ failed, of }) => ({
    ...stops(EXIT.checkFailed),
    message: `${failed.length} of ${plural(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Tell the owners of the service; petstore smoke --list shows what each check rests on.',
  }),
  'doctor-failed': ({ failed, of }) => ({
    ...stops(EXIT.checkFailed),
    message: `${failed.length} of ${plural(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Each failed check above says how to fix it; start with the first.',
  }),
  'wait-timeout': ({ petId, ms, found }) => ({
    ...stops(EXIT.checkFailed),
    message: `Pet ${petId} did not reach that state within ${duration(ms)}: it ${found}.`,
    hint: 'Wait longer with --for.',
  }),
} satisfies FailureTable<keyof RunFailures>;

const SHOWN_PROBLEMS = 20;

/** The first of them, and how many more there are. */
function problemLines(problems: RunFailures['invalid-rows']['problems']): string[] {
  const lines = problems.slice(0, SHOWN_PROBLEMS).map(({ line, reason }) => `line ${line}: ${reason}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}
