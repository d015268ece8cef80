/**
 * Applies the planned changes of a run, and records each in the journal before and after. Whatever stops it (a signal,
 * a spent rate limit, a dead service), the run can be resumed.
 */
import type { InventoryItem } from '../api/item.ts';
import { listInventory, type ListUse } from '../client/list.ts';
import type { Service } from '../client/service.ts';
import { isOutdated, listedTwice } from '../client/update.ts';
import { type Failure, isFailure } from '../errors.ts';
import type { Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { type Change, hasWrittenSince, type Journal, momentOf, type Run, type Settled } from '../state/journal.ts';
import { isUncertain } from '../state/journal-rows.ts';
import { NO_SUCH_PET } from '../report/failure-meaning.ts';
import { firstCause, rowOutcome } from '../report/failures.ts';
import type { Pace } from './concurrency.ts';
import { type LockedPet, recordOutcome, updateOne, withPet, type Writer } from './write-one.ts';

export type Stock = ReadonlyMap<bigint, InventoryItem>;

/** Receives each row with its outcome. */
export type OnOutcome = (row: Change) => void;

/** What applying a run needs. */
export interface RunContext {
  readonly context: CommandContext;
  readonly session: Session;
  readonly journal: Journal;
  readonly onOutcome?: OnOutcome | undefined;
}

export interface RunnerOptions {
  /** Limits how many rows are in flight. Ended when the run stops; rows in flight are completed. */
  readonly pace: Pace;
  /** Writer that sends through `pace.service`. */
  readonly writer: Writer;
  readonly run: Run;
  readonly seen: Seen;
  readonly onOutcome: OnOutcome;
}

/** The stock, and when it was read. */
export interface Seen {
  readonly stock: Stock;
  /** From `momentOf`. Later writes by this machine may not be in the stock. */
  readonly moment: bigint;
  /** Time before the request, monotonic. */
  readonly at: number;
}

/**
 * How old the stock may be when a row is sent, in ms, so that changes by other programs are noticed: the longest time,
 * and that for each row of a short run, because a read costs as much as an update.
 */
const FRESH_MS = 60_000;
const FRESH_MS_PER_ROW = 5_000;
/** The run stops after this many failed rows in a row, if the service or the network is the cause. */
const MOST_TROUBLE = 3;

/** Reads the stock of all pets. @throws {Failure} `contract`: the list has a pet twice, so no change can be planned */
export async function readStock(service: Service, use: ListUse = 'change'): Promise<Stock> {
  const stock = new Map<bigint, InventoryItem>();
  for await (const items of listInventory(service, use)) {
    for (const item of items) {
      if (stock.has(item.petId)) throw listedTwice(item.petId);
      stock.set(item.petId, item);
    }
  }
  return stock;
}

/** Reads the stock for a run, with the time before the request. */
export async function seeStock(service: Service, journal: Journal): Promise<Seen> {
  const { clock } = service;
  const before = { moment: momentOf(journal.state), at: clock.monotonic() };
  return { ...before, stock: await readStock(service) };
}

/** Applies the changes of a run, several at a time. */
export class Runner {
  /** What is known of each change that has failed, even if it could not be recorded. By its id. */
  readonly failures = new Map<bigint, Settled>();
  private readonly options: RunnerOptions;
  /** In the order of application. A change that could not be sent is appended again. */
  private readonly changes: Change[];
  private readonly freshMs: number;
  private seen: Seen;
  private refreshing: Promise<void> | undefined;
  private stopped: Failure | undefined;
  /** Changes for which the stock became too old while they waited for the rate limit. */
  private readonly outdated = new Set<bigint>();
  private trouble = 0;

  constructor(options: RunnerOptions, changes: readonly Change[]) {
    this.options = options;
    this.changes = [...changes];
    this.freshMs = Math.min(FRESH_MS, changes.length * FRESH_MS_PER_ROW);
    this.seen = options.seen;
  }

  /** Applies the changes. Resolves with the cause if the run stopped early. @throws {Failure} `bug` */
  async run(): Promise<Failure | undefined> {
    const { pace } = this.options;
    const { signal } = pace.service;
    const underWay = new Set<Promise<void>>();
    for (let next = 0; ;) {
      if (signal.aborted) this.stop(signal.reason);
      while (next < this.changes.length && this.stopped === undefined && underWay.size < pace.concurrency) {
        const row = this.applyChange(this.changes[next++]!)
          .catch((error: unknown) => {
            this.stop(error);
          })
          .finally(() => underWay.delete(row));
        underWay.add(row);
      }
      if (underWay.size === 0) return this.stopped;
      await Promise.race(underWay);
    }
  }

  private stop(error: unknown): void {
    if (!isFailure(error)) throw error;
    this.stopped = firstCause(this.stopped === undefined ? [error] : [this.stopped, error]);
    this.options.pace.end();
  }

  /** @throws {Failure} what stops the run */
  private async applyChange(change: Change): Promise<void> {
    await this.refresh();
    await withPet(this.options.writer, change.petId, async (pet) => {
      const isOver =
        pet.lock.lastHeldAt >= this.seen.at || hasWrittenSince(pet.journal.state, change, this.seen.moment);
      if (isOver) await this.see();
      // A change without an outcome is left for the resumed run.
      if (this.stopped === undefined) await this.execute(pet, change, this.seen);
    });
  }

  /** @throws {Failure} what stops the run */
  private async execute(pet: LockedPet, change: Change, { stock, at }: Seen): Promise<void> {
    const { run, seen, writer } = this.options;
    const present = stock.get(change.petId)?.quantity;
    const unsent: Settled | undefined =
      present === undefined
        ? { state: 'failed', reason: NO_SUCH_PET }
        : outcomeUnsent(writer.journal, change, run, present, seen.moment);
    if (unsent !== undefined) {
      await recordOutcome(writer.journal, change.id, unsent);
      this.tell(change, unsent);
      return;
    }
    try {
      // The second time it is sent anyway: the rate limit may only allow a request or two in that time.
      const isCurrent = (): boolean => this.outdated.has(change.id) || this.isFresh(at);
      const onLook = (): void => {
        this.seen = { ...this.seen, at: Number.NEGATIVE_INFINITY };
      };
      await updateOne(pet, change, { isCurrent, onLook });
    } catch (error) {
      if (isOutdated(error)) {
        this.outdated.add(change.id);
        // Machines that could not lock it may have changed it.
        if (!pet.lock.isHeld()) this.seen = { ...this.seen, at: Number.NEGATIVE_INFINITY };
        this.changes.push(change);
        return;
      }
      if (!isFailure(error)) throw error;
      this.failed(change, error);
      return;
    }
    this.trouble = 0;
    this.tell(change, { state: 'applied' });
  }

  private tell(change: Change, { state, reason }: Settled): void {
    this.options.onOutcome({ ...change, state, reason });
  }

  /** @throws {Failure} the failure, if it stops the run */
  private failed(change: Change, failure: Failure): void {
    const { continues, ...outcome } = rowOutcome(failure);
    this.failures.set(change.id, outcome);
    // A row that could not be sent has no outcome.
    if (outcome.state !== 'planned') this.tell(change, outcome);
    if (continues === 'always') this.trouble = 0;
    else if (continues === 'never' || ++this.trouble >= MOST_TROUBLE) throw failure;
    if (outcome.state === 'planned') this.changes.push(change);
  }

  private isFresh(at: number): boolean {
    return this.options.pace.service.clock.monotonic() - at <= this.freshMs;
  }

  /** Reads the stock again when it is too old. Concurrent rows share one read. */
  private async refresh(): Promise<void> {
    if (!this.isFresh(this.seen.at)) {
      this.refreshing ??= this.see().finally(() => (this.refreshing = undefined));
    }
    await this.refreshing;
  }

  private async see(): Promise<void> {
    const { pace, writer } = this.options;
    this.seen = await seeStock(pace.service, writer.journal);
  }
}

/**
 * Returns the outcome of a row that is not to be sent: it was applied, has nothing left to do, or must not be applied to
 * the present quantity.
 * @param since from `momentOf`: others of this machine may have changed the pet after that
 */
export function outcomeUnsent(
  journal: Journal,
  change: Change,
  { kind, adds }: Pick<Run, 'kind' | 'adds'>,
  present: bigint,
  since = change.turn,
): Settled | undefined {
  const { after, before, turn } = change;
  if (isUncertain(change) && (journal.foundAfter(change) ?? present) === after) return { state: 'applied' };
  // What is to be added or taken back is still to be, even if others have set the pet to that quantity. Nor is it
  // known whether a count was made before or after that.
  const isRelative = adds !== undefined || kind === 'undo' || kind === 'redo' || kind === 'count';
  if (present === after && !isRelative) return { state: 'unchanged', isUnsent: true };
  if (before === undefined || present === before) return undefined;
  const seen = { ...change, turn: since < turn ? since : turn };
  return { state: 'conflict', reason: changedSince(journal, seen, present, `${before}`) };
}

/** Returns that a pet no longer has a quantity, and who has changed it after the change. */
export function changedSince(journal: Journal, change: Change, present: bigint, before: string): string {
  const other = journal.newestOther(change);
  const isOwn = other?.after === present;
  const by = isOwn ? `changed since by this machine: change ${other.id}` : 'someone else has changed it';
  return `there are ${present} now, no longer ${before}: ${by}`;
}
