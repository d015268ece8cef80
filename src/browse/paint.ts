/** What the screen of `inventory browse` is drawn with: its size, what surrounds the stock, and the looks. */
import type { Change } from '../state/journal.ts';
import type { Style } from '../view/style.ts';
import { displayWidth, padTo, truncate } from '../view/width.ts';

export interface Surroundings {
  readonly environment: string;
  readonly columns: number;
  readonly rows: number;
  /** Epoch ms. */
  readonly now: number;
  readonly paint: Paint;
  /** True where the terminal shows Unicode. */
  readonly isUnicode: boolean;
  /** Returns the pet's last changes that were made from this machine, newest first. */
  readonly changesOf: (petId: bigint, limit: number) => readonly Change[];
  /** Makes a text from elsewhere fit to be shown: without secrets and control characters. */
  readonly shown: (text: string) => string;
}

/** Reverse video is not a colour: NO_COLOR leaves it. */
export type Paint = Style & { readonly reverse: (text: string) => string };

export function paintOf(style: Style): Paint {
  return { ...style, reverse: (text) => `\u001b[7m${text}\u001b[27m` };
}

export const BETWEEN = '  ';

/** Returns a line of reverse video over the whole width. */
export function barOf(text: string, { columns, paint }: Surroundings): string {
  return paint.reverse(paint.heading(padTo(text, columns, 'left')));
}

/** Returns the first text that fits, or what fits of the last. */
export function fitting(texts: readonly string[], columns: number): string {
  return texts.find((text) => displayWidth(text) <= columns) ?? truncate(texts.at(-1) ?? '', columns);
}
