/**
 * One process of a simulation: ports on simulated time, and a network. It may be killed at any step, which ends all its
 * work, or stopped (SIGSTOP, a closed laptop), after which all of it resumes.
 */
import { type Clock, type Http, HttpFailure, type HttpReply, type HttpRequest, type Random } from '../../src/ports.ts';
import type { Ledger, Step } from '../../src/rate-limit/ledger.ts';
import { START } from '../support/virtual-clock.ts';
import type { Job } from './policies.ts';
import type { Scenario } from './simulate.ts';
import type { Answer, Block, SimulatedService } from './service.ts';
import type { SimulatedTime } from './time.ts';

export interface World {
  readonly time: SimulatedTime;
  readonly service: SimulatedService;
  readonly random: Random;
  /** Wall clock of the machines minus the service's, ms. */
  readonly skewMs: number;
  readonly scenario: Scenario;
}

/** What a process needs to know of its machine. */
export interface Host {
  readonly index: number;
  readonly pid: number;
  /** Monotonic clock of the machine's present boot at the simulation's begin, ms. */
  bootOffset(): number;
  onDeath(): void;
  /** A lid was closed: every process of the machine stops. */
  stopAll(untilMs: number): void;
}

/** A server closes a connection on which nothing comes for so long. */
const IDLE_MS = 15_000;

export class SimulatedProcess {
  /** As the gate names it in the ledger. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly http: Http;
  readonly #world: World;
  readonly #host: Host;
  #dead = false;
  #stoppedUntil = 0;
  /** Until when its connection is open. */
  #openUntil = Number.NEGATIVE_INFINITY;
  /** A 429 that it has received and not yet recorded. */
  #unrecorded: Block | undefined;
  /** Blocks that it read from the shared ledger in the present step. */
  readonly #heard = new Set<Block>();
  /** The block of its latest answer, where that was a 429. */
  latest: Block | undefined;

  constructor(world: World, host: Host) {
    this.#world = world;
    this.#host = host;
    this.name = `process ${host.pid}`;
    this.random = world.random;
    const { time } = world;
    this.clock = {
      now: () => START + time.now + world.skewMs,
      monotonic: () => time.now + host.bootOffset(),
      sleep: async (ms) => {
        await this.step();
        await time.sleep(ms);
        await this.step();
      },
      turn: () => Promise.resolve(),
      // Nothing hangs in this world, so no alarm rings.
      alarm: () => () => undefined,
    };
    const isOpen = (): boolean => time.now < this.#openUntil;
    const connection = {
      get isOpen() {
        return isOpen();
      },
      send: (request: HttpRequest, maySend: () => boolean) => this.#exchange(request, maySend),
      release: () => undefined,
    };
    this.http = { connect: () => this.#connect().then(() => connection), close: async () => undefined };
  }

  /** Dies now; the answer that it waits for is lost. */
  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#unrecorded?.knownTo.delete(this.#host.index);
    this.#host.onDeath();
  }

  stop(until: number): void {
    this.#stoppedUntil = Math.max(this.#stoppedUntil, until);
  }

  /** The steps of a ledger, each of which may be the last one, before or after it was kept. */
  mortal(step: Step): Step {
    return async (work, options) => {
      await this.step();
      const result = await step(work, options);
      if (options?.durable === true) this.#unrecorded = undefined;
      await this.step();
      return result;
    };
  }

  /** A ledger that may have heard of blocks from another machine. */
  mindful(ledger: Ledger): Ledger {
    const then = async <T>(work: Promise<T>): Promise<T> => {
      const result = await work;
      this.#learn();
      return result;
    };
    return {
      isAlone: ledger.isAlone,
      check: (intent) => ledger.check(intent),
      view: () => ledger.view(),
      forecast: (demand) => ledger.forecast(demand),
      clearBlock: () => ledger.clearBlock(),
      close: () => ledger.close(),
      admit: (intent) => then(ledger.admit(intent)),
      answered: (answer) => then(ledger.answered(answer)),
      lost: (id, mayHaveBeenSent) => then(ledger.lost(id, mayHaveBeenSent)),
    };
  }

