/** What a check is, and what came of it. */
import { ErrorSchema } from '../api/schemas.ts';
import type { Service } from '../client/service.ts';
import type { Answer, Evidence, Unreachable } from '../client/probe.ts';

export type Verdict = 'pass' | 'fail' | 'skip';

export interface Finding {
  readonly verdict: Verdict;
  /** What is wrong, or why it was not checked. */
  readonly problem?: string;
  readonly evidence?: Evidence;
}

export interface CheckFacts {
  /** For --only and --skip; never changes its meaning. */
  readonly id: string;
  readonly title: string;
  /** The part of the service specification that it rests on. */
  readonly clause: string;
}

export interface Checked extends CheckFacts, Finding {
  readonly ms: number;
}

/** Clients for the same service: with the key, without a key, and with an invalid key. */
export interface SmokeClients {
  readonly keyed: Service;
  readonly keyless: Service;
  readonly wrong: Service;
  /** With the key, and deaf to signals. */
  readonly restorer: Service;
  /** With the key, and one request more than the rate limit allows. */
  readonly spender: Service;
  /** Called once the list has been asked for. @throws {Failure} `quota-insufficient` */
  afford(): Promise<void>;
}

export const PASS: Finding = { verdict: 'pass' };

export function fail(problem: string): Finding {
  return { verdict: 'fail', problem };
}

export function skip(problem: string): Finding {
  return { verdict: 'skip', problem };
}

/** Returns the check with what was found, and the answer that shows it. */
export function checked(
  { id, title, clause }: CheckFacts,
  finding: Finding,
  from?: { readonly evidence: Evidence; readonly ms?: number },
): Checked {
  return { id, title, clause, ms: from?.ms ?? 0, ...(from !== undefined && { evidence: from.evidence }), ...finding };
}

/** Finds fault with anything but an answer of that status. */
export function withStatus(
  answer: Answer | Unreachable,
  status: number,
  then: (answer: Answer) => Finding = () => PASS,
): Finding {
  if ('unreachable' in answer) return fail(`no answer: ${answer.unreachable.phase} (${answer.unreachable.code})`);
  return answer.status === status ? then(answer) : fail(`the status is ${answer.status}, not ${status}`);
}

/** Finds fault with a body that is not an Error (service spec, part 2). */
export function isError({ json, problem }: Answer): Finding {
  if (json === undefined) return fail(`the body is not JSON: ${problem ?? ''}`);
  const { error } = ErrorSchema.safeParse(json instanceof Map ? Object.fromEntries(json) : {});
  if (error === undefined) return PASS;
  return fail(`the body is not an Error: ${String(error.issues[0]?.path[0] ?? 'it')} is missing or mistyped`);
}
