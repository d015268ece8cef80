/** The contract of the service, as checks: those that read, those that write, those that spend. */
import type { LockedPet } from '../bulk/write-one.ts';
import { isLoopback } from '../session/environments.ts';
import { refuseWebPage } from '../client/list.ts';
import type { Answer, Unreachable } from '../client/probe.ts';
import { isFailure } from '../errors.ts';
import {
  ask,
  type CheckFacts,
  type Checked,
  checked,
  fail,
  type Finding,
  noAnswer,
  PASS,
  skip,
  type SmokeClients,
} from './check.ts';
import { PROVOKED_CHECKS, runProvoked } from './rate-limit-checks.ts';
import { type Bounds, type Question, READ_CHECKS, type ReadCheck } from './read-checks.ts';
import { runWrites, WRITE_CHECKS, writeRequests } from './write-checks.ts';

export interface SmokeOptions extends Bounds {
  /** Ids to run; absent: all. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  /** The pet that may be written to, and is put back. */
  readonly write?: bigint;
  /** Use up the rate limit, and send one request more. */
  readonly provoke: boolean;
}

const CALLS: Readonly<Record<Question, { readonly door: 'keyed' | 'keyless' | 'wrong'; readonly path: string }>> = {
  list: { door: 'keyed', path: '/inventory' },
  keyless: { door: 'keyless', path: '/inventory' },
  wrong: { door: 'wrong', path: '/inventory' },
  unknown: { door: 'keyed', path: '/petstore-smoke-no-such-path' },
};

const REACHABLE: CheckFacts = { id: 'reachable', title: 'the service answers', clause: '1' };
const TLS: CheckFacts = {
  id: 'tls',
  title: 'the connection is encrypted, with a trusted certificate',
  clause: '1',
};

export const ALL: readonly CheckFacts[] = [REACHABLE, TLS, ...READ_CHECKS, ...WRITE_CHECKS, ...PROVOKED_CHECKS];

/** Returns the checks of this run, in their order. */
export function chosenChecks({ only, skip: left, write, provoke }: SmokeOptions): readonly CheckFacts[] {
  const possible = [
    REACHABLE,
    TLS,
    ...READ_CHECKS,
    ...(write === undefined ? [] : WRITE_CHECKS),
    ...(provoke ? PROVOKED_CHECKS : []),
  ];
  return possible.filter(({ id }) => (only === undefined || only.includes(id)) && left?.includes(id) !== true);
}

function chosen(options: SmokeOptions): (facts: CheckFacts) => boolean {
  const ids = new Set(chosenChecks(options).map(({ id }) => id));
  return ({ id }) => ids.has(id);
}

/** Returns how many requests the chosen checks need, without those that provoke a 429. */
export function requestsFor(options: SmokeOptions): number {
  const isChosen = chosen(options);
  // The list is always asked for: it shows whether there is anything to check.
  const reads = new Set<Question>(['list', ...READ_CHECKS.filter(isChosen).flatMap(({ asks }) => asks)]).size;
  return reads + (options.write === undefined ? 0 : writeRequests(isChosen));
}

/**
 * Runs the checks one after the other, each request once. Ends early where the list cannot be had.
 * @param pet the one that may be written to
 * @throws {Failure} what the gate or a signal ends it with
 */
export async function* runSmoke(doors: SmokeClients, options: SmokeOptions, pet?: LockedPet): AsyncGenerator<Checked> {
  const isChosen = chosen(options);
  const answers = new Map<Question, Answer | Unreachable>();
  const answerTo = async (question: Question): Promise<Answer | Unreachable> => {
    const { door, path } = CALLS[question];
    const isUsual = question === 'list';
    const known = answers.get(question) ?? (await ask(doors, door, { method: 'GET', path }, { isUsual }));
    answers.set(question, known);
    return known;
  };
  const first = await answerTo('list');
  await doors.afford();
  /** The first answer that fails, or else passes, or else the first. */
  const verdictOf = async (check: ReadCheck): Promise<Checked> => {
    const found: Checked[] = [];
    for (const question of check.asks) {
      const answer = await answerTo(question);
      const finding = 'unreachable' in answer ? skip('the service did not answer') : check.check(answer, options);
      found.push(checked(check, finding, answer));
    }
    const of = (verdict: Checked['verdict']): Checked | undefined => found.find((each) => each.verdict === verdict);
    return of('fail') ?? of('pass') ?? found[0]!;
  };
  if (isChosen(REACHABLE)) yield checked(REACHABLE, reachable(first), first);
  if (isChosen(TLS)) yield checked(TLS, encrypted(first, doors.keyed.baseUrl), first);
  const obstacle = obstacleOf(first, doors);
  // At once: others may change the pet meanwhile.
  if (obstacle === undefined && options.write !== undefined && pet !== undefined) {
    yield* runWrites(doors, pet, options.write, first, isChosen);
  }
  for (const check of READ_CHECKS.filter(isChosen)) {
    if (obstacle === undefined || obstacle === check.id) yield await verdictOf(check);
  }
  if (obstacle !== undefined) return;
  if (options.provoke) yield* runProvoked(doors, isChosen);
}

/**
 * Returns the one check that shows why nothing else can be checked: the service does not answer, refuses the key or
 * fails, or something else answers in its place. A login page of a network comes with a 200, or after a redirect.
 */
function obstacleOf(list: Answer | Unreachable, { causes }: SmokeClients): string | undefined {
  if ('unreachable' in list) return REACHABLE.id;
  if (causes.length > 0) return 'list-status';
  if (list.status !== 200 || list.json !== undefined) return undefined;
  try {
    refuseWebPage(list);
    return undefined;
  } catch (error) {
    if (!isFailure(error)) throw error;
    causes.push(error);
    return 'list-type';
  }
}

function reachable(first: Answer | Unreachable): Finding {
  if (!('unreachable' in first)) return PASS;
  return first.unreachable.phase === 'tls' ? PASS : fail(`an answer from ${first.unreachable.peer}`, noAnswer(first));
}

function encrypted(first: Answer | Unreachable, { hostname, protocol }: URL): Finding {
  if ('unreachable' in first && first.unreachable.phase === 'tls')
    return fail('a trusted certificate', first.unreachable.code);
  if (protocol === 'https:') return 'unreachable' in first ? skip('the service did not answer') : PASS;
  return isLoopback(hostname) ? skip('the service is on this machine') : fail('an https address', 'http');
}
