/** The lock of a pet that machines share: what each machine sees while it is held, expired, or the server is gone. */
import { describe, expect, it } from 'vitest';
import { HttpFailure, type Redis, RedisFailure, type Wait } from '../../src/ports.ts';
import { takeSharedLock } from '../../src/stock/shared-pet-lock.ts';
import { openRedis } from '../../src/node/redis.ts';
import { RedisScript, type Store } from '../simulation/lua.ts';
import { onCleanup } from '../support/cleanup.ts';
import { commandContext } from '../support/command-context.ts';
import { runIn, STAGING_ENV } from '../support/in-process.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { item, json } from '../support/replies.ts';
import { createTestContext } from '../support/test-context.ts';
import { httpReply } from '../support/test-ports.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** --timeout is 30 s: so long after its last sign a holder is given up. */
const LASTS_MS = 35_000;

/** The real script, run in this process. */
class ScriptedRedis implements Redis {
  readonly store: Store = new Map();
  isLost = false;
  lostAt = Number.NEGATIVE_INFINITY;
  /** Steps whose reply is lost, because the connection was closed. */
  closesAt: readonly string[] = [];
  /** Of the last step. */
  how: Parameters<Redis['run']>[3];
  readonly #clock: VirtualClock;
  #script: RedisScript | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  run(script: string, key: string, args: readonly string[], how: ScriptedRedis['how']): Promise<string> {
    this.how = how;
    if (this.isLost) return Promise.reject(new RedisFailure(new Error('gone')));
    // Its Lua is older than the one here.
    this.#script ??= new RedisScript(`local unpack = table.unpack ${script}`);
    const reply = this.#script.run(this.store, this.#clock.now(), key, args);
    const isClosed = this.closesAt.includes(args[0]!);
    this.closesAt = this.closesAt.filter((each) => each !== args[0]);
    return isClosed ? Promise.reject(new RedisFailure(new Error('closed'))) : Promise.resolve(reply);
  }

  close(): void {}
}

function shop() {
  const clock = new VirtualClock({ autoAdvance: true });
  const redis = new ScriptedRedis(clock);
  const said: unknown[] = [];
  let machines = 0;
  /** A machine whose clock stands while it is stopped, killed or suspended. */
  const machine = (own = clock, signal = new AbortController().signal, process = {}) => {
    const number = ++machines;
    const context = commandContext(createTestContext({ clock: own }), (text) => said.push(text));
    const ports = {
      ...context,
      machine: { ...context.machine, ...process },
      signal,
      randomBytes: (count: number) => new Uint8Array(count).fill(number),
      notices: { ...context.notices, waiting: (wait?: Wait) => said.push(wait) },
    };
    return async (petId = 7n, maxWaitMs = 75_000) => {
      const service = { apiKey: 'the-key', maxWaitMs, timeoutMs: 30_000 };
      return takeSharedLock(ports, { origin: 'https://pets.example', redis, service }, petId);
    };
  };
  return { clock, redis, said, machine };
}

