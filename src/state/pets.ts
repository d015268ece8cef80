/** Ids of pets that this machine has seen, for completion: read where they are, and nothing is made or asked. */
import { type Context, DatabaseFailure } from '../ports.ts';

/** More than that nobody picks from. */
const MOST = 500;

type Ports = Pick<Context, 'files' | 'openDatabase'>;

/** `query` names one column `petId`. A file that is not there, or cannot be read, knows of none. */
export async function petsIn({ files, openDatabase }: Ports, path: string, query: string): Promise<readonly bigint[]> {
  try {
    if ((await files.facts(path)) === undefined) return [];
    const database = await openDatabase(path, { readOnly: true });
    try {
      return database.all(`${query} LIMIT ${MOST}`).flatMap(({ petId }) => (typeof petId === 'bigint' ? [petId] : []));
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof DatabaseFailure) return [];
    throw error;
  }
}
