/**
 * Machines that share windows: the real script, run in this process, and one ledger per machine. What they do at random is
 * in simulation.test.ts: two with all faults, and forty of which some die.
 */
import { describe, expect, it, vi } from 'vitest';
import { type Clock, type Redis, RedisFailure } from '../../src/ports.ts';
import { Failure } from '../../src/errors.ts';
import type { Answer } from '../../src/rate-limit/governor.ts';
import { LEASE_SCRIPT } from '../../src/rate-limit/lease-script.ts';
import { createLedger, type Ledger, memoryStep, type Step } from '../../src/rate-limit/ledger.ts';
import { RedisLedger, type SharedOptions } from '../../src/rate-limit/redis-ledger.ts';
import { reserveFile, withReserve } from '../../src/rate-limit/reserve-file.ts';
import { machineFiles } from '../simulation/ledgers.ts';
import { RedisScript, type Store } from '../simulation/lua.ts';
import { createQuota } from '../simulation/quota.ts';
import { gateWith } from '../support/gate.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { START } from '../support/virtual-clock.ts';

const SCRIPT = new RedisScript(LEASE_SCRIPT);
const LIST = 'GET @5d0c2f/inventory';
const SET = 'PATCH @5d0c2f/inventory/{id}';
const anyByte = mulberry32(0);
const HOUR = 3_600_000;

/** A Redis server, and the machines that use it; times in ms. */
class Shop {
  readonly store: Store = new Map();
  now = 0;
  steps = 0;
  /** After so many steps it is lost. */
  stepsLeft = Number.POSITIVE_INFINITY;
  /** How far its clock is off. */
  skew = 0;
  failure: RedisFailure | undefined;
  reply: string | undefined;
  losesReplies = false;
  /** How long a question is on its way to it. */
  way = Promise.resolve();
  /** How long the process that has asked does not read the reply. */
  isStopped = Promise.resolve();
  readonly #known = new WeakSet<Machine>();

  run(machine: Machine, key: string, args: readonly string[]): string {
    this.steps++;
    if (this.failure !== undefined) throw this.failure;
    if (--this.stepsLeft === 0) this.lose();
    if (this.reply !== undefined) return this.reply;
    const reply = this.#runScript(key, args);
    this.#known.add(machine);
    if (this.losesReplies) throw new RedisFailure(new Error('no answer within 2000 ms'));
    return reply;
  }

  #runScript(key: string, args: readonly string[]): string {
    try {
      return SCRIPT.run(this.store, START + this.now + this.skew, key, args);
    } catch (error) {
      throw new RedisFailure(error);
    }
  }

  /** The question of this work is on its way until the result is called, and others pass it. */
  async holds<T>(work: () => Promise<T>): Promise<() => Promise<T>> {
    let arrive = (): void => undefined;
    this.way = new Promise((resolve) => (arrive = resolve));
    const late = work();
    await new Promise(setImmediate);
    this.way = Promise.resolve();
    return () => {
      arrive();
      return late;
    };
  }

  dropsKey(): void {
    this.store.delete('petstore:{pair}');
  }

  isEmptied(): void {
    this.store.clear();
  }

  lose(): void {
    this.failure = new RedisFailure(new Error('ECONNREFUSED'));
  }

  isBack(): void {
    this.failure = undefined;
    this.stepsLeft = Number.POSITIVE_INFINITY;
  }

  /** How many requests the machine may send after one step for permits: the server is lost from then on. */
  async lends(machine: Machine, wanted = 100, operation = LIST): Promise<number> {
    this.stepsLeft = this.#known.has(machine) ? 1 : 2;
    return machine.asksFor(wanted, operation);
  }

  machine(whenLost: SharedOptions['whenLost'] = 'hold'): Machine {
    return new Machine(this, whenLost);
  }

  machines(count: number): Machine[] {
    return Array.from({ length: count }, () => this.machine());
  }
}

interface Ask {
  readonly reserve?: number;
  readonly timeoutMs?: number;
}

type Window = NonNullable<Answer['headers']['window']>;

let machinesMade = 0;

class Machine {
  readonly said: string[] = [];
  /** Of its processes. */
  readonly ends = new AbortController();
  readonly clock: Clock;
  ledger!: Ledger;
  otherProcess!: Ledger;
  /** How long the last question may take, ms. */
  patienceMs: number | undefined;
  /** Requests under way, oldest first. */
  readonly sent: { readonly id: string; readonly operation: string }[] = [];
  wallSkew = 0;
  isUnwritable = false;
  /** How long the last refusal to send holds, and when to ask again, ms. */
  waits: { readonly ms: number; readonly againMs?: number } | undefined;
  readonly #shop: Shop;
  readonly #options: Omit<SharedOptions, 'redis' | 'server'>;
  readonly #step: Step;
  readonly #boot = ++machinesMade * 1_000_003;
  #asked = 0;

