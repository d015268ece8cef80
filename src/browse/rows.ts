/** Draws the rows of `inventory browse`. */
import type { InventoryItem } from '../api/item.ts';
import { PET_STATUSES } from '../api/values.ts';
import type { FullScreen } from '../ports.ts';
import type { DraftChange } from '../state/journal-rows.ts';
import { BETWEEN } from '../view/fit.ts';
import { type Role, roleOf } from '../view/style.ts';
import type { Screen } from '../view/table.ts';
import { isLatin, padTo, truncate } from '../view/width.ts';
import { signed } from '../view/words.ts';
import type { Browser } from './browser.ts';

/** What drawing needs besides the browser: size, texts around the stock, and style. */
export interface Surroundings extends Pick<FullScreen, 'columns' | 'rows'>, Pick<Screen, 'now' | 'style'> {
  readonly environment: string;
  /** Makes a text from outside safe to show: redacts secrets and escapes control characters. */
  readonly shown: (text: string) => string;
}

/** Reverse video is not a colour, so NO_COLOR does not turn it off. */
export function reverse(text: string): string {
  return `\u001b[7m${text}\u001b[27m`;
}

/** Returns a line of reverse video over the whole width. */
export function barOf(text: string, { columns, style }: Surroundings): string {
  return reverse(style.heading(padTo(text, columns, 'left')));
}

const LEAST_NAME = 6;
/** Least width of names beside ids that have more room than those on the screen need. */
const ROOMY_NAME = 14;
const STATUS_WIDTH = Math.max(...PET_STATUSES.map((status) => status.length));
const LOW_SIGN = '▼ ';

type Column = 'id' | 'name' | 'quantity' | 'change' | 'status';
type Cells = Readonly<Record<Column, string>>;

const NO_MARKS = '   ';
const HEADING: Cells = { id: 'Pet', name: 'Name', quantity: 'Quantity', change: '', status: 'Status' };
const COLUMNS = Object.keys(HEADING) as Column[];

/** Returns the heading and the rows, none wider than the columns. */
export function tableOf(browser: Browser, around: Surroundings): { heading: string; lines: string[] } {
  const { columns, shown, style } = around;
  const { items, cursor } = browser.visible;
  const width = fittingWidths(browser, columns, items);
  const shownColumns = COLUMNS.filter((column) => width[column] > 0);
  // Terminals differ in how wide some scripts and emoji are: the next column is named, not counted from there.
  const after = (column: Column, text: string): string =>
    column === 'name' && !isLatin(text)
      ? `\u001b[${NO_MARKS.length + width.id + BETWEEN.length + width.name + 1}G`
      : '';
  const line = (marks: string, cells: Cells, roles: Partial<Record<Column, Role | undefined>> = {}): string =>
    marks +
    shownColumns
      .map((column) => {
        const text = truncate(cells[column], width[column]);
        const side = column === 'id' || column === 'quantity' ? 'right' : 'left';
        const cell = column === 'status' ? text : padTo(text, width[column], side) + after(column, text);
        const role = roles[column];
        return role === undefined ? cell : cell.replace(text, (found) => style[role](found));
      })
      .join(BETWEEN);
  const lines = items.map((item, i) => {
    const change = browser.pending.get(item.petId);
    const isLow = browser.isLow(item);
    // Beside an id, a minus would be taken for its sign.
    const marks = `${i === cursor ? '>' : ' '}${markOf(item, change)}${browser.marked.has(item.petId) ? 'x' : ' '}`;
    const next = change === undefined ? '' : changeText(change, width.hasDelta && change.current === item.quantity);
    const isInstead = next !== '' && width.change === 0;
    const changeRole = change !== undefined && change.quantity < item.quantity ? 'minus' : 'plus';
    const cells: Cells = {
      id: String(item.petId),
      name: shown(browser.catalog?.nameOf(item.petId) ?? ''),
      quantity: isInstead ? next : isLow ? `${LOW_SIGN}${item.quantity}` : `${item.quantity}`,
      change: next,
      status: shown(item.status),
    };
    const whole = line(marks, cells);
    const text = truncate(whole, columns);
    if (i === cursor) return barOf(text, around);
    if (text !== whole) return text;
    return line(marks, cells, {
      quantity: isInstead ? changeRole : (roleOf('quantity', item.quantity) ?? (isLow ? 'attention' : undefined)),
      change: changeRole,
      status: roleOf('status', item.status),
    });
  });
  if (items.length === 0) lines.push(truncate(emptyText(browser), columns));
  return { heading: truncate(line(NO_MARKS, HEADING), columns), lines };
}

