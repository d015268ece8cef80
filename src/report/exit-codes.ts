/** Exit codes: the one table. Scripts depend on it; a code never changes its meaning. */

export interface ExitCode {
  readonly code: string;
  readonly meaning: string;
  /** What a script does about it. */
  readonly then: string;
}

export const EXIT_CODES: readonly ExitCode[] = [
  { code: '0', meaning: 'done (also: an empty list, a reader that closed the pipe)', then: 'go on' },
  { code: '1', meaning: 'a bug in petstore', then: 'report it' },
  { code: '2', meaning: 'usage: nothing was sent', then: 'fix the call' },
  { code: '3', meaning: 'config, file or disk; or stdout could not be written', then: 'fix the machine' },
  { code: '4', meaning: 'no API key, or the service refused it (401)', then: 'get a new key' },
  { code: '5', meaning: 'not found (404)', then: 'fix the id' },
  {
    code: '6',
    meaning: 'rate limited, and the wait is longer than allowed: nothing more was sent',
    then: 'run again after retryAt',
  },
  { code: '7', meaning: 'network: a read failed, or a write was certainly not sent', then: 'run again' },
  { code: '8', meaning: 'the service failed or broke its contract', then: 'later; tell its owners' },
  { code: '9', meaning: "a write's outcome is unknown, even after looking", then: 'look before running again' },
  { code: '10', meaning: 'the service refused the value (400)', then: 'fix the value' },
  {
    code: '11',
    meaning: 'bulk: some rows done, some not',
    then: 'read the report, then import again: only what still differs is sent',
  },
  { code: '12', meaning: 'forbidden or banned (403)', then: 'stop the cron job, call a person' },
  {
    code: '13',
    meaning: 'a check failed (--fail-if-any, --expect, --exit-code, adjust below zero)',
    then: 'act on it',
  },
  { code: '129, 130, 143', meaning: 'stopped by HUP, INT or TERM; work in flight was recorded first', then: 'resume' },
];

/** Which exit code a bulk run with several causes ends with: the first of these. */
export const CAUSES_FIRST_TO_LAST: readonly number[] = [129, 130, 143, 12, 4, 9, 3, 6, 7, 8, 11];
