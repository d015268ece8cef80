/** The pane of `inventory browse`: the last changes of the pet at the cursor, with a bar for the quantity after each. */
import type { Change } from '../state/journal.ts';
import { bar } from '../view/bar.ts';
import { shortTime } from '../view/progress.ts';
import { displayWidth, padTo, truncate } from '../view/width.ts';
import { signed } from '../view/words.ts';
import type { Browser } from './browser.ts';
import { BETWEEN, type Surroundings } from './paint.ts';

/** From this width on the pane is beside the table; below, it covers it. */
const LEAST_BESIDE = 80;
const MOST = 64;
const BORDER = ' | ';

/** Returns how many columns the table leaves to the pane; all of them on a narrow screen. */
export function paneWidth(columns: number): number {
  return columns < LEAST_BESIDE ? columns : Math.min(MOST, Math.floor(columns * 0.4));
}

/** Returns the table with the pane beside it, or the pane alone. */
export function withPane(table: readonly string[], browser: Browser, around: Surroundings): readonly string[] {
  const { columns, paint } = around;
  const own = paneWidth(columns);
  const isBeside = own < columns;
  const pane = paneLines(browser, { ...around, columns: isBeside ? own - BORDER.length : own }, browser.page);
  if (!isBeside) return pane;
  const rest = columns - own;
  return Array.from({ length: browser.page }, (_, i) => {
    const line = table[i] ?? '';
    return `${line}${' '.repeat(rest - widthOf(line))}${paint.muted(BORDER)}${pane[i] ?? ''}`;
  });
}

/** Of a line with looks. */
function widthOf(line: string): number {
  // eslint-disable-next-line no-control-regex -- the looks
  return displayWidth(line.replace(/\u001b\[[0-9;]*m/g, ''));
}

function paneLines({ catalog, selected }: Browser, around: Surroundings, rows: number): string[] {
  if (selected === undefined) return [];
  const { changesOf, columns, now, paint, shown } = around;
  const { petId } = selected;
  const name = shown(catalog?.nameOf(petId) ?? '');
  const { min, target } = catalog?.levelOf(petId) ?? {};
  const levels = [
    ...(min === undefined ? [] : [`minimum ${min}`]),
    ...(target === undefined ? [] : [`target ${target}`]),
  ].join(', ');
  const head = [
    paint.heading(truncate(name === '' ? `Pet ${petId}` : `${name} (pet ${petId})`, columns)),
    ...(levels === '' ? [] : [paint.muted(truncate(levels, columns))]),
  ];
  const changes = changesOf(petId, Math.max(1, Math.floor((rows - head.length) / 2)));
  if (changes.length === 0) return [...head, paint.muted(truncate('No changes from this machine.', columns))];
  const most = changes.reduce((largest, { after }) => (after > largest ? after : largest), 0n);
  const times = changes.map(({ sentAt = 0 }) => shortTime(sentAt, now));
  const texts = changes.map(quantityText);
  const [time, text] = [times, texts].map((each) => Math.max(...each.map((one) => one.length))) as [number, number];
  const lines = changes.flatMap((change, i) => {
    const { after, before = after, cause, note, person, state } = change;
    const start = truncate(`${times[i]!.padStart(time)}${BETWEEN}${padTo(texts[i]!, text, 'left')}${BETWEEN}`, columns);
    const role = after < before ? paint.minus : paint.plus;
    const room = columns - displayWidth(start);
    const end =
      state === 'applied'
        ? bar(after, most, room, around.isUnicode)
        : truncate(state === 'sent' ? 'unknown' : state, room);
    const why = [person, cause, note].filter((each) => each !== undefined && each !== '').join(', ');
    return [
      `${role(start)}${state === 'applied' ? paint.bar(end) : paint.attention(end)}`,
      paint.muted(truncate(`${BETWEEN}${shown(why)}`, columns)),
    ];
  });
  return [...head, ...lines].slice(0, rows);
}

function quantityText({ before, after }: Change): string {
  return before === undefined ? `→ ${after}` : `${before} → ${after} ${signed(after - before)}`;
}
