/** Commands on this machine that read, reckon and write the same pet take turns. */
import { stateFolder } from '../config/folders.ts';
import type { CommandContext } from '../config/globals.ts';
import { Failure, isFailure } from '../errors.ts';
import { acquireLock } from '../state/lock.ts';

/** Enough that two pets seldom meet; few enough to leave no litter. */
const LOCKS = 64n;
/** Whoever holds the turn may be waiting for the allowance. */
const PATIENCE_MS = 120_000;

/** @throws {Failure} `state`: the turn does not come, or there is nowhere to wait for it */
export async function inTurn<T>(context: CommandContext, petId: bigint, work: () => Promise<T>): Promise<T> {
  const folder = `${stateFolder(context)}/locks`;
  const path = `${folder}/${((petId % LOCKS) + LOCKS) % LOCKS}.db`;
  const lock = await acquire(context, folder, path);
  if (lock === undefined) throw new Failure('state', { path, problem: 'held' });
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function acquire(context: CommandContext, folder: string, path: string): ReturnType<typeof acquireLock> {
  try {
    await context.files.makePrivateFolder(folder);
    return await acquireLock(context, { path, isOwn: true }, PATIENCE_MS);
  } catch (error) {
    if (isFailure(error)) throw error;
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string') throw new Failure('file', { operation: 'create', path: folder, code }, error);
    throw error;
  }
}
