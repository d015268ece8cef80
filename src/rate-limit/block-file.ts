/**
 * The second place of a block: a file made beforehand whose name is changed, which needs no space on a full disk and no
 * lock on the database. It keeps a block that the state database cannot take at that moment, or may lose later.
 */
import type { Clock, Context } from '../ports.ts';
import { isFailure } from '../errors.ts';
import { LONGEST_BLOCK_MS } from './block.ts';
import { type Block, BLOCK_REASONS, type Decision, type Intent, observe, UNKNOWN } from './governor.ts';
import { isRefusal, type Ledger, type LedgerView } from './ledger.ts';

/** The end of the name once the ledger has the block: it counts only until it is over. */
const RECORDED = 'recorded';

type KeptBlock = Block & { readonly isRecorded: boolean };
type Ports = Pick<Context, 'clock' | 'files' | 'machine'>;

export class BlockFile {
  private readonly ports: Ports;
  private readonly folder: string;
  private readonly name: string;
  /** The search that is under way: all who ask meanwhile share it. */
  private searching: Promise<string | undefined> | undefined;

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

  /** Returns the block, over or not, on the present boot's monotonic clock; undefined for one that is over and recorded. */
  async read(): Promise<KeptBlock | undefined> {
    const entry = await this.entry();
    const [, reason, ...texts] = entry?.split('@') ?? [];
    const why = BLOCK_REASONS.find((each) => each === reason);
    const [since, until, wallUntil] = texts.slice(0, 3).map(Number);
    if (why === undefined || since === undefined || until === undefined || !Number.isFinite(since + until))
      return undefined;
    const now = this.ports.clock.monotonic();
    const length = Math.min(until - since, LONGEST_BLOCK_MS);
    const isSameBoot = texts[3] === this.ports.machine.bootId && now >= since;
    // After a reboot the wall clock has to serve, and the block becomes no longer than it was.
    const left = isSameBoot ? until - now : Math.min((wallUntil ?? 0) - this.ports.clock.now(), length);
    const isRecorded = texts[4] === RECORDED;
    // By a clock that is set back it might seem to last again.
    if (isRecorded && left <= 0) await this.clear(entry);
    return isRecorded && left <= 0 ? undefined : { since: now, until: now + Math.min(left, length), why, isRecorded };
  }

  /** Notes a block; of two, the one that ends later counts. Returns what it is kept as, or undefined where it is not. */
  async note(block: Block): Promise<string | undefined> {
    const known = await this.read();
    const present = await this.entry();
    if (known !== undefined && known.until >= block.until) return present;
    const noted = this.nameOf(block);
    return (await this.rename(present, noted)) ? noted : undefined;
  }

  /** Notes the block as what the ledger knows, in place of what was noted as that: another process may have a later one. */
  async record(block: Block, noted?: string): Promise<void> {
    const from = noted ?? (await this.entry());
    if (from !== undefined) await this.rename(from, `${this.nameOf(block)}@${RECORDED}`);
  }

  /** Forgets the block, or only the one that was noted as that. */
  async clear(noted?: string): Promise<void> {
    const from = noted ?? (await this.entry());
    if (from !== undefined && from !== this.name) await this.rename(from, this.name);
  }

  private nameOf({ until, why }: Block): string {
    const { clock, machine } = this.ports;
    const now = clock.monotonic();
    const times = [now, until, clock.now() + until - now].map((each) => String(Math.ceil(each)));
    return [this.name, why, ...times, machine.bootId].join('@');
  }

  private async rename(from: string | undefined, to: string): Promise<boolean> {
    this.searching = undefined;
    try {
      if (from === undefined) await this.ports.files.replace(`${this.folder}/${to}`, '');
      else await this.ports.files.rename(`${this.folder}/${from}`, `${this.folder}/${to}`);
      return true;
    } catch {
      return false;
    } finally {
      this.searching = undefined;
    }
  }

  /** The file's present name, if it is there and can be seen. */
  private async entry(): Promise<string | undefined> {
    const searching = (this.searching ??= this.search());
    const name = await searching;
    if (this.searching === searching) this.searching = undefined;
    return name;
  }

  private async search(): Promise<string | undefined> {
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

type RecordStep = () => Promise<LedgerView | undefined>;

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
      await file.record(block);
      return undefined;
    } catch (error) {
      if (!isFailure(error) || clock.monotonic() >= block.until) throw error;
      return decisionBy(block, clock.monotonic(), intent);
    }
  };
  /** Undefined where a block is known here alone. Looked at last: a refusal may come while the ledger is waited for. */
  const unlessHeld = async (asking: Promise<Decision>): Promise<Decision | undefined> => {
    const decision = await asking.catch(() => undefined);
    return isKnownTo(decision, held ?? (await file.read())) ? asking : undefined;
  };
  /** Notes the block at once, as the ledger may have to be waited for; undefined where that fails. */
  const noting = async (block: Block | undefined, work: RecordStep): ReturnType<RecordStep> => {
    const noted = block === undefined ? undefined : await file.note(block);
    try {
      const view = await work();
      // The ledger's is longer after several refusals in a row.
      if (block !== undefined && noted !== undefined) await file.record(view?.block ?? block, noted);
      return view;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (noted === undefined) held = block ?? held;
      onUnwritten(error, block, noted !== undefined);
      return undefined;
    }
  };
  const giveBack = ({ id }: Intent): Promise<LedgerView | undefined> => noting(undefined, () => ledger.lost(id, false));

  return {
    ...ledger,
    check: async (intent) =>
      (await unlessHeld(ledger.check(intent))) ?? (await heldBack(intent)) ?? ledger.check(intent),
    async admit(intent) {
      const admitted = ledger.admit(intent);
      const free = await unlessHeld(admitted);
      if (free !== undefined) return free;
      if ((await admitted.catch(() => undefined))?.do === 'send') await giveBack(intent);
      const decision = (await heldBack(intent)) ?? (await ledger.admit(intent));
      const block = held ?? (await file.read());
      if (decision.do !== 'send' || block === undefined || clock.monotonic() >= block.until) return decision;
      await giveBack(intent);
      return decisionBy(block, clock.monotonic(), intent);
    },
    async answered(answer) {
      const block = isRefusal(answer) ? observe(UNKNOWN, clock.monotonic(), answer).block : undefined;
      return (await noting(block, () => ledger.answered(answer))) ?? knowing(block);
    },
    learn: (block) => noting(block, () => ledger.learn(block).then(() => undefined)).then(() => undefined),
    // What cannot be given back counts as sent until the window ends.
    lost: async (id, mayHaveBeenSent) => (await noting(undefined, () => ledger.lost(id, mayHaveBeenSent))) ?? UNKNOWN,
    clearBlock() {
      held = undefined;
      return file.clear().then(() => ledger.clearBlock());
    },
  };
}

/** True where no block is kept, or the ledger that decided so has not lost it since. */
function isKnownTo(decision: Decision | undefined, kept: Block | KeptBlock | undefined): boolean {
  if (kept === undefined) return true;
  return 'isRecorded' in kept && kept.isRecorded && decision !== undefined && decision.do !== 'send';
}

/** Returns what is known where the ledger could not tell. */
function knowing(block: Block | undefined): LedgerView {
  return block === undefined ? UNKNOWN : { ...UNKNOWN, block, strikes: 1 };
}

function decisionBy({ until, why }: Block, now: number, { maxWaitMs }: Intent): Decision {
  return { do: until - now > maxWaitMs ? 'refuse' : 'wait', until, why };
}
