/** What a check is, and what came of it. */
import type { JsonValue } from '../api/json.ts';
import { ErrorSchema } from '../api/schemas.ts';
import { judgeFailure, requestInfo } from '../client/classify.ts';
import { type Answer, type Evidence, probe, type Unreachable } from '../client/probe.ts';
import { judgeReply } from '../client/retry.ts';
import type { Call, Service } from '../client/service.ts';
import { Failure } from '../errors.ts';
import type { Session } from '../session/connect.ts';

export type Verdict = 'pass' | 'fail' | 'skip';

export interface Finding {
  readonly verdict: Verdict;
  /** What was expected and what came, or why it was not checked. */
  readonly problem?: string;
  readonly evidence?: Evidence;
}

export interface CheckFacts {
  /** For --only and --skip; never changes its meaning. */
  readonly id: string;
  readonly title: string;
  /** The part of docs/service.md that it checks; undefined: none of it. */
  readonly clause: string | undefined;
}

export interface Checked extends CheckFacts, Finding {
  readonly ms: number;
}

/** Clients for the same service: with the key, without a key, and with an invalid key. */
export interface SmokeClients {
  readonly session: Session;
  readonly keyed: Service;
  readonly keyless: Service;
  readonly wrong: Service;
  /** With the key, and for a short time after a signal too. */
  readonly restorer: Service;
  /** With the key, and one request more than the rate limit allows. */
  readonly spender: Service;
  /** With the key, and waits for the service as long as --wait-ready allows. */
  readonly patient: Service;
  /** Called before the first request, and once the list has been asked for. @throws {Failure} `quota-insufficient` */
  afford(): Promise<void>;
  /** What would end any other command: the exit code of the run, before that of a failed check. */
  readonly causes: Failure[];
}

type Door = 'keyed' | 'keyless' | 'wrong' | 'restorer' | 'spender';

export const PASS: Finding = { verdict: 'pass' };

export function fail(expected: string, found: string): Finding {
  return { verdict: 'fail', problem: `expected ${expected}, got ${found}` };
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

/**
 * Sends one request. After a 429 it is sent again when the gate allows it.
 * @throws {Failure} `rate-limited` and what else the gate or a signal ends it with
 */
export async function ask(
  clients: SmokeClients,
  door: Door,
  call: Call,
  { isUsual }: { readonly isUsual: boolean },
): Promise<Answer | Unreachable> {
  const answer = await probe(clients[door], call, { waits: true });
  await noteCause(clients, door, call, answer, isUsual);
  return answer;
}

const UNAVAILABLE: readonly number[] = [502, 503, 504];

/**
 * Notes an answer that would end any command. Where the service is asked for something that it has to refuse (not
 * `isUsual`), a 401 or 500 only fails the check.
 */
export async function noteCause(
  clients: SmokeClients,
  door: Door,
  call: Call,
  answer: Answer | Unreachable,
  isUsual: boolean,
): Promise<void> {
  const failure = await failureIn(clients[door], call, answer);
  if (failure === undefined) return;
  if ('unreachable' in answer) {
    // The list is asked for first.
    const begun = door !== 'keyed' || call.path !== '/inventory';
    clients.causes.push(failure.is('network') ? new Failure('network', { ...failure.details, begun }) : failure);
    return;
  }
  const isKeyed = door !== 'keyless' && door !== 'wrong';
  const counts = isUsual
    ? failure.is('unauthorized') || failure.is('service-failed') || failure.is('redirected')
    : UNAVAILABLE.includes(answer.status);
  if (counts || (isKeyed && failure.is('forbidden'))) clients.causes.push(failure);
}

/** Returns what an answer means for any command; undefined: nothing is wrong. */
export async function failureIn(
  service: Service,
  call: Call,
  answer: Answer | Unreachable,
  petId?: bigint,
): Promise<Failure | undefined> {
  const asked = requestInfo(service, call, 1, petId);
  if ('unreachable' in answer) return judgeFailure(answer.unreachable, asked).failure;
  const { status, headers, text } = answer;
  if (status < 300) return undefined;
  return (await judgeReply(service, asked, { status, headers, body: [Buffer.from(text)] })).failure;
}

/** Finds fault with anything but an answer of that status. */
export function withStatus(
  answer: Answer | Unreachable,
  status: number,
  then: (answer: Answer) => Finding = () => PASS,
): Finding {
  if ('unreachable' in answer) return fail(`status ${status}`, noAnswer(answer));
  return answer.status === status ? then(answer) : fail(`status ${status}`, String(answer.status));
}

export function noAnswer({ unreachable: { phase, code } }: Unreachable): string {
  return `no answer (${phase}: ${code})`;
}

/** Finds fault with a body that is not an Error (service spec, part 2). */
export function isError({ json, problem }: Answer): Finding {
  if (json === undefined) return fail('an Error body', `one that is not JSON: ${problem ?? ''}`);
  const { error } = ErrorSchema.safeParse(json instanceof Map ? Object.fromEntries(json) : {});
  if (error === undefined) return PASS;
  return fail('an Error body', `one without a valid ${String(error.issues[0]?.path[0] ?? 'code')}`);
}

export function integer(value: JsonValue | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined;
}
