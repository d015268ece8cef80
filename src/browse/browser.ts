/** What `inventory browse` holds: the pets it shows, and the changes that are not applied yet. Draws and sends nothing. */
import type { InventoryItem } from '../api/item.ts';
import { MAX_DIGITS } from '../api/values.ts';
import { barcodeIn } from '../catalog/barcode.ts';
import type { RateLimit } from '../rate-limit/gate.ts';
import type { CommandContext } from '../session/globals.ts';
import type { DraftChange } from '../state/draft.ts';
import type { Change } from '../state/journal.ts';
import { plural } from '../view/words.ts';
import { type Listing, Selection } from './selection.ts';

/** How a visit to the table ends. */
export type End = 'apply' | 'why' | 'leave' | 'discard';

/** Shows the table until the user ends it. @throws {Failure} what ends a read of the stock; the signal's reason */
export type Show = (context: CommandContext, browser: Browser, reload: Reload) => Promise<End>;
export type Reload = (context: CommandContext) => Promise<void>;

/** `quantity`: one is typed for the pet at the cursor. `leave`: the user wants to leave while changes are pending. */
type Mode = 'table' | 'quantity' | 'leave' | 'help';

/** What one keystroke has changed: of each pet, the change before it and after it. */
type Step = readonly {
  readonly petId: bigint;
  readonly before: DraftChange | undefined;
  readonly after: DraftChange | undefined;
}[];

/** Is said until the first key. */
export const TIP = 'Type to search. Enter sets the quantity.';

export class Browser extends Selection {
  mode: Mode = 'table';
  /** The quantity as far as it is typed. */
  typed = '';
  /** Which page of the keys is shown, and whether another one follows. */
  helpPage = 0;
  hasMoreHelp = false;
  /** True while the last changes of the pet at the cursor are shown. */
  hasPane = false;
  /** One sentence for the user. */
  message = TIP;
  /** The same while the stock is read. */
  reading: string | undefined;
  /** Pets that are changed together. */
  readonly marked = new Set<bigint>();
  private done: Step[] = [];
  private undone: Step[] = [];

  /** Called when the pending changes are others than before. */
  onChange: () => void = () => undefined;
  /** Returns the pet's last changes that were made from this machine, newest first. */
  changesOf: (petId: bigint, limit: number) => readonly Change[] = () => [];
  limits: () => RateLimit | undefined = () => undefined;

  /** `3 changes` */
  get pendingWords(): string {
    return plural(this.pending.size, 'change');
  }

  /** The pets that the next change is for. */
  get targets(): readonly InventoryItem[] {
    if (this.marked.size > 0) return this.among(this.marked);
    return this.selected === undefined ? [] : [this.selected];
  }

  /** The quantity that the pet will have. A change is not applied, and does not count, where someone else has changed the stock since. */
  quantityOf({ petId, quantity }: InventoryItem): bigint {
    const change = this.pending.get(petId);
    return change?.current === quantity ? change.quantity : quantity;
  }

  /**
   * Notes the quantities to set; the quantity that a pet has takes its change back. Returns whether all are allowed; else
   * nothing is changed.
   */
  change(items: readonly InventoryItem[], wanted: (item: InventoryItem) => bigint): boolean {
    const step: Step[number][] = [];
    for (const item of items) {
      const { petId, quantity: current } = item;
      const quantity = wanted(item);
      if (quantity < 0n && quantity < current) {
        this.message = `Pet ${petId}: a quantity below zero is set with petstore inventory set --allow-negative.`;
        return false;
      }
      const before = this.pending.get(petId);
      const after = quantity === current ? undefined : { petId, current, quantity };
      if (before?.quantity !== after?.quantity || before?.current !== after?.current)
        step.push({ petId, before, after });
    }
    if (step.length === 0) return true;
    this.take(step, 'after');
    this.done.push(step);
    this.undone = [];
    return true;
  }

  changeBy(by: bigint): void {
    this.change(this.targets, (item) => this.quantityOf(item) + by);
  }

  /** Takes the last change back. */
  undo(): void {
    const step = this.done.pop();
    if (step !== undefined) this.undone.push(step);
    this.message =
      this.take(step, 'before') ?? 'There is nothing to undo here. Applied changes: petstore inventory undo';
  }

