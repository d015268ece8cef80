/**
 * The sandbox's own controls, outside the service and its limits: stock, usage, request log, faults and clock. Takes
 * and returns JSON, without a socket.
 *
 * | request                                | does                                                        |
 * |----------------------------------------|-------------------------------------------------------------|
 * | GET /__sandbox/state                   | plan, clock, pets, each key's allowance, faults             |
 * | GET /__sandbox/pets?after=ID&limit=N   | the stock                                                   |
 * | GET /__sandbox/requests?after=N        | the newest requests (at most 1,000); DELETE clears them     |
 * | GET, PUT, DELETE /__sandbox/faults     | the rules, as an array of texts                             |
 * | POST /__sandbox/clock                  | `{"advance":"1d"}`                                          |
 * | POST /__sandbox/reset                  | reset stock and usage                                       |
 * | POST /__sandbox/seed                   | `{"pets":1000}`                                             |
 */
import { itemToJson } from '../api/item.ts';
import { JsonError, jsonObject, type JsonValue, parseJson, stringifyJson } from '../api/json.ts';
import { parseInt64 } from '../api/values.ts';
import { parseDuration } from '../duration.ts';
import type { Served } from './serve-request.ts';
import { error, type SandboxResponse } from './operations.ts';
import { FaultSyntaxError, parseFault } from './faults.ts';
import { type Window, windowsOf } from './limiter.ts';
import { SANDBOX_KEY } from './plans.ts';
import { MOST_PETS, seedCatalog, seedItems } from './seed.ts';

