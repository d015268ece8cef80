/** The screen of `inventory browse` as lines of text: a function of what there is to show and of the size. */
import type { InventoryItem } from '../api/item.ts';
import { PET_STATUSES } from '../api/values.ts';
import type { DraftChange } from '../state/draft.ts';
import { limitLine } from '../view/progress.ts';
import type { Style } from '../view/style.ts';
import { displayWidth, padTo, truncate } from '../view/width.ts';
import { plural } from '../view/words.ts';
import type { Browser } from './browser.ts';

export interface Surroundings {
  readonly environment: string;
  readonly columns: number;
  readonly rows: number;
  /** Epoch ms. */
  readonly now: number;
  readonly style: Style;
  /** Makes a text from elsewhere fit to be shown: without secrets and control characters. */
  readonly shown: (text: string) => string;
}

/** The keys, the most important first: as many as fit. `short`: what the last line shows. */
const KEYS: readonly { readonly key: string; readonly short: string; readonly text: string }[] = [
  { key: 'Ctrl-X', short: '^X apply', text: 'show all changes, and apply them' },
  { key: 'Enter, =', short: 'Enter set', text: 'type the quantity (12), or what to add (+3) or take away (-3)' },
  { key: '?', short: '? help', text: 'this page' },
  { key: 'Ctrl-C', short: '^C leave', text: 'leave; changes can be kept for later (also Ctrl-D, Ctrl-Q)' },
  { key: 'letters', short: 'type to search', text: 'search by id, name or barcode; Backspace, Ctrl-U' },
  { key: 'Right, Left', short: '</> by one', text: 'one more, one less' },
  { key: 'Tab', short: 'Tab status', text: 'only one status, then the next (Shift-Tab: the one before)' },
  { key: 'Ctrl-L', short: '^L low stock', text: 'only low stock' },
  { key: 'Ctrl-P', short: '^P changed', text: 'only pets with changes' },
  { key: 'Ctrl-S', short: '^S sort', text: 'sort by another column' },
  { key: 'Ctrl-R', short: '^R refresh', text: 'read the stock again (Esc stops it)' },
  { key: 'Esc', short: 'Esc all', text: 'show all pets again' },
  { key: 'Delete', short: 'Del restore', text: 'take the change of this pet back' },
  { key: 'arrows', short: 'arrows', text: 'move (also PageUp, PageDown, Home, End)' },
];

/** Title, search, heading, message, rate limit, keys. */
const LINES_AROUND = 6;
const LEAST_NAME = 6;
const BETWEEN = '  ';
const STATUS_WIDTH = Math.max(...PET_STATUSES.map((status) => status.length));

/** Returns how many pets fit. */
export function pageOf(rows: number): number {
  return Math.max(1, rows - LINES_AROUND);
}

/** Returns one line of text for each row of the screen, none wider than it. */
export function drawScreen(browser: Browser, around: Surroundings): string[] {
  const { columns, environment, rows, style } = around;
  const title = titleOf(browser, environment);
  const fit = (line: string): string => truncate(line, columns);
  if (browser.mode.kind === 'help') {
    const width = Math.max(...KEYS.map(({ key }) => key.length));
    const lines = KEYS.map(({ key, text }) => `${key.padEnd(width)}  ${text}`);
    const isRoomy = KEYS.length + 3 <= rows && lines.every((line) => line.length <= columns);
    const help = isRoomy ? lines : shortLines(columns);
    return full([style.bold(fit(title)), '', ...help.map(fit)], [fit('Any key: back.')], rows);
  }
  const { heading, lines } = tableOf(browser, around);
  const limits = browser.limits();
  const below = [
    style.yellow(fitting(questionsOf(browser, around), columns)),
    style.dim(
      limits === undefined || limits.resetAt <= around.now ? '' : fit(limitLine({ ...limits, now: around.now })),
    ),
    fit(shortLines(columns)[0] ?? ''),
  ];
  const above = [style.bold(fit(title)), fit(searchLine(browser, columns)), style.bold(fit(heading))];
  // Of a very low screen, the rows and the question are what is needed.
  return rows > LINES_AROUND ? full([...above, ...lines], below, rows) : full(lines, below.slice(0, 1), rows);
}

function full(above: readonly string[], below: readonly string[], rows: number): string[] {
  const blank = Array.from({ length: Math.max(0, rows - above.length - below.length) }, () => '');
  return [...above, ...blank, ...below].slice(0, rows);
}

/** Returns the first text that fits, or what fits of the last. */
function fitting(texts: readonly string[], columns: number): string {
  return texts.find((text) => displayWidth(text) <= columns) ?? truncate(texts.at(-1) ?? '', columns);
}

function titleOf({ counts, isBusy, pending, pendingWords }: Browser, environment: string): string {
  if (isBusy && counts.all === 0) return environment;
  const found = counts.found === counts.all ? '' : `${counts.found} of `;
  const changes = pending.size === 0 ? '' : `, ${pendingWords} to apply`;
  return `${environment}: ${found}${plural(counts.all, 'pet')}${changes}`;
}

function searchLine({ text, status, isChangedOnly, isLowOnly, low, order }: Browser, columns: number): string {
  const filters = [
    ...(isChangedOnly ? ['changed'] : []),
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(isLowOnly ? [`quantity at most ${low}`] : []),
    ...(order === 'as listed' ? [] : [`by ${order}`]),
  ];
  const line = [`Search: ${text}_`, ...filters].join(BETWEEN);
  // Of a long text the end is what is being typed.
  return displayWidth(line) <= columns ? line : `Search: ${endOf(text, columns - 'Search: …_'.length)}_`;
}

