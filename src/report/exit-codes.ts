/** What each exit code means: for help, man page and docs/exit-codes.md. */
import { EXIT } from '../errors.ts';

/** `then`: what a script should do. */
export const EXIT_CODES: readonly (readonly [code: number | string, meaning: string, then: string])[] = [
  [EXIT.ok, 'done (also: an empty list, a reader that closed the pipe)', 'continue'],
  [EXIT.bug, 'a bug in petstore', 'report it'],
  [EXIT.usage, 'usage: nothing was sent', 'fix the call'],
  [EXIT.local, 'config, file, disk or Redis; or stdout could not be written', 'fix the machine'],
  [EXIT.key, 'no API key, or the service refused it (401)', 'get a new key'],
  [EXIT.notFound, 'not found (404)', 'fix the id'],
  [
    EXIT.rateLimited,
    'rate limited, or another run is under way, and the wait is longer than allowed: nothing more was sent',
    'run again after retryAt',
  ],
  [EXIT.network, 'network: a read failed, or a write was certainly not sent', 'run again'],
  [EXIT.service, 'the service failed or broke its contract', 'run again later; tell its owners'],
  [EXIT.outcomeUnknown, "a write's outcome is unknown, even after a check", 'check before running again'],
  [EXIT.rejected, 'the service refused the value (400)', 'fix the value'],
  [
    EXIT.incomplete,
    'bulk: some rows done, some not',
    'read the report, fix the cause, run again (import: with --resume)',
  ],
  [EXIT.forbidden, 'forbidden or banned (403)', 'stop the cron job, call a person'],
  [
    EXIT.checkFailed,
    'a check failed (--fail-if-any, --expect, --exit-code, smoke, wait, adjust below zero)',
    'act on it',
  ],
  [
    [EXIT.SIGHUP, EXIT.SIGINT, EXIT.SIGTERM].join(', '),
    'stopped by HUP, INT or TERM; work in flight was recorded first',
    'resume',
  ],
];

/** A run with several causes exits with the first of these codes. */
export const CAUSES_FIRST_TO_LAST: readonly number[] = [
  EXIT.SIGHUP,
  EXIT.SIGINT,
  EXIT.SIGTERM,
  EXIT.forbidden,
  EXIT.key,
  EXIT.outcomeUnknown,
  EXIT.local,
  EXIT.rateLimited,
  EXIT.network,
  EXIT.service,
  EXIT.incomplete,
];
