/** Failures of bulk runs, checks and waits: a part of the table of failures. */
import type { Problem } from '../catalog/store.ts';
import { EXIT } from '../errors.ts';
import { clockTime, duration } from '../view/progress.ts';
import { capital, plural } from '../view/words.ts';
import { type FailureTable, nothingSent, stops } from './failure-meaning.ts';

export const RUN_FAILURES = {
  'invalid-rows': (details: { source: string; problems: readonly Problem[]; hint?: string; unchanged?: string }) => ({
    ...stops(EXIT.usage),
    message: `${plural(details.problems.length, 'row')} of ${details.source} cannot be used; ${details.unchanged ?? 'nothing was sent'}.`,
    lines: problemLines(details.problems),
    hint: details.hint ?? 'Fix the file and run the command again.',
  }),
  /** A later line of a script is wrong, after others were applied. */
  'rows-after-apply': ({ source, problems }: { source: string; problems: readonly Problem[] }) => ({
    ...stops(EXIT.incomplete),
    message: `${plural(problems.length, 'row')} of ${source} cannot be used; what was applied before stays applied.`,
    lines: problemLines(problems),
    hint: 'Remove the lines up to the last apply, correct the rest, and run the command again.',
  }),
  'run-too-long': ({ requests, ms, maxWaitMs }: { requests: number; ms: number; maxWaitMs: number }, now) => ({
    ...stops(EXIT.rateLimited),
    message: `This takes about ${duration(ms)} (${plural(requests, 'request')}), longer than --max-wait (${duration(maxWaitMs)}); nothing was sent.`,
    hint: `Add --max-wait forever: it will finish at about ${clockTime(now + ms, now)}, and can be interrupted and resumed.`,
    retryable: true,
  }),
  /** Another process (`what`) applies a run or changes the pet. `isOpen`: true if it is open in another window. */
  'run-locked': (details: { what: string; waitedMs: number; begun?: boolean; isOpen?: boolean }) => {
    const { what, waitedMs, begun = false, isOpen = false } = details;
    const still = `still running${waitedMs > 0 ? ` after ${duration(waitedMs)}` : ''}; ${nothingSent(begun)}`;
    return {
      ...stops(EXIT.rateLimited),
      message: `${capital(what)} is ${isOpen ? 'already open in another window' : still}.`,
      hint: begun || isOpen ? undefined : 'Run the command again later, or wait longer with --max-wait.',
      retryable: true,
      outcome: begun ? undefined : 'not-sent',
    };
  },
  /** The pet's stock has changed since, or the old quantity is unknown. */
  'cannot-undo': ({ petId, reason, direction }: { petId: bigint; reason: string; direction: 'undo' | 'redo' }) => ({
    ...stops(EXIT.incomplete),
    message: `Pet ${petId}: cannot ${direction}: ${reason}.`,
    hint:
      direction === 'redo'
        ? `See what was changed: petstore inventory history --pet ${petId}`
        : 'See what was changed, or undo an older change by its number: petstore inventory history',
    outcome: 'not-applied',
  }),
  /** What the run depends on has changed, for example the file. */
  'cannot-resume': ({ problem, hint }: { problem: string; hint: string }) => ({
    ...stops(EXIT.usage),
    message: `${problem}; nothing was sent.`,
    hint,
  }),
  'run-incomplete': (details: { failed: number; conflicts: number; report: string | undefined }) => ({
    ...stops(EXIT.incomplete),
    message: `Not everything was applied: ${details.failed} failed, ${plural(details.conflicts, 'conflict')}.`.replace(
      / 0 failed,|, 0 conflicts/,
      '',
    ),
    hint: details.report === undefined ? 'See the rows listed above.' : `See the report: ${details.report}`,
  }),

  /** --exit-code: the stock differs from the file. */
  'would-change': ({ changes, obstacles }: { changes: number; obstacles: number }) => ({
    ...stops(EXIT.checkFailed),
    text: 'plain',
    message: `${plural(changes, 'pet')} would be changed${obstacles === 0 ? '' : `, and ${plural(obstacles, 'row')} cannot be applied`}.`,
    hint: undefined,
  }),
  /** --fail-if-any, --fail-if-none. `isPart`: the rest of the list was not read. */
  'check-failed': ({ check, matched, isPart }: { check: string; matched: number; isPart: boolean }) => ({
    ...stops(EXIT.checkFailed),
    text: 'plain',
    message: `${isPart ? 'At least ' : ''}${plural(matched, 'pet')} ${matched === 1 ? 'matches' : 'match'} (${check}).`,
    hint: undefined,
  }),
  'checks-failed': ({ failed, of }: { failed: readonly string[]; of: number }) => ({
    ...stops(EXIT.checkFailed),
    message: `${failed.length} of ${plural(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: failed.includes('list-status')
      ? 'Check the base URL first (petstore status); if it is right, tell the owners of the service.'
      : failed.includes('clock')
        ? 'Check the clock of this machine first; if it is right, tell the owners of the service.'
        : 'Report it to the owners of the service; petstore smoke --list explains each check.',
  }),
  'doctor-failed': ({ failed, of }: { failed: readonly string[]; of: number }) => ({
    ...stops(EXIT.checkFailed),
    message: `${failed.length} of ${plural(of, 'check')} failed: ${failed.join(', ')}.`,
    hint: 'Fix the first failure above, then run petstore doctor again.',
  }),
  'wait-timeout': ({ petId, ms, found }: { petId: bigint; ms: number; found: string }) => ({
    ...stops(EXIT.checkFailed),
    message: `Timed out after ${duration(ms)}: pet ${petId} ${found}.`,
    hint: 'Wait longer with --for.',
  }),
} satisfies FailureTable;

const SHOWN_PROBLEMS = 20;

/** Returns the first problems, and how many more there are. */
function problemLines(problems: readonly Problem[]): string[] {
  const lines = problems.slice(0, SHOWN_PROBLEMS).map(({ line, reason }) => `line ${line}: ${reason}`);
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}
