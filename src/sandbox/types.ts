/** What goes in and comes out: requests, operations, responses. */
import { stringifyJson, type JsonValue } from '../api/json.ts';
import type { Rules } from './plans.ts';
import type { Store } from './store.ts';

export interface SandboxRequest {
  readonly method: string;
  /** Path and query, as in the request line. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined: more than a body may hold. */
  readonly body: string | undefined;
}

export interface SandboxResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces where it is long. */
  readonly body: string | Iterable<string>;
}

export interface Handler {
  readonly store: Store;
  /** The store's own, or one that shares a transaction among requests. */
  readonly atomically?: <T>(work: () => T, how: { readonly durable: boolean }) => Promise<T>;
  readonly rules: Rules;
  /** The keys that are valid besides those in the store. */
  readonly apiKeys: readonly string[];
  /** Where clients find the service. */
  readonly baseUrl: string;
  /** Epoch ms. */
  now(): number;
}

/** Without the headers that every response has. */
export type Result = Pick<SandboxResponse, 'status' | 'body'> & { readonly headers?: Readonly<Record<string, string>> };

/** What the request asks for, its values checked, ready to be done within a transaction. */
export interface Operation {
  /** Whether what it does must survive a power cut. */
  readonly writes: boolean;
  /** Whether it needs no key. */
  readonly isPublic?: boolean;
  run(store: Store): Result;
}

/** An Error body (service spec, part 2). */
export function error(status: number, code: string, message: string, headers?: Result['headers']): Result {
  const body = new Map<string, JsonValue>([
    ['code', code],
    ['message', message],
    ['status', status],
  ]);
  return { status, body: stringifyJson(body), ...(headers !== undefined && { headers }) };
}
