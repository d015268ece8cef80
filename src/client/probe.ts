/** Sends single requests for checks, and returns the service's answers as they are. */
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import type { Failure } from '../errors.ts';
import { sendRaw } from './raw.ts';
import type { Call, Service } from './service.ts';
import type { HttpFailureFacts, HttpReply } from '../ports.ts';
import { parseHttpDate } from '../http/http-date.ts';

export interface Evidence {
  /** `GET /inventory`. */
  readonly request: string;
  readonly status?: number;
  /** The headers that checks are about; never the key. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer extends Pick<HttpReply, 'status' | 'headers'> {
  /** Undefined if the body is not JSON; `problem` then has the reason. */
  readonly json?: JsonValue;
  readonly problem?: string;
  /** The failure that any command would report; undefined if nothing is wrong. */
  readonly failure?: Failure;
  readonly ms: number;
  readonly receivedAt: number;
  readonly evidence: Evidence;
  readonly unreachable?: undefined;
}

/** Why there was no answer. */
export interface Unreachable {
  readonly unreachable: HttpFailureFacts;
  readonly failure: Failure;
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
 * Sends one request. `waits`: sends it again after a 429, when the gate allows it.
 * @throws {Failure} `rate-limited` and what else the gate or a signal ends it with
 */
export async function probe(service: Service, call: Call, { waits = false } = {}): Promise<Reply> {
  const { clock } = service;
  const request = `${call.method} ${call.path}`;
  const started = clock.monotonic();
  const { facts, failure, reply } = await sendRaw(service, call, waits);
  if (reply === undefined) {
    if (facts === undefined || failure === undefined) throw failure;
    return { unreachable: facts, failure, evidence: { request } };
  }
  const { status, headers, body } = reply;
  const json = read(Buffer.concat(await Array.fromAsync(body)));
  const shown = SHOWN.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)?.join(', ') ?? '']);
  const evidence = { request, status, headers: Object.fromEntries(shown) as Record<string, string> };
  const ms = clock.monotonic() - started;
  return { status, headers, ...json, ms, receivedAt: clock.now(), evidence, ...(failure !== undefined && { failure }) };
}

function read(body: Uint8Array): { json: JsonValue } | { problem: string } {
  try {
    return { json: parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)) };
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message };
    if (error instanceof TypeError) return { problem: 'it is not valid UTF-8' };
    throw error;
  }
}

/** Returns the time on the service's clock, epoch ms; undefined without a Date header. */
export function dateOf({ headers, receivedAt }: Pick<Answer, 'headers' | 'receivedAt'>): number | undefined {
  const text = headers.get('date')?.[0];
  return text === undefined ? undefined : parseHttpDate(text, receivedAt);
}
