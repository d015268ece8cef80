/** The state of `inventory browse`: the pets that it shows, and the pending changes. Neither draws nor sends. */
import type { InventoryItem } from '../api/item.ts';
import { parseInteger } from '../api/values.ts';
import { barcodeIn } from '../catalog/barcode.ts';
import type { RateLimit } from '../ports.ts';
import type { CommandContext } from '../session/globals.ts';
import type { Change, DraftChange } from '../state/journal.ts';
import { plural } from '../view/words.ts';
import { type Listing, Selection } from './selection.ts';

/** How the session ends. */
export type End = 'apply' | 'why' | 'leave' | 'discard';

/** Shows the table until the user ends it. @throws {Failure} what ends a read of the stock; the signal's reason */
export type Show = (context: CommandContext, browser: Browser, reload: Reload) => Promise<End>;
export type Reload = (context: CommandContext) => Promise<void>;

/** The pending changes that a keystroke, an undo or a redo makes, by pet; undefined takes the pet's change back. */
type Step = ReadonlyMap<bigint, DraftChange | undefined>;

/** Shown until the first key. */
export const TIP = 'Type to search. Enter sets the quantity.';

export class Browser extends Selection {
  /** `quantity`: the user types one for the pet at the cursor. `leave`: the user is asked about pending changes. */
  mode: 'table' | 'quantity' | 'leave' | 'help' = 'table';
  /** The quantity typed so far. */
  typed = '';
  /** Which page of the help is shown, and whether another one follows. */
  helpPage = 0;
  hasMoreHelp = false;
  /** True while the last changes of the pet at the cursor are shown. */
  hasPane = false;
  /** One sentence for the user. */
  message = TIP;
  /** The sentence while the stock is read. */
  reading: string | undefined;
  /** Pets that are changed together. */
  readonly marked = new Set<bigint>();
  private done: Step[] = [];
  private undone: Step[] = [];

  /** How the commands in messages begin. */
  petstore = 'petstore';
  /** Called when the pending changes have changed. */
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

  /** Returns the pet's quantity after its pending change, unless someone else has changed the stock since. */
  quantityOf({ petId, quantity }: InventoryItem): bigint {
    const change = this.pending.get(petId);
    return change?.current === quantity ? change.quantity : quantity;
  }

  /**
   * Sets pending changes: `12` sets, `+3` and `-3` change the quantity, `=` takes the change back, as does the quantity
   * that the pet has. Returns whether all are allowed; if not, changes none, and the message says why.
   */
  change(items: readonly InventoryItem[], typed: string): boolean {
    const step = new Map<bigint, DraftChange | undefined>();
    const isBarcode = barcodeIn(typed, this.catalog) !== undefined;
    for (const item of items) {
      const { petId, quantity: current } = item;
      const quantity = typed === '=' ? current : parseQuantity(typed, this.quantityOf(item));
      if (quantity === undefined || isBarcode) {
        this.message = `${JSON.stringify(typed)} is not a quantity.`;
        return false;
      }
      if (quantity < 0n && quantity < current) {
        this.message = `Below zero: ${this.petstore} inventory set ${petId} ${quantity} --allow-negative`;
        return false;
      }
      const before = this.pending.get(petId);
      const after = quantity === current ? undefined : { petId, current, quantity };
      if (before?.quantity !== after?.quantity || before?.current !== after?.current) step.set(petId, after);
    }
    if (step.size === 0) return true;
    this.done.push(this.take(step));
    this.undone = [];
    return true;
  }

  undo(): void {
    const nothing = `Nothing to undo here. Applied changes: ${this.petstore} inventory undo`;
    this.message = this.moveStep(this.done, this.undone, 'Undone') ?? nothing;
  }

  redo(): void {
    this.message = this.moveStep(this.undone, this.done, 'Redone') ?? 'There is nothing to redo.';
  }

