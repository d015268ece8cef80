/** From a plan to its end: shown, agreed to, journaled, carried out, looked at once more, reported. */
import { FOREVER_MS } from '../duration.ts';
import { connect, type Session } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { canAsk } from '../session/write-policy.ts';
import { Failure, isFailure } from '../errors.ts';
import { firstCause } from '../report/failures.ts';
import type { Journal, Run, RunKind } from '../state/journal.ts';
import { clockTime, duration } from '../view/progress.ts';
import { record, type RecordView } from '../view/view.ts';
import { capital, plural } from '../view/words.ts';
import { executeChanges, look, midway, type Outcome, readStock, type Seen } from './runner.ts';
import { Pace } from './concurrency.ts';
import { resumeCommand, whereOf } from './origin.ts';
import { forecastMs, type Plan, type Stock } from './plan.ts';
import { abbreviated, writeReport } from './report-file.ts';
import { countStates, countWords, planLines } from './plan-view.ts';
import { withPetLock } from './pet-lock.ts';

export interface RunSpec {
  readonly kind: RunKind;
  /** As the history shows it. */
  readonly command: string;
  readonly source?: string;
  readonly hash?: string;
  /** A run whose rows are still to be planned: a stocktake. */
  readonly run?: Run;
}

export interface RunContext {
  readonly context: CommandContext;
  readonly session: Session;
  readonly journal: Journal;
  /** Where it is kept, if not in the state database. */
  readonly journalFile?: string | undefined;
  readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
}

export interface PlannedWork extends Pick<RunContext, 'journalFile' | 'onOutcome'> {
  readonly work: RunSpec;
  plan(stock: Stock): Plan;
  /** Where it has to be done, if not anywhere. @throws {Failure} */
  check?(session: Session): void;
}

/** A plan for the stock as it is: shown, agreed to, carried out. */
export async function applyPlan(context: CommandContext, journal: Journal, planned: PlannedWork): Promise<RecordView> {
  const { work, plan, check, ...rest } = planned;
  const equipment = { context, journal, ...rest };
  const agreed = await confirmAndStart();
  if ('view' in agreed) return agreed;
  const patient = { ...context, globals: { ...context.globals, maxWait: FOREVER_MS } };
  await using session = await connect(patient, { isBulk: true });
  return await startRun({ ...equipment, session }, work, agreed, await look(session.service, journal));

  async function confirmAndStart(): Promise<RecordView | Plan> {
    await using session = await connect(context, { isBulk: true });
    check?.(session);
    const seen = await look(session.service, journal);
    const made = plan(seen.stock);
    // A longer wait than this session allows: another one, with a fresh look.
    if (await confirmPlan(context, session, made)) return made;
    return await startRun({ ...equipment, session }, work, made, seen);
  }
}

/**
 * Shows what is to be done, and asks, where there is somebody to ask. --yes answers the question, not how long to wait.
 * @returns whether a person has agreed to a wait beyond --max-wait
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
    notices.info(`${requests} requests with this key's allowance: at least ${duration(ms)}, until about ${end}.`);
  }
  if (!globals.yes && canAsk(context)) {
    const question = `Change ${plural(plan.steps.length, 'pet')} in ${session.environment}?`;
    if (!(await prompt.confirm(question, signal))) throw new Failure('cancelled', { action: 'The change' });
    return tooLong;
  }
  if (tooLong) throw new Failure('run-too-long', { requests, ms, maxWaitMs: globals.maxWait });
  return false;
}

/** Begins a run and carries it out. */
async function startRun(equipment: RunContext, work: RunSpec, plan: Plan, seen: Seen): Promise<RecordView> {
  const { context, journal, session } = equipment;
  const where = whereOf(context, session, work.command);
  const rows = [...plan.steps, ...plan.obstacles];
  let { run } = work;
  if (run === undefined) {
    const { kind, source, hash } = work;
    const facts = { kind, startedAt: context.clock.now(), environment: where.environment, origin: where.origin };
    const from = { ...(source !== undefined && { source }), ...(hash !== undefined && { hash }) };
    run = await journal.begin({ ...facts, ...from }, where, rows);
  } else await journal.plan(run.id, where, rows);
  return resumeRun(equipment, run, seen, plan.unchanged);
}

