/** The selection of `inventory browse`: which pets it shows, in which order, and where the cursor is. */
import type { InventoryItem } from '../api/item.ts';
import { type Sort, SortedItems } from '../api/long-list.ts';
import { parseInt64, type PetStatus } from '../api/values.ts';
import { ordersOf } from '../catalog/added-fields.ts';
import type { Catalog } from '../catalog/local-catalog.ts';
import type { DraftChange } from '../state/journal-rows.ts';

export const ORDERS = ['as listed', 'petId', 'name', 'quantity', 'quantity, largest first', 'status'] as const;
export type Order = (typeof ORDERS)[number];

/** Lines of the screen above the rows: title, search, heading. */
export const LINES_ABOVE = 3;

/** The stock as last read. */
export interface Listing {
  readonly items: readonly InventoryItem[];
  readonly catalog: Catalog | undefined;
  /** Width of the longest text of each column, in terminal columns. */
  readonly widths: Readonly<Record<'id' | 'name' | 'quantity', number>>;
}

export class Selection {
  text = '';
  status: PetStatus | undefined;
  isLowOnly = false;
  isChangedOnly = false;
  order: Order = 'as listed';
  /** How many rows fit the screen. */
  page = 10;
  /** True once the stock has been read. */
  hasStock = false;
  /** The largest quantity that counts as low stock, of a pet without a minimum. */
  readonly low: bigint;
  readonly pending = new Map<bigint, DraftChange>();
  catalog: Catalog | undefined;
  widths: Listing['widths'] = { id: 0, name: 0, quantity: 0 };
  /** True if any pet has a minimum. */
  hasLevels = false;
  items: readonly InventoryItem[] = [];
  byId: ReadonlyMap<bigint, InventoryItem> = new Map();
  /** The pets that match, in order, and the sum of their quantities. */
  found: readonly InventoryItem[] = [];
  sum = 0n;
  private ordered: readonly InventoryItem[] = [];
  private cursor = 0;
  private top = 0;

  constructor(low: bigint) {
    this.low = low;
  }

  /** True for a pet at or below its minimum. */
  isLow({ petId, quantity }: InventoryItem): boolean {
    const min = this.hasLevels ? this.catalog?.levelOf(petId).min : undefined;
    return min !== undefined && quantity <= min;
  }

  /** What is shown only, in words. */
  get filters(): string[] {
    const { isChangedOnly, isLowOnly, status } = this;
    const words = [isChangedOnly && 'changed', status !== undefined && `status ${status}`, isLowOnly && 'low stock'];
    return words.filter((each) => each !== false);
  }

  /** The pets on the screen, how many are before them, and which of them the cursor is on. */
  get visible(): { readonly items: readonly InventoryItem[]; readonly before: number; readonly cursor: number } {
    const { page } = this;
    if (this.cursor < this.top) this.top = this.cursor;
    if (this.cursor >= this.top + page) this.top = this.cursor - page + 1;
    this.top = Math.max(0, Math.min(this.top, this.found.length - page));
    return { items: this.found.slice(this.top, this.top + page), before: this.top, cursor: this.cursor - this.top };
  }

  get selected(): InventoryItem | undefined {
    return this.found[this.cursor];
  }

  /** Returns these pets, whether they match or not. */
  among(petIds: ReadonlySet<bigint>): readonly InventoryItem[] {
    return this.items.filter(({ petId }) => petIds.has(petId));
  }

  /** Shows the stock as it is now; the cursor stays on its pet. */
  replace(listing: Listing): void {
    const petId = this.selected?.petId;
    ({ catalog: this.catalog, items: this.items, widths: this.widths } = listing);
    this.byId = new Map(this.items.map((item) => [item.petId, item]));
    this.ordered = this.inOrder();
    this.hasLevels = this.catalog?.hasLevels() === true;
    this.hasStock = true;
    this.search(petId);
  }

  /** Sort orders that make sense: by name only if there are names. */
  get orders(): readonly Order[] {
    return ORDERS.filter((order) => order !== 'name' || this.catalog !== undefined);
  }

