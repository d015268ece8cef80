/** Colour: decided once for each stream, and never the only carrier of a meaning. */

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
export function isColoured({ choice, env, isTTY }: ColourWishes): boolean {
  if (choice !== 'auto') return choice === 'always';
  const { FORCE_COLOR: forced = '', NO_COLOR: none = '', TERM: term } = env;
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return none === '' && term !== 'dumb' && isTTY;
}

const plain: Paint = (text) => text;
const PLAIN: Style = { bold: plain, dim: plain, red: plain, yellow: plain, green: plain, cyan: plain };

/** chalk is loaded only where there is colour. */
export async function createStyle(hasColour: boolean): Promise<Style> {
  if (!hasColour) return PLAIN;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, yellow, green, cyan } = new Chalk({ level: 1 });
  return { bold, dim, red, yellow, green, cyan };
}
