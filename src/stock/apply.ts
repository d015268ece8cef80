/** Applies a plan: shows it, asks, records it in the journal, runs it, verifies the stock, and reports. */
import { FOREVER_MS } from '../duration.ts';
import { openNames } from '../session/open-catalog.ts';
import { operationOf } from '../client/attempt.ts';
import { updateCall } from '../client/update.ts';
import { connect, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk, questionWith } from '../session/resolve.ts';
import { Failure, isFailure } from '../errors.ts';
import { type Change, isLeft, type NewChange, type NewRun, type Run } from '../state/journal.ts';
import { clockTime, duration } from '../view/progress.ts';
import { confirmation, type RecordView } from '../view/view.ts';
import { firstFew, plural } from '../view/words.ts';
import { seeStock, type OnOutcome, readStock, type RunContext, Runner, type Seen, type Stock } from './runner.ts';
import { Pace } from './concurrency.ts';
import { type Plan, PLAN_LINES, planLines } from './plan.ts';
import type { Turn } from './open-journal.ts';
import { petLocksOf } from './pet-lock.ts';
import { countStates, summarise, summaryMembers } from './summary.ts';
import { recordOutcome, recordShown, whereOf } from './write-one.ts';

const UPDATES = operationOf(updateCall({ petId: 0n, quantity: 0n }));

export interface RunSpec extends Omit<NewRun, 'startedAt'> {
  /** Command as shown in the history. */
  readonly command: string;
  /** An existing run whose rows are still to be planned: a stocktake. */
  readonly run?: Run;
  /** The question without the environment: `Undo run 3`. */
  question?(steps: number): string;
  /** Lines in place of the table: for an undo of one change, which is not bulk work and spends the reserve too. */
  lines?(plan: Plan): readonly string[];
  plan(stock: Stock): Plan;
  /**
   * What ends when this run begins: changes of unknown outcome, which the stock shows, and an unfinished run. An undo
   * or redo has a title for them.
   */
  readonly replaces?: { title?: string; uncertain: readonly Change[]; run: Run | undefined } | undefined;
  /** Awaited once the rows are in the journal, before the first request; also if there is nothing to change. */
  onBegin?(): Promise<void>;
}

export interface PlanContext extends Omit<RunContext, 'session'> {
  readonly turn: Turn;
}

/** Plans a run for the current stock, asks, and applies it. */
export async function applyPlan(runContext: PlanContext, spec: RunSpec): Promise<RecordView> {
  const { context, journal } = runContext;
  assertCanConfirm(context);
  const options = { isBulk: spec.lines === undefined };
  await using session = await connect(context, options);
  await whileSent(context, session, spec);
  const seen = await seeStock(session.service, journal);
  const plan = spec.plan(seen.stock);
  const isEmpty = plan.steps.length + plan.obstacles.length === 0;
  // A stocktake in which everything is right has a result too.
  if (isEmpty && spec.kind !== 'count') return await nothingToDo({ ...runContext, session }, spec, plan, seen);
  const agreed = await confirmPlan(runContext, session, spec, plan);
  if (agreed === undefined) return await startRun({ ...runContext, session }, spec, plan, seen);
  // The user may have agreed to a longer wait than the session allows.
  const patient = { ...context, globals: { ...context.globals, ...agreed } };
  await using again = await connect(patient, options);
  // Others may have changed the stock during the question: since the first look.
  const now = { ...(await seeStock(again.service, journal)), moment: seen.moment };
  return await startRun({ ...runContext, session: again }, spec, plan, now);
}

/** Requires --yes if no question can be asked. @throws {Failure} `no-terminal` */
export function assertCanConfirm(context: CommandContext): void {
  if (context.globals.yes || canAsk(context)) return;
  throw new Failure('no-terminal', { what: 'confirmation', instead: 'To change without a question, add --yes.' });
}

