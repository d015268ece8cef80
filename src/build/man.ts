/** The man page petstore(1), in mdoc(7), made from the same tree as help and completion. */
import { EXIT_CODES } from '../report/exit-codes.ts';
import { summaryOf } from '../cli/help/render.ts';
import { TOPICS } from '../cli/help/topics.ts';
import { wrapLine } from '../view/wrap.ts';
import { commandsOf, type Tree, type TreeCommand, type TreeOption } from '../cli/help/tree.ts';

/** Room is left for what escaping adds. */
const LONGEST = 70;

/** When its form last changed. */
const DATE = 'November 21, 2026';

export function manPage(tree: Tree, version: string): string {
  const commands = commandsOf(tree);
  return [
    `.\\" petstore ${version}; made from the commands by "npm run build".`,
    `.Dd ${DATE}`,
    '.Dt PETSTORE 1',
    '.Os',
    '.Sh NAME',
    '.Nm petstore',
    '.Nd inventory of a pet store from the command line',
    '.Sh SYNOPSIS',
    '.Nm',
    '.Ar command',
    '.Op Ar options',
    '.Sh DESCRIPTION',
    ...text(tree.summary),
    '.Pp',
    ...text('The commands:'),
    ...tree.sections.flatMap(({ title, commands: below }) => [
      `.Ss ${escape(title)}`,
      list(below.map((each) => [`Ic ${escape(each.path)}`, `${summaryOf(each)}.`])),
    ]),
    '.Sh OPTIONS OF EVERY COMMAND',
    ...options(tree.globals),
    '.Sh COMMANDS',
    ...commands.flatMap(command),
    '.Sh ENVIRONMENT',
    list([
      ['Ev PETSTORE_ENV', 'production, staging or sandbox.'],
      ['Ev PETSTORE_BASE_URL', 'Address of the service, ending in /v1.'],
      ['Ev PETSTORE_API_KEY', 'The API key.'],
      ['Ev PETSTORE_LEDGER', 'A Redis server through which machines share the limits of a key.'],
      ['Ev HTTPS_PROXY , http_proxy , ALL_PROXY , NO_PROXY', 'Proxies.'],
      ['Ev NODE_EXTRA_CA_CERTS', 'A file of certificate authorities to trust besides the usual ones.'],
      ['Ev NO_COLOR , FORCE_COLOR', 'Colour.'],
    ]),
    '.Sh FILES',
    list([
      ['Pa ~/.config/petstore/config.json', 'Base URLs and keys, mode 0600.'],
      ['Pa ~/.local/state/petstore/state.db', 'Limits, blocks, history and unfinished imports.'],
      ['Pa ~/.local/state/petstore/sandbox.db', 'What the sandbox holds.'],
    ]),
    '.Sh EXIT STATUS',
    list(EXIT_CODES.map(({ code, meaning, then }) => [code, `${meaning}: ${then}.`])),
    '.Sh EXAMPLES',
    ...tree.examples.flatMap(example).slice(1),
    ...(['environments', 'output', 'rate-limits', 'scripting'] as const).flatMap((name) => [
      `.Sh ON ${TOPICS[name].title.toUpperCase()}`,
      ...topic(TOPICS[name].text),
    ]),
    '',
  ].join('\n');
}

function command(each: TreeCommand): string[] {
  const { path, description, arguments: args, options: own, examples } = each;
  const words = args.map(({ name, optional, variadic }) => {
    const word = `Ar ${escape(name)}${variadic ? ' ...' : ''}`;
    return optional ? `.Op ${word}` : `.${word}`;
  });
  return [
    `.Ss petstore ${escape(path)}`,
    `.Ic petstore ${escape(path)}`,
    ...words,
    '.Op Ar options',
    '.Pp',
    ...text(`${summaryOf(each)}.`),
    ...(description === undefined ? [] : text(description)),
    ...(args.length === 0 ? [] : [list(args.map(({ name, description: says }) => [`Ar ${escape(name)}`, `${says}.`]))]),
    ...options(own),
    ...examples.flatMap(example),
  ];
}

function options(all: readonly TreeOption[]): string[] {
  if (all.length === 0) return [];
  return [list(all.map(({ flags, description }) => [`Sy ${escape(flags)}`, `${description}.`]))];
}

/** `.It` lines may hold a macro of their own. */
function list(items: readonly (readonly [term: string, says: string])[]): string {
  return ['.Bl -tag -width Ds', ...items.flatMap(([term, says]) => [`.It ${term}`, ...text(says)]), '.El'].join('\n');
}

function example({ says, command: line }: TreeCommand['examples'][number]): string[] {
  return ['.Pp', ...text(`${says}:`), '.Dl ' + escape(line)];
}

/** Paragraphs; indented text is kept as it is. */
function topic(content: string): string[] {
  return content
    .trim()
    .split('\n\n')
    .flatMap((part) =>
      part.startsWith('  ')
        ? ['.Bd -literal -offset indent', ...part.split('\n').map((line) => escape(line.slice(2))), '.Ed']
        : ['.Pp', ...text(part)],
    )
    .slice(content.trim().startsWith('  ') ? 0 : 1);
}

/** A sentence a line, as mdoc wants it, and none too long. */
function text(content: string): string[] {
  return content
    .split('\n')
    .flatMap((line) => line.split(/(?<=[.;:?]) (?=[A-Z0-9"'-])/))
    .filter((line) => line.trim() !== '')
    .flatMap((line) => wrapLine(line.trim(), LONGEST, 0).split('\n'))
    .map((line) => escape(line.trim()));
}

/** Escapes backslashes and dashes, and a dot or quote at the start of a line. */
function escape(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}
