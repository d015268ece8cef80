/**
 * `inventory undo`: sets pets back to what they were before this machine changed them, if nothing else has since.
 * `inventory redo` does the same with what an undo has changed.
 */
import type { CommandContext } from '../session/globals.ts';
import { discardCommand, resumeCommand } from '../session/run-commands.ts';
import { assertWriteAllowed } from '../session/resolve.ts';
import { Failure, usageFailure } from '../errors.ts';
import type { Change, Journal, Run } from '../state/journal.ts';
import { isLeft, mayBeApplied } from '../state/journal-rows.ts';
import type { RecordView, View } from '../view/view.ts';
import { capital, changeWords, plural } from '../view/words.ts';
import { changedBy } from './runner.ts';
import { applyPlan, assertCanConfirm, dryRunPlan, type RunSpec } from './apply.ts';
import { withJournal, withLockedJournal } from './open-journal.ts';
import { assertSameOrigin, cannotResume } from './runs.ts';
import { commandWords } from './history-view.ts';
import { petLocksOf } from './pet-lock.ts';
import { makePlan, type Plan, type Stock } from './plan.ts';

export interface UndoOptions {
  readonly changeId?: bigint;
  /** Number of a run. */
  readonly run?: bigint;
  readonly dryRun?: boolean;
}

/** A pet's last change, with the quantity before its first one, and all quantities that were written since. */
type Written = Change & { readonly written: readonly bigint[] };

/** What to undo: the changes of a command, or for a redo those of an undo. */
interface Target {
  /** The command that is undone or redone. */
  readonly undoes: Pick<Run, 'undoesRun' | 'undoesChange'>;
  /** `change 12` or `run 3`. */
  readonly name: string;
  /** `change 12 (set)` */
  readonly title: string;
  /** `inventory undo 12` */
  readonly words: string;
  readonly changes: readonly [Written, ...Written[]];
  readonly run: Run | undefined;
}

type Direction = 'undo' | 'redo';

/** @throws {Failure} `usage`, `cannot-resume`, `cannot-undo`, and what connect throws */
export async function undo(
  context: CommandContext,
  options: UndoOptions,
  direction: Direction = 'undo',
): Promise<View> {
  if (options.changeId !== undefined && options.run !== undefined) {
    throw usageFailure('Name one thing to undo: a change, or --run.');
  }
  const environment = (await context.settings()).environment.value;
  const find = async (journal: Journal): Promise<Target> => {
    const target = findTarget(journal, options, environment, direction);
    await assertSameOrigin(context, target.changes[0], capital(target.name), target.words);
    return target;
  };
  if (options.dryRun === true) {
    return withJournal(context, async (journal) => {
      const target = await find(journal);
      context.notices.info(`Would ${direction} ${target.title} in ${environment}.`);
      announce(context, journal, target, 'would');
      return dryRunPlan(context, specFor(target, journal, direction));
    });
  }
  return withLockedJournal(context, direction, async (journal, turn): Promise<RecordView> => {
    const target = await find(journal);
    assertCanConfirm(context);
    await assertWriteAllowed(context);
    const replaces = announce(context, journal, target, 'will');
    return applyPlan(
      { context, journal, turn },
      {
        ...specFor(target, journal, direction),
        replaces,
        async onConnected(session) {
          // A command may still be sending the change: its lock is free once it knows the outcome.
          if (target.run === undefined && replaces.uncertain.length > 0)
            await petLocksOf(context, session)(target.changes[0].petId, () => Promise.resolve());
        },
      },
    );
  });
}

