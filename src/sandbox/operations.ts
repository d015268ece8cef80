/** Finds the operation that a request asks for (service spec, part 4), and validates its values. */
import type { IncomingHttpHeaders } from 'node:http';
import { itemToJsonText } from '../api/item.ts';
import { integer, JsonError, jsonObject, parseJson, stringifyJson } from '../api/json.ts';
import { listInventory, updateInventory } from '../api/routes.ts';
import { parseInt64 } from '../api/values.ts';
import type { Rules } from './plans.ts';
import type { Store } from './sandbox-store.ts';

export interface SandboxRequest {
  readonly method: string;
  /** Path and query, as in the request line. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Pick<IncomingHttpHeaders, 'authorization' | 'content-type'>;
  /** Undefined if it was too large. */
  readonly body: string | undefined;
}

/** From the handler, it has all headers except those of the message itself; from an operation, only its own. */
export interface SandboxResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces if it is long. */
  readonly body: string | Iterable<string>;
  /** The message of an Error body. */
  readonly reason?: string;
  /** True if a fault rule set the status. */
  readonly isFault?: boolean;
}

export interface Handler {
  readonly store: Store;
  readonly rules: Rules;
  /** Valid keys in addition to those in the store. */
  readonly apiKeys: readonly string[];
  /** URL at which clients reach the service. */
  readonly baseUrl: string;
  /** Epoch ms. */
  now(): number;
}

/** Runs a validated operation. Call it within a transaction. */
export type Operation = (store: Store) => SandboxResponse;

export const BASE_PATH = '/v1';
const OPENAPI = '/openapi.json';
export const LARGEST_BODY = 64 * 1024;
/** Longer lists are read and sent in pieces. */
const WHOLE_LIST = 2_000;

interface Served {
  readonly method: string;
  readonly path: RegExp;
  readonly undocumented?: boolean;
  /** @param petId as it is in the path */
  ask(handler: Handler, request: SandboxRequest, petId: string): Operation | Promise<Operation>;
}

const SERVED: readonly Served[] = [
  { method: listInventory.method, path: below(listInventory.path), ask: () => list },
  { method: updateInventory.method, path: below(updateInventory.path), ask: update },
  { method: 'GET', path: below(OPENAPI), ask: describe },
  // The spec names these two, without any details.
  { method: 'GET', path: below('/pets/{petId}'), undocumented: true, ask: sunset },
  {
    method: 'GET',
    path: below('/store/orders'),
    undocumented: true,
    ask: () => answer(notShown('GET /store/orders')),
  },
];

/** Matches a path; `{name}` is a parameter. */
function below(path: string): RegExp {
  return new RegExp(`^${BASE_PATH}${path.replace('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]*)')}$`);
}

/** Finds the operation. Never throws, whatever the request contains. */
export async function findOperation(handler: Handler, request: SandboxRequest): Promise<Operation> {
  const path = pathOf(request.target);
  const all = handler.rules.withUndocumented === true ? SERVED : SERVED.filter(({ undocumented }) => !undocumented);
  const matches = all.filter((served) => served.path.test(path));
  if (matches.length === 0) return answer(error(404, 'not_found', 'Unknown path.'));
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const found = matches.find((served) => served.method === method);
  if (found !== undefined) return found.ask(handler, request, found.path.exec(path)?.groups?.petId ?? '');
  const allowed = matches.flatMap((served) => (served.method === 'GET' ? ['GET', 'HEAD'] : [served.method]));
  const allow = { Allow: [...allowed, 'OPTIONS'].join(', ') };
  if (method === 'OPTIONS') return answer({ status: 204, body: '', headers: allow });
  return answer(error(405, 'method_not_allowed', `Allowed here: ${allow.Allow}.`, allow));
}

/** Returns the path without query. */
export function pathOf(target: string): string {
  return target.replace(/[?#].*$/s, '');
}

/** True for what needs no key. */
export function isPublic({ target }: SandboxRequest): boolean {
  return pathOf(target) === BASE_PATH + OPENAPI;
}

function answer(result: SandboxResponse): Operation {
  return () => result;
}

function invalid(message: string): Operation {
  return answer(error(400, 'invalid_request', message));
}

function list(store: Store): SandboxResponse {
  const body = listOf(store);
  return { status: 200, headers: {}, body: store.count() > WHOLE_LIST ? body : [...body].join('') };
}

/** Yields the list in pieces. Each shows the stock at the time it is read. */
function* listOf(store: Store): Generator<string> {
  let pets = store.page(undefined, WHOLE_LIST);
  yield '[';
  for (let separator = ''; pets.length > 0; separator = ',') {
    yield separator + pets.map(itemToJsonText).join(',');
    pets = store.page(pets.at(-1)?.petId, WHOLE_LIST);
  }
  yield ']';
}

function update({ rules }: Handler, { headers, body }: SandboxRequest, petIdText: string): Operation {
  const petId = parseInt64(petIdText);
  if (petId === undefined) return invalid('petId must be a decimal int64.');
  if (body === undefined) return answer(error(413, 'too_large', `A body may have at most ${LARGEST_BODY} bytes.`));
  if (!/^application\/json *(;|$)/i.test(headers['content-type']?.trim() ?? '')) {
    return invalid('The body must have the content type application/json.');
  }
  const quantity = quantityIn(body, rules.quantity);
  if (typeof quantity === 'string') return invalid(quantity);
  return (store) => {
    const stored = store.setQuantity(petId, quantity);
    if (stored === undefined) return error(404, 'not_found', `Pet ${petId} does not exist.`);
    return { status: 200, headers: {}, body: itemToJsonText(stored) };
  };
}

/** Parses the InventoryUpdate (part 2), or returns what is wrong with it. */
function quantityIn(body: string, { least, most }: Rules['quantity']): bigint | string {
  try {
    const value = parseJson(body);
    if (!(value instanceof Map) || !value.has('quantity')) return 'The body must be an object with a quantity.';
    const quantity = integer(value.get('quantity'));
    if (quantity === undefined) return 'quantity must be an integer.';
    return quantity >= least && quantity <= most ? quantity : `quantity must be from ${least} to ${most}.`;
  } catch (problem) {
    if (problem instanceof JsonError) return `The body is not JSON: ${problem.message}.`;
    throw problem;
  }
}

/** Answers with the OpenAPI document, with this sandbox as its server. */
async function describe({ baseUrl }: Handler): Promise<Operation> {
  const { openapiDocument } = await import('../api/openapi.ts');
  const servers = [{ url: baseUrl, description: 'This sandbox' }];
  return answer({ status: 200, headers: {}, body: JSON.stringify({ ...openapiDocument(), servers }) });
}

function notShown(operation: string): SandboxResponse {
  return error(501, 'not_shown', `The service has ${operation}, but its specification does not define the response.`);
}

/** Answers as deprecated, with a sunset (part 9): RFC 9745 and RFC 8594. The spec gives no date. */
function sunset(handler: Handler): Operation {
  const year = new Date(handler.now()).getUTCFullYear();
  const headers = {
    Deprecation: `@${Date.UTC(year, 0, 1) / 1_000}`,
    Sunset: new Date(Date.UTC(year + 1, 11, 31)).toUTCString(),
  };
  return answer({ ...notShown('GET /pets/{petId}'), headers });
}

/** Returns an Error body's response (service spec, part 2). */
export function error(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): SandboxResponse & { readonly body: string } {
  return { status, headers, body: stringifyJson(jsonObject({ code, message, status })), reason: message };
}
