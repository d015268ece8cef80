/** `inventory import`: sets the stock from the rows of a file, or adds them to it. */
import { EventEmitter, on } from 'node:events';
import { jsonObject, type JsonValue, stringifyJson } from '../api/json.ts';
import { catalogOrigin, noCatalog, openCatalog, petOfRow } from '../session/open-catalog.ts';
import type { CommandContext } from '../session/globals.ts';
import { originOf } from '../session/environments.ts';
import { assertWriteAllowed, canAsk } from '../session/resolve.ts';
import { Failure, isFailure, usageFailure } from '../errors.ts';
import type { Change, Journal, Run, RunSummary } from '../state/journal.ts';
import { confirmation, list, type RecordView, type View } from '../view/view.ts';
import { plural } from '../view/words.ts';
import { applyPlan, assertCanConfirm, type PlanContext, type RunSpec } from './apply.ts';
import { type Mapping, STOCK_FILE } from './columns.ts';
import { readSource, type SourceFile } from './source-file.ts';
import { countStates, summaryMembers } from './summary.ts';
import { openJournal, withLockedJournal } from './open-journal.ts';
import { resumeCommand } from '../session/run-commands.ts';
import { dryRunPlan, makeAddingPlan, makePlan } from './plan.ts';
import type { OnOutcome } from './runner.ts';
import { hashOfRows, parseRows, type PetOf, type Row } from './file-rows.ts';
import { earlierOf, findStopped } from './earlier-import.ts';
import { cannotResume, planOfRest, resumeNamed } from './runs.ts';

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

/** A file that has been read, and its rows. */
interface Source extends Required<Pick<RunSpec, 'command' | 'source' | 'hash' | 'adds'>> {
  readonly wanted: readonly Row[];
  planFor(wanted: readonly Row[]): RunSpec['plan'];
}

/** Shows the plan of the run that --resume continues, or of the file. */
export async function dryRun(context: CommandContext, options: ImportOptions): Promise<View> {
  const show = (plan: RunSpec['plan']): Promise<View> => dryRunPlan(context, { plan }, options.exitCode);
  const text = await readSource(context, options.file, STOCK_FILE);
  using journal = await openJournal(context);
  const begun = await findBegun(context, journal, text, options);
  if (begun !== undefined) return await show(await planOfRest(context, journal, begun));
  const file = await readImport(context, options, text);
  const stopped = await findStopped(context, journal, ({ adds }) => adds !== undefined && adds === file.adds);
  if (stopped !== undefined && options.resume === true) return await show(await planOfRest(context, journal, stopped));
  const earlier = await earlierOf(context, journal, file, options.again === true);
  if (earlier !== undefined) context.notices.warning(`${earlier.says}.`);
  const { rest = file.wanted } = earlier ?? {};
  return await show(file.planFor(options.resume === true ? rest : file.wanted));
}

export function runImport(context: CommandContext, options: ImportOptions): Promise<View> | View {
  return withEvents(context, options.events, async (onOutcome) => {
    const text = await readSource(context, options.file, STOCK_FILE);
    const prepare = async (): Promise<Source> => {
      const file = await readImport(context, options, text);
      if (file.wanted.length === 0) return file;
      await assertWriteAllowed(context);
      assertCanConfirm(context);
      return file;
    };
    // A file that is resumed is not parsed again: --map may have named its columns.
    const ready = options.resume === true ? undefined : await prepare();
    return withLockedJournal(context, 'import', async (journal, turn) => {
      const runContext = { context, journal, turn, onOutcome };
      const begun = await findBegun(context, journal, text, options);
      if (begun !== undefined) return resumeNamed(runContext, sameIn(begun, text));
      const source = ready ?? (await turn.pause(prepare));
      const { wanted, planFor, ...file } = source;
      if (wanted.length === 0) {
        const { value } = (await context.settings()).environment;
        return confirmation(`Nothing to do: ${text.name} has no rows.`, summaryMembers(value, countStates([], 0)));
      }
      const origin = originOf(await context.target());
      const isSame = (run: Run): boolean =>
        run.adds === file.adds &&
        (file.adds !== undefined ||
          (run.origin === origin && (run.hash === file.hash || (run.source === file.source && file.source !== '-'))));
      const stopped = await findStopped(context, journal, isSame);
      if (
        stopped !== undefined &&
        (file.adds !== undefined || stopped.hash === file.hash) &&
        (options.resume === true || (await wantsToResume(runContext, sameIn(stopped, text))))
      ) {
        return resumeNamed(runContext, sameIn(stopped, text));
      }
      const { rows, ...added } = await whatToAdd(context, journal, source, options, stopped !== undefined);
      const replaces = stopped && { uncertain: journal.changesOf(stopped.id), run: stopped };
      return applyPlan(runContext, { kind: 'import', ...file, ...added, plan: planFor(rows), replaces });
    });
  });
}

