/** Draws the screen of `inventory browse` as lines of text. Pure: a function of the state and the size. */
import { BETWEEN } from '../view/fit.ts';
import { limitWords } from '../view/progress.ts';
import { displayWidth, fitting, padTo, truncate } from '../view/width.ts';
import { plural } from '../view/words.ts';
import { type Browser, TIP } from './browser.ts';
import { helpPages, keyLine } from './keys.ts';
import { paneWidth, withPane } from './pane.ts';
import { barOf, type Surroundings, tableOf } from './rows.ts';

/** Title, search, heading. */
const LINES_ABOVE = 3;
/** Also message, rate limit and keys. */
const LINES_AROUND = LINES_ABOVE + 3;

/** Returns a line for each row of the screen, none too wide. Sets in the browser how many pets fit, and where. */
export function drawScreen(browser: Browser, around: Surroundings): string[] {
  const { columns, style, rows } = around;
  const isRoomy = rows > LINES_AROUND;
  browser.page = Math.max(1, rows - LINES_AROUND);
  browser.firstRow = isRoomy ? LINES_ABOVE : 0;
  const fit = (line: string): string => truncate(line, columns);
  const title = barOf(fit(` ${titleOf(browser, around)}`), around);
  if (browser.mode === 'help') {
    const pages = helpPages(columns, rows - 3);
    const place = Math.min(browser.helpPage, pages.length - 1);
    browser.hasMoreHelp = place < pages.length - 1;
    const next = browser.hasMoreHelp ? 'more; Esc: back' : 'back';
    return full([title, '', ...pages[place]!], [fit(`Any key: ${next}. ^X is Ctrl-X.`)], rows);
  }
  const isBeside = browser.hasPane && paneWidth(columns) < columns;
  const table = tableOf(browser, isBeside ? { ...around, columns: columns - paneWidth(columns) } : around);
  const lines = browser.hasPane ? withPane(table.lines, browser, around) : table.lines;
  const below = [
    style[browser.message === TIP ? 'muted' : 'attention'](fitting(questionsOf(browser, around), columns)),
    style.muted(fitting(limitsOf(browser, around.now), columns)),
    keyLine(columns),
  ];
  const heading = style.heading(browser.hasPane && !isBeside ? '' : table.heading);
  // A very low screen shows only the rows and the question.
  if (!isRoomy) return full(lines, below.slice(0, 1), rows);
  return full([title, fit(searchLine(browser, columns)), heading, ...lines], below, rows);
}

/** Returns what is left of the rate limit, in full, then shorter. */
function limitsOf(browser: Browser, now: number): string[] {
  const limits = browser.limits();
  if (limits === undefined || limits.resetAt <= now) return [''];
  return [limitWords({ ...limits, now }), `${limits.remaining} of ${limits.limit} requests left`];
}

function full(above: readonly string[], below: readonly string[], rows: number): string[] {
  const blank = Array.from({ length: Math.max(0, rows - above.length - below.length) }, () => '');
  return [...above, ...blank, ...below].slice(0, rows);
}

/** Returns the title, with the range of rows at the right if there is room. */
function titleOf(browser: Browser, { columns, environment, isUnicode }: Surroundings): string {
  const { before, items } = browser.visible;
  const { found } = browser.counts;
  const place =
    items.length === found ? '' : `${before + 1}${isUnicode ? '–' : '-'}${before + items.length} of ${found} `;
  const room = columns - 1 - place.length - BETWEEN.length;
  const titles = titlesOf(browser, environment);
  const title = titles.find((each) => displayWidth(each) <= room);
  if (title === undefined) return fitting(titles, columns - 1);
  return `${padTo(title, room + BETWEEN.length, 'left')}${place}`;
}

/** Returns what is shown and how many pets match, in full, then shorter. */
function titlesOf({ counts, marked, pending, pendingWords, reading }: Browser, environment: string): string[] {
  if (reading !== undefined && counts.all === 0) return [environment];
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
  // Shows the end of a long text, because the user is typing there.
  return displayWidth(line) <= columns ? line : `Search: ${endOf(text, columns - 'Search: …_'.length)}_`;
}

function endOf(text: string, columns: number): string {
  let end = text;
  while (end !== '' && displayWidth(end) > columns) end = end.replace(/^./u, '');
  return end === text ? text : `…${end}`;
}

/** Returns the question or message, in full, then shorter. */
function questionsOf(browser: Browser, { shown }: Surroundings): string[] {
  const { marked, message, mode, pendingWords, reading, selected, typed } = browser;
  if (mode === 'leave') {
    return [
      `Leave with ${pendingWords} to apply? Enter: keep for later, d: discard, Esc: stay.`,
      'Leave? Enter keeps, d discards changes',
    ];
  }
  if (mode !== 'quantity') return [shown(reading ?? message)];
  if (marked.size > 0) {
    return [`Quantity of ${marked.size} marked pets (12, +3, -3): ${typed}_`, `${marked.size} marked: ${typed}_`];
  }
  if (selected === undefined) return [shown(message)];
  const name = shown(browser.catalog?.nameOf(selected.petId) ?? '');
  const quantity = `now ${browser.quantityOf(selected)}: ${typed}_`;
  const pet = `Quantity of pet ${selected.petId}`;
  return [
    ...(message === '' ? [] : [`${shown(message)} New quantity: ${typed}_`]),
    ...(name === '' ? [] : [`${pet} (${name}), ${quantity}`]),
    `${pet}, ${quantity}`,
    `New, ${quantity}`,
  ];
}
