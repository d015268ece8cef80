/** Answers of the service as they come, for checks: nothing is judged, nothing tried again. */
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import { exchange } from './attempt.ts';
import { isWrite } from './classify.ts';
import type { Call, Service } from './service.ts';
import { HttpFailure, type HttpFailureFacts } from '../ports.ts';
import { parseHttpDate } from '../rate-limit/http-date.ts';

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
}

export interface Unreachable {
  readonly unreachable: HttpFailureFacts;
  readonly evidence: Evidence;
}

const SHOWN = [
  'content-type',
  'date',
  'location',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];

/** @throws {Failure} `rate-limited` and what else the gate or a signal ends it with */
export async function probe(service: Service, call: Call): Promise<Answer | Unreachable> {
  const request = `${call.method} ${call.path}`;
  const started = service.clock.monotonic();
  try {
    const reply = await exchange(service, call);
    const ms = service.clock.monotonic() - started;
    const receivedAt = service.clock.now();
    const text = Buffer.concat(await Array.fromAsync(reply.body)).toString('utf8');
    const shown = SHOWN.filter((name) => reply.headers.has(name));
    const headers = Object.fromEntries(shown.map((name) => [name, reply.headers.get(name)?.join(', ') ?? '']));
    const evidence = { request, status: reply.status, headers };
    return { status: reply.status, headers: reply.headers, text, ...read(text), ms, receivedAt, evidence };
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    const { phase, mayHaveBeenSent } = error.facts;
    if (phase === 'aborted' && !(isWrite(call.method) && mayHaveBeenSent)) throw service.signal.reason;
    return { unreachable: error.facts, evidence: { request } };
  }
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
