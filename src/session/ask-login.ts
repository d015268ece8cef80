/** The questions of `petstore login`: each is asked again until its answer can be used. */
import { type Failure, isFailure } from '../errors.ts';
import {
  isRemoteEnvironment,
  parseBaseUrl,
  REMOTE_ENVIRONMENTS,
  type RemoteEnvironment,
  suggestBaseUrl,
} from './environments.ts';
import type { CommandContext } from './globals.ts';
import { takeKey } from './resolve.ts';

/** @param fallback the answer of Enter alone */
export async function askEnvironment(context: CommandContext, fallback: RemoteEnvironment): Promise<RemoteEnvironment> {
  const { notices, prompt, signal } = context;
  const names = REMOTE_ENVIRONMENTS.join(' or ');
  for (;;) {
    const name = (await prompt.text(`Environment, ${names}`, fallback, signal)).toLowerCase();
    if (isRemoteEnvironment(name)) return name;
    if (name === 'sandbox') notices.warning(`The sandbox is built in and needs no login. Type ${names}.`);
    else notices.warning(`${JSON.stringify(name)} is not an environment. Type ${names}.`);
  }
}

/** Offers the URL that was probably meant. @param stored the answer of Enter alone */
export async function askBaseUrl(context: CommandContext, name: string, stored: string | undefined): Promise<URL> {
  const { globals, notices, prompt, signal } = context;
  for (;;) {
    const text = await prompt.text(`Base URL of ${name} (https://…/v1)`, stored, signal);
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

/** @param check tries the key; where the service refuses it, the question is asked again */
export async function askKey(
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
      else if (error.is('unauthorized')) notices.warning(refusal(error));
      else throw error;
    }
  }
}

function refusal({ details }: Failure<'unauthorized'>): string {
  const { message } = details.serviceError;
  const reason = message === undefined ? '' : ` (${message.replace(/\.$/, '')})`;
  return `The service refused the key${reason}. It was not saved; check it and type it again.`;
}
