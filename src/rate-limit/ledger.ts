/**
 * Stores one key's state. Each operation is one atomic step: read, decide with the governor, store.
 * Times are ms on the clock's monotonic timeline.
 */
import {
  type Answer,
  decide,
  forecast,
  type Intent,
  type LedgerState,
  lose,
  observe,
  unblock,
  UNKNOWN,
} from './governor.ts';
import type { Clock, Machine } from '../ports.ts';
import type { Strictness } from '../state/batch.ts';
import type { Demand } from './windows.ts';

/** Computes the new state and the result of a step from the state at `now`. */
export type Work<T> = (before: LedgerState, now: number) => { readonly state: LedgerState; readonly result: T };

/** `durable`: for a block, which must survive a power cut. `despiteSignal`: for an answer, which must be recorded. */
export interface StepOptions extends Strictness {
  /** Stores nothing. */
  readonly isRead?: boolean;
  /** Clears the block for the user, wherever it is stored. */
  readonly clears?: boolean;
}

/** Runs one step atomically. */
export type Step = <T>(work: Work<T>, options?: StepOptions) => Promise<T>;

export type Ledger = ReturnType<typeof createLedger>;

/** Builds a ledger on a function that runs a step atomically. */
export function createLedger(step: Step, isAlone = false) {
  const read = <T>(of: (state: LedgerState, now: number) => T): Promise<T> =>
    step((before, now) => ({ state: before, result: of(before, now) }), { isRead: true });
  return {
    /** True while other processes that use the key are unknown: then only one request at a time. */
    isAlone,
    /** Returns why a request would have to wait, and reserves nothing. */
    check: (intent: Intent) => read((before, now) => decide(before, now, intent).hold),
    /**
     * Decides, and reserves a place for a request that may be sent. A second call replaces the reservation.
     * `hold`: why it has to wait; undefined: it may be sent. `at`: when that was decided, for it expires soon.
     */
    admit: (intent: Intent) =>
      step((before, now) => {
        const { state, hold } = decide(before, now, intent);
        return { state, result: { hold, at: now } };
      }),
    answered: (answer: Answer) =>
      step((before, now) => kept(observe(before, now, answer)), { despiteSignal: true, durable: isRefusal(answer) }),
    lost: (id: string, mayHaveBeenSent: boolean) =>
      step((before, now) => kept(lose(before, now, id, mayHaveBeenSent)), { despiteSignal: true }),
    view: () => read((before) => before),
    /** Returns until when a demand would have to wait, as far as is known. */
    forecast: (demand: Demand) => read((before, now) => forecast(before, now, demand)),
    /** Clears the block, at the user's own risk. */
    clearBlock: () => step((before) => kept(unblock(before)), { durable: true, clears: true }),
    /** Returns permits that were lent and not used. */
    close: () => Promise.resolve(),
  };
}

/** Returns the result of a step that returns the state itself. */
export function kept<S extends LedgerState>(state: S): { readonly state: S; readonly result: S } {
  return { state, result: state };
}

/** Returns whether an answer may begin a block. */
export function isRefusal({ status }: Pick<Answer, 'status'>): boolean {
  return status === 429 || status === 403 || status === 503;
}

export function memoryStep(clock: Pick<Clock, 'monotonic'>): Step {
  let state = UNKNOWN;
  return (work, { isRead } = {}) => {
    const worked = work(state, clock.monotonic());
    if (isRead !== true) ({ state } = worked);
    return Promise.resolve(worked.result);
  };
}

/** Returns the prefix of a reservation's id, such as `process 4242@1f3a.4026531836`. */
export function ownerOf({ pid, processSpace }: Pick<Machine, 'pid' | 'processSpace'>): string {
  return `process ${pid}@${processSpace}`;
}

/** Returns the owner as shown to the user: `process 4242`. */
export function ownerName(id: string): string {
  return id.split(/[@/]/)[0] ?? id;
}

/** True if the owner is known to be dead. A process of another machine or container counts as alive. */
export function isDeadOwner(id: string, machine: Pick<Machine, 'pid' | 'processSpace' | 'isAlive'>): boolean {
  const [, pid, space] = /^process (\d+)@([^/]*)\//.exec(id) ?? [];
  if (pid === undefined || space !== machine.processSpace || Number(pid) === machine.pid) return false;
  return !machine.isAlive(Number(pid));
}

/** Converts an instant of the monotonic clock to epoch ms. */
export function toWall(clock: Pick<Clock, 'now' | 'monotonic'>, at: number): number {
  return clock.now() + at - clock.monotonic();
}

const TIME = /^(?:at|since|until|next|[a-z]+At)$/;

/** Returns a state, or a part of one, with all its times shifted by `by` ms. */
export function shift<T>(value: T, by: number): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => shift(each, by)) as T;
  const move = (name: string, each: unknown): unknown => (TIME.test(name) ? Number(each) + by : shift(each, by));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, move(name, each)])) as T;
}
