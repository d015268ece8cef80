/** Reports the outcome of a run: counts, the report file, and the failure for the exit code. */
import type { CommandContext } from '../session/globals.ts';
import { showsInfo, undoLine } from '../session/resolve.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { Failure, fileFailure, isFailure, midway } from '../errors.ts';
import { describeFailure, firstCause } from '../report/failures.ts';
import { type Change, type ChangeState, isLeft, isUnapplied, type NewChange, type Run } from '../state/journal.ts';
import { confirmation, type RecordView } from '../view/view.ts';
import { capital, petLabel, plural } from '../view/words.ts';
import { unscanned } from './plan.ts';
import type { RunContext, Runner, Stock } from './runner.ts';
import { stringify } from 'csv-stringify/sync';
import { openNames } from '../session/open-catalog.ts';
import { joinPath, statePath } from '../session/paths.ts';
import { csvCell } from '../view/formats.ts';

/** How many rows that were not applied are named, with the reason; the report has all. */
const FEW = 5;

/**
 * Ends a run unless rows are left, and returns its summary.
 * @param tried ids of the rows that it has tried to apply; a plan that was printed has the others
 */
export async function summarise(
  { context, journal, failures }: Pick<RunContext, 'context' | 'journal'> & Pick<Runner, 'failures'>,
  run: Run,
  stock: Stock,
  stopped: Failure | undefined,
  unchanged: number,
  tried: ReadonlySet<bigint>,
): Promise<RecordView> {
  const { id, environment } = run;
  const { clock, notices } = context;
  const recorded = journal.changesOf(id);
  // Only a change whose outcome could not be recorded is still `sent`.
  const changes = recorded.map((change) =>
    change.state === 'sent' ? { ...change, state: 'unknown' as const, ...failures.get(change.id) } : change,
  );
  const counts = countStates(changes, unchanged);
  const resume = resumeCommand(run);
  if (!recorded.some(isLeft))
    await journal.end(id, clock.now()).catch((error: unknown) => {
      // A run without rows left counts as finished anyway. But what was read of a replaced file is not what happened.
      if (!isFailure(error) || !error.is('state') || error.details.problem === 'replaced') throw error;
    });
  else notices.warning(`Run ${id} is unfinished. Resume it with: ${resume}`);
  const [only, ...others] = changes;
  const isOne = only !== undefined && others.length === 0;
  const news = changes.filter((change) => tried.has(change.id) || !showsInfo(context.globals));
  const undone = news.filter((change) => isOne || isUnapplied(change));
  for (const { petId, reason } of undone.slice(0, FEW)) {
    if (reason !== undefined) notices.warning(`Pet ${petId}: ${reason}.`);
  }
  if (undone.length > FEW) notices.warning(`Not applied either: ${plural(undone.length - FEW, 'more row')}.`);
  const report = isOne && run.kind !== 'count' ? undefined : await writeReport(context, run, changes, stock);
  const failure = failureOf(counts, stopped, resume, report && abbreviated(report, context));
  // If rows have failed, the error names the report.
  if (report !== undefined && failure?.is('run-incomplete') !== true) {
    notices.info(`Report: ${abbreviated(report, context)}`);
  }
  const words = { undo: ' Undone.', redo: ' Redone.' } as const;
  const done = (run.kind === 'undo' || run.kind === 'redo') && failure === undefined ? words[run.kind] : '';
  const isDone = failure === undefined || failure.is('run-incomplete');
  const canUndo = isDone && counts.applied > 0 && ['import', 'count', 'edit'].includes(run.kind);
  const text =
    isOne && done !== '' && only.state === 'applied'
      ? `${capital(petLabel(only.petId, only.name))}: ${only.before} → ${only.after}.${done}`
      : `Run ${id} (${run.kind}) in ${environment}: ${countWords(counts)}.${done}${canUndo ? await undoLine(context) : ''}`;
  return confirmation(text, summaryMembers(environment, counts, id, report), failure && { failure });
}

type Counts = Record<ChangeState, number>;

/** @param unchanged number of pets that the plan left out because they need no change */
export function countStates(changes: readonly Pick<Change, 'state'>[], unchanged: number): Counts {
  const counts = { planned: 0, sent: 0, applied: 0, failed: 0, unknown: 0, unchanged, conflict: 0, discarded: 0 };
  for (const { state } of changes) counts[state]++;
  return counts;
}

