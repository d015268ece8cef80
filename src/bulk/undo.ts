/** Puts back what this machine changed, where the service still has what we wrote. */
import type { CommandContext } from '../config/globals.ts';
import { Failure } from '../errors.ts';
import type { Change, Journal } from '../state/journal.ts';
import type { RecordView } from '../view/view.ts';
import { agree, start } from './apply.ts';
import { readStock } from './engine.ts';
import { mayWrite, withSession } from './import.ts';
import { withRuns } from './journals.ts';
import { NO_SUCH_PET, type Obstacle, type Plan, type Step, type Stock } from './plan.ts';

export interface UndoOptions {
  readonly changeId?: bigint;
  readonly last?: boolean;
  /** A run's number. */
  readonly import?: bigint;
  readonly wait?: boolean;
}

/** @throws {Failure} `usage`, `cannot-resume`, and what connect throws */
export function undo(context: CommandContext, options: UndoOptions): Promise<RecordView> {
  return withRuns(context, undefined, async (journal) => {
    const changes = changesFor(journal, options);
    const [first] = changes;
    const what = options.import === undefined ? `change ${first?.id}` : `run ${options.import}`;
    await mayWrite(
      context,
      `inventory undo ${options.import === undefined ? `${first?.id}` : `--import ${options.import}`}`,
    );
    return withSession(context, options.wait === true, async (session) => {
      const elsewhere = changes.find(({ environment }) => environment !== session.environment);
      if (elsewhere !== undefined) {
        throw new Failure('cannot-resume', {
          problem: `What is to be undone was made in ${elsewhere.environment}, and the environment is ${session.environment}`,
          hint: `Say which: petstore --env ${elsewhere.environment} inventory undo …`,
        });
      }
      const stock = await readStock(session.service);
      const plan = planUndo(changes, stock);
      await agree(context, session, plan, options.wait === true);
      const resume = (run: bigint): string => `petstore inventory import --resume ${run}`;
      return start({ context, session, journal, resume }, { kind: 'undo', command: `undo of ${what}` }, plan, stock);
    });
  });
}

function changesFor(journal: Journal, { changeId, last, import: run }: UndoOptions): Change[] {
  const applied = (changes: readonly Change[]): Change[] => changes.filter(({ state }) => state === 'applied');
  if (run !== undefined) return orNone(applied(journal.changesOf(run)), `Run ${run} has changed nothing`);
  if (changeId !== undefined) {
    return orNone(
      applied(journal.history({ id: changeId, limit: 1 })),
      `There is no change ${changeId} that was applied`,
    );
  }
  if (last !== true) {
    throw new Failure('usage', { problem: 'Say what to undo: a change by its number, --last, or --import RUN.' });
  }
  return orNone(applied(journal.history({ limit: 50 })).slice(0, 1), 'This machine has changed nothing yet');
}

function orNone(changes: Change[], problem: string): Change[] {
  if (changes.length > 0) return changes;
  throw new Failure('cannot-resume', { problem, hint: 'See what there is: petstore inventory history' });
}

function planUndo(changes: readonly Change[], stock: Stock): Plan {
  const steps: Step[] = [];
  const obstacles: Obstacle[] = [];
  let unchanged = 0;
  for (const { petId, before, after } of changes) {
    const present = stock.get(petId)?.quantity;
    const obstacle = (state: Obstacle['state'], reason: string): void => {
      obstacles.push({
        petId,
        after: before ?? after,
        state,
        reason,
        ...(present !== undefined && { before: present }),
      });
    };
    if (present === undefined) obstacle('failed', NO_SUCH_PET);
    else if (before === undefined) obstacle('conflict', 'what was there before is not known');
    else if (present === before) unchanged++;
    else if (present !== after) {
      obstacle(
        'conflict',
        `there are ${present} now, no longer the ${after} that were written: somebody else has changed it`,
      );
    } else steps.push({ petId, before: present, after: before });
  }
  return { steps, unchanged, obstacles };
}
