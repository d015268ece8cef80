/** The service's contract as checks: read checks, write checks, and the rate-limit check. */
import type { LockedPet } from '../stock/write-one.ts';
import { isLoopback } from '../ports.ts';
import { probe, type Reply } from '../client/raw.ts';
import type { Call } from '../client/service.ts';
import { isFailure } from '../errors.ts';
import { WRONG_KEY } from '../session/open-ledger.ts';
import { readLimitHeaders } from '../rate-limit/headers.ts';
import {
  type CheckFacts,
  type Checked,
  checked,
  fail,
  type Finding,
  noAnswer,
  PASS,
  skip,
  type SmokeOptions,
  type Verdict,
  withStatus,
} from './finding.ts';
import { type Question, READ_CHECKS, type ReadCheck } from './read-checks.ts';
import type { SmokeClients } from './smoke-clients.ts';
import { runWrites, WRITE_CHECKS, writeRequests } from './write-checks.ts';

const LIST = { method: 'GET', path: '/inventory' } as const;

/** Default for `apiKey`: the user's. */
const CALLS: Readonly<Record<Question, { readonly call: Call; readonly apiKey?: string }>> = {
  list: { call: LIST },
  keyless: { call: LIST, apiKey: '' },
  wrong: { call: LIST, apiKey: WRONG_KEY },
  unknown: { call: { method: 'GET', path: '/petstore-smoke-no-such-path' } },
};

const REACHABLE: CheckFacts = { id: 'reachable', title: 'the service answers', clause: '1' };
const TLS: CheckFacts = { id: 'tls', title: 'the connection is encrypted, with a trusted certificate', clause: '1' };
const REFUSED: CheckFacts = { id: 'limit-429', title: 'beyond the rate limit: 429', clause: '8, rule 3' };
const RETRY: CheckFacts = { id: 'limit-retry', title: 'the 429 has a Retry-After header', clause: '7; 8, rule 3' };
const PROVOKED_CHECKS: readonly CheckFacts[] = [REFUSED, RETRY];

export const ALL: readonly CheckFacts[] = [REACHABLE, TLS, ...READ_CHECKS, ...WRITE_CHECKS, ...PROVOKED_CHECKS];

const idsOf = (checks: readonly CheckFacts[]): readonly string[] => checks.map(({ id }) => id);
/** Ids of the checks that an option is for. */
export const CHECKS_OF = {
  pet: idsOf(WRITE_CHECKS),
  provoke429: idsOf(PROVOKED_CHECKS),
  maxLatency: ['latency'],
} as const satisfies Partial<Record<keyof SmokeOptions, readonly string[]>>;

/** Returns the checks of this run, in their order. */
export function chosenChecks({ only, skip: left = [], pet, provoke429 }: SmokeOptions): readonly CheckFacts[] {
  const off = [left, pet === undefined ? CHECKS_OF.pet : [], provoke429 === true ? [] : CHECKS_OF.provoke429].flat();
  return ALL.filter(({ id }) => only?.includes(id) !== false && !off.includes(id));
}

/** Returns how many requests the chosen checks need, without those that provoke a 429. */
export function requestsFor(checks: readonly CheckFacts[]): number {
  const reads = READ_CHECKS.filter((check) => checks.includes(check));
  // Always requests the list, which shows whether the service can be checked at all.
  return new Set<Question>(['list', ...reads.flatMap(({ asks }) => asks)]).size + writeRequests(checks);
}

/**
 * Runs the checks one after the other, each request once. Ends early if the list cannot be read.
 * @param pet the pet that may be written to
 * @throws {Failure} what the gate or a signal ends it with
 */
