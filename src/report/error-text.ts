/** A failure as lines for people and as one JSON object for programs. */
import { stringifyJson, type JsonValue } from '../api/json.ts';
import type { Failure, Outcome, ServiceError } from '../errors.ts';
import { describeFailure } from './messages.ts';
import { visible } from '../view/sanitise.ts';
import type { Style } from '../view/style.ts';

export function failureLines(failure: Failure, now: number, style: Style): string[] {
  const { sentence, details = [], hint } = describeFailure(failure, now);
  const lines = [`${style.red('error:')} ${visible(sentence)}`, ...details.map((line) => `  ${visible(line)}`)];
  if (hint !== undefined) lines.push(`${style.cyan('hint:')} ${visible(hint)}`);
  return lines;
}

/** `{"error":{kind,message,exitCode,status?,code?,retryable,retryAt?,outcome?,hint?}}`, times in ISO 8601. */
export function failureJson(failure: Failure, now: number): string {
  const { exit, sentence, details, hint, retryable, retryAt } = describeFailure(failure, now);
  const said = saidOf(failure);
  const outcome = outcomeOf(failure);
  const members: [string, JsonValue | undefined][] = [
    ['kind', failure.kind],
    ['message', sentence],
    ['exitCode', exit],
    ['status', said?.status],
    ['code', said?.code],
    ['retryable', retryable === true],
    ['retryAt', retryAt === undefined ? undefined : new Date(retryAt).toISOString()],
    ['outcome', outcome],
    ['details', details === undefined ? undefined : [...details]],
    ['hint', hint],
  ];
  const present = members.filter((member): member is [string, JsonValue] => member[1] !== undefined);
  return stringifyJson(new Map([['error', new Map(present)]]));
}

function saidOf(failure: Failure): ServiceError | undefined {
  if (failure.is('outcome-unknown')) return saidOf(failure.details.because);
  return 'said' in failure.details ? failure.details.said : undefined;
}

function outcomeOf(failure: Failure): Outcome | undefined {
  if (failure.is('outcome-unknown')) return 'unknown';
  if (failure.is('unrecorded')) return 'applied';
  if (failure.is('interrupted')) return failure.details.outcome;
  if (failure.is('network') && !failure.details.mayHaveBeenSent) return 'not-sent';
  if (failure.is('rejected') || failure.is('pet-not-found') || failure.is('not-as-expected')) return 'not-applied';
  return undefined;
}
