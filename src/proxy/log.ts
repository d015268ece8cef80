/** The proxy's log: one line for each request. */
import { jsonObject, type JsonObject } from '../api/json.ts';
import { clockTime } from '../view/progress.ts';

export interface ProxiedRequest {
  /** When it was answered, epoch ms. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  /** 499: the client was gone before its answer. */
  readonly status: number;
  /** From its head to the end of its answer, in ms. */
  readonly ms: number;
  /** How long of this it waited to be sent, in ms. */
  readonly waitedMs: number;
  /** The client's User-Agent. */
  readonly client: string;
  /** The code of an Error body of the proxy's own. */
  readonly error?: string;
}

export function logLine({ at, method, target, status, ms, waitedMs, client, error }: ProxiedRequest): string {
  const words = [
    clockTime(at, at),
    status,
    method,
    target,
    `${ms.toFixed(1)} ms`,
    ...(waitedMs < 100 ? [] : [`waited ${(waitedMs / 1_000).toFixed(1)} s`]),
    ...(error === undefined ? [] : [error]),
    client,
  ];
  return words.join('  ');
}

export function logObject({ at, ms, waitedMs, ...request }: ProxiedRequest): JsonObject {
  const times = { ms: Math.round(ms * 10) / 10, waitedMs: Math.round(waitedMs) };
  return jsonObject({ at: new Date(at).toISOString(), ...request, ...times });
}
