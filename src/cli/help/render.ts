/** Renders help for a path of the tree: all commands, a group, or one command in short or in full. */
import { TOPICS, type Topic } from './topics.ts';
import { argumentsIn, type HelpRequest, helpWanted, Line } from '../scan.ts';
import {
  childrenOf,
  commandsOf,
  commonOptions,
  grammarOf,
  type Tree,
  type TreeCommand,
  type TreeOption,
} from './tree.ts';
import type { Style } from '../../view/style.ts';
import { wrapLine } from '../../view/width.ts';

/** Paints the headings of a help text. */
export function withHeadings(text: string, { heading }: Pick<Style, 'heading'>): string {
  return text.replace(/^[A-Z][\w ,()]*:(?=$| )/gm, (words) => heading(words));
}

/** Returns the help that the line asks for; undefined if it asks for none, or for a topic that is a list of data. */
export function helpFor(tree: Tree, argv: readonly string[], width: number): string | undefined {
  let line = new Line(grammarOf(tree), argv);
  if (line.path === 'help') {
    const topic = argumentsIn(line).join(' ');
    if (topic === 'options') return helpText(tree, { path: topic }, width);
    if (Object.hasOwn(TOPICS, topic) && TOPICS[topic as Topic].text !== '') return topicText(topic as Topic, width);
    // `help inventory set` is `--help inventory set`.
    line = new Line(grammarOf(tree), argv.with(line.tokens.find(({ role }) => role === 'command')!.index, '--help'));
  }
  const wanted = helpWanted(line);
  return wanted === undefined ? undefined : helpText(tree, wanted, width);
}

/** `path` may also be `options`: all common options. */
export function helpText(tree: Tree, { path, isShort = false }: HelpRequest, width: number): string {
  if (path === '') return joined(rootParts(tree, width));
  if (path === 'options') return joined([TOPICS.options.title, commonText(tree, width)]);
  const command = commandsOf(tree).find((each) => each.path === path);
  if (command === undefined) return joined(groupParts(tree, path, width));
  return joined(isShort ? shortParts(tree, command, width) : fullParts(tree, command, width));
}

/** Renders all commands by group, one per line. */
function rootParts(tree: Tree, width: number): string[] {
  const [first] = tree.sections;
  const lists = tree.sections.map(({ title, commands }) => {
    const words = commands === first?.commands ? 2 : 1;
    const names = new Set(commands.map(({ path }) => path.split(' ').slice(0, words).join(' ')));
    // Lists the commands of a group that has its own section; other groups as one line.
    const summaryFor = (name: string): string =>
      commands.find(({ path }) => path === name)?.summary ?? tree.groups[name] ?? '';
    return { title, items: [...names].map((name): Term => [name, summaryFor(name)]) };
  });
  const more: Term[] = [
    ['Options:', namesOf(tree.globals).join(', ')],
    ['Topics:', `petstore help ${Object.keys(TOPICS).join(', ')}`],
    ['More:', `petstore <command> -h (short), petstore <command> --help (all)`],
    ['Note:', 'updates of stock are experimental in the service'],
  ];
  return [
    paragraphs(tree.summary, width),
    paragraphs(`Usage: petstore <command> [options]`, width, 2),
    beside(Object.entries(tree.examples).slice(0, 2), width),
    ...sections(lists, width),
    terms(more, width).replace(/^ {2}/gm, ''),
  ];
}

function groupParts(tree: Tree, path: string, width: number): string[] {
  const items = childrenOf(tree, path).map(({ name, summary }): Term => [name, summary]);
  return [
    paragraphs(`${tree.groups[path] ?? ''}.`, width),
    paragraphs(`Usage: petstore ${path} <command> [options]`, width, 2),
    ...sections([{ title: 'Commands', items }], width),
    paragraphs(`More: petstore ${path} <command> --help`, width, 2),
  ];
}

const MOST_EXAMPLES = 3;

/** Options of many commands, which the short help only names. */
const NAMED = 'For the history';

/** Shortens a command: the first clause of each option, and the first three examples. */
function shortParts(tree: Tree, command: TreeCommand, width: number): string[] {
  const own = byPurpose(command.options).filter(({ title }) => title !== NAMED);
  const lists = own.map(({ title, items }) => ({
    title,
    items: items.map(([term, text]): Term => [term, firstClause(text)]),
  }));
  const args = argumentsOf(command);
  const common = namesOf(commonOptions(tree, command).filter(({ purpose }) => purpose !== 'Help'));
  const named = command.options.filter(({ purpose }) => purpose === NAMED).map(({ names }) => names.at(-1)!);
  const last = [
    ...(named.length === 0 ? [] : [`${NAMED}: ${named.join(' ')}`]),
    `Common options: ${common.join(' ')} (petstore help options)`,
    `This is the short help. More: petstore ${command.path} --help`,
  ].map((line) => paragraphs(line, width, 2));
  return [
    paragraphs(`${command.summary}.`, width),
    [usage(command, width), ...(args.length === 0 ? [] : [terms(args, width)])].join('\n'),
    ...sections(lists, width),
    `Examples:\n${beside(Object.entries(command.examples).slice(0, MOST_EXAMPLES), width)}`,
    last.join('\n'),
  ];
}

