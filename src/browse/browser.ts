/** What `inventory browse` holds, and what each key does to it. Draws and sends nothing. */
import type { InventoryItem } from '../api/item.ts';
import { MAX_DIGITS, PET_STATUSES, type PetStatus } from '../api/values.ts';
import type { Key } from '../ports.ts';
import type { RateLimit } from '../rate-limit/gate.ts';
import type { CommandContext } from '../session/globals.ts';
import type { DraftChange } from '../state/draft.ts';
import { plural } from '../view/words.ts';
import { idOf, type Order, ORDERS, Rows } from './rows.ts';

/** What ends a look at the table. */
export type End = 'apply' | 'leave' | 'discard';
/** What the user asks for that needs more than the rows. */
export type Request = End | 'refresh';

/** Shows the table until the user ends it. @throws {Failure} what ends a read of the stock; the signal's reason */
export type Show = (context: CommandContext, browser: Browser, reload: Reload) => Promise<End>;
export type Reload = (context: CommandContext) => Promise<void>;

export type Mode =
  | { readonly kind: 'table' }
  /** A quantity is typed for the pet at the cursor. */
  | { readonly kind: 'quantity'; readonly text: string }
  /** The user wants to leave while changes are pending. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'help' };

const TABLE: Mode = { kind: 'table' };

export interface BrowserOptions {
  /** The largest quantity that counts as low stock. */
  readonly low: bigint;
  /** Pending changes of an earlier run. */
  readonly draft: readonly DraftChange[];
  /** Called for each pet whose pending change is another one; undefined: it has none any more. */
  onChange(petId: bigint, change: DraftChange | undefined): void;
}

export class Browser {
  text = '';
  status: PetStatus | undefined;
  isLowOnly = false;
  order: Order = 'as listed';
  mode: Mode = TABLE;
  /** One sentence for the user. */
  message = 'Type to search. + and - change the quantity at the cursor. ? shows all keys.';
  /** While the stock is read, no key changes anything. */
  isBusy = false;
  limits: () => RateLimit | undefined = () => undefined;
  /** How many rows fit the screen. */
  page = 10;
  readonly low: bigint;
  readonly pending: Map<bigint, DraftChange>;
  private readonly onChange: BrowserOptions['onChange'];
  private rows = Rows.none;
  private found: Uint32Array = new Uint32Array();
  private cursor = 0;
  private top = 0;

  constructor({ low, draft, onChange }: BrowserOptions) {
    this.low = low;
    this.onChange = onChange;
    this.pending = new Map(draft.map((change) => [change.petId, change]));
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
    this.search(petId);
  }

  press(key: Key): Request | undefined {
    const { name, ctrl } = key;
    if (ctrl && (name === 'c' || name === 'q' || name === 'd')) return this.leave();
    if (this.isBusy) return undefined;
    this.message = '';
    switch (this.mode.kind) {
      case 'help':
        this.mode = TABLE;
        return undefined;
      case 'leave':
        return this.answerLeave(key);
      case 'quantity':
        this.typeQuantity(key, this.mode.text);
        return undefined;
      case 'table':
        return this.pressInTable(key);
    }
  }

  private leave(): Request | undefined {
    // The second Ctrl-C leaves in any case: pending changes are kept.
    if (this.isBusy || this.pending.size === 0 || this.mode.kind === 'leave') return 'leave';
    this.mode = { kind: 'leave' };
    return undefined;
  }

  private answerLeave({ name }: Key): Request | undefined {
    this.mode = TABLE;
    if (name === 'return' || name === 'k') return 'leave';
    return name === 'd' ? 'discard' : undefined;
  }

  private pressInTable(key: Key): Request | undefined {
    const { name, ctrl, shift, text } = key;
    if (ctrl) return this.pressCtrl(name);
    if (text === '?') this.mode = { kind: 'help' };
    else if (text === '+' || name === 'right') this.changeBy(1n);
    else if (text === '-' || name === 'left') this.changeBy(-1n);
    else if (text === '=' || name === 'return' || name === 'enter') this.askQuantity();
    else if (name === 'tab') this.nextStatus(shift ? -1 : 1);
    else if (name === 'escape') this.showAll();
    else if (name === 'backspace') this.searchFor(this.text.replace(/.$/u, ''));
    else if (name === 'delete') this.forget();
    else if (text !== '') this.searchFor((this.text + text).trimStart());
    else this.move(name);
    return undefined;
  }

  private pressCtrl(name: string): Request | undefined {
    if (name === 'r') return 'refresh';
    if (name === 'x') {
      if (this.pending.size > 0) return 'apply';
      this.message = 'No change is pending. Press + or - to change a quantity, = to type one.';
    }
    if (name === 'l') this.showLow(!this.isLowOnly);
    if (name === 's') this.orderBy(this.orders[(this.orders.indexOf(this.order) + 1) % this.orders.length]!);
    if (name === 'u') this.searchFor('');
    return undefined;
  }

