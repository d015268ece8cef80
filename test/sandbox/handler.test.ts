import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import type { Handler, SandboxRequest } from '../../src/sandbox/operations.ts';
import { type Fault, parseFault } from '../../src/sandbox/faults.ts';
import { handle, refuse, troubleOf } from '../../src/sandbox/handler.ts';
import { DEFAULT_RULES, type Rules } from '../../src/sandbox/plans.ts';
import { createHome } from '../support/home.ts';
import { newStore } from '../support/sandbox.ts';
import { START } from '../support/virtual-clock.ts';

type Asked = Partial<SandboxRequest> & { /** A rule of a status. */ readonly fault?: string };

const HEADERS = { authorization: 'Bearer key', 'content-type': 'application/json' };

async function ask(
  { fault, headers, ...request }: Asked,
  { rules, ...handler }: Partial<Omit<Handler, 'rules'>> & { readonly rules?: Partial<Rules> } = {},
) {
  const store = handler.store ?? (await newStore());
  const { body, ...response } = await handle(
    {
      apiKeys: ['key'],
      now: () => START,
      baseUrl: 'http://127.0.0.1:4010/v1',
      rules: { ...DEFAULT_RULES, ...rules },
      ...handler,
      store,
    },
    { method: 'GET', target: '/v1/inventory', body: '', ...request, headers: { ...HEADERS, ...headers } },
    fault === undefined ? undefined : (parseFault(fault) as Fault<'status'>),
  );
  return { ...response, body: typeof body === 'string' ? body : [...body].join('') };
}

const patch = (target: string, body: string | undefined = '{"quantity":1}', headers = {}) => ({
  method: 'PATCH',
  target: `/v1/inventory/${target}`,
  body,
  headers,
});

describe('the sandbox refuses', () => {
  it.each<readonly [string, Asked, number, string]>([
    ['no key', { headers: { authorization: undefined } }, 401, 'unauthorized'],
    ['another key', { headers: { authorization: 'Bearer other' } }, 401, 'unauthorized'],
    ['another scheme', { headers: { authorization: 'Basic key' } }, 401, 'unauthorized'],
    ['an unknown path', { target: '/v1/pets' }, 404, 'not_found'],
    ['a path that only begins well', { target: '/v1/inventory/7/more' }, 404, 'not_found'],
    ['what the spec only names', { target: '/v1/store/orders' }, 404, 'not_found'],
    ['an id with a leading zero', patch('007'), 400, 'invalid_request'],
    ...['9223372036854775808', '-9223372036854775809', '1e3', '', '%37', '%zz', '7%2F'].map(
      (id) => [`fault 109: the id ${id}`, patch(id), 400, 'invalid_request'] as const,
    ),
    ...['/v1/inventory/7/../8', '/v1//inventory/7', '//v1/inventory/7', '/v1/inventory/-9223372036854775808'].map(
      (target) => [`fault 109: ${target}`, { ...patch(''), target }, 404, 'not_found'] as const,
    ),
    ['an unknown pet', patch('999'), 404, 'not_found'],
    ['no JSON', patch('7', 'quantity=1'), 400, 'invalid_request'],
    ['no body', patch('7', ''), 400, 'invalid_request'],
    ['an array', patch('7', '[1]'), 400, 'invalid_request'],
    ['no quantity', patch('7', '{}'), 400, 'invalid_request'],
    ['a quantity given twice', patch('7', '{"quantity":1,"quantity":2}'), 400, 'invalid_request'],
    ['a text', patch('7', '{"quantity":"1"}'), 400, 'invalid_request'],
    ['a fraction', patch('7', '{"quantity":1.0}'), 400, 'invalid_request'],
    ['an exponent', patch('7', '{"quantity":1e3}'), 400, 'invalid_request'],
    ['a negative quantity', patch('7', '{"quantity":-1}'), 400, 'invalid_request'],
    ['a quantity beyond its range', patch('7', '{"quantity":2147483648}'), 400, 'invalid_request'],
    ['a form', patch('7', '{"quantity":1}', { 'content-type': 'text/plain' }), 400, 'invalid_request'],
    ['no content type', patch('7', '{"quantity":1}', { 'content-type': undefined }), 400, 'invalid_request'],
    ['fault 108: a long body', { ...patch('7'), body: undefined }, 413, 'too_large'],
  ])('%s', async (_name, request, status, code) => {
    const response = await ask(request);
    expect({ status: response.status, body: JSON.parse(response.body) as unknown }).toEqual({
      status,
      body: { status, code, message: expect.any(String) as string },
    });
    expect(response.headers).toMatchObject({
      'Content-Type': 'application/json',
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '59',
      'X-RateLimit-Reset': String(START / 1_000 + 60),
    });
  });

  it('another method, and says which are allowed', async () => {
    const list = await ask({ method: 'DELETE' });
    const one = await ask({ method: 'GET', target: '/v1/inventory/7?x=1' });
    expect([list.status, list.headers.Allow, one.status, one.headers.Allow]).toEqual([
      405,
      'GET, HEAD, OPTIONS',
      405,
      'PATCH, OPTIONS',
    ]);
  });
});

