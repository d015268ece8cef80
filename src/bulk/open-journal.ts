/** The journal of a bulk command, opened; with a lock, so that no two runs share one at the same time. */
import { stateFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import { openState, openStateFile, type State } from '../state/database.ts';
import { isOutOfReach } from '../state/file.ts';
import { Journal } from '../state/journal.ts';
import { acquireLock } from '../state/lock.ts';

type Work<T> = (journal: Journal) => T | Promise<T>;

/**
 * Opens the journal to look at: a damaged one stays where it is, and where there is none, none is made.
 * @throws {Failure} `state`, `file`, `no-home`
 */
export async function withJournal<T>(context: CommandContext, given: string | undefined, work: Work<T>): Promise<T> {
  const path = given ?? `${stateFolder(context)}/state.db`;
  const isThere = (await context.files.facts(path)) !== undefined;
  if (!isThere && given !== undefined) throw new Failure('file', { operation: 'read', path, code: 'ENOENT' });
  const state = await openStateFile(context, isThere ? path : ':memory:', { isOwn: given === undefined });
  return closing(state, () => work(journalIn(context, state)));
}

/**
 * Opens the journal to write to. A damaged state database is put aside, with a warning; never a file that was named.
 * @throws {Failure} `state`, `file`, `no-home`
 */
export async function withWritableJournal<T>(
  context: CommandContext,
  given: string | undefined,
  work: Work<T>,
): Promise<T> {
  const own = given === undefined;
  const state = await (own ? openState(context, stateFolder(context)) : openStateFile(context, given));
  const shared = own ? undefined : await openShared(context);
  return closing(state, async () => {
    try {
      return await work(journalIn(context, state, shared));
    } catch (error) {
      // Too late for this command; the next one finds a new file.
      if (await state.recover(error)) {
        throw new Failure('state', { path: state.path, what: 'state database', problem: 'replaced' }, error);
      }
      throw error;
    } finally {
      shared?.close();
    }
  });
}

/** Opens the state database beside a journal elsewhere; undefined where this machine has none to share. */
async function openShared(context: CommandContext): Promise<State | undefined> {
  try {
    return await openState(context, stateFolder(context));
  } catch (error) {
    if (isOutOfReach(error)) return undefined;
    throw error;
  }
}

function journalIn({ notices, secrets }: CommandContext, state: State, shared?: State): Journal {
  return new Journal(state, {
    shared,
    redact: (text) => secrets.redact(text),
    warn: (text) => {
      notices.warning(text);
    },
  });
}

async function closing<T>(state: State, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    state.close();
  }
}

/** Opens the journal for one run at a time. @throws {Failure} `state`; `run-locked`: another run is under way */
export function withLockedJournal<T>(
  context: CommandContext,
  given: string | undefined,
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const path = given ?? `${stateFolder(context)}/state.db`;
  return withWritableJournal(context, given, async (journal) => {
    const lock = await acquireLock(context, { path: `${path}.lock`, isOwn: given === undefined }, 0);
    if (lock === undefined) throw new Failure('run-locked', { path });
    try {
      return await work(journal);
    } finally {
      lock.release();
    }
  });
}
