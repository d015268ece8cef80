/** The reserve file, whose times keep a block if the ledger cannot store it. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import type { Block } from '../../src/rate-limit/governor.ts';
import { BLOCK_REASONS } from '../../src/rate-limit/headers.ts';
import { createLedger, memoryStep, type Step } from '../../src/rate-limit/ledger.ts';
import { reserveFile, type ReserveFile, withReserve } from '../../src/rate-limit/reserve-file.ts';
import { createHome, type Home } from '../support/home.ts';
import { createTestContext } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const HOUR = 3_600_000;
const INTENT = { id: 'a', operation: 'GET /inventory', reserve: 0, timeoutMs: 30_000 };
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
}

async function place({ home = createHome(), clock = new VirtualClock() }: Place = {}) {
  const folder = join(home.state, 'blocks');
  const { files } = createTestContext({ home, clock });
  const file = reserveFile({ clock, files }, folder, 'name');
  await file.prepare();
  return { home, clock, files, file, names: () => files.list(folder) };
}

const block = (clock: VirtualClock, ms: number, why: Block['why'] = 'rate-limited'): Block => ({
  since: clock.monotonic(),
  until: clock.monotonic() + ms,
  why,
});

async function leftMs(file: ReserveFile, clock: VirtualClock): Promise<number | undefined> {
  const found = await file.read();
  return found === undefined ? undefined : found.until - clock.monotonic();
}

describe('the file', () => {
  it('is made beforehand, once, and holds no block', async () => {
    const { file, files, names } = await place();
    await file.prepare();
    expect([await names(), await file.read()]).toEqual([['name'], undefined]);
    expect((await files.facts(file.path))?.mode).toBe(0o600);
  });

  it.each(BLOCK_REASONS)('keeps a block (%s) for other processes, until it is cleared', async (why) => {
    const here = await place();
    expect(await here.file.note(block(here.clock, HOUR, why))).toBe(true);
    const there = await place(here);
    expect(await there.file.read()).toMatchObject({ why, until: here.clock.monotonic() + HOUR });
    await there.file.clear();
    expect([await here.names(), await here.file.read()]).toEqual([['name'], undefined]);
  });

  it('of two blocks keeps the one that ends later', async () => {
    const { clock, file } = await place();
    await file.note(block(clock, HOUR));
    await file.note(block(clock, HOUR / 2));
    expect(await leftMs(file, clock)).toBe(HOUR);
    await file.note(block(clock, 2 * HOUR));
    expect(await leftMs(file, clock)).toBe(2 * HOUR);
  });

  it.each([
    ['is right', 0],
    ['is set back by less than has passed', -300_000],
    ['is set forward', 300_000],
  ])('ten minutes later, by a clock that %s, that much less is left', async (_, ms) => {
    const { clock, file } = await place();
    await file.note(block(clock, HOUR));
    await clock.advance(600_000);
    clock.stepWall(ms);
    expect(await leftMs(file, clock)).toBe(HOUR - 600_000 - ms);
  });

  it('a clock that is set back makes no wait longer than it was, and the wait passes', async () => {
    const { clock, file } = await place();
    await file.note(block(clock, HOUR));
    clock.stepWall(-48 * HOUR);
    expect(await leftMs(file, clock)).toBe(HOUR);
    await clock.advance(HOUR / 2);
    expect(await leftMs(file, clock)).toBe(HOUR / 2);
  });

  it('a block that was seen to be over does not last again by a clock that is set back', async () => {
    const { clock, file } = await place();
    await file.note(block(clock, HOUR));
    await clock.advance(HOUR);
    expect(await file.read()).toBeUndefined();
    clock.stepWall(-HOUR);
    expect(await file.read()).toBeUndefined();
  });

  it('after a reboot the wall clock serves', async () => {
    const before = await place({ clock: new VirtualClock({ monotonic: 900_000_000 }) });
    await before.file.note(block(before.clock, HOUR));
    const clock = new VirtualClock({ now: before.clock.now() + 600_000, monotonic: 5_000 });
    const after = await place({ home: before.home, clock });
    expect(await leftMs(after.file, clock)).toBe(HOUR - 600_000);
  });

  it('of ten years counts as a day, which passes', async () => {
    const { clock, file } = await place();
    await file.note(block(clock, 10 * 365 * 24 * HOUR));
    expect(await leftMs(file, clock)).toBe(24 * HOUR);
    await clock.advance(HOUR);
    expect(await leftMs(file, clock)).toBe(23 * HOUR);
  });

  it('that a backup has read still holds, for the same reason', async () => {
    const { clock, file, files } = await place();
    await file.note(block(clock, HOUR, 'banned'));
    const until = clock.monotonic() + HOUR;
    await clock.advance(777);
    const { modifiedAt } = (await files.facts(file.path))!;
    await files.setTimes(file.path, { accessedAt: clock.now(), modifiedAt });
    expect(await file.read()).toMatchObject({ why: 'banned', until });
  });
});

/** A ledger with the reserve, and the same without it; nothing can be kept while `isBroken`. */
async function guarded(given: Place = {}, wanted?: ReserveFile) {
  const here = await place(given);
  const state = { isBroken: false };
  const inner = memoryStep(here.clock);
  const full = new Failure('state', { path: 'state.db', problem: 'full' });
  const step: Step = (work, options) =>
    state.isBroken && options?.isRead !== true ? Promise.reject(full) : inner(work, options);
  const reported: [until: number | undefined, isKept: boolean][] = [];
  const reserved = withReserve(step, {
    clock: here.clock,
    file: wanted ?? here.file,
    onUnwritten: (_failure, found, isKept) => reported.push([found?.until, isKept]),
  });
  return { ...here, step, ledger: createLedger(step), safe: createLedger(reserved), state, reported };
}