  /** Makes the change again that was taken back last. */
  redo(): void {
    const step = this.undone.pop();
    if (step !== undefined) this.done.push(step);
    this.message = this.take(step, 'after') ?? 'There is nothing to redo.';
  }

  /** Returns what was done in words; undefined without a step. */
  private take(step: Step | undefined, side: 'before' | 'after'): string | undefined {
    if (step === undefined) return undefined;
    for (const { petId, [side]: change } of step) {
      if (change === undefined) this.pending.delete(petId);
      else this.pending.set(petId, change);
    }
    this.onChange();
    const word = side === 'before' ? 'Undone' : 'Redone';
    const { petId, before, after, [side]: change } = step[0]!;
    const stock = this.among(new Set([petId]))[0]?.quantity ?? (before ?? after)?.current;
    if (step.length > 1) return `${word}: ${step.length} pets.`;
    return `${word}: pet ${petId} is ${change?.quantity ?? stock} again.`;
  }

  /** Keeps only these changes, and no way back to the others. */
  keep(petIds: ReadonlySet<bigint>): void {
    for (const petId of this.pending.keys()) if (!petIds.has(petId)) this.pending.delete(petId);
    this.done = [];
    this.undone = [];
  }

  /** Marks the pet at the cursor or takes its mark away, and moves on. */
  mark(): void {
    const { selected } = this;
    if (selected === undefined) return;
    if (!this.marked.delete(selected.petId)) this.marked.add(selected.petId);
    this.move('down');
  }

  /** Marks all pets that are found; if some are marked, takes the marks away. */
  markAll(): void {
    if (this.marked.size > 0) this.marked.clear();
    else for (const { petId } of this.found) this.marked.add(petId);
  }

  askQuantity(typed: string): void {
    if (this.targets.length === 0) this.message = 'No pet matches.';
    else [this.mode, this.typed] = ['quantity', typed];
  }

  /** Asks for the quantity of what the search has found. Where that is nothing, the next scan begins anew. */
  endSearch(): void {
    const { text } = this;
    this.askQuantity('');
    if (this.mode === 'quantity' || text === '') return;
    this.message = `No pet matches ${text}.`;
    this.searchFor('');
  }

  /** Shows the stock as it is now. What is typed is for the pet that is asked about, and for no other. */
  override replace(listing: Listing): void {
    const { marked, mode, selected } = this;
    super.replace(listing);
    if (mode !== 'quantity' || marked.size > 0 || this.selected?.petId === selected?.petId) return;
    this.mode = 'table';
    this.message = `Pet ${selected?.petId} is not shown any more. Its quantity was not changed.`;
  }

  /** Takes the quantity that was typed; none leaves all as it is. */
  endQuantity(): void {
    const { targets, typed } = this;
    this.mode = 'table';
    // A scanner does not know that a quantity is asked for.
    const barcode = barcodeIn(typed, this.catalog);
    if (barcode !== undefined) {
      this.scanned(barcode);
      return;
    }
    if (typed !== '' && parseQuantity(typed, 0n) === undefined) {
      this.message = `${JSON.stringify(typed)} is not a quantity.`;
      return;
    }
    const present = (item: InventoryItem): bigint => this.quantityOf(item);
    if (typed !== '' && this.change(targets, (item) => parseQuantity(typed, present(item))!)) this.marked.clear();
    // What found the only pet is done with: the next scan, or word, begins anew.
    if (this.found.length === 1) this.show({ text: '' });
  }

  private scanned(barcode: string): void {
    const { targets } = this;
    const owner = this.catalog?.ownerOf(barcode);
    const pets = targets.length === 1 ? `pet ${targets[0]?.petId}` : `${targets.length} pets`;
    const unchanged = `The quantity of ${pets} was not changed.`;
    this.marked.clear();
    if (owner === undefined) {
      this.message = `${barcode} is a barcode that no pet has. ${unchanged}`;
      return;
    }
    this.showAll();
    this.searchFor(barcode);
    this.askQuantity('');
    this.message = `${barcode} is the barcode of pet ${owner.petId}. ${unchanged}`;
  }
}

/** `12` sets; `+3` and `-3` change the present quantity. Undefined for anything else. */
export function parseQuantity(typed: string, present: bigint): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(typed) || typed.replace(/^[+-]/, '').length > MAX_DIGITS) return undefined;
  const value = BigInt(typed.replace(/^\+/, ''));
  return /^[+-]/.test(typed) ? present + value : value;
}
