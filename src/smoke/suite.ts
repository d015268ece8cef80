/** The contract of the service, as checks: those that read, those that write, those that spend. */
import { isLoopback } from '../session/environments.ts';
import { type CheckFacts, type Checked, checked, fail, type Finding, PASS, skip, type SmokeClients } from './check.ts';
import { type Answer, probe, type Unreachable } from '../client/probe.ts';
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
  title: 'the connection is encrypted, by a certificate that can be trusted',
  clause: '1',
};

export const ALL: readonly CheckFacts[] = [REACHABLE, TLS, ...READ_CHECKS, ...WRITE_CHECKS, ...PROVOKED_CHECKS];

function chosen({ only, skip: left }: SmokeOptions): (facts: CheckFacts) => boolean {
  return ({ id }) => (only === undefined || only.includes(id)) && left?.includes(id) !== true;
}

/** The requests that the chosen checks need, but for those that provoke a 429. */
export function requestsFor(options: SmokeOptions): number {
  const isChosen = chosen(options);
  // The list is always asked for: it tells whether there is anything to check.
  const reads = new Set<Question>(['list', ...READ_CHECKS.filter(isChosen).flatMap(({ asks }) => asks)]).size;
  return reads + (options.write === undefined ? 0 : writeRequests(isChosen));
}

/** One after the other, each request once. @throws {Failure} what the gate or a signal ends it with */
export async function* runSmoke(doors: SmokeClients, options: SmokeOptions): AsyncGenerator<Checked> {
  const isChosen = chosen(options);
  const answers = new Map<Question, Answer | Unreachable>();
  const ask = async (question: Question): Promise<Answer | Unreachable> => {
    const { door, path } = CALLS[question];
    const known = answers.get(question) ?? (await probe(doors[door], { method: 'GET', path }));
    answers.set(question, known);
    return known;
  };
  const first = await ask('list');
  await doors.afford();
  /** The first answer that fails, or else passes, or else the first. */
  const verdictOf = async (check: ReadCheck): Promise<Checked> => {
    const found: Checked[] = [];
    for (const question of check.asks) {
      const answer = await ask(question);
      const finding = 'unreachable' in answer ? skip('the service did not answer') : check.check(answer, options);
      found.push(checked(check, finding, answer));
    }
    const of = (verdict: Checked['verdict']): Checked | undefined => found.find((each) => each.verdict === verdict);
    return of('fail') ?? of('pass') ?? found[0]!;
  };
  if (isChosen(REACHABLE)) yield checked(REACHABLE, reachable(first), first);
  if (isChosen(TLS)) yield checked(TLS, encrypted(first, doors.keyed.baseUrl), first);
  const portal = portalOf(first);
  for (const check of READ_CHECKS.filter(isChosen)) {
    if ('unreachable' in first) yield checked(check, skip('the service did not answer'), first);
    else if (portal !== undefined && portal !== check.id) yield checked(check, skip('it is not the service'), first);
    else yield await verdictOf(check);
  }
  if (portal !== undefined || 'unreachable' in first) return;
  if (options.write !== undefined) yield* runWrites(doors, options.write, first, isChosen);
  if (options.provoke) yield* runProvoked(doors.spender, isChosen);
}

/**
 * Something else answers in place of the service, so its answers do not show the contract. The one check that tells.
 * A login page of a network comes with a 200, or after a redirect.
 */
function portalOf(list: Answer | Unreachable): string | undefined {
  if ('unreachable' in list) return undefined;
  if (list.status >= 300 && list.status < 400) return 'list-status';
  const isPage = /^text\/html/i.test(list.headers.get('content-type')?.[0] ?? '');
  return list.status === 200 && isPage && list.json === undefined ? 'list-type' : undefined;
}

function reachable(first: Answer | Unreachable): Finding {
  if (!('unreachable' in first)) return PASS;
  const { phase, code, peer } = first.unreachable;
  return phase === 'tls' ? PASS : fail(`${peer}: ${phase} (${code})`);
}

function encrypted(first: Answer | Unreachable, { hostname, protocol }: URL): Finding {
  if ('unreachable' in first && first.unreachable.phase === 'tls')
    return fail(`the certificate: ${first.unreachable.code}`);
  if (protocol === 'https:') return 'unreachable' in first ? skip('the service did not answer') : PASS;
  return isLoopback(hostname) ? skip('it is on this machine') : fail('the address is http');
}
