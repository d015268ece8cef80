/** All processes of one machine, and the ledger, which outlives them. */
import { createLedger, type Ledger, type Step } from '../../src/rate-limit/ledger.ts';
import { reserveFile, withReserve } from '../../src/rate-limit/reserve-file.ts';
import type { Moment } from '../../src/rate-limit/sqlite-ledger.ts';
import { machineFiles, machineStep, type SharedLedger } from './ledgers.ts';
import { type Job, POLICY, type PolicyName } from './policies.ts';
import { SimulatedProcess, type World } from './process.ts';

/** A read, and the answers to others that it may have to wait for, take no longer than this. */
const PROMPT_MS = 30_000;

export class Machine {
  left = 0;
  /** The last moment at which every client still had something to do. */
  workUntil = Number.POSITIVE_INFINITY;
  /** Reads that were given up, or took long, though the service would have answered them. */
  stalledReads = 0;
  readonly #index: number;
  readonly #world: World;
  readonly #policy: PolicyName;
  readonly #step: Step;
  readonly #shared: SharedLedger | undefined;
  readonly #files = machineFiles();
  readonly #alive = new Set<SimulatedProcess>();
  readonly #reported: string[] = [];
  #started = 0;
  #boot = 1;
  #bootOffset = 1_000_000;

  constructor(world: World, policy: PolicyName, index: number, shared: SharedLedger | undefined) {
    this.#world = world;
    this.#policy = policy;
    this.#index = index;
    this.#shared = shared;
    this.#step = machineStep(world, {
      now: () => this.#now(),
      isAlive: (wanted) => [...this.#alive].some(({ name }) => name === wanted),
    });
  }

  give(client: number, updates: number): void {
    this.left += updates;
    this.#update(client, 1, updates);
  }

  /** Lists the stock again and again, `ms` after each list, as long as there is other work. */
  listEvery(ms: number): void {
    const { service, time } = this.#world;
    const again = (): void => {
      time.after(ms, () => {
        if (this.left > 0) this.listEvery(ms);
      });
    };
    const since = time.now;
    const hadRoom = service.hasRoomForReads(since);
    void this.#run({ list: true }, again).then((isDone) => {
      const isPrompt = isDone && time.now - since < PROMPT_MS;
      if (!isPrompt && hadRoom && service.hasRoomForReads(time.now)) this.stalledReads++;
      again();
    });
  }

  lost(): number {
    return this.#reported.filter((each) => !this.#world.service.applied.has(each)).length;
  }

  /** A process for the job; another one after its death or failure, as cron would. */
  #update(pet: number, quantity: number, last: number): void {
    const { random, time } = this.#world;
    const again = (ms: number): void => {
      time.after(ms, () => {
        this.#update(pet, quantity, last);
      });
    };
    const onDeath = (): void => {
      again(1_000 * random());
      if (random() < 0.1) this.#reboot();
    };
    void this.#run({ pet, quantity }, onDeath).then((isDone) => {
      if (!isDone) {
        again(this.#policy === 'petstore' ? 60_000 * random() : 0);
        return;
      }
      this.#reported.push(`${pet}=${quantity}`);
      this.left--;
      if (quantity < last) this.#afterPause(() => this.#update(pet, quantity + 1, last));
      else this.workUntil = Math.min(this.workUntil, time.now);
    });
  }

  #afterPause(work: () => void): void {
    const { random, scenario, time } = this.#world;
    if (scenario.pause === 0) work();
    else time.after(-Math.log(1 - random()) * scenario.pause * 1_000, work);
  }

  async #run(job: Job, onDeath: () => void): Promise<boolean> {
    const process: SimulatedProcess = new SimulatedProcess(this.#world, {
      index: this.#index,
      pid: ++this.#started,
      bootOffset: () => this.#bootOffset,
      onDeath: () => {
        this.#alive.delete(process);
        onDeath();
      },
      stopAll: (until) => {
        for (const each of this.#alive) each.stop(until);
      },
    });
    this.#alive.add(process);
    const isDone = await POLICY[this.#policy](process, this.#ledgerOf(process), job);
    this.#alive.delete(process);
    return isDone;
  }

  #ledgerOf(process: SimulatedProcess): Ledger {
    const { clock } = process;
    const step = withReserve(process.mortal(this.#step), {
      clock,
      file: reserveFile({ clock, files: this.#files }, 'blocks', 'pair'),
      onUnwritten: (_failure, _block, isKept) => {
        if (isKept) process.recorded();
      },
    });
    const shared = this.#shared;
    return shared === undefined ? createLedger(step) : process.mindful(shared.seenBy(process, step));
  }

  /** Everybody dies, and the monotonic clock begins anew. */
  #reboot(): void {
    this.#boot++;
    for (const process of this.#alive) process.kill();
    this.#bootOffset = -this.#world.time.now;
  }

  #now(): Moment {
    const { time, skewMs } = this.#world;
    return { boot: `${this.#boot}`, monotonic: time.now + this.#bootOffset, wall: time.now + skewMs };
  }
}
