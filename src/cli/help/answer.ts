/** The help that a line asks for, from the commands' data alone. */
import { helpWanted, scan } from '../scan.ts';
import { helpText } from './render.ts';
import { grammarOf, type Tree } from './tree.ts';

/** Returns undefined where the line asks for none. */
export function helpFor(tree: Tree, argv: readonly string[], width: number): string | undefined {
  const path = helpWanted(scan(grammarOf(tree), argv));
  return path === undefined ? undefined : helpText(tree, path, width);
}
