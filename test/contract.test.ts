/** Client and sandbox agree on every route and each of its documented statuses, over real HTTP. */
import { describe, expect, it } from 'vitest';
import type { InventoryItem } from '../src/api/item.ts';
import { parseJson } from '../src/api/json.ts';
import { readErrorBody, readItem } from '../src/api/schemas.ts';
import { ROUTES } from '../src/api/routes.ts';
import { listInventory } from '../src/client/list.ts';
import type { Service } from '../src/client/service.ts';
import { updateInventory } from '../src/client/update.ts';
import type { HttpRequest } from '../src/ports.ts';
import { isFailure } from '../src/errors.ts';
import { LedgerGate } from '../src/rate-limit/gate.ts';
import { createLedger, memoryStep } from '../src/rate-limit/ledger.ts';
import { type Plan, PLANS } from '../src/sandbox/plans.ts';
import { type Sandbox, startSandbox } from '../src/sandbox/sandbox-server.ts';
import { onCleanup } from './support/cleanup.ts';
import { sendOver } from './support/test-ports.ts';
import { createTestContext, type TestContext } from './support/test-context.ts';

interface Bench {
  readonly context: TestContext;
  readonly sandbox: Sandbox;
  readonly service: Service;
}

async function bench(plan: Plan = PLANS.free, apiKey?: string): Promise<Bench> {
  const context = createTestContext();
  const { clock, random, signal } = context;
  const sandbox = await startSandbox(context, { file: `${context.home.state}/sandbox.db`, rules: { plan } });
  onCleanup(() => sandbox.close());
  const http = await context.openHttp();
  const key = apiKey ?? sandbox.apiKey;
  const service: Service = {
    baseUrl: new URL(sandbox.baseUrl),
    environment: 'sandbox',
    apiKey: key,
    keySource: 'the test',
    userAgent: 'test',
    http,
    gate: new LedgerGate({
      ledger: createLedger(memoryStep(clock)),
      owner: 'process 1',
      address: '@5d0c2f',
      clock,
      random,
      maxWaitMs: 75_000,
      timeoutMs: 30_000,
      probes: 1,
      reserve: 0,
      signal,
      onWait: () => undefined,
    }),
    clock,
    random,
    timeoutMs: 30_000,
    maxWaitMs: 75_000,
    retryForMs: 0,
    maxBodyBytes: 1 << 20,
    signal,
    watch: {
      attempt: () => undefined,
      waiting: () => undefined,
      unanswered: () => undefined,
      recovered: () => undefined,
      warning: () => undefined,
      debug: () => undefined,
    },
  };
  return { context, sandbox, service };
}

async function all(service: Service): Promise<InventoryItem[]> {
  const items: InventoryItem[] = [];
  for await (const batch of listInventory(service)) items.push(...batch);
  return items;
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (isFailure(error)) return error.kind;
    throw error;
  }
}

/** One request past the client, so that statuses it would never provoke can be. */
async function raw(bench: Bench, request: Partial<HttpRequest> & { path: string }) {
  const http = await bench.context.openHttp();
  const { path, ...rest } = request;
  const reply = await sendOver(http, {
    method: 'GET',
    url: new URL(`${bench.sandbox.baseUrl}${path}`),
    headers: { authorization: `Bearer ${bench.sandbox.apiKey}` },
    timeoutMs: 30_000,
    ...rest,
  });
  let text = '';
  for await (const chunk of reply.body) text += Buffer.from(chunk).toString();
  return { status: reply.status, headers: reply.headers, body: parseJson(text) };
}

describe('what the client asks, the sandbox answers', () => {
  it('listInventory 200', async () => {
    const { service } = await bench();
    const items = await all(service);
    expect({ count: items.length, last: items.at(-1) }).toMatchObject({
      count: 25,
      last: { petId: 9223372036854775807n, quantity: 1n, status: 'available' },
    });
  });

  it('updateInventory 200, and the list shows it', async () => {
    const { service } = await bench();
    const stored = await updateInventory(service, { petId: 9007199254740993n, quantity: 12n });
    expect(stored).toEqual({ petId: 9007199254740993n, quantity: 12n, status: 'available' });
    expect((await all(service)).find(({ petId }) => petId === stored.petId)).toMatchObject(stored);
  });

  it('updateInventory 400, 404; both 401', async () => {
    const { service } = await bench();
    const stranger = (await bench(PLANS.free, 'a-wrong-key')).service;
    expect([
      await kindOf(updateInventory(service, { petId: 7n, quantity: -1n })),
      await kindOf(updateInventory(service, { petId: 999n, quantity: 1n })),
      await kindOf(updateInventory(stranger, { petId: 7n, quantity: 1n })),
      await kindOf(all(stranger)),
    ]).toEqual(['rejected', 'pet-not-found', 'unauthorized', 'unauthorized']);
  });

  it('429: the client spends the window to its last request, then waits it out, and is never refused', async () => {
    const { service, context } = await bench({ perMinute: 5, perDay: 1_000 });
    const started = context.clock.monotonic();
    for (let i = 0; i < 12; i++) await all(service);
    const minutes = (context.clock.monotonic() - started) / 60_000;
    expect(Math.floor(minutes)).toBe(2);
  });
});

const JSON_BODY = { 'content-type': 'application/json' };

describe('every route and every status of the table', () => {
  const paths: Readonly<Record<string, string>> = { listInventory: '/inventory', updateInventory: '/inventory/7' };
  const cases = ROUTES.flatMap((route) =>
    [...Object.keys(route.responses).map(Number), 429].map((status) => ({
      operation: route.operationId,
      route,
      status,
    })),
  );

  it.each(cases)('$operation $status', async ({ route, status }) => {
    const at = await bench(status === 429 ? { perMinute: 0, perDay: 0 } : PLANS.free);
    const path = status === 404 ? '/inventory/999' : (paths[route.operationId] ?? '');
    const reply = await raw(at, {
      path,
      method: route.method,
      headers: { ...(status !== 401 && { authorization: `Bearer ${at.sandbox.apiKey}` }), ...JSON_BODY },
      ...(route.request !== undefined && { body: status === 400 ? '{}' : '{"quantity":12}' }),
    });
    expect(reply.status).toBe(status);
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      expect(reply.headers.get(name)?.join()).toMatch(/^\d+$/);
    }
    if (status !== 200) expect(readErrorBody(reply.body)).toMatchObject({ status });
    else if (Array.isArray(reply.body)) expect(reply.body.map(readItem)).toHaveLength(25);
    else expect(readItem(reply.body)).toEqual({ petId: 7n, quantity: 12n, status: 'available' });
    expect(reply.headers.has('retry-after')).toBe(status === 429);
  });
});