  constructor(shop: Shop, whenLost: SharedOptions['whenLost']) {
    this.#shop = shop;
    const clock = {
      now: () => START + shop.now + this.wallSkew,
      monotonic: () => shop.now + this.#boot,
      alarm: () => () => undefined,
    } as Partial<Clock> as Clock;
    this.clock = clock;
    const ports = {
      ...{ clock, random: () => 0.5, signal: this.ends.signal },
      randomBytes: (count: number) => Uint8Array.from({ length: count }, () => anyByte() * 256),
    };
    this.#options = {
      ...ports,
      ...{ name: 'petstore:{pair}', whenLost },
      onChange: (says) => this.said.push(says === undefined ? 'back' : `lost: ${says}`),
    };
    const step = memoryStep(clock);
    const mayFail: Step = (work, how) =>
      this.isUnwritable && how?.durable === true
        ? Promise.reject(new Failure('state', { path: 'state.db', problem: 'full' }))
        : step(work, how);
    const file = reserveFile({ clock: ports.clock, files: machineFiles() }, 'blocks', 'pair');
    const reserve = withReserve(mayFail, { clock: ports.clock, file, onUnwritten: () => undefined });
    this.#step = (work, how) => (this.isUnwritable ? reserve : step)(work, how);
    this.uses('redis://one');
  }

  /** Its processes begin anew, with the server of that address. */
  uses(server: string, shop = this.#shop): void {
    const redis: Redis = {
      run: async (_script, key, args, { signal, timeoutMs } = {}) => {
        this.patienceMs = timeoutMs;
        const arrived = shop.way.then(() => shop.run(this, key, args));
        const ended = new Promise<never>((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        });
        const reply = await Promise.race([arrived, ended]);
        await shop.isStopped;
        return reply;
      },
      close: () => undefined,
    };
    const options = { ...this.#options, redis, server };
    this.otherProcess = new RedisLedger(this.#step, options);
    this.ledger = new RedisLedger(this.#step, options);
  }

  get monotonic(): number {
    return this.#shop.now + this.#boot;
  }

  /** Asks for leave to send: `sent`, or why not. */
  async asks(operation = LIST, { reserve = 0, timeoutMs = 30_000 }: Ask = {}): Promise<string> {
    const id = `${this.#boot}/${this.#asked++}`;
    const { hold } = await this.ledger.admit({ id, operation, reserve, timeoutMs });
    if (hold === undefined) {
      this.sent.push({ id, operation });
      return 'sent';
    }
    const { until, again, why } = hold;
    const now = this.monotonic;
    this.waits = { ms: until - now, ...(again !== undefined && { againMs: again - now }) };
    return why;
  }

  /** So many at once: how many of them were sent. */
  async asksFor(count: number, operation = LIST, ask: Ask = {}): Promise<number> {
    const asked = await Promise.all(Array.from({ length: count }, () => this.asks(operation, ask)));
    return asked.filter((each) => each === 'sent').length;
  }

  /** It sends a request, which is answered. */
  async exchanges(left: number, window?: Partial<Window>, operation = LIST): Promise<void> {
    expect(await this.asks(operation)).toBe('sent');
    await this.isAnswered(left, window);
  }

  /** It sends a request, which is refused. */
  async meets(status: number, retryAfterMs: number): Promise<void> {
    expect(await this.asks()).toBe('sent');
    await this.isRefused(status, retryAfterMs);
  }

  /** The oldest request under way is answered. */
  async isAnswered(left: number, window: Partial<Window> = {}): Promise<void> {
    await this.#answered(200, { window: { limit: 60, remaining: left, resetInMs: 60_000, ...window } });
  }

  async isRefused(status: number, retryAfterMs: number): Promise<void> {
    await this.#answered(status, { retryAfterMs });
  }

  async losesRequest(mayHaveBeenSent = true): Promise<void> {
    await this.ledger.lost(this.sent.shift()!.id, mayHaveBeenSent);
  }

  async #answered(status: number, headers: Answer['headers']): Promise<void> {
    await this.ledger.answered({ ...this.sent.shift()!, status, headers, random: 0 });
  }
}

/** A shop with two machines. */
function pair(whenLost?: SharedOptions['whenLost']) {
  const shop = new Shop();
  return { shop, first: shop.machine(whenLost), second: shop.machine(whenLost) };
}

/** A shop whose window is known to its first machine, with so much left after one request. */
async function opened({ machines = 2, left = 59, window = {} } = {}) {
  const shop = new Shop();
  const all = shop.machines(machines);
  await all[0]!.exchanges(left, window);
  return { shop, all, first: all[0]!, second: all[1]! };
}

/** Of a request that nobody knows. */
const REFUSED: Answer = { id: '', operation: LIST, status: 429, headers: {}, random: 0 };

/** A shop with a block of 100 s (and a second to allow for rounding) that the first machine was answered. */
async function blocked(status = 429, machines = 3) {
  const shop = new Shop();
  const all = shop.machines(machines);
  await all[0]!.meets(status, 100_000);
  return { shop, all, first: all[0]!, second: all[1]!, third: all[2]! };
}

describe('while nothing is known', () => {
  it('one request of one machine goes first, and the others wait for its answer', async () => {
    const all = new Shop().machines(4);
    expect(await Promise.all(all.map((each) => each.asks()))).toEqual(['sent', 'asking', 'asking', 'asking']);
    expect(all[1]!.waits!.againMs).toBe(100);
    await all[0]!.isAnswered(59);
    expect(await all[0]!.asks()).toBe('sent');
  });

  it('others of the machine wait, too', async () => {
    expect(await new Shop().machine().asksFor(5)).toBe(1);
  });

  it.each<readonly [string, (machine: Machine) => Promise<void>]>([
    ['lost', (machine) => machine.losesRequest()],
    ['never sent', (machine) => machine.losesRequest(false)],
  ])('a first request that was %s lets another machine go at once', async (_name, lose) => {
    const { shop, first, second } = pair();
    await first.asks();
    await second.asks();
    await lose(first);
    expect((await first.ledger.view()).block).toBeUndefined();
    shop.now += second.waits!.againMs!;
    expect(await second.asks()).toBe('sent');
  });

  it('a first request at one address keeps no other address of the machine waiting', async () => {
    const { first } = await opened();
    expect([await first.asks('GET @77aa01/pets'), await first.asks('GET @77aa02/pets')]).toEqual(['sent', 'sent']);
  });

  it('a machine that dies with the first request costs the others its timeout and five seconds', async () => {
    const { shop, first: dead, second: other } = pair();
    await dead.asks(LIST, { timeoutMs: 2_000 });
    shop.now += 6_999;
    expect(await other.asks()).toBe('asking');
    shop.now += 1_000;
    expect(await other.asks()).toBe('sent');
  });

  it('a machine that the server has never met, and that has given up by then, keeps nobody waiting', async () => {
    const { shop, first, second } = pair();
    const arrive = await shop.holds(() => first.asks().catch(String));
    first.ends.abort(new Error('given up'));
    shop.now += 60_000;
    await arrive();
    expect(await second.asks()).toBe('sent');
  });

  it('without headers requests go one at a time, and paced', async () => {
    const { shop, first, second } = pair();
    expect(await first.asksFor(3)).toBe(1);
    await first.ledger.answered({ ...first.sent.shift()!, status: 200, headers: {}, random: 0 });
    expect(await second.asks()).toBe('sent');
    shop.now += 500;
    expect(await first.asks()).not.toBe('sent');
  });
});

describe('permits', () => {
  it.each([
    { machines: 1, left: 59, wanted: 7, lent: 7 },
    { machines: 1, left: 59, wanted: 100, lent: 57 },
    // A request that another machine had answered is counted as under way until that machine asks again.
    { machines: 2, left: 59, wanted: 100, lent: 29 },
    { machines: 4, left: 41, wanted: 100, lent: 10 },
    { machines: 4, left: 2, wanted: 100, lent: 1 },
  ])('$lent of $left for one of $machines that wants $wanted', async ({ machines, left, wanted, lent }) => {
    const { shop, all } = await opened({ machines, left });
    for (const each of all.slice(1)) await each.ledger.view();
    expect(await shop.lends(all.at(-1)!, wanted)).toBe(lent);
  });

  it('twice as many for a machine that has used them up within a second, one after a pause', async () => {
    const { shop, second } = await opened();
    const perStep = async (): Promise<number[]> => {
      const counts: number[] = [];
      for (let i = 0; i < 10; i++) {
        const before = shop.steps;
        await second.exchanges(50 - i);
        counts.push(shop.steps - before);
      }
      return counts;
    };
    // The first one makes it known to the server.
    expect(await perStep()).toEqual([2, 1, 0, 1, 0, 0, 0, 1, 0, 0]);
    shop.now += 40_000;
    await second.ledger.close();
    expect(await perStep()).toEqual([1, 1, 0, 1, 0, 0, 0, 1, 0, 0]);
  });

  it.each([
    [5, 15],
    [0.1, 14],
  ])('never more than is left, less what is lent and the reserve (%s)', async (reserve, most) => {
    const { all } = await opened({ machines: 4, left: 20 });
    const sent = [];
    for (const each of all) sent.push(await each.asksFor(20, LIST, { reserve }));
    expect(sent.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(most);
    expect(await all[1]!.asks(LIST, { reserve })).toBe('window-spent');
  });

  it('are lent whatever reserve is wanted, if nothing has been used', async () => {
    const { first, second } = await opened({ left: 60 });
    await first.ledger.close();
    expect(await second.asks(LIST, { reserve: 100 })).toBe('sent');
  });

  it('of a machine that dies are free again once their window is over', async () => {
    const { shop, all, second } = await opened({ machines: 3, left: 41 });
    expect(await shop.lends(all[2]!)).toBe(20);
    shop.isBack();
    // A third of the rest.
    expect(await shop.lends(second)).toBe(6);
    for (let left = 20; left > 14; left--) await second.isAnswered(left);
    shop.isBack();
    shop.now += 66_000;
    await second.exchanges(59);
    expect(await shop.lends(second)).toBe(19);
  });

  it('of the window before count for five seconds: a request may arrive late', async () => {
    const { shop, first, second } = await opened({ left: 41, window: { resetInMs: 10_000 } });
    expect(await second.asksFor(20)).toBe(20);
    shop.now += 10_000;
    await first.exchanges(59);
    expect(await first.asksFor(59)).toBe(39);
    shop.now += first.waits!.againMs!;
    expect(await first.asksFor(59)).toBe(18);
  });

  it('end with their window', async () => {
    const { shop, second } = await opened({ left: 41, window: { resetInMs: 5_000 } });
    expect(await second.asksFor(3)).toBe(3);
    // It is lent six, and uses one.
    expect(await second.asks()).toBe('sent');
    shop.lose();
    shop.now += 4_999;
    expect(await second.asks()).toBe('sent');
    shop.now += 1;
    expect(await second.asks()).toBe('ledger-lost');
  });

  it('that are not used are given back', async () => {
    const { all, second, first } = await opened({ left: 41 });
    expect(await second.asksFor(20)).toBe(20);
    for (let i = 0; i < 20; i++) await second.losesRequest(false);
    await second.ledger.close();
    await first.ledger.close();
    expect(await all[0]!.asksFor(41)).toBe(39);
  });

  it('are left to those that send by a process that only shows them', async () => {
    const { shop, second } = await opened();
    expect(await second.asksFor(2)).toBe(2);
    await second.otherProcess.view();
    const { steps } = shop;
    await second.otherProcess.close();
    expect(shop.steps).toBe(steps);
  });

  it("of one operation that are not used go to another of the machine's operations", async () => {
    const { first } = await opened({ left: 9 });
    await first.exchanges(8, {}, SET);
    for (const left of [7, 6, 5, 4]) await first.exchanges(left);
    const sent = [];
    for (let left = 3; left >= 0; left--) {
      sent.push(await first.asks(SET));
      if (sent.at(-1) === 'sent') await first.isAnswered(left);
    }
    expect(sent).toEqual(['sent', 'sent', 'sent', 'sent']);
  });

  it('that one process is lent while another gives back are not forgotten', async () => {
    const { shop, first, second } = await opened({ left: 41 });
    await second.exchanges(40);
    await first.ledger.close();
    const intent = { id: 'x', operation: LIST, reserve: 0, timeoutMs: 30_000 };
    await second.otherProcess.admit(intent);
    await second.otherProcess.lost(intent.id, false);
    const arrive = await shop.holds(() => second.otherProcess.close());
    const sent = await second.asksFor(10);
    await arrive();
    expect(sent + (await first.asksFor(40)) + (await second.asksFor(40))).toBeLessThanOrEqual(40);
  });

  it.each([
    ['limit', SET, { limit: 200 }],
    ['end', SET, { resetInMs: 20_000 }],
    ['address', 'PATCH @77aa01/inventory/{id}', {}],
  ])('of windows that are apart, by their %s, are apart', async (_by, operation, window) => {
    const { shop, first, second } = await opened({ left: 3 });
    await first.exchanges(40, window, operation);
    await first.ledger.close();
    expect(await shop.lends(second, 100, operation)).toBe(20);
    shop.isBack();
    await second.asks();
    expect(await second.asksFor(9)).toBe(0);
  });

  it('of one window are shared, although the server hears of an older answer later', async () => {
    const { shop, all } = await opened({ machines: 3, left: 7 });
    const [first, second, third] = all as [Machine, Machine, Machine];
    await second.exchanges(6);
    shop.now += 1;
    expect(await third.asks(SET)).toBe('sent');
    shop.now += 1;
    await first.exchanges(4);
    for (const each of [first, second]) await each.ledger.close();
    await third.ledger.view();
    await third.isAnswered(5);
    await first.exchanges(0);
    for (const each of [first, third]) await each.ledger.close();
    expect(await third.asks(SET)).toBe('window-spent');
  });

  it.each([
    ['is over', 60_000, 60_500, 'asking'],
    ['may be one with a window that is over', 59_000, 59_500, 'asking'],
    ['lasts, beside one that is over and ended at another time', 20_000, 21_000, 'sent'],
  ])('beside the first request of a new window, of an operation whose own %s', async (_name, resetInMs, ms, told) => {
    const { shop, first, second } = await opened();
    await first.exchanges(58, { resetInMs }, SET);
    shop.now += ms;
    expect([await first.asks(SET), await second.asks()]).toEqual(['sent', told]);
  });

  it.each<readonly [string, (shop: Shop, first: Machine) => unknown]>([
    ['the server has dropped the state of the key alone, as when its memory is short', (shop) => shop.dropsKey()],
    ['a user has cleared it', (_shop, first) => first.ledger.clearBlock()],
  ])('are counted also where %s', async (_what, forget) => {
    const { shop, first, second } = await opened({ left: 41 });
    expect(await second.asksFor(20)).toBe(20);
    await forget(shop, first);
    shop.now += 1;
    await first.exchanges(20);
    await second.ledger.close();
    expect(await first.asksFor(9)).toBe(0);
  });

  it('count for the next window also while the last one of an operation is still believed to last', async () => {
    const { shop, first, second } = await opened({ left: 9 });
    await first.exchanges(8, { resetInMs: 59_000 }, SET);
    shop.now += 59_000;
    await first.exchanges(4, {}, SET);
    await first.ledger.close();
    expect(await second.asksFor(2, SET)).toBe(2);
    expect(await first.asks(LIST, { reserve: 2 })).toBe('window-spent');
  });

  it('count for one window also where a slow answer names its end later', async () => {
    const { shop, first, second } = await opened({ left: 9 });
    expect(await first.asks(SET)).toBe('sent');
    shop.now += 5_000;
    await first.isAnswered(8);
    await first.exchanges(4, { resetInMs: 55_000 });
    await first.ledger.close();
    expect(await second.asksFor(2, SET)).toBe(2);
    expect(await first.asks(LIST, { reserve: 2 })).toBe('window-spent');
  });

  it.each([
    [LIST, SET],
    [SET, LIST],
  ])('of windows that one machine has found apart are apart for a machine that has not: %s', async (spent, other) => {
    const { shop, first, second } = await opened({ left: 50 });
    await first.exchanges(49, {}, SET);
    expect(await second.asks(SET)).toBe('sent');
    shop.now += 1_000;
    await first.exchanges(30, { resetInMs: 59_000 });
    shop.now += 1;
    await first.exchanges(48, { resetInMs: 59_000 }, SET);
    await first.ledger.close();
    await second.isAnswered(40, { resetInMs: 59_000 });
    await second.ledger.close();
    await first.exchanges(0, { resetInMs: 59_000 }, spent);
    await first.ledger.close();
    expect([await second.asks(spent), await second.asks(other)]).toEqual(['window-spent', 'sent']);
  });

  /** A window that is spent: its second machine was refused. */
  async function refused() {
    const { shop, first, second } = await opened({ left: 1 });
    await first.exchanges(0);
    expect(await second.asks()).toBe('window-spent');
    return { shop, first, second };
  }

  it.each<[string, left: number, hasGivenUp: boolean, then: readonly (readonly ['first' | 'second', string])[]]>([
    ['the machine that was refused in the turn before', 1, false, [['first', 'window-spent'], ['second', 'sent']]],
    ['nobody who has sent since', 2, false, [['second', 'sent'], ['first', 'sent']]],
    ['nobody who has given up', 1, true, [['first', 'sent']]],
  ])('go first to %s', async (_whom, left, hasGivenUp, then) => {
    const { shop, ...machines } = await refused();
    if (hasGivenUp) await machines.second.ledger.close();
    shop.now += 60_000;
    await machines.first.exchanges(left);
    for (const [who, told] of then) expect(await machines[who].asks()).toBe(told);
  }); // prettier-ignore

  it('go first to nobody who does not come within five seconds', async () => {
    const { shop, first } = await refused();
    shop.now += 60_000;
    await first.exchanges(1);
    expect(await first.asks()).toBe('window-spent');
    expect(first.waits!.againMs).toBeLessThan(5_100);
    shop.now += first.waits!.againMs!;
    expect(await first.asks()).toBe('sent');
  });

  it.each([
    ['1,999 ms later are lent', 30_000, 1_999, 21],
    ['2,001 ms later, when nobody waits for the reply, are not', 30_000, 2_001, 39],
    ['501 ms later, by a command that waits half a second, are not', 500, 501, 39],
  ])('that the server is asked for %s', async (_name, timeoutMs, lateMs, left) => {
    const { shop, first, second } = await opened({ left: 41 });
    await second.ledger.view();
    const arrive = await shop.holds(() => second.asksFor(40, LIST, { timeoutMs }));
    shop.losesReplies = true;
    shop.now += lateMs;
    expect(await arrive()).toBe(0);
    shop.losesReplies = false;
    await first.ledger.close();
    expect(await first.asksFor(41)).toBe(left);
  });

  it('are counted also where an older question of the same machine arrives later', async () => {
    const { shop, first, second } = await opened({ left: 41 });
    await second.ledger.view();
    const arrive = await shop.holds(() => second.asks());
    shop.now += 2_001;
    const intent = { operation: LIST, reserve: 0, timeoutMs: 30_000 };
    const { otherProcess } = second;
    await Promise.all(Array.from({ length: 20 }, (_, i) => otherProcess.admit({ ...intent, id: `x${i}` })));
    shop.losesReplies = true;
    expect(await arrive()).toBe('ledger-lost');
    shop.losesReplies = false;
    await first.ledger.close();
    expect(await first.asksFor(41)).toBe(21);
  });

  it('of a window of a second are not lent again to a machine whose question of the window before arrives late', async () => {
    const window = { limit: 1, resetInMs: 1_000, lengthMs: 1_000 };
    const { shop, first, second } = await opened({ left: 0, window });
    await second.ledger.view();
    shop.now += 1_000;
    expect(await first.asks()).toBe('sent');
    const arrive = await shop.holds(() => second.asks());
    shop.now += 50;
    await first.isAnswered(0, window);
    shop.now += 60;
    expect(await arrive()).toBe('window-spent');
  });

  it('lent to a process that has given up while it asked are given back', async () => {
    const { shop, first, second } = pair();
    const arrive = await shop.holds(() => first.asks().catch(String));
    first.ends.abort(new Error('given up'));
    await new Promise(setImmediate);
    const closed = first.ledger.close();
    expect(await arrive()).toBe('Error: given up');
    await closed;
    expect(await second.asks()).toBe('sent');
  });
});

// The script on the server and the governor here have the same rules, each in its own words.
it.each([1, 2, 3, 10, 60, 3_600, 86_400])(
  'a machine alone may send what it may without a server, whatever it meets: windows of %i s',
  async (seconds) => {
    const windowMs = seconds * 1_000;
    for (let seed = 1; seed <= 20; seed++) {
      const random = mulberry32(seed);
      const shop = new Shop();
      const machine = shop.machine();
      const plain = createLedger(memoryStep(machine.clock));
      const limit = 3 + Math.floor(random() * 10);
      const service = createQuota('fixed', { limit, windowMs }, undefined);
      const answers: (() => Promise<unknown>)[] = [];
      for (let at = 0; at < 200; at++) {
        const kind = random();
        if (kind < 0.5) {
          const ask = { id: `plain ${at}`, operation: LIST };
          const { hold } = await plain.admit({ ...ask, reserve: 0, timeoutMs: 30_000 });
          expect([seed, at, await machine.asks()]).toEqual([seed, at, hold?.why ?? 'sent']);
          if (hold !== undefined) continue;
          // Another client may take some.
          if (random() < 0.1) service.count(shop.now);
          const { allowed, remaining, resetAt } = service.count(shop.now);
          answers.push(() => {
            if (random() < 0.1) return Promise.all([plain.lost(ask.id, true), machine.losesRequest()]);
            const resetInMs = Math.ceil(Math.max(0, resetAt - shop.now) / 1_000) * 1_000 + 1_000;
            const answer = { ...ask, status: allowed ? 200 : 429, random: 0 };
            const window = { limit, remaining, resetInMs };
            return allowed
              ? Promise.all([plain.answered({ ...answer, headers: { window } }), machine.isAnswered(remaining, window)])
              : Promise.all([
                  plain.answered({ ...answer, headers: { retryAfterMs: resetInMs } }),
                  machine.isRefused(429, resetInMs),
                ]);
          });
        } else if (kind < 0.85) await answers.shift()?.();
        else shop.now += Math.floor((answers.length === 0 ? windowMs : Math.min(windowMs, 5_000)) * random() ** 2);
      }
    }
  },
);

describe('a refusal that one machine gets', () => {
  it.each([
    [429, 'rate-limited', 101_000],
    [403, 'banned', 101_000],
    [503, 'paused', 101_000],
  ])('%i holds for all at once, for as long as it says', async (status, why, ms) => {
    const { shop, all, first } = await blocked(status);
    // Nor longer, although each report of it is under way for some time.
    for (let i = 0; i < 20; i++) {
      const arrive = await shop.holds(() => first.ledger.view());
      shop.now += 1_000;
      await arrive();
      shop.now += 1_000;
    }
    for (const each of all) expect([await each.asks(), each.waits]).toEqual([why, { ms: ms - 40_000 }]);
  });

  it('is over for all, with one probe of one machine, and then one of another if there was no answer', async () => {
    const { shop, all, first, second } = await opened({ machines: 3, window: { resetInMs: 900_000 } });
    const third = all[2]!;
    for (const each of all) await each.ledger.view();
    await first.meets(429, 100_000);
    shop.now += 101_000;
    // A question that is overtaken by the probe tells nothing of it.
    const arrive = await shop.holds(() => first.otherProcess.view());
    expect(await Promise.all(all.map((each) => each.asks()))).toEqual(['sent', 'asking', 'asking']);
    shop.now += 3_000;
    await arrive();
    expect(await third.asks()).toBe('asking');
    await first.losesRequest();
    shop.now += third.waits!.againMs!;
    expect([await second.asks(), await third.asks()]).toEqual(['sent', 'asking']);
    await second.isAnswered(59);
    shop.now += third.waits!.againMs!;
    expect(await third.asks()).toBe('sent');
  });

  it.each([
    ['that has heard of it', 501],
    ['that has not', 0],
  ])('is over for all, with one probe of one machine, whatever was lent to a machine %s', async (_which, after) => {
    const { shop, all, first, second } = await opened();
    // Twice as many for a machine that asks again at once: some are left.
    for (const each of all) await each.asksFor(2);
    for (const each of all) await each.asks();
    await second.isRefused(429, 10_000);
    shop.now += after;
    if (after > 0) expect(await first.asks()).toBe('rate-limited');
    shop.now += 11_000;
    expect([await second.asksFor(2), await first.asksFor(2)]).toEqual([1, 0]);
    second.sent.splice(0, 2);
    await second.isAnswered(20, { resetInMs: 48_000 });
    shop.now += first.waits!.againMs!;
    expect(await first.asks()).toBe('sent');
  });

  it('is over once its time has passed, although its window is believed to be spent', async () => {
    const { shop, first, second } = await opened();
    await first.asks();
    const headers = { retryAfterMs: 1_000, window: { limit: 60, remaining: 40, resetInMs: 60_000 } };
    await first.ledger.answered({ ...first.sent.shift()!, status: 429, headers, random: 0 });
    shop.now += 3_000;
    expect(await second.asks(SET)).toBe('sent');
  });

  it('is one more strike for whoever gets the next', async () => {
    const { shop, all, second, third } = await blocked();
    shop.now += 101_000;
    await second.meets(429, 100_000);
    for (const each of all) expect([await each.asks(), each.waits!.ms]).toEqual(['rate-limited', 201_000]);
    shop.now += 201_000;
    await third.exchanges(59);
    await third.meets(429, 100_000);
    expect([await second.asks(), second.waits!.ms]).toEqual(['rate-limited', 101_000]);
  });

  it('takes no strike away, although its machine knows of fewer', async () => {
    const { shop, first, second, third } = await blocked();
    shop.now += 101_000;
    await second.meets(429, 100_000);
    await third.ledger.answered({ ...REFUSED, headers: { retryAfterMs: 300_000 } });
    shop.now += 301_000;
    await first.meets(429, 100_000);
    expect([await second.asks(), second.waits!.ms]).toEqual(['rate-limited', 401_000]);
  });

  it('as a ban, stays one where a shorter wait follows', async () => {
    const { first, second, third } = await blocked(403);
    await second.ledger.answered({ ...REFUSED, headers: { retryAfterMs: 499_000 } });
    expect([await third.asks(), third.waits!.ms]).toEqual(['banned', 500_000]);
    expect(await first.asks()).toBe('banned');
  });

  it('is cleared for all with the windows, and told anew by none', async () => {
    const { shop, all, first, second, third } = await blocked();
    await third.asks();
    await third.ledger.answered({ ...REFUSED, headers: { window: { limit: 60, remaining: 0, resetInMs: 60_000 } } });
    shop.now += 1_000;
    expect((await first.ledger.clearBlock()).block).toBeUndefined();
    expect((await third.ledger.view()).block).toBeUndefined();
    expect(await second.asks()).toBe('sent');
    expect(await first.asks()).toBe('asking');
    shop.now += 1_000;
    await second.isAnswered(59);
    for (const each of all) expect(await each.asks()).toBe('sent');
  });

  it('is over for the others once its probe is answered, whatever else the machine may still send', async () => {
    const { shop, first, second } = await opened();
    for (let i = 0; i < 4; i++) await second.asks();
    const third = shop.machine();
    await second.isRefused(429, 10_000);
    shop.now += 11_000;
    expect(await second.asks(SET)).toBe('sent');
    expect(await third.asks()).toBe('asking');
    second.sent.splice(0, 3);
    await second.isAnswered(50, { resetInMs: 40_000 });
    shop.now += third.waits!.againMs!;
    expect([await third.asks(), await first.asks()]).toEqual(['sent', 'sent']);
  });

  it('is known to the others although this machine cannot keep it', async () => {
    const { first: broken, second: other } = pair();
    await broken.asks();
    broken.isUnwritable = true;
    await broken.isRefused(429, 100_000);
    expect(await other.asks()).toBe('rate-limited');
  });

  it('that the server does not hear of is brought to it before anything is sent', async () => {
    const { shop, first, second } = await opened({ left: 20 });
    await first.asksFor(2);
    shop.lose();
    await first.isRefused(429, 100_000);
    shop.now += 10_000;
    shop.isBack();
    await first.ledger.view();
    expect([await second.asks(), second.waits!.ms]).toEqual(['rate-limited', 91_000]);
  });
});

describe('a server', () => {
  it('that is emptied gets the blocks brought', async () => {
    const { shop, second, third } = await blocked();
    await second.asks();
    shop.isEmptied();
    await second.ledger.view();
    expect([await third.asks(), third.waits!.ms]).toEqual(['rate-limited', 101_000]);
  });

  it('that is emptied: one probe of one machine goes first', async () => {
    const { shop, all, first, second } = await opened({ machines: 3 });
    shop.isEmptied();
    shop.now += 1_000;
    for (const each of all) await each.ledger.close();
    expect(await Promise.all(all.map((each) => each.asks()))).toEqual(['sent', 'asking', 'asking']);
    // Whatever its other processes ask meanwhile.
    await first.otherProcess.view();
    shop.now += second.waits!.againMs!;
    expect(await second.asks()).toBe('asking');
    await first.isAnswered(57);
    shop.now += 1_000;
    for (const each of all) expect(await each.asks()).toBe('sent');
  });

  it('that has lost its last writes, and a refusal with them: a machine that has not heard of it sends until it is refused', async () => {
    const { shop, first, second } = await opened();
    const third = shop.machine();
    for (const each of [second, third]) await each.ledger.view();
    const older = new Map(shop.store);
    await first.meets(429, 100_000);
    shop.isEmptied();
    for (const [key, value] of older) shop.store.set(key, value);
    expect([await first.asks(), await second.asks()]).toEqual(['rate-limited', 'sent']);
    await second.isRefused(429, 100_000);
    expect([await third.asks(), third.waits!.ms]).toEqual(['rate-limited', 101_000]);
  });

  it.each([HOUR, -HOUR])('whose clock is set by %i ms: waits are as long as they were', async (by) => {
    const { shop, second, third } = await blocked();
    await second.asks();
    shop.now += 20_000;
    shop.skew += by;
    await second.ledger.view();
    expect([await third.asks(), third.waits!.ms]).toEqual(['rate-limited', 81_000]);
    shop.now += 81_000;
    expect(await third.asks()).toBe('sent');
  });

  it('whose clock is set back before a machine that knew it asks: no wait is longer than it was named', async () => {
    const { shop, third } = await blocked();
    shop.now += 20_000;
    shop.skew -= HOUR;
    expect([await third.asks(), third.waits!.ms]).toEqual(['rate-limited', 101_000]);
    shop.now += 1_000;
    // Another machine that has not heard of the clock before: the wait is not shorter, either.
    const fourth = shop.machine();
    expect([await fourth.asks(), fourth.waits!.ms]).toEqual(['rate-limited', 100_000]);
  });

  it.each([HOUR, -HOUR])("and a machine's wall clock that is set by %i ms changes nothing", async (by) => {
    const { shop, first, second } = await blocked();
    first.wallSkew += by;
    shop.now += 20_000;
    await first.ledger.view();
    expect([await second.asks(), second.waits!.ms]).toEqual(['rate-limited', 81_000]);
  });

  it('and an hour that a machine is suspended, so that its monotonic clock stops, changes nothing', async () => {
    const shop = new Shop();
    const [first, dead, other] = shop.machines(3);
    await first!.ledger.view();
    await dead!.asks();
    shop.now += 1_000;
    shop.skew += HOUR;
    first!.wallSkew += HOUR;
    const arrive = await shop.holds(() => first!.ledger.view());
    shop.now += 10;
    await arrive();
    expect(await other!.asks()).toBe('sent');
  });

  it('whose clock seems set to a process that was stopped: no block of another machine is shorter', async () => {
    const { shop, all, second } = await opened({ machines: 3 });
    const third = all[2]!;
    await second.ledger.view();
    let resume: () => void = () => undefined;
    shop.isStopped = new Promise((resolve) => (resume = resolve));
    const late = third.ledger.view();
    for (let i = 0; i < 20; i++) await Promise.resolve();
    shop.now += 20_000;
    resume();
    await late;
    await third.meets(429, 60_000);
    expect([await second.asks(), second.waits!.ms]).toEqual(['rate-limited', 61_000]);
  });

  it.each(['', 'PONG', 'null', '[]', '{}', '{"id":7}', '{"id":"x","t":"now"}', '{"t":5}'])(
    'that answers %j is lost',
    async (reply) => {
      const { shop, second } = await opened();
      shop.reply = reply;
      expect(await second.asks()).toBe('ledger-lost');
      expect(second.said).toEqual([`lost: it answered ${reply}`]);
    },
  );

  it.each(['', '7', '"text"', '[]', '{"windows":7}'])('that holds %j knows nothing: one probe', async (text) => {
    const shop = new Shop();
    shop.store.set('petstore:{pair}', { value: text, until: Number.POSITIVE_INFINITY });
    const all = shop.machines(2);
    expect(await Promise.all(all.map((each) => each.asks()))).toEqual(['sent', 'asking']);
  });

  it('forgets operations that no longer have permits, if there are many', async () => {
    const { shop, first } = await opened({ window: { resetInMs: HOUR } });
    for (let i = 0; i < 80; i++) {
      expect(await first.asks(`GET @5d0c2f/${'x'.repeat(i)}`)).toBe('sent');
      await first.isAnswered(58, { resetInMs: HOUR });
      shop.now += 2_000;
    }
    const { ops } = JSON.parse(shop.store.get('petstore:{pair}')!.value) as { ops: object };
    const { length } = Object.keys(ops);
    expect([length < 75, length > 35]).toEqual([true, true]);
  });

  it('whose script fails is lost', async () => {
    const shop = new Shop();
    shop.store.set('petstore:{pair}', { value: '{"id":"x"}', until: Number.POSITIVE_INFINITY });
    expect(await shop.machine().asks()).toBe('ledger-lost');
  });

  it('that refuses the settings fails the command, is shown, and is shared as soon as they are right', async () => {
    const shop = new Shop();
    const machine = shop.machine();
    const shown = async () => {
      shop.now += 1_000;
      return (await machine.ledger.view()).lease?.lost?.says;
    };
    expect(await shown()).toBeUndefined();
    for (let i = 0; i < 3; i++) {
      shop.failure = new RedisFailure(new Error('WRONGPASS'), 'settings');
      await expect(machine.asks()).rejects.toMatchObject({ kind: 'ledger-refused' });
      expect(await shown()).toBe('WRONGPASS');
      // The command has failed for that reason already.
      await machine.ledger.close();
      shop.isBack();
      await expect(machine.otherProcess.view()).resolves.not.toHaveProperty('lease.lost');
    }
    expect(await shown()).toBeUndefined();
    expect(await machine.asks()).toBe('sent');
    expect(machine.said).toEqual([]);
  });

  it.each<readonly [string, (machine: Machine) => Promise<void>]>([
    ['answered', (machine) => machine.isAnswered(59)],
    ['refused', (machine) => machine.isRefused(429, 100_000)],
    ['lost', (machine) => machine.losesRequest()],
  ])('that refuses the settings while a request is under way: it is %s all the same', async (_name, settle) => {
    const shop = new Shop();
    const machine = shop.machine();
    await machine.asks();
    shop.failure = new RedisFailure(new Error('WRONGPASS'), 'settings');
    await settle(machine);
    shop.now += 101_000;
    await expect(machine.asks()).rejects.toMatchObject({ kind: 'ledger-refused' });
  });

  it('that refuses the settings after it was lost is lost no more', async () => {
    const shop = new Shop();
    const machine = shop.machine();
    shop.lose();
    expect(await machine.asks()).toBe('ledger-lost');
    shop.now += 1_000;
    shop.failure = new RedisFailure(new Error('WRONGPASS'), 'settings');
    await expect(machine.asks()).rejects.toMatchObject({ kind: 'ledger-refused' });
    shop.isBack();
    expect(await machine.asks()).toBe('sent');
  });

  it('other than the one that was lost is asked at once, and what the lost one lent does not count there', async () => {
    const { shop, second } = await opened();
    expect(await shop.lends(second, 5)).toBe(5);
    await second.losesRequest(false);
    expect(await second.asks()).toBe('ledger-lost');
    const other = new Shop();
    other.now = shop.now;
    second.uses('redis://other', other);
    expect([await second.asks(), other.steps]).toEqual(['sent', 2]);
    expect((await second.ledger.view()).lease).not.toHaveProperty('lost');
  });
});

describe('a server that is lost', () => {
  it('what was lent is spent; then every try waits longer, and it is said once', async () => {
    const { shop, second } = await opened();
    expect(await shop.lends(second, 5)).toBe(5);
    const waits = [];
    for (let i = 0; i < 7; i++) {
      expect(await second.asks()).toBe('ledger-lost');
      waits.push(second.waits!.ms);
      shop.now += second.waits!.ms;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000]);
    expect(second.said).toEqual(['lost: ECONNREFUSED']);
    shop.isBack();
    expect(await second.asks()).toBe('sent');
    expect(second.said).toEqual(['lost: ECONNREFUSED', 'back']);
  });

  it('is known before a connection to the service is made: the command tells of Redis', async () => {
    const shop = new Shop();
    const machine = shop.machine();
    const connect = vi.fn(() => Promise.reject(new Error('the service is down')));
    const gate = gateWith({ ledger: machine.ledger, clock: machine.clock, maxWaitMs: 0, timeoutMs: 1_000 });
    const enters = () => gate.enter('GET /inventory', connect).catch((error: unknown) => error);
    expect(await enters()).toMatchObject({ message: 'the service is down' });
    shop.lose();
    expect(await machine.asks()).toBe('ledger-lost');
    expect(await enters()).toMatchObject({
      kind: 'rate-limited',
      details: { why: 'ledger-lost', says: 'ECONNREFUSED' },
    });
    expect(connect).toHaveBeenCalledTimes(1);
    expect(machine.said).toEqual(['lost: ECONNREFUSED']);
  });

  it('does not keep what was lent from being sent', async () => {
    const { shop, second } = await opened();
    expect(await shop.lends(second, 1)).toBe(1);
    expect(await second.asks()).toBe('ledger-lost');
    shop.isBack();
    shop.now += 1_000;
    expect(await second.asksFor(2)).toBe(2);
    const check = () => second.ledger.check({ id: 'a', operation: LIST, reserve: 0, timeoutMs: 1_000 });
    expect(await check()).toBeUndefined();
  });

  it('is given no longer for one question than the service for an answer', async () => {
    const machine = new Shop().machine();
    await machine.asks(LIST, { timeoutMs: 500 });
    expect(machine.patienceMs).toBe(500);
  });

  it('still owes nobody the permits that a machine has', async () => {
    const { shop, first, second } = await opened({ left: 21 });
    expect(await second.asksFor(2)).toBe(2);
    shop.lose();
    expect(await first.asks()).toBe('ledger-lost');
    shop.isBack();
    shop.now += 1_000;
    expect(await first.asksFor(30)).toBeLessThanOrEqual(19);
  });

  it('with `share`: each machine goes on with its part of the window, after the longest that is known', async () => {
    const { shop, first, second } = pair('share');
    await first.exchanges(50, { resetInMs: 90_000, lengthMs: 90_000 });
    await second.ledger.view();
    shop.lose();
    expect(await second.asks()).toBe('ledger-lost');
    shop.now += 89_999;
    expect(await second.asks()).toBe('ledger-lost');
    shop.now += 1;
    expect(await second.asks()).toBe('sent');
    // The window is over: the answer tells of the next one.
    await second.isAnswered(59, { resetInMs: 90_000, lengthMs: 90_000 });
    shop.now += 60_000;
    const sentAt: number[] = [];
    const from = shop.now;
    for (; shop.now < from + 12_000; shop.now += 100)
      if ((await second.asks()) === 'sent') {
        sentAt.push(shop.now - from);
        await second.isAnswered(50 - sentAt.length, { resetInMs: 90_000 - shop.now + from, lengthMs: 90_000 });
      }
    // Two machines, 60 requests in 90 s.
    expect(sentAt).toEqual([0, 3_000, 6_000, 9_000]);
  });

  it('with `share`: the wait that is told is the one for its part, or for Redis where that is sooner', async () => {
    const { shop, first, second } = pair('share');
    const window = { resetInMs: 90_000, lengthMs: 90_000 };
    await first.exchanges(50, window);
    await second.ledger.view();
    shop.lose();
    const waits = async (): Promise<unknown> => [await second.asks(), second.waits];
    expect(await waits()).toEqual(['ledger-lost', { ms: 90_000, againMs: 1_000 }]);
    shop.now += 90_000;
    await second.exchanges(59, window);
    shop.now += 60_000;
    await second.exchanges(58, { resetInMs: 30_000, lengthMs: 90_000 });
    // Redis is tried again later than the next request is due: in three seconds, by two machines and 60 in 90 s.
    expect(await waits()).toEqual(['ledger-lost', { ms: 3_000, againMs: 3_000 }]);
    const demand = { operation: LIST, reserve: 0, count: 4 };
    expect(await second.ledger.forecast(demand)).toMatchObject({
      why: 'ledger-lost',
      until: second.monotonic + 12_000,
    });
    shop.now += 3_000;
    expect(await second.asks()).toBe('sent');
  });

  it('with `share`: the newest window tells the part, also where it is over', async () => {
    const { shop, first, second } = pair('share');
    // By each answer the window ends in 20 s: it is over before the next request.
    const window = { limit: 4, resetInMs: 20_000, lengthMs: 240_000 };
    for (const each of [first, second]) {
      await each.exchanges(2, window);
    }
    shop.lose();
    await second.asks();
    shop.now += 240_000;
    const sentAt: number[] = [];
    const from = shop.now;
    for (; shop.now < from + 300_000; shop.now += 10_000)
      if ((await second.asks()) === 'sent') {
        sentAt.push(shop.now - from);
        await second.isAnswered(2, window);
      }
    // Two machines, four requests in four minutes.
    expect(sentAt).toEqual([0, 120_000, 240_000]);
  });

  it('with `share`: a window of unknown length is at least as long as an answer has named', async () => {
    const shop = new Shop();
    const machine = shop.machine('share');
    await machine.exchanges(50, { resetInMs: HOUR });
    shop.lose();
    shop.now += 1_000;
    expect([await machine.asks(), machine.waits!.ms]).toEqual(['ledger-lost', HOUR]);
  });

  it('with `share`: of a day that was first seen ten minutes before its end, no more than the part of either', async () => {
    const { shop, first, second } = pair();
    const [DAY, MINUTE] = [24 * HOUR, 60_000];
    const sharing = shop.machine('share');
    const sent = [0, 0];
    const ends = [10 * MINUTE, 10 * MINUTE + DAY] as const;
    for (const each of [first, second]) await each.ledger.view();
    for (; shop.now < ends[1]; shop.now += MINUTE) {
      if (shop.now === MINUTE) shop.lose();
      const day = shop.now < ends[0] ? 0 : 1;
      if ((await sharing.asks()) !== 'sent') continue;
      sent[day]!++;
      await sharing.isAnswered(47 - sent[day]!, { limit: 48, resetInMs: ends[day] - shop.now });
    }
    // Three machines, 48 requests a day.
    expect(Math.max(...sent)).toBeLessThanOrEqual(16);
    expect(sent[1]).toBeGreaterThan(12);
  });

  it('with `share`: where no window is known, one request a minute', async () => {
    const shop = new Shop();
    shop.lose();
    const machine = shop.machine('share');
    const sentAt: number[] = [];
    for (; shop.now < 200_000; shop.now += 1_000)
      if ((await machine.asks()) === 'sent') {
        sentAt.push(shop.now);
        await machine.losesRequest();
      }
    expect(sentAt).toEqual([60_000, 120_000, 180_000]);
  });
});
