/** A contract check and its result. */
import type { JsonValue } from '../api/json.ts';
import { brokenField, ErrorSchema, InventoryItemSchema, shownJson } from '../api/schemas.ts';
import type { Reply } from '../client/raw.ts';

export const VERDICTS = ['pass', 'fail', 'skip'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface Finding {
  readonly verdict: Verdict;
  /** What was expected and what was received, or why it was not checked. */
  readonly problem?: string | undefined;
}

/** What the user asked for. Durations: ms. */
export interface SmokeOptions {
  /** Ids to run; absent: all. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  /** The pet that may be written to, and is restored. */
  readonly pet?: bigint;
  /** Use up the rate limit, then send one more request. */
  readonly provoke429?: boolean;
  /** Longest time for the list; undefined to skip the check. */
  readonly maxLatency?: number;
  /** How long to wait for a first answer. */
  readonly waitReady?: number;
}

export interface CheckFacts {
  /** For --only and --skip; never changes its meaning. */
  readonly id: string;
  readonly title: string;
  /** The part of docs/service.md that it checks, if any. */
  readonly clause: string | undefined;
}

export interface Checked extends CheckFacts, Finding {
  /** What was checked. */
  readonly reply?: Reply | undefined;
  /** True if the contract could not be checked: the network, the key or a server that is down. */
  readonly isError?: boolean;
}

export const PASS: Finding = { verdict: 'pass' };

export function fail(expected: string, found: string): Finding {
  return { verdict: 'fail', problem: `expected ${expected}, got ${found}` };
}

export function skip(problem: string): Finding {
  return { verdict: 'skip', problem };
}

export function checked(facts: CheckFacts, finding: Finding, reply?: Reply): Checked {
  return { ...facts, ...finding, reply };
}

/** Fails for anything but an answer with this status. */
export function withStatus(reply: Reply, status: number, then: (answer: Reply) => Finding = () => PASS): Finding {
  return reply.status === status ? then(reply) : fail(`status ${status}`, noAnswer(reply) ?? String(reply.status));
}

/** Returns why there was no answer; undefined if there was one. */
export function noAnswer({ unreachable }: Reply): string | undefined {
  return unreachable && `no answer (${unreachable.phase}: ${unreachable.code})`;
}

/** Fails for another media type than JSON. */
export function isJson({ headers }: Reply): Finding {
  const type = headers.get('content-type')?.join(', ');
  return /^application\/json\s*(;|$)/i.test(type ?? '')
    ? PASS
    : fail('application/json', type ?? 'no Content-Type header');
}

/** Returns which field makes a value something else than an InventoryItem (service spec, part 2); undefined for one. */
export function notAnItem(value: JsonValue): string | undefined {
  const field = brokenField(InventoryItemSchema, value);
  if (field === undefined) return undefined;
  const found = value instanceof Map ? value.get(field) : undefined;
  return found === undefined ? `no ${field}` : `${field} ${shownJson(found, 80)}`;
}

/** Fails for a body that is not an Error (service spec, part 2). */
export function isError(answer: Reply): Finding {
  const { json, problem } = answer;
  const type = isJson(answer);
  if (type !== PASS) return type;
  if (json === undefined) return fail('an Error body', `one that is not JSON: ${problem ?? ''}`);
  const field = brokenField(ErrorSchema, json);
  return field === undefined ? PASS : fail('an Error body', `one without a valid ${field}`);
}
