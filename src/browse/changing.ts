/** The changes of `inventory browse` that are not applied yet: made for one pet or all that are marked, undone, redone. */
import type { InventoryItem } from '../api/item.ts';
import type { DraftChange } from '../state/draft.ts';
import { plural } from '../view/words.ts';
import { Selection } from './selection.ts';

/** What one keystroke has changed: of each pet, the change before it and after it. */
type Step = readonly {
  readonly petId: bigint;
  readonly before: DraftChange | undefined;
  readonly after: DraftChange | undefined;
}[];

export class Changing extends Selection {
  /** One sentence for the user. */
  message = 'Type to search. Enter or = types a quantity. ? shows all keys.';
  /** Pets that are changed together. */
  readonly marked = new Set<bigint>();
  private done: Step[] = [];
  private undone: Step[] = [];

  /** Called when the pending changes are others than before. */
  onChange: () => void = () => undefined;

  /** `3 changes` */
  get pendingWords(): string {
    return plural(this.pending.size, 'change');
  }

  /** The pets that the next change is for. */
  get targets(): readonly InventoryItem[] {
    if (this.marked.size > 0) return this.among(this.marked);
    return this.selected === undefined ? [] : [this.selected];
  }

  /** The quantity that the pet will have. */
  quantityOf({ petId, quantity }: InventoryItem): bigint {
    return this.pending.get(petId)?.quantity ?? quantity;
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

  /** Keeps only these changes, and no way back to the others. */
  keep(petIds: ReadonlySet<bigint>): void {
    for (const petId of this.pending.keys()) if (!petIds.has(petId)) this.pending.delete(petId);
    this.done = [];
    this.undone = [];
  }

  /** Marks the pet at the cursor or takes its mark away, and moves on. */
  protected mark(): void {
    const { selected } = this;
    if (selected === undefined) return;
    if (!this.marked.delete(selected.petId)) this.marked.add(selected.petId);
    this.move('down');
  }

  /** Marks all pets that are found; if some are marked, takes the marks away. */
  protected markAll(): void {
    if (this.marked.size > 0) this.marked.clear();
    else for (const { petId } of this.found) this.marked.add(petId);
  }

  /** Returns what was done in words; undefined without a step. */
  private take(step: Step | undefined, side: 'before' | 'after'): string | undefined {
    if (step === undefined) return undefined;
    for (const { petId, [side]: change } of step) {
      if (change === undefined) this.pending.delete(petId);
      else this.pending.set(petId, change);
    }
    this.onChange();
    const [first, ...others] = step;
    if (first === undefined || others.length > 0)
      return `${side === 'before' ? 'Undone' : 'Redone'}: ${step.length} pets.`;
    const { petId, before, after } = first;
    const is = first[side]?.quantity ?? (before ?? after)?.current;
    return `${side === 'before' ? 'Undone' : 'Redone'}: pet ${petId} is ${is} again.`;
  }
}
