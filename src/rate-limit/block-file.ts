/**
 * The second place of a block: a file made beforehand whose name is changed, which needs no space on a full disk and no
 * lock on the database. It keeps a block that the state database cannot take at that moment.
 */
import type { Clock, Context } from '../ports.ts';
import { isFailure } from '../errors.ts';
import { LONGEST_BLOCK_MS } from './block.ts';
import { type Block, BLOCK_REASONS, type Decision, type Intent, observe, UNKNOWN } from './governor.ts';
import type { Ledger } from './ledger.ts';

type Ports = Pick<Context, 'clock' | 'files' | 'machine'>;

export class BlockFile {
  private readonly ports: Ports;
  private readonly folder: string;
  private readonly name: string;

  /** @param name what the pair of origin and key is called: it must not tell either */
  constructor(ports: Ports, folder: string, name: string) {
    this.ports = ports;
    this.folder = folder;
    this.name = name;
  }

  get path(): string {
    return `${this.folder}/${this.name}`;
  }

  /** Makes the file, while there is space. Rejects with a system error. */
  async prepare(): Promise<void> {
    if ((await this.entry()) !== undefined) return;
    await this.ports.files.makePrivateFolder(this.folder);
    await this.ports.files.replace(this.path, '');
  }

  /** Returns the block, over or not, on the present boot's monotonic clock. */
  async read(): Promise<Block | undefined> {
    const [, reason, ...texts] = (await this.entry())?.split('@') ?? [];
    const why = BLOCK_REASONS.find((each) => each === reason);
    const [since, until, wallUntil] = texts.slice(0, 3).map(Number);
    if (why === undefined || since === undefined || until === undefined || !Number.isFinite(since + until))
      return undefined;
    const now = this.ports.clock.monotonic();
    const length = Math.min(until - since, LONGEST_BLOCK_MS);
    const isSameBoot = texts[3] === this.ports.machine.bootId && now >= since;
    // After a reboot the wall clock has to serve, and the block becomes no longer than it was.
    const left = isSameBoot ? until - now : Math.min((wallUntil ?? 0) - this.ports.clock.now(), length);
    return { since: now, until: now + Math.min(left, length), why };
  }

  /** Notes a block; of two, the one that ends later counts. Returns what it is kept as, or undefined where it is not. */
  async note(block: Block): Promise<string | undefined> {
    const known = await this.read();
    const present = await this.entry();
    if (known !== undefined && known.until >= block.until) return present;
    const now = this.ports.clock.monotonic();
    const wallUntil = this.ports.clock.now() + block.until - now;
    const times = [now, block.until, wallUntil].map((each) => String(Math.ceil(each)));
    const noted = [this.name, block.why, ...times, this.ports.machine.bootId].join('@');
    return (await this.rename(present, noted)) ? noted : undefined;
  }

  /** Forgets the block, or only the one that was noted as that: another process may have noted a later one. */
  async clear(noted?: string): Promise<void> {
    const from = noted ?? (await this.entry());
    if (from !== undefined && from !== this.name) await this.rename(from, this.name);
  }

  private async rename(from: string | undefined, to: string): Promise<boolean> {
    try {
      if (from === undefined) await this.ports.files.replace(`${this.folder}/${to}`, '');
      else await this.ports.files.rename(`${this.folder}/${from}`, `${this.folder}/${to}`);
      return true;
    } catch {
      return false;
    }
  }

  /** The file's present name, if it is there and can be seen. */
  private async entry(): Promise<string | undefined> {
    const names = await this.ports.files.list(this.folder).catch(() => []);
    const ours = names.filter((each) => each === this.name || each.startsWith(`${this.name}@`));
    // Two of them can only be from a race: the block counts.
    return ours.sort((a, b) => b.length - a.length)[0];
  }
}

export interface BlockFileOptions {
  readonly clock: Clock;
  readonly file: BlockFile;
  /** Called when the ledger could not record an answer. `isKept`: whether the block, if any, is in the file. */
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
      if (clock.monotonic() >= block.until) throw error;
      return decisionBy(block, clock.monotonic(), intent);
    }
  };
  const unwritten = (error: unknown, block?: Block, noted?: string): void => {
    if (!isFailure(error)) throw error;
    if (block !== undefined && noted === undefined) held = block;
    onUnwritten(error, block, noted !== undefined);
  };
  /** Notes the block at once, as the ledger may have to be waited for; undefined where that fails. */
  const noting = async <T>(block: Block | undefined, work: () => Promise<T>): Promise<T | undefined> => {
    const noted = block === undefined ? undefined : await file.note(block);
    try {
      const result = await work();
      if (noted !== undefined) await file.clear(noted);
      return result;
    } catch (error) {
      unwritten(error, block, noted);
      return undefined;
    }
  };

  return {
    ...ledger,
    check: async (intent) => (await heldBack(intent)) ?? ledger.check(intent),
    async admit(intent) {
      const decision = (await heldBack(intent)) ?? (await ledger.admit(intent));
      if (decision.do !== 'send') return decision;
      // A refusal may have come while the ledger was waited for.
      const block = held ?? (await file.read());
      if (block === undefined || clock.monotonic() >= block.until) return decision;
      await noting(undefined, () => ledger.lost(intent.id, false));
      return decisionBy(block, clock.monotonic(), intent);
    },
    async answered(answer) {
      const { block } = observe(UNKNOWN, clock.monotonic(), answer);
      const view = await noting(block, () => ledger.answered(answer));
      return view ?? { ...UNKNOWN, ...(block !== undefined && { block, strikes: 1 }) };
    },
    learn: (block) => noting(block, () => ledger.learn(block)),
    async lost(id, mayHaveBeenSent) {
      // What cannot be given back counts as sent until the window ends.
      return (await noting(undefined, () => ledger.lost(id, mayHaveBeenSent))) ?? UNKNOWN;
    },
    async clearBlock() {
      held = undefined;
      await file.clear();
      return ledger.clearBlock();
    },
  };
}

function decisionBy({ until, why }: Block, now: number, { maxWaitMs }: Intent): Decision {
  return { do: until - now > maxWaitMs ? 'refuse' : 'wait', until, why };
}
