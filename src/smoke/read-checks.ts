/** What the service shows of its contract to whoever only reads. Pure: an answer -> a finding. */
import { stringifyJson } from '../api/json.ts';
import { ErrorSchema, InventoryItemSchema } from '../api/schemas.ts';
import { type CheckFacts, fail, type Finding, PASS, skip } from './check.ts';
import { type Answer, dateOf } from '../client/probe.ts';

/** The list with the key, without one, with a wrong one; and a path that is none. */
export type Question = 'list' | 'keyless' | 'wrong' | 'unknown';

export interface Bounds {
  /** In ms; absent: not checked. */
  readonly maxLatencyMs?: number;
  readonly maxSkewMs: number;
}

export interface ReadCheck extends CheckFacts {
  /** What it looks at, each answer by itself: asked for only if some check wants it. */
  readonly asks: readonly Question[];
  check(answer: Answer, bounds: Bounds): Finding;
}

/** Only where the list itself is there can anything be said of it. */
const ofList = (check: ReadCheck['check']): ReadCheck['check'] => {
  return (answer, bounds) => (answer.status === 200 ? check(answer, bounds) : skip('there is no list'));
};

const ofRefusal = (check: (answer: Answer) => Finding): ReadCheck['check'] => {
  return (answer) => {
    if (answer.status < 400) return skip('it was not refused');
    return check(answer);
  };
};

const isError = ofRefusal(({ json: body, problem }) => {
  if (body === undefined) return fail(`the body is no JSON: ${problem ?? ''}`);
  const fields = body instanceof Map ? Object.fromEntries(body) : {};
  const result = ErrorSchema.safeParse(fields);
  if (result.success) return PASS;
  return fail(`the body is no Error: ${String(result.error.issues[0]?.path[0] ?? 'it')} is missing or mistyped`);
});

const repeatsStatus = ofRefusal(({ json: body, status }) => {
  const told = body instanceof Map ? body.get('status') : undefined;
  if (typeof told !== 'number') return skip('the body has no status');
  return told === status ? PASS : fail(`the status is ${status}, but Error.status says ${told}`);
});

const hasStatus = (status: number): ReadCheck['check'] => {
  return (answer) => (answer.status === status ? PASS : fail(`the status is ${answer.status}, not ${status}`));
};

export const READ_CHECKS: readonly ReadCheck[] = [
  { id: 'list-status', title: 'the list is answered with 200', clause: '4.1', asks: ['list'], check: checkList },
  { id: 'list-type', title: 'the list is application/json', clause: '4.1', asks: ['list'], check: ofList(checkType) },
  {
    id: 'list-rows',
    title: 'every row is an InventoryItem',
    clause: '2, 4.1',
    asks: ['list'],
    check: ofList(checkRows),
  },
  { id: 'list-ids', title: 'no pet is listed twice', clause: '4.1', asks: ['list'], check: ofList(checkIds) },
  {
    id: 'limit-headers',
    title: 'the three rate-limit headers are there',
    clause: '8, rule 1',
    asks: ['list'],
    check: checkHeaders,
  },
  {
    id: 'limit-values',
    title: 'limit and remaining make sense together',
    clause: '8, rule 1',
    asks: ['list'],
    check: checkValues,
  },
  {
    id: 'limit-reset',
    title: 'the reset is a Unix timestamp ahead',
    clause: '8, rule 2',
    asks: ['list'],
    check: checkReset,
  },
  { id: 'clock', title: "the service's clock is right", clause: '8, rule 2', asks: ['list'], check: checkClock },
  {
    id: 'latency',
    title: 'the list comes in time',
    clause: 'none: --max-latency',
    asks: ['list'],
    check: checkLatency,
  },
  { id: 'keyless-status', title: 'without a key: 401', clause: '5', asks: ['keyless'], check: hasStatus(401) },
  { id: 'wrong-status', title: 'with a wrong key: 401', clause: '5', asks: ['wrong'], check: hasStatus(401) },
  {
    id: 'error-body',
    title: 'both refusals have an Error body',
    clause: '5, 7',
    asks: ['keyless', 'wrong'],
    check: isError,
  },
  {
    id: 'error-status',
    title: 'Error.status is the status',
    clause: '7, rule 1',
    asks: ['keyless', 'wrong'],
    check: repeatsStatus,
  },
  { id: 'unknown-status', title: 'a path that is none: 404', clause: '4, 7', asks: ['unknown'], check: hasStatus(404) },
];

