/** Calls the sandbox's controls below /__sandbox; types of their answers. */
import type { ActiveFault } from '../faults.ts';
import type { LoggedRequest } from '../request-log.ts';

export interface Allowance {
  readonly limit: number;
  readonly used: number;
  readonly resetAt: string | null;
}

export interface Key {
  readonly key: string;
  readonly minute: Allowance;
  readonly day: Allowance;
  readonly blockedUntil: string | null;
  readonly bannedUntil: string | null;
}

export interface State {
  readonly baseUrl: string;
  readonly now: string;
  readonly skewMs: number;
  readonly pets: number;
  readonly keys: readonly Key[];
  readonly faults: readonly ActiveFault[];
}

export interface Pet {
  /** Text, because a JavaScript number cannot hold it. */
  readonly petId: string;
  readonly quantity: number;
  readonly status: string;
  /** Empty without one. */
  readonly name: string;
}

/** The type of each answer. */
interface Shapes {
  readonly state: State;
  readonly pets: readonly Pet[];
  readonly requests: readonly LoggedRequest[];
  readonly request: LoggedRequest;
  readonly faults: readonly ActiveFault[];
  readonly problem: { readonly message: string };
}

/** Parses an answer without checks: sandbox and page are one program. */
export function parse<K extends keyof Shapes>(_shape: K, text: string): Shapes[K] {
  return JSON.parse(text.replace(/"petId":(-?[0-9]+)/g, '"petId":"$1"')) as Shapes[K];
}

/** @throws {Error} with a message for people */
export async function call(method: string, path: string, body?: unknown): Promise<string> {
  const response = await fetch(`/__sandbox${path}`, {
    method,
    ...(method !== 'GET' && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  });
  const text = await response.text();
  if (response.ok) return text;
  throw new Error(parse('problem', text).message);
}
