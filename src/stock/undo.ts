/** `inventory undo`: sets pets back to what they were before this machine changed them, if nothing else has since. */
import type { CommandContext } from '../session/globals.ts';
import { discardCommand, resumeCommand } from '../session/run-commands.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { Change, Journal, Run } from '../state/journal.ts';
import type { RecordView, View } from '../view/view.ts';
import { capital, plural } from '../view/words.ts';
import { changedBy } from './runner.ts';
import { applyPlan, assertCanConfirm, dryRunPlan, isLeft, type RunSpec } from './apply.ts';
import { withJournal, withLockedJournal } from './open-journal.ts';
import { assertSameEnvironment, assertSameOrigin } from './runs.ts';
import { commandWords } from './history-view.ts';
import { changeWords, makePlan, type Plan, type Stock } from './plan.ts';
import { recordOutcome } from './write-one.ts';

export interface UndoOptions {
  readonly changeId?: bigint;
  /** A run's number. */
  readonly run?: bigint;
  readonly dryRun?: boolean;
}

/** The last change of a pet, with the quantity from before the first one, and all that were written since. */
type Written = Change & { readonly written?: readonly bigint[] };

/** What is to be undone: a command's changes. */
interface Target {
  /** `change 12` or `run 3`. */
  readonly name: string;
  /** The options that name it. */
  readonly words: string;
  readonly changes: readonly [Written, ...Written[]];
  readonly run?: Run | undefined;
}

/** @throws {Failure} `usage`, `cannot-resume`, `cannot-undo`, and what connect throws */
export async function undo(context: CommandContext, options: UndoOptions): Promise<View> {
  if (options.changeId !== undefined && options.run !== undefined) {
    throw new Failure('usage', { problem: 'Name one thing to undo: a change, or --run.' });
  }
  const environment = (await context.settings()).environment.value;
  const find = (journal: Journal): Target => {
    const target = targetOf(journal, options, environment);
    assertSameEnvironment(environment, target.changes[0], capital(target.name), `inventory undo ${target.words}`);
    return target;
  };
  if (options.dryRun === true) {
    return withJournal(context, (journal) => dryRunPlan(context, specFor(find(journal), journal)));
  }
  assertCanConfirm(context);
  return withLockedJournal(context, 'undo', async (journal, turn): Promise<RecordView> => {
    const target = find(journal);
    const { changes, name, run, words } = target;
    await assertWriteAllowed(context, `inventory undo ${words}`);
    const uncertain = changes.filter(isLeft);
    if (uncertain.length > 0) {
      const of = run === undefined ? '' : ` of ${plural(uncertain.length, 'row')}`;
      context.notices.info(`The outcome${of} of ${titleOf(target)} is unknown; what is in stock now is shown.`);
    }
    const isUnfinished = run !== undefined && run.endedAt === undefined;
    const rest = isUnfinished ? journal.changesOf(run.id).filter(({ state }) => state === 'planned').length : 0;
    if (rest > 0)
      context.notices.info(`${capital(name)} is unfinished; the ${plural(rest, 'row')} left will be discarded.`);
    let isDiscarded = !isUnfinished;
    // Also without rows that were never sent: resumed, the run would send a row again whose outcome it does not know.
    const onBegin = async (): Promise<void> => {
      if (!isDiscarded) await journal.discard(run!.id, context.clock.now());
      isDiscarded = true;
    };
    const done = await applyPlan({ context, journal, turn }, { ...specFor(target, journal), onBegin });
    await onBegin();
    // A run that is resumed must not apply it again, and the next undo goes one further back.
    for (const { id } of done.failure === undefined ? uncertain : []) {
      await recordOutcome({ journal }, id, { state: 'discarded', reason: 'it was undone' });
    }
    return done;
  });
}

