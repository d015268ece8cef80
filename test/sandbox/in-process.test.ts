/** The sandbox as an Http port keeps the port's contract, without a socket. */
import { describe, expect, it } from 'vitest';
import { type Database, DatabaseFailure, HttpFailure, type HttpRequest } from '../../src/ports.ts';
import { openDatabase } from '../../src/node/sqlite.ts';
import { inProcess, openInProcess } from '../../src/sandbox/in-process.ts';
import { DEFAULT_RULES, SANDBOX_KEY, SANDBOX_URL } from '../../src/sandbox/plans.ts';
import { openStore, type Store } from '../../src/sandbox/sandbox-store.ts';
import { generatedPets } from '../../src/sandbox/seed.ts';
import { onCleanup } from '../support/cleanup.ts';
import { newStore } from '../support/sandbox.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';

const HEADERS = { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'application/json' };

function call(path: string, more: Partial<HttpRequest> = {}): HttpRequest {
  const url = new URL(`${SANDBOX_URL}${path}`);
  return { method: 'GET', url, target: url.pathname, headers: HEADERS, timeoutMs: 30_000, ...more };
}

const update = (quantity: number): HttpRequest =>
  call('/inventory/7', { method: 'PATCH', body: JSON.stringify({ quantity }) });

function portOver(store: Store, { clock }: TestContext) {
  const handler = { store, rules: DEFAULT_RULES, apiKeys: [SANDBOX_KEY], baseUrl: SANDBOX_URL, now: () => clock.now() };
  return inProcess(clock, handler);
}

/** A store that another process holds. The wait for it passes on the clock of the test alone. */
async function heldStore(context: TestContext): Promise<Store> {
  const file = `${context.home.state}/held.db`;
  const openImpatient: TestContext['openDatabase'] = async (...how) => {
    const database = await context.openDatabase(...how);
    database.exec('PRAGMA busy_timeout = 0');
    return database;
  };
  const store = await openStore({ ...context, openDatabase: openImpatient }, { file });
  const holder = await openDatabase(file);
  holder.exec('BEGIN IMMEDIATE');
  onCleanup(() => {
    store[Symbol.dispose]();
    holder.close();
  });
  return store;
}

async function send(
  store: Store,
  request: HttpRequest,
  { context = createTestContext(), maySend = (): boolean => true } = {},
) {
  const connection = await portOver(store, context).connect(request);
  const { status, headers, body } = await connection.send(request, maySend);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return { status, headers, chunks: chunks.length, text: Buffer.concat(chunks).toString() };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  return error instanceof HttpFailure ? [error.facts.phase, error.facts.mayHaveBeenSent] : error;
}

describe('the sandbox within this process', () => {
  it('answers with the headers that a server would send', async () => {
    const { status, headers, text } = await send(await newStore(), call('/inventory'));
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toEqual({
      'content-type': ['application/json'],
      'content-length': [String(text.length)],
      date: ['Mon, 02 Mar 2026 14:03:20 GMT'],
      'x-ratelimit-limit': ['60'],
      'x-ratelimit-remaining': ['59'],
      'x-ratelimit-reset': ['1772460260'],
    });
  });

  it('sends a long list in pieces, and a body that breaks is cut', async () => {
    const store = await newStore();
    store.replacePets(generatedPets(5_000));
    const { chunks, text } = await send(store, call('/inventory'));
    expect({ chunks, pets: JSON.parse(text) as unknown }).toMatchObject({ chunks: 5, pets: { length: 5_000 } });
    const ids = [...text.matchAll(/"petId":([0-9]+)/g)].map(([, id = '']) => BigInt(id));
    expect(ids.at(-1)).toBe(9_223_372_036_854_775_807n);
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
    const read = store.page.bind(store);
    const page: Store['page'] = (after, limit) => {
      if (after !== undefined) throw new DatabaseFailure('unusable', 'gone');
      return read(after, limit);
    };
    expect(await failureOf(send(Object.assign(store, { page }), call('/inventory')))).toEqual(['body-cut', true]);
  });

  it('asks before anything is done, and does nothing after a no', async () => {
    const store = await newStore();
    const refused = send(store, update(99), { maySend: () => false });
    expect(await failureOf(refused)).toEqual(['withdrawn', false]);
    const { used } = store.allowance(SANDBOX_KEY).minute;
    expect({ pet: store.page(6n, 1)[0]?.quantity, used }).toEqual({ pet: 10n, used: 0 });
  });

  it('an aborted request is not sent', async () => {
    const store = await newStore();
    const controller = new AbortController();
    const request = { ...update(99), signal: controller.signal };
    const context = createTestContext();
    const connection = await portOver(store, context).connect(request);
    controller.abort(new Error('stop'));
    expect(await failureOf(connection.send(request, () => true))).toEqual(['aborted', false]);
    expect(await failureOf(portOver(store, context).connect(request))).toEqual(['aborted', false]);
    expect(store.page(6n, 1)[0]?.quantity).toBe(10n);
  });

  it('one that is aborted, or not answered in time, may have been sent', async () => {
    const context = createTestContext();
    const store = await heldStore(context);
    const controller = new AbortController();
    const aborted = failureOf(send(store, { ...update(1), signal: controller.signal }, { context }));
    await context.clock.turn();
    await context.clock.turn();
    controller.abort(new Error('stop'));
    expect(await aborted).toEqual(['aborted', true]);
    expect(await failureOf(send(store, { ...update(1), timeoutMs: 400 }, { context }))).toEqual([
      'response-timeout',
      true,
    ]);
  });

  it('waits for another process that holds the store, then says so', async () => {
    const context = createTestContext();
    const sent = send(await heldStore(context), update(1), { context });
    await expect(sent).rejects.toMatchObject({ kind: 'state', details: { problem: 'held' } });
  });

  it('has a write on the disk before it is answered, and a read need not be', async () => {
    const context = createTestContext();
    const done: string[] = [];
    let isFull = false;
    const noting = async (path: string): Promise<Database> => {
      const database = await openDatabase(path);
      return {
        ...database,
        exec: (sql) => {
          done.push(sql);
          if (sql === 'COMMIT' && isFull) throw new DatabaseFailure('full', 'no space');
          database.exec(sql);
        },
      };
    };
    const http = await openInProcess(
      { ...context, openDatabase: noting },
      { file: `${context.home.state}/sandbox.db` },
    );
    onCleanup(() => http.close());
    const steps = async (request: HttpRequest): Promise<string[]> => {
      done.length = 0;
      const connection = await http.connect(request);
      await connection.send(request, () => true);
      return [...done];
    };
    expect(await steps(update(5))).toEqual(['PRAGMA synchronous = FULL', 'BEGIN IMMEDIATE', 'COMMIT']);
    expect(await steps(call('/inventory'))).toEqual(['PRAGMA synchronous = NORMAL', 'BEGIN IMMEDIATE', 'COMMIT']);
    isFull = true;
    await expect(steps(update(6))).rejects.toMatchObject({ kind: 'state', details: { problem: 'full' } });
  });
});