/** Returns the text up to the first semicolon, and the default at its end. */
function firstClause(text: string): string {
  const [, clause = '', shown = ''] = /^(.*?)( \(default: .*\))?$/s.exec(text) ?? [];
  return `${clause.split('; ')[0]!}${shown}`;
}

function fullParts(tree: Tree, command: TreeCommand, width: number): string[] {
  // Where to read more: the topics of the command, and the common options.
  const topics = [...(command.more ?? []), 'options' as const];
  const items = topics.map((name): Term => [`petstore help ${name}`, TOPICS[name].summary]);
  const options = [...byPurpose(command.options), ...byPurpose(commonOptions(tree, command))];
  return [...itself(command, width), ...sections(options, width), ...sections([{ title: 'More', items }], width)];
}

function itself(command: TreeCommand, width: number): string[] {
  const examples = Object.entries(command.examples).map(([says, line]) => `  # ${says}\n  ${line}`);
  return [
    paragraphs(`${summaryOf(command)}.`, width),
    usage(command, width),
    paragraphs(['Examples:', ...examples].join('\n'), width, 2),
    paragraphs(command.description ?? '', width),
    ...sections([{ title: 'Arguments', items: argumentsOf(command) }], width),
  ];
}

function usage({ path, arguments: args }: TreeCommand, width: number): string {
  const words = args.map(({ name, optional, variadic }) => {
    const text = variadic ? `${name}...` : name;
    return optional ? `[${text}]` : `<${text}>`;
  });
  return paragraphs(`Usage: ${['petstore', path, ...words, '[options]'].join(' ')}`, width, 2);
}

function argumentsOf({ arguments: args }: TreeCommand): Term[] {
  return args.map(({ name, description }): Term => [name, description]);
}

/** Renders what belongs to the command itself, for a reference that has the rest elsewhere. */
export function ownText(command: TreeCommand, width: number): string {
  return joined([...itself(command, width), ...sections(byPurpose(command.options), width)]).trimEnd();
}

/** Returns the help of the common options. */
export function commonText(tree: Tree, width: number): string {
  return sections(byPurpose(tree.globals), width).join('\n\n');
}

export function summaryOf({ summary, experimental }: TreeCommand): string {
  return experimental ? `${summary} (experimental in the service)` : summary;
}

/** Returns the long names of the options that also have a short one: the common ones. */
function namesOf(options: readonly TreeOption[]): string[] {
  return options.flatMap(({ names }) => (names.length > 1 ? names.slice(-1) : []));
}

interface List {
  readonly title: string;
  readonly items: readonly Term[];
}

/** Renders lists below each other, with their terms in one column. */
function sections(lists: readonly List[], width: number): string[] {
  const widest = widestOf(lists.flatMap(({ items }) => items));
  return lists
    .filter(({ items }) => items.length > 0)
    .map(({ title, items }) => `${title}:\n${terms(items, width, widest)}`);
}

function byPurpose(list: readonly TreeOption[]): List[] {
  return [...Map.groupBy(list, ({ purpose }) => purpose)].map(([title, options]) => ({
    title,
    items: options.map(({ flags, description }): Term => [flags, description]),
  }));
}

function joined(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

export function topicText(name: Topic, width: number): string {
  const { title, text } = TOPICS[name];
  return `${paragraphs(`${title}\n\n${text.trim()}`, width)}\n`;
}

/** Least width of a description beside its term; on a narrower screen it goes below. */
const BESIDE = 60;
/** In columns. The description of a longer term goes below it. */
const LONGEST_TERM = 31;
/** In columns: wider lines are hard to read. */
const WIDEST = 100;

/** @param hanging how much further than a line the rest of it is indented: in columns */
function paragraphs(text: string, width: number, hanging = 0): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, Math.min(width, WIDEST), /^ */.exec(line)![0].length + hanging))
    .join('\n');
}

type Term = readonly [term: string, text: string];

/** Returns the width of the column of terms for several lists. */
function widestOf(items: readonly Term[]): number {
  return Math.max(0, ...items.map(([term]) => term.length).filter((length) => length <= LONGEST_TERM));
}

/** Renders terms with their descriptions, side by side if there is room. */
function terms(items: readonly Term[], width: number, widest = widestOf(items)): string {
  const columns = Math.min(width, WIDEST);
  const margin = 2 + widest + 2;
  return items
    .map(([term, text]) => {
      if (columns < BESIDE) return `  ${term}\n${paragraphs(`      ${text}`, columns)}`;
      if (term.length > widest) return `  ${term}\n${wrapLine(' '.repeat(margin) + text, columns, margin)}`;
      return wrapLine(`  ${term.padEnd(widest)}  ${text}`, columns, margin);
    })
    .join('\n');
}

/** Renders command lines with their comment beside them, or above if that is too wide. */
function beside(examples: readonly (readonly [says: string, command: string])[], width: number): string {
  const widest = Math.max(0, ...examples.map(([, command]) => command.length));
  const lines = examples.map(([says, command]) => `  ${command.padEnd(widest)}  # ${says}`);
  if (lines.every((line) => line.length <= width)) return lines.join('\n');
  return paragraphs(examples.map(([says, command]) => `  # ${says}\n  ${command}`).join('\n'), width, 2);
}
