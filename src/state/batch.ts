/** Runs what is requested within a few turns of the event loop together: a transaction costs more than its statements. */
import type { Clock } from '../ports.ts';
import type { Exclusive, State } from './database.ts';

/** Most turns of the event loop that the first item waits. */
const MOST_TURNS = 4;

export type Strictness = Pick<Exclusive, 'durable' | 'despiteSignal'>;

/**
 * Returns a function that collects the items of a few turns and passes them to `run` together, in order, in one
 * transaction that is as strict as the strictest of them. `run` returns a result for each.
 */
export function together<I extends { readonly how: Strictness }>(
  state: Pick<State, 'exclusively'>,
  clock: Pick<Clock, 'turn'>,
  run: (items: readonly I[]) => readonly unknown[],
): (item: I) => Promise<unknown> {
  let waiting: I[] = [];
  let results: Promise<readonly unknown[]>;
  const runWaiting = async (): Promise<readonly unknown[]> => {
    // Waits until a turn has added nothing, but not for too many turns.
    for (let turns = 0, before = 0; turns < MOST_TURNS && waiting.length > before; turns++) {
      before = waiting.length;
      await clock.turn();
    }
    const batch = waiting;
    waiting = [];
    const durable = batch.some(({ how }) => how.durable === true);
    const despiteSignal = batch.some(({ how }) => how.despiteSignal === true);
    return state.exclusively(() => run(batch), { durable, despiteSignal });
  };
  return async (item) => {
    const at = waiting.push(item) - 1;
    if (at === 0) results = runWaiting();
    return (await results)[at];
  };
}

/** Returns the state with one transaction for all work of a few turns. The work must be synchronous: all of it fails together. */
export function inBatches(state: State, clock: Pick<Clock, 'turn'>): State {
  const add = together<{ work(): unknown; readonly how: Exclusive }>(state, clock, (items) =>
    items.map(({ work }) => work()),
  );
  return {
    ...state,
    exclusively: <T>(work: () => T | Promise<T>, how: Exclusive = {}) => add({ work, how }) as Promise<T>,
  };
}
