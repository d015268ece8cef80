/** What a test created is undone when the test ends, in reverse order, passed or failed. */
import { onTestFinished } from 'vitest';

/** Outside of a test (in `beforeAll`, say) there is nothing to hang on to: there the caller closes what it opened. */
export function onCleanup(undo: () => void | Promise<void>): void {
  try {
    onTestFinished(undo);
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('inside a test'))) throw error;
  }
}
