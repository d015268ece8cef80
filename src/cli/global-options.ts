/** The options of every command, by purpose. */
import { flag, type InputOf, type NamedOption, option, optionsOf, under } from './command.ts';
import { LONGEST_TIMER_MS } from '../duration.ts';
import { durationValue, pathValue, sizeValue, textValue } from '../value-parsers.ts';
import { SETTINGS, type Setting } from '../session/settings.ts';

/** Has no default for commander, because a variable or the config may have another. */
function settingOption<T>(setting: Setting<T> & { readonly flags: string; readonly default: string }) {
  return option(setting.flags, setting.parser, setting.about, { shownDefault: setting.default });
}

const OPTIONS = {
  ...under('Where', {
    env: option(SETTINGS.env.flags, SETTINGS.env.parser, SETTINGS.env.about),
    profile: option(SETTINGS.profile.flags, SETTINGS.profile.parser, SETTINGS.profile.about),
  }),
  ...under('Output', {
    output: settingOption(SETTINGS.output),
    json: flag('--json', 'short for --output json', { conflicts: ['output'] }),
    color: option(SETTINGS.color.flags, SETTINGS.color.parser, SETTINGS.color.about, {
      shownDefault: SETTINGS.color.default,
      no: 'short for --color never',
    }),
    quiet: flag('-q, --quiet', 'print only data, warnings and errors'),
    log: option('--log <file>', pathValue, 'log the start, each request and the end to a file, as JSON lines'),
    debug: flag('--debug', 'like --verbose, plus internal errors'),
  }),
  ...under('Questions', {
    input: flag('--no-input', 'never ask; fail instead'),
    yes: flag('-y, --yes', 'answer yes to all prompts'),
  }),
  ...under('Requests', {
    // The command validates it once it knows whether http is allowed.
    baseUrl: option(SETTINGS.baseUrl.flags, textValue, SETTINGS.baseUrl.about),
    insecureHttp: flag('--insecure-http', 'allow unencrypted http to other machines (exposes the key)'),
    verbose: flag('-v, --verbose', 'print each request on stderr'),
    showLimits: flag('--show-limits', 'print the rate limit even when not on a terminal'),
    timeout: option('--timeout <duration>', durationValue(1, LONGEST_TIMER_MS), 'maximum time per request', {
      shownDefault: '60s',
    }),
    maxWait: settingOption(SETTINGS.maxWait),
    wait: flag('--wait', 'short for --max-wait forever', { no: 'short for --max-wait 0', conflicts: ['maxWait'] }),
    retryFor: option(SETTINGS.retryFor.flags, SETTINGS.retryFor.parser, SETTINGS.retryFor.about),
    reserve: option(SETTINGS.reserve.flags, SETTINGS.reserve.parser, SETTINGS.reserve.about),
    deadline: option('--deadline <duration>', durationValue(1), 'maximum time for the whole command (default: none)'),
    maxBody: option('--max-body <size>', sizeValue, 'largest response accepted, decoded', { shownDefault: '256MiB' }),
  }),
};

export type GlobalInput = InputOf<typeof OPTIONS>;

/** Handled before a command runs. */
const HELP_OPTIONS = under('Help', {
  help: flag('-h, --help', 'show help: -h in short, --help in full'),
  pager: flag('--no-pager', 'print long help without a pager'),
  version: flag('-V, --version', 'print the version'),
});

export const GLOBAL_OPTIONS: readonly NamedOption[] = optionsOf({ ...OPTIONS, ...HELP_OPTIONS }).map((each) => ({
  ...each,
  isCommon: true,
}));
