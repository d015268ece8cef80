/** The keys of `inventory browse`: what each does, and how the last line of the screen and its help show them. */
import { PET_STATUSES } from '../api/values.ts';
import type { Key } from '../ports.ts';
import { BETWEEN } from '../view/fit.ts';
import { wrapLine } from '../view/width.ts';
import type { Browser, End } from './browser.ts';
import { LINES_ABOVE, next } from './selection.ts';
import { reverse } from './rows.ts';

/** Requests that need more than the rows. `stop`: stop reading the stock. */
export type Request = End | 'refresh' | 'stop';

/**
 * Keys for the last line, the most important first: as many as fit. A label has, with its key, at most 20 columns; the
 * text is for the help.
 */
const KEYS: readonly (readonly [key: string, label: string, text: string])[] = [
  ['^X', 'apply', 'Shows all changes, and applies them.'],
  ['Enter =', 'set', 'Asks for the quantity (12), or what to add (+3) or take away (-3).'],
  ['?', 'help', 'Shows these keys.'],
  ['^C', 'leave', 'Leaves; changes can be kept for later (also ^D, ^Q).'],
  ['↑↓', 'move', 'Moves (also PageUp, PageDown, Home, End, a click, the wheel).'],
  ['^Z', 'undo', 'Undoes the last change (^Y redoes it).'],
  ['a-z', 'search', 'Searches by id, name or barcode (Backspace, ^U delete).'],
  ['←→', 'by one', 'Takes one away, or adds one.'],
  ['Ins', 'mark', 'Marks pets to change together (also ^Space; ^A: all that match).'],
  ['^O', 'history', "Shows or hides the pet's last changes from this machine."],
  ['Tab', 'status', 'Shows one status, then the next (Shift-Tab: the one before).'],
  ['^L', 'low stock', 'Shows only low stock (▼), or all.'],
  ['^P', 'changed', 'Shows only pets with changes, or all.'],
  ['^W', 'why', 'Sets a cause and a note for the changes.'],
  ['^S', 'sort', 'Sorts by another column.'],
  ['^R', 'refresh', 'Reads the stock again (Esc stops it).'],
  ['Esc', 'all', 'Shows all pets again.'],
  ['Del', 'restore', 'Undoes the change of this pet, or of those marked.'],
];

/** Keys and labels while a question is asked. */
const ANSWERS: Readonly<Partial<Record<Browser['mode'], readonly (readonly [key: string, label: string])[]>>> = {
  quantity: [['Enter', 'set'], ['Esc', 'back'], ['12', 'quantity'], ['+3 -3', 'add, take'], ['^C', 'leave']], // prettier-ignore
  leave: [['Enter', 'keep'], ['d', 'discard'], ['Esc', 'stay']], // prettier-ignore
};

const STATUSES = [undefined, ...PET_STATUSES] as const;

const REQUESTS: Readonly<Record<string, Request>> = { '^r': 'refresh', '^w': 'why', '^x': 'apply' };

/** Rows that a step of the mouse's wheel scrolls. */
const WHEEL = 3;

/** Handles a key. Returns what the caller has to do. */
export function press(browser: Browser, key: Key): Request | undefined {
  const { name, ctrl } = key;
  if (ctrl && (name === 'c' || name === 'q' || name === 'd')) return leave(browser);
  if (!browser.hasStock) return undefined;
  const { mode } = browser;
  if (browser.reading !== undefined && name === 'escape' && mode === 'table') return 'stop';
  browser.message = '';
  if (mode === 'table') return pressInTable(browser, key);
  if (key.row !== undefined) return undefined;
  if (mode === 'quantity') {
    if (name === 'escape' || (ctrl && (name === 'u' || name === 'w'))) browser.typed = '';
    if (name === 'escape' || name === 'return') browser.endQuantity();
    else browser.typed = name === 'backspace' ? browser.typed.replace(/.$/u, '') : browser.typed + key.text;
    return undefined;
  }
  if (mode === 'help' && browser.hasMoreHelp && name !== 'escape') {
    browser.helpPage++;
    return undefined;
  }
  browser.mode = 'table';
  if (mode === 'help') return undefined;
  if (name === 'return' || name === 'k') return 'leave';
  return name === 'd' ? 'discard' : undefined;
}

