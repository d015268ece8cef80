/**
 * `inventory undo`: sets pets back to what they were before this machine changed them, if nothing else has since.
 * `inventory redo` does the same with what an undo has changed.
 */
import type { CommandContext } from '../session/globals.ts';
import { discardCommand, resumeCommand } from '../session/run-commands.ts';
import { assertWriteAllowed } from '../session/resolve.ts';
import { Failure, usageFailure } from '../errors.ts';
import { type Change, isLeft, type Journal, mayBeApplied, type Run } from '../state/journal.ts';
import type { RecordView, View } from '../view/view.ts';
import { capital, changeWords, firstFew, plural } from '../view/words.ts';
import { changedSince, type Stock } from './runner.ts';
import { applyPlan, assertCanConfirm, type RunSpec } from './apply.ts';
import { openJournal, withLockedJournal } from './open-journal.ts';
import { assertSameOrigin, cannotResume } from './runs.ts';
import { commandWords } from './history-view.ts';
import { dryRunPlan, makePlan, type Plan } from './plan.ts';

/** A pet's last change, with the quantity before its first one, and all quantities that were written since. */
type Written = Change & { readonly written: readonly bigint[] };

/** What to undo: the changes of a command, or for a redo those of an undo. */
interface Target {
  /** The command that is undone or redone. */
  readonly undoes: Pick<Run, 'undoesRun' | 'undoesChange'>;
  /** `change 12 (set)` */
  readonly title: string;
  readonly changes: readonly [Written, ...Written[]];
  readonly run: Run | undefined;
}

type Direction = 'undo' | 'redo';

/** @throws {Failure} `usage`, `cannot-resume`, `cannot-undo`, and what connect throws */
export async function undo(
  context: CommandContext,
  options: Target['undoes'] & { readonly dryRun?: boolean | undefined },
  direction: Direction = 'undo',
): Promise<View> {
  if (options.undoesChange !== undefined && options.undoesRun !== undefined) {
    throw usageFailure('Name one thing to undo: a change, or --run.');
  }
  const environment = (await context.settings()).environment.value;
  const find = async (journal: Journal): Promise<Target> => {
    const isNamed = (options.undoesChange ?? options.undoesRun) !== undefined;
    const target = isNamed ? undoOf(journal, options) : nextTarget(context, journal, environment, direction);
    const { changes, undoes } = target;
    await assertSameOrigin(context, changes[0], capital(nameOf(undoes)), `inventory undo ${numberOf(undoes)}`);
    return target;
  };
  if (options.dryRun === true) {
    using journal = await openJournal(context);
    const target = await find(journal);
    context.notices.info(`Would ${direction} ${target.title} in ${environment}.`);
    announce(context, journal, target, 'would');
    return await dryRunPlan(context, specFor(target, journal, direction));
  }
  return withLockedJournal(context, direction, async (journal, turn): Promise<RecordView> => {
    const target = await find(journal);
    assertCanConfirm(context);
    await assertWriteAllowed(context);
    const replaces = announce(context, journal, target, 'will');
    return applyPlan({ context, journal, turn }, { ...specFor(target, journal, direction), replaces });
  });
}

/** Announces rows of unknown outcome, and rows that are left. */
function announce({ notices }: CommandContext, journal: Journal, target: Target, verb: 'will' | 'would') {
  const { changes, run } = target;
  const title = run?.kind === 'undo' || run?.kind === 'redo' ? `the ${run.kind} of ${target.title}` : target.title;
  const uncertain = changes.filter(isLeft);
  if (uncertain.length > 0) {
    const of = run === undefined ? '' : ` of ${plural(uncertain.length, 'row')}`;
    notices.info(`The outcome${of} of ${title} is unknown; comparing it with the current stock.`);
  }
  const rest = run === undefined ? 0 : journal.changesOf(run.id).filter(({ state }) => state === 'planned').length;
  if (rest > 0) notices.info(`Run ${run?.id} is unfinished; the ${plural(rest, 'row')} left ${verb} be discarded.`);
  return { title, uncertain, run: run?.endedAt === undefined ? run : undefined };
}

function nextTarget({ notices }: CommandContext, journal: Journal, environment: string, direction: Direction): Target {
  const newest = journal.newestSent(environment, direction);
  const newerOf = ({ id }: Run): Change[] =>
    id === newest?.run ? [] : journal.changesOf(id).filter(({ turn }) => turn > (newest?.turn ?? 0n));
  refuseUnfinished(journal, 'newest command', (each) => each.environment === environment && newerOf(each).some(isLeft));
  const [last] = journal.runs({ environment, limit: 1 });
  if (last?.kind === 'undo' && direction === 'undo') noteLeftOut(notices, journal, last, newerOf(last));
  const run = newest?.run === undefined ? undefined : journal.run(newest.run);
  // Only what the undo or redo itself has changed.
  if (run?.kind === 'undo' || run?.kind === 'redo') return targetOf(journal, run, journal.changesOf(run.id), run);
  if (newest === undefined || direction === 'redo') throw nothingLeft(journal, environment, direction);
  return undoOf(journal, run === undefined ? { undoesChange: newest.id } : { undoesRun: run.id });
}