  /** Undoes or redoes the last step. Returns it in words; undefined without a step. */
  private moveStep(from: Step[], to: Step[], word: string): string | undefined {
    const step = from.pop();
    if (step === undefined) return undefined;
    to.push(this.take(step));
    const [[petId, change] = []] = step;
    if (step.size > 1) return `${word}: ${step.size} pets.`;
    return `${word}: pet ${petId} is ${change?.quantity ?? 'without a change'} again.`;
  }

  /** Returns the step that goes back. */
  private take(step: Step): Step {
    const back = new Map(Array.from(step.keys(), (petId) => [petId, this.pending.get(petId)]));
    for (const [petId, change] of step) {
      if (change === undefined) this.pending.delete(petId);
      else this.pending.set(petId, change);
    }
    this.onChange();
    return back;
  }

  /** Replaces the pending changes, and forgets the steps. */
  keep(petIds: ReadonlySet<bigint>): void {
    for (const petId of this.pending.keys()) if (!petIds.has(petId)) this.pending.delete(petId);
    this.done = [];
    this.undone = [];
  }

  /** Marks or unmarks the pet at the cursor, and moves to the next. */
  mark(): void {
    const { selected } = this;
    if (selected === undefined) return;
    if (!this.marked.delete(selected.petId)) this.marked.add(selected.petId);
    this.move('down');
  }

  /** Marks all matching pets; if some pets are marked, unmarks all. */
  markAll(): void {
    if (this.marked.size > 0) this.marked.clear();
    else for (const { petId } of this.found) this.marked.add(petId);
  }

  askQuantity(typed: string): void {
    if (this.targets.length === 0) this.message = 'No pet matches.';
    else [this.mode, this.typed] = ['quantity', typed];
  }

  /** Asks for the quantity of the pet that was found. If none was, clears the search for the next scan. */
  endSearch(): void {
    const { text } = this;
    this.askQuantity('');
    if (this.mode === 'quantity' || text === '') return;
    this.searchFor('');
    const isFiltered = this.found.length < this.items.length;
    this.message = `No pet matches ${text}.${isFiltered ? ' Esc shows all pets.' : ''}`;
  }

  /** Shows the present stock. A quantity that is being typed is never used for another pet. */
  override replace(listing: Listing): void {
    const { marked, mode, targets } = this;
    super.replace(listing);
    for (const petId of marked) if (!this.byId.has(petId)) marked.delete(petId);
    const kept = new Set(this.targets.map(({ petId }) => petId));
    const gone = targets.find(({ petId }) => !kept.has(petId));
    if (mode !== 'quantity' || gone === undefined) return;
    this.mode = 'table';
    this.message = `Pet ${gone.petId} is no longer shown. No quantity was changed.`;
  }

  /** Uses the quantity that was typed; an empty one changes nothing. */
  endQuantity(): void {
    const { targets, typed } = this;
    this.mode = 'table';
    // A scanner may type a barcode where a quantity is expected.
    const barcode = barcodeIn(typed, this.catalog);
    if (barcode !== undefined) {
      this.scanned(barcode);
      return;
    }
    if (typed !== '' && this.change(targets, typed)) this.marked.clear();
    // Clears the search that found the only pet, for the next scan or word.
    if (this.found.length === 1) this.show({ text: '' });
  }

  /** Shows the pet whose barcode was scanned in place of a quantity. */
  private scanned(barcode: string): void {
    const { targets } = this;
    const pets = targets.length === 1 ? `pet ${targets[0]?.petId}` : `${targets.length} pets`;
    this.marked.clear();
    this.showAll();
    this.searchFor(barcode);
    const found = this.selected;
    this.endSearch();
    const owner = found === undefined ? 'a barcode that no pet of this list has' : `the barcode of pet ${found.petId}`;
    this.message = `${barcode} is ${owner}. The quantity of ${pets} was not changed.`;
  }
}

function parseQuantity(typed: string, present: bigint): bigint | undefined {
  const value = parseInteger(typed.replace(/^\+(?=\d)/, ''));
  return value !== undefined && /^[+-]/.test(typed) ? present + value : value;
}
