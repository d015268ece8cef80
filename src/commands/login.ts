import { listInventory } from '../client/list.ts';
import { defineCommand, flag, type InputOf } from '../cli/command.ts';
import { open } from '../session/connect.ts';
import {
  isRemoteEnvironment,
  parseBaseUrl,
  REMOTE_ENVIRONMENTS,
  type RemoteEnvironment,
} from '../session/environments.ts';
import { changeConfig, type ConfigFile, withSettings } from '../session/config-file.ts';
import type { CommandContext } from '../session/globals.ts';
import { takeKey } from '../session/settings.ts';
import { canAsk } from '../session/write-policy.ts';
import { readText } from '../session/read-text.ts';
import { Failure } from '../errors.ts';
import { confirmation, type RecordView } from '../view/view.ts';

/** No key is near this long. */
const MOST_KEY_BYTES = 16 * 1024;

const OPTIONS = {
  keyStdin: flag('--key-stdin', 'read the key from stdin, one line'),
  verify: flag('--no-verify', 'store the key without checking it'),
};

type LoginInput = InputOf<typeof OPTIONS>;

export const login = defineCommand({
  path: 'login',
  summary: 'Store the base URL and API key for an environment',
  description:
    'Asks for what is missing: environment, base URL and, hidden, the API key. ' +
    'The key is checked with one request, then stored in the config file, which only you can read. ' +
    'The key cannot be passed as an option, because other users can see command lines.',
  examples: [
    { says: 'At a terminal', command: 'petstore login' },
    {
      says: 'In a script',
      command: 'petstore login --env staging --base-url https://staging.example.com/v1 --key-stdin < key.txt',
    },
  ],
  options: OPTIONS,
  more: ['environments'],
  async run(input, context) {
    const file = await context.configFile();
    const environment = await askEnvironment(context, file);
    const baseUrl = await askBaseUrl(context, file, environment);
    const apiKey = await askKey(input, context, environment);
    if (input.verify) await verify(context, environment, baseUrl, apiKey);
    const kept = await changeConfig(context, (config) => ({
      ...withSettings(config, environment, { baseUrl: baseUrl.href, apiKey }),
      environment: config.environment ?? environment,
    }));
    warnOfShadows(context);
    return loggedIn(environment, baseUrl, kept, input.verify);
  },
});

async function askEnvironment(context: CommandContext, file: ConfigFile): Promise<RemoteEnvironment> {
  const said = context.globals.env ?? nonEmpty(context.env.PETSTORE_ENV);
  if (said === undefined && !canAsk(context)) {
    throw new Failure('no-terminal', { what: 'the environment', instead: 'Add --env staging or --env production.' });
  }
  const fallback = file.config.environment ?? 'production';
  const name =
    said ?? (await context.prompt.text(`Environment, ${REMOTE_ENVIRONMENTS.join(' or ')}`, fallback, context.signal));
  if (isRemoteEnvironment(name)) return name;
  if (name === 'sandbox') {
    throw new Failure('usage', {
      problem: 'The sandbox is built in and needs no login.',
      hint: 'Use it at once: petstore --env sandbox inventory list',
    });
  }
  const expected = REMOTE_ENVIRONMENTS.join(' or ');
  throw new Failure('invalid-value', { name: 'environment', value: name, expected });
}

async function askBaseUrl(context: CommandContext, file: ConfigFile, environment: RemoteEnvironment): Promise<URL> {
  const stored = file.config.environments[environment]?.baseUrl;
  const said = context.globals.baseUrl ?? nonEmpty(context.env.PETSTORE_BASE_URL);
  const ask = (): Promise<string> => context.prompt.text(`Base URL of ${environment}`, stored, context.signal);
  const text = said ?? (canAsk(context) ? await ask() : stored);
  if (text !== undefined) return parseBaseUrl(text, context.globals);
  throw new Failure('no-terminal', { what: 'the base URL', instead: 'Add --base-url https://HOST/v1' });
}

async function askKey(input: LoginInput, context: CommandContext, environment: string): Promise<string> {
  const key = await readKey(input, context, environment);
  return takeKey(context, key, input.keyStdin === true ? 'stdin' : 'the prompt');
}

async function readKey(input: LoginInput, context: CommandContext, environment: string): Promise<string> {
  // PowerShell's pipe begins with a BOM; a file or `echo` ends the line. Anything more is not a key.
  if (input.keyStdin === true) {
    return (await readText(context, '-', MOST_KEY_BYTES)).replace(/^\ufeff|\r?\n$/g, '');
  }
  if (canAsk(context)) return context.prompt.hidden(`API key of ${environment}`, context.signal);
  throw new Failure('no-terminal', {
    what: 'the API key',
    instead: 'Pass it on stdin: petstore login --key-stdin < FILE',
  });
}

/** One request. @throws {Failure} `unauthorized` and all else: nothing is kept then */
async function verify(
  context: CommandContext,
  environment: RemoteEnvironment,
  baseUrl: URL,
  apiKey: string,
): Promise<void> {
  context.notices.info(`Checking the key with one request to ${baseUrl.host}.`);
  await using session = await open(context, { environment, baseUrl, apiKey, keySource: 'this login' });
  // The first rows tell as much as all of them.
  await listInventory(session.service).next();
}

function warnOfShadows(context: CommandContext): void {
  for (const name of ['PETSTORE_API_KEY', 'PETSTORE_BASE_URL', 'PETSTORE_ENV']) {
    if (nonEmpty(context.env[name]) === undefined) continue;
    context.notices.warning(
      `${name} is set and overrides what is stored here; petstore status shows the active settings.`,
    );
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function loggedIn(environment: string, baseUrl: URL, file: ConfigFile, verified: boolean): RecordView {
  const isDefault = file.config.environment === environment;
  const use = isDefault
    ? ''
    : ` Use it with --env ${environment}, or always: petstore config set environment ${environment}`;
  const checked = verified ? 'The key works' : 'The key was not tried';
  return confirmation(
    `${checked}; it is kept in ${file.path}.\nLogged in to ${environment} at ${baseUrl.href}.${use}`,
    [
      ['environment', environment],
      ['baseUrl', baseUrl.href],
      ['verified', verified],
      ['config', file.path],
    ],
  );
}
