/** The second place of a block: a file's name, for when the ledger cannot take it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { BlockFile, withBlockFile } from '../../src/rate-limit/block-file.ts';
import type { Block } from '../../src/rate-limit/governor.ts';
import { type Ledger, memoryLedger } from '../../src/rate-limit/ledger.ts';
import { createHome, type Home } from '../support/home.ts';
import { createTestContext } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const HOUR = 3_600_000;
const INTENT = { id: 'a', operation: 'GET /inventory', maxWaitMs: 1_000, reserve: 0, timeoutMs: 30_000 };
const REFUSAL = {
  id: 'a',
  operation: 'GET /inventory',
  status: 429,
  headers: { retryAfterMs: 60_000 },
  random: 0,
};

interface Place {
  readonly home?: Home;
  readonly clock?: VirtualClock;
  readonly boot?: string;
}

async function place({ home = createHome(), clock = new VirtualClock(), boot = 'boot' }: Place = {}) {
  const folder = join(home.state, 'blocks');
  const context = createTestContext({ home, clock, machine: { bootId: boot } });
  const file = new BlockFile(context, folder, 'name');
  await file.prepare();
  return { home, clock, file, names: () => readdirSync(folder) };
}

const block = (clock: VirtualClock, ms: number): Block => ({
  since: clock.monotonic(),
  until: clock.monotonic() + ms,
  why: 'rate-limited',
});

async function leftMs(file: BlockFile, clock: VirtualClock): Promise<number | undefined> {
  const found = await file.read();
  return found === undefined ? undefined : found.until - clock.monotonic();
}

describe('the file', () => {
  it('is made beforehand, once, and holds no block', async () => {
    const { file, names } = await place();
    await file.prepare();
    expect([names(), await file.read()]).toEqual([['name'], undefined]);
  });

  it('keeps a block for other processes, until it is cleared', async () => {
    const here = await place();
    await here.file.note(block(here.clock, HOUR));
    const there = await place(here);
    expect(await there.file.read()).toMatchObject({ why: 'rate-limited', until: here.clock.monotonic() + HOUR });
    expect(here.names()).toHaveLength(1);
    await there.file.clear();
    expect([here.names(), await here.file.read()]).toEqual([['name'], undefined]);
  });

  it('of two blocks keeps the one that ends later', async () => {
    const { clock, file } = await place();
    await file.note(block(clock, HOUR));
    await file.note(block(clock, HOUR / 2));
    expect(await leftMs(file, clock)).toBe(HOUR);
    await file.note(block(clock, 2 * HOUR));
    expect(await leftMs(file, clock)).toBe(2 * HOUR);
  });

  it('forgets only the block that is named', async () => {
    const { clock, file } = await place();
    const first = await file.note(block(clock, HOUR));
    await file.note(block(clock, 2 * HOUR));
    await file.clear(first);
    expect(await leftMs(file, clock)).toBe(2 * HOUR);
  });

  it.each([2 * HOUR, -2 * HOUR])('a wall clock that is set by %i ms changes nothing', async (ms) => {
    const { clock, file } = await place();
    await file.note(block(clock, HOUR));
    clock.stepWall(ms);
    expect(await leftMs(file, clock)).toBe(HOUR);
  });

  it.each([
    [600_000, HOUR - 600_000],
    // A clock that was set back makes no wait longer than it was.
    [-HOUR, HOUR],
    [2 * HOUR, -HOUR],
  ])('after a reboot, %i ms later by the wall clock, %i ms are left', async (passed, left) => {
    const before = await place({ clock: new VirtualClock({ monotonic: 900_000_000 }) });
    await before.file.note(block(before.clock, HOUR));
    const clock = new VirtualClock({ now: before.clock.now() + passed, monotonic: 5_000 });
    const after = await place({ home: before.home, clock, boot: 'another' });
    expect(await leftMs(after.file, clock)).toBe(left);
  });

  it('of ten years counts as a day', async () => {
    const { clock, file } = await place();
    await file.note(block(clock, 10 * 365 * 24 * HOUR));
    expect(await leftMs(file, clock)).toBe(24 * HOUR);
  });
});

/** A ledger that takes nothing while `isBroken`. */
function fragile(clock: VirtualClock): { ledger: Ledger; state: { isBroken: boolean } } {
  const state = { isBroken: false };
  const inner = memoryLedger(clock);
  const failing = <T>(work: () => Promise<T>): Promise<T> =>
    state.isBroken ? Promise.reject(new Failure('state', { path: 'state.db', problem: 'full' })) : work();
  return {
    state,
    ledger: {
      ...inner,
      admit: (intent) => failing(() => inner.admit(intent)),
      answered: (answer) => failing(() => inner.answered(answer)),
      lost: (id, mayHaveBeenSent) => failing(() => inner.lost(id, mayHaveBeenSent)),
      learn: (learnt) => failing(() => inner.learn(learnt)),
    },
  };
}