function targetOf(journal: Journal, options: UndoOptions, environment: string): Target {
  if (options.run !== undefined) return targetOfRun(journal, options.run);
  if (options.changeId !== undefined) {
    const change = journal.sentChange(options.changeId);
    if (change === undefined || !mayBeApplied(change))
      throw nothingFound(`Change ${options.changeId} does not exist or was not applied`);
    return targetOfChange(change);
  }
  const newest = journal.newestSent(environment);
  if (newest === undefined) {
    const problem = `This machine has not changed any stock in ${environment} yet`;
    throw nothingFound(problem, 'See changes of every environment: petstore inventory history --all-environments');
  }
  assertNoneUnfinishedSince(journal, newest);
  return newest.run === undefined ? targetOfChange(newest) : targetOfRun(journal, newest.run);
}

/** Refuses to take back what is older than a run that has sent nothing yet. @throws {Failure} `cannot-resume` */
function assertNoneUnfinishedSince(journal: Journal, { environment, run, sentAt = 0 }: Change): void {
  const [newer] = journal
    .runs({ environment, isUnfinished: true })
    .filter(({ id, left, startedAt }) => id !== run && left > 0 && startedAt >= sentAt);
  if (newer === undefined) return;
  throw new Failure('cannot-resume', {
    problem: `The newest command, run ${newer.id} (${newer.kind}), is unfinished and has changed nothing yet`,
    hint: `Resume it with: ${resumeCommand(newer)} or discard it with: ${discardCommand(newer)}`,
  });
}

function targetOfChange(change: Change): Target {
  return { name: `change ${change.id}`, words: `${change.id}`, changes: [change] };
}

function targetOfRun(journal: Journal, id: bigint): Target {
  const run = journal.run(id);
  if (run === undefined) throw nothingFound(`Run ${id} does not exist`);
  const [first, ...others] = foldPets(journal.changesOf(id).filter(mayBeApplied));
  if (first === undefined) throw nothingFound(`Run ${id} has changed nothing`);
  return { name: `run ${id}`, words: `--run ${id}`, changes: [first, ...others], run };
}

/** `change 12 (set)`. */
function titleOf({ name, changes: [{ command }] }: Target): string {
  return `${name} (${commandWords(command)})`;
}

/** Returns the changes of a pet as one: a smoke test sets its pet several times. */
function foldPets(changes: readonly Change[]): Written[] {
  const byPet = Map.groupBy(changes, ({ petId }) => petId);
  return [...byPet.values()].map((all) => ({
    ...all.at(-1)!,
    before: all[0]!.before,
    written: all.map(({ after }) => after),
  }));
}

/** True for what was applied, or may have been: the stock shows which. */
function mayBeApplied({ state, sentAt }: Change): boolean {
  return (
    state === 'applied' || state === 'sent' || state === 'unknown' || (state === 'conflict' && sentAt !== undefined)
  );
}

function nothingFound(problem: string, hint = 'See what was changed: petstore inventory history'): Failure {
  return new Failure('cannot-resume', { problem, hint });
}

function specFor(target: Target, journal: Journal): RunSpec {
  const { changes, name, words } = target;
  const isOne = changes.length === 1;
  return {
    kind: 'undo',
    command: `undo of ${name}`,
    question: `Undo ${titleOf(target)}`,
    plan(stock) {
      const plan = planUndo(changes, stock, journal);
      const [obstacle] = plan.obstacles;
      if (!isOne || obstacle === undefined) return plan;
      throw new Failure('cannot-undo', { petId: obstacle.petId, reason: obstacle.reason });
    },
    ...(isOne && {
      lines: ({ steps }: Plan, environment: string) => steps.map((step) => `${changeWords(step)} in ${environment}`),
    }),
    check(session) {
      assertSameOrigin(session, changes[0], capital(name), `inventory undo ${words}`);
    },
  };
}

function planUndo(changes: readonly Written[], stock: Stock, journal: Journal): Plan {
  const rows = changes.map((change) => ({ petId: change.petId, quantity: change.before ?? change.after, change }));
  return makePlan(rows, stock, ({ change }, present) => {
    const { before, after, sentAt, written = [after] } = change;
    if (before === undefined) return 'the earlier quantity was not recorded';
    if (present === before || written.includes(present)) return undefined;
    const by = changedBy(journal, change, present, sentAt ?? 0);
    return `there are ${present} now, no longer the ${after} that were written: ${by}`;
  });
}
