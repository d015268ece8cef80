/** The sandbox answers every route with each of its documented statuses, over real HTTP. */
import { expect, it } from 'vitest';
import { parseJson } from '../src/api/json.ts';
import { readErrorBody, readItem } from '../src/api/schemas.ts';
import { ROUTES } from '../src/api/routes.ts';
import { PLANS } from '../src/sandbox/plans.ts';
import { startSandbox } from '../src/sandbox/sandbox-server.ts';
import { onCleanup } from './support/cleanup.ts';
import { sendOver } from './support/test-ports.ts';
import { createTestContext } from './support/test-context.ts';

const PATHS: Readonly<Record<string, string>> = { listInventory: '/inventory', updateInventory: '/inventory/7' };
const CASES = ROUTES.flatMap((route) =>
  [...Object.keys(route.responses).map(Number), 429].map((status) => ({ operation: route.operationId, route, status })),
);

it.each(CASES)('$operation $status', async ({ route, status }) => {
  const context = createTestContext();
  const plan = status === 429 ? { perMinute: 0, perDay: 0 } : PLANS.free;
  const sandbox = await startSandbox(context, { file: `${context.home.state}/sandbox.db`, rules: { plan } });
  onCleanup(() => sandbox.close());
  const path = status === 404 ? '/inventory/999' : PATHS[route.operationId];
  const { headers, ...reply } = await sendOver(await context.openHttp(), {
    method: route.method,
    url: new URL(`${sandbox.baseUrl}${path}`),
    headers: {
      ...(status !== 401 && { authorization: `Bearer ${sandbox.apiKey}` }),
      'content-type': 'application/json',
    },
    ...(route.request !== undefined && { body: status === 400 ? '{}' : '{"quantity":12}' }),
    timeoutMs: 30_000,
  });
  const body = parseJson(Buffer.concat(await Array.fromAsync(reply.body)).toString());
  expect(reply.status).toBe(status);
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    expect(headers.get(name)?.join()).toMatch(/^\d+$/);
  }
  if (status !== 200) expect(readErrorBody(body)).toMatchObject({ status });
  else if (Array.isArray(body)) expect(body.map(readItem)).toHaveLength(25);
  else expect(readItem(body)).toEqual({ petId: 7n, quantity: 12n, status: 'available' });
  expect(headers.has('retry-after')).toBe(status === 429);
});
