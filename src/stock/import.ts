/** `inventory import`: sets the stock from the rows of a file, or adds them to it. */
import { tableCatalog } from '../session/catalog.ts';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { assertWriteAllowed, canAsk } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { Journal, Run } from '../state/journal.ts';
import type { RowsView, View } from '../view/view.ts';
import { applyPlan, assertCanConfirm, isLeft, type PlanContext, type RunSpec } from './apply.ts';
import { type Mapping, STOCK_FILE } from './columns.ts';
import { readSource } from './source-file.ts';
import { withEvents } from './events.ts';
import { readStock } from './runner.ts';
import { withLockedJournal } from './open-journal.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { makeAddingPlan, makePlan, planView } from './plan.ts';
import { parseRows, type Row } from './file-rows.ts';
import { resumeNamed } from './runs.ts';

export interface ImportOptions {
  readonly file: string;
  readonly events?: boolean;
  readonly exitCode?: boolean;
  readonly add?: boolean;
  readonly map?: readonly Mapping[];
  readonly allowNegative?: boolean;
}

type Source = Required<Pick<RunSpec, 'source' | 'hash' | 'adds' | 'plan'>>;

/** @throws {Failure} `invalid-rows`, `file`, and what connect throws */
export async function dryRun(context: CommandContext, options: ImportOptions): Promise<RowsView> {
  const { plan: planFor } = await readImport(context, options);
  await using session = await connect(context);
  const plan = planFor(await readStock(session.service));
  const differences = { changes: plan.steps.length, obstacles: plan.obstacles.length };
  const isSame = differences.changes + differences.obstacles === 0;
  const check = (): Failure | undefined =>
    options.exitCode === true && !isSame ? new Failure('would-change', differences) : undefined;
  return { ...planView(plan, await tableCatalog(context, session.origin)), check };
}

export function runImport(context: CommandContext, options: ImportOptions): Promise<View> | View {
  return withEvents(options.events, async (onOutcome) => {
    const source = await readImport(context, options);
    const command = `inventory import ${source.adds ? '--add ' : ''}${source.source}`;
    await assertWriteAllowed(context, command);
    assertCanConfirm(context);
    return withLockedJournal(context, 'import', async (journal, turn) => {
      const runContext = { context, journal, turn, onOutcome };
      const stopped = await findStopped(context, journal, source);
      if (stopped !== undefined && (await wantsToResume(runContext, stopped))) {
        return resumeNamed(runContext, stopped);
      }
      return applyPlan(runContext, { kind: 'import', command, ...source });
    });
  });
}

/** Finds the newest unfinished import of the same file for this environment. */
async function findStopped(context: CommandContext, journal: Journal, file: Source): Promise<Run | undefined> {
  const environment = (await context.settings()).environment.value;
  return journal
    .unfinished()
    .find((run) => run.environment === environment && run.hash === file.hash && (run.adds === true) === file.adds);
}

/**
 * Asks on a terminal. Elsewhere a file that sets is imported anew, and one that adds is not: rows would be added twice.
 * @throws {Failure} `cannot-resume`
 */
async function wantsToResume({ context, journal, turn }: PlanContext, run: Run): Promise<boolean> {
  const { globals, notices, prompt, signal } = context;
  const left = journal.changesOf(run.id).filter(isLeft).length;
  const problem = `Import ${run.id} of this file is unfinished (${left} left)`;
  const hint = `Resume it with: ${resumeCommand(run)}`;
  if (!globals.yes && canAsk(context)) {
    if (run.adds === true) notices.warning('Without resuming, the rows that it has added already are added again.');
    return turn.pause(() => prompt.confirm(`${problem}. Resume it?`, signal, true));
  }
  if (run.adds === true) throw new Failure('cannot-resume', { problem, hint });
  notices.warning(`${problem}. ${hint}`);
  return false;
}

/** @throws {Failure} `usage`, `file`, `invalid-rows` */
async function readImport(
  context: CommandContext,
  { file, add, map: mappings, allowNegative = false }: ImportOptions,
): Promise<Source> {
  const { name, path: source, text, hash } = await readSource(context, file, STOCK_FILE);
  const { rows, adds, problems, ignored } = parseRows(text, { add, mappings, allowNegative });
  if (problems.length > 0) throw new Failure('invalid-rows', { source: name, problems });
  if (ignored.length > 0) context.notices.info(`Not used: ${ignored.slice(0, SHOWN).join(', ')}.`);
  const summed = rows.flatMap(({ petId, lines }) =>
    lines === undefined ? [] : [`pet ${petId} (${linesText(lines)})`],
  );
  if (summed.length > 0) {
    const more = summed.length > SHOWN ? ` and ${summed.length - SHOWN} more` : '';
    context.notices.info(`Several lines added together: ${summed.slice(0, SHOWN).join(', ')}${more}.`);
  }
  const plan: Source['plan'] = (stock) => (adds ? makeAddingPlan(rows, stock, allowNegative) : makePlan(rows, stock));
  return { source, hash, adds, plan };
}

/** How many columns or pets a message names. */
const SHOWN = 10;

function linesText(lines: NonNullable<Row['lines']>): string {
  const shown = lines.slice(0, SHOWN).join(', ');
  return `lines ${shown}${lines.length > SHOWN ? ' and more' : ''}`;
}