/** What is left of a run, from wherever it stopped. */
export async function resumeRun(equipment: RunContext, run: Run, seen: Seen, unchanged = 0): Promise<RecordView> {
  const { context, journal, session } = equipment;
  const left = journal.changesOf(run.id).filter(({ state }) => ['planned', 'sent', 'unknown'].includes(state));
  const progress = new Progress(equipment, left.length);
  const pace = new Pace(session);
  const stopped = await executeChanges(
    {
      service: pace.service,
      journal,
      concurrency: () => pace.concurrency(),
      seen,
      since: Math.min(run.startedAt, seen.since),
      inTurn: (petId, work) =>
        withPetLock(context, petId, work, { patienceMs: session.service.maxWaitMs, isOptional: true, isQuiet: true }),
      onOutcome(outcome) {
        progress.step();
        equipment.onOutcome?.(outcome);
      },
      onStop: () => {
        pace.end();
      },
    },
    left,
  );
  progress.end();
  if (left.length > 0 && stopped === undefined) await verifyStock(equipment, run);
  return summarise(equipment, run, stopped, unchanged);
}

/** One list at the end: does the service have what was written, and what became of the rows nobody knows about? */
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
  equipment: RunContext,
  run: Run,
  stopped: Failure | undefined,
  unchanged: number,
): Promise<RecordView> {
  const { context, journal } = equipment;
  const changes = journal.changesOf(run.id);
  const some = countStates(changes);
  const counts = { ...some, unchanged: some.unchanged + unchanged };
  const left = counts.planned + counts.sent;
  if (left === 0 && counts.unknown === 0) await journal.end(run.id, context.clock.now());
  else context.notices.info(`Resume it with: ${resumeCommand(run, equipment.journalFile)}`);
  const report = await writeReport(context, run, changes);
  const failure = failureOf(equipment, run, stopped, counts, report);
  // Where rows have failed, the error says where it is.
  if (report !== undefined && failure?.is('run-incomplete') !== true) {
    context.notices.info(`Report: ${abbreviated(report, context)}`);
  }
  return record(
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

/** With several causes, the one that a script has to know first. */
function failureOf(
  equipment: RunContext,
  run: Run,
  stopped: Failure | undefined,
  counts: ReturnType<typeof countStates>,
  report: string | undefined,
): Failure | undefined {
  const { unknown, failed, conflict: conflicts } = counts;
  const causes: Failure[] = stopped === undefined ? [] : [midway(stopped)];
  if (unknown > 0) {
    causes.push(new Failure('run-unknown', { unknown, resume: resumeCommand(run, equipment.journalFile) }));
  }
  if (failed + conflicts > 0) causes.push(new Failure('run-incomplete', { failed, conflicts, report }));
  return firstCause(causes);
}

/** On a terminal one live line; elsewhere a plain one for each tenth, or minute. */
class Progress {
  private done = 0;
  private readonly equipment: RunContext;
  private readonly total: number;
  private readonly since: number;
  private saidAt: number;
  private saidTenth = 0;

  constructor(equipment: RunContext, total: number) {
    this.equipment = equipment;
    this.total = total;
    this.since = equipment.context.clock.monotonic();
    this.saidAt = this.since;
  }

  step(): void {
    this.done++;
    const { clock, notices } = this.equipment.context;
    if (notices.isLive) {
      notices.progress(this.line());
      return;
    }
    const tenth = Math.floor((10 * this.done) / this.total);
    const isDue = (tenth > this.saidTenth && this.total >= 100) || clock.monotonic() - this.saidAt >= 60_000;
    if (!isDue) return;
    this.saidTenth = tenth;
    this.saidAt = clock.monotonic();
    notices.info(this.line());
  }

  end(): void {
    this.equipment.context.notices.progress(undefined);
  }

  private line(): string {
    const { context, session } = this.equipment;
    const { limits } = session.service.gate;
    const allowance = limits === undefined ? '' : `, ${limits.remaining}/${limits.limit} requests left`;
    const now = context.clock.now();
    const minutes = Math.max(1, context.clock.monotonic() - this.since) / 60_000;
    const rate = this.done < 10 ? '' : `, ${Math.round(this.done / minutes)} a minute`;
    const ms = forecastMs(this.total - this.done, limits, context.globals.reserve, now);
    const end = ms === 0 ? '' : `, done about ${clockTime(now + ms, now)}`;
    return `${this.done} of ${this.total}${rate}${allowance}${end}`;
  }
}