function checkList({ status, headers }: Answer): Finding {
  if (status === 200) return PASS;
  const to = headers.get('location')?.[0];
  return fail(`the status is ${status}, not 200${to === undefined ? '' : `; it redirects to ${to}`}`);
}

function checkType({ headers }: Answer): Finding {
  const type = headers.get('content-type')?.join(', ');
  if (type === undefined) return fail('there is no Content-Type');
  return /^application\/json\s*(;|$)/i.test(type) ? PASS : fail(`the content type is ${type}`);
}

function checkRows({ json, problem }: Answer): Finding {
  if (json === undefined) return fail(`the body is no JSON: ${problem ?? ''}`);
  if (!Array.isArray(json)) return fail('the body is no array');
  for (const [i, row] of json.entries()) {
    const fields = row instanceof Map ? Object.fromEntries(row) : {};
    const result = InventoryItemSchema.safeParse(fields);
    if (result.success) continue;
    const field = String(result.error.issues[0]?.path[0] ?? 'petId');
    const value = row instanceof Map ? row.get(field) : undefined;
    return fail(`row ${i + 1}: ${field} is ${value === undefined ? 'missing' : stringifyJson(value).slice(0, 60)}`);
  }
  return PASS;
}

function checkIds({ json }: Answer): Finding {
  if (!Array.isArray(json)) return skip('there are no rows');
  const seen = new Set<string>();
  for (const row of json) {
    const id = row instanceof Map ? row.get('petId') : undefined;
    if (typeof id !== 'number' && typeof id !== 'bigint') continue;
    if (seen.has(id.toString())) return fail(`pet ${id} is listed twice`);
    seen.add(id.toString());
  }
  return PASS;
}

const LIMITS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

function numberIn({ headers }: Answer, name: string): number | undefined {
  const values = headers.get(name.toLowerCase());
  const [value] = values ?? [];
  return values?.length === 1 && value !== undefined && /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined;
}

function checkHeaders({ headers }: Answer): Finding {
  const missing = LIMITS.filter((name) => !headers.has(name.toLowerCase()));
  return missing.length === 0 ? PASS : fail(`missing: ${missing.join(', ')}`);
}

function checkValues(answer: Answer): Finding {
  if (LIMITS.slice(0, 2).some((name) => !answer.headers.has(name.toLowerCase()))) return skip('they are not all there');
  const [limit, remaining] = LIMITS.map((name) => numberIn(answer, name));
  if (limit === undefined || remaining === undefined) return fail('they are no whole numbers, once each');
  return remaining <= limit ? PASS : fail(`${remaining} are said to be left of ${limit}`);
}

/** A quota over more than a month is none we know of. */
const LONGEST_S = 32 * 86_400;

function checkReset(answer: Answer): Finding {
  if (!answer.headers.has('x-ratelimit-reset')) return skip('there is none');
  const reset = numberIn(answer, 'X-RateLimit-Reset');
  if (reset === undefined) return fail('it is no whole number of seconds');
  const ahead = reset - Math.floor(serverNow(answer) / 1_000);
  if (ahead >= -1 && ahead <= LONGEST_S) return PASS;
  return fail(`${reset} is ${Math.abs(ahead)} s ${ahead < 0 ? 'past' : 'ahead'} by the service's own clock`);
}

function serverNow(answer: Answer): number {
  return dateOf(answer) ?? answer.receivedAt;
}

function checkClock(answer: Answer, { maxSkewMs }: Bounds): Finding {
  const date = dateOf(answer);
  if (date === undefined) return fail('there is no Date header that can be read');
  const skew = Math.round((date - answer.receivedAt) / 1_000);
  if (Math.abs(skew) * 1_000 <= maxSkewMs) return PASS;
  return fail(`it is ${Math.abs(skew)} s ${skew < 0 ? 'behind' : 'ahead of'} this machine's`);
}

function checkLatency({ ms }: Answer, { maxLatencyMs }: Bounds): Finding {
  if (maxLatencyMs === undefined) return skip('no --max-latency was given');
  return ms <= maxLatencyMs ? PASS : fail(`it took ${Math.round(ms)} ms, longer than ${maxLatencyMs} ms`);
}