/**
 * With --events, prints an object for each row as it is applied, and one at the end.
 * @param work applies the run. With events, its summary is the last object.
 * @throws {Failure} `usage`
 */
function withEvents(
  { globals }: CommandContext,
  isWanted: boolean | undefined,
  work: (onOutcome?: OnOutcome) => Promise<RecordView>,
): Promise<View> | View {
  if (isWanted !== true) return work();
  if (globals.output === 'csv') throw usageFailure('--events cannot be used with csv.', 'Use -o ndjson.');
  let failure: Failure | undefined;
  async function* events(): AsyncGenerator<JsonValue[]> {
    const run = new EventEmitter<{ row: [Change]; end: [] }>();
    const outcomes = on(run, 'row', { close: ['end'] }) as AsyncIterable<[Change]>;
    const running = work((row) => run.emit('row', row));
    const ended = running
      .then(
        (summary) => (failure = summary.failure),
        (error: unknown) => (failure = isFailure(error) ? error : undefined),
      )
      .finally(() => run.emit('end'));
    try {
      for await (const [{ line = null, petId, before = null, after, state, reason = null }] of outcomes)
        yield [jsonObject({ event: 'row', line, petId, before, after, state, reason })];
      const { json } = await running;
      yield [new Map<string, JsonValue>([['event', 'end'], ...json])];
    } finally {
      // The run continues if its reader goes away.
      await ended;
    }
  }
  const ndjson = { jsonText: stringifyJson, header: false, format: 'ndjson', isWork: true } as const;
  return { ...list<JsonValue>([], {}, { ...ndjson, check: () => failure }), rows: events() };
}

/** Returns the run with this file as its source: the original may have moved. Without a hash it is not read again. */
function sameIn(run: RunSummary, { path }: SourceFile): RunSummary {
  return { ...run, source: path, hash: undefined };
}

/**
 * Returns the rows to apply, and the question to ask. Rows that were added before are added again only if the user
 * agrees.
 * @param isDeclined true if the user has just declined to resume the run that added some of them
 * @throws {Failure} `usage`: rows were added before, and there is no terminal to ask at
 */
