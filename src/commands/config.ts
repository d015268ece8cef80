import { argument, defineCommand } from '../cli/command.ts';
import { textValue, wordValue } from '../value-parsers.ts';
import { changeConfig, configPath, readConfigFile, requireReadable } from '../session/config-file.ts';
import { profilesFolder } from '../session/paths.ts';
import { maskKey } from '../session/resolve.ts';
import { commandFor, CONFIG_SETTINGS, isProfileName, SETTINGS } from '../session/settings.ts';
import { Failure } from '../errors.ts';
import { confirmation, list, record } from '../view/view.ts';

const KEYS = [...CONFIG_SETTINGS.keys()];
const key = keyArgument(KEYS);

function keyArgument(offered: readonly string[]) {
  return argument({ ...wordValue(KEYS), words: offered }, offered.join(', '));
}

function isSecret(key: string): boolean {
  return CONFIG_SETTINGS.get(key)?.isSecret === true;
}

/** Returns a value of the config, masked if it is a key. */
function shownValue(key: string, config: Readonly<Record<string, string>>): string | undefined {
  const value = config[key];
  return value !== undefined && isSecret(key) ? maskKey(value) : value;
}

export const configList = defineCommand({
  path: 'config list',
  summary: 'Show every setting in the config file',
  examples: { 'All settings, keys masked': 'petstore config list' },
  async run(_input, context) {
    const { config } = requireReadable(await context.configFile());
    return list(KEYS, { setting: (key) => key, value: (key) => shownValue(key, config) });
  },
});

export const configGet = defineCommand({
  path: 'config get',
  summary: 'Show one setting',
  examples: { 'The default environment': 'petstore config get environment' },
  arguments: { setting: key },
  async run({ setting }, context) {
    const { config, path } = requireReadable(await context.configFile());
    const value = shownValue(setting, config);
    if (value === undefined) throw new Failure('config-unset', { key: setting, path, command: commandFor(setting) });
    return record(value, { setting, value });
  },
});

export const configSet = defineCommand({
  path: 'config set',
  summary: 'Change one setting',
  examples: {
    'Use staging from now on': 'petstore config set environment staging',
    'Wait as long as the rate limit requires': 'petstore config set max-wait forever',
    'Keep the history for 90 days': 'petstore config set keep-history 90d',
  },
  arguments: {
    setting: keyArgument(KEYS.filter((each) => !isSecret(each))),
    value: argument(textValue, 'the new value'),
  },
  async run({ setting, value }, context) {
    const spec = CONFIG_SETTINGS.get(setting)!;
    // Parsed before the lock is taken: an invalid value fails without waiting for another petstore.
    const parsed = spec.parser.parse(value, setting);
    const kept = typeof parsed === 'string' ? parsed : value;
    const replaced = spec === SETTINGS.keyCommand ? { [setting.replace('key-command', 'api-key')]: undefined } : {};
    const { config } = await context.configFile();
    const { path } = await changeConfig(context, () => ({ [setting]: kept, ...replaced }));
    const { variable = '' } = spec;
    if (!['', kept].includes(context.env[variable] ?? '')) {
      context.notices.warning(`${variable} is set, and overrides this setting.`);
    }
    const hadKey = Object.keys(replaced).some((name) => config[name] !== undefined);
    const instead = hadKey ? ', in place of the stored API key' : '';
    return confirmation(`${setting} is now ${kept}${instead} (${path}).`, { setting, value: kept });
  },
});

export const configUnset = defineCommand({
  path: 'config unset',
  summary: 'Remove one setting',
  examples: { 'No default environment': 'petstore config unset environment' },
  arguments: { setting: key },
  async run({ setting }, context) {
    const { config } = await context.configFile();
    if (config[setting] === undefined) return confirmation(`${setting} is not set.`, { setting, value: null });
    const { path } = await changeConfig(context, () => ({ [setting]: undefined }));
    return confirmation(`${setting} is removed (${path}).`, { setting, value: null });
  },
});

export const configProfiles = defineCommand({
  path: 'config profiles',
  summary: 'Show the profiles, one for each shop',
  description:
    'A profile has its own settings, keys, catalog and history. petstore login --profile NAME creates one; use it ' +
    'with --profile, PETSTORE_PROFILE or --env NAME/ENVIRONMENT. The rate limit of a key applies in all profiles.',
  examples: {
    'All profiles': 'petstore config profiles',
    'A new one': 'petstore login --profile berlin',
  },
  async run(_input, context) {
    // File managers leave files of their own there.
    const names = (await context.files.list(profilesFolder(context))).filter(isProfileName);
    const profiles = await Promise.all(
      names.toSorted().map(async (name) => {
        const file = await readConfigFile({ ...context, env: { ...context.env, PETSTORE_PROFILE: name } });
        return { name, config: requireReadable(file).config };
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
  examples: { 'Open it in an editor': '$EDITOR "$(petstore config path)"' },
  run(_input, context) {
    const path = configPath(context);
    return record(path, { path });
  },
});