/** Announces rows of unknown outcome, and rows that are left. */
function announce({ notices }: CommandContext, journal: Journal, target: Target, verb: 'will' | 'would') {
  const { changes, run } = target;
  const title = run?.kind === 'undo' || run?.kind === 'redo' ? `the ${run.kind} of ${target.title}` : target.title;
  const uncertain = changes.filter(isLeft);
  if (uncertain.length > 0) {
    const of = run === undefined ? '' : ` of ${plural(uncertain.length, 'row')}`;
    notices.info(`The outcome${of} of ${title} is unknown; it is compared with what is in stock now.`);
  }
  const rest = run === undefined ? 0 : journal.changesOf(run.id).filter(({ state }) => state === 'planned').length;
  if (rest > 0) notices.info(`Run ${run?.id} is unfinished; the ${plural(rest, 'row')} left ${verb} be discarded.`);
  return { title, uncertain, run: run?.endedAt === undefined ? run : undefined };
}

function findTarget(journal: Journal, options: UndoOptions, environment: string, direction: Direction): Target {
  const { changeId, run: runId } = options;
  // One undo beside another of the same command would never end it.
  if (runId !== undefined) {
    refuseUnfinished(journal, `run ${runId}`, ({ undoesRun }) => undoesRun === runId);
    return undoOfRun(journal, runId);
  }
  if (changeId !== undefined) {
    refuseUnfinished(journal, `change ${changeId}`, ({ undoesChange }) => undoesChange === changeId);
    const change = journal.sentChange(changeId);
    if (change === undefined || !mayBeApplied(change))
      throw nothingFound(`Change ${changeId} does not exist or was not applied`);
    return undoOfChange(journal, change);
  }
  const newest = journal.newestSent(environment, direction);
  const isNewer = ({ id }: Run): boolean =>
    id !== newest?.run && journal.changesOf(id).some((row) => isLeft(row) && row.turn > (newest?.turn ?? 0n));
  refuseUnfinished(journal, undefined, (each) => each.environment === environment && isNewer(each));
  const run = newest?.run === undefined ? undefined : journal.run(newest.run);
  // Only what the undo or redo itself has changed.
  if (run?.kind === 'undo' || run?.kind === 'redo') return targetOf(journal, run, `inventory ${direction}`, run);
  if (newest === undefined || direction === 'redo') throw nothingLeft(journal, environment, direction);
  return run === undefined ? undoOfChange(journal, newest) : undoOfRun(journal, run.id);
}

function nothingLeft(journal: Journal, environment: string, direction: Direction): Failure {
  const [changes = []] = journal.history({ environment, limit: 1 });
  if (changes.length === 0) {
    const problem = `This machine has not changed any stock in ${environment} yet`;
    return nothingFound(problem, 'See changes of every environment: petstore inventory history --all-environments');
  }
  return direction === 'undo'
    ? nothingFound(`There is nothing left to undo in ${environment}`)
    : nothingFound(`There is nothing to redo in ${environment}: nothing was undone after the newest change`);
}

/**
 * Refuses to pass over an unfinished run: a newer one that has perhaps sent nothing yet, or an undo or redo of `of`.
 * @throws {Failure} `cannot-resume`
 */
function refuseUnfinished(journal: Journal, of: string | undefined, isMeant: (run: Run) => boolean): void {
  const found = journal.unfinished().find(isMeant);
  if (found === undefined) return;
  const { id, kind } = found;
  const nothing = journal.changesOf(id).some(mayBeApplied) ? '' : ' and has changed nothing yet';
  const what = of === undefined ? 'newest command' : `${kind} of ${of}`;
  throw cannotResume(
    `The ${what}, run ${id} (${kind}), is unfinished${nothing}`,
    `Resume it with: ${resumeCommand(found)} or discard it with: ${discardCommand(found)}`,
  );
}

function undoOfChange(journal: Journal, change: Change): Target {
  const { id, run } = change;
  assertNoUndo(journal, `Change ${id}`, run === undefined ? undefined : journal.run(run));
  return targetOf(journal, { undoesChange: id }, `inventory undo ${id}`, change);
}

function undoOfRun(journal: Journal, id: bigint): Target {
  const run = journal.run(id);
  if (run === undefined) throw cannotResume(`Run ${id} does not exist`);
  assertNoUndo(journal, `Run ${id}`, run);
  return targetOf(journal, { undoesRun: id }, `inventory undo --run ${id}`, run);
}

