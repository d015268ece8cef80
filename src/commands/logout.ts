import { defineCommand, flag } from '../cli/command.ts';
import { partsOf, REMOTE_ENVIRONMENTS } from '../session/environments.ts';
import { changeConfig, requireReadable } from '../session/config-file.ts';
import { usageFailure } from '../errors.ts';
import { confirmation } from '../view/view.ts';

export const logout = defineCommand({
  path: 'logout',
  common: 'environment',
  summary: 'Remove the stored API key of an environment',
  description: 'Removes the key, or the key command, from the config file. The base URL stays. Nothing is sent.',
  examples: {
    'The active environment': 'petstore logout',
    'Every key': 'petstore logout --all',
  },
  options: { all: flag('--all', 'the keys of all environments') },
  more: ['environments'],
  async run({ all }, context) {
    const { value } = (await context.settings()).environment;
    if (all !== true && value === 'sandbox') {
      throw usageFailure('The key of the sandbox is built in.', 'Name one: --env staging');
    }
    const file = requireReadable(await context.configFile());
    const names = REMOTE_ENVIRONMENTS.filter((name) => all === true || name === partsOf(value).environment);
    const keysOf = (name: string): string[] => [`${name}.api-key`, `${name}.key-command`];
    const dropped = names.filter((name) => keysOf(name).some((key) => key in file.config));
    if (dropped.length > 0) {
      const changes = Object.fromEntries(names.flatMap(keysOf).map((key) => [key, undefined]));
      await changeConfig(context, () => changes);
    }
    if ((context.env.PETSTORE_API_KEY ?? '') !== '') {
      context.notices.warning('PETSTORE_API_KEY is set, and petstore still uses the key in it.');
    }
    const text =
      dropped.length === 0
        ? `No key for ${names.join(' or ')} in ${file.path}.`
        : `The key for ${dropped.join(' and ')} is removed from ${file.path}.`;
    return confirmation(text, { loggedOut: [...dropped] }, { csv: { loggedOut: dropped.join(' ') } });
  },
});
