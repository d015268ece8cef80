/** What a test created is undone when the test ends, in reverse order, passed or failed. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { onTestFinished } from 'vitest';

type Undo = () => void | Promise<void>;

const part = new AsyncLocalStorage<Undo[]>();

/** Outside of a test (in `beforeAll`, say) there is nothing to hang on to: there the caller closes what it opened. */
export function onCleanup(undo: Undo): void {
  const undos = part.getStore();
  if (undos !== undefined) {
    undos.push(undo);
    return;
  }
  try {
    onTestFinished(undo);
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('inside a test'))) throw error;
  }
}

/** Does a part of a test, or of a script; what it created is undone at its end, or as the process exits. */
export async function withCleanup<T>(work: () => Promise<T>): Promise<T> {
  const undos: Undo[] = [];
  const onExit = (): void => {
    for (const undo of undos.reverse()) void undo();
  };
  process.once('exit', onExit);
  try {
    return await part.run(undos, work);
  } finally {
    process.off('exit', onExit);
    for (const undo of undos.reverse()) await undo();
  }
}
