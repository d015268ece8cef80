/**
 * Sends every route of the OpenAPI document values that its schemas allow, and values that they forbid.
 * No answer may be 5xx, and the document must list each one for the operation, in that shape.
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

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly schema: Schema }[];
  readonly body?: Schema;
  /** Statuses of its answers. */
  readonly statuses: readonly number[];
}

const document = openapiDocument() as { paths: object; components: { schemas: Record<string, Schema> } };

const OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Readonly<Record<string, Schema>>).map(([method, each]) => ({
    method: method.toUpperCase(),
    path,
    parameters: (each.parameters ?? []) as Operation['parameters'],
    ...(each.requestBody !== undefined && {
      body: (each.requestBody as { content: Record<string, { schema: Schema }> }).content['application/json']!.schema,
    }),
    statuses: Object.keys(each.responses as object).map(Number),
  })),
);

function resolve(schema: Schema): Schema {
  const name = typeof schema.$ref === 'string' ? schema.$ref.replace('#/components/schemas/', '') : undefined;
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
}

/** JSON text that fits the schema: integers of any size as they are written. */
function fitting(schema: Schema): fc.Arbitrary<string> {
  const { type, format, properties = {}, required = [], enum: words } = resolve(schema);
  if (Array.isArray(words)) return fc.constantFrom(...words.map((word) => JSON.stringify(word)));
  if (type === 'integer') {
    const of64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const any = format === 'int64' ? of64 : fc.oneof(of64, fc.bigInt());
    return fc.oneof(fc.constantFrom('0', '7', '12', '9223372036854775807'), any.map(String));
  }
  if (type === 'string') return fc.string().map((text) => JSON.stringify(text));
  const members = Object.entries(properties as Record<string, Schema>).map(([name, each]) => {
    const value = fitting(each).map((text) => `${JSON.stringify(name)}:${text}`);
    return (required as string[]).includes(name) ? value : fc.option(value, { nil: '' });
  });
  return fc.tuple(...members).map((all) => `{${all.filter(Boolean).join(',')}}`);
}

const anything = fc.oneof(
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '{',
    '[]',
    'null',
    '{"quantity":',
    '{"quantity":1}{}',
    '\ufeff{"quantity":1}',
    '{"quantity":1e400}',
  ),
);

const segment = fc.oneof(
  fc.constantFrom('', '.', '..', '7', '-0', '+7', '%37', '9223372036854775808', '7;v=1', 'inventory', '__proto__'),
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }).map((text) => encodeURIComponent(text)),
);

function pathOf({ path, parameters }: Operation): fc.Arbitrary<string> {
  const values = parameters.map(({ name, schema }) =>
    fc
      .oneof({ weight: 3, arbitrary: fitting(schema) }, { weight: 1, arbitrary: segment })
      .map((text) => [name, text] as const),
  );
  return fc
    .tuple(...values)
    .map((all) => all.reduce((filled, [name, text]) => filled.replace(`{${name}}`, () => text), `/v1${path}`));
}

const headers = fc.record({
  authorization: fc.constantFrom('Bearer key', 'Bearer key', 'Bearer key', 'Bearer other', 'Basic a2V5', '', undefined),
  'content-type': fc.constantFrom(
    'application/json',
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    '',
    ';',
    undefined,
  ),
});

function requestFor(operation: Operation): fc.Arbitrary<SandboxRequest> {
  const body = operation.body === undefined ? fc.constant('') : fitting(operation.body);
  return fc.record({
    method: fc.oneof(
      { weight: 6, arbitrary: fc.constant(operation.method) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW'),
      },
    ),
    target: fc.oneof(
      { weight: 6, arbitrary: pathOf(operation) },
      { weight: 1, arbitrary: fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`) },
    ),
    headers,
    body: fc.oneof(
      { weight: 4, arbitrary: body },
      { weight: 2, arbitrary: anything },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
  });
}

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
      else if (request.target.startsWith('/v1/inventory')) [value].flat().forEach(readItem);
    }),
    { numRuns: 3_000 },
  );
  // Inputs that all end in the same refusal would test little.
  expect([...seen].sort()).toEqual(expect.arrayContaining([200, 401, 404, 405]));
});
