/** Applies a plan: shows it, asks, journals it, runs it, compares the stock with it, and reports. */
import { FOREVER_MS } from '../duration.ts';
import { connect, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk } from '../session/write-policy.ts';
import { Failure, isFailure } from '../errors.ts';
import { firstCause } from '../report/failures.ts';
import type { Change, Journal, NewRun, Run } from '../state/journal.ts';
import { clockTime, duration } from '../view/progress.ts';
import { confirmation, type RecordView } from '../view/view.ts';
import { capital, plural } from '../view/words.ts';
import { look, midway, type Outcome, readStock, Runner, type Seen } from './runner.ts';
import { Pace } from './concurrency.ts';
import { resumeCommand, whereOf } from './origin.ts';
import { forecastMs, type Plan, type Stock } from './plan.ts';
import { abbreviated, writeReport } from './report-file.ts';
import { type Counts, countStates, countWords, planLines } from './plan-view.ts';
import { withPetLock } from './pet-lock.ts';

export interface RunSpec extends Pick<NewRun, 'kind' | 'source' | 'hash'> {
  /** As the history shows it. */
  readonly command: string;
  /** A run whose rows are still to be planned: a stocktake. */
  readonly run?: Run;
  plan(stock: Stock): Plan;
  /** Checks that the session is for the right service. @throws {Failure} */
  check?(session: Session): void;
}

export interface RunContext {
  readonly context: CommandContext;
  readonly session: Session;
  readonly journal: Journal;
  /** The file of the journal, if it is not the state database. */
  readonly journalFile?: string | undefined;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
}

/** Plans a run for the present stock, asks, and applies it. */
export async function applyPlan(runContext: Omit<RunContext, 'session'>, spec: RunSpec): Promise<RecordView> {
  const { context, journal } = runContext;
  let plan: Plan;
  {
    await using session = await connect(context, { isBulk: true });
    spec.check?.(session);
    const seen = await look(session.service, journal);
    plan = spec.plan(seen.stock);
    if (!(await confirmPlan(context, session, plan)))
      return await startRun({ ...runContext, session }, spec, plan, seen);
  }
  // The user agreed to a longer wait than that session allows; the stock is read again.
  const patient = { ...context, globals: { ...context.globals, maxWait: FOREVER_MS } };
  await using session = await connect(patient, { isBulk: true });
  return await startRun({ ...runContext, session }, spec, plan, await look(session.service, journal));
}

/**
 * Shows the plan, and asks on a terminal. --yes answers the question, not how long to wait.
 * @returns whether the user has agreed to a wait beyond --max-wait
 * @throws {Failure} `cancelled`, `run-too-long`
 */
async function confirmPlan(context: CommandContext, session: Session, plan: Plan): Promise<boolean> {
  const { clock, globals, notices, prompt, signal } = context;
  const requests = plan.steps.length + 1;
  const ms = forecastMs(requests, session.service.gate.limits, globals.reserve, clock.now());
  const tooLong = ms > globals.maxWait;
  for (const line of planLines(plan)) notices.info(line);
  if (plan.steps.length === 0) return false;
  if (ms > 0) {
    const end = clockTime(clock.now() + ms, clock.now());
    notices.info(`This takes at least ${duration(ms)} (${requests} requests), until about ${end}.`);
  }
  if (!globals.yes && canAsk(context)) {
    const question = `Change ${plural(plan.steps.length, 'pet')} in ${session.environment}?`;
    if (!(await prompt.confirm(question, signal))) throw new Failure('cancelled', { action: 'The change' });
    return tooLong;
  }
  if (tooLong) throw new Failure('run-too-long', { requests, ms, maxWaitMs: globals.maxWait });
  return false;
}

async function startRun(runContext: RunContext, spec: RunSpec, plan: Plan, seen: Seen): Promise<RecordView> {
  const { context, journal, session } = runContext;
  const { kind, source, hash } = spec;
  const where = whereOf(context, session, spec.command);
  const { environment, origin } = where;
  const rows = [...plan.steps, ...plan.obstacles];
  let { run } = spec;
  if (run === undefined) {
    const startedAt = context.clock.now();
    run = await journal.begin({ kind, startedAt, environment, origin, source, hash }, where, rows);
  } else await journal.plan(run.id, where, rows);
  return resumeRun(runContext, run, seen, plan.unchanged);
}

/** Applies what is left of a run, wherever it stopped. */
export async function resumeRun(runContext: RunContext, run: Run, seen: Seen, unchanged = 0): Promise<RecordView> {
  const { context, journal, session } = runContext;
  const left = journal.changesOf(run.id).filter(isLeft);
  const showProgress = progressOf(runContext, left.length);
  const lockOptions = { patienceMs: session.service.maxWaitMs, isOptional: true, isQuiet: true };
  const runner = new Runner(
    {
      pace: new Pace(session),
      journal,
      seen,
      since: Math.min(run.startedAt, seen.since),
      withLock: (petId, work) => withPetLock(context, petId, work, lockOptions),
      onOutcome(outcome) {
        showProgress();
        runContext.onOutcome?.(outcome);
      },
    },
    left,
  );
  const stopped = await runner.run();
  context.notices.progress(undefined);
  if (left.length > 0 && stopped === undefined) await verifyStock(runContext, run);
  return summarise(runContext, run, stopped, unchanged);
}