interface Widths extends Readonly<Record<Column, number>> {
  /** True if there is room for the difference that a change makes. */
  readonly hasDelta: boolean;
}

/**
 * Returns the same widths for every page, so that nothing moves sideways. On a narrow terminal, where names and status
 * matter more, ids get only the room that those on the screen need. Numbers are never cut: if there is too little room,
 * omits the difference that changes make first, then the status, then the name; then a change is shown in place of the
 * quantity.
 */
function fittingWidths(browser: Browser, columns: number, items: readonly InventoryItem[]): Widths {
  const { catalog, hasLevels, pending, widths } = browser;
  // A changed pet that is gone may have longer ones than the stock.
  const number = Math.max(widths.quantity, ...items.map((item) => String(item.quantity).length));
  const quantity = Math.max(HEADING.quantity.length, number + (hasLevels ? LOW_SIGN.length : 0));
  const widest = (hasDelta: boolean): number =>
    [...pending.values()].reduce((most, each) => Math.max(most, changeText(each, hasDelta).length), 0);
  const name = catalog === undefined ? 0 : LEAST_NAME;
  const full = { name, quantity, change: widest(true), status: STATUS_WIDTH, hasDelta: true };
  const short = { ...full, change: widest(false), hasDelta: false };
  const id = Math.max(HEADING.id.length, ...items.map(({ petId }) => String(petId).length));
  // With room for the first change, so that nothing moves then.
  const usual = Math.max(full.change, '→  +'.length + 2 * widths.quantity);
  const roomyName = Math.max(name, Math.min(ROOMY_NAME, widths.name));
  const roomy = { ...full, id: Math.max(id, widths.id), name: roomyName, change: usual };
  const tight: Widths[] = [full, short].map((each) => ({ ...each, id }));
  const narrow = tight.map((each) => ({ ...each, status: 0 }));
  const room = columns - NO_MARKS.length + BETWEEN.length;
  const leftBy = (layout: Widths): number =>
    COLUMNS.reduce((left, column) => left - (layout[column] > 0 ? layout[column] + BETWEEN.length : 0), room);
  const bare = { ...narrow[1]!, name: 0 };
  const instead = { ...bare, quantity: Math.max(quantity, bare.change), change: 0 };
  const found = [roomy, ...tight, ...narrow, bare].find((each) => leftBy(each) >= 0) ?? instead;
  const most = Math.min(found.name + leftBy(found), widths.name);
  const fitted = { ...found, name: found.name === 0 ? 0 : Math.max(found.name, most) };
  const steady = { ...fitted, change: Math.max(found.change, usual) };
  return leftBy(steady) >= 0 ? steady : fitted;
}

/** `!`: someone else has changed the stock since. */
function markOf({ quantity }: InventoryItem, change: DraftChange | undefined): string {
  if (change === undefined) return ' ';
  if (change.current !== quantity) return '!';
  return change.quantity < change.current ? '-' : '+';
}

function changeText({ current, quantity }: DraftChange, hasDelta: boolean): string {
  return hasDelta ? `→ ${quantity} ${signed(quantity - current)}` : `→ ${quantity}`;
}

function emptyText({ catalog, items, petstore, reading, text }: Browser): string {
  if (items.length === 0) return reading === undefined ? 'No pets to show.' : '';
  if (catalog === undefined && /[^0-9]/.test(text)) {
    return `No pet matches. Names come from: ${petstore} catalog import FILE`;
  }
  return 'No pet matches. Esc shows all.';
}
