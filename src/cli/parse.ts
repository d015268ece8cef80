/** The commander tree, made from the command specs; and argv read with it. */
import { Command, CommanderError, Option } from 'commander';
import { type AnyCommand, argumentsOf, type OptionSpec, optionsOf } from './command.ts';
import { LOADERS } from '../commands/load.ts';
import { FOREVER_MS } from '../duration.ts';
import { GLOBAL_OPTIONS, type GlobalInput } from './global-options.ts';
import type { Globals } from '../session/globals.ts';
import { VERSION } from '../version.ts';

/** What the flags are when nobody gives them. */
const OFF = {
  reserve: 0,
  yes: false,
  quiet: false,
  verbose: false,
  debug: false,
  showLimits: false,
  insecureHttp: false,
};

export type Invocation =
  | { readonly does: 'run'; readonly command: AnyCommand; readonly input: object; readonly globals: Globals }
  | { readonly does: 'print'; readonly text: string };

/** @throws {Failure} `usage`, `invalid-value` */
export async function parseArguments(argv: readonly string[], width: number): Promise<Invocation> {
  const path = commandIn(argv);
  if (path === undefined || argv.some((word) => word === '-h' || word === '--help')) {
    const { helpFor } = await import('./help/answer.ts');
    const text = await helpFor(argv, width);
    if (text !== undefined) return { does: 'print', text };
  }
  // A name such as `constructor` is in every object, but is no command.
  const load = Object.hasOwn(LOADERS, path ?? '') ? LOADERS[path ?? ''] : undefined;
  // A line that names no command is wrong in some way, which is told by a tree that has all of them.
  const commands = load === undefined ? (await import('../commands/index.ts')).COMMANDS : [await load()];
  const invocation = await read(argv, commands);
  return (await helpOf(invocation, width)) ?? invocation;
}

/** The path of the command that the line names, if it gets so far. */
function commandIn(argv: readonly string[]): string | undefined {
  let path = '';
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!;
    if (word.startsWith('-')) {
      const known = GLOBAL_OPTIONS.find(({ flags }) => flags.split(/[ ,]+/).includes(word));
      if (known?.flags.endsWith('>') === true) i++;
      continue;
    }
    path = path === '' ? word : `${path} ${word}`;
    if (path in LOADERS) return path;
  }
  return undefined;
}

async function read(argv: readonly string[], commands: readonly AnyCommand[]): Promise<Invocation> {
  let invocation: Invocation | undefined;
  let printed = '';
  const program = buildProgram(
    commands,
    (text) => {
      printed += text;
    },
    (run) => (invocation = run),
  );
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.version') return { does: 'print', text: printed };
    const { usageFailure } = await import('./usage-errors.ts');
    throw usageFailure(error, argv);
  }
  if (invocation === undefined) throw new Error('commander ran no command, and threw nothing');
  return invocation;
}

function buildProgram(
  commands: readonly AnyCommand[],
  print: (text: string) => void,
  onRun: (run: Invocation) => void,
): Command {
  const program = new Command('petstore').version(VERSION, '-V, --version').helpCommand(false);
  configure(program, print);
  for (const spec of GLOBAL_OPTIONS) program.addOption(option(spec));
  const groups = new Map<string, Command>();
  for (const spec of commands) {
    const [name, group] = spec.path.split(' ').reverse() as [string, string | undefined];
    const parent = group === undefined ? program : (groups.get(group) ?? addGroup(program, group, print));
    if (group !== undefined) groups.set(group, parent);
    parent.addCommand(buildCommand(name, spec, program, print, onRun));
  }
  return program;
}

/** Help is ours (help/); commander reads the line, and tells what is wrong with it. */
function configure(command: Command, print: (text: string) => void): Command {
  return command
    .helpOption(false)
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: () => undefined, outputError: () => undefined })
    .showSuggestionAfterError();
}

function addGroup(program: Command, name: string, print: (text: string) => void): Command {
  const group = configure(new Command(name).helpCommand(false), print);
  program.addCommand(group);
  return group;
}

function buildCommand(
  name: string,
  spec: AnyCommand,
  program: Command,
  print: (text: string) => void,
  onRun: (run: Invocation) => void,
): Command {
  const command = configure(new Command(name), print);
  const specified = argumentsOf(spec);
  for (const each of specified) {
    const words = each.variadic === true ? `${each.name}...` : each.name;
    command.argument(each.optional === true ? `[${words}]` : `<${words}>`, each.description);
  }
  for (const each of optionsOf(spec)) command.addOption(option(each));
  return command.action(() => {
    const input: Record<string, unknown> = { ...command.opts() };
    for (const [i, { name, parser }] of specified.entries()) {
      const given: unknown = command.processedArgs[i];
      if (isArray(given)) input[name] = given.flatMap((each) => parser.parse(String(each), name));
      else if (typeof given === 'string') input[name] = parser.parse(given, name);
    }
    onRun({ does: 'run', command: spec, input, globals: globalsOf(program) });
  });
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

function globalsOf(program: Command): Globals {
  const { json, wait, ...values } = program.opts<GlobalInput>();
  return {
    ...OFF,
    ...values,
    output: json === true ? 'json' : values.output,
    maxWait: wait === undefined ? values.maxWait : wait ? FOREVER_MS : 0,
    timeoutIsExplicit: program.getOptionValueSource('timeout') === 'cli',
  };
}

/** `petstore help inventory set` is `petstore inventory set --help`; `petstore help` alone is that of all. */
async function helpOf(invocation: Invocation, width: number): Promise<Invocation | undefined> {
  if (invocation.does !== 'run' || invocation.command.path !== 'help') return undefined;
  const { topic } = invocation.input as { topic: readonly string[] };
  const { helpOn } = await import('./help/answer.ts');
  const text = await helpOn(topic.join(' '), width);
  return text === undefined ? undefined : { does: 'print', text };
}
