import { stringify } from 'csv-stringify/sync';
import type { InventoryItem } from '../api/item.ts';
import { matcher } from '../api/select.ts';
import { flag } from '../cli/command.ts';
import { defineWrite, FILTER_OPTIONS } from '../cli/shared-options.ts';
import { openNames } from '../session/open-catalog.ts';
import { joinPath, statePath } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { errorCode } from '../ports.ts';
import { connect } from '../session/connect.ts';
import { readBytes } from '../session/read-text.ts';
import { assertWriteAllowed, canAsk } from '../session/resolve.ts';
import { Failure, fileFailed, isFailure } from '../errors.ts';
import { csvCell } from '../view/formats.ts';
import { confirmation, type View } from '../view/view.ts';
import { readStock, type Stock } from '../stock/runner.ts';
import { applyPlan, assertCanConfirm } from '../stock/apply.ts';
import { withLockedJournal } from '../stock/open-journal.ts';
import { dryRunPlan, makePlan, type Plan } from '../stock/plan.ts';
import { belowZero, parseRows, type Row } from '../stock/file-rows.ts';
import { decodeText } from '../stock/source-file.ts';

const HEAD =
  '# Edit quantities, then save and close. You will be asked before anything changes.\n' +
  '# Deleted lines are ignored; status and name cannot be changed.\n';

export const inventoryEdit = defineWrite({
  path: 'inventory edit',
  summary: 'Change stock in your editor',
  description:
    'Opens the stock, or only the pets matching the filters, as CSV in $VISUAL or $EDITOR. Shows your changes and ' +
    'asks before it applies them. Without a terminal, name an editor and add --yes. Other commands may change stock ' +
    'while the editor is open; pets that someone else has changed are reported as conflicts and skipped.',
  examples: {
    'All of it': 'petstore inventory edit',
    'What is running out': 'petstore inventory edit --status available --max 3',
  },
  options: {
    ...FILTER_OPTIONS,
    allowNegative: flag('--allow-negative', 'allow quantities below zero'),
  },
  async run(options, context): Promise<View> {
    const { env, files, globals, notices } = context;
    const isDryRun = options.dryRun === true;
    const isNamed = `${env.VISUAL ?? ''}${env.EDITOR ?? ''}` !== '';
    // Without a terminal, guesses no editor; one that is named may be a script.
    if (!canAsk(context) && !(globals.input && isNamed))
      throw new Failure('no-terminal', {
        what: isNamed ? 'confirmation' : 'the editor',
        instead: `Name an editor with EDITOR${globals.yes || isDryRun ? '' : ' and add --yes'}, or use petstore inventory import.`,
      });
    const matches = matcher(options);
    if (!isDryRun) {
      await assertWriteAllowed(context);
      assertCanConfirm(context);
    }
    const { origin, stock } = await presentStock(context);
    const items = [...stock.values()].filter(matches);
    const planOf = (rows: readonly Row[]) => ({ plan: (stock: Stock): Plan => makePlan(rows, stock) });
    if (items.length === 0)
      return isDryRun ? await dryRunPlan(context, planOf([])) : confirmation('No pet matches.', [['applied', 0]]);
    const folder = statePath(context, 'edit');
    // In containers that share the folder, each process may have the same number.
    const path = joinPath(folder, `stock-${Buffer.from(context.randomBytes(4)).toString('hex')}.csv`);
    const text = tableOf(items, await openNames(context, origin, items));
    await files.makePrivateFolder(folder).catch(fileFailed('write', path));
    await files.replace(path, text, { mode: 0o600 }).catch(fileFailed('write', path));
    let isUsed = false;
    try {
      const rows = await editedRows(context, path, (edited) => changedRows(edited, path, items, options.allowNegative));
      if (isDryRun) return await dryRunPlan(context, planOf(rows));
      if (rows.length === 0) {
        isUsed = true;
        return confirmation('Nothing was changed.', [['applied', 0]]);
      }
      // Locks only now, because an editor may stay open for hours.
      const done = await withLockedJournal(context, 'edit', (journal, turn) =>
        applyPlan({ context, journal, turn }, { kind: 'edit', command: 'inventory edit', ...planOf(rows) }),
      );
      isUsed = done.failure === undefined;
      return done;
    } finally {
      // Also after a signal. What cannot be read may be what was edited.
      const left = await files.read(path).catch((error: unknown) => (errorCode(error) === 'ENOENT' ? text : undefined));
      const kept = (): void => {
        notices.info(`Your edited file is kept: ${path}`);
      };
      if (!isUsed && left !== text) kept();
      else await files.remove(path).catch(kept);
    }
  },
});

async function presentStock(context: CommandContext): Promise<{ stock: Stock; origin: string }> {
  await using session = await connect(context, { isBulk: true });
  return { stock: await readStock(session.service), origin: session.origin };
}

/** Returns the changed rows. On a terminal the user may fix invalid ones at once. */
async function editedRows(context: CommandContext, path: string, read: (edited: string) => Row[]): Promise<Row[]> {
  const { globals, notices, prompt, signal } = context;
  for (;;) {
    await context.openEditor(path, signal);
    try {
      return read(decodeText(await readBytes(context, path), path));
    } catch (error) {
      if (!isFailure(error) || !error.is('invalid-rows')) throw error;
      if (globals.yes || !canAsk(context)) throw error;
      for (const { line, reason } of error.details.problems) notices.warning(`line ${line}: ${reason}`);
      if (!(await prompt.confirm('Edit it again?', signal, true))) throw error;
    }
  }
}

/** Heading of the column for the name, which is ignored when the rows are read: the id names the pet. */
const NAME = 'pet name';

function tableOf(items: readonly InventoryItem[], names: ReadonlyMap<bigint, string> | undefined): string {
  const heading = ['petId', 'quantity', 'status', ...(names === undefined ? [] : [NAME])];
  const rows = items.map(({ petId, quantity, status }) => {
    const name = names === undefined ? [] : [names.get(petId) ?? ''];
    return [petId, quantity, status, ...name].map(csvCell);
  });
  return HEAD + stringify([heading, ...rows]);
}

/** The rows that differ, each guarded by what was shown. @throws {Failure} `invalid-rows` */
function changedRows(edited: string, path: string, shown: readonly InventoryItem[], allowNegative = false): Row[] {
  const before = new Map(shown.map(({ petId, quantity }) => [petId, quantity]));
  const read = parseRows(edited.replace(/^#.*(?:\r?\n|$)/gm, '\n'), { allowNegative: true });
  const hint = 'To start again from the current stock, run the command again.';
  if (read.adds || read.headings !== undefined) {
    const problems = [{ line: 1, reason: 'the heading must have the columns petId and quantity' }];
    throw new Failure('invalid-rows', { source: path, problems, hint });
  }
  const changed = read.rows.flatMap((row) => {
    const current = before.get(row.petId);
    return current === row.quantity ? [] : [{ ...row, current }];
  });
  // A quantity that was below zero already, and is unchanged, is allowed.
  const below = allowNegative ? [] : changed.filter(({ quantity }) => quantity < 0n);
  const others = changed.filter(({ petId }) => !before.has(petId));
  const problems = [
    ...read.problems,
    ...others.map(({ line, petId }) => ({ line, reason: `pet ${petId} was not in this file` })),
    ...below.map(({ line, quantity }) => ({ line, reason: belowZero(quantity) })),
  ].toSorted((a, b) => a.line - b.line);
  if (problems.length === 0) return changed;
  throw new Failure('invalid-rows', { source: path, problems, hint });
}
