import { argument, defineCommand } from '../cli/command.ts';
import { textValue } from '../cli/values.ts';
import { changeConfig, type ConfigFile, configPath } from '../session/config-file.ts';
import { settingNamed, SETTINGS, type Setting } from '../session/config-keys.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import { list, record, type RecordView } from '../view/view.ts';

const NAMES = SETTINGS.map(({ key }) => key);
const setting = argument({ parse: settingNamed, words: NAMES }, NAMES.join(', '));

export const configList = defineCommand({
  path: 'config list',
  summary: 'Show every setting in the config file',
  examples: [{ says: 'All settings, keys masked', command: 'petstore config list' }],
  more: ['environments'],
  async run(_input, context) {
    const { config } = await readReadable(context);
    const rows = SETTINGS.map((setting) => ({ key: setting.key, value: setting.get(config) }));
    return list(rows, { setting: ({ key }) => key, value: ({ value }) => value });
  },
});

export const configGet = defineCommand({
  path: 'config get',
  summary: 'Show one setting',
  examples: [{ says: 'The default environment', command: 'petstore config get environment' }],
  arguments: { setting },
  more: ['environments'],
  async run({ setting }, context) {
    const { config, path } = await readReadable(context);
    const value = setting.get(config);
    if (value === undefined) throw new Failure('config-unset', { key: setting.key, path });
    return shown(setting, value, value);
  },
});

export const configSet = defineCommand({
  path: 'config set',
  summary: 'Change one setting',
  examples: [{ says: 'Use staging from now on', command: 'petstore config set environment staging' }],
  arguments: { setting, value: argument(textValue, 'the new value') },
  more: ['environments'],
  async run({ setting, value }, context) {
    const { config, path } = await changeConfig(context, (before) => setting.set(before, value));
    const kept = setting.get(config) ?? '';
    return { ...shown(setting, kept, `${setting.key} is now ${kept} (${path}).`), isConfirmation: true };
  },
});

export const configUnset = defineCommand({
  path: 'config unset',
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
  summary: 'Show where the config file is',
  examples: [{ says: 'Open it in an editor', command: '$EDITOR "$(petstore config path)"' }],
  more: ['environments'],
  run(_input, context) {
    const path = configPath(context);
    return Promise.resolve(record(path, [['path', path]]));
  },
});

async function readReadable(context: CommandContext): Promise<ConfigFile> {
  const file = await context.configFile();
  if (file.unreadable === undefined) return file;
  throw new Failure('file', { operation: 'read', path: file.path, code: file.unreadable });
}

function shown(setting: Setting, value: string | undefined, text: string): RecordView {
  return record(text, [
    ['setting', setting.key],
    ['value', value ?? null],
  ]);
}
