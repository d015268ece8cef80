import { defineCommand } from '../cli/command.ts';
import { partsOf } from '../session/environments.ts';
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
    'Another one': 'petstore logout --env staging',
  },
  more: ['environments'],
  async run(_input, context) {
    const { environment } = partsOf((await context.settings()).environment.value);
    if (environment === 'sandbox') {
      throw usageFailure('The key of the sandbox is built in.', 'Name one: --env staging');
    }
    const { config, path } = requireReadable(await context.configFile());
    const keys = [`${environment}.api-key`, `${environment}.key-command`];
    const isStored = keys.some((key) => key in config);
    if (isStored) await changeConfig(context, () => Object.fromEntries(keys.map((key) => [key, undefined])));
    if ((context.env.PETSTORE_API_KEY ?? '') !== '') {
      context.notices.warning('PETSTORE_API_KEY is set, and petstore still uses the key in it.');
    }
    const text = isStored
      ? `The key for ${environment} is removed from ${path}.`
      : `No key for ${environment} in ${path}.`;
    const csv = { loggedOut: isStored ? environment : '' };
    return confirmation(text, { loggedOut: isStored ? [environment] : [] }, { csv });
  },
});
