/** `inventory edit`: the stock in an editor, as CSV; what was changed there is shown, agreed to and set. */
import { stringify } from 'csv-stringify/sync';
import type { InventoryItem } from '../api/item.ts';
import { type Filter, matcher } from '../api/select.ts';
import { stateFolder } from '../config/folders.ts';
import type { CommandContext } from '../config/globals.ts';
import { Failure } from '../errors.ts';
import type { RecordView } from '../view/view.ts';
import { readStock } from './engine.ts';
import { applyRows, mayWrite, readFile, withSession } from './import.ts';
import { withRuns } from './journals.ts';
import { parseRows, type Row } from './rows.ts';

const HEAD =
  '# Change quantities, save, and leave the editor: only what differs is set, after you have agreed.\n' +
  '# A pet whose line is gone is left as it is. Leave without a change to do nothing.\n';

/** @throws {Failure} `no-terminal`, `editor`, `bad-rows`, and what connect throws */
export async function edit(context: CommandContext, filter: Filter): Promise<RecordView> {
  const { files, globals, notices, stderr, stdin } = context;
  if (!stdin.isTTY || !stderr.isTTY || !globals.input) {
    throw new Failure('no-terminal', { what: 'The changes', instead: 'Use petstore inventory import.' });
  }
  await mayWrite(context, 'inventory edit');
  return withRuns(context, undefined, async (journal) => {
    const items = await withSession(context, false, async ({ service }) => [...(await readStock(service)).values()]);
    const folder = `${stateFolder(context)}/edit`;
    const path = `${folder}/stock-${context.machine.pid}.csv`;
    await files.makePrivateFolder(folder);
    const text = tableOf(items.filter(matcher(filter)));
    await files.replace(path, text);
    await context.openEditor(path);
    const rows = changedRows(await readFile(context, path), text, path);
    if (rows.length === 0) {
      await files.remove(path);
      return nothing();
    }
    const work = { kind: 'edit', command: 'inventory edit' } as const;
    const resume = (run: bigint): string => `petstore inventory import --resume ${run}`;
    try {
      return await applyRows(context, journal, { work, rows, wait: false, resume });
    } finally {
      notices.info(`Your edited file is kept: ${path}`);
    }
  });
}

function tableOf(items: readonly InventoryItem[]): string {
  const rows = items.map(({ petId, quantity, status }) => [petId.toString(), quantity.toString(), status]);
  return HEAD + stringify([['petId', 'quantity', 'status'], ...rows]);
}

/** The rows that differ, each guarded by what was shown. @throws {Failure} `bad-rows` */
function changedRows(edited: string, original: string, path: string): Row[] {
  const withoutHead = (text: string): string => text.replace(/^#.*(?:\r?\n|$)/gm, '\n');
  const read = parseRows(withoutHead(edited), { allowNegative: false });
  if (read.problems.length > 0) {
    if (read.rows.length === 0 && read.problems[0]?.reason === 'there are no rows') return [];
    throw new Failure('bad-rows', { source: path, problems: read.problems });
  }
  const shown = new Map(
    parseRows(withoutHead(original), { allowNegative: true }).rows.map(({ petId, quantity }) => [petId, quantity]),
  );
  return read.rows.flatMap((row) => {
    const current = shown.get(row.petId);
    return current === row.quantity ? [] : [{ ...row, ...(current !== undefined && { current }) }];
  });
}

function nothing(): RecordView {
  return {
    view: 'record',
    text: 'Nothing was changed.',
    json: new Map([['applied', 0]]),
    fields: [{ name: 'applied', value: 0 }],
  };
}
