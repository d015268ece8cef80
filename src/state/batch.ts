/** Runs what is requested within one turn of the event loop together: a transaction costs more than its statements. */
import type { Exclusive, State } from './database.ts';

/** Most turns of the event loop that the first item waits. */
const MOST_TURNS = 4;

/**
 * Returns a function that collects the items of a few turns and passes them to `run` together, in order. `run` returns
 * a result for each.
 */
export function together<I>(
  turn: () => Promise<void>,
  run: (items: readonly I[]) => Promise<readonly unknown[]>,
): (item: I) => Promise<unknown> {
  let waiting: I[] = [];
  let results: Promise<readonly unknown[]>;
  const runWaiting = async (): Promise<readonly unknown[]> => {
    // Waits until a turn has added nothing, but not for too many turns.
    for (let turns = 0, before = 0; turns < MOST_TURNS && waiting.length > before; turns++) {
      before = waiting.length;
      await turn();
    }
    const batch = waiting;
    waiting = [];
    return run(batch);
  };
  return async (item) => {
    const at = waiting.push(item) - 1;
    if (at === 0) results = runWaiting();
    return (await results)[at];
  };
}

type Strictness = Pick<Exclusive, 'durable' | 'despiteSignal'>;

/** Returns options that are as strict as each of these. */
export function strictest(each: readonly Strictness[]): Strictness {
  return {
    durable: each.some(({ durable }) => durable === true),
    despiteSignal: each.some(({ despiteSignal }) => despiteSignal === true),
  };
}

/** Returns the state with one transaction for all work of a turn. The work must be synchronous. */
export function inBatches(state: State, turn: () => Promise<void>): State {
  const add = together<{ work(): unknown; readonly how: Exclusive }>(turn, (items) =>
    state.exclusively(() => items.map(({ work }) => work()), strictest(items.map(({ how }) => how))),
  );
  return {
    path: state.path,
    database: state.database,
    exclusively: <T>(work: () => T | Promise<T>, how: Exclusive = {}) => add({ work, how }) as Promise<T>,
    recover: (error) => state.recover(error),
    [Symbol.dispose]: () => {
      state[Symbol.dispose]();
    },
  };
}
