/** The ledgers of a simulation: the one of a machine, as in its state database, and one that machines share, as on Redis. */
import { RedisFailure } from '../../src/context.ts';
import { Failure } from '../../src/errors.ts';
import {
  abandon,
  type Decision,
  decide,
  type LedgerState,
  lose,
  observe,
  unblock,
  UNKNOWN,
} from '../../src/limits/governor.ts';
import { type Ledger, type LedgerView, viewOf } from '../../src/limits/ledger.ts';
import { type Moment, rebase } from '../../src/limits/timeline.ts';
import type { SimulatedProcess, World } from './process.ts';
import type { Block } from './service.ts';

type Step<T> = (state: LedgerState, now: number) => { state: LedgerState; result: T };

function ledgerOf(step: <T>(work: Step<T>) => Promise<T>): Ledger {
  const keep = (state: LedgerState) => ({ state, result: viewOf(state) });
  return {
    admit: (intent) =>
      step((before, now) => {
        const { state, decision } = decide(before, now, intent);
        return { state, result: decision };
      }),
    answered: (answer) => step((before, now) => keep(observe(before, now, answer))),
    async lost(id, mayHaveBeenSent) {
      await step((before, now) => keep(lose(before, now, id, mayHaveBeenSent)));
    },
    view: () => step(keep),
    clearBlock: () => step((before) => keep(unblock(before))),
  };
}

/** The seam for a second place that keeps a refusal where the database cannot, one for each machine; none yet. */
const withSecondPlace = (ledger: Ledger): Ledger => ledger;

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
  const full = new Failure('state', { path: 'state.db', problem: 'unusable', detail: 'the disk is full' });
  const usable = async (): Promise<void> => {
    if (time.now >= heldUntil) return;
    await time.sleep(Math.min(PATIENCE_MS, heldUntil - time.now));
    if (time.now < heldUntil) throw held;
  };
  const withoutDead = (state: LedgerState, at: number): LedgerState =>
    state.inFlight
      .filter(({ id }) => !host.isAlive(id.split('/')[0]!))
      .reduce((left, { id }) => abandon(left, at, id), state);
  const ledger = ledgerOf(async (work) => {
    await usable();
    const moment = host.now();
    const kept = saved === undefined ? UNKNOWN : rebase(saved.state, saved.moment, moment);
    const { state, result } = work(withoutDead(kept, moment.monotonic), moment.monotonic);
    saved = { state, moment };
    return result;
  });
  return withSecondPlace({
    ...ledger,
    async answered(answer) {
      const isRefusal = answer.status === 429 || answer.status === 403;
      if (isRefusal && scenario.unwritable > 0 && random() < scenario.unwritable) {
        if (random() < 0.5) throw full;
        heldUntil = time.now + HELD_MS;
      }
      return ledger.answered(answer);
    },
  });
}

/** The server that machines share: emptied, or gone for a while, at random steps. */
export class SharedLedger {
  readonly #world: World;
  readonly #ledger: Ledger;
  #state = UNKNOWN;
  /** Which of the service's blocks it has been told of, and has not lost. */
  #blocks: Block[] = [];
  #goneUntil = 0;

  constructor(world: World) {
    this.#world = world;
    this.#ledger = ledgerOf(async (work) => {
      this.#mayFail();
      const { state, result } = work(this.#state, world.time.now);
      this.#state = state;
      return result;
    });
  }

  /** As one process sees it. `bootOffset`: its monotonic clock minus the server's. */
  seenBy(process: SimulatedProcess, bootOffset: () => number): Ledger {
    const hear = <T>(result: T): T => {
      this.#blocks = this.#blocks.filter(({ until }) => until > this.#world.time.now);
      process.hear(this.#blocks);
      return result;
    };
    const ledger = this.#ledger;
    return {
      admit: async (intent) => hear(decisionAt(await ledger.admit(intent), bootOffset())),
      answered: async (answer) => {
        const view = await ledger.answered(answer);
        if (answer.status === 429 && process.latest !== undefined) this.#blocks.push(process.latest);
        return hear(viewAt(view, bootOffset()));
      },
      lost: ledger.lost,
      view: async () => hear(viewAt(await ledger.view(), bootOffset())),
      clearBlock: async () => hear(viewAt(await ledger.clearBlock(), bootOffset())),
    };
  }

  /** @throws {RedisFailure} */
  #mayFail(): void {
    const { time, random, scenario } = this.#world;
    if (time.now >= this.#goneUntil && random() < scenario.flush) {
      const isGone = random() < 0.5;
      if (isGone) this.#goneUntil = time.now + 1_000 * 300 ** random();
      if (!isGone || random() < 0.5) {
        this.#state = UNKNOWN;
        this.#blocks = [];
      }
    }
    if (time.now < this.#goneUntil) throw new RedisFailure(new Error('ECONNREFUSED'));
  }
}

function decisionAt(decision: Decision, shift: number): Decision {
  if (decision.do === 'send') return decision;
  const { again } = decision;
  return { ...decision, until: decision.until + shift, ...(again !== undefined && { again: again + shift }) };
}

function viewAt(view: LedgerView, shift: number): LedgerView {
  const { window, block } = view;
  return {
    ...view,
    ...(window !== undefined && { window: { ...window, resetAt: window.resetAt + shift } }),
    ...(block !== undefined && { block: { ...block, since: block.since + shift, until: block.until + shift } }),
  };
}
