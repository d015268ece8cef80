/**
 * The second place of a block: a file made beforehand whose name is changed, which needs no space on a full disk and no
 * lock on the database. It keeps a block that the state database cannot take at that moment.
 */
import type { Clock, Context, Files } from '../context.ts';
import { isFailure } from '../errors.ts';
import { LONGEST_BLOCK_MS } from './block.ts';
import { type Answer, type Block, type BlockReason, type Decision, type Intent, observe, UNKNOWN } from './governor.ts';
import type { Ledger } from './ledger.ts';

type Ports = Pick<Context, 'clock' | 'files' | 'machine'>;

export class BlockFile {
  private readonly clock: Clock;
  private readonly files: Files;
  private readonly bootId: string;
  private readonly folder: string;
  private readonly name: string;

  /** @param name what the pair of origin and key is called: it must not tell either */
  constructor({ clock, files, machine }: Ports, folder: string, name: string) {
    this.clock = clock;
    this.files = files;
    this.bootId = machine.bootId;
    this.folder = folder;
    this.name = name;
  }

  get path(): string {
    return `${this.folder}/${this.name}`;
  }

  /** Makes the file, while there is space. Rejects with a system error. */
  async prepare(): Promise<void> {
    if ((await this.entry()) !== undefined) return;
    await this.files.makePrivateFolder(this.folder);
    await this.files.replace(this.path, '');
  }

  /** Returns the block, over or not, on the present boot's monotonic clock. */
  async read(): Promise<Block | undefined> {
    const [, why, ...texts] = (await this.entry())?.split('@') ?? [];
    const [since, until, wallUntil] = texts.slice(0, 3).map(Number);
    if (why === undefined || since === undefined || until === undefined || !Number.isFinite(since + until))
      return undefined;
    const now = this.clock.monotonic();
    const length = Math.min(until - since, LONGEST_BLOCK_MS);
    const isSameBoot = texts[3] === this.bootId && now >= since;
    // After a reboot the wall clock has to serve, and the block becomes no longer than it was.
    const left = isSameBoot ? until - now : Math.min((wallUntil ?? 0) - this.clock.now(), length);
    return { since: now, until: now + Math.min(left, length), why: why as BlockReason };
  }

  /** Returns whether the block is kept. The one that ends later counts. */
  async note(block: Block): Promise<boolean> {
    const known = await this.read();
    if (known !== undefined && known.until >= block.until) return true;
    const now = this.clock.monotonic();
    const wallUntil = this.clock.now() + block.until - now;
    const times = [now, block.until, wallUntil].map((each) => String(Math.ceil(each)));
    return this.rename([this.name, block.why, ...times, this.bootId].join('@'));
  }

  async clear(): Promise<void> {
    await this.rename(this.name);
  }

  private async rename(to: string): Promise<boolean> {
    const from = await this.entry();
    if (from === to) return true;
    try {
      if (from === undefined) await this.files.replace(`${this.folder}/${to}`, '');
      else await this.files.rename(`${this.folder}/${from}`, `${this.folder}/${to}`);
      return true;
    } catch {
      return false;
    }
  }

  /** The file's present name, if it is there and can be seen. */
  private async entry(): Promise<string | undefined> {
    const names = await this.files.list(this.folder).catch(() => []);
    const ours = names.filter((each) => each === this.name || each.startsWith(`${this.name}@`));
    // Two of them can only be from a race: the block counts.
    return ours.sort((a, b) => b.length - a.length)[0];
  }
}

export interface BlockFileOptions {
  readonly clock: Clock;
  readonly file: BlockFile;
  /** Called when the ledger could not take what an answer told. `isKept`: whether the block, if any, is in the file. */
  onUnwritten(failure: unknown, block: Block | undefined, isKept: boolean): void;
}

/** Returns the ledger with its second place: what the file knows holds, and what the ledger cannot take is noted there. */
export function withBlockFile(ledger: Ledger, { clock, file, onUnwritten }: BlockFileOptions): Ledger {
  /** What this process was answered, and could not be kept anywhere. */
  let held: Block | undefined;

  const heldBack = async (intent: Intent): Promise<Decision | undefined> => {
    const block = held ?? (await file.read());
    if (block === undefined) return undefined;
    try {
      await ledger.learn(block);
      held = undefined;
      await file.clear();
      return undefined;
    } catch (error) {
      if (!isFailure(error)) throw error;
      const { until, why } = block;
      if (clock.monotonic() >= until) throw error;
      return { do: until - clock.monotonic() > intent.maxWaitMs ? 'refuse' : 'wait', until, why };
    }
  };
  const unwritten = async (error: unknown, block: Block | undefined): Promise<void> => {
    if (!isFailure(error)) throw error;
    const isKept = block !== undefined && (await file.note(block));
    if (block !== undefined && !isKept) held = block;
    onUnwritten(error, block, isKept);
  };
  const blockOf = (answer: Answer): Block | undefined => observe(UNKNOWN, clock.monotonic(), answer).block;

  return {
    ...ledger,
    check: async (intent) => (await heldBack(intent)) ?? ledger.check(intent),
    admit: async (intent) => (await heldBack(intent)) ?? ledger.admit(intent),
    async answered(answer) {
      try {
        return await ledger.answered(answer);
      } catch (error) {
        const block = blockOf(answer);
        await unwritten(error, block);
        return { ...UNKNOWN, ...(block !== undefined && { block, strikes: 1 }) };
      }
    },
    async lost(id, mayHaveBeenSent) {
      // What cannot be given back counts as sent until the window ends.
      await ledger.lost(id, mayHaveBeenSent).catch((error: unknown) => unwritten(error, undefined));
    },
    async clearBlock() {
      held = undefined;
      await file.clear();
      return ledger.clearBlock();
    },
  };
}
