/** The help that a line asks for, from the tree alone. */
import { helpText } from './render.ts';
import { loadTree, pathsOf } from './tree.ts';
import { helpWanted } from './parse-help-request.ts';

/** Undefined: the line asks for none. */
export async function helpFor(argv: readonly string[], width: number): Promise<string | undefined> {
  const tree = await loadTree();
  const path = helpWanted(tree, argv);
  return path === undefined ? undefined : helpText(tree, path, width);
}

/** Undefined: there is no such command or group. */
export async function helpOn(path: string, width: number): Promise<string | undefined> {
  const tree = await loadTree();
  return pathsOf(tree).includes(path) ? helpText(tree, path, width) : undefined;
}
