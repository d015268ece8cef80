/** Opens the journal of a bulk command; one process at a time applies a run. */
import { partsOf, placeIn } from '../session/environments.ts';
import { stateFolder, statePath } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { Failure, fileFailed } from '../errors.ts';
import { inBatches } from '../state/batch.ts';
import { openState, openStateFile, type State } from '../state/database.ts';
import { Journal, replaced } from '../state/journal.ts';
import { acquireLock, takeLock } from '../state/lock.ts';
import { pruneIfDue } from './prune.ts';

type Work<T> = (journal: Journal) => T | Promise<T>;

/**
 * Opens the journal to read, for `using`. Leaves a damaged one alone, and does not create a missing one.
 * @throws {Failure} `state`, `file`, `no-home`
 */
export async function openJournal(context: CommandContext): Promise<Journal> {
  const path = statePath(context, 'state.db');
  const found = await context.files.facts(path).catch(fileFailed('read', path));
  return journalIn(context, await openStateFile(context, found === undefined ? ':memory:' : path));
}

/**
 * Requires that the profile exists: a misspelt one would look like a new shop. Variables alone make a shop, too.
 * @throws {Failure} `no-profile`
 */
export async function requireProfile(context: CommandContext, journal: Journal): Promise<void> {
  const { baseUrl, environment } = await context.settings();
  const { profile } = partsOf(environment.value);
  if (profile === undefined || baseUrl !== undefined || (await context.configFile()).exists) return;
  const isUsed = (['production', 'staging'] as const).some((name) => {
    const filter = { environment: placeIn(profile, name), limit: 1 };
    return journal.runs(filter).length > 0 || [...journal.history(filter)].flat().length > 0;
  });
  if (!isUsed) throw new Failure('no-profile', { profile });
}

/**
 * Opens the journal to write. Puts a damaged one aside, with a warning.
 * @throws {Failure} `state`, `file`, `no-home`
 */
export async function withWritableJournal<T>(context: CommandContext, work: Work<T>): Promise<T> {
  using state = await openWritable(context);
  return await written(context, state, work);
}

/** @throws {Failure} `state`, `file`, `no-home` */
export async function openWritable(context: CommandContext): Promise<State> {
  return openState(context, stateFolder(context));
}

/**
 * Returns a function that opens the state for many concurrent writes: it stays open until the process ends, and
 * simultaneous records share a transaction.
 */
export function stateKeptOpen(context: CommandContext): () => Promise<State> {
  let opened: Promise<State> | undefined;
  const open = async (): Promise<State> => inBatches(await openWritable(context), context.clock);
  return () =>
    // The next call tries again.
    (opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));
}

/** Works with the journal of an open state, then prunes it. @throws {Failure} `state`: a damaged one was replaced */
export async function written<T>(context: CommandContext, state: State, work: Work<T>): Promise<T> {
  try {
    const result = await work(journalIn(context, state));
    await pruneIfDue(context, state);
    return result;
  } catch (error) {
    // Too late for this command. The next one finds a new file.
    throw (await state.recover(error)) ? replaced(state, error) : error;
  }
}

function journalIn({ secrets }: CommandContext, state: State): Journal {
  return new Journal(state, (text) => secrets.redact(text));
}

/** The right to apply a run, which one process at a time has. */
export interface Turn extends Disposable {
  /** Gives the turn to others while the work runs, for example during a question. */
  pause<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Waits up to --max-wait until no other process applies a run.
 * @param what the kind of run, for others that wait: import, count, edit, undo
 * @throws {Failure} `state`; `run-locked`: another process still applies a run
 */
export async function takeTurn(context: CommandContext, journal: Journal, what: string): Promise<Turn> {
  const take = async (): Promise<Disposable> => {
    const holder = (): string => `another petstore ${journal.holder()}`;
    const taken = await takeLock(context, `${journal.state.path}.lock`, context.globals.maxWait, holder);
    await journal.noteHolder(`${what} (process ${context.machine.pid})`);
    return taken;
  };
  let lock = await take();
  return {
    async pause(work) {
      lock[Symbol.dispose]();
      const result = await work();
      lock = await take();
      return result;
    },
    // Once more after the release of a pause, this does nothing.
    [Symbol.dispose]: () => {
      lock[Symbol.dispose]();
    },
  };
}

/** Keeps something that a user works on in one process. @throws {Failure} `run-locked`: it is open in another */
export async function lockHere(context: CommandContext, name: string, what: string): Promise<Disposable> {
  const lock = await tryLock(context, name);
  if (lock !== undefined) return lock;
  throw new Failure('run-locked', { what, waitedMs: 0, isOpen: true });
}

function tryLock(context: CommandContext, name: string): Promise<Disposable | undefined> {
  return acquireLock(context, `${stateFolder(context)}/locks/${name}.db`, 0);
}

/** True if a process works on the stocktake. */
export async function isStocktakeOpen(context: CommandContext, run: bigint): Promise<boolean> {
  using lock = await tryLock(context, `count-${run}`);
  return lock === undefined;
}

/** Keeps a stocktake in one process. @throws {Failure} `run-locked` */
export function lockStocktake(context: CommandContext, run: bigint): Promise<Disposable> {
  return lockHere(context, `count-${run}`, `run ${run} (count)`);
}

/** Opens the journal to apply a run: one process at a time. @throws {Failure} `state`, `run-locked` */
export function withLockedJournal<T>(
  context: CommandContext,
  what: string,
  work: (journal: Journal, turn: Turn) => Promise<T>,
): Promise<T> {
  return withWritableJournal(context, async (journal) => {
    using turn = await takeTurn(context, journal, what);
    return await work(journal, turn);
  });
}
