/**
 * The commands as plain data: help, reference, completion and man page are made from it. commands/command-tree.ts makes
 * it of the command specs; the build puts the data in its place, so that help loads no command.
 */
import type { Common, CommandDescription, NamedArgument, NamedOption } from '../command.ts';
import type { Grammar } from '../scan.ts';
import type { Proposals } from '../../value-parsers.ts';

/** Functions are no data: of a parser, only what it proposes is left. */
type AsData<Spec> = Omit<Spec, 'parser'> & { readonly parser?: Proposals };
export type TreeArgument = AsData<NamedArgument>;
export type TreeOption = AsData<NamedOption>;

export interface TreeCommand extends CommandDescription {
  readonly arguments: readonly TreeArgument[];
  readonly options: readonly TreeOption[];
}

export interface Tree {
  readonly summary: string;
  readonly examples: CommandDescription['examples'];
  /** In the order of the help. */
  readonly sections: readonly { readonly title: string; readonly commands: readonly TreeCommand[] }[];
  /** Group -> what its commands are for. */
  readonly groups: Readonly<Record<string, string>>;
  readonly globals: readonly TreeOption[];
}

export function commandsOf({ sections }: Tree): readonly TreeCommand[] {
  return sections.flatMap(({ commands }) => commands);
}

/** Returns what may follow a path: names of commands and groups, with their summaries. */
export function childrenOf(tree: Tree, path: string): readonly { readonly name: string; readonly summary: string }[] {
  const start = path === '' ? '' : `${path} `;
  const found = new Map<string, string>();
  for (const { path: each, summary } of commandsOf(tree)) {
    if (!each.startsWith(start)) continue;
    const [name = '', ...rest] = each.slice(start.length).split(' ');
    if (!found.has(name)) found.set(name, rest.length === 0 ? summary : (tree.groups[start + name] ?? ''));
  }
  return [...found].map(([name, summary]) => ({ name, summary }));
}

/** Returns every path: the root `''`, groups, and commands. */
export function pathsOf(tree: Tree): readonly string[] {
  return ['', ...Object.keys(tree.groups), ...commandsOf(tree).map(({ path }) => path)];
}

/** Returns the options that are valid at a path, the command's own first. */
export function optionsAt(tree: Tree, path: string): readonly TreeOption[] {
  const own = commandsOf(tree).find((command) => command.path === path)?.options ?? [];
  return [...own, ...tree.globals];
}

/** Headings of the common options that apply. */
const HEADINGS: Readonly<Record<Common, readonly string[]>> = {
  output: ['Output', 'Help'],
  environment: ['Where', 'Output', 'Help'],
  requests: ['Where', 'Output', 'Requests', 'Help'],
  questions: ['Where', 'Output', 'Questions', 'Requests', 'Help'],
};

/** Returns the common options that apply to a command, except those that it redefines. */
export function commonOptions(
  { globals }: Tree,
  { common = 'questions', options }: TreeCommand,
): readonly TreeOption[] {
  const own = options.flatMap(({ names }) => names);
  return globals.filter(
    ({ names, purpose }) => HEADINGS[common].includes(purpose) && !names.some((name) => own.includes(name)),
  );
}

export function grammarOf(tree: Tree): Grammar<TreeOption> {
  return { commands: commandsOf(tree).map(({ path }) => path), optionsAt: (path) => optionsAt(tree, path) };
}
