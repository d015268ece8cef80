/** Draws the pane of `inventory browse`: the last changes of the pet at the cursor, each quantity with a bar. */
import type { Change } from '../state/journal.ts';
import { outcomeOf } from '../state/journal-rows.ts';
import { BETWEEN } from '../view/fit.ts';
import { shortTime } from '../view/progress.ts';
import { bar, displayWidth, padTo, truncate } from '../view/width.ts';
import { signed } from '../view/words.ts';
import type { Browser } from './browser.ts';
import type { Surroundings } from './rows.ts';

/** Least screen width for a pane next to the table; on a narrower screen the pane covers it. */
const LEAST_BESIDE = 80;
const MOST = 64;
const BORDER = ' | ';

/** Returns the width of the pane; on a narrow screen, all columns. */
export function paneWidth(columns: number): number {
  return columns < LEAST_BESIDE ? columns : Math.min(MOST, Math.floor(columns * 0.4));
}

/** Returns the table with the pane next to it, or only the pane. */
export function withPane(table: readonly string[], browser: Browser, around: Surroundings): readonly string[] {
  const { columns, style } = around;
  const own = paneWidth(columns);
  const rest = columns - own;
  if (rest === 0) return paneLines(browser, around);
  const pane = paneLines(browser, { ...around, columns: own - BORDER.length });
  return Array.from({ length: browser.page }, (_, i) => {
    const line = table[i] ?? '';
    // eslint-disable-next-line no-control-regex -- the looks
    const width = displayWidth(line.replace(/\u001b\[[0-9;]*[mG]/g, ''));
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
  return [...head, ...lines].slice(0, page);
}

function quantityText({ before, after }: Change): string {
  return before === undefined ? `→ ${after}` : `${before} → ${after} ${signed(after - before)}`;
}
