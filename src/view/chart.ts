/** Draws a chart: a line for each value with its time, the number and a bar. */
import { bar } from './bar.ts';
import { clockTime, shortTime } from './progress.ts';
import { visible } from './sanitise.ts';
import type { Screen } from './table.ts';
import type { ChartLine, ChartSection, ChartView } from './view.ts';

/** Width without a terminal, or with one that does not know its width. */
const USUAL_WIDTH = 80;
/** Times are shortened until the bars have this many columns. */
const LEAST_BAR = 20;
const BETWEEN = '  ';

export function* renderChart({ now, sections }: ChartView, screen: Screen): Generator<string, number> {
  let count = 0;
  for (const { title, lines } of sections) {
    yield `${count === 0 ? '' : '\n'}${screen.style.heading(visible(screen.redact(title)))}\n`;
    const draw = drawing(lines, now, screen);
    yield lines.map((line) => `${draw(line)}\n`).join('');
    count += lines.length;
  }
  return count;
}

/** Returns a function that draws a line of the section on its scale. */
function drawing(
  lines: ChartSection['lines'],
  now: number,
  { isTTY, isUnicode, width: columns }: Screen,
): (line: ChartLine) => string {
  const width = (isTTY ? columns : undefined) || USUAL_WIDTH;
  let digits = 0;
  let most = 0n;
  for (const { value, note } of lines) {
    digits = Math.max(digits, value.toString().length);
    if (note === undefined && value > most) most = value;
  }
  const widestOf = (time: typeof clockTime): number =>
    lines.reduce((widest, { at }) => Math.max(widest, time(at, now).length), 0);
  const roomFor = (time: number): number => width - time - digits - 2 * BETWEEN.length;
  const full = widestOf(clockTime);
  const [time, timeWidth] =
    roomFor(full) >= LEAST_BAR ? ([clockTime, full] as const) : ([shortTime, widestOf(shortTime)] as const);
  const room = roomFor(timeWidth);
  return ({ at, note, value }) => {
    const number = value.toString().padStart(digits);
    const start = `${time(at, now).padEnd(timeWidth)}${BETWEEN}${number}${BETWEEN}`;
    return (start + (note ?? bar(value, most, room, isUnicode))).trimEnd();
  };
}
