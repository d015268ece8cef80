/**
 * The reserve for a block: an empty file, created in advance, whose timestamps say until when nothing may be sent.
 * Setting them needs no disk space and no lock, so it keeps a block that the ledger could not store, or loses later.
 */
import type { Context } from '../ports.ts';
import { isFailure } from '../errors.ts';
import { type Block, learn, UNKNOWN } from './governor.ts';
import { BLOCK_REASONS, LONGEST_BLOCK_MS } from './headers.ts';
import { type Step, toWall } from './ledger.ts';

const NO_BLOCK = { accessedAt: 0, modifiedAt: 0 };
/** The end is rounded up to this many ms, which leaves a digit for the reason. */
const ROUNDING_MS = 10;

export type ReserveFile = ReturnType<typeof reserveFile>;

/** @param name of the file; must not reveal the key */
export function reserveFile({ clock, files }: Pick<Context, 'clock' | 'files'>, folder: string, name: string) {
  const path = `${folder}/${name}`;
  /** A block that the file could not store, kept in memory. */
  let held: Block | undefined;
  const times = async () => (await files.facts(path)) ?? NO_BLOCK;
  /** Stores the end and the reason as the modification time, the start as the access time, which a backup may change. */
  const write = ({ until, why }: Block): Promise<void> => {
    const end = Math.ceil(toWall(clock, until) / ROUNDING_MS) * ROUNDING_MS;
    return files.setTimes(path, { accessedAt: clock.now(), modifiedAt: end + BLOCK_REASONS.indexOf(why) });
  };
  const clear = (): Promise<void> => {
    held = undefined;
    return files.setTimes(path, NO_BLOCK).catch(() => undefined);
  };
  /** Returns the block on the monotonic clock, unless it is over. A clock that was set back begins it again, once. */
  const read = async (): Promise<Block | undefined> => {
    const since = clock.monotonic();
    if (held !== undefined && since < held.until) return held;
    const { accessedAt, modifiedAt } = await times().catch(() => NO_BLOCK);
    if (modifiedAt <= accessedAt) return undefined;
    const reason = Math.round(modifiedAt) % ROUNDING_MS;
    const end = Math.round(modifiedAt) - reason;
    const left = end - clock.now();
    // If the clock is set back later, the block would seem to last again.
    if (left <= 0) return clear().then(() => undefined);
    const length = Math.min(left, end - Math.round(accessedAt), LONGEST_BLOCK_MS);
    const block = { since, until: since + length, why: BLOCK_REASONS[reason] ?? 'rate-limited' };
    // With a clock that was set back, it would start again at each read.
    if (length < left) await write(block).catch(() => undefined);
    return block;
  };
  return {
    path,
    read,
    clear,
    /** Creates the file while there is space. Rejects with a system error. */
    async prepare(): Promise<void> {
      if ((await files.facts(path)) !== undefined) return;
      await files.makePrivateFolder(folder);
      await files.replace(path, '', { mode: 0o600 });
    },
    /** Notes a block; of two, the later end counts. Returns whether the file has it. */
    async note(block: Block): Promise<boolean> {
      const known = await read();
      if (known !== undefined && known.until >= block.until) return known !== held;
      const isKept = await write(block)
        .then(times)
        // A file system may ignore the times it is given.
        .then(({ accessedAt, modifiedAt }) => modifiedAt > accessedAt)
        .catch(() => false);
      held = isKept ? undefined : block;
      return isKept;
    },
  };
}

interface ReserveOptions extends Pick<Context, 'clock'> {
  readonly file: ReserveFile;
  /** Called if the ledger could not record an answer. `isKept`: true if its block is in the file. */
  onUnwritten(failure: unknown, block: Block | undefined, isKept: boolean): void;
}

/** Adds the reserve to a ledger's steps: they respect the file's block, and a block that the ledger cannot store goes there. */
export function withReserve(step: Step, { clock, file, onUnwritten }: ReserveOptions): Step {
  return async (work, options = {}) => {
    if (options.clears === true) await file.clear();
    const alone = () => work(UNKNOWN, clock.monotonic());
    const refusal = options.durable === true ? alone().state.block : undefined;
    // First, because the ledger may have to wait.
    const isKept = refusal !== undefined && (await file.note(refusal));
    let known: Block | undefined;
    const asked = step((before, now) => {
      const worked = work(before, now);
      known = worked.state.block;
      return worked;
    }, options);
    const failure: unknown = await asked.then(() => undefined, unlessSignal);
    if (options.despiteSignal === true) {
      if (failure !== undefined) onUnwritten(failure, refusal, isKept);
      // The ledger's block is longer after several refusals in a row.
      else if (isKept && known !== undefined) await file.note(known);
      return failure === undefined ? asked : alone().result;
    }
    // Last, because another process may be refused while the ledger waits.
    const block = await file.read();
    if (block === undefined || block.until <= (known?.until ?? clock.monotonic()) + ROUNDING_MS) return asked;
    const learning: typeof work = (before, now) => work(learn(before, block), now);
    // The ledger has to know the block, so that one probe goes first after it.
    if (failure === undefined) {
      const learnt = step(learning, { ...options, isRead: false });
      if ((await learnt.then(() => undefined, unlessSignal)) === undefined) return learnt;
    }
    return learning(UNKNOWN, clock.monotonic()).result;
  };
}

/** Returns the failure of a ledger that cannot be used; rethrows anything else, such as a signal. */
function unlessSignal(error: unknown): unknown {
  if (!isFailure(error) || !(error.is('state') || error.is('file'))) throw error;
  return error;
}