  move(name: string): void {
    const { page } = this;
    const { length } = this.found;
    const steps: Readonly<Record<string, number>> = {
      up: -1,
      down: 1,
      pageup: -page,
      pagedown: page,
      home: -length,
      end: length,
    };
    this.cursor = Math.max(0, Math.min(length - 1, this.cursor + (steps[name] ?? 0)));
  }

  /** Moves the cursor to this row of the screen, if there is one. */
  moveTo(row: number): void {
    const place = this.top + row;
    if (row >= 0 && row < this.page && place < this.found.length) this.cursor = place;
  }

  /** Scrolls by that number of rows; the cursor stays on its pet while the pet is on the screen. */
  scroll(by: number): void {
    this.top = Math.max(0, Math.min(this.top + by, this.found.length - this.page));
    const last = Math.min(this.top + this.page, this.found.length) - 1;
    this.cursor = Math.max(this.top, Math.min(this.cursor, last));
  }

  /** Searches. The cursor goes to this pet if it is shown; by default to the one whose barcode or id is typed. */
  protected search(petId = petsWith(this.text.trimEnd(), this.catalog)[0]): void {
    const { catalog, isChangedOnly, pending, status } = this;
    const isMatch = matcherOf(this.text.trimEnd(), catalog);
    const orders = this.isLowOnly ? ordersOf(this.low, catalog) : undefined;
    const all = isChangedOnly ? [...this.ordered, ...this.gone()] : this.ordered;
    this.found = all.filter(
      (item) =>
        (status === undefined || item.status === status) &&
        (orders === undefined || orders(item) !== undefined) &&
        (!isChangedOnly || pending.has(item.petId)) &&
        isMatch?.(item.petId) !== false,
    );
    this.sum = this.found.reduce((sum, { quantity }) => sum + quantity, 0n);
    const place = this.found.findIndex((item) => item.petId === petId);
    this.cursor = Math.max(0, place);
    this.top = Math.max(0, this.cursor - Math.floor(this.page / 2));
  }

  /** Returns changed pets that are not in the list any more, so that their changes can be seen and taken back. */
  private gone(): InventoryItem[] {
    const gone = [...this.pending.values()].filter(({ petId }) => !this.byId.has(petId));
    return gone.map(({ petId, current }) => ({ petId, quantity: current, status: 'gone' }));
  }

  searchFor(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.search();
  }

  /** Changes the filter or the order; the cursor stays on its pet. */
  show(wanted: Partial<Pick<Selection, 'text' | 'status' | 'isLowOnly' | 'isChangedOnly' | 'order'>>): void {
    Object.assign(this, wanted);
    if (wanted.order !== undefined) this.ordered = this.inOrder();
    this.search(this.selected?.petId);
  }

  private inOrder(): readonly InventoryItem[] {
    const { catalog, items, order } = this;
    if (order === 'as listed') return items;
    if (order === 'name') return catalog?.byName(items) ?? items;
    const sort: Sort = order === 'quantity, largest first' ? '-quantity' : order;
    const sorted = new SortedItems();
    sorted.add(items);
    return [...sorted.batches(sort)].flat();
  }

  showAll(): void {
    this.show({ text: '', status: undefined, isLowOnly: false, isChangedOnly: false });
  }
}

/** Returns the next or the previous value, cyclically. */
export function next<T>(values: readonly T[], value: T, step: 1 | -1): T {
  return values[(values.indexOf(value) + step + values.length) % values.length]!;
}

/** Returns a test of a pet by a part of its id or name, or a barcode; undefined if all match. */
function matcherOf(text: string, catalog: Catalog | undefined): ((petId: bigint) => boolean) | undefined {
  if (text === '') return undefined;
  const ids = new Set([...(catalog?.containing(text) ?? []), ...petsWith(text, catalog)]);
  const mayBeId = /^-?[0-9]*$/.test(text);
  return (petId) => ids.has(petId) || (mayBeId && String(petId).includes(text));
}

/** Returns the pet with this barcode, and the one with this id: on a label, it may be padded with zeros. */
function petsWith(code: string, catalog: Catalog | undefined): bigint[] {
  const found = [catalog?.ownerOf(code)?.petId, parseInt64(code.replace(/^0+(?=\d)/, ''))];
  return found.filter((petId) => petId !== undefined);
}
