/** `inventory runs`: lists imports, counts, edits and undos; resumes or discards those that were stopped. */
import { hash } from 'node:crypto';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { catalogOrigin } from '../session/open-catalog.ts';
import { fileName } from '../session/paths.ts';
import { resumeCommand, shellWord } from '../session/run-commands.ts';
import { readBytes } from '../session/read-text.ts';
import { assertWriteAllowed } from '../session/resolve.ts';
import { Failure } from '../errors.ts';
import type { RunFilter } from '../state/history.ts';
import type { Change, Journal, Run, RunSummary } from '../state/journal.ts';
import { isLeft, isUnapplied, isUncertain, mayBeApplied } from '../state/journal-rows.ts';
import { confirmation, FORMAT_FACTS, list, type RecordView, type RowsView } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { assertCanConfirm, resumeRun } from './apply.ts';
import { dryRunPlan, makePlan, type Plan } from './plan.ts';
import { outcomeUnsent, seeStock, type RunContext, type Stock } from './runner.ts';
import { lockStocktake, openJournal, requireProfile, withLockedJournal } from './open-journal.ts';

/** Resumes the newest stopped run, or the one that the user names. @throws {Failure} `cannot-resume` */
export function resumeStopped(context: CommandContext, id: bigint | undefined): Promise<RecordView> {
  return withLockedJournal(context, 'run', async (journal) =>
    resumeNamed({ context, journal }, await findRun(context, journal, id)),
  );
}

/** Shows what `resumeStopped` would change. @throws {Failure} `cannot-resume` */
export async function showResume(context: CommandContext, id: bigint | undefined): Promise<RowsView> {
  using journal = await openJournal(context);
  const run = await findRun(context, journal, id);
  const plan = await planOfRest(context, journal, run);
  await checkSource(context, run);
  return await dryRunPlan(context, { plan });
}

/** Returns the plan of the rows that an unfinished run has left. */
export async function planOfRest(context: CommandContext, journal: Journal, run: Run): Promise<(stock: Stock) => Plan> {
  await assertSameOrigin(context, run, `Run ${run.id}`, `inventory runs resume ${run.id}`);
  // Rows that could not be applied keep the shop from being as the file says, too.
  const left = journal
    .changesOf(run.id)
    .filter((change) =>
      isUncertain(change) ? journal.foundAfter(change) !== change.after : isLeft(change) || isUnapplied(change),
    );
  const rows = left.map((change) => ({ ...change, quantity: change.after, change }));
  return (stock) =>
    makePlan(rows, stock, ({ change }, present) => {
      const outcome = outcomeUnsent(journal, change, run, present);
      return isLeft(change) || outcome?.state === 'unchanged' ? outcome?.reason : change.reason;
    });
}

/** Resumes this run. The journal must be locked. @throws {Failure} `cannot-resume` */
export async function resumeNamed(runContext: Omit<RunContext, 'session'>, run: Run): Promise<RecordView> {
  const { context, journal } = runContext;
  await assertSameOrigin(context, run, `Run ${run.id}`, `inventory runs resume ${run.id}`);
  await checkSource(context, run);
  await assertWriteAllowed(context);
  if ((context.why?.cause ?? context.why?.note) !== undefined) {
    context.notices.warning(`Run ${run.id} keeps the cause and note that it began with.`);
  }
  await using session = await connect(context, { isBulk: true });
  return await resumeRun({ ...runContext, session }, run, await seeStock(session.service, journal));
}

export function cannotResume(problem: string, hint = 'See all runs: petstore inventory runs'): Failure {
  return new Failure('cannot-resume', { problem, hint });
}

/** Returns the run with this number, else the newest that can be resumed, first of all one of this environment. */
async function findRun(context: CommandContext, journal: Journal, id: bigint | undefined): Promise<Run> {
  const environment = (await context.settings()).environment.value;
  const unfinished = journal.unfinished();
  const ready = unfinished.filter(({ kind, left }) => kind !== 'smoke' && left > 0);
  const newest = ready.find((each) => each.environment === environment) ?? ready[0] ?? unfinished[0];
  const run = id === undefined ? newest : unfinishedRun(journal, id);
  if (run === undefined) throw cannotResume('There is nothing to resume');
  refuseSmoke(run);
  // Its scans are not rows yet: ending the run here would lose them.
  if (run.left > 0) return run;
  const problem = `Run ${run.id} is a stocktake that is still counting`;
  throw cannotResume(problem, `Continue it: ${resumeCommand(run)}`);
}

function refuseSmoke(run: Run): void {
  if (run.kind !== 'smoke') return;
  throw cannotResume(`Run ${run.id} is a smoke test that was stopped`, `Put its pet back with: ${resumeCommand(run)}`);
}

/** Returns why a finished run cannot be resumed, and what to do instead. */
function whyDone(run: Run, changes: readonly Change[]): [problem: string, hint?: string] {
  const { id, kind, source, adds } = run;
  const isOpen = (change: Change): boolean => adds === undefined || !mayBeApplied(change);
  const rest = changes.filter((each) => isUnapplied(each) && isOpen(each)).length;
  if (rest === 0) return [`Run ${id} is done`];
  const problem = `Run ${id} is done, and ${rest} of its rows could not be applied`;
  if (kind !== 'import') return [problem, 'Run the command again: it sends only what still differs.'];
  // Only the journal has the rows that came through a pipe.
  return [problem, source === '-' ? 'Import only those rows.' : `Apply only those: ${resumeCommand(run)}`];
}