export interface AdminRequest {
  readonly method: string;
  /** Below `/__sandbox`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

const A_CENTURY_MS = 100 * 365 * 86_400_000;

/** The request asks for something invalid. */
class InvalidControl extends Error {}

/** Each runs within a transaction. */
const ACTIONS: Readonly<Record<string, (served: Served, request: AdminRequest) => JsonValue>> = {
  'GET /state': describeState,
  'GET /pets': listPets,
  'GET /requests': ({ log }, { query }) =>
    log.since(Number(query.get('after') ?? 0)).map((each) => new Map(Object.entries(each) as [string, JsonValue][])),
  'DELETE /requests': ({ log }) => {
    log.clear();
    return [];
  },
  'GET /faults': ({ faults }) => rulesOf(faults),
  'PUT /faults': setFaults,
  'DELETE /faults': ({ faults }) => {
    faults.set([]);
    return [];
  },
  'POST /clock': advanceClock,
  'POST /reset': ({ handler: { store } }) => {
    store.replacePets(seedItems());
    store.forgetAllowances();
    return jsonObject({ pets: store.count() });
  },
  'POST /seed': seed,
};

/** @throws {Failure} `state` */
export async function administer(served: Served, request: AdminRequest): Promise<SandboxResponse> {
  const action = ACTIONS[`${request.method} ${request.path}`];
  if (action !== undefined) {
    return served.handler.store.exclusively(() => {
      try {
        return { status: 200, headers: {}, body: stringifyJson(action(served, request)) };
      } catch (problem) {
        // Catch it here, because requests may share the transaction. Nothing has been changed yet.
        if (problem instanceof InvalidControl) return error(400, 'invalid_request', problem.message);
        throw problem;
      }
    });
  }
  const allowed = Object.keys(ACTIONS).flatMap((name) =>
    name.endsWith(` ${request.path}`) ? [name.split(' ')[0]] : [],
  );
  if (allowed.length === 0) return error(404, 'not_found', 'The sandbox has no such control.');
  return error(405, 'method_not_allowed', `Allowed here: ${allowed.join(', ')}.`, { Allow: allowed.join(', ') });
}

/** Lists pets with their names in the sandbox's own catalog. */
function listPets({ handler: { store } }: Served, { query }: AdminRequest): JsonValue {
  const names = new Map(seedCatalog().map(({ petId, name }) => [petId, name]));
  return store
    .page(idIn(query), countIn(query))
    .map((item) => new Map([...itemToJson(item), ['name', names.get(item.petId) ?? '']]));
}

function describeState({ handler, faults, skewMs }: Served): JsonValue {
  const { store, rules, apiKeys } = handler;
  const now = handler.now();
  const iso = (at: number): JsonValue => (at > now ? new Date(at).toISOString() : null);
  const windowOf = ({ limit, used, resetAt }: Window): JsonValue => jsonObject({ limit, used, resetAt: iso(resetAt) });
  const keys = [...new Set([...apiKeys, ...store.keys()])].map((apiKey) => {
    const allowance = store.allowance(apiKey);
    const { minute, day } = windowsOf(allowance, rules.plan, now);
    return jsonObject({
      key: masked(apiKey),
      minute: windowOf(minute),
      day: windowOf(day),
      early: allowance.early,
      blockedUntil: iso(allowance.blockedUntil),
      bannedUntil: iso(allowance.bannedUntil),
    });
  });
  const { perMinute, perDay } = rules.plan;
  return jsonObject({
    baseUrl: handler.baseUrl,
    now: new Date(now).toISOString(),
    skewMs,
    plan: jsonObject({ perMinute, perDay }),
    banAfter: rules.banAfter,
    pets: store.count(),
    keys,
    faults: rulesOf(faults),
  });
}

function rulesOf(faults: Served['faults']): JsonValue {
  return faults.rules.map(({ text, seen, fired }) => jsonObject({ text, seen, fired }));
}

/** Masks a key, because other users of this machine may read it. The built-in key is not a secret. */
function masked(apiKey: string): string {
  return apiKey === SANDBOX_KEY ? apiKey : `${apiKey.slice(0, apiKey.length < 12 ? 1 : 4)}…`;
}

function setFaults({ faults }: Served, { body }: AdminRequest): JsonValue {
  const given = read(body);
  if (!Array.isArray(given) || !given.every((each) => typeof each === 'string')) {
    throw new InvalidControl('The body must be an array of rules, each a text such as "status=503,p=0.1".');
  }
  const rules = given.map((text) => {
    try {
      return parseFault(text);
    } catch (problem) {
      if (!(problem instanceof FaultSyntaxError)) throw problem;
      throw new InvalidControl(`The rule ${JSON.stringify(text)} ${problem.message}.`);
    }
  });
  faults.set(rules);
  return rulesOf(faults);
}

function advanceClock(served: Served, { body }: AdminRequest): JsonValue {
  const by = member(body, 'advance');
  const ms = typeof by === 'string' ? parseDuration(by) : undefined;
  if (ms === undefined || served.skewMs + ms > A_CENTURY_MS) {
    throw new InvalidControl('The body must have the time to advance, at most a century: {"advance":"1d"}.');
  }
  served.skewMs += ms;
  return jsonObject({ now: new Date(served.handler.now()).toISOString() });
}

function seed({ handler: { store } }: Served, { body }: AdminRequest): JsonValue {
  const pets = member(body, 'pets');
  if (typeof pets !== 'number' || !Number.isInteger(pets) || pets < 0 || pets > MOST_PETS) {
    throw new InvalidControl(`The body must have the number of pets, at most ${MOST_PETS}: {"pets":1000}.`);
  }
  store.replacePets({ generated: pets });
  return jsonObject({ pets: store.count() });
}

function member(body: string, name: string): JsonValue | undefined {
  const value = read(body);
  return value instanceof Map ? value.get(name) : undefined;
}

function read(body: string): JsonValue {
  try {
    return parseJson(body);
  } catch (problem) {
    if (problem instanceof JsonError) throw new InvalidControl(`The body is not JSON: ${problem.message}.`);
    throw problem;
  }
}

function idIn(query: URLSearchParams): bigint | undefined {
  const text = query.get('after');
  const id = text === null ? undefined : parseInt64(text);
  if (text !== null && id === undefined) throw new InvalidControl('after must be a decimal int64.');
  return id;
}

function countIn(query: URLSearchParams): number {
  const text = query.get('limit') ?? '100';
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new InvalidControl('limit must be from 1 to 9999.');
  return Number(text);
}
