/** The ledgers of a simulation: one per machine, as in its state database, and one that machines share, as on Redis. */
import { type Context, type FileFacts, type Redis, RedisFailure } from '../../src/ports.ts';
import { Failure } from '../../src/errors.ts';
import { abandon, type LedgerState, UNKNOWN } from '../../src/rate-limit/governor.ts';
import { LEASE_SCRIPT } from '../../src/rate-limit/lease-script.ts';
import type { Ledger, Step } from '../../src/rate-limit/ledger.ts';
import { RedisLedger } from '../../src/rate-limit/redis-ledger.ts';
import { type Moment, rebase } from '../../src/rate-limit/sqlite-ledger.ts';
import { START } from '../support/virtual-clock.ts';
import { RedisScript, type Store } from './lua.ts';
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
export function machineStep({ time, random, scenario }: World, host: Host): Step {
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
      .reduce((left, each) => abandon(left, at, each), state);
  return async (work, { isRead, durable } = {}) => {
    // Only what keeps a refusal has to be durable.
    if (durable === true && scenario.unwritable > 0 && random() < scenario.unwritable) {
      if (random() < 0.5) throw full;
      heldUntil = time.now + HELD_MS;
    }
    if (isRead !== true) await usable();
    const moment = host.now();
    const kept = saved === undefined ? UNKNOWN : rebase(saved.state, saved.moment, moment);
    const { state, result } = work(withoutDead(kept, moment.monotonic), moment.monotonic);
    if (isRead !== true) saved = { state, moment };
    return result;
  };
}

/** The files of a machine, as far as the reserve of a block needs them: the times of one file. */
export function machineFiles(): Context['files'] {
  let times: Pick<FileFacts, 'accessedAt' | 'modifiedAt'> = { accessedAt: 0, modifiedAt: 0 };
  const files: Partial<Context['files']> = {
    facts: () => Promise.resolve({ kind: 'file', mode: 0o600, size: 0, owner: 0, ...times }),
    setTimes: (_path, wanted) => Promise.resolve(void (times = wanted)),
  };
  return files as Context['files'];
}

/** The server that machines share, which runs the very script: emptied, or gone for a while, at random steps. */
export class SharedLedger {
  readonly #world: World;
  readonly #script = new RedisScript(LEASE_SCRIPT);
  readonly #store: Store = new Map();
  /** The service's blocks that have been received by some process, and those of them that the server has not lost. */
  readonly #received = new Set<Block>();
  #told = new Set<Block>();
  #goneUntil = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** As one process sees it. */
  seenBy(process: SimulatedProcess, own: Step): Ledger {
    const { random, time } = this.#world;
    const redis: Redis = {
      run: async (_script, key, args) => {
        await process.step();
        this.#mayFail();
        const reply = this.#script.run(this.#store, START + time.now, key, args);
        if (process.latest !== undefined) this.#received.add(process.latest);
        for (const block of this.#received) if (block.until <= time.now) this.#received.delete(block);
        if ('block' in JSON.parse(args[0]!)) {
          for (const block of this.#received) if (process.knows(block)) this.#told.add(block);
        }
        if ('block' in JSON.parse(reply)) process.hear([...this.#told].filter(({ until }) => until > time.now));
        await process.step();
        return reply;
      },
      close: () => undefined,
    };
    const { clock } = process;
    const randomBytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => random() * 256);
    const ports = { clock, random, randomBytes, signal: new AbortController().signal };
    return new RedisLedger(own, {
      ...ports,
      redis,
      name: 'pair',
      server: '',
      whenLost: 'hold',
      onChange: () => undefined,
    });
  }

  /** @throws {RedisFailure} */
  #mayFail(): void {
    const { time, random, scenario } = this.#world;
    if (time.now >= this.#goneUntil && random() < scenario.flush) {
      const isGone = random() < 0.5;
      if (isGone) this.#goneUntil = time.now + 1_000 * 300 ** random();
      if (!isGone || random() < 0.5) {
        this.#store.clear();
        this.#told = new Set();
      }
    }
    if (time.now < this.#goneUntil) throw new RedisFailure(new Error('ECONNREFUSED'));
  }
}
