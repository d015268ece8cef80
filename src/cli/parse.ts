/** Turns a scanned line into the call of a command, with values that commander has checked; or into text to print. */
import { Command, CommanderError, Option } from 'commander';
import { type AnyCommand, argumentsOf, type OptionSpec, optionsOf } from './command.ts';
import { FOREVER_MS } from '../duration.ts';
import { GLOBAL_OPTIONS, type GlobalInput, HELP_OPTIONS, UNSAID } from './global-options.ts';
import type { Tree } from './help/tree.ts';
import { argumentsIn, type HelpRequest, helpWanted, type Line, scan, type ScanOption, shapeOf } from './scan.ts';
import type { Globals } from '../session/globals.ts';
import { type Stored, storedValues } from '../session/settings.ts';
import { VERSION } from '../version.ts';

/** The program's commands, none of which is loaded before a line names it. */
export interface Commands {
  /** Path -> the command. */
  readonly loaders: Readonly<Record<string, () => Promise<AnyCommand>>>;
  /** All of them as plain data. */
  tree(): Promise<Tree>;
}

export interface Request {
  readonly line: Line<ScanOption>;
  /** The command that the line names. */
  readonly command?: AnyCommand;
}

export interface RunInvocation {
  readonly does: 'run';
  readonly command: AnyCommand;
  readonly input: object;
  readonly globals: Globals;
}

export type Invocation = RunInvocation | { readonly does: 'print'; readonly text: string };

const GLOBALS: readonly ScanOption[] = [...GLOBAL_OPTIONS, ...HELP_OPTIONS].map(({ flags }) => shapeOf(flags));

/** Scans the line, and once more with the options of the command that it names. */
export async function readRequest({ loaders }: Commands, argv: readonly string[]): Promise<Request> {
  const commands = Object.keys(loaders);
  const line = scan({ commands, optionsAt: () => GLOBALS }, argv);
  const command = line.isCommand ? await loaders[line.path]?.() : undefined;
  if (command === undefined) return { line };
  const all = [...optionsOf(command).map(({ flags }) => shapeOf(flags)), ...GLOBALS];
  return { command, line: scan({ commands, optionsAt: (path) => (path === line.path ? all : GLOBALS) }, argv) };
}

/** @throws {Failure} `usage`, `invalid-value` */
export async function resolveRequest(
  request: Request,
  commands: Commands,
  width: number,
  stored: () => Promise<Stored> = () => Promise.resolve({ env: {}, config: {} }),
): Promise<Invocation> {
  const { line } = request;
  const wanted = helpWanted(line);
  if (wanted !== undefined) return printHelp(commands, wanted, width);
  if (line.version) return { does: 'print', text: `${VERSION}\n` };
  try {
    const invocation = parse(request, Object.keys(commands.loaders), await stored());
    return invocation.command.path === 'help' ? await answerHelp(invocation, line, commands, width) : invocation;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const { usageFailure } = await import('./usage-errors.ts');
    throw usageFailure(error, line, await commands.tree());
  }
}

/** `petstore help inventory set` is `petstore inventory set --help`; `petstore help` alone is the help of all. */
async function answerHelp(
  invocation: RunInvocation,
  line: Line<ScanOption>,
  commands: Commands,
  width: number,
): Promise<Invocation> {
  const topic = argumentsIn(line).join(' ');
  const isPath = Object.keys(commands.loaders).some((path) => path === topic || path.startsWith(`${topic} `));
  if (isPath || topic === '' || topic === 'options') return printHelp(commands, { path: topic }, width);
  const { isTopic, unknownTopic } = await import('./usage-errors.ts');
  if (isTopic(topic)) return invocation;
  throw unknownTopic(topic, await commands.tree());
}

async function printHelp({ tree }: Commands, wanted: HelpRequest, width: number): Promise<Invocation> {
  const { helpText } = await import('./help/render.ts');
  return { does: 'print', text: helpText(await tree(), wanted, width) };
}

/** @throws {CommanderError | Failure} */
function parse({ line, command }: Request, paths: readonly string[], stored: Stored): RunInvocation {
  const program = configure(new Command('petstore'));
  const globals = storedValues(stored, line.path);
  for (const spec of needed([...GLOBAL_OPTIONS, ...HELP_OPTIONS], line)) program.addOption(option(spec));
  program
    .action(() => undefined)
    .parse(
      optionWords(line, (each) => GLOBALS.includes(each)),
      { from: 'user' },
    );
  const { unknown } = line;
  if (unknown !== undefined && !paths.includes(unknown.path)) {
    buildGroup(unknown.path, paths, program).parse([unknown.text], { from: 'user' });
  } else if (command !== undefined) {
    const input = inputOf(command, line, program);
    return { does: 'run', command, input, globals: globalsOf(program, globals) };
  }
  throw new Error('commander ran no command, and threw nothing');
}

