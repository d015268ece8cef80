/** A terminal's lines as an SVG picture, for light and dark pages. */
import type { Run, Size } from './screen.ts';

const WIDTH = 8.4;
const HEIGHT = 18;
const MARGIN = 16;
/** Other spaces are drawn as one. */
const NO_BREAK = '\u00a0';

interface Theme {
  readonly background: string;
  readonly border: string;
  readonly text: string;
  /** Of the colours that petstore uses, by the terminal's numbers. */
  readonly colours: Readonly<Record<number, string>>;
}

/** Each text with a contrast of at least 4.5 to its background, a bar with 3 (WCAG 2.2, 1.4.3 and 1.4.11). */
export const THEMES: Readonly<Record<'light' | 'dark', Theme>> = {
  light: {
    background: '#ffffff',
    border: '#d0d7de',
    text: '#1f2328',
    colours: {
      0: '#1f2328',
      1: '#b3261e',
      2: '#1a6f2f',
      3: '#7a5200',
      6: '#0b5f79',
      10: '#9be9a8',
      11: '#ffe08a',
      13: '#a626a4',
      14: '#9be3ef',
      15: '#ffffff',
    },
  },
  dark: {
    background: '#0d1117',
    border: '#30363d',
    text: '#e6edf3',
    colours: {
      0: '#0d1117',
      1: '#c62828',
      2: '#6fdd8b',
      3: '#e3b341',
      6: '#79d3ec',
      10: '#6fdd8b',
      11: '#e3b341',
      13: '#d78be0',
      14: '#79d3ec',
      15: '#ffffff',
    },
  },
};

export function toSvg(lines: readonly (readonly Run[])[], columns: number, theme: Theme, says: string): string {
  const width = Math.round(columns * WIDTH + 2 * MARGIN);
  const height = lines.length * HEIGHT + 2 * MARGIN;
  const rows = lines.map((runs, y) => drawLine(runs, MARGIN + y * HEIGHT, theme));
  return framed(rows.join(''), { width, height }, theme, says);
}

/** What a terminal shows for a while. */
export interface Frame {
  readonly lines: readonly (readonly Run[])[];
  readonly ms: number;
}

/** Returns a picture that moves, again and again; for readers who prefer none, its `still` frame. */
export function toFilm(frames: readonly Frame[], size: Size, still: number, theme: Theme, says: string): string {
  const width = Math.round(size.cols * WIDTH + 2 * MARGIN);
  const height = size.rows * HEIGHT + 2 * MARGIN;
  // Most lines stay the same from frame to frame.
  const ids = new Map<string, string>();
  const idOf = (line: string): string => ids.get(line) ?? (ids.set(line, `l${ids.size}`), ids.get(line)!);
  const drawn = frames.map(({ lines }, i) => {
    const uses = lines.map((runs, y) => {
      const line = drawLine(runs, 0, theme);
      return line === '' ? '' : `<use href="#${idOf(line)}" y="${i * height + MARGIN + y * HEIGHT}"/>`;
    });
    return `${uses.join('')}\n`;
  });
  const lasts = frames.reduce((sum, { ms }) => sum + ms, 0);
  let at = 0;
  const steps = frames.map(({ ms }, i) => {
    const begins = ((100 * at) / lasts).toFixed(2);
    at += ms;
    return `${begins}%{transform:translateY(${-i * height}px)}`;
  });
  const style =
    `@keyframes film{${steps.join('')}}.film{animation:film ${lasts / 1_000}s step-end infinite}` +
    `@media (prefers-reduced-motion:reduce){.film{animation:none;transform:translateY(${-still * height}px)}}`;
  const lines = Array.from(ids, ([line, id]) => `<g id="${id}">${line.trimEnd()}</g>`);
  const body = `<style>${style}</style>\n<defs>\n${lines.join('\n')}\n</defs>\n<g class="film">\n${drawn.join('')}</g>\n`;
  return framed(body, { width, height }, theme, says);
}

function framed(
  body: string,
  { width, height }: { readonly width: number; readonly height: number },
  theme: Theme,
  says: string,
): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
    `font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${theme.text}">\n` +
    `<title>${escape(says)}</title>\n` +
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${theme.background}" stroke="${theme.border}"/>\n` +
    `${body}</svg>\n`
  );
}

/** @param top of the line, in px */
function drawLine(runs: readonly Run[], top: number, theme: Theme): string {
  let x = MARGIN;
  const grounds: string[] = [];
  const spans = runs.flatMap(({ text, colour, ground, bold, dim, inverse }) => {
    const at = x;
    x += columnsOf(text) * WIDTH;
    const behind = inverse ? (theme.colours[colour] ?? theme.text) : theme.colours[ground];
    if (behind !== undefined) {
      grounds.push(
        `<rect x="${at.toFixed(1)}" y="${top - 1}" width="${(x - at).toFixed(1)}" height="${HEIGHT}" fill="${behind}"/>\n`,
      );
    }
    const shown = text.trimEnd();
    if (shown === '') return [];
    const fill = inverse ? (theme.colours[ground] ?? theme.background) : theme.colours[colour];
    const look = [
      `x="${at.toFixed(1)}"`,
      // Whatever font there is, columns stay columns.
      `textLength="${(columnsOf(shown) * WIDTH).toFixed(1)}"`,
      ...(fill === undefined ? [] : [`fill="${fill}"`]),
      ...(bold ? ['font-weight="bold"'] : []),
      ...(dim ? ['opacity="0.75"'] : []),
    ];
    return [`<tspan ${look.join(' ')}>${escape(shown).replaceAll(' ', NO_BREAK)}</tspan>`];
  });
  return spans.length === 0 && grounds.length === 0
    ? ''
    : `${grounds.join('')}<text y="${top + 13}">${spans.join('')}</text>\n`;
}

/** What petstore itself says is of single columns. */
function columnsOf(text: string): number {
  return Array.from(text).length;
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[each] ?? each);
}