describe('the lock of a pet that machines share', () => {
  it('is one for each pet, and its name tells neither key nor address nor pet', async () => {
    const { machine, redis } = shop();
    await using one = await machine()(7n);
    await using two = await machine()(8n);
    expect([one.isHeld(), two.isHeld()]).toEqual([true, true]);
    for (const key of redis.store.keys()) expect(key).toMatch(/^petstore:\{[0-9a-f]{64}\}:pet:[0-9a-f]{64}$/);
  });

  it('that another machine holds is waited for, which is said, and taken once it is released', async () => {
    const { clock, machine, said } = shop();
    const first = await machine()();
    const second = machine()();
    await clock.sleep(10_000);
    expect(said).toHaveLength(9);
    expect(said[0]).toMatchObject({ holder: 'a petstore process of another machine that changes pet 7' });
    await first[Symbol.asyncDispose]();
    await using lock = await second;
    expect([lock.isHeld(), said.at(-1)]).toEqual([true, undefined]);
  });

  it('that another machine holds for longer than one may wait ends the command', async () => {
    const { machine } = shop();
    await using _first = await machine()();
    await expect(machine()(7n, 5_000)).rejects.toMatchObject({
      kind: 'run-locked',
      details: { what: 'a petstore process of another machine that changes pet 7', waitedMs: 5_000 },
    });
  });

  it('is neither missing nor left behind where a connection is closed', async () => {
    const { machine, redis, said } = shop();
    redis.closesAt = ['take', 'release'];
    const lock = await machine()();
    expect(lock.isHeld()).toBe(true);
    await lock[Symbol.asyncDispose]();
    await using next = await machine()(7n, 0);
    expect([next.isHeld(), said]).toEqual([true, []]);
  });

  it('is released where a signal ends the command while the server takes it', async () => {
    const { clock, machine, redis } = shop();
    const run = redis.run.bind(redis);
    const stop = new AbortController();
    redis.run = async (...[script, key, args, how]: Parameters<Redis['run']>) => {
      const reply = await run(script, key, args, how);
      if (args[0] !== 'take') return reply;
      stop.abort(new Error('the signal'));
      throw stop.signal.reason as Error;
    };
    await expect(machine(clock, stop.signal)()).rejects.toThrow('the signal');
    redis.run = run;
    await using lock = await machine()(7n, 0);
    expect(lock.isHeld()).toBe(true);
  });

  it('is renewed for as long as the work takes', async () => {
    const { clock, machine } = shop();
    await using lock = await machine()();
    await clock.sleep(20 * LASTS_MS);
    expect(lock.isHeld()).toBe(true);
    await expect(machine()(7n, 1_000)).rejects.toMatchObject({ kind: 'run-locked' });
  });

  it.each([
    ['before its write is over after 10 s', false, 10_000],
    ['during its write is over after --timeout and 5 s', true, LASTS_MS],
  ])('of a holder that was killed %s', async (_when, writes, lastsMs) => {
    const { clock, machine } = shop();
    const killed = await machine(new VirtualClock())();
    if (writes) await killed.confirm?.();
    const from = clock.monotonic();
    await using lock = await machine()();
    expect([lock.isHeld(), Math.floor((clock.monotonic() - from) / 1_000)]).toEqual([true, lastsMs / 1_000]);
  });

  it.each<readonly [string, object, object, boolean]>([
    ['dead is free at once', {}, {}, true],
    ['alive is waited for', {}, { isAlive: () => true }, false],
    ['dead, on a machine without a boot id, is waited for', { bootId: '' }, { bootId: '' }, false],
    ['dead, in a container without a name, is waited for', { processSpace: 'b.' }, { processSpace: 'b.' }, false],
    ['of the boot before is waited for', {}, { bootId: 'next-boot' }, false],
    ['in another container is waited for', {}, { processSpace: 'another' }, false],
  ])('of a process that is %s', async (_whose, before, process, isFree) => {
    const { clock, machine } = shop();
    const killed = await machine(new VirtualClock(), undefined, before)();
    await killed.confirm?.();
    const next = machine(clock, undefined, { pid: 4_243, isAlive: () => false, ...process })(7n, 0);
    const outcome = await next.then(
      (lock) => lock.isHeld() && lock.lastHeldAt >= clock.monotonic(),
      () => false,
    );
    expect(outcome).toBe(isFree);
  });

  it('is not believed in by a holder that was stopped, who does not free that of the next one either', async () => {
    const { machine, clock } = shop();
    const own = new VirtualClock();
    const stopped = await machine(own)();
    expect(stopped.isHeld()).toBe(true);
    await using next = await machine()();
    own.suspend(LASTS_MS);
    expect([stopped.isHeld(), next.isHeld()]).toEqual([false, true]);
    await stopped[Symbol.asyncDispose]();
    await clock.sleep(1_000);
    await expect(machine()(7n, 1_000)).rejects.toMatchObject({ kind: 'run-locked' });
  });

  it('is given up shortly before its end, so that a write does not arrive after it', async () => {
    const own = new VirtualClock();
    const { machine, redis } = shop();
    const lock = await machine(own)();
    await lock.confirm?.();
    redis.isLost = true;
    const seen = [];
    for (const ms of [LASTS_MS - 3_000, 1_500]) {
      await own.advance(ms);
      seen.push(lock.isHeld());
    }
    expect(seen).toEqual([true, false]);
  });

  it('is lost on a server that was emptied, and kept on one that was away for a while', async () => {
    const { clock, machine, redis } = shop();
    await using emptied = await machine()(7n);
    redis.store.clear();
    await using kept = await machine()(8n);
    redis.isLost = true;
    await clock.sleep(LASTS_MS / 2);
    redis.isLost = false;
    await clock.sleep(LASTS_MS);
    expect([emptied.isHeld(), kept.isHeld()]).toEqual([false, true]);
  });

  it('tells when another one had it last', async () => {
    const { clock, machine } = shop();
    const from = clock.monotonic();
    const first = await machine()();
    expect(first.lastHeldAt).toBeLessThan(from);
    await clock.sleep(10_000);
    await first[Symbol.asyncDispose]();
    await clock.sleep(20_000);
    await using second = await machine()();
    expect(second.lastHeldAt).toBeGreaterThanOrEqual(from + 10_000);
    expect(second.lastHeldAt).toBeLessThan(from + 20_000);
  });

  it('may have been held by another one until the connection was lost, as the server may have been emptied', async () => {
    const { clock, machine, redis } = shop();
    redis.lostAt = clock.monotonic();
    await clock.sleep(20_000);
    await using lock = await machine()();
    expect(lock.lastHeldAt).toBe(redis.lostAt);
  });

  it('is taken within --timeout, and before the command has to end', async () => {
    const { machine, redis } = shop();
    await using _lock = await machine()();
    expect(redis.how).toEqual({ timeoutMs: 30_000, signal: expect.any(AbortSignal) as AbortSignal });
  });

  it('is done without where the server is lost, which is said once', async () => {
    const { machine, redis, said } = shop();
    redis.isLost = true;
    const take = machine();
    const locks = [await take(7n), await take(8n)];
    await locks[0]!.confirm?.();
    expect(locks.map((lock) => lock.isHeld())).toEqual([true, true]);
    expect(said).toEqual([expect.stringMatching(/^Stock is unprotected from other machines: .* \(gone\)/)]);
  });

  it('is done without where the server answers but stores nothing, because its memory or disk is full', async () => {
    const { machine, redis } = shop();
    const run = redis.run.bind(redis);
    redis.run = async (...step: Parameters<Redis['run']>) => {
      const reply = await run(...step);
      if (redis.store.size === 0) return reply;
      redis.store.clear();
      throw new RedisFailure(new Error('OOM'));
    };
    await using lock = await machine()();
    await lock.confirm?.();
    expect(lock.isHeld()).toBe(true);
  });

  it.each(['before', 'after'])(
    'is not held by one that did without, once the server is back: it was taken %s',
    async (when) => {
      const { machine, redis } = shop();
      const run = redis.run.bind(redis);
      // A server that was stopped runs what it had received.
      redis.run = async (...step: Parameters<Redis['run']>) => {
        if (when === 'after') await run(...step);
        throw new RedisFailure(new Error('late'));
      };
      const lock = await machine()();
      redis.run = run;
      await lock.confirm?.();
      expect(lock.isHeld()).toBe(false);
      await lock[Symbol.asyncDispose]();
      await using next = await machine()(7n, 0);
      expect(next.isHeld()).toBe(true);
    },
  );

  it('is confirmed before a write: it is lost at once on a server that was emptied', async () => {
    const { machine, redis } = shop();
    await using lock = await machine()();
    redis.store.clear();
    await lock.confirm?.();
    expect(lock.isHeld()).toBe(false);
  });

  it('is confirmed again where the connection was lost after that: the server may have restarted empty', async () => {
    const { clock, machine, redis } = shop();
    await using lock = await machine()();
    await lock.confirm?.();
    await clock.sleep(1);
    redis.store.clear();
    redis.lostAt = clock.monotonic();
    await lock.confirm?.();
    expect(lock.isHeld()).toBe(false);
  });
});

