/** Makes the man page petstore(1), in man(7), from the same tree as help and completion. */
import { EXIT_CODES } from '../report/exit-codes.ts';
import { summaryOf } from '../cli/help/render.ts';
import { TOPICS } from '../cli/help/topics.ts';
import { type Setting, SETTINGS } from '../session/settings.ts';
import { capital } from '../view/words.ts';
import { wrapLine } from '../view/width.ts';
import { commandsOf, type Tree, type TreeArgument, type TreeCommand, type TreeOption } from '../cli/help/tree.ts';

/** Longest line; leaves room for escapes. */
const LONGEST = 70;

/** Date of the last change of its form, fixed so that the same sources always make the same page. */
const DATE = '2026-11-22';

export function manPage(tree: Tree, version: string): string {
  return [
    `.\\" petstore ${version}; made from the commands by "npm run build".`,
    `.TH PETSTORE 1 ${DATE} "petstore ${version}" "petstore manual"`,
    '.SH NAME',
    'petstore \\- manage the stock of a pet store from the command line',
    '.SH SYNOPSIS',
    `${bold('petstore')} ${italic('command')} [${italic('options')}]`,
    '.SH DESCRIPTION',
    ...text(tree.summary),
    ...tree.sections.flatMap(({ title, commands }) => [
      `.SS ${escape(title)}`,
      ...list(commands.map((each) => [bold(each.path), sentence(summaryOf(each))])),
    ]),
    '.SH COMMON OPTIONS',
    ...text('The help of a command lists those that apply to it.'),
    ...options(tree.globals),
    '.SH COMMANDS',
    ...commandsOf(tree).flatMap(command),
    '.SH ENVIRONMENT',
    ...list([
      ...Object.values<Setting>(SETTINGS).flatMap(({ variable, about: description, parser }) =>
        variable === undefined ? [] : [[bold(variable), described({ description, parser })] as const],
      ),
      [bold('HTTPS_PROXY, http_proxy, ALL_PROXY, NO_PROXY'), 'Proxies.'],
      [bold('NODE_EXTRA_CA_CERTS'), 'A file of certificate authorities to trust besides the usual ones.'],
      [bold('XDG_CONFIG_HOME, XDG_STATE_HOME'), 'Folders of the config file and of the state, below.'],
      [bold('VISUAL, EDITOR, PAGER'), 'Programs for inventory edit and for long help.'],
      [bold('NO_COLOR, FORCE_COLOR'), 'Colour.'],
    ]),
    '.SH FILES',
    ...list([
      [italic('~/.config/petstore/config.json'), 'Base URLs and keys, mode 0600.'],
      [italic('~/.local/state/petstore/state.db'), 'Catalog, rate limits, history and unfinished runs.'],
      [italic('~/.local/state/petstore/sandbox.db'), 'The sandbox.'],
    ]),
    '.SH EXIT STATUS',
    ...list(EXIT_CODES.map(([code, meaning, then]) => [bold(`${code}`), sentence(`${meaning}: ${then}`)])),
    '.SH EXAMPLES',
    ...Object.entries(tree.examples).flatMap(example).slice(1),
    ...(['environments', 'output', 'rate-limits', 'scripting'] as const).flatMap((name) => [
      `.SH ${TOPICS[name].title.toUpperCase()}`,
      ...topic(TOPICS[name].text),
    ]),
    '',
  ].join('\n');
}

function command(each: TreeCommand): string[] {
  const { path, description, arguments: args, options: own, examples } = each;
  const words = args.map(({ name, optional, variadic }) => {
    const word = `${italic(name)}${variadic ? '...' : ''}`;
    return optional ? `[${word}]` : word;
  });
  return [
    `.SS petstore ${escape(path)}`,
    [bold(`petstore ${path}`), ...words, `[${italic('options')}]`].join(' '),
    '.PP',
    ...text(sentence(summaryOf(each))),
    ...(description === undefined ? [] : text(description)),
    ...list(args.map((argument) => [italic(argument.name), described(argument)])),
    ...options(own),
    ...Object.entries(examples).flatMap(example),
  ];
}

function options(all: readonly TreeOption[]): string[] {
  return list(all.map((option) => [bold(option.flags), described(option)]));
}

/** Returns the description of an option or argument as a sentence; one that lists its values begins with `One of`. */
function described({ description, parser }: Pick<TreeArgument, 'description' | 'parser'>): string {
  const first = /^[^, ]+(?=, )/.exec(description)?.[0];
  const isList = first !== undefined && parser?.words?.includes(first) === true;
  return sentence(isList ? `one of ${description}` : description);
}

function sentence(content: string): string {
  return `${capital(content).replace(/\.$/, '')}.`;
}

function list(items: readonly (readonly [term: string, says: string])[]): string[] {
  return items.flatMap(([term, says]) => ['.TP', term, ...text(says)]);
}

function example([says, line]: readonly [string, string]): string[] {
  return ['.PP', ...text(`${says}:`), ...literal([line])];
}

function literal(lines: readonly string[]): string[] {
  return ['.PP', '.RS 4', '.EX', ...lines.map(escape), '.EE', '.RE'];
}

/** Returns paragraphs; keeps indented text as it is. */
function topic(content: string): string[] {
  return content
    .trim()
    .split('\n\n')
    .flatMap((part) =>
      part.startsWith('  ') ? literal(part.split('\n').map((line) => line.slice(2))) : ['.PP', ...text(part)],
    )
    .slice(1);
}

/** Puts each sentence on a line, and wraps long ones. */
function text(content: string): string[] {
  return content
    .split('\n')
    .flatMap((line) => line.split(/(?<=[.;:?]) (?=[A-Z0-9"'-])/))
    .filter((line) => line.trim() !== '')
    .flatMap((line) => wrapLine(line.trim(), LONGEST, 0).split('\n'))
    .map((line) => escape(line.trim()));
}

function bold(content: string): string {
  return `\\fB${escape(content)}\\fR`;
}

function italic(content: string): string {
  return `\\fI${escape(content)}\\fR`;
}

/** Escapes backslashes and dashes, and a dot or quote at the start of a line. */
function escape(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}
