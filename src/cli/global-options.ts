/** The options that every command takes, by what they are for. */
import { flag, type InputOf, option, optionsOf, under } from './command.ts';
import { countValue, durationValue, keptTimeValue, sizeValue, textValue, waitValue, wordValue } from './values.ts';
import { DAY_MS } from '../duration.ts';
import { ENVIRONMENTS } from '../session/environments.ts';
import type { Globals } from '../session/globals.ts';
import { FORMATS } from '../view/output-formats.ts';

const OPTIONS = {
  ...under('Where', {
    env: option('-e, --env <name>', wordValue(ENVIRONMENTS), `environment: ${ENVIRONMENTS.join(', ')}`),
  }),
  ...under('Output', {
    output: option('-o, --output <format>', wordValue(FORMATS), FORMATS.join(', '), { default: 'table' }),
    json: flag('--json', 'short for --output json', { conflicts: ['output'] }),
    color: option('--color <when>', wordValue(['auto', 'always', 'never']), 'auto, always, never', {
      default: 'auto',
      no: 'short for --color never',
    }),
    quiet: flag('-q, --quiet', 'print only data, warnings and errors'),
    debug: flag('--debug', 'like --verbose, plus internal errors'),
  }),
  ...under('Questions', {
    input: flag('--no-input', 'never ask; fail instead'),
    yes: flag('-y, --yes', 'answer yes to all prompts'),
  }),
  ...under('Requests', {
    baseUrl: option('--base-url <url>', textValue, 'address of the service, ending in /v1'),
    insecureHttp: flag('--insecure-http', 'allow unencrypted http to other machines (exposes the key)'),
    verbose: flag('-v, --verbose', 'print each request on stderr'),
    showLimits: flag('--show-limits', 'print the rate limit even when not on a terminal'),
    timeout: option('--timeout <duration>', durationValue(1), 'maximum time per request', {
      default: 60_000,
      shownDefault: '60s',
    }),
    maxWait: option('--max-wait <duration>', waitValue, 'longest wait for the rate limit, or "forever"; else exit 6', {
      default: 75_000,
      shownDefault: '75s',
    }),
    wait: flag('--wait', 'short for --max-wait forever', { no: 'short for --max-wait 0', conflicts: ['maxWait'] }),
    reserve: option('--reserve <requests>', countValue(), 'requests to leave for other programs with this key'),
    deadline: option('--deadline <duration>', durationValue(1), 'maximum time for the whole command (default: none)'),
    maxBody: option('--max-body <size>', sizeValue, 'largest response accepted, decoded', {
      default: 256 * 2 ** 20,
      shownDefault: '256MiB',
    }),
  }),
};

export type GlobalInput = InputOf<typeof OPTIONS> & Pick<Globals, 'keepHistory'>;

export const GLOBAL_OPTIONS = optionsOf({ options: OPTIONS });

/** Settings without an option: only a variable or the config sets them. */
export const STORED_SETTINGS = [{ name: 'keepHistory', parser: keptTimeValue, default: 730 * DAY_MS }];

/** Answered before a command runs. */
export const HELP_OPTIONS = optionsOf({
  options: under('Help', {
    help: flag('-h, --help', 'show help'),
    version: flag('-V, --version', 'print the version'),
  }),
});
