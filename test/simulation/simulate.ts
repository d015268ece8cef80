/** One simulation: so many clients with one key against a model of the service, held against the service's own log. */
import type { Random } from '../../src/context.ts';
import { type LedgerState, UNKNOWN } from '../../src/limits/governor.ts';
import { createLedger, type Ledger } from '../../src/limits/ledger.ts';
import { type Moment, rebase } from '../../src/limits/timeline.ts';
import { mulberry32 } from '../support/test-ports.ts';
import { POLICY, type PolicyName } from './policies.ts';
import { SimulatedProcess, type World } from './process.ts';
import { createQuota, type QuotaName, WINDOW_MS } from './quota.ts';
import { type Arrival, SimulatedService } from './service.ts';
import { SimulatedTime } from './time.ts';

export interface Scenario {
  readonly clients: number;
  /** How many each of them sets, one after another. */
  readonly updates: number;
  readonly server: QuotaName;
  /** Requests a minute of somebody who has the same key and knows nothing of us. */
  readonly foreign: number;
  /** The machine's clock minus the service's, s; half of the seeds have it the other way round. */
  readonly skew: number;
  /** Chance of death at each step of a process, and of an answer's loss; one death in ten takes the machine along. */
  readonly crash: number;
}

export interface Result {
  readonly refused: number;
  readonly strikes: number;
  /** Requests within a block that nobody alive could know of. */
  readonly unknowing: number;
  /** Reported as done, but not to be found at the service. */
  readonly lost: number;
  /** Jobs that had not been done when time was up. */
  readonly undone: number;
  /** Used share of the limit, of each full window. */
  readonly shares: readonly number[];
  readonly log: readonly Arrival[];
}

/** Whoever is not done by then is reported as undone. */
const END_MS = 2 * 3_600_000;

export async function simulate(scenario: Scenario, policy: PolicyName, seed: number): Promise<Result> {
  const random = mulberry32(seed);
  // Half of the services begin a window with its first request, the others by the clock.
  const offset = scenario.server === 'fixed' && random() < 0.5 ? Math.floor(random() * WINDOW_MS) : undefined;
  const service = new SimulatedService(createQuota(scenario.server, offset), scenario.clients);
  const time = new SimulatedTime();
  const skewMs = scenario.skew * 1_000 * (random() < 0.5 ? 1 : -1);
  const world: World = { time, service, random, skewMs, bootOffset: 1_000_000, crash: scenario.crash };
  const machine = new Machine(world, policy);
  for (let client = 0; client < scenario.clients; client++) machine.give(client, scenario.updates);
  if (scenario.foreign > 0) drawAsForeign(world, WINDOW_MS / scenario.foreign);
  await time.run(() => machine.left === 0, END_MS);
  const count = (what: (each: Arrival) => boolean): number => service.log.filter(what).length;
  return {
    refused: count(({ status }) => status === 429),
    strikes: count(({ inBlock }) => inBlock === 'strike'),
    unknowing: count(({ inBlock }) => inBlock === 'unknowing'),
    lost: machine.lost(),
    undone: machine.left,
    shares: service.shares(machine.workUntil, offset),
    log: service.log,
  };
}

function drawAsForeign(world: World, meanMs: number): void {
  const next = (): void => {
    world.time.after(-Math.log(1 - world.random()) * meanMs, () => {
      world.service.takeForeign(world.time.now);
      next();
    });
  };
  next();
}

/** All processes of one machine, and what outlives them: the ledger. */
class Machine {
  left = 0;
  /** The last moment at which every client still had something to do. */
  workUntil = Number.POSITIVE_INFINITY;
  readonly #world: World;
  readonly #policy: PolicyName;
  readonly #ledger: Ledger;
  readonly #alive = new Set<SimulatedProcess>();
  readonly #reported: string[] = [];
  readonly #random: Random;
  #saved: { state: LedgerState; moment: Moment } | undefined;
  #boot = 1;

  constructor(world: World, policy: PolicyName) {
    this.#world = world;
    this.#policy = policy;
    this.#random = world.random;
    this.#ledger = this.#sharedLedger();
  }

  give(client: number, updates: number): void {
    this.left += updates;
    this.#start(client, 1, updates);
  }

  lost(): number {
    return this.#reported.filter((each) => !this.#world.service.applied.has(each)).length;
  }

  /** A process for the job; another one after its death or failure, as cron would. */
  #start(pet: number, quantity: number, last: number): void {
    const again = (ms: number): void => {
      this.#world.time.after(ms, () => {
        this.#start(pet, quantity, last);
      });
    };
    const process: SimulatedProcess = new SimulatedProcess(this.#world, () => {
      this.#alive.delete(process);
      again(1_000 * this.#random());
      if (this.#random() < 0.1) this.#reboot();
    });
    this.#alive.add(process);
    void POLICY[this.#policy](process, this.#ledger, { pet, quantity }).then((isDone) => {
      this.#alive.delete(process);
      if (!isDone) {
        again(this.#policy === 'petstore' ? 60_000 * this.#random() : 0);
        return;
      }
      this.#reported.push(`${pet}=${quantity}`);
      this.left--;
      if (quantity < last) this.#start(pet, quantity + 1, last);
      else this.workUntil = Math.min(this.workUntil, this.#world.time.now);
    });
  }

  /** Everybody dies, and the monotonic clock begins anew. */
  #reboot(): void {
    this.#boot++;
    for (const process of this.#alive) process.kill();
    this.#world.bootOffset = -this.#world.time.now;
  }

  #now(): Moment {
    const { time, bootOffset, skewMs } = this.#world;
    return { boot: `${this.#boot}`, monotonic: time.now + bootOffset, wall: time.now + skewMs };
  }

  /** As the one in the state database: each step reads, decides and keeps, in the words of the present boot. */
  #sharedLedger(): Ledger {
    return createLedger((work, { isRead } = {}) => {
      const now = this.#now();
      const before = this.#saved === undefined ? UNKNOWN : rebase(this.#saved.state, this.#saved.moment, now);
      const { state, result } = work(before, now.monotonic);
      if (isRead !== true) this.#saved = { state, moment: now };
      return Promise.resolve(result);
    });
  }
}