describe('a ledger with a reserve', () => {
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
      expect(await there.safe.check(INTENT)).toMatchObject({ why: 'rate-limited', until });
      expect((await there.safe.admit(INTENT)).hold).toMatchObject({ until });
    }
    // The ledger knows by now.
    expect((await there.ledger.view()).block).toMatchObject({ until });
  });

  it('fault 115: a refusal that comes while the ledger is waited for takes the leave back', async () => {
    const here = await guarded();
    const slow: Step = async (work, options) => {
      const result = await here.step(work, options);
      await here.file.note(block(here.clock, HOUR));
      return result;
    };
    const ledger = createLedger(withReserve(slow, { ...here, onUnwritten: () => undefined }));
    expect((await ledger.admit(INTENT)).hold).toMatchObject({ until: here.clock.monotonic() + HOUR });
    expect((await here.ledger.view()).inFlight).toEqual([]);
  });

  it('what no place can keep holds in this process', async () => {
    const clock = new VirtualClock();
    const { files } = createTestContext({ clock });
    const here = await guarded({ clock }, reserveFile({ clock, files }, '/proc/nowhere', 'name'));
    await here.safe.admit(INTENT);
    here.state.isBroken = true;
    await here.safe.answered(REFUSAL);
    const until = clock.monotonic() + 61_000;
    expect([(await here.safe.check(INTENT))?.until, here.reported]).toEqual([until, [[until, false]]]);
    here.state.isBroken = false;
    expect((await here.safe.admit(INTENT)).hold).toBeDefined();
    // Its own request, whose answer the ledger could not take, counts as under way for two minutes.
    await clock.advance(121_000);
    expect((await here.safe.admit(INTENT)).hold).toBeUndefined();
  });

  it('a file system that ignores times is not believed to keep a block', async () => {
    const clock = new VirtualClock();
    const files = { ...createTestContext({ clock }).files, setTimes: () => Promise.resolve() };
    const here = await guarded({ clock }, reserveFile({ clock, files }, createHome().state, 'name'));
    here.state.isBroken = true;
    await here.safe.answered(REFUSAL);
    expect([here.reported[0]?.[1], (await here.safe.check(INTENT))?.why]).toEqual([false, 'rate-limited']);
  });

  it('a block that the ledger has lost is learnt again, as long as it lasts', async () => {
    const here = await guarded();
    await here.safe.answered(REFUSAL);
    const anew = await guarded(here);
    expect((await anew.safe.admit(INTENT)).hold).toBeDefined();
    expect((await anew.ledger.admit(INTENT)).hold).toBeDefined();
    // The second refusal in a row, with twice the wait.
    await anew.clock.advance(61_000);
    await anew.safe.admit(INTENT);
    await anew.safe.answered({ ...REFUSAL, headers: { retryAfterMs: 300_000 } });
    expect(await leftMs(anew.file, anew.clock)).toBe(301_000);
  });

  it('the longer block of several refusals in a row is kept', async () => {
    const here = await guarded();
    await here.safe.answered(REFUSAL);
    await here.clock.advance(61_000);
    await here.safe.admit(INTENT);
    await here.safe.answered(REFUSAL);
    expect(await leftMs(here.file, here.clock)).toBe(121_000);
  });

  it('once the block is over, exactly one request asks for the limits', async () => {
    const here = await guarded();
    await here.file.note(block(here.clock, 60_000));
    await here.clock.advance(60_000);
    const decisions = [await here.safe.admit(INTENT), await here.safe.admit({ ...INTENT, id: 'b' })];
    expect(decisions.map(({ hold }) => hold?.why)).toEqual([undefined, 'asking']);
  });

  it('an answer other than a refusal, and a loss, are reported and change nothing else', async () => {
    const here = await guarded();
    await here.safe.admit(INTENT);
    here.state.isBroken = true;
    await here.safe.answered({ ...REFUSAL, status: 200, headers: {} });
    await here.safe.lost('a', true);
    expect([here.reported, await here.file.read()]).toEqual([
      [
        [undefined, false],
        [undefined, false],
      ],
      undefined,
    ]);
  });

  it.each([
    ['an error of another kind', new TypeError('a bug')],
    ['a signal while the ledger is waited for', new Failure('interrupted', { signal: 'SIGINT' })],
  ])('%s is not hidden, by a block neither', async (_name, error) => {
    const here = await place();
    const step: Step = () => Promise.reject(error);
    const safe = createLedger(withReserve(step, { ...here, onUnwritten: () => undefined }));
    await here.file.note(block(here.clock, HOUR));
    const steps = [safe.check(INTENT), safe.admit(INTENT), safe.lost('a', true), safe.answered(REFUSAL)];
    expect(await Promise.all(steps.map((each) => each.catch((reason: unknown) => reason)))).toEqual(
      steps.map(() => error),
    );
  });

  it('clearing the block clears both places', async () => {
    const here = await guarded();
    await here.file.note(block(here.clock, HOUR));
    await here.safe.check(INTENT);
    await here.safe.clearBlock();
    expect([await here.file.read(), (await here.safe.admit(INTENT)).hold]).toEqual([undefined, undefined]);
  });
});