/** Refuses a file that has changed since the user agreed to it. The rows themselves come from the journal. */
async function checkSource(context: CommandContext, { id, source, hash: before, adds }: Run): Promise<void> {
  if (source === undefined || source === '-' || before === undefined) return;
  // A pipe can be read only once.
  if ((await context.files.facts(source).catch(() => undefined))?.kind === 'other') return;
  const bytes = await readBytes(context, source).catch(() => undefined);
  if (bytes === undefined) {
    context.signal.throwIfAborted();
    context.notices.info(`${source} does not exist any more; run ${id} continues with the rows that it had.`);
    return;
  }
  if (hash('sha256', bytes) === before) return;
  throw cannotResume(
    `${source} has changed since run ${id} began`,
    adds !== undefined
      ? 'Restore the file to resume. A new import would add the rows again that were added already.'
      : `Import it again with: petstore inventory import ${shellWord(source)}`,
  );
}

/** Returns the view of runs, newest first. */
export async function listRuns(context: CommandContext, filter: RunFilter): Promise<RowsView<RunSummary>> {
  using journal = await openJournal(context);
  if (filter.environment !== undefined) await requireProfile(context, journal);
  const runs = journal.runs(filter);
  const { isForPeople } = FORMAT_FACTS[context.globals.output];
  // Hides columns of zeros, for which most tables have no room.
  const hasAny = (column: 'conflicts' | 'failed'): boolean => !isForPeople || runs.some((run) => run[column] > 0);
  return list<RunSummary>(
    runs,
    {
      run: ({ id }) => id,
      kind: ({ kind }) => kind,
      environment: ({ environment }) => environment,
      started: ({ startedAt }) => new Date(startedAt),
      state: stateOf,
      done: ({ done }) => done,
      // A finished run has nothing left, even if rows of unknown outcome were undone with it.
      left: ({ isUnfinished, left }) => (isUnfinished ? left : 0),
      ...(hasAny('conflicts') && { conflicts: ({ conflicts }: RunSummary) => conflicts }),
      ...(hasAny('failed') && { failed: ({ failed }: RunSummary) => failed }),
      source: ({ source = '', scans }) => {
        if (!isForPeople) return source;
        return source === '' && scans > 0 ? plural(scans, 'scan') : fileName(source);
      },
    },
    {
      // All rows have the environment that the user has named.
      looks: filter.environment === undefined ? {} : { environment: { yields: 0 } },
      empty: filter.isUnfinished === true ? 'No run was left unfinished.' : 'No runs yet.',
    },
  );
}

function stateOf({ kind, isUnfinished, discarded, done, left, scans, conflicts, failed }: RunSummary): string {
  if (isUnfinished) return 'unfinished';
  const isDiscardedCount = kind === 'count' && scans > 0 && done + left + conflicts + failed === 0;
  return discarded > 0 || isDiscardedCount ? 'discarded' : 'finished';
}

/** Ends an unfinished run; its rows are not applied. Asks first. @throws {Failure} `cannot-resume`, `cancelled` */
export async function discardRun(context: CommandContext, id: bigint): Promise<RecordView> {
  const { clock, globals, notices, prompt, signal } = context;
  return withLockedJournal(context, 'run', async (journal, turn) => {
    const run = unfinishedRun(journal, id);
    refuseSmoke(run);
    await assertSameOrigin(context, run, `Run ${id}`, `inventory runs discard ${id}`, true);
    assertCanConfirm(context);
    using _lock = run.kind === 'count' ? await lockStocktake(context, id) : undefined;
    for (const { petId, after } of journal.changesOf(id).filter(isUncertain)) {
      notices.warning(`Pet ${petId} may or may not have been set to ${after}. To find out, resume the run instead.`);
    }
    const { environment } = run;
    const restOf = ({ left, scans }: RunSummary) => (left > 0 ? plural(left, 'row') : plural(scans, 'scan'));
    const question = `Discard the ${restOf(run)} left of run ${id} in ${environment}?`;
    if (!globals.yes && !(await turn.pause(() => prompt.confirm(question, signal)))) {
      throw new Failure('cancelled', {});
    }
    // Another process may have resumed it during the question.
    const rest = unfinishedRun(journal, id);
    await journal.end(id, clock.now());
    return confirmation(`Run ${id} (${run.kind}) is discarded: ${restOf(rest)} left out.`, [
      ['run', id],
      ['environment', environment],
      ['discarded', rest.left > 0 ? rest.left : rest.scans],
    ]);
  });
}

function unfinishedRun(journal: Journal, id: bigint): RunSummary {
  const run = journal.unfinished().find((each) => each.id === id);
  if (run !== undefined) return run;
  const done = journal.run(id);
  if (done === undefined) throw cannotResume(`Run ${id} does not exist`);
  throw cannotResume(...whyDone(done, journal.changesOf(id)));
}

/**
 * Requires the environment and, unless `anywhere`, the address that a run or change was made with.
 * @param command what the user can run in the right environment
 * @throws {Failure} `cannot-resume`
 */
export async function assertSameOrigin(
  context: CommandContext,
  made: Pick<Run, 'environment' | 'origin'>,
  what: string,
  command: string,
  anywhere = false,
): Promise<void> {
  const environment = (await context.settings()).environment.value;
  if (made.environment !== environment) {
    const problem = `${what} is for ${made.environment}, and the environment is ${environment}`;
    throw cannotResume(problem, `Name the environment: petstore --env ${made.environment} ${command}`);
  }
  if (anywhere) return;
  const origin = await catalogOrigin(context);
  if (made.origin === origin) return;
  const problem = `${what} is for ${made.origin}, and ${environment} is at ${origin} now`;
  throw cannotResume(problem, 'Give the base URL that it was made with: --base-url');
}