function endOf(text: string, columns: number): string {
  let end = text;
  while (end !== '' && displayWidth(end) > columns) end = end.replace(/^./u, '');
  return end === text ? text : `…${end}`;
}

/** What is asked or said, in full and shorter. */
function questionsOf(browser: Browser, { shown }: Surroundings): string[] {
  const { mode, message, pendingWords, selected } = browser;
  if (mode.kind === 'leave') {
    return [
      `Leave with ${pendingWords} to apply? Enter: keep for later, d: discard, Esc: stay.`,
      'Leave? Enter keeps, d discards changes',
    ];
  }
  if (mode.kind === 'quantity' && selected !== undefined) {
    const name = browser.catalog?.nameOf(selected.petId) ?? '';
    const quantity = `now ${browser.quantityOf(selected)}: ${mode.text}_`;
    const pet = `Quantity of pet ${selected.petId}`;
    return [
      ...(message === '' ? [] : [`${shown(message)} New quantity: ${mode.text}_`]),
      ...(name === '' ? [] : [`${pet} (${shown(name)}), ${quantity}`]),
      `${pet}, ${quantity}`,
      `New, ${quantity}`,
    ];
  }
  return [shown(message)];
}

/** Returns all keys, as many on a line as fit. */
function shortLines(columns: number): string[] {
  const lines = [''];
  for (const { short } of KEYS) {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? short : `${line}${BETWEEN}${short}`;
    if (longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(short.slice(0, columns));
  }
  return lines;
}

interface Cells {
  readonly mark: string;
  readonly id: string;
  readonly name: string;
  readonly quantity: string;
  /** Empty without a pending change. */
  readonly change: string;
  readonly status: string;
}

const HEADING: Cells = { mark: '  ', id: 'petId', name: 'name', quantity: 'quantity', change: '', status: 'status' };

function tableOf(browser: Browser, around: Surroundings): { heading: string; lines: string[] } {
  const { columns, style, shown } = around;
  const { items, cursor } = browser.visible;
  const rows = items.map((item, i) => cellsOf(browser, item, i === cursor, shown));
  const width = widthsOf(browser, columns);
  const line = (row: Cells): string =>
    [
      row.mark + padTo(row.id, width.id, 'right'),
      ...(width.name > 0 ? [padTo(truncate(row.name, width.name), width.name, 'left')] : []),
      padTo(row.quantity, width.quantity, 'right'),
      ...(width.change > 0 ? [padTo(row.change, width.change, 'left')] : []),
      ...(width.status > 0 ? [truncate(row.status, width.status)] : []),
    ].join(BETWEEN);
  const lines = rows.map((row, i) => {
    const text = truncate(line(row), columns);
    if (i === cursor) return style.bold(text);
    return row.change === '' ? text : style.yellow(text);
  });
  if (items.length === 0) lines.push(truncate(emptyText(browser), columns));
  return { heading: line(HEADING), lines };
}

type Widths = Readonly<Record<Exclude<keyof Cells, 'mark'>, number>>;

/** The same for every page, so that nothing moves sideways. Numbers are never cut; the status goes before the name. */
function widthsOf({ catalog, pending, widths }: Browser, columns: number): Widths {
  const id = Math.max(HEADING.id.length, widths.id);
  const quantity = Math.max(HEADING.quantity.length, widths.quantity);
  let change = 0;
  for (const each of pending.values()) change = Math.max(change, changeText(each).length);
  const used = [id, quantity, change].filter((each) => each > 0);
  let left = columns - HEADING.mark.length - used.reduce((sum, each) => sum + each, BETWEEN.length * (used.length - 1));
  const least = catalog === undefined ? 0 : LEAST_NAME + BETWEEN.length;
  const status = left >= least + STATUS_WIDTH + BETWEEN.length ? STATUS_WIDTH : 0;
  if (status > 0) left -= STATUS_WIDTH + BETWEEN.length;
  const name = left >= least && least > 0 ? Math.min(left - BETWEEN.length, Math.max(LEAST_NAME, widths.name)) : 0;
  return { id, name, quantity, change, status };
}

function cellsOf(browser: Browser, item: InventoryItem, isSelected: boolean, shown: (text: string) => string): Cells {
  const change = browser.pending.get(item.petId);
  return {
    mark: `${isSelected ? '>' : ' '}${change === undefined ? ' ' : browser.isOutdated(item) ? '!' : '*'}`,
    id: String(item.petId),
    name: shown(browser.catalog?.nameOf(item.petId) ?? ''),
    quantity: `${item.quantity}`,
    change: change === undefined ? '' : changeText(change),
    status: shown(item.status),
  };
}

/** ASCII: every terminal and screen reader has it. */
function changeText({ quantity }: DraftChange): string {
  return `-> ${quantity}`;
}

function emptyText({ counts, catalog, isBusy, text }: Browser): string {
  if (isBusy && counts.all === 0) return '';
  if (counts.all === 0) return 'No pets to show.';
  if (catalog === undefined && /[^0-9]/.test(text)) {
    return 'No pet matches. Names come from: petstore catalog import FILE';
  }
  return 'No pet matches. Esc shows all.';
}