describe.skipIf(!hasRedis)('a machine that was suspended', () => {
  /** What comes of a command. `stock`: what each look at it finds; one answer comes after the machine slept. */
  async function ran(stock: readonly number[], sleepsBefore: 'GET' | 'PATCH', isLost: boolean, ...args: string[]) {
    const redis = openRedis((await startRedis()).url);
    onCleanup(() => redis.close());
    const looks = [...stock];
    let hasSlept = false;
    const context = createTestContext({
      env: { ...STAGING_ENV, PETSTORE_LEDGER: 'redis://tills.example' },
      http: ({ method, body, url }) => {
        const sleeps = !hasSlept && method === sleepsBefore;
        if (sleeps) context.clock.suspend(LASTS_MS);
        hasSlept ||= sleeps;
        const now = context.clock.now();
        if (method === 'GET') return httpReply(json([item(7, looks.shift()!)]), now);
        if (!sleeps || !isLost) return httpReply(json({ ...item(7, 0), ...JSON.parse(String(body)) }), now);
        throw new HttpFailure({
          phase: 'reset',
          mayHaveBeenSent: true,
          peer: url.host,
          code: 'ECONNRESET',
          detail: 'cut',
        });
      },
    });
    const run: Redis['run'] = (...step) => context.clock.during(() => redis.run(...step));
    const held = { ...context, openRedis: () => Promise.resolve({ run, close: () => undefined }) };
    const { code } = await runIn(held, '--timeout', '30s', ...args);
    return { code, sent: context.sent.map(({ method, body }) => `${method} ${body ?? ''}`.trim()) };
  }

  const adjusted = (stock: readonly number[], sleepsBefore: 'GET' | 'PATCH') =>
    ran(stock, sleepsBefore, true, 'inventory', 'adjust', '7', '-1');

  it('adjust, between the read and the write: reads the pet again, as another machine may have changed it', async () => {
    expect(await adjusted([10, 9], 'GET')).toEqual({ code: 0, sent: ['GET', 'GET', 'PATCH {"quantity":8}'] });
  });

  it('adjust, while the answer to the write was lost: does not send it again', async () => {
    expect(await adjusted([10, 10, 10, 10], 'PATCH')).toEqual({
      code: 9,
      sent: ['GET', 'PATCH {"quantity":9}', 'GET', 'GET', 'GET'],
    });
  });

  it('smoke, between two of its updates: writes nothing more, and looks what the pet has', async () => {
    const args = ['smoke', '--write', '--pet', '7', '--only', 'write-same,write-set,write-text'];
    expect(await ran([10, 9], 'PATCH', false, ...args)).toEqual({
      code: 7,
      sent: ['GET', 'PATCH {"quantity":10}', 'GET'],
    });
  });
});