describe('it also answers', () => {
  it.each<readonly [string, Asked, object]>([
    ['HEAD as GET', { method: 'HEAD' }, { status: 200, body: expect.stringMatching(/^\[/) as string }],
    ['OPTIONS', { ...patch('7'), method: 'OPTIONS' }, { status: 204, body: '' }],
    ['a query', { target: '/v1/inventory?a=/b' }, { status: 200 }],
    [
      'JSON in UTF-8 by name',
      patch('7', undefined, { 'content-type': 'Application/JSON; charset="UTF-8"' }),
      { status: 200 },
    ],
    ['a key of the store', { headers: { authorization: 'bearer added' } }, { status: 200 }],
  ])('%s', async (_name, request, response) => {
    const store = await newStore();
    store.addKey('added');
    expect(await ask(request, { store })).toMatchObject(response);
  });

  it('501 where the spec only names an operation, if asked to', async () => {
    const rules = { withUndocumented: true };
    const pet = await ask({ target: '/v1/pets/7' }, { rules });
    expect([pet.status, pet.headers.Deprecation, pet.headers.Sunset]).toEqual([
      501,
      `@${Date.UTC(new Date(START).getUTCFullYear(), 0, 1) / 1_000}`,
      new Date(Date.UTC(new Date(START).getUTCFullYear() + 1, 11, 31)).toUTCString(),
    ]);
    const orders = await ask({ target: '/v1/store/orders' }, { rules });
    expect([orders.status, JSON.parse(orders.body)]).toEqual([501, expect.objectContaining({ code: 'not_shown' })]);
  });

  it('the OpenAPI document without a key, itself as the server', async () => {
    const { status, body, headers } = await ask({ target: '/v1/openapi.json', headers: { authorization: undefined } });
    const document = JSON.parse(body) as { servers: unknown; paths: object };
    expect({ status, servers: document.servers, paths: Object.keys(document.paths) }).toEqual({
      status: 200,
      servers: [{ url: 'http://127.0.0.1:4010/v1', description: 'This sandbox' }],
      paths: ['/inventory', '/inventory/{petId}'],
    });
    expect(headers).toHaveProperty('X-RateLimit-Remaining', '59');
  });
});

describe('a fault that answers', () => {
  it('429: a client that comes back too soon is early, as after a real one', async () => {
    const store = await newStore();
    const rules = { banAfter: 2 };
    const fault = 'status=429,retry-after=30';
    const answers = [
      await ask({ fault }, { store, rules }),
      await ask({}, { store, rules }),
      await ask({}, { store, rules }),
    ];
    expect(answers.map((each) => [each.status, each.headers['Retry-After']])).toEqual([
      [429, '30'],
      [200, undefined],
      [403, '900'],
    ]);
  });

  it.each([
    ['seconds', '2'],
    ['date', new Date(START + 2_000).toUTCString()],
  ] as const)(
    '503: its Retry-After has the form that the sandbox was asked for, %s',
    async (retryAfterFormat, expected) => {
      const { status, headers } = await ask({ fault: 'status=503,retry-after=2' }, { rules: { retryAfterFormat } });
      expect([status, headers['Retry-After']]).toEqual([503, expected]);
    },
  );

  it('429: one that is refused for another reason keeps its answer and its times', async () => {
    const fault = 'status=429,retry-after=30';
    const plan = { perMinute: 1, perDay: 9 };
    for (const [rules, headers] of [
      [{ plan }, {}],
      [{ plan, banAfter: 1 }, {}],
      [{}, { authorization: 'Bearer other' }],
    ] as const) {
      const [plain, faulty] = [await newStore(), await newStore()];
      for (const store of [plain, faulty]) for (const _ of [1, 2]) await ask({ headers }, { store, rules });
      const refused = await ask({ headers }, { store: plain, rules });
      expect(await ask({ headers, fault }, { store: faulty, rules })).toEqual(refused);
      expect(await ask({ headers }, { store: faulty, rules })).toEqual(await ask({ headers }, { store: plain, rules }));
    }
  });
});

it('a request that waited for the store is counted at the time it is counted, not before those it waited for', async () => {
  const store = await newStore();
  let time = START;
  const now = () => (time += 1_000);
  const waited: typeof store.exclusively = async (...work) => {
    await ask({}, { store, now });
    return store.exclusively(...work);
  };
  const { headers } = await ask({}, { store: { ...store, exclusively: waited }, now });
  expect(headers['X-RateLimit-Remaining']).toBe('58');
});

it('a request that is no request is over the limit too: 429', async () => {
  const handler = { store: await newStore(), apiKeys: [], now: () => START, baseUrl: '' };
  const rules = { ...DEFAULT_RULES, plan: { perMinute: 1, perDay: 9 }, banAfter: 2 };
  const refused = async () => (await refuse({ ...handler, rules }, [400, 'malformed', 'Not an HTTP request.'])).status;
  expect([await refused(), await refused(), await refused(), await refused()]).toEqual([400, 429, 429, 403]);
});

it('a damaged file is a 503 that proposes no reset, which would be of the file of --env sandbox', () => {
  const answer = troubleOf(new Failure('state', { path: '/x.db', problem: 'damaged' }));
  expect(answer.status).toBe(503);
  expect(JSON.stringify(answer)).not.toContain('petstore ');
});

it('what is set stays set, exactly, and a request that is refused changes nothing', async () => {
  const path = join(createHome().path, 'sandbox.db');
  const store = await newStore(path);
  const request = patch('9223372036854775807', '{"quantity":2147483647}');
  expect((await ask(request, { store })).body).toBe(
    '{"petId":9223372036854775807,"quantity":2147483647,"status":"available"}',
  );
  await ask(patch('9223372036854775807', '{"quantity":5}', { authorization: '' }), { store });
  store[Symbol.dispose]();
  const again = await ask({}, { store: await newStore(path) });
  expect(again.body).toContain('{"petId":9223372036854775807,"quantity":2147483647,"status":"available"}');
});