  /** The orders that make sense: by name only where there are names. */
  get orders(): readonly Order[] {
    return ORDERS.filter((order) => order !== 'name' || this.catalog !== undefined);
  }

  private move(name: string): void {
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
    return { text: text.trimEnd(), status, order, most: this.isLowOnly ? this.low : undefined };
  }

  /** Searches, and keeps the cursor on the pet if it is still shown. */
  private search(petId?: bigint): void {
    this.found = this.rows.find(this.wanted);
    const id = String(petId);
    const at = petId === undefined ? -1 : this.found.findIndex((index) => idOf(this.rows.at(index)) === id);
    this.cursor = Math.max(0, at);
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
    this.search();
  }

  private nextStatus(step: 1 | -1): void {
    const all = [undefined, ...PET_STATUSES];
    this.showStatus(all[(all.indexOf(this.status) + step + all.length) % all.length]);
  }

  private showAll(): void {
    const petId = this.selected?.petId;
    this.text = '';
    this.status = undefined;
    this.isLowOnly = false;
    this.search(petId);
  }

  /** The quantity that the pet will have. */
  quantityOf({ petId, quantity }: InventoryItem): bigint {
    return this.pending.get(petId)?.quantity ?? quantity;
  }

  private changeBy(by: bigint): void {
    const item = this.selected;
    if (item !== undefined) this.change(item, this.quantityOf(item) + by);
  }

  private forget(): void {
    const item = this.selected;
    if (item !== undefined) this.change(item, this.pending.get(item.petId)?.current ?? item.quantity);
  }

  /** Notes the quantity to set; the quantity that the pet has takes the change back. Returns whether it is allowed. */
  change({ petId, quantity: present }: InventoryItem, quantity: bigint): boolean {
    // What the user saw first is what the change is checked against when it is applied.
    const current = this.pending.get(petId)?.current ?? present;
    if (quantity < 0n && quantity < current) {
      this.message = `Pet ${petId}: a quantity below zero is set with petstore inventory set --allow-negative.`;
      return false;
    }
    const change = quantity === current ? undefined : { petId, current, quantity };
    if (change === undefined) this.pending.delete(petId);
    else this.pending.set(petId, change);
    this.onChange(petId, change);
    return true;
  }

  /** All of them have been applied. */
  forgetAll(): void {
    this.pending.clear();
  }

  private askQuantity(): void {
    if (this.selected === undefined) this.message = 'No pet matches.';
    else this.mode = { kind: 'quantity', text: '' };
  }

  private typeQuantity({ name, text }: Key, typed: string): void {
    if (name === 'escape') this.mode = TABLE;
    else if (name === 'backspace') this.mode = { kind: 'quantity', text: typed.slice(0, -1) };
    else if (name === 'return' || name === 'enter') this.endQuantity(typed);
    else if (/^[0-9]$/.test(text) || (/^[+-]$/.test(text) && typed === '')) {
      this.mode = { kind: 'quantity', text: `${typed}${text}`.slice(0, MAX_DIGITS) };
    }
  }

  private endQuantity(typed: string): void {
    this.mode = TABLE;
    const item = this.selected;
    if (item === undefined || typed === '') return;
    const owner = typed.length < LEAST_BARCODE ? undefined : this.catalog?.ownerOf(typed);
    if (owner !== undefined) {
      // A scanner does not know that a quantity is asked for.
      this.searchFor(typed);
      this.message = `${typed} is a barcode: pet ${owner.petId}. The quantity of pet ${item.petId} was not changed.`;
      return;
    }
    const quantity = parseQuantity(typed, this.quantityOf(item));
    if (quantity === undefined) this.message = `${typed} is not a quantity.`;
    else if (this.change(item, quantity) && this.found.length === 1 && this.text !== '') {
      // The next one is searched for from the start.
      this.text = '';
      this.search(item.petId);
    }
  }

  /** `3 changes` */
  get pendingWords(): string {
    return plural(this.pending.size, 'change');
  }
}

/** The digits of the shortest barcode, EAN-8. */
const LEAST_BARCODE = 8;

/** `12` sets; `+3` and `-3` change the present quantity. Undefined for anything else. */
export function parseQuantity(typed: string, present: bigint): bigint | undefined {
  if (typed.length > MAX_DIGITS || !/^[+-]?[0-9]+$/.test(typed)) return undefined;
  const value = BigInt(typed.replace(/^\+/, ''));
  return /^[+-]/.test(typed) ? present + value : value;
}
