/** What the ledger in the state database keeps across processes, their deaths, and boots. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLedger, type Ledger, ownerOf } from '../../src/rate-limit/ledger.ts';
import { sqliteStep } from '../../src/rate-limit/sqlite-ledger.ts';
import { openState } from '../../src/state/database.ts';
import { onCleanup } from '../support/cleanup.ts';
import { createHome, type Home } from '../support/home.ts';
import { createTestContext } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const OPERATION = 'GET /inventory';
const ask = (id: string) => ({
  id,
  operation: OPERATION,
  reserve: 0,
  timeoutMs: 30_000,
});
/** Why each request is held, or `sent`. */
const outcomes = (...decisions: readonly Awaited<ReturnType<Ledger['admit']>>[]) =>
  decisions.map(({ hold }) => hold?.why ?? 'sent');
const refusal = (id: string, retryAfterMs: number) => ({
  id,
  operation: OPERATION,
  status: 429,
  headers: { retryAfterMs },
  random: 0,
});

interface Place {
  readonly home: Home;
  readonly clock: VirtualClock;
  readonly boot?: string;
}

/** A ledger as one process opens it. */
async function inDatabase({ home, clock, boot = 'first' }: Place): Promise<Ledger> {
  const context = createTestContext({ home, clock, machine: { bootId: boot } });
  const state = await openState(context, join(home.state, 'petstore'));
  onCleanup(() => state[Symbol.dispose]());
  return createLedger(sqliteStep(context, state, (salt) => `${salt} row`));
}

describe('the ledger in the state database', () => {
  it.each(['', 'not JSON', 'null', '[]', '7', '{}', '{"windows":{},"inFlight":[]}'])(
    'fault 128: a state that is none (%j) is unknown: one asks',
    async (text) => {
      const place: Place = { home: createHome(), clock: new VirtualClock() };
      const ledger = await inDatabase(place);
      await ledger.admit(ask('a'));
      const context = createTestContext(place);
      using state = await openState(context, join(place.home.state, 'petstore'));
      await state.exclusively(() => state.database.run('UPDATE ledger SET state = ?', text));
      const decisions = [await ledger.admit(ask('b')), await ledger.admit(ask('c'))];
      expect(outcomes(...decisions)).toEqual(['sent', 'asking']);
    },
  );

  it('fault 39: after a reboot counts on by the wall clock, and never longer than before', async () => {
    const home = createHome();
    const before = new VirtualClock({ monotonic: 900_000_000 });
    const first = await inDatabase({ home, clock: before });
    await first.admit(ask('a'));
    await first.answered(refusal('a', 600_000));

    const reboot = async (wallPassed: number): Promise<unknown> => {
      const clock = new VirtualClock({ now: before.now() + wallPassed, monotonic: 5_000 });
      const ledger = await inDatabase({ home, clock, boot: `boot after ${wallPassed}` });
      const { block } = await ledger.view();
      return block === undefined ? undefined : Math.max(0, block.until - clock.monotonic());
    };
    // The view does not write: each reboot starts from what the first boot kept.
    expect([await reboot(100_000), await reboot(-86_400_000), await reboot(86_400_000)]).toEqual([501_000, 601_000, 0]);
  });

  it.each([
    ['the monotonic clock has advanced: the same boot, whatever the wall clock says', 100_000, 501_000],
    ['the monotonic clock has begun anew: another boot', -100_000, 0],
  ])('fault 117: where a boot has no name, and %s', async (_name, passed, left) => {
    const home = createHome();
    const before = new VirtualClock({ monotonic: 900_000 });
    const first = await inDatabase({ home, clock: before, boot: '' });
    await first.admit(ask('a'));
    await first.answered(refusal('a', 600_000));
    const clock = new VirtualClock({ now: before.now() + 86_400_000, monotonic: 900_000 + passed });
    const { block } = await (await inDatabase({ home, clock, boot: '' })).view();
    expect(Math.max(0, block!.until - clock.monotonic())).toBe(left);
  });

  it('fault 39: what was under way at a reboot counts as sent', async () => {
    const home = createHome();
    const before = new VirtualClock({ monotonic: 900_000_000 });
    const first = await inDatabase({ home, clock: before });
    await first.admit(ask('a'));
    const window = { limit: 60, remaining: 12, resetInMs: 60_000 };
    await first.answered({ ...refusal('a', 0), status: 200, headers: { window } });
    await first.admit(ask('b'));
    const clock = new VirtualClock({ now: before.now() + 10_000, monotonic: 50 });
    const second = await inDatabase({ home, clock, boot: 'second' });
    const waits = async (count: number) => (await second.forecast({ operation: OPERATION, reserve: 0, count }))?.until;
    expect([await waits(11), await waits(12)]).toEqual([undefined, 50_050]);
    expect((await second.view()).inFlight).toEqual([]);
  });
});

describe('a process that was killed', () => {
  const owned = (pid: number, space = 'here') => ask(`${ownerOf({ pid, processSpace: space })}/0/0.5`);
  async function place() {
    const dead = new Set<number>();
    const context = createTestContext({ machine: { pid: 1, processSpace: 'here', isAlive: (pid) => !dead.has(pid) } });
    const state = await openState(context, context.home.state);
    onCleanup(() => state[Symbol.dispose]());
    return { dead, context, shared: createLedger(sqliteStep(context, state, (salt) => `${salt} row`)) };
  }

  it('and had sent the probe of a block is waited for: its answer may have been a 429 that was never read', async () => {
    const { dead, context, shared } = await place();
    await shared.admit(owned(1));
    await shared.answered(refusal(owned(1).id, 10_000));
    await context.clock.advance(11_000);
    expect((await shared.admit(owned(7))).hold).toBeUndefined();
    const probeAt = context.clock.monotonic();
    await context.clock.advance(1_000);
    dead.add(7);
    expect((await shared.admit(owned(8))).hold).toEqual({ until: probeAt + 35_000, why: 'rate-limited' });
    await context.clock.advance(33_999);
    expect((await shared.admit(owned(8))).hold).toBeDefined();
    await context.clock.advance(1);
    expect((await shared.admit(owned(8))).hold).toBeUndefined();
  });

  it('fault 129: in another PID namespace is not taken for dead', async () => {
    const { dead, shared } = await place();
    await shared.admit(owned(7, 'elsewhere'));
    dead.add(7);
    expect((await shared.admit(owned(8))).hold).toBeDefined();
  });
});
