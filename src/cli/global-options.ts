/** The options that every command takes, by what they are for. */
import { flag, type InputOf, option, optionsOf, under } from './command.ts';
import { countValue, durationValue, sizeValue, textValue, waitValue, wordValue } from './values.ts';
import { ENVIRONMENTS } from '../session/environments.ts';
import { FORMATS } from '../view/view.ts';

const OPTIONS = {
  ...under('Where', {
    env: option('-e, --env <name>', wordValue(ENVIRONMENTS), `environment: ${ENVIRONMENTS.join(', ')}`),
    baseUrl: option('--base-url <url>', textValue, 'address of the service, ending in /v1'),
    insecureHttp: flag('--insecure-http', 'allow http beyond this machine; the key is readable on the way'),
  }),
  ...under('Output', {
    output: option('-o, --output <format>', wordValue(FORMATS), FORMATS.join(', '), { default: 'table' }),
    json: flag('--json', 'short for --output json', { conflicts: ['output'] }),
    color: option('--color <when>', wordValue(['auto', 'always', 'never']), 'auto, always, never', { default: 'auto' }),
  }),
  ...under('Questions', {
    input: flag('--no-input', 'never ask; fail instead'),
    yes: flag('-y, --yes', 'say yes to every question'),
  }),
  ...under('Output', {
    quiet: flag('-q, --quiet', 'no notes, no rate limits: data, warnings and errors only'),
    verbose: flag('-v, --verbose', 'one line on stderr for each request'),
    debug: flag('--debug', 'as --verbose, and what went wrong inside'),
    showLimits: flag('--show-limits', 'print the rate limit also where stderr is no terminal'),
  }),
  ...under('Limits and time', {
    timeout: option('--timeout <duration>', durationValue(1), 'longest time one attempt waits for the service', {
      default: 60_000,
      shownDefault: '60s',
    }),
    maxWait: option(
      '--max-wait <duration>',
      waitValue,
      'longest wait for a rate limit or a retry, or "forever"; beyond it, exit 6',
      { default: 75_000, shownDefault: '75s' },
    ),
    wait: flag('--wait', 'short for --max-wait forever', { conflicts: ['maxWait'] }),
    // To commander this is the option above, set to false; nothing has this name.
    noWait: flag('--no-wait', 'short for --max-wait 0', { conflicts: ['maxWait'] }),
    reserve: option('--reserve <requests>', countValue(), "requests of the key's allowance to leave for others"),
    deadline: option('--deadline <duration>', durationValue(1), 'longest time for the whole command (default: none)'),
    maxBody: option('--max-body <size>', sizeValue, 'largest response accepted, decoded', {
      default: 256 * 2 ** 20,
      shownDefault: '256MiB',
    }),
  }),
};

export type GlobalInput = Omit<InputOf<typeof OPTIONS>, 'noWait'>;

export const GLOBAL_OPTIONS = optionsOf({ options: OPTIONS });

/** Answered before a command runs. */
export const HELP_OPTIONS = optionsOf({
  options: under('Help', {
    help: flag('-h, --help', 'show help'),
    version: flag('-V, --version', 'print the version'),
  }),
});