function assertNoUndo(journal: Journal, what: string, run: Run | undefined): void {
  if (run?.kind !== 'undo' && run?.kind !== 'redo') return;
  const reverse = 'Reverse it with: petstore inventory';
  const [words, hint] = run.kind === 'undo' ? ['an undo', `${reverse} redo`] : ['a redo', `${reverse} undo`];
  const [[newest] = []] = journal.history({ environment: run.environment, limit: 1 });
  // Otherwise that command would take another one.
  throw nothingFound(`${what} is ${words}`, newest?.run === run.id ? hint : undefined);
}

/** @param reversed the change, or the run whose changes are reversed: a command's, or for a redo an undo's */
function targetOf(
  journal: Journal,
  { undoesRun, undoesChange }: Target['undoes'],
  words: string,
  reversed: Change | Run,
): Target {
  const run = 'kind' in reversed ? reversed : undefined;
  const all = 'kind' in reversed ? journal.changesOf(reversed.id).filter(mayBeApplied) : [reversed];
  const [first, ...others] = foldPets(all, run?.endedAt === undefined);
  if (first === undefined) throw nothingFound(`Run ${reversed.id} has changed nothing`);
  const name = undoesRun === undefined ? `change ${undoesChange}` : `run ${undoesRun}`;
  const made = undoesRun === undefined ? journal.sentChange(undoesChange ?? 0n) : journal.changesOf(undoesRun)[0];
  const title = made === undefined ? name : `${name} (${commandWords(made.command)})`;
  return { undoes: { undoesRun, undoesChange }, name, title, words, changes: [first, ...others], run };
}

/** Combines the changes of each pet: a smoke test sets its pet several times, and may be stopped after any of them. */
function foldPets(changes: readonly Change[], isStopped: boolean): Written[] {
  const byPet = Map.groupBy(changes, ({ petId }) => petId);
  return [...byPet.values()].map((all) => ({
    ...all.at(-1)!,
    before: all[0]!.before,
    written: (isStopped ? all : all.slice(-1)).map(({ after }) => after),
  }));
}

function nothingFound(problem: string, hint = 'See what was changed: petstore inventory history'): Failure {
  return cannotResume(problem, hint);
}

function specFor({ changes, name, title, undoes }: Target, journal: Journal, direction: Direction): RunSpec {
  const isOne = changes.length === 1;
  return {
    kind: direction,
    ...undoes,
    command: `${direction} of ${name}`,
    question: () => `${capital(direction)} ${title}`,
    plan(stock) {
      const plan = planUndo(changes, stock, journal);
      const [obstacle] = plan.obstacles;
      if (!isOne || obstacle === undefined) return plan;
      throw new Failure('cannot-undo', { petId: obstacle.petId, reason: obstacle.reason, direction });
    },
    ...(isOne && {
      lines: ({ steps }: Plan) =>
        steps.map((step) => `${changeWords(step, changes[0].name)} in ${changes[0].environment}`),
    }),
  };
}

function planUndo(changes: readonly Written[], stock: Stock, journal: Journal): Plan {
  const rows = changes.map((change) => {
    const { after, before = after, petId } = change;
    // Where the next change has found the earlier quantity, there is nothing to take back.
    const isMoot = isLeft(change) && journal.foundAfter(change) === before;
    return { petId, quantity: (isMoot ? stock.get(petId)?.quantity : undefined) ?? before, change };
  });
  return makePlan(rows, stock, ({ change, quantity }, present) => {
    const { before, after, written } = change;
    if (before === undefined) return 'the earlier quantity was not recorded';
    if (present === quantity) return undefined;
    // The pet may have the quantity that was written for another reason.
    if (journal.isUndone(change)) return 'it was undone already';
    if (written.includes(present)) return undefined;
    const by = changedBy(journal, change, present);
    return `there are ${present} now, no longer the ${after} that were written: ${by}`;
  });
}
