/** A failure as lines for people and as one JSON object for programs. */
import { stringifyJson, type JsonValue } from '../api/json.ts';
import type { Failure, ServiceError } from '../errors.ts';
import { describeFailure } from './failures.ts';
import { visible } from '../view/sanitise.ts';
import type { Style } from '../view/style.ts';

/** Commands that a hint proposes without saying the environment; of their help there is one for all. */
const COMMAND =
  /\bpetstore (?=(?:api|catalog|inventory|limits|login|proxy|smoke|wait)\b)(?![^.,;:(]* --(?:env|help|all-environments)\b)/g;

/** Adds the environment of this command, where --env said it: another shell may have another one. */
function withEnvironment(hint: string, env: string | undefined): string {
  return env === undefined ? hint : hint.replace(COMMAND, `petstore --env ${env} `);
}

/** Returns `error: …`, lines with more, and `hint: …`; less where the user stopped the command. */
export function formatErrorLines(failure: Failure, now: number, style: Style, env?: string): string[] {
  const { message, text: form, lines = [], hint } = describeFailure(failure, now);
  if (form === 'none') return [];
  const text = [
    form === 'plain' ? visible(message) : `${style.red('error:')} ${visible(message)}`,
    ...lines.map((line) => `  ${visible(line)}`),
  ];
  if (hint !== undefined) text.push(`${style.cyan('hint:')} ${visible(withEnvironment(hint, env))}`);
  return text;
}

/** Returns `{"error":{kind,message,exitCode,status?,code?,retryable,retryAt?,outcome?,details?,hint?}}`, times in ISO 8601. */
export function formatErrorJson(failure: Failure, now: number, env?: string): string {
  const { exit, message, lines, hint, retryable, retryAt, outcome } = describeFailure(failure, now);
  const serviceError = serviceErrorOf(failure);
  const members: [string, JsonValue | undefined][] = [
    ['kind', failure.kind],
    ['message', message],
    ['exitCode', exit],
    ['status', serviceError?.status],
    ['code', serviceError?.code],
    ['retryable', retryable],
    ['retryAt', retryAt === undefined ? undefined : new Date(retryAt).toISOString()],
    ['outcome', outcome],
    ['details', lines === undefined ? undefined : [...lines]],
    ['hint', hint === undefined ? undefined : withEnvironment(hint, env)],
  ];
  const present = members.filter((member): member is [string, JsonValue] => member[1] !== undefined);
  return stringifyJson(new Map([['error', new Map(present)]]));
}

/** Returns the service's error body; for a write with an unknown outcome, the one that answered the write. */
function serviceErrorOf(failure: Failure): ServiceError | undefined {
  if (failure.is('outcome-unknown')) return serviceErrorOf(failure.details.because);
  return 'serviceError' in failure.details ? failure.details.serviceError : undefined;
}
