/** Colour: decided once for each stream, and never the only carrier of a meaning. */

export type ColourLevel = 0 | 1 | 2 | 3;

type Paint = (text: string) => string;

/** Colours that can be read on light and dark backgrounds alike. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
  readonly cyan: Paint;
}

export interface ColourWishes {
  /** --color. */
  readonly choice: 'auto' | 'always' | 'never';
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of the stream in question. */
  readonly isTTY: boolean;
}

/** --color, then FORCE_COLOR, then NO_COLOR (no-color.org: any non-empty value), then TERM=dumb, then the terminal. */
export function colourLevel({ choice, env, isTTY }: ColourWishes): ColourLevel {
  if (choice === 'never') return 0;
  if (choice === 'always') return depth(env);
  const forced = env.FORCE_COLOR;
  if (forced === '0' || forced === 'false') return 0;
  if (forced !== undefined && forced !== '') return forcedDepth(forced, env);
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return 0;
  return env.TERM === 'dumb' || !isTTY ? 0 : depth(env);
}

function forcedDepth(forced: string, env: ColourWishes['env']): ColourLevel {
  return forced === '2' ? 2 : forced === '3' ? 3 : forced === '1' ? 1 : depth(env);
}

function depth(env: ColourWishes['env']): ColourLevel {
  if (env.COLORTERM === 'truecolor' || env.COLORTERM === '24bit') return 3;
  return /-256(color)?$/.test(env.TERM ?? '') ? 2 : 1;
}

const plain: Paint = (text) => text;
const PLAIN: Style = { bold: plain, dim: plain, red: plain, yellow: plain, green: plain, cyan: plain };

/** chalk is loaded only where there is colour. */
export async function createStyle(level: ColourLevel): Promise<Style> {
  if (level === 0) return PLAIN;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, yellow, green, cyan } = new Chalk({ level });
  return { bold, dim, red, yellow, green, cyan };
}
