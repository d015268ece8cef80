/** The screen of `inventory browse` as lines of text: a function of what there is to show and of the size. */
import { limitWords } from '../view/progress.ts';
import { displayWidth, truncate } from '../view/width.ts';
import { plural } from '../view/words.ts';
import type { Browser } from './browser.ts';
import { keyBar, keyHelp } from './keys.ts';
import { barOf, BETWEEN, fitting, type Surroundings } from './paint.ts';
import { paneWidth, withPane } from './pane.ts';
import { tableOf } from './table.ts';

/** Title, search, heading. */
const LINES_ABOVE = 3;
/** Message, rate limit, keys too. */
const LINES_AROUND = LINES_ABOVE + 3;

/** Returns how many pets fit. */
export function pageOf(rows: number): number {
  return Math.max(1, rows - LINES_AROUND);
}

/** Returns the line of the screen that has the first pet, from 0. */
export function firstRowOf(rows: number): number {
  return rows > LINES_AROUND ? LINES_ABOVE : 0;
}

/** Returns one line of text for each row of the screen, none wider than it. */
export function drawScreen(browser: Browser, around: Surroundings): string[] {
  const { columns, paint, rows } = around;
  const fit = (line: string): string => truncate(line, columns);
  const title = barOf(fit(` ${fitting(titlesOf(browser, around.environment), columns - 1)}`), around);
  if (browser.mode.kind === 'help') {
    const help = keyHelp({ columns, rows: rows - 3, paint });
    return full([title, '', ...help], [fit('^X is Ctrl and X together. Any key: back.')], rows);
  }
  const isBeside = browser.hasPane && paneWidth(columns) < columns;
  const table = tableOf(browser, isBeside ? { ...around, columns: columns - paneWidth(columns) } : around);
  const heading = browser.hasPane && !isBeside ? '' : table.heading;
  const lines = browser.hasPane ? withPane(table.lines, browser, around) : table.lines;
  const limits = browser.limits();
  const below = [
    paint.attention(fitting(questionsOf(browser, around), columns)),
    paint.muted(
      limits === undefined || limits.resetAt <= around.now ? '' : fit(limitWords({ ...limits, now: around.now })),
    ),
    keyBar(columns, paint),
  ];
  const above = [title, fit(searchLine(browser, columns)), paint.heading(heading)];
  // Of a very low screen, the rows and the question are what is needed.
  return rows > LINES_AROUND ? full([...above, ...lines], below, rows) : full(lines, below.slice(0, 1), rows);
}

function full(above: readonly string[], below: readonly string[], rows: number): string[] {
  const blank = Array.from({ length: Math.max(0, rows - above.length - below.length) }, () => '');
  return [...above, ...blank, ...below].slice(0, rows);
}

/** What is shown and how much there is of it, in full and shorter. */
function titlesOf({ counts, isBusy, marked, pending, pendingWords }: Browser, environment: string): string[] {
  if (isBusy && counts.all === 0) return [environment];
  const found = counts.found === counts.all ? '' : `${counts.found} of `;
  const marks = marked.size === 0 ? '' : `, ${marked.size} marked`;
  const all = `${environment}: ${found}${plural(counts.all, 'pet')}`;
  const pets = `${all}${marks}`;
  const sum = `${all}, quantity ${counts.quantity}${marks}`;
  if (pending.size === 0) return [sum, pets];
  return [`${sum}, ${pendingWords} to apply`, `${pets}, ${pendingWords} to apply`, `${pets}, ${pendingWords}`];
}

function searchLine({ text, status, isChangedOnly, isLowOnly, order }: Browser, columns: number): string {
  const filters = [
    ...(isChangedOnly ? ['changed'] : []),
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(isLowOnly ? ['low stock'] : []),
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
  if (mode.kind === 'quantity' && browser.marked.size > 0) {
    return [
      `Quantity of ${browser.marked.size} marked pets (12, +3, -3): ${mode.text}_`,
      `${browser.marked.size} marked: ${mode.text}_`,
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
