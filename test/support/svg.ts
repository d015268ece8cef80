/** Draws a terminal's lines as an animated SVG picture, for light and dark pages. */
import type { Run } from './screen.ts';

const WIDTH = 8.4;
const HEIGHT = 18;
const MARGIN = 16;
/** SVG collapses other spaces. */
const NO_BREAK = '\u00a0';

interface Theme {
  readonly background: string;
  readonly border: string;
  readonly text: string;
  /** Colours that petstore uses, by their numbers in the terminal. */
  readonly colours: Readonly<Record<number, string>>;
}

/** Every text has a contrast of at least 4.5 (WCAG 2.2, 1.4.3). */
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
      14: '#9be3ef',
      15: '#ffffff',
      160: '#d70000',
      231: '#ffffff',
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
      14: '#79d3ec',
      15: '#ffffff',
      160: '#d70000',
      231: '#ffffff',
    },
  },
};

/** How long a frame of an animation is shown, in s. */
const FRAME_SECONDS = 4;

/** Draws an animation; readers who prefer none see the first frame. */
export function toSvg(
  frames: readonly (readonly (readonly Run[])[])[],
  columns: number,
  theme: Theme,
  says: string,
): string {
  const width = Math.round(columns * WIDTH + 2 * MARGIN);
  const height = Math.max(...frames.map(({ length }) => length)) * HEIGHT + 2 * MARGIN;
  const drawn = frames.map((lines) => lines.map((runs, y) => row(runs, y, theme)).join(''));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
    `font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${theme.text}">\n` +
    `<title>${escape(says)}</title>\n` +
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${theme.background}" stroke="${theme.border}"/>\n` +
    `${animated(drawn)}</svg>\n`
  );
}

function animated(frames: readonly string[]): string {
  const whole = frames.length * FRAME_SECONDS;
  const groups = frames.map((frame, i) => `<g style="animation-delay:${i * FRAME_SECONDS}s">\n${frame}</g>\n`);
  return (
    `<style>g{visibility:hidden;animation:frame ${whole}s step-end infinite}` +
    `@keyframes frame{0%{visibility:visible}${(100 / frames.length).toFixed(3)}%{visibility:hidden}}` +
    `@media(prefers-reduced-motion:reduce){g{animation:none}g:first-of-type{visibility:visible}}</style>\n` +
    groups.join('')
  );
}

function row(runs: readonly Run[], y: number, theme: Theme): string {
  let x = MARGIN;
  const grounds: string[] = [];
  const spans = runs.flatMap(({ text, colour, ground, bold, dim, reverse }) => {
    const at = x;
    x += columnsOf(text) * WIDTH;
    const own = theme.colours[colour];
    const behind = reverse ? (own ?? theme.text) : theme.colours[ground];
    if (behind !== undefined) {
      grounds.push(
        `<rect x="${at.toFixed(1)}" y="${MARGIN + y * HEIGHT - 1}" width="${(x - at).toFixed(1)}" height="${HEIGHT}" fill="${behind}"/>\n`,
      );
    }
    const shown = text.trimEnd();
    if (shown === '') return [];
    const fill = reverse ? (theme.colours[ground] ?? theme.background) : own;
    const look = [
      `x="${at.toFixed(1)}"`,
      // Keeps columns aligned in any font.
      `textLength="${(columnsOf(shown) * WIDTH).toFixed(1)}"`,
      ...(fill === undefined ? [] : [`fill="${fill}"`]),
      ...(bold ? ['font-weight="bold"'] : []),
      ...(dim ? ['opacity="0.75"'] : []),
    ];
    return [`<tspan ${look.join(' ')}>${escape(shown).replaceAll(' ', NO_BREAK)}</tspan>`];
  });
  const lines = spans.length === 0 ? '' : `<text y="${MARGIN + y * HEIGHT + 13}">${spans.join('')}</text>\n`;
  return grounds.join('') + lines;
}

/** All of petstore's own characters are one column wide. */
function columnsOf(text: string): number {
  return Array.from(text).length;
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[each] ?? each);
}
