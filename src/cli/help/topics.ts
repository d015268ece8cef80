/** What `petstore help <topic>` tells: facts for people, in paragraphs that are wrapped to their screen. */

import { EXIT } from '../../errors.ts';

export type Topic = 'environments' | 'output' | 'rate-limits' | 'scripting' | 'exit-codes';

interface TopicText {
  readonly summary: string;
  readonly title: string;
  readonly text: string;
}

export const TOPICS: Readonly<Record<Topic, TopicText>> = {
  environments: {
    summary: 'production, staging and the sandbox; where each value comes from',
    title: 'Environments',
    text: `
There are two real environments, production and staging, each with its own base URL and API key, and the sandbox: the service itself, built in, on this machine, which needs neither.

  petstore login                  asks for environment, base URL and key
  petstore status                 what is in force, and where it comes from
  petstore --env sandbox ...      any command, on the sandbox

A flag comes before a variable, a variable before the config file:

  --env         PETSTORE_ENV        production, if nobody says
  --base-url    PETSTORE_BASE_URL   https, ending in /v1
  no flag       PETSTORE_API_KEY    the key; never on a command line

A key is typed at a hidden prompt, read with --key-stdin, or taken from the variable. It is kept in one file, mode 0600, and sent to the base URL and nowhere else.

Without a terminal a write to production must say so: --env production, PETSTORE_ENV=production or --yes. A default in the config is not enough.
`,
  },
  output: {
    summary: 'tables, JSON, NDJSON, CSV; what goes where',
    title: 'Output',
    text: `
Data goes to stdout and nothing else does. Rate limits, progress, warnings and errors go to stderr.

  -o table      for people; the default, on a terminal and in a pipe
  -o json       one document (--json is short for it)
  -o ndjson     one object a line, as it comes
  -o csv        RFC 4180, with a header line unless --no-header

Names and shapes are the service's own: petId, quantity, status. petId is an int64 and comes out digit for digit; readers that make a double of it lose digits beyond 9007199254740991.

With JSON output an error is one object on stderr: {"error":{"kind","message","exitCode","retryable",...}}.

A list of more than 10,000 rows streams, in every format but with --sort: memory stays as it is, and rows come before the list has ended. A table of that many has columns of fixed width, made for its first rows and for any int64.

Control characters in texts of the service are shown escaped. Cells of CSV that a spreadsheet would run are quoted with an apostrophe; numbers are not.

Colour is used on terminals only and never alone: NO_COLOR, FORCE_COLOR, TERM=dumb and --color are heard.
`,
  },
  'rate-limits': {
    summary: 'why a command waits, and how long',
    title: 'Rate limits',
    text: `
The service bans keys that go on sending after a 429. So after a 429 nothing on this machine sends with that key before the time that the service named: no other command, no other process, not after a restart. Then one request sees whether the key is welcome again.

  --max-wait 75s      the longest wait; a longer one ends with exit code ${EXIT.rateLimited}
  --wait              any wait: short for --max-wait forever
  --no-wait           none at all
  --reserve 5         requests to leave for others

What is left of the allowance is kept in the same place, so that many processes share one key and spend each window to its last request.

  petstore limits               what is known, without a request
  petstore limits --refresh     ask the service once
  petstore limits --clear-block forget a block, if it is known to be over

Machines that share a key share what they know of it through a Redis server: PETSTORE_LEDGER=redis://host/0 (rediss:// for TLS).
`,
  },
  scripting: {
    summary: 'exit codes, cron, CI; nothing that waits for a person',
    title: 'Scripting',
    text: `
A script reads stdout and the exit code, and nothing else: neither changes by accident. Without a terminal petstore never asks; --no-input makes sure.

  petstore inventory list --max 0 --fail-if-any -o ndjson
  code=$?
  case $code in
    ${EXIT.ok}) ;;                         # nothing is sold out
    ${EXIT.checkFailed}) mail -s 'sold out' ... ;;
    ${EXIT.rateLimited}) ;;                         # run again after retryAt
    ${EXIT.forbidden}) ;;                        # the key may be banned: stop the job
  esac

  --deadline 10m      the whole command ends by then
  --max-wait 5m       how long to wait for the allowance
  --timeout 30s       how long one attempt may wait for the service
  --yes               for questions that a person would be asked; how long to wait is not one

A write whose answer was lost is looked up before it is sent again. If even that does not tell, the exit code is ${EXIT.outcomeUnknown}: look before you run it again. A bulk run that was stopped goes on with import --resume. After one that ended with failed rows or conflicts (exit code ${EXIT.incomplete}) import the file again: only what still differs is sent.

In CI petstore smoke checks the contract of the service, petstore doctor the way to it. Recipes for cron, GitHub Actions and GitLab CI are in docs/ (cron.md, ci.md).
`,
  },
  'exit-codes': {
    summary: 'what each exit code means, and what to do about it',
    title: 'Exit codes',
    text: '',
  },
};