/** Names the pets that the undo `last` has left out. A partial undo counts as a step: they do not block older commands. */
function noteLeftOut(notices: CommandContext['notices'], journal: Journal, last: Run, rows: readonly Change[]): void {
  if (!rows.some((row) => mayBeApplied(row) || row.state === 'unchanged')) return;
  const done = new Set(rows.flatMap(({ petId, state }) => (state === 'applied' || state === 'unchanged' ? petId : [])));
  const rest = changesOf(journal, last)
    // A pet that was redone is undone with that redo.
    .filter((each) => mayBeApplied(each) && !done.has(each.petId) && journal.lastUndo(each) === undefined);
  if (rest.length === 0) return;
  const what = `The undo of ${nameOf(last)} left out pet ${firstFew(rest.map(({ petId }) => petId))}.`;
  const how = `take it back with: petstore --env ${last.environment} inventory undo ${numberOf(last)}`;
  notices.info(`${what} If it has the quantity from ${nameOf(last)}, ${how}`);
}

function nothingLeft(journal: Journal, environment: string, direction: Direction): Failure {
  const [changes = []] = journal.history({ environment, limit: 1 });
  if (changes.length === 0) {
    const problem = `This machine has not changed any stock in ${environment} yet`;
    return nothingFound(problem, 'See changes of every environment: petstore inventory history --all-environments');
  }
  if (direction === 'undo') return nothingFound(`There is nothing left to undo in ${environment}`);
  return nothingFound(`There is nothing to redo in ${environment}: nothing was undone after the newest change`);
}

/**
 * Refuses to pass over an unfinished run: a newer one that has perhaps sent nothing yet, or an undo or redo.
 * @throws {Failure} `cannot-resume`
 */
export function refuseUnfinished(journal: Journal, title: string | undefined, isMeant: (run: Run) => boolean): void {
  const found = journal.unfinished().find(isMeant);
  if (found === undefined) return;
  const { id, kind } = found;
  const nothing = journal.changesOf(id).some(mayBeApplied) ? '' : ' and has changed nothing yet';
  throw cannotResume(
    `The ${title ?? `${kind} of ${nameOf(found)}`}, run ${id} (${kind}), is unfinished${nothing}`,
    `Resume it with: ${resumeCommand(found)} or discard it with: ${discardCommand(found)}`,
  );
}

/** Returns `change 12` or `run 3`. */
function nameOf({ undoesRun, undoesChange }: Target['undoes']): string {
  return undoesRun === undefined ? `change ${undoesChange}` : `run ${undoesRun}`;
}

/** Returns what `undo` is followed by: `12` or `--run 3`. */
function numberOf({ undoesRun, undoesChange }: Target['undoes']): string {
  return undoesRun === undefined ? `${undoesChange}` : `--run ${undoesRun}`;
}

function changesOf(journal: Journal, { undoesRun, undoesChange = 0n }: Target['undoes']): readonly Change[] {
  return undoesRun === undefined ? [journal.sentChange(undoesChange) ?? []].flat() : journal.changesOf(undoesRun);
}

function undoOf(journal: Journal, undoes: Target['undoes']): Target {
  const name = nameOf(undoes);
  // One undo beside another of the same command would never end it.
  refuseUnfinished(journal, undefined, (run) => nameOf(run) === name);
  const changes = changesOf(journal, undoes);
  const run = journal.run(undoes.undoesRun ?? changes[0]?.run ?? 0n);
  if (run?.kind === 'undo' || run?.kind === 'redo') {
    const reverse = 'Reverse it with: petstore inventory';
    const [words, hint] = run.kind === 'undo' ? ['an undo', `${reverse} redo`] : ['a redo', `${reverse} undo`];
    const [[newest] = []] = journal.history({ environment: run.environment, limit: 1 });
    // Otherwise that command would take another one.
    throw nothingFound(`${capital(name)} is ${words}`, newest?.run === run.id ? hint : undefined);
  }
  return targetOf(journal, undoes, changes, undoes.undoesRun === undefined ? undefined : run);
}

/** @param changes those that are reversed: of a command, or for a redo of an undo; of `run`, if all are of one */
function targetOf(journal: Journal, of: Target['undoes'], changes: readonly Change[], run: Run | undefined): Target {
  const undoes = { undoesRun: of.undoesRun, undoesChange: of.undoesChange };
  const name = nameOf(undoes);
  const [first, ...others] = foldPets(changes.filter(mayBeApplied), run?.endedAt === undefined);
  if (first === undefined) throw nothingFound(`${capital(name)} does not exist or was not applied`);
  const [made] = changesOf(journal, undoes);
  const title = made === undefined ? name : `${name} (${commandWords(made.command)})`;
  return { undoes, title, changes: [first, ...others], run };
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

function specFor({ changes, title, undoes }: Target, journal: Journal, direction: Direction): RunSpec {
  const isOne = changes.length === 1;
  return {
    kind: direction,
    ...undoes,
    command: `${direction} of ${nameOf(undoes)}`,
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
    const isUndone = journal.lastUndo(change) === 'undo';
    const isUnapplied = isLeft(change) && journal.foundAfter(change) !== after;
    if (present === quantity && (isUndone || isUnapplied || isReversed(journal, change))) return undefined;
    // The pet may have the quantity that was written for another reason.
    if (isUndone) return 'it was undone already';
    if (written.includes(present)) return undefined;
    return changedSince(journal, change, present, `the ${after} that were written`);
  });
}

/** Tells whether the pet's newest change is an undo or redo that has reversed this one, perhaps without an answer. */
function isReversed(journal: Journal, change: Change): boolean {
  const { run = 0n, before, after } = journal.newestOther(change) ?? {};
  const kind = journal.run(run)?.kind;
  return (kind === 'undo' || kind === 'redo') && before === change.after && after === change.before;
}
