import { argument, defineCommand } from '../cli/command.ts';
import { textValue, wordValue } from '../cli/values.ts';
import { changeConfig, configPath, readConfigFile, requireReadable } from '../session/config-file.ts';
import { profilesFolder } from '../session/paths.ts';
import { maskKey } from '../session/resolve.ts';
import { commandFor, CONFIG_SETTINGS, SETTINGS } from '../session/settings.ts';
import { Failure } from '../errors.ts';
import { list, record, type RecordView } from '../view/view.ts';

const KEYS = [...CONFIG_SETTINGS.keys()];
const key = keyArgument(KEYS);

function keyArgument(offered: readonly string[]) {
  return argument({ ...wordValue(KEYS), words: offered }, offered.join(', '));
}

function isSecret(key: string): boolean {
  return CONFIG_SETTINGS.get(key)?.isSecret === true;
}

/** Returns what the config has, as it may be shown. */
function shownValue(key: string, config: Readonly<Record<string, string>>): string | undefined {
  const value = config[key];
  return value !== undefined && isSecret(key) ? maskKey(value) : value;
}

export const configList = defineCommand({
  path: 'config list',
  summary: 'Show every setting in the config file',
  examples: [{ says: 'All settings, keys masked', command: 'petstore config list' }],
  async run(_input, context) {
    const { config } = requireReadable(await context.configFile());
    return list(KEYS, { setting: (key) => key, value: (key) => shownValue(key, config) });
  },
});

export const configGet = defineCommand({
  path: 'config get',
  summary: 'Show one setting',
  examples: [{ says: 'The default environment', command: 'petstore config get environment' }],
  arguments: { setting: key },
  async run({ setting }, context) {
    const { config, path } = requireReadable(await context.configFile());
    const value = shownValue(setting, config);
    if (value === undefined) throw new Failure('config-unset', { key: setting, path, command: commandFor(setting) });
    return shown(setting, value, value);
  },
});

export const configSet = defineCommand({
  path: 'config set',
  summary: 'Change one setting',
  examples: [
    { says: 'Use staging from now on', command: 'petstore config set environment staging' },
    { says: 'Wait as long as the rate limit needs', command: 'petstore config set max-wait forever' },
    { says: 'Keep the history for 90 days', command: 'petstore config set keep-history 90d' },
  ],
  arguments: {
    setting: keyArgument(KEYS.filter((each) => !isSecret(each))),
    value: argument(textValue, 'the new value'),
  },
  async run({ setting, value }, context) {
    const spec = CONFIG_SETTINGS.get(setting)!;
    // Before the lock: a value that is refused waits for no other petstore.
    const parsed = spec.parser.parse(value, setting);
    const kept = typeof parsed === 'string' ? parsed : value;
    const replaced = spec === SETTINGS.keyCommand ? { [setting.replace('key-command', 'api-key')]: undefined } : {};
    const { path } = await changeConfig(context, () => ({ [setting]: kept, ...replaced }));
    return { ...shown(setting, kept, `${setting} is now ${kept} (${path}).`), isConfirmation: true };
  },
});

export const configUnset = defineCommand({
  path: 'config unset',
  summary: 'Remove one setting',
  examples: [{ says: 'No default environment', command: 'petstore config unset environment' }],
  arguments: { setting: key },
  async run({ setting }, context) {
    const { path } = await changeConfig(context, () => ({ [setting]: undefined }));
    return { ...shown(setting, undefined, `${setting} is removed (${path}).`), isConfirmation: true };
  },
});

export const configProfiles = defineCommand({
  path: 'config profiles',
  summary: 'Show the profiles: one for each of several shops',
  description:
    'A profile has its own settings, keys, catalog and history. petstore login --profile NAME creates one; --profile, ' +
    'PETSTORE_PROFILE or --env NAME/ENVIRONMENT uses it. The rate limit of a key holds in all of them.',
  examples: [
    { says: 'All profiles', command: 'petstore config profiles' },
    { says: 'A new one', command: 'petstore login --profile berlin' },
  ],
  async run(_input, context) {
    const names = await context.files.list(profilesFolder(context));
    const profiles = await Promise.all(
      names.toSorted().map(async (name) => {
        const { config } = await readConfigFile({ ...context, env: { ...context.env, PETSTORE_PROFILE: name } });
        return { name, config };
      }),
    );
    return list(
      profiles,
      {
        profile: ({ name }) => name,
        environment: ({ config }) => config.environment,
        production: ({ config }) => config['production.base-url'],
        staging: ({ config }) => config['staging.base-url'],
      },
      { empty: 'There are no profiles. Create one: petstore login --profile berlin' },
    );
  },
});

export const configPathCommand = defineCommand({
  path: 'config path',
  summary: 'Show where the config file is',
  examples: [{ says: 'Open it in an editor', command: '$EDITOR "$(petstore config path)"' }],
  run(_input, context) {
    const path = configPath(context);
    return Promise.resolve(record(path, [['path', path]]));
  },
});

function shown(setting: string, value: string | undefined, text: string): RecordView {
  return record(text, [
    ['setting', setting],
    ['value', value ?? null],
  ]);
}
