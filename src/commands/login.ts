import { listInventory } from '../client/list.ts';
import { defineCommand, flag, type InputOf, option } from '../cli/command.ts';
import { open } from '../session/connect.ts';
import { isOneOf } from '../api/values.ts';
import {
  parseBaseUrl,
  partsOf,
  placeIn,
  REMOTE_ENVIRONMENTS,
  type RemoteEnvironment,
  suggestBaseUrl,
} from '../session/environments.ts';
import { canAsk, takeKey } from '../session/resolve.ts';
import { changeConfig, type Config, requireReadable } from '../session/config-file.ts';
import type { CommandContext } from '../session/globals.ts';
import { keyFromCommand } from '../session/key-command.ts';
import { find, inVariable, isExplicit, keyOf, resolve, SETTINGS, type Stored } from '../session/settings.ts';
import { shellWord } from '../session/run-commands.ts';
import { readText } from '../session/read-text.ts';
import { Failure, isFailure, usageFailure } from '../errors.ts';
import { splitWords, textValue, wordIn } from '../value-parsers.ts';
import { confirmation } from '../view/view.ts';

/** Real keys are much shorter. */
const MOST_KEY_BYTES = 16 * 1024;

const OPTIONS = {
  keyStdin: flag('--key-stdin', 'read the key from stdin, one line', { conflicts: ['keyCommand'] }),
  keyCommand: option('--key-command <command>', textValue, 'store a command that prints the key, instead of the key'),
  verify: flag('--no-verify', 'store the key without checking it'),
};

type LoginInput = InputOf<typeof OPTIONS>;

export const login = defineCommand({
  path: 'login',
  summary: 'Store the base URL and API key for an environment',
  description:
    'Asks for what is missing: the environment, the base URL and, at a hidden prompt, the API key. The key is ' +
    'checked with one request, then stored in the config file, which only you can read. The environment of the ' +
    'first login becomes the default. The key cannot be passed as an option, because other users can see command ' +
    'lines. With --key-command, the key is not stored: each command that needs it runs yours, without a shell, and ' +
    'reads the key from its stdout.',
  examples: {
    'At a terminal': 'petstore login',
    'In a script': 'petstore login --env staging --base-url https://staging.example.com/v1 --key-stdin < key.txt',
    'With a password manager': "petstore login --env staging --key-command 'pass show petstore/staging'",
  },
  options: OPTIONS,
  more: ['environments'],
  async run(input, context) {
    const { config: before } = requireReadable(await context.configFile());
    const stored = { env: context.env, config: before };
    const environment = await chooseEnvironment(context, stored);
    const to = { environment, baseUrl: await chooseBaseUrl(context, environment, stored) };
    const key = await chooseKey(input, context, to);
    const { config, path } = await changeConfig(context, (present) => ({
      environment: present.environment ?? environment,
      [`${environment}.base-url`]: to.baseUrl.href,
      [`${environment}.api-key`]: undefined,
      [`${environment}.key-command`]: undefined,
      [`${environment}.${key.name}`]: key.value,
    }));
    warnOfShadows(context, environment, config);
    const checked = input.verify ? 'The key works' : 'The key was not tried';
    const kept = input.keyCommand === undefined ? 'it is stored' : 'the command that prints it is stored';
    const baseUrl = to.baseUrl.href;
    return confirmation(
      `${checked}; ${kept} in ${path}.\n` +
        `Logged in to ${environment} at ${baseUrl}.${useText(context, environment, before, config)}`,
      { environment, baseUrl, verified: input.verify, config: path },
    );
  },
});

/** Describes how to use the environment, unless it was the default already. */
function useText({ env }: CommandContext, environment: RemoteEnvironment, before: Config, after: Config): string {
  const profile = inVariable(SETTINGS.profile, env);
  const chosen = profile === undefined ? '' : `--profile ${profile} `;
  if (after.environment !== environment) {
    const place = placeIn(profile, environment);
    return ` Use it with --env ${place}, or always: petstore ${chosen}config set environment ${environment}`;
  }
  if (chosen !== '') return ` Use it with ${chosen.trim()}.`;
  return before.environment === undefined ? ` ${environment} is now your default environment.` : '';
}

async function chooseEnvironment(context: CommandContext, stored: Stored): Promise<RemoteEnvironment> {
  const { globals, prompt, signal } = context;
  const found = resolve(SETTINGS.env, { ...stored, option: globals.env });
  const name = partsOf(found.value).environment;
  const names = REMOTE_ENVIRONMENTS.join(' or ');
  if (!isExplicit(found)) {
    const read = (text: string): RemoteEnvironment | undefined => wordIn(REMOTE_ENVIRONMENTS, text);
    const problemOf = (typed: string): string | undefined =>
      read(typed) === undefined ? `Type ${names}. The sandbox needs no login.` : undefined;
    if (canAsk(context))
      return read(await prompt.text(`Environment, ${names}`, read(name) ?? 'production', signal, problemOf))!;
    throw new Failure('no-terminal', { what: 'the environment', instead: 'Add --env staging or --env production.' });
  }
  if (isOneOf(REMOTE_ENVIRONMENTS, name)) return name;
  const isVariable = found.source.from === 'variable';
  throw usageFailure(
    `${isVariable ? 'PETSTORE_ENV is sandbox: the' : 'The'} sandbox is built in and needs no login.`,
    isVariable
      ? 'To log in to your store: petstore login --env production'
      : 'Use it at once: petstore --env sandbox inventory list',
  );
}

