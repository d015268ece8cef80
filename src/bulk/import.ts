/** `inventory import`: sets the stock from the rows of a file, or resumes a run that was stopped. */
import { hash } from 'node:crypto';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { Change, Journal, Run } from '../state/journal.ts';
import type { RecordView, RowsView } from '../view/view.ts';
import { applyPlan, isLeft, resumeRun } from './apply.ts';
import { type OnOutcome } from './events.ts';
import { look, readStock } from './runner.ts';
import { withJournal, withLockedJournal } from './open-journal.ts';
import { assertSameOrigin, assertSameEnvironment } from './origin.ts';
import { makePlan } from './plan.ts';
import { parseRows } from './rows.ts';
import { planView } from './plan-view.ts';

export interface ImportOptions {
  readonly file?: string;
  readonly exitCode?: boolean;
  readonly allowNegative?: boolean;
  readonly journal?: string;
  readonly resume?: bigint | true;
}

/** @throws {Failure} `invalid-rows`, `file`, and what connect throws */
export async function dryRun(context: CommandContext, options: ImportOptions): Promise<RowsView> {
  const { rows } = await readSource(context, options);
  await using session = await connect(context);
  const plan = makePlan(rows, await readStock(session.service));
  const differences = { changes: plan.steps.length, obstacles: plan.obstacles.length };
  const isSame = differences.changes + differences.obstacles === 0;
  const check = (): Failure | undefined =>
    options.exitCode === true && !isSame ? new Failure('would-change', differences) : undefined;
  return { ...planView(plan), check };
}

export async function runImport(
  context: CommandContext,
  options: ImportOptions,
  onOutcome?: OnOutcome,
): Promise<RecordView> {
  const { rows, ...file } = await readSource(context, options);
  const command = `inventory import ${file.source}`;
  await assertWriteAllowed(context, command);
  return withLockedJournal(context, options.journal, (journal) =>
    applyPlan(
      { context, journal, journalFile: options.journal, onOutcome },
      { kind: 'import', command, ...file, plan: (stock) => makePlan(rows, stock) },
    ),
  );
}

/** Resumes the newest run that was stopped, or the one that is named. @throws {Failure} `cannot-resume` */
export async function resumeImport(
  context: CommandContext,
  options: ImportOptions,
  onOutcome?: OnOutcome,
): Promise<RecordView> {
  return withLockedJournal(context, options.journal, async (journal) => {
    const run = findRun(journal, options.resume);
    const { environment } = await context.settings();
    const again = `inventory import --resume ${run.id}`;
    assertSameEnvironment(environment.value, run, `Run ${run.id}`, again);
    await checkSource(context, run);
    await assertWriteAllowed(context, again);
    await using session = await connect(context, { isBulk: true });
    assertSameOrigin(session, run, `Run ${run.id}`, again);
    const runContext = { context, session, journal, journalFile: options.journal, onOutcome };
    return await resumeRun(runContext, run, await look(session.service, journal));
  });
}

function findRun(journal: Journal, wanted: ImportOptions['resume']): Run {
  const hasRows = ({ id }: Run): boolean => journal.changesOf(id).length > 0;
  const run = typeof wanted === 'bigint' ? journal.run(wanted) : journal.unfinished().find(hasRows);
  const cannot = (problem: string, hint = 'See which there are: petstore inventory import --status'): Failure =>
    new Failure('cannot-resume', { problem, hint });
  if (run === undefined && wanted === true) {
    throw cannot(
      'No run was left unfinished',
      'To apply rows that failed, import the file again: only what still differs is sent.',
    );
  }
  if (run === undefined) throw cannot(`There is no run ${wanted}`);
  if (run.endedAt !== undefined) throw cannot(...whyDone(run, journal.changesOf(run.id)));
  // Its scans are not rows yet: to end the run here would lose them.
  if (run.kind === 'count' && !hasRows(run)) {
    throw cannot(
      `Stocktake ${run.id} is not over`,
      `Continue scanning: petstore --env ${run.environment} inventory count --resume ${run.id}`,
    );
  }
  return run;
}

/** Returns why a run that is done cannot be resumed, and what to do instead. */
function whyDone({ id, kind, source }: Run, changes: readonly Change[]): [problem: string, hint?: string] {
  const rest = changes.filter(({ state }) => state === 'failed' || state === 'conflict').length;
  if (rest === 0) return [`Run ${id} is done`];
  const problem = `Run ${id} is done, and ${rest} of its rows could not be applied`;
  if (kind !== 'import' || source === undefined)
    return [problem, 'Run the command again: it sends only what still differs.'];
  const file = source === '-' ? 'the same rows' : `the file ${source}`;
  return [problem, `Import ${file} again: only what still differs is sent.`];
}

/** Refuses a file that has changed since the user agreed to it. The rows themselves are in the journal. */
async function checkSource(context: CommandContext, { id, source, hash: before }: Run): Promise<void> {
  if (source === undefined || source === '-' || before === undefined) return;
  // A pipe gives what it holds once.
  if ((await context.files.facts(source).catch(() => undefined))?.kind === 'other') return;
  let text: string;
  try {
    text = await readText(context, source);
  } catch {
    if (context.signal.aborted) throw context.signal.reason;
    context.notices.info(`${source} is not there any more; run ${id} continues with its rows as they were.`);
    return;
  }
  if (hash('sha256', text) === before) return;
  throw new Failure('cannot-resume', {
    problem: `${source} has changed since run ${id} began`,
    hint: `Import it again; only what still differs is sent: petstore inventory import ${source}`,
  });
}

export async function unfinishedRuns(context: CommandContext, journal: string | undefined) {
  return withJournal(context, journal, (opened) =>
    opened.unfinished().map((run) => ({
      run: run.id,
      kind: run.kind,
      environment: run.environment,
      started: new Date(run.startedAt).toISOString(),
      source: run.source ?? '',
      left: opened.changesOf(run.id).filter(isLeft).length,
    })),
  );
}

/** @throws {Failure} `usage`, `file`, `invalid-rows` */
async function readSource(context: CommandContext, { file, allowNegative }: ImportOptions) {
  if (file === undefined) {
    throw new Failure('usage', { problem: 'Say which file: petstore inventory import FILE, or - for stdin.' });
  }
  const source = file === '-' || file.startsWith('/') ? file : `${context.machine.cwd}/${file}`;
  const text = await readText(context, source);
  const { rows, problems, ignored } = parseRows(text, { allowNegative: allowNegative === true });
  if (problems.length > 0) throw new Failure('invalid-rows', { source: file === '-' ? 'stdin' : file, problems });
  if (ignored.length > 0) context.notices.info(`Not used: ${ignored.slice(0, 10).join(', ')}.`);
  return { source, hash: hash('sha256', text), rows };
}
