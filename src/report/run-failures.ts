/** The part of the table of failures about bulk runs, checks and waits. */
import { EXIT, type RunFailures } from '../errors.ts';
import { clockTime, duration } from '../view/progress.ts';
import { capital, plural } from '../view/words.ts';
import { type FailureTable, stops } from './failure-meaning.ts';

export const RUN_FAILURES = {
  'invalid-rows': ({ source, problems, hint, unchanged = 'nothing was sent' }) => ({
    ...stops(EXIT.usage),
    message: `${plural(problems.length, 'row')} of ${source} cannot be used; ${unchanged}.`,
    lines: problemLines(problems),
    hint: hint ?? 'Fix the file and run the command again.',
  }),
  'run-too-long': ({ requests, ms, maxWaitMs }, now) => ({
    ...stops(EXIT.rateLimited),
    message: `This takes about ${duration(ms)} (${plural(requests, 'request')}), longer than --max-wait (${duration(maxWaitMs)}); nothing was sent.`,
    hint: `Add --max-wait forever: it would be done at about ${clockTime(now + ms, now)}, and can be interrupted and resumed.`,
    retryable: true,
  }),
  'run-locked': ({ what, waitedMs, begun = false }) => ({
    ...stops(EXIT.rateLimited),
    message: `${capital(what)} is still running${waitedMs > 0 ? ` after ${duration(waitedMs)}` : ''}; nothing ${begun ? 'more ' : ''}was sent.`,
    hint: begun ? undefined : 'Run the command again later, or wait longer with --max-wait.',
    retryable: true,
    outcome: begun ? undefined : 'not-sent',
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
    message: `Not everything was applied: ${failed} failed, ${plural(conflicts, 'conflict')}.`,
    hint: report === undefined ? 'See the rows listed above.' : `See the report: ${report}`,
  }),
  'run-unknown': ({ unknown, resume }) => ({
    ...stops(EXIT.outcomeUnknown),
    message: `The outcome of ${plural(unknown, 'row')} is unknown.`,
    hint: `Check them and apply what is missing with ${resume}`,
    outcome: 'unknown',
  }),

  'would-change': ({ changes, obstacles }) => ({
    ...stops(EXIT.checkFailed),
    text: 'plain',
    message:
      `${plural(changes, 'pet')} would be changed` +
      (obstacles === 0 ? '.' : `, and ${plural(obstacles, 'row')} cannot be applied.`),
    hint: undefined,
  }),
  'check-failed': ({ check, matched }) => ({
    ...stops(EXIT.checkFailed),
    text: 'plain',
    message: `${plural(matched, 'pet')} ${matched === 1 ? 'matches' : 'match'} (${check}).`,
    hint: undefined,
  }),
  'checks-failed': ({ failed, of }) => ({
    ...stops(EXIT.checkFailed),
    message: `${failed.length} of ${plural(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Report it to the owners of the service; petstore smoke --list explains each check.',
  }),
  'doctor-failed': ({ failed, of }) => ({
    ...stops(EXIT.checkFailed),
    message: `${failed.length} of ${plural(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Fix the first failure above, then run petstore doctor again.',
  }),
  'wait-timeout': ({ petId, ms, found }) => ({
    ...stops(EXIT.checkFailed),
    message: `Timed out after ${duration(ms)}: pet ${petId} ${found}.`,
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