async function chooseBaseUrl(context: CommandContext, environment: string, stored: Stored): Promise<URL> {
  const found = find(SETTINGS.baseUrl, { ...stored, environment, option: context.globals.baseUrl });
  if (!isExplicit(found) && canAsk(context)) return await askBaseUrl(context, environment, found?.value);
  if (found !== undefined) return parseBaseUrl(found.value, context.globals);
  throw new Failure('no-terminal', { what: 'the base URL', instead: 'Add --base-url https://HOST/v1' });
}

/** Returns what to store: a key or a key command. Either replaces the other. @param to the service to log in to */
async function chooseKey(
  { keyCommand, keyStdin, verify }: LoginInput,
  context: CommandContext,
  to: { readonly environment: RemoteEnvironment; readonly baseUrl: URL },
): Promise<{ name: 'api-key' | 'key-command'; value: string }> {
  /** Sends one request with the key. @throws {Failure} `unauthorized` and others; nothing is stored then */
  const check = async (apiKey: string): Promise<void> => {
    if (!verify) return;
    context.notices.info(`Checking the key with one request to ${to.baseUrl.host}.`);
    const environment = placeIn(inVariable(SETTINGS.profile, context.env), to.environment);
    await using session = await open(context, { ...to, environment, apiKey, keySource: 'this login' });
    // The first rows prove as much as the whole list.
    await listInventory(session.service, 'show').next();
  };
  if (keyCommand !== undefined) {
    const words = splitWords(keyCommand, context.machine.platform);
    if (verify) await check(takeKey(context, await keyFromCommand(context, keyCommand, words), 'the key command'));
    return { name: 'key-command', value: keyCommand };
  }
  if (keyStdin === true) {
    // PowerShell's pipes begin with a BOM; files and `echo` end with a line break. takeKey refuses anything else.
    const text = (await readText(context, '-', MOST_KEY_BYTES)).replace(/^\ufeff|\r?\n$/g, '');
    const value = takeKey(context, text, 'stdin');
    await check(value);
    return { name: 'api-key', value };
  }
  if (canAsk(context)) return { name: 'api-key', value: await askKey(context, to.environment, check) };
  const address = context.globals.baseUrl === undefined ? '' : ` --base-url ${shellWord(to.baseUrl.href)}`;
  throw new Failure('no-terminal', {
    what: 'the API key',
    instead: `Pass it on stdin: petstore login${address} --key-stdin < FILE`,
  });
}

/** Warns of variables that override the stored settings with other values. */
function warnOfShadows({ env, notices }: CommandContext, environment: RemoteEnvironment, config: Config): void {
  for (const setting of [SETTINGS.apiKey, SETTINGS.baseUrl, SETTINGS.env]) {
    const kept = setting === SETTINGS.env ? environment : config[keyOf(setting, environment)];
    const found = env[setting.variable] ?? '';
    // `berlin/staging` names the profile too.
    const active = found === placeIn(inVariable(SETTINGS.profile, env), environment) ? environment : found;
    if (active === '' || active === kept || active.replace(/\/+$/, '') === kept) continue;
    notices.warning(
      `${setting.variable} is set and overrides what is stored here; petstore status shows the active settings.`,
    );
  }
}

/** Asks for the URL, and suggests the one probably meant. @param stored taken if the user types nothing */
async function askBaseUrl(context: CommandContext, name: string, stored: string | undefined): Promise<URL> {
  const { globals, notices, prompt, signal } = context;
  const problemOf = (typed: string): string | undefined =>
    typed === '' ? 'Type the base URL. The operator of your service knows it.' : undefined;
  for (;;) {
    const text = await prompt.text(`Base URL of ${name} (https://…/v1)`, stored, signal, problemOf);
    try {
      return parseBaseUrl(text, globals);
    } catch (error) {
      if (!isFailure(error) || !error.is('base-url')) throw error;
      const suggested = suggestBaseUrl(text);
      if (suggested !== undefined && (await prompt.confirm(`Use ${suggested.href}?`, signal, true))) return suggested;
      const { shown, problem, hint } = error.details;
      if (suggested === undefined) notices.warning(`The base URL ${shown} ${problem}. ${hint}`);
    }
  }
}

/** Asks for the key until the service accepts it. @param check sends a request with the key */
async function askKey(
  context: CommandContext,
  environment: string,
  check: (key: string) => Promise<void>,
): Promise<string> {
  const { notices, prompt, signal } = context;
  for (;;) {
    const typed = await prompt.hidden(`API key of ${environment}`, signal);
    try {
      const key = takeKey(context, typed.trim(), 'the prompt');
      await check(key);
      return key;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (error.is('key-malformed')) notices.warning(`The key ${error.details.problem}. Type it again.`);
      // If the service refused a gateway's own key, typing another one does not help.
      else if (error.is('unauthorized') && error.details.gateway !== 'passed') notices.warning(refusal(error));
      else throw error;
    }
  }
}

function refusal({ details }: Failure<'unauthorized'>): string {
  const { message } = details.serviceError;
  const reason = message === undefined ? '' : ` (${message.replace(/\.$/, '')})`;
  const what = details.gateway === undefined ? `The service refused the key${reason}` : 'The gateway does not know it';
  return `${what}. It was not saved; check it and type it again.`;
}
