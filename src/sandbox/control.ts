/**
 * Serves the sandbox's page, and controls for stock, usage, request log, faults and clock, which no rate limit counts.
 *
 * | request                                | does                                                        |
 * |----------------------------------------|-------------------------------------------------------------|
 * | GET /__sandbox/state                   | plan, clock, pets, each key's usage, faults                 |
 * | GET /__sandbox/pets                    | the first 100 pets                                          |
 * | GET /__sandbox/requests?after=N        | the newest requests (at most 1,000)                         |
 * | GET, PUT /__sandbox/faults             | the rules, as an array of texts                             |
 * | POST /__sandbox/clock                  | `{"advance":"1d"}`                                          |
 * | POST /__sandbox/reset                  | reset stock and usage                                       |
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod/mini';
import { itemToJson } from '../api/item.ts';
import { stringifyJson } from '../api/json.ts';
import { parseDuration } from '../duration.ts';
import { isFailure, usageFailure } from '../errors.ts';
import { readBody } from '../http/server.ts';
import { parseFault } from './faults.ts';
import { refuse, troubleOf } from './handler.ts';
import { type Window, windowsOf } from './limiter.ts';
import { error, LARGEST_BODY, type SandboxResponse } from './operations.ts';
import { SANDBOX_KEY } from './plans.ts';
import { seedCatalog } from './seed.ts';
import { send, type Served } from './serve-request.ts';

interface ControlRequest {
  readonly query: URLSearchParams;
  readonly body: string;
}

const BELOW = '/__sandbox';
/** Pets that the page shows. */
const MOST_SHOWN = 100;
const A_CENTURY_MS = 100 * 365 * 86_400_000;

/** Each runs within a transaction and returns JSON. @throws {Failure} `usage`, `invalid-value` */
const ACTIONS: Readonly<Record<string, (served: Served, request: ControlRequest) => string>> = {
  'GET /state': (served) => JSON.stringify(stateOf(served)),
  // The first pets, with their names in the sandbox's own catalog.
  'GET /pets': ({ store }) => {
    const names = new Map(seedCatalog().map(({ petId, name }) => [petId, name]));
    const pets = store.page(undefined, MOST_SHOWN);
    return stringifyJson(pets.map((item) => new Map([...itemToJson(item), ['name', names.get(item.petId) ?? '']])));
  },
  'GET /requests': ({ log }, { query }) => {
    const after = Number(query.get('after') ?? 0);
    return JSON.stringify(log.filter(({ id }) => id > after));
  },
  'GET /faults': (served) => JSON.stringify(faultsOf(served)),
  'PUT /faults': (served, request) => {
    const rules = read(request, z.array(z.string()), 'an array of rules, each a text such as "status=503,p=0.1"');
    served.faults.set(rules.map(parseFault));
    return JSON.stringify(faultsOf(served));
  },
  'POST /clock': (served, request) => {
    const what = 'the time to advance, at most a century: {"advance":"1d"}';
    const { advance } = read(request, z.object({ advance: z.string() }), what);
    const ms = parseDuration(advance) ?? Number.POSITIVE_INFINITY;
    if (served.skewMs + ms > A_CENTURY_MS) throw usageFailure(`The body must be ${what}.`);
    served.skewMs += ms;
    return JSON.stringify({ now: new Date(served.now()).toISOString() });
  },
  'POST /reset': ({ store }) => {
    store.reset();
    return JSON.stringify({ pets: store.count() });
  },
};

/** Answers a request for the page or a control. Never rejects. */
export async function control(served: Served, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { pathname, searchParams: query } = new URL(incoming.url ?? '/', 'http://sandbox');
  const { method = '' } = incoming;
  const body = (await readBody(incoming, outgoing, LARGEST_BODY).catch(() => undefined))?.toString() ?? '';
  const result = isForeign(incoming)
    ? error(403, 'foreign_page', 'Only the sandbox’s own page, or a program, may do that.')
    : pathname.startsWith(`${BELOW}/`)
      ? await administer(served, `${method} ${pathname.slice(BELOW.length)}`, { query, body }).catch(troubleOf)
      : await page(method, pathname);
  const response =
    result === undefined
      ? await refuse(served, [404, 'not_found', 'Unknown path.'])
      : { ...result, headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...result.headers } };
  await send(served, outgoing, response);
}

