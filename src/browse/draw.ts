/** Draws the screen of `inventory browse` as lines of text. Pure: a function of the state and the size. */
import { stripVTControlCharacters } from 'node:util';
import { type Change, outcomeOf } from '../state/journal.ts';
import { BETWEEN } from '../view/fit.ts';
import { limitWords, shortTime } from '../view/progress.ts';
import { bar, displayWidth, fitting, padTo, truncate, wrapLine } from '../view/width.ts';
import { petLabel, plural, signed } from '../view/words.ts';
import { type Browser, TIP } from './browser.ts';
import { helpPages, keyLine } from './keys.ts';
import { barOf, type Surroundings, tableOf } from './rows.ts';
import { LINES_ABOVE } from './selection.ts';

/** Least screen width for a pane next to the table; on a narrower screen the pane covers it. */
const LEAST_BESIDE = 80;
const MOST = 64;
const BORDER = ' | ';

/** Returns a line for each row of the screen, none too wide. Sets in the browser how many pets fit, and where. */
export function drawScreen(browser: Browser, around: Surroundings): string[] {
  const { columns, style, rows } = around;
  // Message, rate limit and keys; a low screen needs the room for a pet.
  const linesBelow = Math.max(1, Math.min(3, rows - LINES_ABOVE - 1));
  browser.page = Math.max(1, rows - LINES_ABOVE - linesBelow);
  const fit = (line: string): string => truncate(line, columns);
  const title = barOf(fit(` ${titleOf(browser, around)}`), around);
  if (browser.mode === 'help') {
    const pages = helpPages(columns, rows - 3);
    const place = Math.min(browser.helpPage, pages.length - 1);
    browser.hasMoreHelp = place < pages.length - 1;
    const next = browser.hasMoreHelp ? 'more; Esc: back' : 'back';
    return full([...[title, ''].slice(0, rows - 2), ...pages[place]!], [fit(`Any key: ${next}. ^X is Ctrl-X.`)], rows);
  }
  const isBeside = browser.hasPane && paneWidth(columns) < columns;
  const table = tableOf(browser, isBeside ? { ...around, columns: columns - paneWidth(columns) } : around);
  // A pane without a pet would hide why none is shown.
  const isInstead = browser.hasPane && !isBeside && browser.selected !== undefined;
  const lines = isBeside || isInstead ? withPane(table.lines, browser, around) : table.lines;
  const questions = questionsOf(browser, around);
  const paint = style[browser.message === TIP ? 'muted' : 'attention'];
  // A long message takes the line of the rate limit, too.
  const [first = '', ...rest] =
    questions.length > 1 || linesBelow < 3
      ? [fitting(questions, columns)]
      : wrapLine(questions[0]!, columns, 0).split('\n');
  const limits = browser.limits();
  const left =
    limits === undefined || limits.resetAt <= around.now
      ? ['']
      : [limitWords(limits, around.now), `${limits.remaining} of ${limits.limit} requests left`];
  const second = rest.length > 0 ? paint(fit(rest.join(' '))) : style.muted(fitting(left, columns));
  const below = [paint(fit(first)), second, keyLine(browser.mode, columns)].toSpliced(1, 3 - linesBelow);
  const heading = style.heading(isInstead ? '' : table.heading);
  // The pet at the cursor is more important than what is above it.
  const { filters, order, text } = browser;
  const search = [`Search: ${text}_`, ...filters, ...(order === 'as listed' ? [] : [`by ${order}`])];
  const head = [title, fit(search.join(BETWEEN)), heading].slice(0, Math.max(1, rows - below.length - 1));
  return full([...head, ...lines], below, rows);
}

/** Fills the screen. */
function full(above: readonly string[], below: readonly string[], rows: number): string[] {
  return [...Array.from({ length: rows - below.length }, (_, i) => above[i] ?? ''), ...below];
}

/** Returns the title, with the range of rows at the right if there is room. */
function titleOf(browser: Browser, { columns, environment }: Surroundings): string {
  const { before, items } = browser.visible;
  const found = browser.found.length;
  const place = items.length === found ? '' : `${before + 1}–${before + items.length} of ${found} `;
  const room = columns - 1 - place.length - BETWEEN.length;
  const titles = titlesOf(browser, environment);
  const title = titles.find((each) => displayWidth(each) <= room);
  if (title === undefined) return fitting(titles, columns - 1);
  return `${padTo(title, room + BETWEEN.length, 'left')}${place}`;
}

