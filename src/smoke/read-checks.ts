/** Contract checks that only read. Pure: each maps an answer to a finding. */
import { clockDifference } from '../doctor/diagnosis.ts';
import { shownJson } from '../api/schemas.ts';
import {
  type CheckFacts,
  fail,
  type Finding,
  isError,
  isJson,
  notAnItem,
  PASS,
  skip,
  type SmokeOptions,
  withStatus,
} from './finding.ts';
import { dateOf, type Reply } from '../client/raw.ts';
import { gatewayOf } from '../rate-limit/headers.ts';

/** The list with the key, without a key and with an invalid key, and an unknown path. */
export type Question = 'list' | 'keyless' | 'wrong' | 'unknown';

export interface ReadCheck extends CheckFacts {
  /** The answers that it checks. Only those that a chosen check needs are requested. */
  readonly asks: readonly Question[];
  check(answer: Reply, bounds: SmokeOptions): Finding;
}

/** Fails as list-status does if no list was received. */
const ofList = (check: (list: Reply) => Finding) => (answer: Reply) => withStatus(answer, 200, check);

const ofRefusal = (check: (answer: Reply) => Finding): ReadCheck['check'] => {
  return (answer) => {
    if ((answer.status ?? 0) < 400) return withStatus(answer, 401);
    return gatewayOf(answer.headers) === 'refused' ? skip('a gateway refused it, not the service') : check(answer);
  };
};

const repeatsStatus = ofRefusal(({ json: body, status }) => {
  const claimed = body instanceof Map ? body.get('status') : undefined;
  if (typeof claimed !== 'number') return skip('the body has no status');
  return claimed === status ? PASS : fail(`Error.status ${status}`, String(claimed));
});

const hasStatus = (status: number) => (answer: Reply) => withStatus(answer, status);

const LIST = ['list'] as const;
const REFUSALS = ['keyless', 'wrong'] as const;

const readCheck = (
  id: string,
  clause: string | undefined,
  title: string,
  asks: readonly Question[],
  check: ReadCheck['check'],
): ReadCheck => ({ id, clause, title, asks, check });

export const READ_CHECKS: readonly ReadCheck[] = [
  readCheck('list-status', '4.1', 'the list is answered with 200', LIST, hasStatus(200)),
  readCheck('list-type', '4.1', 'the list is application/json', LIST, ofList(isJson)),
  readCheck('list-rows', '2, 4.1', 'every row is an InventoryItem', LIST, ofList(checkRows)),
  readCheck('list-ids', '4.1', 'no pet is listed twice', LIST, ofList(checkIds)),
  readCheck('limit-headers', '8, rule 1', 'the three rate-limit headers are there', LIST, checkHeaders),
  readCheck('limit-values', '8, rule 1', 'limit and remaining make sense together', LIST, checkValues),
  readCheck('limit-reset', '8, rule 2', 'the reset is a Unix timestamp in the future', LIST, checkReset),
  readCheck('clock', '8, rule 2', 'the clocks of the service and of this machine agree', LIST, checkClock),
  readCheck('latency', undefined, 'the list is answered in time', LIST, checkLatency),
  readCheck('keyless-status', '5', 'without a key: 401', ['keyless'], hasStatus(401)),
  readCheck('wrong-status', '5', 'with a wrong key: 401', ['wrong'], hasStatus(401)),
  readCheck('error-body', '5, 7', 'both refusals have an Error body', REFUSALS, ofRefusal(isError)),
  readCheck('error-status', '7', 'Error.status is the status', REFUSALS, repeatsStatus),
  readCheck('error-limits', '8, rule 1', 'both refusals have those headers', REFUSALS, ofRefusal(checkHeaders)),
  readCheck('unknown-status', '4, 7', 'an unknown path: 404', ['unknown'], hasStatus(404)),
];

/** Fails for a list that does not consist of pets. */
export function checkRows({ json, problem }: Reply): Finding {
  if (json === undefined) return fail('a JSON array', `a body that is not JSON: ${problem ?? ''}`);
  if (!Array.isArray(json)) return fail('a JSON array', shownJson(json, 80));
  for (const [i, row] of json.entries()) {
    const found = notAnItem(row);
    if (found !== undefined) return fail(`an InventoryItem in row ${i + 1}`, found);
  }
  return PASS;
}

function checkIds(list: Reply): Finding {
  if (!Array.isArray(list.json)) return checkRows(list);
  const seen = new Set<string>();
  for (const row of list.json) {
    const id = row instanceof Map ? row.get('petId') : undefined;
    if (typeof id !== 'number' && typeof id !== 'bigint') continue;
    if (seen.has(id.toString())) return fail('each pet once', `pet ${id} twice`);
    seen.add(id.toString());
  }
  return PASS;
}

export const LIMITS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

const WHOLE = /^[0-9]{1,15}$/;

function headerText({ headers }: Reply, name: string): string {
  return headers.get(name.toLowerCase())?.join(', ') ?? 'none';
}

function checkHeaders({ headers }: Reply): Finding {
  const present = LIMITS.filter((name) => headers.has(name.toLowerCase()));
  if (present.length === LIMITS.length) return PASS;
  return fail(LIMITS.join(', '), present.length === 0 ? 'none of them' : `only ${present.join(', ')}`);
}

function checkValues(answer: Reply): Finding {
  if (LIMITS.slice(0, 2).some((name) => !answer.headers.has(name.toLowerCase()))) return skip('they are not all there');
  const [limit = '', remaining = ''] = LIMITS.map((name) => headerText(answer, name));
  if (!WHOLE.test(limit) || !WHOLE.test(remaining)) return fail('two whole numbers', `${limit} and ${remaining}`);
  return Number(remaining) <= Number(limit) ? PASS : fail(`at most ${limit} remaining`, remaining);
}

/** Longer windows are implausible: petstore ignores such a header (rate-limit/headers.ts). */
const LONGEST_S = 32 * 86_400;
const RESET = 'a Unix time in the next 32 days, in seconds';

function checkReset(answer: Reply): Finding {
  if (!answer.headers.has('x-ratelimit-reset')) return skip('the header is missing');
  const reset = headerText(answer, 'X-RateLimit-Reset');
  if (!WHOLE.test(reset)) return fail(RESET, reset);
  const ahead = Number(reset) - Math.floor((dateOf(answer) ?? answer.receivedAt) / 1_000);
  if (ahead >= -1 && ahead <= LONGEST_S) return PASS;
  return fail(RESET, `${reset}, ${Math.abs(ahead)} s ${ahead < 0 ? 'ago' : 'ahead'} by the service's own clock`);
}

function checkClock(answer: Reply): Finding {
  const difference = clockDifference(answer);
  if (difference === undefined) return fail('a Date header', headerText(answer, 'date'));
  return difference.isLarge
    ? fail('clocks within 1 min of each other', `the service's clock ${difference.words}`)
    : PASS;
}

function checkLatency({ ms }: Reply, { maxLatency }: SmokeOptions): Finding {
  if (maxLatency === undefined) return skip('no --max-latency was given');
  return ms <= maxLatency ? PASS : fail(`the list within ${maxLatency} ms`, `it after ${Math.round(ms)} ms`);
}