  /** Whether its machine knows of the block. */
  knows({ knownTo }: Block): boolean {
    return knownTo.has(this.#host.index);
  }

  /** Notes that the received 429 is stored somewhere. */
  recorded(): void {
    this.#unrecorded = undefined;
  }

  /** Takes the blocks of the shared ledger. Its machine knows of them once this process has lived through the step. */
  hear(blocks: Iterable<Block>): void {
    for (const block of blocks) this.#heard.add(block);
  }

  #learn(): void {
    const { index } = this.#host;
    for (const { knownTo } of this.#heard) if (!knownTo.has(index)) knownTo.set(index, this.#world.time.now);
    this.#heard.clear();
  }

  /** One request without a governor, for the policies that have none. */
  async send(job: Job): Promise<{ status: number; retryAfterMs: number; resetAt: number }> {
    const request =
      'list' in job
        ? ({ method: 'GET', url: new URL('https://pets.example/v1/inventory') } as const)
        : ({
            method: 'PATCH',
            url: new URL(`https://pets.example/v1/inventory/${job.pet}`),
            body: JSON.stringify({ quantity: job.quantity }),
          } as const);
    try {
      const { url } = request;
      const connection = await this.http.connect({ url, timeoutMs: 0 });
      const sent = { ...request, target: url.pathname, headers: {}, timeoutMs: 0 };
      const { status, headers } = await connection.send(sent, () => true);
      const seconds = (name: string): number => Number(headers.get(name)?.[0] ?? 0) * 1_000;
      return { status, retryAfterMs: seconds('retry-after'), resetAt: seconds('x-ratelimit-reset') };
    } catch {
      return { status: 0, retryAfterMs: 0, resetAt: 0 };
    }
  }

  /** DNS, TCP, TLS. Mostly quick; slow handshakes come with overload. */
  async #connect(): Promise<void> {
    const { time, service, random, scenario } = this.#world;
    if (time.now < this.#openUntil) return;
    if (scenario.connect > 0) {
      await this.step();
      const isSlow = random() < scenario.connect * (service.isRefusing(time.now) ? 5 : 1);
      await time.sleep(isSlow ? 300 * 100 ** random() : 20 + 80 * random());
      await this.step();
    }
    this.#keepOpen();
  }

  #keepOpen(): void {
    this.#openUntil = this.#world.scenario.connect > 0 ? this.#world.time.now + IDLE_MS : Number.POSITIVE_INFINITY;
  }

  /** Asks, and in the same instant sends. */
  async #exchange({ method, url, body }: HttpRequest, maySend: () => boolean): Promise<HttpReply> {
    const { time, service, random, scenario } = this.#world;
    await this.step();
    if (!maySend()) throw HttpFailure.withdrawn(url.host);
    if (time.now >= this.#openUntil) throw connectionReset(url, false);
    const sentAt = time.now;
    await time.sleep(latencyMs(random));
    const isLost = random() < scenario.crash;
    if (isLost) this.#openUntil = Number.NEGATIVE_INFINITY;
    if (isLost && random() < 0.5) throw connectionReset(url);
    const machine = this.#host.index;
    const request = { method, path: url.pathname, sentAt, machine, ...(body !== undefined && { body: String(body) }) };
    const answer = service.answer(request, time.now);
    await time.sleep(latencyMs(random));
    if (isLost) throw connectionReset(url);
    if (this.#dead) return never();
    // A stopped process has its answer once it resumes.
    await this.#standStill();
    this.#keepOpen();
    this.#hold(answer);
    await this.step();
    return { status: answer.status, headers: answer.headers, body: pieces(answer.body) };
  }

  #hold({ block }: Answer): void {
    this.latest = block;
    if (block === undefined) return;
    block.knownTo.set(this.#host.index, this.#world.time.now);
    this.#unrecorded = block;
  }

  /** A moment at which a process may be killed or stopped. */
  async step(): Promise<void> {
    const { time, random, scenario } = this.#world;
    if (!this.#dead && scenario.crash > 0 && random() < scenario.crash) this.kill();
    if (this.#dead) return never();
    if (scenario.stop === 0) return;
    if (random() < scenario.stop) {
      const until = time.now + 1_000 * 300 ** random();
      if (random() < 0.1) this.#host.stopAll(until);
      else this.stop(until);
    }
    await this.#standStill();
  }

  async #standStill(): Promise<void> {
    const { time } = this.#world;
    if (time.now >= this.#stoppedUntil) return;
    // A 429 that it has received but not recorded is unknown to its machine meanwhile.
    this.#unrecorded?.knownTo.delete(this.#host.index);
    while (time.now < this.#stoppedUntil) await time.sleep(this.#stoppedUntil - time.now);
    if (this.#dead) return never();
    this.#unrecorded?.knownTo.set(this.#host.index, time.now);
  }
}

/** A new promise each time: a shared one would keep all who wait for it in memory. */
const never = (): Promise<never> => new Promise(() => undefined);

export function connectionReset({ host }: URL, mayHaveBeenSent = true): HttpFailure {
  const detail = mayHaveBeenSent ? 'the connection was reset' : 'the connection was closed before';
  return new HttpFailure({ phase: 'reset', mayHaveBeenSent, peer: host, code: 'ECONNRESET', detail });
}

/** 10 ms to half a second, mostly short; one in a hundred takes up to 10 s. */
function latencyMs(random: Random): number {
  return 10 + (random() < 0.01 ? 10_000 : 490) * random() ** 3;
}

async function* pieces(body: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(body);
}
