/** Writes the outcome of each row of a run as CSV to the state folder. */
import { stringify } from 'csv-stringify/sync';
import { joinPath, reportFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import type { Change, Run } from '../state/journal.ts';
import { csvCell } from '../view/formats.ts';

const COLUMNS = ['line', 'petId', 'before', 'after', 'state', 'reason'] as const;

/** @returns its path; undefined if it could not be written, which must not fail the run */
export async function writeReport(
  context: CommandContext,
  run: Run,
  changes: readonly Change[],
): Promise<string | undefined> {
  try {
    const folder = reportFolder(context);
    const path = joinPath(folder, `${run.kind}-${run.id}.csv`);
    await context.files.makePrivateFolder(folder);
    const rows = changes.map((change) => COLUMNS.map((name) => csvCell(change[name] ?? '')));
    await context.files.replace(path, stringify([[...COLUMNS], ...rows]), { mode: 0o600 });
    return path;
  } catch (error) {
    context.notices.debug(`no report: ${String(error)}`);
    return undefined;
  }
}

/** Shortens the home folder of a path to `~`. */
export function abbreviated(path: string, { env }: Pick<CommandContext, 'env'>): string {
  const home = env.HOME ?? '';
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
