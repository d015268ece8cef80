/** The journal of a bulk command, opened; with a lock, so that no two runs share one at the same time. */
import { stateFolder } from '../config/folders.ts';
import type { CommandContext } from '../config/globals.ts';
import { Failure, isFailure } from '../errors.ts';
import { openStateFile, type State, stateFailure } from '../state/database.ts';
import { Journal } from '../state/journal.ts';
import { acquireLock } from '../state/lock.ts';

/** The state database, or the file that was asked for. @throws {Failure} `no-home` */
function journalPath(context: CommandContext, given: string | undefined): string {
  return given ?? `${stateFolder(context)}/state.db`;
}

/** To look at. @throws {Failure} `state`, `file` */
export async function withJournal<T>(
  context: CommandContext,
  given: string | undefined,
  work: (journal: Journal) => T | Promise<T>,
): Promise<T> {
  const state = await openStateFile(context, journalPath(context, given));
  try {
    return await work(new Journal(state));
  } finally {
    state.close();
  }
}

/** To work with: nobody else does meanwhile. @throws {Failure} `state`: another run is under way */
export async function withRuns<T>(
  context: CommandContext,
  given: string | undefined,
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const path = journalPath(context, given);
  const state = await openStateFile(context, path);
  let shared: State | undefined;
  try {
    if (given !== undefined) shared = await openShared(context);
    const journal = new Journal(state, shared);
    const lock = await acquireLock(context, `${path}.lock`, 0).catch((error: unknown) => {
      throw stateFailure(error, path);
    });
    if (lock === undefined) throw new Failure('run-held', { path });
    try {
      return await work(journal);
    } finally {
      lock.release();
    }
  } finally {
    state.close();
    shared?.close();
  }
}

/** Opens the state database beside a journal elsewhere; undefined where this machine has none to share. */
async function openShared(context: CommandContext): Promise<State | undefined> {
  try {
    return await openStateFile(context, journalPath(context, undefined));
  } catch (error) {
    if (isFailure(error) && (error.is('no-home') || error.is('file'))) return undefined;
    if (isFailure(error) && error.is('state') && error.facts.problem === 'unusable') return undefined;
    throw error;
  }
}