async function whatToAdd(
  context: CommandContext,
  journal: Journal,
  source: Source,
  options: ImportOptions,
  isDeclined: boolean,
): Promise<Pick<RunSpec, 'question' | 'restOf'> & { readonly rows: readonly Row[] }> {
  const { adds, wanted } = source;
  const { globals, notices } = context;
  const all = (question: (pets: number) => string) => ({ rows: wanted, question });
  if (adds === undefined)
    return all((pets) => `Set ${plural(pets, 'pet')} to the numbers of the file (to add them: --add)`);
  const earlier = await earlierOf(context, journal, source, options.again === true);
  if (earlier === undefined) return all((pets) => `Add ${plural(pets, 'row')} to the stock`);
  const { says, rest, restOf, isEdited } = earlier;
  const canChoose = !globals.yes && canAsk(context);
  const isPart = rest.length > 0 && !isDeclined;
  if (!canChoose && !(isPart && !isEdited && options.resume === true)) {
    const again = 'If they arrived a second time, add --again.';
    const others = isEdited ? `Import a file with only the others. ${again}` : 'To add only the others, add --resume.';
    throw usageFailure(`${says}; nothing was sent.`, isPart ? others : again);
  }
  if (isPart) {
    notices.info(`${says}: only the others are added.`);
    const question = (pets: number) => `Add the other ${pets === 1 ? 'row' : `${pets} rows`} to the stock`;
    return { rows: rest, restOf, question };
  }
  notices.warning(`${says}. Adding them again adds them twice.`);
  return all((pets) => `Add ${plural(pets, 'row')} to the stock a second time`);
}

/** Finds the unfinished import that --resume continues; undefined without --resume. */
async function findBegun(
  context: CommandContext,
  journal: Journal,
  text: SourceFile,
  { add, resume }: ImportOptions,
): Promise<RunSummary | undefined> {
  if (resume !== true) return undefined;
  return findStopped(context, journal, ({ hash, adds }) => hash === text.hash && (add !== true || adds !== undefined));
}

/**
 * Asks on a terminal. Without one, a file that sets is imported again; one that adds is not, to add no row twice.
 * @throws {Failure} `cannot-resume`
 */
async function wantsToResume({ context, turn }: PlanContext, run: RunSummary): Promise<boolean> {
  const { globals, notices, prompt, signal } = context;
  const problem = `Import ${run.id} of this file is unfinished (${run.left} left)`;
  const hint = `Resume it with: ${resumeCommand(run)}`;
  if (!globals.yes && canAsk(context)) {
    if (run.adds !== undefined)
      notices.warning('Without resuming, the rows that it has added already are added again.');
    return turn.pause(() => prompt.confirm(`${problem}. Resume it in ${run.environment}?`, signal, true));
  }
  if (run.adds !== undefined) throw cannotResume(problem, hint);
  notices.warning(`${problem}. ${hint}`);
  return false;
}

/** @throws {Failure} `usage`, `invalid-rows` */
async function readImport(
  context: CommandContext,
  { add = false, map = [], allowNegative = false }: ImportOptions,
  { name, path: source, text, hash }: SourceFile,
): Promise<Source> {
  const environment = (await context.settings()).environment.value;
  using catalog = await openCatalog(context, await catalogOrigin(context));
  const petOf: PetOf = (column, code, isNeeded) => {
    if (catalog !== undefined) return petOfRow(catalog, column, code);
    if (isNeeded) throw noCatalog(`The column ${column}`, environment);
    return 'there is no catalog';
  };
  const parse = (mappings: readonly Mapping[]) => parseRows(text, { add, mappings, allowNegative, petOf });
  let read = parse(map);
  if (read.headings !== undefined) {
    const { nameColumns } = await import('./ask-columns.ts');
    read = parse(await nameColumns(context, read.headings, map, add));
  }
  if (read.headings !== undefined) {
    throw usageFailure(
      `${name}: ${read.problems[0]!.reason}; nothing was sent.`,
      'In place of petId, a column may be barcode or name. quantity sets the stock, delta adds to it.',
    );
  }
  const { rows, adds, problems, ignored } = read;
  if (problems.length > 0) throw new Failure('invalid-rows', { source: name, problems });
  for (const column of ignored) context.notices.info(`Column ${JSON.stringify(column)} is not used.`);
  const planFor: Source['planFor'] = (wanted) => (stock) =>
    adds ? makeAddingPlan(wanted, stock, allowNegative) : makePlan(wanted, stock);
  const command = `inventory import ${add ? '--add ' : ''}${source}`;
  return { command, source, hash, adds: adds ? hashOfRows(rows) : undefined, wanted: rows, planFor };
}
