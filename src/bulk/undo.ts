/** `inventory undo`: sets pets back to what they were before this machine changed them, if nothing else has since. */
import type { CommandContext } from '../session/globals.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { Change, Journal } from '../state/journal.ts';
import type { RecordView } from '../view/view.ts';
import { changedBy } from './runner.ts';
import { applyPlan } from './apply.ts';
import { withLockedJournal } from './open-journal.ts';
import { assertSameOrigin, assertSameEnvironment } from './origin.ts';
import { makePlan, type Plan, type Stock } from './plan.ts';

/** How many of the newest changes to search for the last one that was applied. */
const LOOKED_BACK = 1_000;

export interface UndoOptions {
  readonly changeId?: bigint;
  readonly last?: boolean;
  /** A run's number. */
  readonly import?: bigint;
}

/** @throws {Failure} `usage`, `cannot-resume`, and what connect throws */
export async function undo(context: CommandContext, options: UndoOptions): Promise<RecordView> {
  const environment = (await context.settings()).environment.value;
  return withLockedJournal(context, undefined, async (journal) => {
    const changes = changesFor(journal, options, environment);
    const first = changes[0]!;
    const isRun = options.import !== undefined;
    const command = `inventory undo ${isRun ? `--import ${options.import}` : first.id}`;
    assertSameEnvironment(environment, first, 'What is to be undone', command);
    await assertWriteAllowed(context, command);
    return applyPlan(
      { context, journal },
      {
        kind: 'undo',
        command: `undo of ${isRun ? `run ${options.import}` : `change ${first.id}`}`,
        plan: (stock) => planUndo(changes, stock, journal),
        check(session) {
          assertSameOrigin(session, first, 'What is to be undone', command);
        },
      },
    );
  });
}

function changesFor(journal: Journal, { changeId, last, import: run }: UndoOptions, environment: string): Change[] {
  const applied = (changes: readonly Change[]): Change[] => changes.filter(({ state }) => state === 'applied');
  if (run !== undefined) return orNone(applied(journal.changesOf(run)), `Run ${run} has changed nothing`);
  if (changeId !== undefined) {
    const named = applied(journal.history({ id: changeId, limit: 1 }));
    return orNone(named, `There is no change ${changeId} that was applied`);
  }
  if (last !== true) {
    throw new Failure('usage', { problem: 'Say what to undo: a change by its number, --last, or --import RUN.' });
  }
  const newest = applied(journal.history({ environment, limit: LOOKED_BACK })).slice(0, 1);
  return orNone(newest, `This machine has changed nothing in ${environment} yet`);
}

function orNone(changes: Change[], problem: string): Change[] {
  if (changes.length > 0) return changes;
  throw new Failure('cannot-resume', { problem, hint: 'See what there is: petstore inventory history' });
}

function planUndo(changes: readonly Change[], stock: Stock, journal: Journal): Plan {
  const rows = changes.map((change) => ({ petId: change.petId, quantity: change.before ?? change.after, change }));
  return makePlan(rows, stock, ({ change }, present) => {
    const { before, after, sentAt } = change;
    if (before === undefined) return 'what was there before is not known';
    if (present === before || present === after) return undefined;
    const by = changedBy(journal, change, present, sentAt ?? 0);
    return `there are ${present} now, no longer the ${after} that were written: ${by}`;
  });
}