/** `8 applied, 1 unchanged, …`: without the zeros, except the first. */
function countWords({ applied, unchanged, conflict, failed, unknown, planned, discarded }: Counts): string {
  const conflicts = { [conflict === 1 ? 'conflict' : 'conflicts']: conflict };
  const others = { unchanged, ...conflicts, failed, unknown, 'left to do': planned, discarded };
  const parts = Object.entries(others).flatMap(([word, n]) => (n > 0 ? [`${n} ${word}`] : []));
  return [`${applied} applied`, ...parts].join(', ');
}

export function summaryMembers(
  environment: string,
  { applied, unchanged, conflict: conflicts, failed, unknown, planned: left }: Counts,
  run: bigint | null = null,
  report: string | null = null,
) {
  return { run, environment, applied, unchanged, conflicts, failed, unknown, left, report };
}

/** Returns the failure of a run; of several causes the most important one. */
function failureOf(
  { applied, planned, unknown, failed, conflict: conflicts }: Counts,
  stopped: Failure | undefined,
  resume: string,
  report: string | undefined,
): Failure | undefined {
  const outcome = unknown > 0 ? 'unknown' : planned === 0 && applied > 0 ? 'applied' : undefined;
  // The unknown rows include the one that the run stopped at.
  const because = unknown > 0 && stopped?.is('outcome-unknown') === true ? stopped.details.because : undefined;
  // A signal that came too late to stop anything is not a failure.
  const isOver = stopped?.is('deadline') === true && planned + unknown === 0;
  const causes: Failure[] = [];
  if (stopped?.is('interrupted') === true) {
    const isTold = outcome === undefined || stopped.details.outcome === outcome;
    const own = midway(stopped, outcome === 'applied' ? undefined : resume);
    causes.push(isTold ? own : new Failure('interrupted', { signal: stopped.details.signal, outcome }, stopped));
  } else if (stopped !== undefined && because === undefined && !isOver) causes.push(midway(stopped, resume));
  const why = because ?? (stopped && midway(stopped));
  if (unknown > 0) causes.push(new Failure('run-unknown', { unknown, resume, because: why }));
  if (failed + conflicts > 0) causes.push(new Failure('run-incomplete', { failed, conflicts, report }));
  const first = firstCause(causes);
  // A refusal that stopped the run tells nothing about such a row.
  if (unknown > 0 && first !== undefined) first.outcome = 'unknown';
  return first;
}

type ReportRow = Omit<NewChange, 'after' | 'state'> & { readonly after?: bigint; readonly state: string };

/**
 * Writes the report: a CSV file in the state folder with each row's outcome and, after a stocktake, the unscanned pets.
 * @returns its path; undefined if it could not be written, which does not fail the run
 */
async function writeReport(
  context: CommandContext,
  run: Run,
  changes: readonly Change[],
  stock: Stock,
): Promise<string | undefined> {
  try {
    const folder = statePath(context, 'reports');
    const path = joinPath(folder, `${run.kind}-${run.id}.csv`);
    await context.files.makePrivateFolder(folder);
    const rest = run.kind === 'count' ? unscanned(changes, stock) : [];
    const left = rest.map(({ petId, quantity }) => ({ petId, before: quantity, state: 'not scanned' }));
    const all: readonly ReportRow[] = [...changes, ...left];
    const names = await openNames(context, run.origin, all);
    const heading = ['line', 'petId', 'before', 'after', 'state', 'reason', 'difference', 'name'];
    const rows = all.map(({ line, petId, before, after, state, reason }) => {
      const difference = before === undefined || after === undefined ? undefined : after - before;
      const cells = [line, petId, before, after, state, reason, difference, names?.get(petId)];
      return cells.map((cell) => csvCell(cell ?? ''));
    });
    await context.files.replace(path, stringify([heading, ...rows]), { mode: 0o600 });
    return path;
  } catch (error) {
    const failure = isFailure(error) ? error : fileFailure('write', statePath(context, 'reports'), error);
    context.notices.warning(`There is no report of this run. ${describeFailure(failure, context.clock.now()).message}`);
    return undefined;
  }
}

/** Abbreviates the home folder in a path to `~`. */
function abbreviated(path: string, { env }: Pick<CommandContext, 'env'>): string {
  const home = env.HOME ?? '';
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
