/** `inventory import`: sets the stock from the rows of a file, or adds them to it. */
import { petOfRow, requireCatalog } from '../session/catalog.ts';
import { connect } from '../session/connect.ts';
import { originOf } from '../session/environments.ts';
import type { CommandContext } from '../session/globals.ts';
import { assertWriteAllowed, canAsk } from '../session/resolve.ts';
import { Failure } from '../errors.ts';
import type { Journal, Run } from '../state/journal.ts';
import { clockTime } from '../view/progress.ts';
import { confirmation, type RecordView, type View } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { applyPlan, assertCanConfirm, isLeft, namedPlanView, type PlanContext, type RunSpec } from './apply.ts';
import { type Mapping, STOCK_FILE } from './columns.ts';
import { readSource, type SourceFile } from './source-file.ts';
import { countStates, summaryMembers } from './summary.ts';
import { withEvents } from './events.ts';
import { readStock } from './runner.ts';
import { withLockedJournal } from './open-journal.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { makeAddingPlan, makePlan } from './plan.ts';
import { hashOfRows, parseRows, type PetOf, type Row } from './file-rows.ts';
import { NO_ROWS } from './records.ts';
import { resumeNamed } from './runs.ts';

export interface ImportOptions {
  readonly file: string;
  readonly events?: boolean;
  readonly exitCode?: boolean;
  readonly add?: boolean;
  readonly map?: readonly Mapping[];
  readonly again?: boolean;
  readonly resume?: boolean;
  readonly allowNegative?: boolean;
}

type Source = Required<Pick<RunSpec, 'command' | 'source' | 'hash' | 'adds' | 'plan'>> &
  Pick<RunSpec, 'rows'> & { readonly name: string; readonly isEmpty: boolean };

/** @throws {Failure} `invalid-rows`, `file`, and what connect throws */
export async function dryRun(context: CommandContext, options: ImportOptions): Promise<View> {
  const file = await readImport(context, options, await readSource(context, options.file, STOCK_FILE));
  if (file.isEmpty) return nothingIn(context, file);
  await using session = await connect(context);
  const plan = file.plan(await readStock(session.service));
  const differences = { changes: plan.steps.length, obstacles: plan.obstacles.length };
  const isSame = differences.changes + differences.obstacles === 0;
  const check = (): Failure | undefined =>
    options.exitCode === true && !isSame ? new Failure('would-change', differences) : undefined;
  return { ...(await namedPlanView(context, session, plan)), check };
}

export function runImport(context: CommandContext, options: ImportOptions): Promise<View> | View {
  return withEvents(options.events, async (onOutcome) => {
    const text = await readSource(context, options.file, STOCK_FILE);
    const prepare = async (): Promise<Source> => {
      const file = await readImport(context, options, text);
      if (file.isEmpty) return file;
      await assertWriteAllowed(context, file.command);
      assertCanConfirm(context);
      return file;
    };
    // What is resumed is not read again: its columns may have been named by --map.
    const ready = options.resume === true ? undefined : await prepare();
    return withLockedJournal(context, 'import', async (journal, turn) => {
      const runContext = { context, journal, turn, onOutcome };
      const begun = await findStopped(
        context,
        journal,
        ({ hash, adds }) => hash === text.hash && (options.add !== true || adds === true),
      );
      if (options.resume === true && begun !== undefined) return resumeNamed(runContext, begun);
      const { name, isEmpty, ...file } = ready ?? (await turn.pause(prepare));
      if (isEmpty) return nothingIn(context, { name });
      const isSame = (run: Run): boolean =>
        file.adds ? run.rows === file.rows : run.adds !== true && run.hash === file.hash;
      const stopped = await findStopped(context, journal, isSame);
      if (stopped !== undefined && (await wantsToResume(runContext, stopped))) {
        return resumeNamed(runContext, stopped);
      }
      const question = await questionFor(context, journal, file, options.again === true);
      const done = await applyPlan(runContext, { kind: 'import', ...file, question });
      // What was left of it is done now.
      if (stopped !== undefined && done.failure === undefined) await journal.discard(stopped.id, context.clock.now());
      return done;
    });
  });
}

