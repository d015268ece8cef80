import { describe, expect, it } from 'vitest';
import { Failure, isFailure } from '../../src/errors.ts';
import { createGate, type Gate, type Ticket, type Wait } from '../../src/limits/gate.ts';
import { MemoryLedgers } from '../../src/limits/memory-ledger.ts';
import { START, VirtualClock } from '../support/virtual-clock.ts';

interface Bench {
  readonly clock: VirtualClock;
  readonly gate: Gate;
  readonly waits: (Wait | undefined)[];
  readonly stop: AbortController;
}

function bench(
  maxWaitMs = 75_000,
  clock = new VirtualClock({ autoAdvance: true }),
  ledger = new MemoryLedgers(clock).of('https://a.example', 'key'),
): Bench {
  const waits: (Wait | undefined)[] = [];
  const stop = new AbortController();
  const gate = createGate({
    ledger,
    clock,
    random: () => 0,
    maxWaitMs,
    probes: 1,
    reserve: 0,
    signal: stop.signal,
    onWait: (wait) => waits.push(wait),
  });
  return { clock, gate, waits, stop };
}

const refuse = (ticket: Ticket, retryAfter: string): Promise<void> =>
  ticket.answered(429, new Map([['retry-after', [retryAfter]]]), START);

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  try {
    await work;
  } catch (error) {
    if (isFailure(error)) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

describe('after a 429', () => {
  it('fault 28: waits with a countdown, lets one probe through, and fails after a second 429', async () => {
    const { clock, gate, waits } = bench();
    await refuse(await gate.enter(), '3');
    const probe = await gate.enter();
    expect(clock.now() - START).toBe(4_000);
    expect(waits).toEqual([
      ...[4_000, 3_000, 2_000, 1_000].map((remainingMs) => ({
        why: 'rate-limited',
        until: START + 4_000,
        remainingMs,
        attempt: 2,
        attempts: 2,
      })),
      undefined,
    ]);

    await refuse(probe, '3');
    const failure = await failureOf(gate.enter());
    expect({ kind: failure.kind, facts: failure.facts }).toEqual({
      kind: 'rate-limited',
      facts: {
        why: 'rate-limited',
        retryAt: START + 4_000 + 7_000,
        waitMs: 7_000,
        maxWaitMs: 75_000,
        refusals: 2,
      },
    });
  });

  it('fault 29: longer than allowed: no sleep, and the block stays', async () => {
    const { clock, gate } = bench();
    await refuse(await gate.enter(), '3600');
    for (let again = 0; again < 3; again++) {
      expect((await failureOf(gate.enter())).facts).toMatchObject({ retryAt: START + 3_601_000, waitMs: 3_601_000 });
    }
    expect(clock.now()).toBe(START);
  });

  it.each([3_600_000, -3_600_000])(
    'fault 37: a wall clock that is set by %i ms while waiting changes nothing',
    async (ms) => {
      const { clock, gate } = bench(75_000, new VirtualClock());
      await refuse(await gate.enter(), '30');
      let entered = false;
      const waiting = gate.enter().then(() => (entered = true));
      await clock.advance(10_000);
      clock.stepWall(ms);
      await clock.advance(20_999);
      expect(entered).toBe(false);
      await clock.advance(1);
      await waiting;
      expect(entered).toBe(true);
    },
  );

  it('fault 38: a machine that sleeps while waiting never sends early', async () => {
    const { clock, gate } = bench(75_000, new VirtualClock());
    await refuse(await gate.enter(), '30');
    let entered = false;
    const waiting = gate.enter().then(() => (entered = true));
    await clock.advance(10_000);
    clock.suspend(3_600_000, 'stops');
    await clock.advance(20_999);
    expect(entered).toBe(false);
    await clock.advance(1);
    await waiting;
  });

  it('fault 82: a signal ends the wait at once, and the block stays', async () => {
    const { clock, gate, waits, stop } = bench(75_000, new VirtualClock());
    await refuse(await gate.enter(), '30');
    const waiting = failureOf(gate.enter());
    await clock.whenSleeping();
    stop.abort(new Failure('interrupted', { signal: 'SIGINT' }));
    expect((await waiting).kind).toBe('interrupted');
    expect(waits.at(-1)).toBeUndefined();
    expect(clock.now()).toBe(START);
    expect((await failureOf(gate.enter())).kind).toBe('interrupted');
  });
});

describe('while another request asks', () => {
  const pair = (clock: VirtualClock, maxWaitMs = 75_000) => {
    const ledger = new MemoryLedgers(clock).of('https://a.example', 'key');
    const gates = [bench(maxWaitMs, clock, ledger), bench(maxWaitMs, clock, ledger)] as const;
    return { first: gates[0], second: gates[1] };
  };

  it('for a second nothing is said; then that it is waited for, once a second and until when at the latest', async () => {
    const clock = new VirtualClock();
    const { first, second } = pair(clock);
    const ticket = await first.gate.enter();
    const entering = second.gate.enter();
    await clock.advance(3_500);
    const until = START + 120_000;
    const told = { why: 'asking', until, attempt: 1, attempts: 2 };
    await ticket.lost(false);
    await clock.advance(50);
    await entering;
    expect(second.waits.slice(0, 3)).toEqual(
      [119_000, 118_000, 117_000].map((remainingMs) => ({ ...told, remainingMs })),
    );
    expect(second.waits.at(-1)).toBeUndefined();
    expect(second.waits.filter((wait) => wait === undefined)).toHaveLength(1);
  });

  it('longer than allowed: fails with the latest moment at which it is over', async () => {
    const { first, second } = pair(new VirtualClock({ autoAdvance: true }), 10_000);
    await first.gate.enter();
    const { facts } = await failureOf(second.gate.enter());
    expect(facts).toMatchObject({ why: 'asking', retryAt: START + 120_000, maxWaitMs: 10_000 });
  });
});

it('the newest limits are in wall-clock time', async () => {
  const { gate } = bench();
  expect(gate.limits).toBeUndefined();
  const headers = new Map([
    ['x-ratelimit-limit', ['60']],
    ['x-ratelimit-remaining', ['57']],
    ['x-ratelimit-reset', [String(START / 1_000 + 23)]],
  ]);
  await (await gate.enter()).answered(200, headers, START);
  expect(gate.limits).toEqual({ limit: 60, remaining: 57, resetAt: START + 24_000 });
});
