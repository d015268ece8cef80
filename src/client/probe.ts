/** Sends single requests for checks, and returns the service's answers as they are. */
import { JsonError, type JsonValue, parseJson } from '../api/json.ts';
import type { Failure } from '../errors.ts';
import { sendRaw } from './raw.ts';
import { wholeBody } from './retry.ts';
import type { Call, Service } from './service.ts';
import type { HttpFailureFacts, HttpReply } from '../ports.ts';
import { parseHttpDate } from '../http/http-date.ts';

/** What a request was answered; without a status, why it was not. */
export interface Reply {
  /** `GET /inventory`. */
  readonly request: string;
  readonly status: number | undefined;
  readonly headers: HttpReply['headers'];
  /** Undefined if the body is not JSON; `problem` then has the reason. */
  readonly json?: JsonValue;
  readonly problem?: string;
  readonly unreachable: HttpFailureFacts | undefined;
  /** The failure that any command would report; undefined if nothing is wrong. */
  readonly failure: Failure | undefined;
  readonly ms: number;
  readonly receivedAt: number;
}

/**
 * Sends one request. `waits`: sends it again after a 429, when the gate allows it.
 * @throws {Failure} `rate-limited` and what else the gate or a signal ends it with
 */
export async function probe(service: Service, call: Call, { waits = false } = {}): Promise<Reply> {
  const { clock } = service;
  const started = clock.monotonic();
  const { facts: unreachable, failure, reply } = await sendRaw(service, call, waits);
  if (reply === undefined && unreachable === undefined) throw failure;
  return {
    request: `${call.method} ${call.path}`,
    status: reply?.status,
    headers: reply?.headers ?? new Map<string, string[]>(),
    ...(reply && read(await wholeBody(reply))),
    unreachable,
    failure,
    ms: clock.monotonic() - started,
    receivedAt: clock.now(),
  };
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
export function dateOf({ headers, receivedAt }: Pick<Reply, 'headers' | 'receivedAt'>): number | undefined {
  const text = headers.get('date')?.[0];
  return text === undefined ? undefined : parseHttpDate(text, receivedAt);
}
