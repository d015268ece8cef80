/** The keys of `inventory browse`: what each does, and how the last line of the screen and its help show them. */
import { PET_STATUSES } from '../api/values.ts';
import type { Key } from '../ports.ts';
import { BETWEEN } from '../view/fit.ts';
import type { Browser, End } from './browser.ts';
import { next } from './selection.ts';
import { reverse } from './rows.ts';

/** What the user asks for that needs more than the rows. `stop`: to stop reading the stock. */
export type Request = End | 'refresh' | 'stop';

interface KeyText {
  readonly key: string;
  /** What the last line shows: with the key at most 20 columns. */
  readonly label: string;
  readonly text: string;
}

/** The most important first: as many as fit. */
const KEYS: readonly KeyText[] = [
  { key: '^X', label: 'apply', text: 'show all changes, and apply them' },
  { key: 'Enter', label: 'set', text: 'type the quantity (12), or what to add (+3) or take away (-3); also =' },
  { key: '?', label: 'help', text: 'this page' },
  { key: '^C', label: 'leave', text: 'leave; changes can be kept for later (also ^D, ^Q)' },
  { key: '↑↓', label: 'move', text: 'move (also PageUp, PageDown, Home, End, a click, the wheel)' },
  { key: '^Z', label: 'undo', text: 'take the last change back (^Y makes it again)' },
  { key: 'a-z', label: 'search', text: 'search by id, name or barcode; Backspace, ^U' },
  { key: '←→', label: 'by one', text: 'one less, one more' },
  { key: 'Ins', label: 'mark', text: 'mark pets that are changed together, also ^Space (^A: all that are shown)' },
  { key: '^O', label: 'history', text: 'the last changes of the pet at the cursor, made from this machine' },
  { key: 'Tab', label: 'status', text: 'only one status, then the next (Shift-Tab: the one before)' },
  { key: '^L', label: 'low stock', text: 'only low stock (▼)' },
  { key: '^P', label: 'changed', text: 'only pets with changes' },
  { key: '^W', label: 'why', text: 'note a cause and a remark for the changes' },
  { key: '^S', label: 'sort', text: 'sort by another column' },
  { key: '^R', label: 'refresh', text: 'read the stock again (Esc stops it)' },
  { key: 'Esc', label: 'all', text: 'show all pets again' },
  { key: 'Del', label: 'restore', text: 'take the change back, of this pet or those marked' },
];

/** Rows that a step of the mouse's wheel scrolls. */
const WHEEL = 3;

/** Does what the key is for. Returns what is left to do. */
export function press(browser: Browser, key: Key): Request | undefined {
  const { name, ctrl } = key;
  if (ctrl && (name === 'c' || name === 'q' || name === 'd')) return leave(browser);
  if (!browser.hasStock) return undefined;
  if (browser.reading !== undefined && name === 'escape') return 'stop';
  browser.message = '';
  const { mode } = browser;
  if (key.row !== undefined) {
    const row = key.row - browser.firstRow;
    if (mode === 'table' && name === 'click') browser.moveTo(row);
    else if (mode === 'table') browser.scroll(name === 'wheelup' ? -WHEEL : WHEEL);
    return undefined;
  }
  if (mode === 'quantity') {
    typeQuantity(browser, key);
    return undefined;
  }
  if (mode === 'table') return pressInTable(browser, key);
  browser.mode = 'table';
  if (mode === 'help') return undefined;
  if (name === 'return' || name === 'k') return 'leave';
  return name === 'd' ? 'discard' : undefined;
}

function leave(browser: Browser): Request | undefined {
  const { hasStock, mode, pending, reading } = browser;
  if (reading !== undefined && hasStock) return 'stop';
  // The second Ctrl-C leaves in any case: pending changes are kept.
  if (pending.size === 0 || mode === 'leave' || !hasStock) return 'leave';
  browser.mode = 'leave';
  return undefined;
}

function pressInTable(browser: Browser, { name, ctrl, shift, text }: Key): Request | undefined {
  if (ctrl) return pressCtrl(browser, name);
  if (text === '?') browser.mode = 'help';
  // Typed in full and ended with Enter: a name that is pasted here changes nothing.
  else if (text === '=' || name === 'return' || name === 'enter') browser.askQuantity('');
  else if (text === '+' || text === '-') browser.askQuantity(text);
  else if (name === 'right') browser.changeBy(1n);
  else if (name === 'left') browser.changeBy(-1n);
  else if (name === 'tab') browser.show({ status: next([undefined, ...PET_STATUSES], browser.status, shift ? -1 : 1) });
  else if (name === 'escape') browser.showAll();
  else if (name === 'backspace') browser.searchFor(browser.text.replace(/.$/u, ''));
  else if (name === 'delete') browser.change(browser.targets, ({ quantity }) => quantity);
  else if (name === 'insert') browser.mark();
  // The habit of less and k9s: what is typed searches anyway.
  else if (text === '/' && browser.text === '') browser.message = 'Type to search.';
  else if (text !== '') browser.searchFor((browser.text + text).trimStart());
  else browser.move(name);
  return undefined;
}

function pressCtrl(browser: Browser, name: string): Request | undefined {
  if (browser.reading === undefined) {
    if (name === 'r') return 'refresh';
    if (name === 'w') return 'why';
    if (name === 'x' && browser.pending.size > 0) return 'apply';
    if (name === 'x') {
      browser.message = 'There is no change to apply. Enter types the quantity of the pet at the cursor.';
    }
  }
  if (name === 'l') browser.show({ isLowOnly: !browser.isLowOnly });
  else if (name === 'p') browser.show({ isChangedOnly: !browser.isChangedOnly });
  else if (name === 's') browser.show({ order: next(browser.orders, browser.order, 1) });
  else if (name === 'u') browser.searchFor('');
  else if (name === 'o') browser.hasPane = !browser.hasPane;
  else if (name === 'z') browser.undo();
  else if (name === 'y') browser.redo();
  // Ctrl-Space, as node:readline names it.
  else if (name === '`') browser.mark();
  else if (name === 'a') browser.markAll();
  return undefined;
}

function typeQuantity(browser: Browser, { name, text }: Key): void {
  const { typed } = browser;
  if (name === 'backspace') browser.typed = typed.replace(/.$/u, '');
  else if (name === 'return' || name === 'enter') browser.endQuantity();
  else if (name === 'escape') {
    browser.typed = '';
    browser.endQuantity();
  } else browser.typed += text;
}

const KEY_WIDTH = Math.max(...KEYS.map(({ key }) => key.length));
const FULL_WIDTH = Math.max(...KEYS.map(({ text }) => KEY_WIDTH + BETWEEN.length + text.length));

/** Returns all keys: a line each where there is room for it. */
export function keyHelp(columns: number, rows: number): string[] {
  if (KEYS.length > rows || FULL_WIDTH > columns) return keyLines(columns);
  return KEYS.map(({ key, text }) => `${reverse(key)}${' '.repeat(KEY_WIDTH - key.length)}${BETWEEN}${text}`);
}

/** Returns the keys, as many a line as fit, none of them cut; the ones that matter most in the first line. */
export function keyLines(columns: number): string[] {
  const lines: string[][] = [];
  let width = Number.POSITIVE_INFINITY;
  for (const { key, label } of KEYS) {
    const own = key.length + 1 + label.length;
    width += BETWEEN.length + own;
    if (width > columns) {
      lines.push([]);
      width = own;
    }
    lines.at(-1)?.push(`${reverse(key)} ${label}`);
  }
  return lines.map((keys) => keys.join(BETWEEN));
}
