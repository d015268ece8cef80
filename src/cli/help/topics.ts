/** Texts of `petstore help <topic>`; paragraphs are wrapped to the terminal. */

import { EXIT } from '../../errors.ts';
import { FORMAT_FACTS, FORMATS } from '../../view/view.ts';

export type Topic = 'options' | 'environments' | 'output' | 'rate-limits' | 'scripting' | 'exit-codes' | 'schemas';

export const TOPICS: Readonly<Record<Topic, Readonly<Record<'summary' | 'title' | 'text', string>>>> = {
  options: {
    summary: 'the options that commands have in common',
    title: 'Common options',
    text: '',
  },
  environments: {
    summary: 'production, staging, sandbox; precedence of settings',
    title: 'Environments',
    text: `
There are two real environments, production and staging, each with its own base URL and API key, and the sandbox: a built-in copy of the service that needs neither.

  petstore login                  asks for environment, base URL and key
  petstore status                 the active settings and their sources
  petstore --env sandbox ...      any command on the sandbox

An option overrides a variable, a variable overrides the config file:

  --env         PETSTORE_ENV        default: production
  --profile     PETSTORE_PROFILE    one of several shops
  --base-url    PETSTORE_BASE_URL   https, ending in /v1
  no flag       PETSTORE_API_KEY    the key; never an option

A key is typed at a hidden prompt, read with --key-stdin, or taken from the variable. It is stored in the config file, mode 0600, and sent only to the base URL. With petstore login --key-command, a command of yours prints the key, and petstore does not store it.

Without a terminal, a write to production needs --env production, PETSTORE_ENV=production or --yes. A default in the config is not enough.

All variables and files are in docs/configuration.md of the package.
`,
  },
  output: {
    summary: 'tables, JSON, NDJSON, CSV; what goes where',
    title: 'Output',
    text: `
Data goes to stdout, everything else (rate limits, progress, warnings, errors) to stderr.

${FORMATS.map((name) => `  -o ${name.padEnd(10)} ${FORMAT_FACTS[name].summary}`).join('\n')}

Fields are the service's: petId, quantity, status. petId is an int64 and printed digit for digit; programs that read it as a double lose digits above 9007199254740991.

With JSON output an error is one object on stderr: {"error":{"kind","message","exitCode","retryable",...}}. petstore help schemas lists the JSON Schemas of every output.

A list of more than 10,000 rows is printed as it arrives, except with --sort. As a table, it has columns of fixed width.

Control characters in text from the service are escaped. CSV cells that a spreadsheet would run are prefixed with an apostrophe; numbers are not.

Colour is used only on terminals. NO_COLOR, FORCE_COLOR, TERM=dumb, --color and --no-color are respected.
`,
  },
  'rate-limits': {
    summary: 'why a command waits and for how long',
    title: 'Rate limits',
    text: `
The service bans keys that keep sending after a 429. After a 429, no petstore of this user sends with that key before the time that the service named, not even after a restart. Then a single request checks whether the key works again.

  --max-wait 75s      the longest wait; a longer one ends with exit code ${EXIT.rateLimited}
  --wait              short for --max-wait forever
  --no-wait           short for --max-wait 0
  --reserve 5         requests to leave for other programs

The remaining rate limit is stored too, so many processes can share one key and use each window to its last request.

  petstore limits                what remains, without a request
  petstore limits --refresh      ask the service once
  petstore limits --clear-block  clear a block that has ended

Machines that share a key share its rate limit, and the locks of pets, through Redis: PETSTORE_LEDGER=redis://host/0 (rediss:// for TLS). While Redis does not work, a machine sends only what it was lent, or with PETSTORE_LEDGER_LOST=share its part of the limit.
`,
  },
  scripting: {
    summary: 'exit codes, cron and CI; never prompting',
    title: 'Scripting',
    text: `
Rely on stdout and the exit code only; both are stable. Without a terminal, petstore never prompts; --no-input guarantees it.

  petstore inventory list --max 0 --fail-if-any -o ndjson
  code=$?
  case $code in
    ${EXIT.ok}) ;;                         # nothing is sold out
    ${EXIT.checkFailed}) mail -s 'sold out' ... ;;
    ${EXIT.rateLimited}) ;;                         # run again after retryAt
    ${EXIT.forbidden}) ;;                        # the key may be banned: stop the job
  esac

  --deadline 10m      the whole command ends by then
  --max-wait 5m       the longest wait for the rate limit
  --timeout 30s       the longest time per request
  --yes               answers prompts; it does not allow longer waits

A write whose answer was lost is looked up before it is sent again. If that does not tell whether it was applied, the exit code is ${EXIT.outcomeUnknown}: check before you run it again. An interrupted import continues with inventory import FILE --resume, any other run with inventory runs resume. After failed rows or conflicts (exit code ${EXIT.incomplete}) an import with --resume adds only what is left; a file that sets is compared again as a whole.

In CI, petstore smoke checks the contract of the service, petstore doctor the connection to it. Recipes for cron, GitHub Actions and GitLab CI are in docs/ of the package (cron.md, ci.md).
`,
  },
  'exit-codes': {
    summary: 'what each exit code means and what to do',
    title: 'Exit codes',
    text: '',
  },
  schemas: {
    summary: 'JSON Schemas of every JSON output, event and error',
    title: 'JSON Schemas',
    text: '',
  },
};
