/** Turns a scanned command line into the call of a command, or into text to print. */
import { Command, CommanderError, Option } from 'commander';
import type { AnyCommand, NamedOption } from './command.ts';
import { FOREVER_MS } from '../duration.ts';
import { usageFailure } from '../errors.ts';
import { GLOBAL_OPTIONS, type GlobalInput } from './global-options.ts';
import type { Tree } from './help/tree.ts';
import { argumentsIn, helpWanted, Line } from './scan.ts';
import type { Globals } from '../session/globals.ts';
import { type Stored, type StoredValues, storedValues } from '../session/settings.ts';
import type { Parser } from '../value-parsers.ts';
import { VERSION } from '../version.ts';

type Values = Record<string, unknown>;

/** The program's commands. Each is loaded only when a line names it. */
export interface Commands {
  /** Path -> loader of the command. */
  readonly loaders: Readonly<Record<string, () => Promise<AnyCommand>>>;
  /** Returns all commands as plain data. */
  tree(): Promise<Tree>;
}

/** A scanned line, with the command that it names. */
export interface Request {
  readonly line: Line<NamedOption>;
  readonly command?: AnyCommand;
}

export interface RunInvocation {
  readonly command: Pick<AnyCommand, 'path' | 'graceMs' | 'run'>;
  readonly input: object;
  readonly globals: Globals;
}

/** Scans the line, then once more with the options of the command that it names. */
export async function readRequest({ loaders }: Commands, argv: readonly string[]): Promise<Request> {
  const commands = Object.keys(loaders);
  const line = new Line({ commands, optionsAt: () => GLOBAL_OPTIONS }, argv);
  const command = line.isCommand ? await loaders[line.path]?.() : undefined;
  if (command === undefined) return { line };
  const all = [...command.options, ...GLOBAL_OPTIONS];
  const optionsAt = (path: string): readonly NamedOption[] => (path === line.path ? all : GLOBAL_OPTIONS);
  return { command, line: new Line({ commands, optionsAt }, argv) };
}

/** Returns the call of a command, or a text if the line only asks for that. @throws {Failure} `usage`, `invalid-value` */
export async function resolveRequest(
  { line, command }: Request,
  commands: Commands,
  width: number,
  stored: Stored = { env: {}, config: {} },
): Promise<RunInvocation | string> {
  if (helpWanted(line) !== undefined || line.path === 'help') {
    const { helpFor } = await import('./help/render.ts');
    const help = helpFor(await commands.tree(), line.argv, width);
    if (help !== undefined) return help;
  }
  if (line.used('--version') !== undefined) return `${VERSION}\n`;
  if (command === undefined || line.unknown !== undefined || line.pending !== undefined) {
    throw (await import('./usage-errors.ts')).scanFailure(line, await commands.tree());
  }
  try {
    const { input, given } = valuesOn(line, command);
    const isConfig = command.path.startsWith('config ');
    const values = storedValues(stored, (option) => isConfig || option in given);
    if (command.path === 'help')
      (await import('./usage-errors.ts')).requireTopic(argumentsIn(line), await commands.tree());
    return { command, input, globals: globalsOf(given, values) };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw (await import('./usage-errors.ts')).valueFailure(error, line);
  }
}

/** Returns the call for an invalid line: it only fails, in the way that the valid common options say. */
export function failedInvocation(error: unknown, line: Request['line'] | undefined, stored: Stored): RunInvocation {
  const given: Values = {};
  for (const token of line?.tokens ?? []) {
    if (!('option' in token) || token.option.isCommon !== true) continue;
    const { name, names, parser } = token.option;
    try {
      if (token.role === 'value') given[name] = parser?.parse(token.text, name);
      else if (parser === undefined) given[name] = !names[0]!.startsWith('--no-');
    } catch {
      // Perhaps this is the error.
    }
  }
  const run = (): never => {
    throw error;
  };
  const values = storedValues(stored, () => true);
  return { command: { path: line?.path ?? '', run }, input: {}, globals: globalsOf(given, values) };
}

/**
 * Lets commander parse the words after the command's name: its input, and the common options that were given.
 * @throws {CommanderError | Failure}
 */
function valuesOn(line: Line<NamedOption>, spec: AnyCommand): { input: Values; given: Values } {
  // Commander only parses and validates; help text is rendered in help/.
  const command = new Command(spec.path.replace(/^.* /, ''))
    .helpOption(false)
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined });
  // It names a command in its messages only if it has a parent.
  new Command('petstore').addCommand(command);
  // Only options on the line: making all of them takes longer than reading the line.
  const used = line.tokens.filter((token) => 'option' in token);
  // Of two with one name, such as the --log of a server, the last counts.
  const options = [...new Map(used.map(({ option }) => [option.names.at(-1), option] as const)).values()];
  for (const each of options) {
    const { flags, parser, conflicts = [] } = each;
    const option = new Option(flags).conflicts(conflicts.map((name) => keyOf({ ...each, name })));
    option.attributeName = () => keyOf(each);
    command.addOption(parser === undefined ? option : option.argParser(reading(parser, option.long ?? flags)));
  }
  const { arguments: all } = spec;
  const [first, second] = all;
  // The first argument may be omitted before a required one: `api [method] <path>`.
  const isShort = first?.optional === true && second !== undefined && second.optional !== true;
  const specified = isShort && argumentsIn(line).length < all.length ? all.slice(1) : all;
  for (const { name, optional, variadic, parser } of specified) {
    const words = variadic === true ? `${name}...` : name;
    command.argument(optional === true ? `[${words}]` : `<${words}>`, '', reading(parser, name));
  }
  const path = line.tokens.flatMap(({ role, index }) => (role === 'command' ? [index] : []));
  const words = line.argv.filter((_word, i) => !path.includes(i));
  command.parse(words, { from: 'user' });
  const values: { input: Values; given: Values } = { input: {}, given: {} };
  for (const { name, flags, parser, default: value } of spec.options) {
    if (value !== undefined) values.input[name] = parser?.parse(String(value), flags) ?? value;
  }
  for (const each of options) {
    values[each.isCommon ? 'given' : 'input'][each.name] = command.getOptionValue(keyOf(each));
  }
  for (const { names, needs } of options) {
    if (needs === undefined || needs in values.input) continue;
    throw usageFailure(`${names.at(-1)!} needs ${spec.options.find(({ name }) => name === needs)!.flags}.`);
  }
  for (const [i, { name }] of specified.entries()) {
    const value: unknown = command.processedArgs[i];
    if (value !== undefined) values.input[name] = value;
  }
  return values;
}

/** Returns a parser for commander, which calls it for each value of a list. */
function reading({ parse }: Parser, name: string) {
  return (text: string, before: unknown): unknown => {
    const value = parse(text, name);
    return Array.isArray(value) && before !== undefined ? (before as unknown[]).concat(value) : value;
  };
}

/** Returns the name under which commander stores an option's value. */
function keyOf({ name, isCommon }: Pick<NamedOption, 'name' | 'isCommon'>): string {
  return isCommon ? `common ${name}` : name;
}

function globalsOf(values: Values, stored: StoredValues): Globals {
  const { json, wait, color = stored.color, ...given } = values as Partial<GlobalInput>;
  return {
    ...stored,
    ...given,
    verbose: given.verbose ?? given.debug ?? false,
    color: color === false ? 'never' : color,
    ...(json === true && { output: 'json' }),
    ...(wait !== undefined && { maxWait: wait ? FOREVER_MS : 0 }),
  };
}
