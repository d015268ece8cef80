import { describe, expect, it, type Mock, vi } from 'vitest';
import { Failure, isFailure } from '../../src/errors.ts';
import type { Connection, Wait } from '../../src/ports.ts';
import type { Gate, Ticket } from '../../src/rate-limit/gate.ts';
import { createLedger, memoryStep } from '../../src/rate-limit/ledger.ts';
import { gateWith } from '../support/gate.ts';
import { START, VirtualClock } from '../support/virtual-clock.ts';

interface Bench {
  readonly clock: VirtualClock;
  readonly gate: Gate;
  readonly waits: (Wait | undefined)[];
  readonly stop: AbortController;
}

let gates = 0;

function bench(
  maxWaitMs = 75_000,
  clock = new VirtualClock({ autoAdvance: true }),
  ledger = createLedger(memoryStep(clock)),
  probes = 1,
): Bench {
  const waits: (Wait | undefined)[] = [];
  const stop = new AbortController();
  const process = {
    owner: `process ${++gates}`,
    signal: stop.signal,
    onWait: (wait: Wait | undefined) => waits.push(wait),
  };
  const gate = gateWith({ ledger, clock, maxWaitMs, probes, ...process });
  return { clock, gate, waits, stop };
}

const OPERATION = 'GET /inventory';

/** A connection that stays open. */
function connection(): Connection & { readonly release: Mock } {
  return { isOpen: true, send: () => Promise.reject(new Error('nothing is sent')), release: vi.fn() };
}

/** Enters with a connection that is there at once. */
async function enter(gate: Gate): Promise<Ticket> {
  return (await gate.enter(OPERATION, () => Promise.resolve(connection()))).ticket;
}

/** Fifty requests are left. */
const OPEN = new Map([
  ['x-ratelimit-limit', ['60']],
  ['x-ratelimit-remaining', ['50']],
]);

/** Two processes with one key. */
function pair(clock: VirtualClock, maxWaitMs = 75_000) {
  const ledger = createLedger(memoryStep(clock));
  return { first: bench(maxWaitMs, clock, ledger), second: bench(maxWaitMs, clock, ledger) };
}

const refuse = (ticket: Ticket, retryAfter: string): Promise<unknown> =>
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
    await refuse(await enter(gate), '3');
    const probe = await enter(gate);
    expect(clock.now() - START).toBe(4_000);
    expect(waits).toEqual([
      ...Array<object>(4).fill({ why: 'rate-limited', until: START + 4_000, attempt: 2, attempts: 2 }),
      undefined,
    ]);

    await refuse(probe, '3');
    const failure = await failureOf(enter(gate));
    expect({ kind: failure.kind, details: failure.details }).toEqual({
      kind: 'rate-limited',
      details: {
        why: 'rate-limited',
        retryAt: START + 4_000 + 7_000,
        waitMs: 7_000,
        maxWaitMs: 75_000,
        begun: true,
      },
    });
  });

  it.each<readonly [string, (clock: VirtualClock) => void]>([
    ['fault 37: a wall clock that is set forward', (clock) => clock.stepWall(3_600_000)],
    ['fault 37: a wall clock that is set back', (clock) => clock.stepWall(-3_600_000)],
    ['fault 38: a machine that sleeps', (clock) => clock.suspend(3_600_000, 'stops')],
  ])('%s while waiting changes nothing', async (_name, change) => {
    const { clock, gate } = bench(75_000, new VirtualClock());
    await refuse(await enter(gate), '30');
    let entered = false;
    const waiting = enter(gate).then(() => (entered = true));
    await clock.advance(10_000);
    change(clock);
    await clock.advance(20_999);
    expect(entered).toBe(false);
    await clock.advance(1);
    await waiting;
  });

  it('fault 82: a signal ends the wait at once, and the block stays', async () => {
    const { clock, gate, waits, stop } = bench(75_000, new VirtualClock());
    await refuse(await enter(gate), '30');
    const waiting = failureOf(enter(gate));
    await clock.whenSleeping();
    stop.abort(new Failure('interrupted', { signal: 'SIGINT' }));
    expect((await waiting).kind).toBe('interrupted');
    expect(waits.at(-1)).toBeUndefined();
    expect(clock.now()).toBe(START);
    expect((await failureOf(enter(gate))).kind).toBe('interrupted');
  });
});