/** Reports that all pets have the wanted quantity. */
async function nothingToDo(runContext: RunContext, spec: RunSpec, plan: Plan, seen: Seen): Promise<RecordView> {
  const { context, journal, session } = runContext;
  const { environment } = session;
  const unchanged = plan.unchanged.length;
  await endReplaced(runContext, spec, seen);
  // The next undo goes one command further back.
  const isKept = spec.kind === 'undo' || spec.kind === 'redo';
  const run = isKept ? await beginRun(runContext, spec, plan.unchanged) : undefined;
  await spec.onBegin?.();
  if (run !== undefined) await journal.end(run.id, context.clock.now());
  const { title, uncertain = [] } = spec.replaces ?? {};
  const unapplied = uncertain.filter(({ id }) => journal.sentChange(id)?.state !== 'applied');
  const isUnapplied = title !== undefined && unapplied.length === unchanged;
  const matches = `${plural(unchanged, 'pet')} already ${unchanged === 1 ? 'matches' : 'match'}`;
  const why = isUnapplied ? `${title} was not applied` : matches;
  return confirmation(
    `Nothing to change in ${environment}: ${why}.`,
    summaryMembers(environment, countStates([], unchanged), run?.id),
  );
}

/**
 * Shows the plan, and asks on a terminal. --yes answers the question, not how long to wait.
 * @returns how long the user has agreed to wait; undefined if no question was asked
 * @throws {Failure} `cancelled`, `run-too-long`
 */
async function confirmPlan(
  { context, turn }: PlanContext,
  { environment, gate, origin }: Session,
  spec: RunSpec,
  plan: Plan,
): Promise<{ readonly maxWait: number } | undefined> {
  const { clock, globals, notices, prompt, signal } = context;
  const requests = plan.steps.length + 1;
  const held = await gate.forecast({ operation: UPDATES, count: requests });
  const ms = Math.max(0, (held?.until ?? 0) - clock.monotonic());
  const tooLong = ms > globals.maxWait;
  const namesOf = () => openNames(context, origin, plan.steps.slice(0, PLAN_LINES));
  // With --yes, the result of a single change is enough.
  const lines = spec.lines === undefined ? planLines(plan, await namesOf()) : globals.yes ? [] : spec.lines(plan);
  for (const line of lines) notices.info(line);
  if (plan.steps.length === 0) return undefined;
  if (ms > 0) {
    const end = clockTime(clock.now() + ms, clock.now());
    notices.info(`This takes at least ${duration(ms)} (${requests} requests), until about ${end}.`);
  }
  if (!globals.yes) {
    const question = `${spec.question?.(plan.steps.length) ?? `Change ${plural(plan.steps.length, 'pet')}`} in ${environment}?`;
    // Other processes need not wait for the answer: a pet that they change meanwhile is a conflict.
    const asked = questionWith(context, lines, question);
    if (!(await turn.pause(() => prompt.confirm(asked, signal)))) throw new Failure('cancelled', {});
    return { maxWait: tooLong ? FOREVER_MS : globals.maxWait };
  }
  if (tooLong) throw new Failure('run-too-long', { requests, ms, maxWaitMs: globals.maxWait });
  return undefined;
}

async function startRun(runContext: RunContext, spec: RunSpec, plan: Plan, seen: Seen): Promise<RecordView> {
  const { journal } = runContext;
  await endReplaced(runContext, spec, seen);
  const counted = spec.kind === 'count' ? plan.unchanged : [];
  const run = await beginRun(runContext, spec, [...plan.steps, ...plan.obstacles, ...counted]);
  await spec.onBegin?.();
  for (const change of journal.changesOf(run.id)) {
    if (!isLeft(change)) runContext.onOutcome?.(change);
  }
  return resumeRun(runContext, run, seen, plan.unchanged.length - counted.length);
}

/** Waits for a command that still sends what this one replaces: the lock of its pet is free once it knows the outcome. */
async function whileSent(context: CommandContext, session: Session, { replaces }: RunSpec): Promise<void> {
  // No process applies a run: the turn is ours.
  if (replaces === undefined || replaces.run !== undefined) return;
  const withLock = petLocksOf(context, session);
  for (const { petId } of replaces.uncertain) await withLock(petId, () => Promise.resolve());
}

