/**
 * Where one key's state is kept. Each operation is one atomic step: read, decide with the governor, keep.
 * Times are ms on the clock's monotonic timeline.
 */
import {
  type Answer,
  type Block,
  decide,
  type Decision,
  type Intent,
  learn,
  type LedgerState,
  lose,
  observe,
  unblock,
  UNKNOWN,
} from './governor.ts';
import { strictest, together } from '../state/batch.ts';
import { isLive, leftOf, type Window, windowsFor } from './windows.ts';
import type { Clock, Machine } from '../ports.ts';

/** What the ledger knows, for people and for the gate. */
export type LedgerView = LedgerState;

export interface Ledger {
  /** Returns whether a request would have to wait, and reserves nothing. */
  check(intent: Intent): Promise<Decision>;
  /** Decides, and reserves where the decision is `send`. */
  admit(intent: Intent): Promise<Decision>;
  answered(answer: Answer): Promise<LedgerView>;
  lost(id: string, mayHaveBeenSent: boolean): Promise<LedgerView>;
  /** Notes a block that another ledger knows of. */
  learn(block: Block): Promise<void>;
  view(): Promise<LedgerView>;
  /** Clears the block at the user's risk. */
  clearBlock(): Promise<LedgerView>;
  /** Gives back what was lent and is not used. */
  close(): Promise<void>;
}

/** What a step of a ledger computes from the state at `now`. */
export type Work<T> = (before: LedgerState, now: number) => { readonly state: LedgerState; readonly result: T };

export interface StepOptions {
  /** Nothing is kept. */
  readonly isRead?: boolean;
  /** On the disk before the step is over: a block must outlive a power cut. */
  readonly durable?: boolean;
  /** Waited for in spite of a signal: what must be recorded is. */
  readonly despiteSignal?: boolean;
}

/** Runs one step atomically. */
export type Step = <T>(work: Work<T>, options?: StepOptions) => Promise<T>;

/**
 * Returns a way to run the steps of many requests as one: those that are asked for within one turn of the event loop,
 * in their order. A transaction costs a hundred times what a decision does.
 */
export function inBatches(step: Step, turn: () => Promise<void>): Step {
  interface Item {
    work(before: LedgerState, now: number): LedgerState;
    readonly options: StepOptions;
  }
  const add = together<Item>(turn, (items) =>
    step((before, now) => ({ state: items.reduce((state, { work }) => work(state, now), before), result: undefined }), {
      isRead: items.every(({ options }) => options.isRead === true),
      ...strictest(items.map(({ options }) => options)),
    }),
  );
  return async <T>(work: Work<T>, options: StepOptions = {}): Promise<T> => {
    const results: T[] = [];
    const item = (before: LedgerState, now: number): LedgerState => {
      const { state, result } = work(before, now);
      results[0] = result;
      return options.isRead === true ? before : state;
    };
    await add({ work: item, options });
    return results[0]!;
  };
}

/** Makes a ledger from one way to run a step atomically. */
export type MakeLedger = (step: Step) => Ledger;

export function createLedger(step: Step): Ledger {
  const decided =
    (intent: Intent): Work<Decision> =>
    (before, now) => {
      const { state, decision } = decide(before, now, intent);
      return { state: decision.do === 'send' ? state : before, result: decision };
    };
  return {
    check: (intent) => step(decided(intent), { isRead: true }),
    admit: (intent) => step(decided(intent)),
    answered: (answer) =>
      step((before, now) => kept(observe(before, now, answer)), { despiteSignal: true, durable: isRefusal(answer) }),
    lost: (id, mayHaveBeenSent) =>
      step((before, now) => kept(lose(before, now, id, mayHaveBeenSent)), { despiteSignal: true }),
    async learn(block) {
      await step((before) => kept(learn(before, block)), { despiteSignal: true, durable: true });
    },
    view: () => step(kept, { isRead: true }),
    clearBlock: () => step((before) => kept(unblock(before)), { durable: true }),
    close: () => Promise.resolve(),
  };
}

function kept(state: LedgerState): { state: LedgerState; result: LedgerView } {
  return { state, result: state };
}

/** Returns whether an answer may begin a block. */
export function isRefusal({ status }: Pick<Answer, 'status'>): boolean {
  return status === 429 || status === 403 || status === 503;
}

/** Returns the live window with the least left, of one operation or of all; `left` is what is not under way. */
export function tightestWindow(
  { windows, inFlight }: LedgerView,
  now: number,
  operation?: string,
): (Window & { readonly left: number }) | undefined {
  const live =
    operation === undefined ? windows.filter((each) => isLive(each, now)) : windowsFor(windows, operation, now);
  return live
    .map((each) => ({ ...each, left: Math.max(0, leftOf(each, windows, inFlight, now).left) }))
    .sort((a, b) => a.left - b.left)[0];
}

/** Returns a ledger that lives as long as the program. */
export function memoryLedger(clock: Pick<Clock, 'monotonic'>, make: MakeLedger = createLedger): Ledger {
  let state: LedgerState = UNKNOWN;
  return make((work, { isRead } = {}) => {
    const worked = work(state, clock.monotonic());
    if (isRead !== true) ({ state } = worked);
    return Promise.resolve(worked.result);
  });
}

/** Begins a reservation's id, such as `process 4242@1f3a.4026531836/`. */
export function ownerOf({ pid, processSpace }: Pick<Machine, 'pid' | 'processSpace'>): string {
  return `process ${pid}@${processSpace}`;
}

/** Returns the owner for people: `process 4242`. */
export function ownerName(id: string): string {
  return id.split(/[@/]/)[0] ?? id;
}

/** True where the owner is known to have died. One whose process ids mean nothing here is taken to be alive. */
export function isDeadOwner(id: string, machine: Pick<Machine, 'pid' | 'processSpace' | 'isAlive'>): boolean {
  const [, pid, space] = /^process (\d+)@([^/]*)\//.exec(id) ?? [];
  if (pid === undefined || space !== machine.processSpace || Number(pid) === machine.pid) return false;
  return !machine.isAlive(Number(pid));
}
