/** Shows how far a run is: on a terminal, one live line. */
import type { CommandContext } from '../session/globals.ts';
import type { Change, ChangeState } from '../state/journal.ts';

/** Shows `57 of 200 set`, unless there is one row only, and returns what to call with the outcome of each further row. */
export function progressOf(
  { notices }: Pick<CommandContext, 'notices'>,
  changes: readonly Pick<Change, 'state'>[],
): (state: ChangeState) => void {
  let done = 0;
  let failed = 0;
  const note = (state: ChangeState): void => {
    if (state === 'applied' || state === 'unchanged') done++;
    else if (state === 'failed' || state === 'conflict') failed++;
  };
  const show = (): void => {
    if (changes.length < 2) return;
    notices.progress(`${done} of ${changes.length} set${failed === 0 ? '' : `, ${failed} failed`}`);
  };
  for (const { state } of changes) note(state);
  show();
  return (state) => {
    note(state);
    show();
  };
}
