/** Runs one simulation: several clients with one key and a model of the service, checked against the service's log. */
import { mulberry32 } from '../support/test-ports.ts';
import { SharedLedger } from './ledgers.ts';
import { Machine } from './machine.ts';
import type { PolicyName } from './policies.ts';
import type { World } from './process.ts';
import { RATES, type ServerName } from './quota.ts';
import { type Arrival, SimulatedService } from './service.ts';
import { SimulatedTime } from './time.ts';

export interface Scenario {
  readonly clients: number;
  /** How many each of them sets, one after another. */
  readonly updates: number;
  /** How long a client rests between two of them, s in the mean. */
  readonly pause: number;
  readonly server: ServerName;
  /** Requests a minute of another client that has the same key and knows nothing of us. */
  readonly foreign: number;
  /** How many of those come at once. */
  readonly burst: number;
  /** The machine's clock minus the service's, s; half of the seeds have it the other way round. */
  readonly skew: number;
  /** Chance of death at each step of a process, and of an answer's loss; one death in ten takes the machine along. */
  readonly crash: number;
  /** Chance that setting up a connection takes up to half a minute; five times that while the service is refusing. */
  readonly connect: number;
  /** Chance at each step that a process pauses for up to five minutes; one time in ten the whole machine. */
  readonly stop: number;
  /** Chance that a refusal cannot be written down: the disk is full, or another process holds the database for 7 s. */
  readonly unwritable: number;
  /** Chance at each step of the ledger that two machines share that it is emptied, or gone for up to five minutes. */
  readonly flush: number;
}

/** Eight clients, and nothing goes wrong. */
export const CALM: Scenario = {
  clients: 8,
  updates: 30,
  pause: 0,
  server: 'fixed',
  foreign: 0,
  burst: 1,
  skew: 0,
  crash: 0,
  connect: 0,
  stop: 0,
  unwritable: 0,
  flush: 0,
};

export interface Result {
  readonly refused: number;
  readonly strikes: number;
  /** Requests within a block that no living process could know of. */
  readonly unknowing: number;
  /** Reported as done, but not to be found at the service. */
  readonly lost: number;
  /** Jobs that had not been done when time was up. */
  readonly undone: number;
  /** Reads that were given up, or took long, though the service would have answered them. */
  readonly stalledReads: number;
  /** Used share of the limit of writes, of each full window. */
  readonly shares: readonly number[];
  readonly log: readonly Arrival[];
}

/** Jobs that are not done by then are reported as undone. */
const END_MS = 2 * 3_600_000;
/** How often the stock is listed where reads are counted apart. */
const LIST_EVERY_MS = 1_000;

export async function simulate(scenario: Scenario, policy: PolicyName, seed: number): Promise<Result> {
  const random = mulberry32(seed);
  const service = new SimulatedService(scenario.server, scenario.clients, random);
  const time = new SimulatedTime();
  const skewMs = scenario.skew * 1_000 * (random() < 0.5 ? 1 : -1);
  const world: World = { time, service, random, skewMs, scenario };
  const shared = scenario.flush > 0 ? new SharedLedger(world) : undefined;
  const machines = [0, 1].slice(0, shared === undefined ? 1 : 2).map((at) => new Machine(world, policy, at, shared));
  const give = (): void => {
    for (let client = 0; client < scenario.clients; client++) {
      machines[client % machines.length]!.give(client, scenario.updates);
    }
  };
  for (const machine of machines) {
    // The stock is listed before the first write, as a person or an import does.
    machine.left++;
    machine.listEvery(LIST_EVERY_MS);
  }
  time.after(LIST_EVERY_MS, () => {
    for (const machine of machines) machine.left--;
    give();
  });
  if (scenario.foreign > 0) drawAsForeign(world);
  const sum = (of: (machine: Machine) => number): number => machines.reduce((total, each) => total + of(each), 0);
  await time.run(() => sum(({ left }) => left) === 0, END_MS);
  const count = (what: (each: Arrival) => boolean): number => service.log.filter(what).length;
  return {
    refused: count(({ status }) => status === 429),
    strikes: count(({ inBlock }) => inBlock === 'strike'),
    unknowing: count(({ inBlock }) => inBlock === 'unknowing'),
    lost: sum((machine) => machine.lost()),
    undone: sum(({ left }) => left),
    // Reads that share the limit wait for its next window with the writes.
    stalledReads: RATES[scenario.server].reads === undefined ? 0 : sum(({ stalledReads }) => stalledReads),
    shares: service.shares(Math.min(time.now, ...machines.map(({ workUntil }) => workUntil))),
    log: service.log,
  };
}

/**
 * Whether something is not as promised: never a strike, nothing lost, all of it done; and with the key to ourselves,
 * while nothing goes wrong, no refusal at all, and 98 % of each window used.
 */
export function isBroken(scenario: Scenario, result: Result): boolean {
  const { strikes, lost, undone, refused, unknowing, stalledReads, shares } = result;
  if (strikes + lost > 0) return true;
  // A client that takes the whole limit may leave nothing for us.
  if (undone > 0 && scenario.foreign < RATES[scenario.server].writes.limit) return true;
  const { server, pause, foreign, crash, connect, stop, unwritable, flush } = scenario;
  if (foreign + crash + connect + stop + unwritable + flush > 0 || server === 'sliding' || server === 'bucket') {
    return false;
  }
  // Of a window of 3 s, an answer that names its end may arrive when it is over.
  const isUsed = pause > 0 || RATES[server].writes.windowMs < 60_000 || shares.every((share) => share >= 0.98);
  return refused + unknowing + stalledReads > 0 || !isUsed;
}

function drawAsForeign(world: World): void {
  const { foreign, burst } = world.scenario;
  const meanMs = (burst * 60_000) / foreign;
  const next = (): void => {
    world.time.after(-Math.log(1 - world.random()) * meanMs, () => {
      for (let i = 0; i < burst; i++) world.service.takeForeign(world.time.now);
      next();
    });
  };
  next();
}