async function guarded(given: Place = {}) {
  const here = await place(given);
  const { ledger, state } = fragile(here.clock);
  const reported: [until: number | undefined, isKept: boolean][] = [];
  const safe = withBlockFile(ledger, {
    clock: here.clock,
    file: here.file,
    onUnwritten: (_failure, found, isKept) => reported.push([found?.until, isKept]),
  });
  return { ...here, safe, state, reported };
}

describe('a ledger with a second place', () => {
  it('fault 115: a refusal that the ledger cannot take is kept, reported, and holds for other processes', async () => {
    const here = await guarded();
    await here.safe.admit(INTENT);
    here.state.isBroken = true;
    const until = here.clock.monotonic() + 61_000;
    expect(await here.safe.answered(REFUSAL)).toMatchObject({ block: { until }, strikes: 1 });
    expect(here.reported).toEqual([[until, true]]);
    const there = await guarded(here);
    for (const isBroken of [true, false]) {
      there.state.isBroken = isBroken;
      expect(await there.safe.check(INTENT)).toMatchObject({ do: 'refuse', why: 'rate-limited', until });
      expect(await there.safe.admit({ ...INTENT, maxWaitMs: 100_000 })).toMatchObject({ do: 'wait', until });
    }
    // The ledger knows by now.
    expect(here.names()).toEqual([expect.stringMatching(/^name@rate-limited@.*@recorded$/)]);
  });

  it('fault 115: a refusal that comes while the ledger is waited for takes the leave back', async () => {
    const here = await guarded();
    const { ledger } = fragile(here.clock);
    const slow = withBlockFile(
      {
        ...ledger,
        async admit(intent) {
          await here.file.note(block(here.clock, HOUR));
          return ledger.admit(intent);
        },
      },
      { clock: here.clock, file: here.file, onUnwritten: () => undefined },
    );
    expect(await slow.admit(INTENT)).toMatchObject({ do: 'refuse', until: here.clock.monotonic() + HOUR });
    expect((await slow.view()).inFlight).toEqual([]);
  });

  it('what no place can keep holds in this process', async () => {
    const clock = new VirtualClock();
    const { ledger, state } = fragile(clock);
    const nowhere = new BlockFile(
      { ...createTestContext({ clock }), files: createTestContext().files },
      '/proc/nowhere',
      'name',
    );
    const reported: boolean[] = [];
    const safe = withBlockFile(ledger, {
      clock,
      file: nowhere,
      onUnwritten: (_f, _b, isKept) => reported.push(isKept),
    });
    await safe.admit(INTENT);
    state.isBroken = true;
    await safe.answered(REFUSAL);
    expect([(await safe.check(INTENT)).do, reported]).toEqual(['refuse', [false]]);
    state.isBroken = false;
    expect((await safe.admit(INTENT)).do).toBe('refuse');
  });

  it('once the block is over, exactly one request asks for the limits', async () => {
    const here = await guarded();
    await here.file.note(block(here.clock, 60_000));
    await here.clock.advance(60_000);
    expect([(await here.safe.admit(INTENT)).do, (await here.safe.admit({ ...INTENT, id: 'b' })).do]).toEqual([
      'send',
      'wait',
    ]);
    expect(here.names()).toEqual(['name']);
  });

  it('an answer other than a refusal, and a loss, are reported and change nothing else', async () => {
    const here = await guarded();
    await here.safe.admit(INTENT);
    here.state.isBroken = true;
    await here.safe.answered({ ...REFUSAL, status: 200, headers: {} });
    await here.safe.lost('a', true);
    expect([here.reported, here.names()]).toEqual([
      [
        [undefined, false],
        [undefined, false],
      ],
      ['name'],
    ]);
  });

  it('an error of another kind is not hidden', async () => {
    const here = await place();
    const bug = (): Promise<never> => Promise.reject(new TypeError('a bug'));
    const broken: Ledger = { ...memoryLedger(here.clock), answered: bug, lost: bug, learn: bug };
    const safe = withBlockFile(broken, { clock: here.clock, file: here.file, onUnwritten: () => undefined });
    await expect(safe.answered({ ...REFUSAL, status: 200 })).rejects.toThrow('a bug');
    await expect(safe.lost('a', true)).rejects.toThrow('a bug');
    await here.file.note(block(here.clock, HOUR));
    await expect(safe.check(INTENT)).rejects.toThrow('a bug');
  });

  it('a block that another ledger knows is kept, too', async () => {
    const here = await guarded();
    here.state.isBroken = true;
    await here.safe.learn(block(here.clock, HOUR));
    expect(await leftMs(here.file, here.clock)).toBe(HOUR);
    here.state.isBroken = false;
    await here.safe.learn(block(here.clock, 2 * HOUR));
    expect([here.names(), (await here.safe.view()).block?.until]).toEqual([
      [expect.stringMatching(/@recorded$/)],
      here.clock.monotonic() + 2 * HOUR,
    ]);
  });

  it('clearing the block clears both places', async () => {
    const here = await guarded();
    await here.file.note(block(here.clock, HOUR));
    await here.safe.check(INTENT);
    await here.file.note(block(here.clock, HOUR));
    await here.safe.clearBlock();
    expect([here.names(), (await here.safe.admit(INTENT)).do]).toEqual([['name'], 'send']);
  });
});
