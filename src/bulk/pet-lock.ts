/** Commands of this machine that change the same pet take turns. */
import { stateFolder } from '../session/paths.ts';
import type { CommandContext } from '../session/globals.ts';
import { errorCode } from '../ports.ts';
import { Failure, fileFailure, isFailure } from '../errors.ts';
import { acquireLock } from '../state/lock.ts';

/** Enough that two pets seldom meet; few enough to leave no litter. */
const LOCKS = 64n;
/** A turn takes at least as long as a request: no setting makes a command give up sooner. */
const LEAST_PATIENCE_MS = 5_000;
/** A shorter wait is not announced. */
const NOTICED_MS = 1_000;

export interface TurnOptions {
  /** How long to wait for the turn. Default: --max-wait. */
  readonly patienceMs?: number;
  /** Does the work without a turn where this machine has no place to keep locks in. */
  readonly isOptional?: boolean;
  /** Says nothing of a wait: a run has its own progress. */
  readonly isQuiet?: boolean;
}

/** @throws {Failure} `state`: the turn does not come, or there is nowhere to wait for it */
export async function withPetLock<T>(
  context: CommandContext,
  petId: bigint,
  work: () => Promise<T>,
  options: TurnOptions = {},
): Promise<T> {
  using _lock = await takeTurn(context, petId, options);
  return await work();
}

async function takeTurn(context: CommandContext, petId: bigint, options: TurnOptions): Promise<Disposable | undefined> {
  const patienceMs = Math.max(LEAST_PATIENCE_MS, options.patienceMs ?? context.globals.maxWait);
  let path: string;
  let lock: Disposable | undefined;
  try {
    const folder = `${stateFolder(context)}/locks`;
    path = `${folder}/${((petId % LOCKS) + LOCKS) % LOCKS}.db`;
    await makeFolder(context, folder);
    lock = await acquireLock(context, { path, isOwn: true }, NOTICED_MS);
    if (lock === undefined) {
      if (options.isQuiet !== true) {
        context.notices.info(`Waiting for another petstore process that is changing pet ${petId}.`);
      }
      lock = await acquireLock(context, { path, isOwn: true }, patienceMs - NOTICED_MS);
    }
  } catch (error) {
    const isPlaceless = isFailure(error) && (error.is('no-home') || error.is('file') || error.is('state'));
    if (options.isOptional === true && isPlaceless) return undefined;
    throw error;
  }
  if (lock === undefined) throw new Failure('state', { path, problem: 'held' });
  return lock;
}

async function makeFolder({ files }: CommandContext, folder: string): Promise<void> {
  try {
    await files.makePrivateFolder(folder);
  } catch (error) {
    throw errorCode(error) === undefined ? error : fileFailure('create', folder, error);
  }
}
