/**
 * One process of a simulation: ports on simulated time, a network in between, and a death that may come at any step,
 * after which nothing of it goes on.
 */
import {
  type Clock,
  type Connection,
  type Http,
  HttpFailure,
  type HttpReply,
  type HttpRequest,
  type Random,
} from '../../src/context.ts';
import type { Ledger } from '../../src/limits/ledger.ts';
import { START } from '../support/virtual-clock.ts';
import type { Job } from './policies.ts';
import type { Answer, Block, SimulatedService } from './service.ts';
import type { SimulatedTime } from './time.ts';

export interface World {
  readonly time: SimulatedTime;
  readonly service: SimulatedService;
  readonly random: Random;
  /** Wall clock of the machine minus the service's, ms. */
  readonly skewMs: number;
  /** Monotonic clock of the machine's present boot at the simulation's begin, ms. */
  bootOffset: number;
  /** Chance of death at each step, and of an answer's loss. */
  readonly crash: number;
}

export class SimulatedProcess {
  readonly clock: Clock;
  readonly random: Random;
  readonly http: Http;
  readonly #world: World;
  readonly #onDeath: () => void;
  #dead = false;
  /** A 429 that it has in hand and has told nobody yet. */
  #untold: Block | undefined;

  constructor(world: World, onDeath: () => void) {
    this.#world = world;
    this.#onDeath = onDeath;
    this.random = world.random;
    const { time } = world;
    this.clock = {
      now: () => START + time.now + world.skewMs,
      monotonic: () => time.now + world.bootOffset,
      sleep: async (ms) => {
        await this.#step();
        await time.sleep(ms);
        await this.#step();
      },
      turn: () => Promise.resolve(),
      // Nothing hangs in this world, so no alarm rings.
      alarm: () => () => undefined,
    };
    const send: Connection['send'] = (request, maySend) => this.#request(request, maySend);
    this.http = {
      connect: async () => {
        await this.#step();
        return { isOpen: true, send, release: () => undefined };
      },
      close: async () => undefined,
    };
  }

  /** Dies now; the answer to whatever it waits for comes to nobody. */
  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    if (this.#untold !== undefined) delete this.#untold.knownAt;
    this.#onDeath();
  }

  /** The ledger, each of whose steps may be the last one, before or after it was kept. */
  mortal(ledger: Ledger): Ledger {
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.#step();
      const result = await work();
      await this.#step();
      return result;
    };
    return {
      check: (intent) => step(() => ledger.check(intent)),
      learn: (block) => step(() => ledger.learn(block)),
      admit: (intent) => step(() => ledger.admit(intent)),
      answered: (answer) =>
        step(() => {
          this.#untold = undefined;
          return ledger.answered(answer);
        }),
      lost: (id, mayHaveBeenSent) => step(() => ledger.lost(id, mayHaveBeenSent)),
      view: () => step(() => ledger.view()),
      clearBlock: () => step(() => ledger.clearBlock()),
    };
  }

  /** One PATCH without a governor, for the policies that have none. */
  async send({ pet, quantity }: Job): Promise<{ status: number; retryAfterMs: number; resetAt: number }> {
    const url = new URL(`https://pets.example/v1/inventory/${pet}`);
    const request = { method: 'PATCH', url, headers: {}, body: JSON.stringify({ quantity }), timeoutMs: 0 } as const;
    try {
      const { status, headers } = await this.#request(request, () => true);
      const seconds = (name: string): number => Number(headers.get(name)?.[0] ?? 0) * 1_000;
      return { status, retryAfterMs: seconds('retry-after'), resetAt: seconds('x-ratelimit-reset') };
    } catch {
      return { status: 0, retryAfterMs: 0, resetAt: 0 };
    }
  }

  async #request({ method, url, body }: HttpRequest, maySend: () => boolean): Promise<HttpReply> {
    const { time, service, random, crash } = this.#world;
    await this.#step();
    if (!maySend()) throw HttpFailure.withdrawn(url.host);
    const sentAt = time.now;
    await time.sleep(latencyMs(random));
    const isLost = random() < crash;
    if (isLost && random() < 0.5) throw connectionReset(url);
    const request = { method, path: url.pathname, sentAt, ...(body !== undefined && { body }) };
    const answer = service.answer(request, time.now);
    await time.sleep(latencyMs(random));
    if (isLost) throw connectionReset(url);
    if (this.#dead) return NEVER;
    this.#hold(answer);
    await this.#step();
    return { status: answer.status, headers: answer.headers, body: pieces(answer.body) };
  }

  #hold({ block }: Answer): void {
    if (block === undefined) return;
    block.knownAt = this.#world.time.now;
    this.#untold = block;
  }

  /** A moment at which a process may be killed. */
  #step(): Promise<void> {
    if (!this.#dead && this.#world.crash > 0 && this.#world.random() < this.#world.crash) this.kill();
    return this.#dead ? NEVER : Promise.resolve();
  }
}

const NEVER = new Promise<never>(() => undefined);

/** 10 ms to half a second, mostly short. */
function latencyMs(random: Random): number {
  return 10 + 490 * random() ** 3;
}

function connectionReset(url: URL): HttpFailure {
  return new HttpFailure({
    phase: 'reset',
    mayHaveBeenSent: true,
    peer: url.host,
    code: 'ECONNRESET',
    detail: 'the connection was reset',
  });
}

async function* pieces(body: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(body);
}