function leave(browser: Browser): Request | undefined {
  const { hasStock, mode, pending, reading } = browser;
  if (reading !== undefined && hasStock) return 'stop';
  // A second Ctrl-C always leaves; pending changes are kept.
  if (pending.size === 0 || mode === 'leave' || !hasStock) return 'leave';
  browser.mode = 'leave';
  return undefined;
}

function pressInTable(browser: Browser, key: Key): Request | undefined {
  const { name, ctrl, shift, text, row } = key;
  const pressed = ctrl ? `^${name}` : text === '' ? name : text;
  const request = browser.reading === undefined ? REQUESTS[pressed] : undefined;
  if (request === 'apply' && browser.pending.size === 0) browser.message = 'There is no change to apply.';
  else if (request !== undefined) return request;
  else if (row !== undefined && name === 'click') browser.moveTo(row - LINES_ABOVE);
  else if (row !== undefined) browser.scroll(name === 'wheelup' ? -WHEEL : WHEEL);
  else if (pressed === '?') [browser.mode, browser.helpPage] = ['help', 0];
  // Must be typed in full and ended with Enter, so that a pasted name changes nothing.
  else if (pressed === '=') browser.askQuantity('');
  else if (pressed === '+' || pressed === '-') browser.askQuantity(text);
  else if (pressed === 'return') browser.endSearch();
  else if (pressed === 'right') browser.change(browser.targets, '+1');
  else if (pressed === 'left') browser.change(browser.targets, '-1');
  else if (pressed === 'delete') browser.change(browser.targets, '=');
  else if (pressed === '^z') browser.undo();
  else if (pressed === '^y') browser.redo();
  // Ctrl-Space, as node:readline names it.
  else if (pressed === 'insert' || pressed === '^`') browser.mark();
  else if (pressed === '^a') browser.markAll();
  else if (pressed === 'tab') browser.show({ status: next(STATUSES, browser.status, shift ? -1 : 1) });
  else if (pressed === '^l') browser.show({ isLowOnly: !browser.isLowOnly });
  else if (pressed === '^p') browser.show({ isChangedOnly: !browser.isChangedOnly });
  else if (pressed === '^s') browser.show({ order: next(browser.orders, browser.order, 1) });
  else if (pressed === '^o') browser.hasPane = !browser.hasPane;
  else if (pressed === 'escape') browser.showAll();
  else if (pressed === '^u') browser.searchFor('');
  else if (pressed === 'backspace') browser.searchFor(browser.text.replace(/.$/u, ''));
  // A slash begins a search in less and k9s; here typing does.
  else if (text !== '') browser.searchFor((browser.text + text).replace(/^[\s/]+/, ''));
  else browser.move(name);
  return undefined;
}

const MARGIN = Math.max(...KEYS.map(([key]) => key.length)) + BETWEEN.length;

/** Returns the pages of the help, with this many rows each: all keys with a sentence each. */
export function helpPages(columns: number, rows: number): string[][] {
  const pages: string[][] = [[]];
  for (const [key, , text] of KEYS) {
    const lines = wrapLine(key.padEnd(MARGIN) + text, columns, MARGIN).split('\n');
    lines[0] = lines[0]!.replace(key, reverse);
    const last = pages.at(-1)!;
    if (last.length > 0 && last.length + lines.length > rows) pages.push(lines);
    else last.push(...lines);
  }
  return pages;
}

/** Returns as many keys of what is shown as fit one line, none of them cut. */
export function keyLine(mode: Browser['mode'], columns: number): string {
  let line = '';
  let width = 0;
  for (const [key, label] of ANSWERS[mode] ?? KEYS) {
    const between = line === '' ? '' : BETWEEN;
    width += between.length + key.length + 1 + label.length;
    if (width > columns) break;
    line += `${between}${reverse(key)} ${label}`;
  }
  return line;
}
