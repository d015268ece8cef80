/** Turns the options of `sandbox serve` into the sandbox's. */
import { jsonObject, type JsonObject, stringifyJson } from '../api/json.ts';
import { Failure, fileFailure } from '../errors.ts';
import { type FaultRule, FaultSyntaxError, parseFault } from '../sandbox/faults.ts';
import { isLoopbackAddress } from '../http/server.ts';
import type { NumberedRequest } from '../sandbox/request-log.ts';
import { MOST_PETS } from '../sandbox/seed.ts';
import { type Plan, type PlanName, PLANS, type Rules, SANDBOX_KEY } from '../sandbox/plans.ts';
import { clockTime } from '../view/progress.ts';
import { record, type RecordView } from '../view/view.ts';
import type { CommandContext } from '../session/globals.ts';
import type { Pets } from '../sandbox/store.ts';
import { readPets } from './data-file.ts';

export interface RuleOptions {
  readonly plan: PlanName;
  readonly perMinute?: number;
  readonly perDay?: number;
  /** In ms. */
  readonly minute?: number;
  readonly banAfter: number;
  readonly banFor: number;
  readonly banStatus: number;
  readonly quantity: Rules['quantity'];
  readonly retryAfterFormat: Rules['retryAfter'];
  readonly withUndocumented?: boolean;
}

/** @throws {Failure} `usage`: others could use the public key */
export function usableKeys(host: string, keys: readonly string[] = [SANDBOX_KEY]): readonly string[] {
  if (isLoopbackAddress(host) || !keys.includes(SANDBOX_KEY)) return keys;
  throw new Failure('usage', {
    problem: `On ${host} others can reach the sandbox, and its usual key is public.`,
    hint: 'Set other keys with --key: made-up ones, never a real one.',
  });
}

/** @throws {Failure} `usage` */
export function rulesOf(input: RuleOptions): Rules {
  const { plan: name, perMinute, perDay, minute } = input;
  if (name === 'custom' && (perMinute === undefined || perDay === undefined)) {
    throw new Failure('usage', { problem: 'The custom plan needs both its limits: --per-minute and --per-day.' });
  }
  const known: Plan = PLANS[name === 'custom' ? 'free' : name];
  return {
    plan: {
      perMinute: perMinute ?? known.perMinute,
      perDay: perDay ?? known.perDay,
      ...(minute !== undefined && { minuteMs: minute }),
    },
    banAfter: input.banAfter,
    banForMs: input.banFor,
    banStatus: input.banStatus,
    quantity: input.quantity,
    retryAfter: input.retryAfterFormat,
    withUndocumented: input.withUndocumented ?? false,
  };
}

/** @throws {Failure} `usage` */
export function readFault(text: string): FaultRule {
  try {
    return parseFault(text);
  } catch (problem) {
    if (!(problem instanceof FaultSyntaxError)) throw problem;
    throw new Failure('usage', {
      problem: `The fault ${JSON.stringify(text)} ${problem.message}.`,
      hint: 'See: petstore sandbox serve --help',
    });
  }
}

/** Reads what --seed names: a number of pets, or a file of them. @throws {Failure} `file`, `invalid-value` */
export async function readSeed(context: CommandContext, from: string): Promise<Pets> {
  return /^[0-9]+$/.test(from) ? { generated: petCount(from) } : readPets(context, from);
}

/** @throws {Failure} `invalid-value` */
function petCount(text: string): number {
  const count = Number(text);
  if (count <= MOST_PETS) return count;
  throw new Failure('invalid-value', { name: '--seed', value: text, expected: `at most ${MOST_PETS} pets` });
}

interface ServerLog<T> {
  readonly onRequest?: (request: T) => void;
  close(): Promise<void>;
}

/** How a request reads in a log. */
export interface LogForms<T> {
  line(request: T): string;
  object(request: T): JsonObject;
}

/** Lines for people, or objects into a file. @throws {Failure} `file` */
export async function openLog<T>(
  { files, globals, notices }: CommandContext,
  path: string | undefined,
  forms: LogForms<T>,
): Promise<ServerLog<T>> {
  if (path === undefined) {
    const onRequest = (request: T): void => {
      notices.info(forms.line(request));
    };
    return { ...(!globals.quiet && { onRequest }), close: () => Promise.resolve() };
  }
  try {
    const log = await files.append(path, (code) => {
      notices.warning(`The log ${path} can no longer be written (${code}); petstore continues without it.`);
    });
    return {
      onRequest: (request) => {
        log.write(`${stringifyJson(forms.object(request))}\n`);
      },
      close: () => log.close(),
    };
  } catch (cause) {
    throw fileFailure('write', path, cause);
  }
}

export const SANDBOX_LOG: LogForms<NumberedRequest> = {
  line: logLine,
  object: ({ at, faults, ...request }) =>
    jsonObject({ at: new Date(at).toISOString(), ...request, ...(faults && { faults: [...faults] }) }),
};

function logLine(request: NumberedRequest): string {
  const { at, method, target, status, ms, limit, remaining, retryAfter, faults = [] } = request;
  const words = [
    clockTime(at, at),
    status === 0 ? 'reset' : status,
    method,
    target,
    `${ms.toFixed(1)} ms`,
    ...(remaining === undefined ? [] : [`${remaining}/${limit ?? '?'} left`]),
    ...(retryAfter === undefined ? [] : [`retry after ${retryAfter} s`]),
    ...(faults.length === 0 ? [] : [`fault: ${faults.join(', ')}`]),
  ];
  return words.join('  ');
}

/** Says how a server is reached. @param rows of a title, the member of the JSON, and the value */
export function introduce(rows: readonly (readonly [title: string, name: string, value: string])[]): RecordView {
  const widest = Math.max(...rows.map(([title]) => title.length));
  const lines = rows.map(([title, , value]) => `${title.padEnd(widest)}  ${value}`);
  return record(
    [...lines, 'Press Ctrl-C to stop.'].join('\n'),
    rows.map(([, name, value]) => [name, value]),
  );
}

/** Resolves on a signal, or at the deadline. */
export function stopped({ signal }: CommandContext): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}
