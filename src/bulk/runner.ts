/**
 * Carries a run's planned changes out, through the governor, each one journaled before and after. Whatever stops it
 * (a signal, a spent allowance, a dead service) leaves a run that can be resumed.
 */
import type { InventoryItem } from '../api/item.ts';
import { listInventory } from '../client/list.ts';
import type { Service } from '../client/service.ts';
import { updateInventory } from '../client/update.ts';
import { Failure, isFailure } from '../errors.ts';
import type { Change, ChangeState, Journal } from '../state/journal.ts';
import { hasWrittenSince, momentOf } from '../state/written.ts';
import { NO_SUCH_PET } from '../report/failure-meaning.ts';
import { firstCause, rowOutcome } from '../report/failures.ts';
import type { Stock } from './plan.ts';

export interface Outcome {
  readonly change: Change;
  readonly state: ChangeState;
  readonly reason?: string;
}

export interface EngineOptions {
  readonly service: Service;
  readonly journal: Journal;
  /** Requests at the same time: asked before each row, since what is known of the service changes. */
  concurrency(): number;
  readonly seen: Seen;
  /** When the rows were planned, epoch ms. */
  readonly since: number;
  /** Runs the work while no other command of this machine changes that pet. */
  inTurn<T>(petId: bigint, work: () => Promise<T>): Promise<T>;
  onOutcome(outcome: Outcome): void;
  /** The run goes no further; rows that are under way come to their end. */
  onStop(): void;
}

/** The stock, and how old the knowledge of it is. */
export interface Seen {
  readonly stock: Stock;
  /** Of the journal: what this machine has written later may not be in the stock. */
  readonly moment: bigint;
  /** Before the request: on the monotonic clock, and epoch ms. */
  readonly at: number;
  readonly since: number;
}

/** How old the knowledge of the stock may be before a row is sent: what others changed since is then seen. */
const FRESH_MS = 60_000;
/** So many rows in a row that the service, or the way to it, did not take: the next would fare no better. */
const MOST_TROUBLE = 3;

/** @throws {Failure} `contract`: a pet stands there twice, so that no change can be decided on */
export async function readStock(service: Service): Promise<Stock> {
  const stock = new Map<bigint, InventoryItem>();
  for await (const items of listInventory(service)) {
    for (const item of items) {
      if (stock.has(item.petId)) {
        throw new Failure('contract', { what: 'The list', problem: `has pet ${item.petId} more than once` });
      }
      stock.set(item.petId, item);
    }
  }
  return stock;
}

/** Reads the stock for a run. */
export async function look(service: Service, journal: Journal): Promise<Seen> {
  const { clock } = service;
  const before = { moment: momentOf(journal.shared), at: clock.monotonic(), since: clock.now() };
  return { ...before, stock: await readStock(service) };
}

/** Resolves with what stopped it before the end, if anything did. @throws {Failure} `bug` */
export async function executeChanges(options: EngineOptions, changes: readonly Change[]): Promise<Failure | undefined> {
  const engine = new Engine(options, changes);
  await engine.run();
  return engine.stopped;
}

class Engine {
  stopped: Failure | undefined;
  private readonly options: EngineOptions;
  private readonly queue: Iterator<Change>;
  private seen: Seen;
  /** Set when another command of this machine has written since. */
  private isStale = false;
  private refreshing: Promise<void> | undefined;
  private trouble = 0;
  private readonly workers: Promise<void>[] = [];
  private atWork = 0;
  private isExhausted = false;

  constructor(options: EngineOptions, changes: readonly Change[]) {
    this.options = options;
    this.queue = changes[Symbol.iterator]();
    this.seen = options.seen;
  }

  async run(): Promise<void> {
    this.spawnWorkers();
    // More may come while the first ones are waited for.
    for (let i = 0; i < this.workers.length; i++) await this.workers[i];
  }

  private spawnWorkers(): void {
    while (!this.isExhausted && this.stopped === undefined && this.atWork < this.concurrency()) {
      this.atWork++;
      const worker = this.work();
      // Waited for in its turn: until then a failure is nobody's.
      worker.catch(() => undefined);
      this.workers.push(worker);
    }
  }

  /** One is always there, as long as there is work. */
  private concurrency(): number {
    return Math.max(1, this.options.concurrency());
  }

  private async work(): Promise<void> {
    const { signal } = this.options.service;
    try {
      while (this.atWork <= this.concurrency()) {
        if (signal.aborted) this.stop(signal.reason);
        if (this.stopped !== undefined) return;
        const next = this.queue.next();
        if (next.done === true) {
          this.isExhausted = true;
          return;
        }
        try {
          await this.take(next.value);
        } catch (error) {
          this.stop(error);
        }
        this.spawnWorkers();
      }
    } finally {
      // At once: the next who asks whether there are too many must not count this one.
      this.atWork--;
    }
  }