export async function* runSmoke(clients: SmokeClients, pet?: LockedPet): AsyncGenerator<Checked> {
  const { keyed, options } = clients;
  /** Reads it again until the service is ready. */
  const patient = { ...keyed, retryForMs: Math.max(keyed.retryForMs, options.waitReady ?? 0) };
  const more = requestsFor(clients.checks) - 1;
  let first = await clients.ask(patient, LIST, true);
  // After a wait, others may have changed the stock.
  if (await clients.afford(more)) first = await clients.ask(patient, LIST, true);
  const answers = new Map<Question, Reply>([['list', first]]);
  const answerTo = async (question: Question): Promise<Reply> => {
    const known = answers.get(question);
    if (known !== undefined) return known;
    const { apiKey, call } = CALLS[question];
    await using other = apiKey === undefined ? undefined : await clients.open(clients.context, apiKey);
    const answer = await clients.ask(other?.service ?? keyed, call, false);
    answers.set(question, answer);
    return answer;
  };
  const judge = async (check: ReadCheck, question: Question): Promise<Checked> => {
    try {
      const answer = await answerTo(question);
      const isAnswer = answer.unreachable === undefined;
      const finding = isAnswer ? check.check(answer, options) : skip('the service did not answer');
      return checked(check, finding, answer);
    } catch (error) {
      // A 403 that an earlier run got without the user's key is no ban of that key.
      if (CALLS[question].apiKey === undefined || !isFailure(error) || !error.is('banned')) throw error;
      return checked(check, fail('an answer', 'a 403 in an earlier run, which still holds'));
    }
  };
  const verdictOf = async (check: ReadCheck): Promise<Checked> => {
    const found = await Array.fromAsync(check.asks, (question) => judge(check, question));
    const of = (verdict: Verdict): Checked | undefined => found.find((each) => each.verdict === verdict);
    return of('fail') ?? of('pass') ?? found[0]!;
  };
  yield checked(REACHABLE, reachable(first), first);
  yield checked(TLS, encrypted(first, keyed.baseUrl), first);
  if (first.unreachable !== undefined) return;
  if (clients.causes.length > 0) {
    // The service refuses the key or fails, or something else answers in its place, such as a network's login page. One
    // check shows it, and nothing else can be checked.
    const id = first.status === 200 ? 'list-type' : 'list-status';
    yield await verdictOf(READ_CHECKS.find((check) => check.id === id)!);
    return;
  }
  // Before the other checks: others may change the pet meanwhile.
  if (pet !== undefined) yield* runWrites(clients, pet, first);
  for (const check of READ_CHECKS.filter(clients.isChosen)) yield await verdictOf(check);
  yield* runProvoked(clients);
}

function reachable(first: Reply): Finding {
  if (first.unreachable === undefined || first.unreachable.phase === 'tls') return PASS;
  return fail(`an answer from ${first.unreachable.peer}`, noAnswer(first)!);
}

function encrypted({ unreachable }: Reply, { hostname, protocol }: URL): Finding {
  if (unreachable?.phase === 'tls') return fail('a trusted certificate', unreachable.code);
  if (protocol === 'https:') return unreachable === undefined ? PASS : skip('the service did not answer');
  return isLoopback(hostname) ? skip('the service is on this machine') : fail('an https address', 'http');
}

/** Number of parallel requests: one at a time might not use up a window before it ends. */
const WORKERS = 8;
/** Most requests: a larger rate limit cannot be exceeded in a test. */
const MOST = 2_000;

/** Checks the answer to a request beyond the rate limit. Afterwards the key is blocked for everyone who uses it. */
async function* runProvoked(clients: SmokeClients): AsyncGenerator<Checked> {
  if (!PROVOKED_CHECKS.some(clients.isChosen)) return;
  const { context } = clients;
  const globals = { ...context.globals, reserve: -1, maxWait: 0 };
  await using spender = await clients.open({ ...context, globals });
  let sent = 0;
  const refusals: Reply[] = [];
  const untilRefused = async (): Promise<void> => {
    try {
      while (refusals.length === 0 && sent < MOST) {
        const answer = await probe(spender.service, LIST);
        sent++;
        if (answer.status !== 200) refusals.push(answer);
      }
    } catch (error) {
      // The gate lets no more through.
      if (!isFailure(error) || !error.is('rate-limited')) throw error;
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, untilRefused));
  // At the end of the window, the gate has held the others back: this request goes beyond the limit.
  await untilRefused();
  const [end] = refusals;
  if (end !== undefined) clients.noteCause(spender.service, end, true);
  const none = sent < MOST ? skip('another client uses the key') : fail('a 429', `${sent} answers without one`);
  yield checked(REFUSED, end === undefined ? none : withStatus(end, 429), end);
  yield checked(RETRY, end?.status === 429 ? saysWhen(end) : skip('no 429 came'), end);
}

function saysWhen({ headers, receivedAt }: Reply): Finding {
  if (readLimitHeaders(headers, receivedAt).retryAfterMs !== undefined) return PASS;
  return fail('a Retry-After header', headers.get('retry-after')?.join(', ') ?? 'none');
}