it('as long as allowed is waited, a longer block is not', async () => {
  const { clock, gate } = bench(3_999);
  const block = () => gate.enter(OPERATION, () => Promise.resolve(connection()), { maxWaitMs: 4_000 });
  await refuse(await enter(gate), '3');
  expect((await failureOf(enter(gate))).kind).toBe('rate-limited');
  await block();
  expect(clock.now() - START).toBe(4_000);
});

describe('the connection comes first', () => {
  it('fault 113: a refusal that arrives while a connection is made keeps the request back', async () => {
    const clock = new VirtualClock();
    const { first, second } = pair(clock, 1_000);
    await (await enter(first.gate)).answered(200, OPEN, START);
    const ticket = await enter(first.gate);
    const made = Promise.withResolvers<Connection>();
    const late = connection();
    const entering = failureOf(second.gate.enter(OPERATION, () => made.promise));
    await clock.turn();
    await refuse(ticket, '30');
    made.resolve(late);
    expect(await entering).toMatchObject({ kind: 'rate-limited', details: { begun: false } });
    expect(late.release).toHaveBeenCalledOnce();
  });

  it('none is made while a wait is known', async () => {
    const { gate } = bench(1_000);
    await refuse(await enter(gate), '3600');
    let made = 0;
    await failureOf(
      gate.enter(OPERATION, () => {
        made++;
        return Promise.resolve(connection());
      }),
    );
    expect(made).toBe(0);
  });

  it('leave ends with a refusal of another request, and with time: a stopped process asks again', async () => {
    const clock = new VirtualClock();
    const { gate } = bench(1_000, clock);
    await (await enter(gate)).answered(200, OPEN, START);
    const [stopped, refused, other] = [await enter(gate), await enter(gate), await enter(gate)];
    expect([stopped.isFresh(), refused.isFresh()]).toEqual([true, true]);
    await refuse(other, '1');
    expect(refused.isFresh()).toBe(false);
    const later = bench(1_000, clock);
    const ticket = await enter(later.gate);
    clock.suspend(60_000, 'stops');
    expect(ticket.isFresh()).toBe(false);
  });
});

describe('fault 134: two requests that are refused together', () => {
  it('are one strike, and the run continues after the wait', async () => {
    const clock = new VirtualClock({ autoAdvance: true });
    const { gate } = bench(75_000, clock);
    await (await enter(gate)).answered(200, OPEN, START);
    const [a, b] = [await enter(gate), await enter(gate)];
    await refuse(a, '3');
    await refuse(b, '3');
    const probe = await enter(gate);
    await probe.answered(200, OPEN, START);
    await enter(gate);
  });

  it('bulk work gives up at the third strike in a row, or never', async () => {
    const strikes = async (probes: number, most: number): Promise<number> => {
      const { gate } = bench(1e9, undefined, undefined, probes);
      for (let met = 0; met < most; met++) {
        try {
          await refuse(await enter(gate), '1');
        } catch (error) {
          if (!isFailure(error)) throw error;
          return met;
        }
      }
      return most;
    };
    expect([await strikes(1, 9), await strikes(2, 9), await strikes(Number.POSITIVE_INFINITY, 9)]).toEqual([2, 3, 9]);
  });
});

describe('while another request asks', () => {
  it('reports nothing for a second; then the wait, once a second, with its latest end', async () => {
    const clock = new VirtualClock();
    const { first, second } = pair(clock);
    const ticket = await enter(first.gate);
    const entering = enter(second.gate);
    await clock.advance(3_500);
    const until = START + 35_000;
    const expected = { why: 'asking', until, attempt: 1, attempts: 2 };
    await ticket.lost(false);
    await clock.advance(50);
    await entering;
    expect(second.waits.slice(0, 3)).toEqual([expected, expected, expected]);
    expect(second.waits.at(-1)).toBeUndefined();
    expect(second.waits.filter((wait) => wait === undefined)).toHaveLength(1);
  });

  it('longer than allowed: fails with the latest moment at which it is over', async () => {
    const { first, second } = pair(new VirtualClock({ autoAdvance: true }), 10_000);
    await enter(first.gate);
    const { details } = await failureOf(enter(second.gate));
    expect(details).toMatchObject({ why: 'asking', retryAt: START + 35_000, maxWaitMs: 10_000 });
  });
});