  private stop(error: unknown): void {
    if (!isFailure(error)) throw error;
    this.stopped = firstCause(this.stopped === undefined ? [error] : [this.stopped, error]);
    this.options.onStop();
  }

  /** @throws {Failure} what stops the run */
  private async take(change: Change): Promise<void> {
    const { inTurn, journal } = this.options;
    for (;;) {
      await this.refresh();
      const { seen } = this;
      const isDone = await inTurn(change.petId, async () => {
        if (hasWrittenSince(journal.shared, change, seen.moment)) return false;
        // Without an outcome it is left for the next time.
        if (this.stopped === undefined) await this.carryOut(change, seen.stock);
        return true;
      });
      if (isDone) return;
      // Another worker may have read the stock again meanwhile.
      if (this.seen === seen) this.isStale = true;
    }
  }

  /** @throws {Failure} what stops the run */
  private async carryOut(change: Change, stock: Stock): Promise<void> {
    const present = stock.get(change.petId)?.quantity;
    if (present === undefined) return this.settle(change, { state: 'failed', reason: NO_SUCH_PET });
    if (present === change.after) {
      // Of a row whose fate was not known, that is the answer.
      const wasSent = change.state === 'sent' || change.state === 'unknown';
      return this.settle(change, { state: wasSent ? 'applied' : 'unchanged' });
    }
    if (change.before !== undefined && present !== change.before) {
      const reason = `there are ${present} now, no longer ${change.before}: ${this.changedBy(change, present)}`;
      return this.settle(change, { state: 'conflict', reason });
    }
    const { journal, service } = this.options;
    await journal.sent(change.id, service.clock.now());
    const failure = await this.send(change);
    if (failure === undefined) {
      this.trouble = 0;
      return this.settleApplied(change);
    }
    await this.judge(change, failure);
  }

  private changedBy(change: Change, present: bigint): string {
    const other = this.options.journal.newestOther(change, this.options.since);
    return changedBy(other?.after === present ? other : undefined);
  }

  private async send({ petId, after }: Change): Promise<Failure | undefined> {
    try {
      await updateInventory(this.options.service, { petId, quantity: after });
      return undefined;
    } catch (error) {
      if (!isFailure(error)) throw error;
      return error;
    }
  }

  /** What became of the row; whether the run goes on. @throws {Failure} what stops it */
  private async judge(change: Change, failure: Failure): Promise<void> {
    const { continues, ...outcome } = rowOutcome(failure);
    await this.settle(change, outcome);
    if (continues === 'always') this.trouble = 0;
    else if (continues === 'never' || ++this.trouble >= MOST_TROUBLE) throw failure;
  }

  private async settleApplied(change: Change): Promise<void> {
    try {
      await this.settle(change, { state: 'applied' });
    } catch (because) {
      if (!isFailure(because)) throw because;
      const { petId, after: quantity, environment } = change;
      throw new Failure('unrecorded', { petId, quantity, environment, because }, because);
    }
  }

  private async settle(change: Change, outcome: Omit<Outcome, 'change'>): Promise<void> {
    const { journal, service, onOutcome } = this.options;
    await journal.settle(change.id, service.clock.now(), outcome);
    // Not carried out after all: it is no outcome, but work for the next time.
    if (outcome.state !== 'planned') onOutcome({ change, ...outcome });
  }

  /** One of those who find the knowledge too old reads the list; the others wait for it. */
  private async refresh(): Promise<void> {
    const { journal, service } = this.options;
    const isOld = this.isStale || service.clock.monotonic() - this.seen.at > FRESH_MS;
    if (this.refreshing === undefined && isOld) {
      this.isStale = false;
      this.refreshing = look(service, journal)
        .then((seen) => {
          this.seen = seen;
        })
        .finally(() => {
          this.refreshing = undefined;
        });
    }
    await this.refreshing;
  }
}

/** `by`: the change of this machine that did it, if it did. */
export function changedBy(by: Pick<Change, 'id'> | undefined): string {
  return by === undefined ? 'somebody else has changed it' : `changed since by this machine: change ${by.id}`;
}

/** Marks a failure that came after other requests: `nothing more was sent`. */
export function midway(failure: Failure): Failure {
  if (failure.is('rate-limited'))
    return new Failure('rate-limited', { ...failure.details, begun: true }, failure.cause);
  if (failure.is('network')) return new Failure('network', { ...failure.details, begun: true }, failure.cause);
  return failure;
}
