/** Checks the answer to a request beyond the rate limit. The key is blocked afterwards, for all who use it. */
import { isFailure } from '../errors.ts';
import { readLimitHeaders } from '../rate-limit/headers.ts';
import {
  type CheckFacts,
  type Checked,
  checked,
  fail,
  type Finding,
  noAnswer,
  noteCause,
  PASS,
  skip,
  type SmokeClients,
} from './check.ts';
import { type Answer, probe, type Unreachable } from '../client/probe.ts';

const REFUSED: CheckFacts = { id: 'limit-429', title: 'beyond the rate limit: 429', clause: '8, rule 3' };
const RETRY: CheckFacts = { id: 'limit-retry', title: 'the 429 has a Retry-After header', clause: '7; 8, rule 3' };
export const PROVOKED_CHECKS: readonly CheckFacts[] = [REFUSED, RETRY];

/** Side by side, or a window may be over before it is spent. */
const WORKERS = 8;
/** A rate limit that is not exceeded by then is too large to exceed in a test. */
const MOST = 2_000;

export async function* runProvoked(
  clients: SmokeClients,
  isChosen: (facts: CheckFacts) => boolean,
): AsyncGenerator<Checked> {
  const chosen = PROVOKED_CHECKS.filter(isChosen);
  if (chosen.length === 0) return;
  const { end, sent } = await spend(clients);
  const [refused, retry] = judge(end, sent);
  for (const facts of chosen) {
    const from = end === undefined || 'unreachable' in end ? undefined : end;
    yield checked(facts, facts === REFUSED ? refused : retry, from);
  }
}

function judge(end: Answer | Unreachable | undefined, sent: number): readonly [refused: Finding, retry: Finding] {
  const none = skip('no 429 came');
  if (end === undefined) {
    return [sent < MOST ? skip('another client uses the key') : fail('a 429', `${sent} answers without one`), none];
  }
  if ('unreachable' in end) return [fail('status 429', noAnswer(end)), none];
  const { status, headers, receivedAt } = end;
  if (status !== 429) return [fail('status 429', `${status} after ${sent} requests`), none];
  const saysWhen = readLimitHeaders(headers, receivedAt).retryAfterMs !== undefined;
  return [PASS, saysWhen ? PASS : fail('a Retry-After header', headers.get('retry-after')?.join(', ') ?? 'none')];
}

interface Spent {
  /** The first answer that was not a list; undefined: the gate let no more through, or there were too many. */
  end: Answer | Unreachable | undefined;
  sent: number;
}

const LIST = { method: 'GET', path: '/inventory' } as const;

async function spend(clients: SmokeClients): Promise<Spent> {
  const spent: Spent = { end: undefined, sent: 0 };
  const work = async (): Promise<void> => {
    while (spent.end === undefined && spent.sent < MOST) {
      const answer = await probe(clients.spender, LIST);
      spent.sent++;
      if ('unreachable' in answer || answer.status !== 200) spent.end ??= answer;
    }
  };
  const untilRefused = (): Promise<void> =>
    work().catch((error: unknown) => {
      // The gate lets no more through.
      if (!isFailure(error) || !error.is('rate-limited')) throw error;
    });
  await Promise.all(Array.from({ length: WORKERS }, untilRefused));
  // The gate has held the others back at the edge: the one request beyond it goes alone.
  await untilRefused();
  const { end } = spent;
  if (end !== undefined && !('status' in end && end.status === 429))
    await noteCause(clients, 'spender', LIST, end, true);
  return spent;
}
