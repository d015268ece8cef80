/** The rows of the screen of `inventory browse`. */
import type { InventoryItem } from '../api/item.ts';
import { PET_STATUSES } from '../api/values.ts';
import type { DraftChange } from '../state/draft.ts';
import type { Role } from '../view/style.ts';
import { padTo, truncate } from '../view/width.ts';
import { signed } from '../view/words.ts';
import type { Browser } from './browser.ts';
import { barOf, BETWEEN, type Surroundings } from './paint.ts';

const LEAST_NAME = 6;
const STATUS_WIDTH = Math.max(...PET_STATUSES.map((status) => status.length));
const LOW = 'low';
const LOW_SIGN = '▼ ';

interface Cells {
  readonly mark: string;
  readonly id: string;
  readonly name: string;
  readonly quantity: string;
  /** Empty without a pending change. */
  readonly change: string;
  /** Empty for a pet above its minimum. */
  readonly low: string;
  readonly status: string;
}

const HEADING: Cells = {
  mark: '   ',
  id: 'Pet',
  name: 'Name',
  quantity: 'Quantity',
  change: '',
  low: '',
  status: 'Status',
};

/** Returns the heading and the rows, none wider than the columns. */
export function tableOf(browser: Browser, around: Surroundings): { heading: string; lines: string[] } {
  const { columns, paint, shown } = around;
  const { items, cursor } = browser.visible;
  const width = widthsOf(browser, columns);
  const line = (row: Cells, roles: { readonly change?: Role; readonly low?: Role } = {}): string => {
    const cell = (text: string, columns: number, role: Role | undefined, side: 'left' | 'right' = 'left'): string =>
      padTo(text, columns, side).replace(text, (found) => (role === undefined ? found : paint[role](found)));
    return [
      row.mark + padTo(row.id, width.id, 'right'),
      ...(width.name > 0 ? [padTo(truncate(row.name, width.name), width.name, 'left')] : []),
      cell(row.quantity, width.quantity, roles.low, 'right'),
      ...(width.change > 0 ? [cell(row.change, width.change, roles.change)] : []),
      ...(width.low > 0 ? [cell(row.low, width.low, roles.low)] : []),
      ...(width.status > 0 ? [truncate(row.status, width.status)] : []),
    ].join(BETWEEN);
  };
  const lines = items.map((item, i) => {
    const change = browser.pending.get(item.petId);
    const isLow = browser.isLow(item);
    const row: Cells = {
      mark: `${i === cursor ? '>' : ' '}${browser.marked.has(item.petId) ? 'x' : ' '}${markOf(item, change)}`,
      id: String(item.petId),
      name: shown(browser.catalog?.nameOf(item.petId) ?? ''),
      quantity: isLow ? `${LOW_SIGN}${item.quantity}` : `${item.quantity}`,
      change: change === undefined ? '' : changeText(change, width.hasDelta),
      low: isLow ? LOW : '',
      status: shown(item.status),
    };
    const text = truncate(line(row), columns);
    if (i === cursor) return barOf(text, around);
    if (text !== line(row)) return text;
    return line(row, {
      ...(change !== undefined && { change: change.quantity < change.current ? 'minus' : 'plus' }),
      ...(isLow && { low: 'attention' }),
    });
  });
  if (items.length === 0) lines.push(truncate(emptyText(browser), columns));
  return { heading: truncate(line(HEADING), columns), lines };
}

interface Widths extends Readonly<Record<Exclude<keyof Cells, 'mark'>, number>> {
  /** True where there is room for the difference that a change makes. */
  readonly hasDelta: boolean;
}

/**
 * The same for every page, so that nothing moves sideways. Numbers are never cut; the difference goes first, then the
 * status, then the word for low stock, then the name.
 */
function widthsOf({ catalog, hasLevels, pending, widths }: Browser, columns: number): Widths {
  const id = Math.max(HEADING.id.length, widths.id);
  const quantity = Math.max(HEADING.quantity.length, widths.quantity + (hasLevels ? LOW_SIGN.length : 0));
  const free = columns - HEADING.mark.length - id - BETWEEN.length - quantity;
  const widest = (hasDelta: boolean): number => {
    let most = 0;
    for (const change of pending.values()) most = Math.max(most, changeText(change, hasDelta).length + BETWEEN.length);
    return most;
  };
  const least = catalog === undefined ? 0 : LEAST_NAME + BETWEEN.length;
  const full = widest(true);
  const hasDelta = full + least <= free;
  const change = hasDelta ? full : widest(false);
  let left = free - change;
  const take = (wanted: number): number => {
    if (wanted === 0 || left < least + wanted + BETWEEN.length) return 0;
    left -= wanted + BETWEEN.length;
    return wanted;
  };
  const low = take(hasLevels ? LOW.length : 0);
  const status = take(STATUS_WIDTH);
  const name = left >= least && least > 0 ? Math.min(left - BETWEEN.length, Math.max(LEAST_NAME, widths.name)) : 0;
  return { id, name, quantity, change: Math.max(0, change - BETWEEN.length), low, status, hasDelta };
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

function emptyText({ counts, catalog, isBusy, text }: Browser): string {
  if (isBusy && counts.all === 0) return '';
  if (counts.all === 0) return 'No pets to show.';
  if (catalog === undefined && /[^0-9]/.test(text)) {
    return 'No pet matches. Names come from: petstore catalog import FILE';
  }
  return 'No pet matches. Esc shows all.';
}
