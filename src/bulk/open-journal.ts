/** Opens the journal of a bulk command, with a lock that keeps a second run out. */
import { stateFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure } from '../errors.ts';
import { openState, openStateFile, type State } from '../state/database.ts';
import { isOutOfReach } from '../state/file.ts';
import { Journal } from '../state/journal.ts';
import { acquireLock } from '../state/lock.ts';

type Work<T> = (journal: Journal) => T | Promise<T>;

/**
 * Opens the journal to read: a damaged one is left alone, and a missing one is not created.
 * @throws {Failure} `state`, `file`, `no-home`
 */
export async function withJournal<T>(context: CommandContext, given: string | undefined, work: Work<T>): Promise<T> {
  const path = given ?? `${stateFolder(context)}/state.db`;
  const isThere = (await context.files.facts(path)) !== undefined;
  if (!isThere && given !== undefined) throw new Failure('file', { operation: 'read', path, code: 'ENOENT' });
  using state = await openStateFile(context, isThere ? path : ':memory:', { isOwn: given === undefined });
  return await work(journalIn(context, state));
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
  using state = await (own ? openState(context, stateFolder(context)) : openStateFile(context, given));
  using shared = own ? undefined : await openShared(context);
  try {
    return await work(journalIn(context, state, shared));
  } catch (error) {
    // Too late for this command; the next one finds a new file.
    if (await state.recover(error)) {
      throw new Failure('state', { path: state.path, what: 'state database', problem: 'replaced' }, error);
    }
    throw error;
  }
}

/** Opens the state database beside a journal elsewhere; undefined if this machine cannot keep one. */
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

/** Opens the journal for one run at a time. @throws {Failure} `state`; `run-locked`: another run is under way */
export function withLockedJournal<T>(
  context: CommandContext,
  given: string | undefined,
  work: (journal: Journal) => Promise<T>,
): Promise<T> {
  const path = given ?? `${stateFolder(context)}/state.db`;
  return withWritableJournal(context, given, async (journal) => {
    using lock = await acquireLock(context, { path: `${path}.lock`, isOwn: given === undefined }, 0);
    if (lock === undefined) throw new Failure('run-locked', { path });
    return await work(journal);
  });
}
