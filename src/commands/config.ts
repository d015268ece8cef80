import { argument, defineCommand } from '../cli/command.ts';
import { GLOBAL_OPTIONS, STORED_SETTINGS } from '../cli/global-options.ts';
import { textValue } from '../cli/values.ts';
import { changeConfig, configPath, NO_CONFIG, requireReadable } from '../session/config-file.ts';
import { settingNamed, SETTINGS, type Setting } from '../session/config-keys.ts';
import { DEFAULT_NAMES, DEFAULTS } from '../session/defaults.ts';
import { Failure } from '../errors.ts';
import { list, record, type RecordView } from '../view/view.ts';

const setting = settingArgument(SETTINGS);

function settingArgument(offered: readonly Setting[]) {
  const words = offered.map(({ key }) => key);
  return argument({ parse: settingNamed, words }, words.join(', '));
}

/** @throws {Failure} `invalid-value` where every command would refuse the value as its default */
function checkDefault(key: string, value: string): void {
  const name = DEFAULT_NAMES.find((each) => each === key);
  const spec = name && [...GLOBAL_OPTIONS, ...STORED_SETTINGS].find((each) => each.name === DEFAULTS[name].option);
  spec?.parser?.parse(value, key);
}

export const configList = defineCommand({
  path: 'config list',
  common: 'output',
  summary: 'Show every setting in the config file',
  examples: [{ says: 'All settings, keys masked', command: 'petstore config list' }],
  more: ['environments'],
  async run(_input, context) {
    const { config } = requireReadable(await context.configFile());
    const rows = SETTINGS.map((setting) => ({ key: setting.key, value: setting.get(config) }));
    return list(rows, { setting: ({ key }) => key, value: ({ value }) => value });
  },
});

export const configGet = defineCommand({
  path: 'config get',
  common: 'output',
  summary: 'Show one setting',
  examples: [{ says: 'The default environment', command: 'petstore config get environment' }],
  arguments: { setting },
  more: ['environments'],
  async run({ setting }, context) {
    const { config, path } = requireReadable(await context.configFile());
    const value = setting.get(config);
    if (value === undefined) throw new Failure('config-unset', { key: setting.key, path, command: setting.command });
    return shown(setting, value, value);
  },
});

export const configSet = defineCommand({
  path: 'config set',
  common: 'output',
  summary: 'Change one setting',
  examples: [
    { says: 'Use staging from now on', command: 'petstore config set environment staging' },
    { says: 'Wait as long as the rate limit needs', command: 'petstore config set max-wait forever' },
    { says: 'Keep the history for 90 days', command: 'petstore config set keep-history 90d' },
  ],
  arguments: {
    setting: settingArgument(SETTINGS.filter(({ isSettable }) => isSettable)),
    value: argument(textValue, 'the new value'),
  },
  more: ['environments'],
  async run({ setting, value }, context) {
    // Before the lock: a value that is refused waits for no other petstore.
    setting.set(NO_CONFIG, value);
    checkDefault(setting.key, value);
    const { config, path } = await changeConfig(context, (before) => setting.set(before, value));
    const kept = setting.get(config) ?? '';
    return { ...shown(setting, kept, `${setting.key} is now ${kept} (${path}).`), isConfirmation: true };
  },
});

export const configUnset = defineCommand({
  path: 'config unset',
  common: 'output',
  summary: 'Remove one setting',
  examples: [{ says: 'No default environment', command: 'petstore config unset environment' }],
  arguments: { setting },
  more: ['environments'],
  async run({ setting }, context) {
    const { path } = await changeConfig(context, (before) => setting.unset(before));
    return { ...shown(setting, undefined, `${setting.key} is removed (${path}).`), isConfirmation: true };
  },
});

export const configPathCommand = defineCommand({
  path: 'config path',
  common: 'output',
  summary: 'Show where the config file is',
  examples: [{ says: 'Open it in an editor', command: '$EDITOR "$(petstore config path)"' }],
  more: ['environments'],
  run(_input, context) {
    const path = configPath(context);
    return Promise.resolve(record(path, [['path', path]]));
  },
});

function shown(setting: Setting, value: string | undefined, text: string): RecordView {
  return record(text, [
    ['setting', setting.key],
    ['value', value ?? null],
  ]);
}
