/** What is asked for within one turn of the event loop is done together: a transaction costs more than what is in it. */
import type { Exclusive, State } from './database.ts';

/** Turns of the event loop that the first work waits, at most. */
const MOST_TURNS = 4;

interface Waiting {
  readonly how: Exclusive;
  work(): void;
  resolve(): void;
  reject(error: unknown): void;
}

/** Returns the state with one transaction for all the work of a turn, which must be synchronous, in its order. */
export function inBatches(state: State, turn: () => Promise<void>): State {
  let waiting: Waiting[] = [];
  const flush = async (): Promise<void> => {
    // Not before a turn has brought no more, nor after too many of them.
    for (let turns = 0, before = 0; turns < MOST_TURNS && waiting.length > before; turns++) {
      before = waiting.length;
      await turn();
    }
    const batch = waiting;
    waiting = [];
    const runAll = (): void => {
      for (const { work } of batch) work();
    };
    // As strict as each of them.
    const durable = batch.some(({ how }) => how.durable === true);
    const despiteSignal = batch.some(({ how }) => how.despiteSignal === true);
    try {
      await state.exclusively(runAll, { durable, despiteSignal });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };
  return {
    path: state.path,
    database: state.database,
    exclusively: <T>(work: () => T | Promise<T>, how: Exclusive = {}) =>
      new Promise<T>((resolve, reject) => {
        let result: T | Promise<T>;
        waiting.push({
          how,
          work: () => void (result = work()),
          resolve: () => {
            resolve(result);
          },
          reject,
        });
        if (waiting.length === 1) void flush();
      }),
    recover: (error) => state.recover(error),
    close: () => {
      state.close();
    },
    [Symbol.dispose]: () => {
      state.close();
    },
  };
}