async function nothingIn(context: CommandContext, { name }: Pick<Source, 'name'>): Promise<RecordView> {
  const environment = (await context.settings()).environment.value;
  const counts = countStates([], 0);
  return confirmation(`Nothing to do: ${name} has no rows.`, summaryMembers({ run: undefined, environment, counts }));
}

/**
 * Returns the question before the rows are applied. Rows that were added before are added again only if the user says so.
 * @throws {Failure} `usage`: they were, and nobody can be asked
 */
async function questionFor(
  context: CommandContext,
  journal: Journal,
  { adds, rows }: Pick<Source, 'adds' | 'rows'>,
  again: boolean,
): Promise<(pets: number) => string> {
  if (!adds || rows === undefined)
    return (pets) => `Set ${plural(pets, 'pet')} to the numbers of the file (to add them: --add)`;
  const before = again ? undefined : journal.added(rows, originOf(await context.target()));
  if (before === undefined) return (pets) => `Add ${plural(pets, 'row')} to the stock`;
  const { clock, globals, notices } = context;
  const said = `Run ${before.id} of ${clockTime(before.startedAt, clock.now())} has added these rows already`;
  if (globals.yes || !canAsk(context)) {
    throw new Failure('usage', {
      problem: `${said}; nothing was sent.`,
      hint: 'If they came a second time, add --again.',
    });
  }
  notices.warning(`${said}. Adding them again adds them twice.`);
  return (pets) => `Add ${plural(pets, 'row')} to the stock a second time`;
}

/** Finds the newest unfinished import of the same file or rows for this environment. */
async function findStopped(
  context: CommandContext,
  journal: Journal,
  isSame: (run: Run) => boolean,
): Promise<Run | undefined> {
  const environment = (await context.settings()).environment.value;
  return journal.unfinished().find((run) => run.kind === 'import' && run.environment === environment && isSame(run));
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

/** @throws {Failure} `usage`, `invalid-rows` */
async function readImport(
  context: CommandContext,
  { add = false, map = [], allowNegative = false }: ImportOptions,
  { name, path: source, text, hash }: SourceFile,
): Promise<Source> {
  let mappings: readonly Mapping[] = map;
  let read = parseRows(text, { add, mappings, allowNegative });
  if (read.headings !== undefined) {
    const { nameColumns } = await import('./ask-columns.ts');
    mappings = await nameColumns(context, read.headings, map, add);
    read = parseRows(text, { add, mappings, allowNegative });
  }
  if (read.headings !== undefined) {
    throw new Failure('usage', {
      problem: `${name}: ${read.problems[0]!.reason}; nothing was sent.`,
      hint: 'In place of petId, a column may be barcode or name. quantity sets the stock, delta adds to it.',
    });
  }
  if (read.named !== undefined) {
    using catalog = await requireCatalog(context, `The column ${read.named}`);
    const petOf: PetOf = (column, code) => petOfRow(catalog, column, code);
    read = parseRows(text, { add, mappings, allowNegative, petOf });
  }
  const { rows, adds, problems, ignored } = read;
  const isEmpty = rows.length === 0 && problems[0]?.reason === NO_ROWS;
  if (problems.length > 0 && !isEmpty) throw new Failure('invalid-rows', { source: name, problems });
  for (const column of ignored.slice(0, SHOWN)) context.notices.info(`Column ${JSON.stringify(column)} is not used.`);
  const summed = rows.flatMap(({ petId, lines }) =>
    lines === undefined ? [] : [`pet ${petId} (${linesText(lines)})`],
  );
  if (summed.length > 0) {
    const more = summed.length > SHOWN ? ` and ${summed.length - SHOWN} more` : '';
    context.notices.info(`Several lines added together: ${summed.slice(0, SHOWN).join(', ')}${more}.`);
  }
  const plan: Source['plan'] = (stock) => (adds ? makeAddingPlan(rows, stock, allowNegative) : makePlan(rows, stock));
  const command = `inventory import ${add ? '--add ' : ''}${source}`;
  return { name, command, source, hash, adds, plan, isEmpty, ...(adds && { rows: hashOfRows(rows) }) };
}

/** How many columns or pets a message names. */
const SHOWN = 10;

function linesText(lines: NonNullable<Row['lines']>): string {
  const shown = lines.slice(0, SHOWN).join(', ');
  return `lines ${shown}${lines.length > SHOWN ? ' and more' : ''}`;
}
