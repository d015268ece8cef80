/** How much room the state takes on the disk. */
import type { Context } from '../ports.ts';

/** Returns the sizes of the database, its log and the reports of runs, as a sentence. */
export async function stateSize({ files }: Pick<Context, 'files'>, folder: string): Promise<string> {
  const sizeOf = async (path: string): Promise<number> => (await files.facts(path))?.size ?? 0;
  const [database, log] = [await sizeOf(`${folder}/state.db`), await sizeOf(`${folder}/state.db-wal`)];
  const reports = await files.list(`${folder}/reports`);
  let total = 0;
  for (const name of reports) total += await sizeOf(`${folder}/reports/${name}`);
  const counted = `${reports.length} ${reports.length === 1 ? 'report' : 'reports'}`;
  return `The database has ${bytes(database)}, its log ${bytes(log)}, ${counted} ${bytes(total)}.`;
}

/** Returns a size as people read it: kB or MB, rounded up. */
function bytes(count: number): string {
  return count < 1_000_000 ? `${Math.ceil(count / 1_000)} kB` : `${Math.ceil(count / 100_000) / 10} MB`;
}