/** Returns what is shown and how many pets match, in full, then shorter. */
function titlesOf(browser: Browser, environment: string): string[] {
  const { found, items, marked, pending, pendingWords, reading, sum } = browser;
  if (reading !== undefined && items.length === 0) return [environment];
  const some = found.length === items.length ? '' : `${found.length} of `;
  const marks = marked.size === 0 ? '' : `, ${marked.size} marked`;
  const pets = `${environment}: ${some}${plural(items.length, 'pet')}`;
  const changes = pending.size === 0 ? [''] : [`, ${pendingWords} to apply`, `, ${pendingWords}`];
  return [`${pets}, quantity ${sum}${marks}${changes[0]}`, ...changes.map((each) => `${pets}${marks}${each}`)];
}

/** Returns the question or message, in full, then shorter. */
function questionsOf(browser: Browser, { shown }: Surroundings): string[] {
  const { marked, message, mode, pendingWords, reading, selected, typed } = browser;
  if (mode === 'leave') {
    const leave = `Leave with ${pendingWords} to apply? Enter: keep for later, d: discard, Esc: stay.`;
    return [leave, 'Leave? Enter keeps, d discards changes'];
  }
  if (mode !== 'quantity') return [shown(reading ?? message)];
  if (marked.size > 0) {
    return [
      `Quantity of ${plural(marked.size, 'marked pet')} (12, +3, -3): ${typed}_`,
      `${marked.size} marked: ${typed}_`,
    ];
  }
  if (selected === undefined) return [shown(message)];
  const pet = petLabel(selected.petId, shown(browser.catalog?.nameOf(selected.petId) ?? ''));
  const quantity = `now ${browser.quantityOf(selected)}: ${typed}_`;
  const asked = message === '' ? [] : [`${shown(message)} New quantity: ${typed}_`];
  return [...asked, `Quantity of ${pet}, ${quantity}`, `New, ${quantity}`, `New: ${typed}_`];
}

/** Returns the width of the pane; on a narrow screen, all columns. */
function paneWidth(columns: number): number {
  return columns < LEAST_BESIDE ? columns : Math.min(MOST, Math.floor(columns * 0.4));
}

/** Returns the table with the pane next to it, or only the pane. */
function withPane(table: readonly string[], browser: Browser, around: Surroundings): readonly string[] {
  const { columns, style } = around;
  const own = paneWidth(columns);
  const rest = columns - own;
  if (rest === 0) return paneLines(browser, around);
  const pane = paneLines(browser, { ...around, columns: own - BORDER.length });
  return Array.from({ length: browser.page }, (_, i) => {
    const line = table[i] ?? '';
    const width = displayWidth(stripVTControlCharacters(line));
    return `${line}${' '.repeat(rest - width)}${style.muted(BORDER)}${pane[i] ?? ''}`;
  });
}

function paneLines(browser: Browser, { columns, now, shown, style }: Surroundings): string[] {
  const { catalog, page, selected } = browser;
  if (selected === undefined) return [];
  const { petId } = selected;
  const name = shown(catalog?.nameOf(petId) ?? '');
  const { min, target } = catalog?.levelOf(petId) ?? {};
  const levels = [min === undefined ? '' : `, minimum ${min}`, target === undefined ? '' : `, target ${target}`];
  const head = [
    style.heading(truncate(name === '' ? `Pet ${petId}` : `${name} (pet ${petId})`, columns)),
    style.muted(truncate(`^O closes${levels.join('')}`, columns)),
  ];
  const changes = browser.changesOf(petId, Math.max(1, Math.floor((page - head.length) / 2)));
  if (changes.length === 0) return [...head, style.muted(truncate('No changes from this machine.', columns))];
  const most = changes.reduce((largest, { after }) => (after > largest ? after : largest), 0n);
  const times = changes.map(({ sentAt = 0 }) => shortTime(sentAt, now));
  const texts = changes.map(quantityText);
  const [time, text] = [times, texts].map((each) => Math.max(...each.map((one) => one.length))) as [number, number];
  const lines = changes.flatMap((change, i) => {
    const { after, before = after, cause, note, person, state } = change;
    const start = truncate(`${times[i]!.padStart(time)}${BETWEEN}${padTo(texts[i]!, text, 'left')}${BETWEEN}`, columns);
    const room = columns - displayWidth(start);
    const end = state === 'applied' ? bar(after, most, room) : style.attention(truncate(outcomeOf(change), room));
    const why = [person, cause, note].filter((each) => each !== undefined && each !== '').join(', ');
    return [
      `${style[after < before ? 'minus' : 'plus'](start)}${end}`,
      style.muted(truncate(`${BETWEEN}${shown(why)}`, columns)),
    ];
  });
  return [...head, ...lines];
}

function quantityText({ before, after }: Change): string {
  return before === undefined ? `→ ${after}` : `${before} → ${after} ${signed(after - before)}`;
}
