/** Which pets `inventory browse` shows, in which order, and where the cursor is. */
import type { InventoryItem } from '../api/item.ts';
import { PET_STATUSES, type PetStatus } from '../api/values.ts';
import type { DraftChange } from '../state/draft.ts';
import { idOf, type Order, ORDERS, Rows } from './rows.ts';

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
  /** The largest quantity that counts as low stock. */
  readonly low: bigint;
  readonly pending = new Map<bigint, DraftChange>();
  private rows = Rows.none;
  protected found: Uint32Array = new Uint32Array();
  private cursor = 0;
  private top = 0;

  constructor(low: bigint) {
    this.low = low;
  }

  get catalog(): Rows['catalog'] {
    return this.rows.catalog;
  }

  get widths(): Rows['widths'] {
    return this.rows.widths;
  }

  /** How many pets there are, and how many of them match. */
  get counts(): { readonly all: number; readonly found: number } {
    return { all: this.rows.count, found: this.found.length };
  }

  /** The pets on the screen, and which of them the cursor is on. */
  get visible(): { readonly items: readonly InventoryItem[]; readonly cursor: number } {
    const { page } = this;
    if (this.cursor < this.top) this.top = this.cursor;
    if (this.cursor >= this.top + page) this.top = this.cursor - page + 1;
    this.top = Math.max(0, Math.min(this.top, this.found.length - page));
    return { items: this.between(this.top, this.top + page), cursor: this.cursor - this.top };
  }

  get selected(): InventoryItem | undefined {
    const index = this.found[this.cursor];
    return index === undefined ? undefined : this.rows.at(index);
  }

  /** Returns the pets that match, from one place to another. */
  between(from: number, to: number): InventoryItem[] {
    return [...this.found.subarray(from, to)].map((index) => this.rows.at(index));
  }

  /** Returns the pet, whether it matches or not. */
  find(petId: bigint): InventoryItem | undefined {
    return this.rows.get(petId);
  }

  /** Shows the stock as it is now; the cursor stays on its pet. */
  replace(rows: Rows): void {
    const petId = this.selected?.petId;
    this.rows = rows;
    this.hasStock = true;
    this.search(petId);
  }

  /** The orders that make sense: by name only where there are names. */
  get orders(): readonly Order[] {
    return ORDERS.filter((order) => order !== 'name' || this.catalog !== undefined);
  }

  protected move(name: string): void {
    const steps: Readonly<Record<string, number>> = {
      up: -1,
      down: 1,
      pageup: -this.page,
      pagedown: this.page,
      home: Number.NEGATIVE_INFINITY,
      end: Number.POSITIVE_INFINITY,
    };
    this.cursor = Math.max(0, Math.min(this.found.length - 1, this.cursor + (steps[name] ?? 0)));
  }

  private get wanted(): Parameters<Rows['find']>[0] {
    const { text, status, order } = this;
    const most = this.isLowOnly ? this.low : undefined;
    const among = this.isChangedOnly ? new Set([...this.pending.keys()].map(String)) : undefined;
    return { text: text.trimEnd(), status, order, most, among };
  }

  /** Searches. The cursor stays on the pet if it is still shown; else it goes to the one whose id is typed. */
  protected search(petId?: bigint): void {
    this.found = this.rows.find(this.wanted);
    const id = petId === undefined ? this.text.trimEnd() : String(petId);
    this.cursor = Math.max(0, id === '' ? 0 : this.found.findIndex((index) => idOf(this.rows.at(index)) === id));
    this.top = Math.max(0, this.cursor - Math.floor(this.page / 2));
  }

  searchFor(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.search();
  }

  showStatus(status: PetStatus | undefined): void {
    this.status = status;
    this.search(this.selected?.petId);
  }

  showLow(isLowOnly: boolean): void {
    this.isLowOnly = isLowOnly;
    this.search(this.selected?.petId);
  }

  orderBy(order: Order): void {
    this.order = order;
    this.search(this.selected?.petId);
  }

  protected nextStatus(step: 1 | -1): void {
    const all = [undefined, ...PET_STATUSES];
    this.showStatus(all[(all.indexOf(this.status) + step + all.length) % all.length]);
  }

  protected showAll(): void {
    const petId = this.selected?.petId;
    this.text = '';
    this.status = undefined;
    this.isLowOnly = false;
    this.isChangedOnly = false;
    this.search(petId);
  }
}
