/** Help for one path of the tree: examples first, then options by what they are for, then where to read more. */
import { paragraphs, type Term, terms, widestOf } from './layout.ts';
import { TOPICS, type Topic } from './topics.ts';
import { helpWanted, scan } from '../scan.ts';
import { childrenOf, commandsOf, grammarOf, type Tree, type TreeCommand, type TreeOption } from './tree.ts';

/** Returns the help that the line asks for; undefined where it asks for none. */
export function helpFor(tree: Tree, argv: readonly string[], width: number): string | undefined {
  const path = helpWanted(scan(grammarOf(tree), argv));
  return path === undefined ? undefined : helpText(tree, path, width);
}

export function helpText(tree: Tree, path: string, width: number): string {
  const command = commandsOf(tree).find((each) => each.path === path);
  const parts = command === undefined ? overview(tree, path, width) : details(tree, command, width);
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function overview(tree: Tree, path: string, width: number): string[] {
  const isRoot = path === '';
  const below = isRoot ? tree.sections : [{ title: 'Commands', commands: commandsBelow(tree, path) }];
  const lists = below.map(({ title, commands }) => ({
    title,
    items: commands.map((each): Term => [isRoot ? each.path : each.path.slice(path.length + 1), summaryOf(each)]),
  }));
  return [
    paragraphs(isRoot ? tree.summary : `${tree.groups[path] ?? ''}.`, width),
    paragraphs(`Usage: ${[tree.name, path, '<command> [options]'].filter(Boolean).join(' ')}`, width),
    examples(isRoot ? tree.examples : commandsBelow(tree, path).flatMap((each) => each.examples.slice(0, 1)), width),
    ...sections(lists, width),
    ...(isRoot ? sections(byPurpose(tree.globals), width) : []),
    more([], `${isRoot ? '' : `${path} `}COMMAND`, width),
  ];
}

function commandsBelow(tree: Tree, path: string): readonly TreeCommand[] {
  const names = childrenOf(tree, path).map(({ name }) => `${path} ${name}`);
  return commandsOf(tree).filter((command) => names.includes(command.path));
}

function details(tree: Tree, command: TreeCommand, width: number): string[] {
  return [
    ...itself(tree, command, width),
    ...sections([...byPurpose(command.options), ...byPurpose(tree.globals)], width),
    more(command.more, undefined, width),
  ];
}

function itself(tree: Tree, command: TreeCommand, width: number): string[] {
  const { path, arguments: args, description = '' } = command;
  const words = args.map(({ name, optional, variadic }) => {
    const text = variadic ? `${name}...` : name;
    return optional ? `[${text}]` : `<${text}>`;
  });
  return [
    paragraphs(`${summaryOf(command)}.`, width),
    paragraphs(`Usage: ${[tree.name, path, ...words, '[options]'].join(' ')}`, width),
    examples(command.examples, width),
    paragraphs(description, width),
    ...sections([{ title: 'Arguments', items: args.map((each): Term => [each.name, each.description]) }], width),
  ];
}

/** What is the command's own, for a reference that has the rest elsewhere. */
export function ownText(tree: Tree, command: TreeCommand, width: number): string {
  const parts = [...itself(tree, command, width), ...sections(byPurpose(command.options), width)];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The options that every command takes. */
export function commonText(tree: Tree, width: number): string {
  return sections(byPurpose(tree.globals), width).join('\n\n');
}

export function summaryOf({ summary, experimental }: TreeCommand): string {
  return experimental ? `${summary} (experimental in the service)` : summary;
}

interface List {
  readonly title: string;
  readonly items: readonly Term[];
}

/** One below the other, their terms in one column. */
function sections(lists: readonly List[], width: number): string[] {
  const widest = widestOf(lists.flatMap(({ items }) => items));
  return lists
    .filter(({ items }) => items.length > 0)
    .map(({ title, items }) => `${title}:\n${terms(items, width, widest)}`);
}

function byPurpose(list: readonly TreeOption[]): List[] {
  return [...new Set(list.map(({ purpose }) => purpose))].map((title) => ({
    title,
    items: list.filter(({ purpose }) => purpose === title).map(({ flags, description }): Term => [flags, description]),
  }));
}

function examples(list: Tree['examples'], width: number): string {
  const lines = list.map(({ says, command }) => `  # ${says}\n  ${command}`);
  return lines.length === 0 ? '' : `Examples:\n${paragraphs(lines.join('\n'), width)}`;
}

/** `topics`: those of the command; none: all that there are. */
function more(topics: readonly string[], command: string | undefined, width: number): string {
  const names = (topics.length === 0 ? Object.keys(TOPICS) : topics) as readonly Topic[];
  const items: Term[] = [
    ...(command === undefined ? [] : [[`petstore help ${command}`, 'one command in full'] as const]),
    ...names.map((name): Term => [`petstore help ${name}`, TOPICS[name].summary]),
  ];
  return sections([{ title: 'More', items }], width).join('');
}

export function topicText(name: Topic, width: number): string {
  const { title, text } = TOPICS[name];
  return `${paragraphs(`${title}\n\n${text.trim()}`, width)}\n`;
}