/** Before the run begins: a process that is killed in between leaves nothing that could be sent again. */
async function endReplaced({ context, journal }: RunContext, { replaces }: RunSpec, seen: Seen): Promise<void> {
  if (replaces === undefined) return;
  const { run, uncertain } = replaces;
  const isResumed = run !== undefined && journal.changesOf(run.id).some(({ turn }) => turn > seen.moment);
  const problem = `Run ${run?.id} was resumed meanwhile`;
  if (isResumed) throw new Failure('cannot-resume', { problem, hint: 'Run the command again.' });
  await recordShown(journal, uncertain, seen.stock);
  if (run !== undefined) await journal.end(run.id, context.clock.now());
}

function beginRun(
  { context, journal, session }: RunContext,
  spec: RunSpec,
  changes: readonly NewChange[],
): Promise<Run> {
  const { kind, source, hash, adds, restOf, undoesRun, undoesChange } = spec;
  const made = { kind, startedAt: context.clock.now(), source, hash, adds, restOf, undoesRun, undoesChange };
  return journal.begin(spec.run ?? made, whereOf(context, session, spec.command), changes);
}

/** Applies the remaining rows of a run, wherever it stopped. */
export async function resumeRun(runContext: RunContext, run: Run, seen: Seen, unchanged = 0): Promise<RecordView> {
  const { context, journal, session } = runContext;
  const changes = journal.changesOf(run.id);
  const left = changes.filter(isLeft);
  const pace = new Pace(session);
  const withLock = petLocksOf(context, session);
  const writer = { context, session: { ...session, service: pace.service }, journal, withLock };
  const counts = countStates(changes, 0);
  const showProgress = (): void => {
    const { conflict, failed } = counts;
    const done = counts.applied + counts.unchanged;
    const others = [conflict > 0 ? [plural(conflict, 'conflict')] : [], failed > 0 ? [`${failed} failed`] : []].flat();
    const line = [`${done} of ${changes.length} applied`, ...others].join(', ');
    if (changes.length > 1) context.notices.progress(line, [done + conflict + failed, changes.length]);
  };
  showProgress();
  const onOutcome: OnOutcome = (row) => {
    counts[row.state]++;
    showProgress();
    runContext.onOutcome?.(row);
  };
  const runner = new Runner({ pace, writer, run, seen, onOutcome }, left);
  let stopped = await runner.run();
  context.notices.progress(undefined);
  if (left.length > 0 && stopped === undefined) stopped = await verifyStock(runContext, run);
  const { failures } = runner;
  const tried = new Set(left.map(({ id }) => id));
  return summarise({ ...runContext, failures }, run, seen.stock, stopped, unchanged, tried).catch((error: unknown) => {
    // The state database was replaced: the answered write is all that is known of the run.
    throw stopped?.is('unrecorded') === true ? stopped : error;
  });
}

/**
 * Reads the stock at the end: warns about pets that were changed again, and settles rows of unknown outcome.
 * @returns the signal that stopped it; the run itself is done
 */
async function verifyStock({ context, journal, session }: RunContext, run: Run): Promise<Failure | undefined> {
  try {
    const stock = await readStock(session.service);
    const changed: bigint[] = [];
    for (const { id, petId, after, state } of journal.changesOf(run.id)) {
      const isThere = stock.get(petId)?.quantity === after;
      if (state === 'unknown' && isThere) await recordOutcome(journal, id, { state: 'applied' });
      if (state === 'applied' && !isThere) changed.push(petId);
    }
    if (changed.length > 0) context.notices.warning(`Changed again since this run set it: pet ${firstFew(changed)}.`);
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (error.is('interrupted')) return error;
    context.notices.warning('The stock could not be read again: changes by others since then are not shown.');
  }
  return undefined;
}
