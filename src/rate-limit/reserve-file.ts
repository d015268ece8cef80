/**
 * The reserve for a block: an empty file, made beforehand, whose times say until when nothing may be sent. Setting them
 * needs no space on a full disk and no lock on the database, so it keeps what the ledger cannot take, or loses later.
 */
import type { Context } from '../ports.ts';
import { isFailure } from '../errors.ts';
import { LONGEST_BLOCK_MS } from './block.ts';
import { type Block, BLOCK_REASONS, blockOf, type Decision, type Intent, observe, UNKNOWN } from './governor.ts';
import { isRefusal, type Ledger, type LedgerView } from './ledger.ts';
import { toWall } from './rebase.ts';

const NO_BLOCK = { accessedAt: 0, modifiedAt: 0 };
/** A block may end so much later in the file than in the ledger, ms: the wall clock is read in whole ms. */
const ROUNDING_MS = 10;

export type ReserveFile = ReturnType<typeof reserveFile>;

/** @param name what the key is called: it must not tell it */
export function reserveFile({ clock, files }: Pick<Context, 'clock' | 'files'>, folder: string, name: string) {
  const path = `${folder}/${name}`;
  /** What the file could not keep: this process remembers it. */
  let held: Block | undefined;

  /** Makes the file, while there is space. Rejects with a system error. */
  const prepare = async (): Promise<void> => {
    if ((await files.facts(path)) !== undefined) return;
    await files.makePrivateFolder(folder);
    await files.replace(path, '');
  };
  const times = async () => (await files.facts(path)) ?? NO_BLOCK;
  /** Modified: the end. Accessed: the begin, in whole seconds; the ms beyond are the reason. */
  const write = ({ until, why }: Block): Promise<void> => {
    const accessedAt = Math.floor(clock.now() / 1_000) * 1_000 + BLOCK_REASONS.indexOf(why);
    return files.setTimes(path, { accessedAt, modifiedAt: Math.ceil(toWall(clock, until)) });
  };
  const clear = (): Promise<void> => {
    held = undefined;
    return files.setTimes(path, NO_BLOCK).catch(() => undefined);
  };
  /** Returns the block on the monotonic clock, unless it is over. A clock that is set back makes it no longer than it was. */
  const read = async (): Promise<Block | undefined> => {
    const since = clock.monotonic();
    if (held !== undefined && since < held.until) return held;
    const { accessedAt, modifiedAt } = await times().catch(() => NO_BLOCK);
    if (modifiedAt <= accessedAt) return undefined;
    const left = modifiedAt - clock.now();
    // By a clock that is set back later it might seem to last again.
    if (left <= 0) return clear().then(() => undefined);
    const reason = Math.round(accessedAt) % 1_000;
    const length = Math.min(left, modifiedAt - Math.round(accessedAt) + reason, LONGEST_BLOCK_MS);
    const block = { since, until: since + length, why: BLOCK_REASONS[reason] ?? 'rate-limited' };
    // By a clock that was set back it would begin anew at each look.
    if (length < left) await write(block).catch(() => undefined);
    return block;
  };
  /** Notes a block; of two, the one that ends later counts. Returns whether the file has it. */
  const note = async (block: Block): Promise<boolean> => {
    const known = await read();
    if (known !== undefined && known.until >= block.until) return known !== held;
    const isKept = await write(block)
      .then(times)
      // A file system may ignore them.
      .then(({ accessedAt, modifiedAt }) => modifiedAt > accessedAt)
      .catch(() => false);
    held = isKept ? undefined : block;
    return isKept;
  };
  return { path, prepare, read, note, clear };
}

interface ReserveOptions extends Pick<Context, 'clock'> {
  readonly file: ReserveFile;
  /** Called when the ledger could not record an answer. `isKept`: whether the block, if any, is in the file. */
  onUnwritten(failure: unknown, block: Block | undefined, isKept: boolean): void;
}

/** Returns the ledger with its reserve: what the file knows holds, and what the ledger cannot take is noted there. */
export function withReserve(ledger: Ledger, { clock, file, onUnwritten }: ReserveOptions): Ledger {
  /** Notes the block at once, as the ledger may have to be waited for. Returns undefined where the ledger fails. */
  const noting = async (block: Block | undefined, work: () => Promise<LedgerView | undefined>) => {
    const isKept = block !== undefined && (await file.note(block));
    try {
      const view = await work();
      // The ledger's is longer after several refusals in a row.
      if (isKept && view?.block !== undefined) await file.note(view.block);
      return view;
    } catch (error) {
      if (!isFailure(error)) throw error;
      onUnwritten(error, block, isKept);
      return undefined;
    }
  };
  // What cannot be given back counts as sent until the window ends.
  const lost = async (id: string, mayHaveBeenSent: boolean): Promise<LedgerView> =>
    (await noting(undefined, () => ledger.lost(id, mayHaveBeenSent))) ?? UNKNOWN;
  /** Looks at the reserve last: a refusal may come while the ledger is waited for. */
  const heeding = async ({ id, maxWaitMs }: Intent, asking: Promise<Decision>): Promise<Decision> => {
    const decision = await asking.catch(unlessUnusable);
    const block = await file.read();
    const now = clock.monotonic();
    const known = decision === undefined ? undefined : blockOf(decision);
    if (block === undefined || block.until <= (known?.until ?? now) + ROUNDING_MS) return asking;
    if (decision?.do === 'send') await lost(id, false);
    if (decision !== undefined) await ledger.learn(block).catch(unlessUnusable);
    const { until, why } = block;
    return { do: until - now > maxWaitMs ? 'refuse' : 'wait', until, why };
  };
  return {
    ...ledger,
    lost,
    check: (intent) => heeding(intent, ledger.check(intent)),
    admit: (intent) => heeding(intent, ledger.admit(intent)),
    async answered(answer) {
      const { block } = isRefusal(answer) ? observe(UNKNOWN, clock.monotonic(), answer) : UNKNOWN;
      const view = await noting(block, () => ledger.answered(answer));
      return view ?? (block === undefined ? UNKNOWN : { ...UNKNOWN, block, strikes: 1 });
    },
    async learn(block) {
      await noting(block, () => ledger.learn(block).then(() => undefined));
    },
    clearBlock: () => file.clear().then(() => ledger.clearBlock()),
  };
}

/** A ledger that cannot be used is not the end; a signal is. */
function unlessUnusable(error: unknown): undefined {
  if (!isFailure(error) || !(error.is('state') || error.is('file'))) throw error;
}
