/**
 * Sends every route of the OpenAPI document what it takes, and what it does not. No answer may be 5xx, and the document
 * must list each one for the operation, in that shape.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseJson } from '../../src/api/json.ts';
import { openapiDocument } from '../../src/api/openapi.ts';
import { readErrorBody, readItem } from '../../src/api/schemas.ts';
import type { Handler, SandboxRequest } from '../../src/sandbox/operations.ts';
import { handle } from '../../src/sandbox/handler.ts';
import { DEFAULT_RULES } from '../../src/sandbox/plans.ts';
import { newStore } from '../support/sandbox.ts';
import { START } from '../support/virtual-clock.ts';

const { paths } = openapiDocument() as {
  paths: Readonly<Record<string, Readonly<Record<string, { responses: object }>>>>;
};
const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    method: method.toUpperCase(),
    path,
    /** Of its answers. */
    statuses: Object.keys(responses).map(Number),
  })),
);

/** Mostly what comes first. */
const mostly = <T>(usual: fc.Arbitrary<T>, ...others: readonly fc.Arbitrary<T>[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: usual }, ...others);

const integer = fc.oneof(fc.constantFrom('7', '12', '9223372036854775807'), fc.bigInt().map(String));
const segment = fc.oneof(
  fc.constantFrom('', '.', '..', '-0', '+7', '%37', '9223372036854775808', '7;v=1', 'inventory', '__proto__'),
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }).map((text) => encodeURIComponent(text)),
);
const body = mostly<string | undefined>(
  integer.map((quantity) => `{"quantity":${quantity}}`),
  fc.constantFrom('', '{', '[]', 'null', '{"quantity":', '{"quantity":1}{}', '\ufeff{"quantity":1}', undefined),
  fc.constantFrom('{"quantity":1e400}', '{"quantity":1.5}', '{"quantity":"1"}'),
  fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
);
const JSON_TYPE = 'application/json';

const requestFor = ({ method, path }: (typeof OPERATIONS)[number]): fc.Arbitrary<SandboxRequest> =>
  fc.record({
    method: mostly(
      fc.constant(method),
      fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW'),
    ),
    target: mostly(
      mostly(integer, segment).map((id) => `/v1${path.replace('{petId}', () => id)}`),
      fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`),
    ),
    headers: fc.record({
      authorization: mostly(fc.constant('Bearer key'), fc.constantFrom('Bearer other', 'Basic a2V5', '', undefined)),
      'content-type': mostly(
        fc.constant(JSON_TYPE),
        fc.constantFrom(`${JSON_TYPE}; charset=utf-8`, 'text/plain', '', ';', undefined),
      ),
    }),
    body,
  });

/** Not in the document: the statuses that HTTP itself has for a request outside its operations. */
const OF_HTTP = [204, 400, 401, 404, 405, 413];

it.each(OPERATIONS)('$method $path', async (operation) => {
  const store = await newStore();
  const plan = { perMinute: 1_000_000, perDay: 1_000_000 };
  const handler: Handler = {
    store,
    rules: { ...DEFAULT_RULES, plan },
    apiKeys: ['key'],
    baseUrl: 'http://127.0.0.1/v1',
    now: () => START,
  };
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(requestFor(operation), async (request) => {
      const { status, headers: sent, body } = await handle(handler, request);
      seen.add(status);
      expect([...operation.statuses, ...OF_HTTP]).toContain(status);
      for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
        expect(sent[name]).toMatch(/^[0-9]+$/);
      }
      if (status === 204) return;
      const value = parseJson(typeof body === 'string' ? body : '');
      if (status >= 400) expect(readErrorBody(value)).toMatchObject({ status });
      else if (request.target.startsWith('/v1/inventory')) for (const each of [value].flat()) readItem(each, 'It');
    }),
    { numRuns: 3_000 },
  );
  // Inputs that all end in the same refusal would test little.
  expect([...seen].sort()).toEqual(expect.arrayContaining([200, 401, 404, 405]));
});
