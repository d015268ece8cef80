/** `inventory import`: sets the stock from the rows of a file. */
import { hash } from 'node:crypto';
import { connect } from '../session/connect.ts';
import type { CommandContext } from '../session/globals.ts';
import { readText } from '../session/read-text.ts';
import { assertWriteAllowed } from '../session/write-policy.ts';
import { Failure } from '../errors.ts';
import type { RecordView, RowsView } from '../view/view.ts';
import { applyPlan, assertCanConfirm } from './apply.ts';
import { type OnOutcome } from './events.ts';
import { readStock } from './runner.ts';
import { withLockedJournal } from './open-journal.ts';
import { makePlan } from './plan.ts';
import { parseRows } from './rows.ts';
import { planView } from './plan-view.ts';

export interface ImportOptions {
  readonly file?: string;
  readonly exitCode?: boolean;
  readonly allowNegative?: boolean;
  readonly journal?: string;
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
  assertCanConfirm(context);
  return withLockedJournal(context, options.journal, 'import', (journal, turn) =>
    applyPlan(
      { context, journal, turn, journalFile: options.journal, onOutcome },
      { kind: 'import', command, ...file, plan: (stock) => makePlan(rows, stock) },
    ),
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
