/** Reads the ids of pets that this machine has seen, for completion, without creating a file or sending a request. */
import { type Context, DatabaseFailure } from '../ports.ts';

/** The most ids that completion proposes. */
const MOST = 500;

type Ports = Pick<Context, 'files' | 'openDatabase'>;

/** Returns no ids for a file that is missing or cannot be read. `query` selects one column, `petId`. */
export async function petsIn({ files, openDatabase }: Ports, path: string, query: string): Promise<readonly bigint[]> {
  try {
    if ((await files.facts(path)) === undefined) return [];
    using database = await openDatabase(path, { readOnly: true });
    return database.all(`${query} LIMIT ${MOST}`).flatMap(({ petId }) => (typeof petId === 'bigint' ? [petId] : []));
  } catch (error) {
    if (error instanceof DatabaseFailure) return [];
    throw error;
  }
}
