/** How much room the state takes on the disk. */
import type { CommandContext } from '../session/globals.ts';
import { duration } from '../view/progress.ts';
import { plural } from '../view/words.ts';

type Ports = Pick<CommandContext, 'files'> & {
  readonly globals: Pick<CommandContext['globals'], 'keepHistory'>;
};

/** Returns the sizes of the database, its log and the reports of runs, and how long they are kept, as two sentences. */
export async function stateSize({ files, globals }: Ports, folder: string): Promise<string> {
  const sizeOf = async (path: string): Promise<number> => (await files.facts(path))?.size ?? 0;
  const [database, log] = [await sizeOf(`${folder}/state.db`), await sizeOf(`${folder}/state.db-wal`)];
  const reports = await files.list(`${folder}/reports`);
  let total = 0;
  for (const name of reports) total += await sizeOf(`${folder}/reports/${name}`);
  const { keepHistory } = globals;
  const kept = Number.isFinite(keepHistory) ? `for ${duration(keepHistory)}` : 'forever';
  const sizes = `The database takes ${bytes(database)}, its log ${bytes(log)}, ${plural(reports.length, 'report')} ${bytes(total)}.`;
  return `${sizes} History is kept ${kept}.`;
}

/** Returns a size as people read it: kB, MB or GB, rounded up. */
function bytes(count: number): string {
  if (count < 1e6) return `${Math.ceil(count / 1e3)} kB`;
  return count < 1e9 ? `${Math.ceil(count / 1e5) / 10} MB` : `${Math.ceil(count / 1e8) / 10} GB`;
}
