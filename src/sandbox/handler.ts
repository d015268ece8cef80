/**
 * The service (service spec, parts 4 to 8), from request to response, without a socket.
 *
 * What the spec does not show is the sandbox's own choice:
 *
 * | open in the spec             | here                                                             |
 * |------------------------------|------------------------------------------------------------------|
 * | range of quantity            | 0 to 2147483647; anything else is 400                            |
 * | values of Error.code         | unauthorized, invalid_request, not_found, method_not_allowed,    |
 * |                              | too_large, rate_limited, busy                                    |
 * | body of a 429                | an Error body                                                    |
 * | limits without a valid key   | one bucket for all such requests, with the limits of the plan    |
 * | an unknown path              | 404; a known path with another method: 405 with Allow            |
 * | which window the headers say | the one with the least left                                      |
 */
import { itemToJsonText } from '../api/item.ts';
import { JsonError, type JsonValue, parseJson, stringifyJson } from '../api/json.ts';
import { type Route, ROUTES } from '../api/routes.ts';
import { parseInt64 } from '../api/values.ts';
import { count, limitHeaders, type Plan } from './limiter.ts';
import type { Store } from './store.ts';

export interface SandboxRequest {
  readonly method: string;
  /** Path and query, as in the request line. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface SandboxResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Handler {
  readonly store: Store;
  readonly plan: Plan;
  /** The keys that are valid. */
  readonly apiKeys: readonly string[];
  /** Epoch ms. */
  now(): number;
}

const NO_KEY = '';
const BASE_PATH = '/v1';
const LARGEST_QUANTITY = 2_147_483_647n;

type Result = Pick<SandboxResponse, 'status' | 'body'> & { readonly headers?: Readonly<Record<string, string>> };

/** @throws {DatabaseFailure} `busy`: another process holds the store; worth another try */
export async function handle(handler: Handler, request: SandboxRequest): Promise<SandboxResponse> {
  const apiKey = bearer(request.headers.authorization);
  const known = apiKey !== undefined && handler.apiKeys.includes(apiKey);
  // Read before the transaction: the checks may load a module.
  const operation = known ? await operate(request) : undefined;
  const now = handler.now();
  return handler.store.atomically(() => {
    const verdict = count(handler.store, handler.plan, known ? apiKey : NO_KEY, now);
    const result = !verdict.allowed
      ? error(429, 'rate_limited', 'Too many requests: wait as long as Retry-After says.')
      : operation === undefined
        ? error(401, 'unauthorized', 'The API key is missing or invalid.')
        : operation(handler.store);
    return {
      status: result.status,
      headers: { 'Content-Type': 'application/json', ...limitHeaders(verdict, now), ...result.headers },
      body: result.body,
    };
  });
}

/** For the HTTP adapter: what it refuses by itself looks like everything else. */
export function error(status: number, code: string, message: string, headers?: Result['headers']): Result {
  const body = new Map<string, JsonValue>([
    ['code', code],
    ['message', message],
    ['status', status],
  ]);
  return { status, body: stringifyJson(body), ...(headers !== undefined && { headers }) };
}

function bearer(header: string | undefined): string | undefined {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(header ?? '')?.[1];
}

type Operation = (store: Store) => Result;

/** What the request asks for, its values checked, ready to be done within a transaction. */
async function operate(request: SandboxRequest): Promise<Operation> {
  const path = request.target.replace(/[?#].*$/, '');
  const matches = ROUTES.flatMap((route) => {
    const parameters = match(route, path);
    return parameters === undefined ? [] : [{ route, parameters }];
  });
  const found = matches.find(({ route }) => route.method === request.method);
  if (found === undefined) return refusal(matches.map(({ route }) => route.method));
  if (found.route.operationId === 'listInventory') return list;
  return update(found.parameters.petId ?? '', request.body);
}

function refusal(allowed: readonly string[]): Operation {
  const refused =
    allowed.length === 0
      ? error(404, 'not_found', 'There is no such path.')
      : error(405, 'method_not_allowed', `Allowed here: ${allowed.join(', ')}.`, { Allow: allowed.join(', ') });
  return () => refused;
}

/** Path parameters by name, or undefined where the path is not the route's. */
function match(route: Route, path: string): Readonly<Record<string, string>> | undefined {
  const template = `${BASE_PATH}${route.path}`.split('/');
  const segments = path.split('/');
  if (segments.length !== template.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [i, part] of template.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name !== undefined) parameters[name] = segments[i] ?? '';
    else if (part !== segments[i]) return undefined;
  }
  return parameters;
}

const list: Operation = (store) => ({ status: 200, body: `[${store.list().map(itemToJsonText).join(',')}]` });

async function update(petIdText: string, body: string): Promise<Operation> {
  const petId = parseInt64(petIdText);
  const invalid = (message: string): Operation => {
    const refused = error(400, 'invalid_request', message);
    return () => refused;
  };
  if (petId === undefined) return invalid('petId must be a decimal int64.');
  const read = await readUpdate(body);
  if (typeof read === 'string') return invalid(read);
  return (store) => {
    const stored = store.setQuantity(petId, read.quantity);
    if (stored === undefined) return error(404, 'not_found', `There is no pet ${petId}.`);
    return { status: 200, body: itemToJsonText(stored) };
  };
}

/** The InventoryUpdate (part 2), or what is wrong with it. */
async function readUpdate(body: string): Promise<{ quantity: bigint } | string> {
  let value: JsonValue;
  try {
    value = parseJson(body);
  } catch (problem) {
    if (problem instanceof JsonError) return `The body is not JSON: ${problem.message}.`;
    throw problem;
  }
  if (!(value instanceof Map) || !value.has('quantity')) return 'The body must be an object with a quantity.';
  const { InventoryUpdateSchema } = await import('../api/schemas.ts');
  const result = InventoryUpdateSchema.safeParse({ quantity: value.get('quantity') });
  if (!result.success) return 'quantity must be an integer.';
  const { quantity } = result.data;
  return quantity >= 0n && quantity <= LARGEST_QUANTITY
    ? { quantity }
    : `quantity must be from 0 to ${LARGEST_QUANTITY}.`;
}
