/**
 * Failures in words: what happened and the offending value, then what to do next; and the exit code of each.
 * The one exhaustive table. Nothing here is sanitised or redacted: the console does both.
 */
import type { FailureDetails, Failure, Kind } from '../errors.ts';
import { CAUSES_FIRST_TO_LAST } from './exit-codes.ts';
import { clockTime, duration } from '../view/progress.ts';
import {
  describeNetwork,
  describeRateLimit,
  describeState,
  describeUnknown,
  interruptedSentence,
  count,
  networkHint,
  said,
  stateHint,
  systemWords,
  unknownHint,
  unsent,
  waitHint,
  type Wording,
} from './messages-service.ts';
import { BULK_MESSAGES } from './messages-bulk.ts';

export type { Wording };

type Words = { readonly [K in Kind]: (facts: FailureDetails[K], now: number) => Wording };

const LOGIN = 'Log in with: petstore login';
const LIST = 'See which pets there are: petstore inventory list';

const MESSAGES = {
  usage: ({ problem, hint }) => ({ exit: 2, sentence: problem, hint: hint ?? 'See petstore --help.' }),
  'invalid-value': ({ name, value, expected, hint }) => ({
    exit: 2,
    sentence: `${name} is ${JSON.stringify(value)}, but must be ${expected}.`,
    ...(hint !== undefined && { hint }),
  }),
  'production-not-confirmed': ({ command }) => ({
    exit: 2,
    sentence: 'Without a terminal, a write to production must be said explicitly; nothing was sent.',
    hint: `Add --env production (or PETSTORE_ENV=production, or --yes): petstore --env production ${command}`,
  }),
  declined: ({ action }) => ({ exit: 2, sentence: `${action} was not confirmed; nothing was changed.` }),
  'no-terminal': ({ what, instead }) => ({
    exit: 2,
    sentence: `${what} cannot be asked for: there is no terminal to ask on.`,
    hint: instead,
  }),

  'config-invalid': ({ path, problem, line, column }) => ({
    exit: 3,
    sentence: `The config file ${path}${line === undefined ? '' : `:${line}:${column}`} ${problem}; it was left as it is.`,
    hint: 'Mend it in an editor, or move it away and log in again: petstore login',
  }),
  'config-newer': ({ path, version }) => ({
    exit: 3,
    sentence: `The config file ${path} has version ${version}, which a newer petstore wrote; it was left as it is.`,
    hint: 'Update petstore, or use the version that wrote the file.',
  }),
  'config-not-a-file': ({ path, found }) => ({
    exit: 3,
    sentence: `The config ${path} is a ${found === 'other' ? 'special file' : found}, not a plain file, and was not touched.`,
    hint: 'Move it away, then log in again: petstore login',
  }),
  'config-unset': ({ key, path }) => ({
    exit: 3,
    sentence: `The setting ${key} has no value in ${path}.`,
    hint: `Give it one: petstore config set ${key} VALUE`,
  }),
  'no-home': ({ what, variable, problem }) => ({
    exit: 3,
    sentence: `There is no folder to keep the ${what} in: ${problem}.`,
    hint: `Set HOME, or ${variable} to an absolute path.`,
  }),
  file: ({ operation, path, code }) => ({
    exit: 3,
    sentence: `Could not ${operation} ${path}: ${systemWords(code)}.`,
    hint: 'What was there before is unchanged; mend the cause and run the command again.',
  }),
  state: (facts) => ({
    exit: 3,
    sentence: describeState(facts),
    hint: stateHint(facts),
    retryable: facts.problem === 'held',
  }),
  port: ({ host, port, code, free }) => ({
    exit: 3,
    sentence:
      code === 'EADDRINUSE'
        ? `Port ${port} of ${host} is in use.`
        : `The sandbox cannot listen on port ${port} of ${host}: ${systemWords(code)}.`,
    hint:
      free === undefined
        ? 'Choose another with --port, or another address with --host.'
        : `This one is free: petstore sandbox serve --port ${free}`,
  }),
  'base-url': ({ shown, problem, hint }) => ({ exit: 3, sentence: `The base URL ${shown} ${problem}.`, hint }),
  'no-base-url': ({ environment }) => ({
    exit: 3,
    sentence: `No base URL is known for ${environment}.`,
    hint: `Say it once with petstore login --env ${environment}, or each time with --base-url or PETSTORE_BASE_URL.`,
  }),
  'not-the-service': ({ url }) => ({
    exit: 3,
    sentence: `There is no inventory at ${url} (404).`,
    hint: 'Check the base URL: it must be the address of the service and end in /v1; petstore status shows it.',
  }),
  output: ({ code }) => ({
    exit: 3,
    sentence: `The output could not be written: ${systemWords(code)}.`,
    hint: 'What was written is incomplete; do not use it.',
  }),

  'no-key': ({ environment }) => ({
    exit: 4,
    sentence: `There is no API key for ${environment}.`,
    hint: `${LOGIN} (or set PETSTORE_API_KEY). To try petstore without a key: petstore --env sandbox inventory list`,
  }),
  'key-unreadable': ({ path, code }) => ({
    exit: 4,
    sentence: `The API key could not be read from ${path}: ${systemWords(code)}.`,
    hint: `Make the file readable for yourself (chmod 600 ${path}), or set PETSTORE_API_KEY.`,
  }),
  'key-malformed': ({ source, problem, hint = 'Give the key alone, on one line.' }) => ({
    exit: 4,
    sentence: `The API key from ${source} ${problem}, so it cannot be sent; its value is not shown.`,
    hint,
  }),
  unauthorized: ({ said: they, environment, keySource }) => ({
    exit: 4,
    sentence: `${capital(environment)} refused the API key from ${keySource} (401${said(they)}).`,
    hint: LOGIN,
  }),

  'pet-not-found': ({ petId, environment, said: they }) => ({
    exit: 5,
    sentence: `Pet ${petId} was not found in ${environment}${they === undefined ? '' : ` (404${said(they)})`}.`,
    hint: LIST,
  }),

  'rate-limited': (facts, now) => ({
    exit: 6,
    sentence: describeRateLimit(facts, now),
    hint: waitHint(facts, now),
    retryable: true,
    retryAt: facts.retryAt,
  }),
  banned: (facts, now) => ({
    exit: 12,
    sentence: `The key may be banned (403): petstore sends nothing with it until ${clockTime(facts.retryAt, now)}.`,
    hint: 'Stop every job that uses this key, and ask the owners of the service.',
    retryAt: facts.retryAt,
  }),
  paused: (facts, now) => ({
    exit: 8,
    sentence: `The service is unavailable (503) and named ${clockTime(facts.retryAt, now)} as the time to try again; ${unsent(facts)}.`,
    hint: waitHint(facts, now),
    retryable: true,
    retryAt: facts.retryAt,
  }),

  network: (facts) => ({
    exit: 7,
    sentence: describeNetwork(facts),
    hint: networkHint(facts),
    retryable: facts.phase !== 'tls',
  }),
  deadline: ({ deadlineMs }) => ({
    exit: 7,
    sentence: `The command did not end within its deadline of ${duration(deadlineMs)}.`,
    hint: 'Allow more with --deadline.',
    retryable: true,
  }),

  'service-failed': ({ said: they, attempts, retryAt }, now) => ({
    exit: 8,
    sentence:
      `The service failed (${they.status}${said(they)}) in ${count(attempts, 'attempt')}.` +
      (retryAt === undefined ? '' : ` It says it is available after ${clockTime(retryAt, now)}.`),
    hint: 'Try again later, and tell the owners of the service if it lasts.',
    retryable: true,
    ...(retryAt !== undefined && { retryAt }),
  }),
  contract: ({ what, problem }) => ({
    exit: 8,
    sentence: `${what} ${problem}: an invalid response.`,
    hint: 'Tell the owners of the service; --debug shows more.',
  }),
  redirected: ({ status, origin }) => ({
    exit: 8,
    sentence: `The service redirects (${status})${origin === undefined ? '' : ` to ${origin}`}; petstore never follows, and did not send the key there.`,
    hint: 'If the new address is right, make it the base URL: petstore login',
  }),
  'unexpected-status': ({ said: they }) => ({
    exit: 8,
    sentence: `The service answered with a status that its contract does not have here (${they.status}${said(they)}).`,
    hint: 'This petstore may be outdated: update it, and tell the owners of the service if that does not help.',
  }),

  'outcome-unknown': (facts, now) => ({
    exit: 9,
    sentence: describeUnknown(facts, describeFailure(facts.because, now).sentence),
    hint: unknownHint(facts),
  }),
  unrecorded: ({ petId, quantity, environment, because }, now) => ({
    exit: describeFailure(because, now).exit,
    sentence: `Pet ${petId} was set to ${quantity} in ${environment}, but that could not be recorded. ${describeFailure(because, now).sentence}`,
    hint: 'Do not repeat the write. Fix the cause before the next command.',
  }),
  'stored-differently': ({ petId, quantity, stored, environment }) => ({
    exit: 9,
    sentence: `Pet ${petId} was to be set to ${quantity} in ${environment}, but the server stored ${stored.quantity} for pet ${stored.petId}.`,
    hint: LIST,
  }),

  rejected: ({ said: they }) => ({
    exit: 10,
    sentence: `The service refused the value (400${said(they)}).`,
    hint: 'Fix the value and run the command again.',
  }),
  forbidden: ({ said: they, environment }) => ({
    exit: 12,
    sentence: `${capital(environment)} forbids this (403${said(they)}): the key may be banned.`,
    hint: 'Stop every job that uses this key, and ask the owners of the service.',
  }),

  ...BULK_MESSAGES,

  'not-as-expected': ({ petId, expected, found }) => ({
    exit: 13,
    sentence: `Pet ${petId} has a quantity of ${found}, not the expected ${expected}; nothing was changed.`,
    hint: `Look again, then run the command with --expect ${found}.`,
  }),
  'below-zero': ({ petId, found, delta }) => ({
    exit: 13,
    sentence: `Pet ${petId} has a quantity of ${found}, and ${delta} would take it below zero; nothing was changed.`,
    hint: 'If a quantity below zero is really meant, add --allow-negative.',
  }),
  interrupted: (facts) => ({
    exit: { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[facts.signal],
    sentence: interruptedSentence(facts),
    ...(facts.outcome === 'unknown' && facts.write !== undefined && { hint: unknownHint(facts.write) }),
  }),
  bug: ({ message }) => ({
    exit: 1,
    sentence: `This is a bug in petstore: ${message}`,
    hint: 'Please report it with the command and the output of the same command with --debug.',
  }),
} as const satisfies Words;

export function describeFailure(failure: Failure, now: number): Wording {
  const words = MESSAGES[failure.kind] as (facts: unknown, now: number) => Wording;
  return words(failure.details, now);
}

/** Returns the cause that a script has to know first, whichever came first; of equal ones the earliest. */
export function firstCause(causes: readonly Failure[]): Failure | undefined {
  const place = (failure: Failure): number => {
    const at = CAUSES_FIRST_TO_LAST.indexOf(describeFailure(failure, 0).exit);
    return at === -1 ? CAUSES_FIRST_TO_LAST.length : at;
  };
  return causes.toSorted((a, b) => place(a) - place(b))[0];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