/** True for a row that a run still has to apply, or whose outcome is not known. */
export function isLeft({ state }: Pick<Change, 'state'>): boolean {
  return state === 'planned' || state === 'sent' || state === 'unknown';
}

/** Reads the stock at the end: warns of pets that were changed again, and settles rows whose outcome was not known. */
async function verifyStock({ context, journal, session }: RunContext, run: Run): Promise<void> {
  let stock: Stock;
  try {
    stock = await readStock(session.service);
  } catch (error) {
    if (!isFailure(error) || error.is('interrupted')) throw error;
    context.notices.warning('The stock could not be read once more: what others did meanwhile is not known.');
    return;
  }
  const changed: bigint[] = [];
  for (const { id, petId, after, state } of journal.changesOf(run.id)) {
    const isThere = stock.get(petId)?.quantity === after;
    if (state === 'unknown' && isThere) await journal.settle(id, context.clock.now(), { state: 'applied' });
    if (state === 'applied' && !isThere) changed.push(petId);
  }
  if (changed.length === 0) return;
  const shown = changed.slice(0, 10).join(', ');
  context.notices.warning(
    `Changed again since this run set it: pet ${shown}${changed.length > 10 ? ' and more' : ''}.`,
  );
}

async function summarise(
  { context, journal, journalFile }: RunContext,
  run: Run,
  stopped: Failure | undefined,
  unchanged: number,
): Promise<RecordView> {
  const changes = journal.changesOf(run.id);
  const counts = countStates(changes, unchanged);
  const left = counts.planned + counts.sent;
  const resume = resumeCommand(run, journalFile);
  if (left === 0 && counts.unknown === 0) await journal.end(run.id, context.clock.now());
  else context.notices.warning(`${capital(run.kind)} ${run.id} is unfinished. Resume it with: ${resume}`);
  const report = await writeReport(context, run, changes);
  const failure = failureOf(counts, stopped, resume, report);
  // Where rows have failed, the error names the report.
  if (report !== undefined && failure?.is('run-incomplete') !== true) {
    context.notices.info(`Report: ${abbreviated(report, context)}`);
  }
  return confirmation(
    `${capital(run.kind)} ${run.id} in ${run.environment}: ${countWords(counts)}.`,
    [
      ['run', run.id],
      ['environment', run.environment],
      ['applied', counts.applied],
      ['unchanged', counts.unchanged],
      ['conflicts', counts.conflict],
      ['failed', counts.failed],
      ['unknown', counts.unknown],
      ['left', left],
      ['report', report ?? null],
    ],
    failure && { failure },
  );
}

/** Returns the failure of a run; with several causes, the one that a script has to know first. */
function failureOf(
  { unknown, failed, conflict: conflicts }: Counts,
  stopped: Failure | undefined,
  resume: string,
  report: string | undefined,
): Failure | undefined {
  const causes: Failure[] = stopped === undefined ? [] : [midway(stopped)];
  if (unknown > 0) causes.push(new Failure('run-unknown', { unknown, resume }));
  if (failed + conflicts > 0) causes.push(new Failure('run-incomplete', { failed, conflicts, report }));
  return firstCause(causes);
}

/** Returns what to call after each row. A terminal gets one live line, a file a line for each tenth or minute. */
function progressOf({ context, session }: RunContext, total: number): () => void {
  const { clock, globals, notices } = context;
  const since = clock.monotonic();
  let done = 0;
  let shownAt = since;
  let shownTenth = 0;
  const line = (): string => {
    const { limits } = session.service.gate;
    const allowance = limits === undefined ? '' : `, ${limits.remaining}/${limits.limit} requests left`;
    const now = clock.now();
    const minutes = Math.max(1, clock.monotonic() - since) / 60_000;
    const rate = done < 10 ? '' : `, ${Math.round(done / minutes)} a minute`;
    const ms = forecastMs(total - done, limits, globals.reserve, now);
    const end = ms === 0 ? '' : `, done about ${clockTime(now + ms, now)}`;
    return `${done} of ${total}${rate}${allowance}${end}`;
  };
  return () => {
    done++;
    const tenth = Math.floor((10 * done) / total);
    const isDue = (tenth > shownTenth && total >= 100) || clock.monotonic() - shownAt >= 60_000;
    if (notices.isLive) notices.progress(line());
    else if (isDue) {
      shownTenth = tenth;
      shownAt = clock.monotonic();
      notices.info(line());
    }
  };
}
