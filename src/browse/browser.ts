/** What `inventory browse` holds, and what each key does to it. Draws and sends nothing. */
import type { InventoryItem } from '../api/item.ts';
import { MAX_DIGITS } from '../api/values.ts';
import { barcodeIn } from '../catalog/barcode.ts';
import type { Key } from '../ports.ts';
import type { RateLimit } from '../rate-limit/gate.ts';
import type { CommandContext } from '../session/globals.ts';
import { Changing } from './changing.ts';
import type { Surroundings } from './paint.ts';

/** How a visit to the table ends. */
export type End = 'apply' | 'why' | 'leave' | 'discard';
/** What the user asks for that needs more than the rows. `stop`: to stop reading the stock. */
export type Request = End | 'refresh' | 'stop';

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

/** Rows that a step of the mouse's wheel scrolls. */
const WHEEL = 3;
const TABLE: Mode = { kind: 'table' };

export class Browser extends Changing {
  mode: Mode = TABLE;
  /** True while the last changes of the pet at the cursor are shown. */
  hasPane = false;
  /** True while the stock is read. */
  isBusy = false;
  changesOf: Surroundings['changesOf'] = () => [];
  limits: () => RateLimit | undefined = () => undefined;

  press(key: Key): Request | undefined {
    const { name, ctrl } = key;
    if (ctrl && (name === 'c' || name === 'q' || name === 'd')) return this.leave();
    if (!this.hasStock) return undefined;
    if (this.isBusy && name === 'escape') return 'stop';
    if (!this.isBusy) this.message = '';
    if (key.row !== undefined) {
      if (this.mode.kind === 'table') this.point(name, key.row - this.firstRow);
      return undefined;
    }
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

  private point(name: string, row: number): void {
    if (name === 'click') this.moveTo(row);
    else this.scroll(name === 'wheelup' ? -WHEEL : WHEEL);
  }

  private leave(): Request | undefined {
    if (this.isBusy && this.hasStock) return 'stop';
    // The second Ctrl-C leaves in any case: pending changes are kept.
    if (this.pending.size === 0 || this.mode.kind === 'leave' || !this.hasStock) return 'leave';
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
    // Typed in full and ended with Enter: a name that is pasted here changes nothing.
    else if (text === '=' || name === 'return' || name === 'enter') this.askQuantity('');
    else if (text === '+' || text === '-') this.askQuantity(text);
    else if (name === 'right') this.changeBy(1n);
    else if (name === 'left') this.changeBy(-1n);
    else if (name === 'tab') this.nextStatus(shift ? -1 : 1);
    else if (name === 'escape') this.showAll();
    else if (name === 'backspace') this.searchFor(this.text.replace(/.$/u, ''));
    else if (name === 'delete') this.change(this.targets, ({ quantity }) => quantity);
    else if (name === 'insert') this.mark();
    else if (text !== '') this.searchFor((this.text + text).trimStart());
    else this.move(name);
    return undefined;
  }

  private pressCtrl(name: string): Request | undefined {
    switch (name) {
      case 'r':
        return this.isBusy ? undefined : 'refresh';
      case 'x':
        if (this.isBusy) return undefined;
        if (this.pending.size > 0) return 'apply';
        this.message = 'There is no change to apply. Enter types the quantity of the pet at the cursor.';
        return undefined;
      case 'w':
        return this.isBusy ? undefined : 'why';
      case 'l':
        this.showLow(!this.isLowOnly);
        return undefined;
      case 'p':
        this.isChangedOnly = !this.isChangedOnly;
        this.search(this.selected?.petId);
        return undefined;
      case 's':
        this.orderBy(this.orders[(this.orders.indexOf(this.order) + 1) % this.orders.length]!);
        return undefined;
      case 'u':
        this.searchFor('');
        return undefined;
      case 'o':
        this.hasPane = !this.hasPane;
        return undefined;
      case 'z':
        this.undo();
        return undefined;
      case 'y':
        this.redo();
        return undefined;
      // Ctrl-Space, as node:readline names it.
      case '`':
        this.mark();
        return undefined;
      case 'a':
        this.markAll();
        return undefined;
      default:
        return undefined;
    }
  }

  private changeBy(by: bigint): void {
    this.change(this.targets, (item) => this.quantityOf(item) + by);
  }

  private askQuantity(text: string): void {
    if (this.targets.length === 0) this.message = 'No pet matches.';
    else this.mode = { kind: 'quantity', text };
  }

  private typeQuantity({ name, text }: Key, typed: string): void {
    if (name === 'escape') this.endPrompt();
    else if (name === 'backspace') this.mode = { kind: 'quantity', text: typed.replace(/.$/u, '') };
    else if (name === 'return' || name === 'enter') this.endQuantity(typed);
    else if (text !== '') this.mode = { kind: 'quantity', text: typed + text };
  }

  private endQuantity(typed: string): void {
    const { targets } = this;
    const [first] = targets;
    if (first === undefined || typed === '') {
      this.endPrompt();
      return;
    }
    // A scanner does not know that a quantity is asked for.
    const barcode = barcodeIn(typed, (code) => this.catalog?.ownerOf(code) !== undefined);
    if (barcode !== undefined) this.scan(barcode, targets);
    else if (parseQuantity(typed, 0n) === undefined) {
      this.mode = TABLE;
      this.message = `${JSON.stringify(typed)} is not a quantity.`;
    } else {
      const present = (item: InventoryItem): bigint => this.quantityOf(item);
      if (this.change(targets, (item) => parseQuantity(typed, present(item)) ?? present(item))) this.marked.clear();
      this.endPrompt();
    }
  }

  private scan(barcode: string, targets: readonly InventoryItem[]): void {
    const owner = this.catalog?.ownerOf(barcode);
    const pets = targets.length === 1 ? `pet ${targets[0]?.petId}` : `${targets.length} pets`;
    const unchanged = `The quantity of ${pets} was not changed.`;
    this.marked.clear();
    if (owner === undefined) {
      this.mode = TABLE;
      this.message = `${barcode} is a barcode that no pet has. ${unchanged}`;
      return;
    }
    this.showAll();
    this.searchFor(barcode);
    this.askQuantity('');
    this.message = `${barcode} is the barcode of pet ${owner.petId}. ${unchanged}`;
  }

  /** What found the only pet is done with: the next scan, or word, begins anew. */
  private endPrompt(): void {
    this.mode = TABLE;
    if (this.found.length !== 1 || this.text === '') return;
    const petId = this.selected?.petId;
    this.text = '';
    this.search(petId);
  }
}

/** `12` sets; `+3` and `-3` change the present quantity. Undefined for anything else. */
export function parseQuantity(typed: string, present: bigint): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(typed) || typed.replace(/^[+-]/, '').length > MAX_DIGITS) return undefined;
  const value = BigInt(typed.replace(/^\+/, ''));
  return /^[+-]/.test(typed) ? present + value : value;
}
