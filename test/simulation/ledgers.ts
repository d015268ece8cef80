/** The ledgers of a simulation: the one of a machine, as in its state database, and one that machines share, as on Redis. */
import { type Context, type Redis, RedisFailure } from '../../src/ports.ts';
import { Failure } from '../../src/errors.ts';
import { abandon, type LedgerState, UNKNOWN } from '../../src/rate-limit/governor.ts';
import { noteBlock } from '../../src/rate-limit/fallback-ledger.ts';
import { createLedger, type Ledger } from '../../src/rate-limit/ledger.ts';
import { redisLedger } from '../../src/rate-limit/redis-ledger.ts';
import { type Moment, rebase } from '../../src/rate-limit/rebase.ts';
import type { SimulatedProcess, World } from './process.ts';
import type { Block } from './service.ts';

/** How long the state database is waited for, and how long it is held where it is held. */
const PATIENCE_MS = 5_000;
const HELD_MS = 7_000;

interface Host {
  now(): Moment;
  /** Whether that process still runs. */
  isAlive(name: string): boolean;
}

/** As the one in the state database: each step reads, decides and keeps, in the words of the present boot. */
export function machineLedger({ time, random, scenario }: World, host: Host): Ledger {
  let saved: { state: LedgerState; moment: Moment } | undefined;
  let heldUntil = 0;
  const held = new Failure('state', { path: 'state.db', problem: 'held' });
  const full = new Failure('state', { path: 'state.db', problem: 'full' });
  const usable = async (): Promise<void> => {
    if (time.now >= heldUntil) return;
    await time.sleep(Math.min(PATIENCE_MS, heldUntil - time.now));
    if (time.now < heldUntil) throw held;
  };
  const withoutDead = (state: LedgerState, at: number): LedgerState =>
    state.inFlight
      .filter(({ id }) => !host.isAlive(id.split('/')[0]!))
      .reduce((left, { id }) => abandon(left, at, id), state);
  const ledger = createLedger(async (work, { isRead } = {}) => {
    if (isRead !== true) await usable();
    const moment = host.now();
    const kept = saved === undefined ? UNKNOWN : rebase(saved.state, saved.moment, moment);
    const { state, result } = work(withoutDead(kept, moment.monotonic), moment.monotonic);
    if (isRead !== true) saved = { state, moment };
    return result;
  });
  return {
    ...ledger,
    async answered(answer) {
      const isRefusal = answer.status === 429 || answer.status === 403;
      if (isRefusal && scenario.unwritable > 0 && random() < scenario.unwritable) {
        if (random() < 0.5) throw full;
        heldUntil = time.now + HELD_MS;
      }
      return ledger.answered(answer);
    },
  };
}

/** The files of a machine, as far as the second place of a block needs them. */
export function machineFiles(): Context['files'] {
  const names = new Set<string>();
  const nameOf = (path: string): string => path.split('/').at(-1) ?? '';
  const files: Partial<Context['files']> = {
    list: () => Promise.resolve([...names]),
    makePrivateFolder: () => Promise.resolve(),
    replace: (path) => Promise.resolve(void names.add(nameOf(path))),
    rename(from, to) {
      if (names.delete(nameOf(from))) names.add(nameOf(to));
      return Promise.resolve();
    },
  };
  return files as Context['files'];
}

/** The server that machines share: emptied, or gone for a while, at random steps. */
export class SharedLedger {
  readonly #world: World;
  #value = '';
  /** The service's blocks that were written to it and that it has not lost. */
  #blocks: Block[] = [];
  #goneUntil = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** As one process sees it. */
  seenBy(process: SimulatedProcess, own: Ledger): Ledger {
    const { time } = this.#world;
    const redis: Redis = {
      run: async (_script, _key, [operation = '', expected = '', next = '']) => {
        await process.step();
        this.#mayFail();
        const swaps = operation === 'swap' && this.#value === expected;
        const found = this.#value;
        if (swaps) {
          this.#value = next;
          if (process.latest !== undefined) this.#blocks.push(process.latest);
        }
        // It knows of a block only as long as that is in the value: after it was emptied, not before the next report.
        const isBlocked = this.#value.includes('"block"');
        this.#blocks = isBlocked ? this.#blocks.filter(({ until }) => until > time.now) : [];
        if (found.includes('"block"')) process.hear(this.#blocks);
        const answer = JSON.stringify([Math.floor(time.now), swaps, found]);
        await process.step();
        return answer;
      },
      close: () => undefined,
    };
    return redisLedger(redis, process, 'pair', (block) => noteBlock(own, block, process.clock.monotonic()));
  }

  /** @throws {RedisFailure} */
  #mayFail(): void {
    const { time, random, scenario } = this.#world;
    if (time.now >= this.#goneUntil && random() < scenario.flush) {
      const isGone = random() < 0.5;
      if (isGone) this.#goneUntil = time.now + 1_000 * 300 ** random();
      if (!isGone || random() < 0.5) {
        this.#value = '';
        this.#blocks = [];
      }
    }
    if (time.now < this.#goneUntil) throw new RedisFailure(new Error('ECONNREFUSED'));
  }
}