/** True if the page of another site made the browser send the request, according to the browser's headers. */
function isForeign({ headers, method }: IncomingMessage): boolean {
  if (headers['sec-fetch-site'] !== undefined && !['same-origin', 'none'].includes(headers['sec-fetch-site'])) {
    return true;
  }
  if (headers.origin !== undefined) return headers.origin !== `http://${headers.host ?? ''}`;
  // Without either header, an old browser could still post a form, but not JSON.
  return method === 'POST' && !/^application\/json\b/.test(headers['content-type'] ?? '');
}

async function page(method: string, path: string): Promise<SandboxResponse | undefined> {
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const { default: built } = await import('./page.json', { with: { type: 'json' } });
  return {
    status: 200,
    body: built.html,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': built.policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  };
}

/** @param name method and path below `/__sandbox` @throws {Failure} `state` */
async function administer(served: Served, name: string, request: ControlRequest): Promise<SandboxResponse> {
  const action = ACTIONS[name];
  if (action === undefined) return error(404, 'not_found', 'The sandbox has no such control.');
  return served.store.exclusively(() => {
    try {
      return { status: 200, headers: {}, body: action(served, request) };
    } catch (problem) {
      // Caught here, because requests may share the transaction. Nothing has been changed yet.
      const message = refusalIn(problem);
      if (message === undefined) throw problem;
      return error(400, 'invalid_request', message);
    }
  });
}

function refusalIn(problem: unknown): string | undefined {
  if (!isFailure(problem)) return undefined;
  if (problem.is('usage')) return problem.details.problem;
  return problem.is('invalid-value') ? `${problem.details.name} must be ${problem.details.expected}.` : undefined;
}

export type State = ReturnType<typeof stateOf>;

function stateOf(served: Served) {
  const { apiKeys, baseUrl, rules, skewMs, store } = served;
  const now = served.now();
  const iso = (at: number): string | null => (at > now ? new Date(at).toISOString() : null);
  const windowOf = ({ limit, used, resetAt }: Window) => ({ limit, used, resetAt: iso(resetAt) });
  const keys = [...new Set([...apiKeys, ...store.keys()])].map((apiKey) => {
    const allowance = store.allowance(apiKey);
    const { minute, day } = windowsOf(allowance, rules.plan, now);
    return {
      key: masked(apiKey),
      minute: windowOf(minute),
      day: windowOf(day),
      early: allowance.early,
      blockedUntil: iso(allowance.blockedUntil),
      bannedUntil: iso(allowance.bannedUntil),
    };
  });
  const { perMinute, perDay } = rules.plan;
  return {
    baseUrl,
    now: new Date(now).toISOString(),
    skewMs,
    plan: { perMinute, perDay },
    banAfter: rules.banAfter,
    pets: store.count(),
    keys,
    faults: faultsOf(served),
  };
}

function faultsOf({ faults }: Served) {
  return faults.rules.map(({ text, seen, fired }) => ({ text, seen, fired }));
}

/** Masks a key, because other users of this machine may read it. The built-in key is not a secret. */
function masked(apiKey: string): string {
  return apiKey === SANDBOX_KEY ? apiKey : `${apiKey.slice(0, apiKey.length < 12 ? 1 : 4)}…`;
}

function read<T>({ body }: ControlRequest, schema: z.ZodMiniType<T>, what: string): T {
  try {
    return schema.parse(JSON.parse(body));
  } catch {
    throw usageFailure(`The body must be ${what}.`);
  }
}