function nameOf(path: string): string {
  return path.replace(/^.* /, '');
}

/** Returns options with their values in the form that commander takes for nothing else, whatever the value looks like. */
function optionWords(line: Line<ScanOption>, isWanted: (option: ScanOption) => boolean): string[] {
  return line.tokens.flatMap((token, i, { [i + 1]: next }) => {
    if ((token.role !== 'option' && token.role !== 'value') || !isWanted(token.option)) return [];
    if (token.role === 'option') return next?.role === 'value' ? [] : [token.text];
    const long = token.option.names.find((name) => name.startsWith('--'));
    return long === undefined ? [token.option.names[0]!, token.text] : [`${long}=${token.text}`];
  });
}

/** Returns a group that knows the names of its commands: enough to refuse a word. */
function buildGroup(path: string, paths: readonly string[], program: Command): Command {
  const group = configure(new Command(path === '' ? 'petstore' : nameOf(path)));
  program.addCommand(group);
  const below = paths.filter((each) => path === '' || each.startsWith(`${path} `));
  const names = below.map((each) => each.split(' ')[path === '' ? 0 : 1]!);
  for (const name of new Set(names)) group.addCommand(new Command(name));
  return group;
}

/** Commander only parses and validates; help text is rendered in help/. */
function configure(command: Command): Command {
  return command
    .helpOption(false)
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined })
    .showSuggestionAfterError(false);
}

/** Returns the values of the command's own arguments and options, by name. @throws {CommanderError | Failure} */
function inputOf(spec: AnyCommand, line: Line<ScanOption>, program: Command): Record<string, unknown> {
  const command = configure(new Command(nameOf(spec.path))).action(() => undefined);
  program.addCommand(command);
  const given = argumentsIn(line);
  const all = argumentsOf(spec);
  // The first argument may be left out before a required one: `api [method] <path>`.
  const isShort = all[0]?.optional === true && all[1]?.optional !== true && all.length > 1 && given.length < all.length;
  const specified = isShort ? all.slice(1) : all;
  for (const each of specified) {
    const words = each.variadic === true ? `${each.name}...` : each.name;
    command.argument(each.optional === true ? `[${words}]` : `<${words}>`, each.description);
  }
  for (const each of needed(optionsOf(spec), line)) command.addOption(option(each));
  const options = optionWords(line, (each) => !GLOBALS.includes(each));
  const refused = line.tokens.flatMap(({ role, text }) => (role === 'unknown-option' ? [text] : []));
  command.parse([...refused, ...options, ...(line.pending === undefined ? ['--', ...given] : [])], { from: 'user' });
  const input: Record<string, unknown> = { ...command.opts() };
  for (const [i, { name, parser }] of specified.entries()) {
    const value: unknown = command.processedArgs[i];
    if (isArray(value)) input[name] = value.flatMap((each) => parser.parse(String(each), name));
    else if (typeof value === 'string') input[name] = parser.parse(value, name);
  }
  return input;
}

/**
 * Returns the options that commander has to know: those on the line, and those that have a value without it. To make
 * all of them takes longer than to read the line.
 */
function needed<S extends OptionSpec>(specs: readonly S[], { tokens }: Line<ScanOption>): S[] {
  const given = tokens.flatMap((token) => ('option' in token ? token.option.names : []));
  // `--no-input` alone makes `input` true, unless commander knows `--input` too.
  const negated = specs.flatMap(({ flags }) => flags.match(/--no-[\w-]+/g) ?? []);
  const words = [...given, ...negated, ...negated.map((name) => name.replace('--no-', '--'))];
  const isThere = ({ flags }: S): boolean => flags.split(/[ ,]+/).some((word) => words.includes(word));
  return specs.filter((spec) => spec.default !== undefined || isThere(spec));
}

function option({ flags, description, parser, ...spec }: OptionSpec): Option {
  const built = new Option(flags, description);
  if (spec.default !== undefined) {
    built.default(spec.default, spec.shownDefault);
  }
  if (parser !== undefined) {
    built.argParser((text: string, before: unknown) => {
      const value = parser.parse(text, built.long ?? flags);
      return isArray(value) && isArray(before) ? [...before, ...value] : value;
    });
  }
  return spec.conflicts === undefined ? built : built.conflicts([...spec.conflicts]);
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function globalsOf(program: Command, stored: ReturnType<typeof storedValues>): Globals {
  const { json, wait, color = stored.color, ...given } = program.opts<GlobalInput>();
  return {
    ...UNSAID,
    ...stored,
    ...given,
    color: color === false ? 'never' : color,
    ...(json === true && { output: 'json' }),
    ...(wait !== undefined && { maxWait: wait ? FOREVER_MS : 0 }),
    timeoutIsExplicit: given.timeout !== undefined,
  };
}
