/** Colours and wraps text for people. Colour is decided once per stream, and is never the only sign of a meaning. */
import type { Context, Output } from '../ports.ts';
import { prepareWidths, wrapLine } from './width.ts';

type Paint = (text: string) => string;

const ROLES = ['heading', 'muted', 'good', 'attention', 'bad', 'plus', 'minus', 'accent'] as const;

/** Role of a text. `accent` is for labels. */
export type Role = (typeof ROLES)[number];

export type Style = Readonly<Record<Role, Paint>>;

interface ColourWishes extends Pick<Context, 'env'>, Pick<Output, 'isTTY'> {
  /** --color. */
  readonly choice: 'auto' | 'always' | 'never';
}

/** --color, then FORCE_COLOR, then NO_COLOR (no-color.org: any non-empty value), then TERM=dumb, then the terminal. */
export function isColoured({ choice, env, isTTY }: ColourWishes): boolean {
  if (choice !== 'auto') return choice === 'always';
  const { FORCE_COLOR: forced = '', NO_COLOR: none = '', TERM: term } = env;
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return none === '' && term !== 'dumb' && isTTY;
}

export const PLAIN = Object.fromEntries(ROLES.map((role): [Role, Paint] => [role, String])) as Style;

/**
 * Loads chalk only if there is colour. None of the sixteen colours is readable on both light and dark backgrounds, so a
 * text with a role has its own background. On some terminals their red is too bright for white and too dark for black:
 * red is one of the 256 colours, which are the same everywhere. Linux's console has only sixteen, and shows it reversed.
 * test/view/style.test.ts computes the contrasts.
 */
export async function createStyle(wishes: ColourWishes): Promise<Style> {
  if (!isColoured(wishes)) return PLAIN;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 2 });
  const { bold, dim, black } = chalk;
  const good = black.bgGreenBright;
  const bad = wishes.env.TERM === 'linux' ? chalk.inverse : chalk.ansi256(231).bgAnsi256(160);
  return {
    heading: bold,
    muted: dim,
    good,
    attention: black.bgYellowBright,
    bad,
    plus: good,
    minus: bad,
    accent: black.bgCyanBright,
  };
}

/** Words of a status, a state or an outcome. */
const WORDS: Readonly<Record<string, Role>> = {
  sold: 'muted',
  discarded: 'muted',
  pending: 'attention',
  unfinished: 'attention',
  conflict: 'attention',
  failed: 'bad',
  unknown: 'bad',
};

export function roleOf(column: string, value: string | bigint | number): Role | undefined {
  if (typeof value === 'string') return ['status', 'state', 'outcome'].includes(column) ? WORDS[value] : undefined;
  if (value <= 0) return column === 'quantity' ? 'bad' : undefined;
  if (column === 'failed') return 'bad';
  return column === 'conflicts' ? 'attention' : undefined;
}

/** Words and numbers that have a role in any sentence. */
const MEANINGS: readonly (readonly [RegExp, Role])[] = [
  [/^ok(?= )/gm, 'good'],
  [
    /^(?:warning:|WARN(?= ))|\b[1-9]\d* (?:conflicts?|warnings?|left to do)\b|(?<=: )conflict(?=,)|\bunfinished\b/gm,
    'attention',
  ],
  [/^(?:error:|FAIL(?= ))|\b[1-9]\d* (?:failed|unknown)\b/gm, 'bad'],
  [/^(?:skip|note)(?= )/gm, 'muted'],
  [/^hint:/gm, 'accent'],
  [/(?<= {2}|\()\+\d+(?=\)|,| {2}| in all|$)/gm, 'plus'],
  [/(?<= {2}|\()-\d+(?=\)|,| {2}| in all|$)/gm, 'minus'],
];

/** Labels; the rest of a long line is aligned after them. */
const LABEL = /^(?:error|warning|hint|debug): /;

/**
 * Wraps lines at words, indents the rest below the label or by two columns, and paints what has a role: `ok`, `FAIL`,
 * `(+2)`, `1 conflict`, `error:`. @param margin column at which the text of all lines begins
 */
export async function forPeople(
  lines: readonly string[],
  {
    width,
    style,
    margin,
  }: { readonly width: number | undefined; readonly style: Style; readonly margin?: number | undefined },
): Promise<string> {
  await prepareWidths(lines);
  const wrapped = lines.map((line) => {
    const start = margin ?? LABEL.exec(line)?.[0].length ?? /^ */.exec(line)![0].length + 2;
    return width === undefined ? line : wrapLine(line, width, start);
  });
  const text = wrapped.join('\n');
  return MEANINGS.reduce((painted, [words, role]) => painted.replace(words, (word) => style[role](word)), text);
}
