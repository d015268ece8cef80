import { expect, it } from 'vitest';
import { createLedger, ownerOf } from '../../src/rate-limit/ledger.ts';
import { sqliteStep } from '../../src/rate-limit/sqlite-ledger.ts';
import { openState } from '../../src/state/database.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createTestContext } from '../support/test-context.ts';

const OPERATION = 'GET /inventory';
const intent = (pid: number, space = 'here') => ({
  id: `${ownerOf({ pid, processSpace: space })}/0/0.5`,
  operation: OPERATION,
  reserve: 0,
  timeoutMs: 30_000,
});

async function ledger() {
  const dead = new Set<number>();
  const context = createTestContext({ machine: { pid: 1, processSpace: 'here', isAlive: (pid) => !dead.has(pid) } });
  const state = await openState(context, context.home.state);
  onCleanup(() => state.close());
  return { dead, context, ledger: createLedger(sqliteStep(context, state, (salt) => `${salt} row`)) };
}

const answer = (id: string, status: number, remaining: number) => ({
  id,
  operation: OPERATION,
  status,
  headers: { window: { limit: 60, remaining, resetInMs: 60_000 } },
  random: 0,
});

it('a probe whose process was killed is not waited for', async () => {
  const { dead, ledger: shared } = await ledger();
  await shared.admit(intent(7));
  expect((await shared.admit(intent(8))).hold).toBeDefined();
  dead.add(7);
  expect((await shared.admit(intent(8))).hold).toBeUndefined();
});

it('a request whose process was killed counts as drawn', async () => {
  const { dead, ledger: shared } = await ledger();
  await shared.admit(intent(1));
  await shared.answered(answer(intent(1).id, 200, 2));
  await shared.admit(intent(7));
  dead.add(7);
  const { windows, inFlight } = await shared.view();
  expect({ remaining: windows[0]?.remaining, inFlight }).toEqual({ remaining: 1, inFlight: [] });
});

it('but the probe of a block is waited out: its answer may have been a 429 that was never read', async () => {
  const { dead, context, ledger: shared } = await ledger();
  await shared.admit(intent(1));
  await shared.answered({ ...answer(intent(1).id, 429, 0), headers: { retryAfterMs: 10_000 } });
  await context.clock.advance(11_000);
  expect((await shared.admit(intent(7))).hold).toBeUndefined();
  const probeAt = context.clock.monotonic();
  await context.clock.advance(1_000);
  dead.add(7);
  expect((await shared.admit(intent(8))).hold).toEqual({ until: probeAt + 35_000, why: 'rate-limited' });
  await context.clock.advance(33_999);
  expect((await shared.admit(intent(8))).hold).toBeDefined();
  await context.clock.advance(1);
  expect((await shared.admit(intent(8))).hold).toBeUndefined();
});

it('fault 129: a process of another PID namespace is not taken for dead', async () => {
  const { dead, ledger: shared } = await ledger();
  await shared.admit(intent(7, 'elsewhere'));
  dead.add(7);
  expect((await shared.admit(intent(8))).hold).toBeDefined();
});
