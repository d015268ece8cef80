/** Answers of the service as they come, for checks: nothing is judged. */
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import type { Failure } from '../errors.ts';
import { judgeFailure, requestInfo } from './classify.ts';
import { judgeReply, perform } from './retry.ts';
import type { Call, Service } from './service.ts';
import type { HttpFailureFacts } from '../ports.ts';
import { parseHttpDate } from '../http/http-date.ts';

export interface Evidence {
  /** `GET /inventory`. */
  readonly request: string;
  readonly status?: number;
  /** Those that the check is about; never the key. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly text: string;
  /** Undefined where the text is not JSON; `problem` has the reason. */
  readonly json?: JsonValue;
  readonly problem?: string;
  readonly ms: number;
  readonly receivedAt: number;
  readonly evidence: Evidence;
  readonly unreachable?: undefined;
}

/** There was no answer. */
export interface Unreachable {
  readonly unreachable: HttpFailureFacts;
  readonly evidence: Evidence;
  readonly ms?: undefined;
  readonly status?: undefined;
  readonly json?: undefined;
}

export type Reply = Answer | Unreachable;

const SHOWN = [
  'content-type',
  'date',
  'location',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];

/**
 * Sends one request. `waits`: after a 429 it is sent again when the gate allows it.
 * @throws {Failure} `rate-limited` and what else the gate or a signal ends it with
 */
export async function probe(service: Service, call: Call, { waits = false } = {}): Promise<Reply> {
  const request = `${call.method} ${call.path}`;
  const started = service.clock.monotonic();
  const outcome = await perform<Answer>(service, {
    call,
    repeats: false,
    reads: (status) => !waits || status !== 429,
    read: async ({ status, headers, body }) => {
      const ms = service.clock.monotonic() - started;
      const receivedAt = service.clock.now();
      const text = Buffer.concat(await Array.fromAsync(body)).toString('utf8');
      const shown = SHOWN.filter((name) => headers.has(name)).map((name) => [
        name,
        headers.get(name)?.join(', ') ?? '',
      ]);
      const evidence = { request, status, headers: Object.fromEntries(shown) as Record<string, string> };
      return { status, headers, text, ...read(text), ms, receivedAt, evidence };
    },
  });
  if ('value' in outcome) return outcome.value;
  const { facts, failure } = outcome.trouble;
  if (facts === undefined) throw failure;
  return { unreachable: facts, evidence: { request } };
}

/** Returns what an answer means for any command; undefined: nothing is wrong. */
export async function failureIn(
  service: Service,
  call: Call,
  answer: Reply,
  petId?: bigint,
): Promise<Failure | undefined> {
  const asked = requestInfo(service, call, 1, petId);
  if (answer.unreachable !== undefined) return judgeFailure(answer.unreachable, asked).failure;
  const { status, headers, text } = answer;
  if (status < 300) return undefined;
  return (await judgeReply(service, asked, { status, headers, body: [Buffer.from(text)] })).failure;
}

function read(text: string): { json: JsonValue } | { problem: string } {
  try {
    return { json: parseJson(text) };
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message };
    throw error;
  }
}

/** The service's clock, epoch ms; undefined where it does not tell. */
export function dateOf({ headers, receivedAt }: Pick<Answer, 'headers' | 'receivedAt'>): number | undefined {
  const text = headers.get('date')?.[0];
  return text === undefined ? undefined : parseHttpDate(text, receivedAt);
}
