import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/node/sqlite.ts';
import { handle, type Handler, type SandboxRequest } from '../../src/sandbox/handler.ts';
import { count, FREE, limitHeaders, type Plan } from '../../src/sandbox/limiter.ts';
import { openStore, type Store } from '../../src/sandbox/store.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createHome } from '../support/home.ts';
import { START } from '../support/virtual-clock.ts';

async function newStore(path = ':memory:'): Promise<Store> {
  const store = openStore(await openDatabase(path));
  onCleanup(() => store.close());
  return store;
}

async function ask(request: Partial<SandboxRequest>, handler: Partial<Handler> = {}) {
  const store = handler.store ?? (await newStore());
  const { status, headers, body } = await handle(
    { plan: FREE, apiKeys: ['key'], now: () => START, ...handler, store },
    { method: 'GET', target: '/v1/inventory', headers: { authorization: 'Bearer key' }, body: '', ...request },
  );
  return { status, headers, body };
}

describe('the sandbox refuses', () => {
  const patch = (target: string, body = '{"quantity":1}') => ({ method: 'PATCH', target, body });

  it.each([
    ['no key', { headers: {} }, 401],
    ['another key', { headers: { authorization: 'Bearer other' } }, 401],
    ['another scheme', { headers: { authorization: 'Basic key' } }, 401],
    ['an unknown path', { target: '/v1/pets' }, 404],
    ['a path that only begins well', { target: '/v1/inventory/7/more' }, 404],
    ['fault 109: an id beyond int64', patch('/v1/inventory/9223372036854775808'), 400],
    ['fault 109: an id that is none', patch('/v1/inventory/%37'), 400],
    ['fault 109: an empty id', patch('/v1/inventory/'), 400],
    ['an id with a leading zero', patch('/v1/inventory/007'), 400],
    ['an unknown pet', patch('/v1/inventory/999'), 404],
    ['no JSON', patch('/v1/inventory/7', 'quantity=1'), 400],
    ['no body', patch('/v1/inventory/7', ''), 400],
    ['an array', patch('/v1/inventory/7', '[1]'), 400],
    ['no quantity', patch('/v1/inventory/7', '{}'), 400],
    ['a quantity given twice', patch('/v1/inventory/7', '{"quantity":1,"quantity":2}'), 400],
    ['a text', patch('/v1/inventory/7', '{"quantity":"1"}'), 400],
    ['a fraction', patch('/v1/inventory/7', '{"quantity":1.0}'), 400],
    ['an exponent', patch('/v1/inventory/7', '{"quantity":1e3}'), 400],
    ['a negative quantity', patch('/v1/inventory/7', '{"quantity":-1}'), 400],
    ['a quantity beyond its range', patch('/v1/inventory/7', '{"quantity":2147483648}'), 400],
  ])('%s', async (_name, request, status) => {
    const response = await ask(request);
    expect({ status: response.status, body: JSON.parse(response.body) as unknown }).toEqual({
      status,
      body: { status, code: expect.any(String) as string, message: expect.any(String) as string },
    });
    expect(Object.keys(response.headers)).toEqual(
      expect.arrayContaining(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']),
    );
  });

  it('another method, and says which are allowed', async () => {
    const list = await ask({ method: 'DELETE' });
    const one = await ask({ method: 'GET', target: '/v1/inventory/7?x=1' });
    expect([list.status, list.headers.Allow, one.status, one.headers.Allow]).toEqual([405, 'GET', 405, 'PATCH']);
  });
});

describe('its limits', () => {
  const used = async (plan: Plan, at: readonly number[]) => {
    const store = await newStore();
    return at.map((seconds) => {
      const now = START + seconds * 1_000;
      const verdict = count(store, plan, 'key', now);
      const { allowed, remaining } = verdict;
      return [allowed, remaining, limitHeaders(verdict, now)['Retry-After']];
    });
  };

  it('of a minute', async () => {
    expect(await used({ perMinute: 2, perDay: 1_000 }, [0, 1, 2, 59.5, 60])).toEqual([
      [true, 1, undefined],
      [true, 0, undefined],
      [false, 0, '58'],
      [false, 0, '1'],
      [true, 1, undefined],
    ]);
  });

  it('of a day, which may end before the minute’s are spent', async () => {
    expect(await used({ perMinute: 60, perDay: 2 }, [0, 61, 122, 86_399, 86_400])).toEqual([
      [true, 1, undefined],
      [true, 0, undefined],
      [false, 0, '86278'],
      [false, 0, '1'],
      [true, 1, undefined],
    ]);
  });

  it('hold from one run to the next, and for each key', async () => {
    const path = join(createHome().path, 'sandbox.db');
    const plan = { perMinute: 1, perDay: 10 };
    const first = openStore(await openDatabase(path));
    expect(count(first, plan, 'a', START).allowed).toBe(true);
    first.close();
    const second = await newStore(path);
    expect([count(second, plan, 'a', START).allowed, count(second, plan, 'b', START).allowed]).toEqual([false, true]);
  });

  it('are the Free plan’s', async () => {
    const { headers } = await ask({});
    expect(headers).toMatchObject({
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '59',
      'X-RateLimit-Reset': String(START / 1_000 + 60),
    });
  });
});

it('what is set stays set, exactly, and a request that is refused changes nothing', async () => {
  const path = join(createHome().path, 'sandbox.db');
  const store = openStore(await openDatabase(path));
  const patch = { method: 'PATCH', target: '/v1/inventory/9223372036854775807', body: '{"quantity":2147483647}' };
  expect((await ask(patch, { store })).body).toBe(
    '{"petId":9223372036854775807,"quantity":2147483647,"status":"available"}',
  );
  await ask({ ...patch, body: '{"quantity":5}', headers: {} }, { store });
  store.close();
  const again = await ask({}, { store: await newStore(path) });
  expect(again.body).toContain('{"petId":9223372036854775807,"quantity":2147483647,"status":"available"}');
});
