/** The commander tree, made from the command specs; and argv read with it. */
import { Command, CommanderError, Option } from 'commander';
import { type AnyCommand, countValue, durationValue, type OptionSpec, sizeValue, wordValue } from './command.ts';
import { COMMANDS, GROUPS } from './commands/index.ts';
import type { Globals } from './config/globals.ts';
import { ENVIRONMENTS } from './config/environments.ts';
import { FORMATS } from './view/view.ts';
import { usageFailure } from './usage.ts';
import { VERSION } from './version.ts';

const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '-e, --env <name>',
    description: `environment: ${ENVIRONMENTS.join(', ')}`,
    parse: wordValue('--env', ENVIRONMENTS),
  },
  { flags: '--base-url <url>', description: 'address of the service, ending in /v1' },
  {
    flags: '-o, --output <format>',
    description: FORMATS.join(', '),
    default: 'table',
    parse: wordValue('--output', FORMATS),
  },
  { flags: '--json', description: 'short for --output json', conflicts: ['output'] },
  {
    flags: '--color <when>',
    description: 'auto, always, never',
    default: 'auto',
    parse: wordValue('--color', ['auto', 'always', 'never']),
  },
  { flags: '--no-input', description: 'never ask; fail instead' },
  { flags: '-y, --yes', description: 'say yes to every question' },
  { flags: '-q, --quiet', description: 'no notes, no rate limits: data, warnings and errors only' },
  { flags: '-v, --verbose', description: 'one line on stderr for each request' },
  { flags: '--debug', description: 'as --verbose, and what went wrong inside' },
  { flags: '--show-limits', description: 'print the rate limit also where stderr is no terminal' },
  {
    flags: '--timeout <duration>',
    description: 'longest time one attempt waits for the service',
    default: 60_000,
    shownDefault: '60s',
    parse: durationValue('--timeout', 1),
  },
  {
    flags: '--max-wait <duration>',
    description: 'longest wait for a rate limit or a retry; beyond it, exit 6',
    default: 75_000,
    shownDefault: '75s',
    parse: durationValue('--max-wait', 0),
  },
  { flags: '--no-wait', description: 'short for --max-wait 0', conflicts: ['maxWait'] },
  {
    flags: '--reserve <requests>',
    description: "requests of the key's allowance to leave for others",
    parse: countValue('--reserve'),
  },
  {
    flags: '--deadline <duration>',
    description: 'longest time for the whole command (default: none)',
    parse: durationValue('--deadline', 1),
  },
  {
    flags: '--max-body <size>',
    description: 'largest response accepted, decoded',
    default: 256 * 2 ** 20,
    shownDefault: '256MiB',
    parse: sizeValue('--max-body'),
  },
  {
    flags: '--insecure-http',
    description: 'allow http beyond this machine; the key is readable on the way',
  },
];

/** What the flags above are when nobody gives them. */
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
export function parseArguments(argv: readonly string[], width: number): Invocation {
  let invocation: Invocation | undefined;
  let printed = '';
  const program = buildProgram(
    {
      width,
      print: (text) => {
        printed += text;
      },
    },
    (run) => (invocation = run),
  );
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (isHelp(error)) return { does: 'print', text: printed };
    throw usageFailure(error, argv);
  }
  if (invocation === undefined) return { does: 'print', text: program.helpInformation() };
  return helpOf(invocation, program) ?? invocation;
}

function buildProgram(
  screen: { width: number; print: (text: string) => void },
  onRun: (run: Invocation) => void,
): Command {
  const program = new Command('petstore')
    .description('Inventory of a pet store: exact ids, safe writes, and a key that cannot get itself banned.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpCommand(false);
  configure(program, screen);
  for (const spec of GLOBAL_OPTIONS) program.addOption(option(spec));
  const groups = new Map<string, Command>();
  for (const spec of COMMANDS) {
    const [name, group] = spec.path.split(' ').reverse() as [string, string | undefined];
    const parent = group === undefined ? program : (groups.get(group) ?? addGroup(program, group, screen));
    if (group !== undefined) groups.set(group, parent);
    parent.addCommand(buildCommand(name, spec, program, screen, onRun));
  }
  program.addHelpText('after', '\nTry it without an account: petstore --env sandbox inventory list\n');
  return program;
}

function configure(command: Command, screen: { width: number; print: (text: string) => void }): Command {
  return command
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    .configureOutput({
      writeOut: screen.print,
      // Help that commander thinks an error is help all the same; errors themselves are reported by us.
      writeErr: screen.print,
      outputError: () => undefined,
      getOutHelpWidth: () => screen.width,
      getErrHelpWidth: () => screen.width,
    })
    .showSuggestionAfterError();
}

function addGroup(program: Command, name: string, screen: Parameters<typeof configure>[1]): Command {
  const group = configure(new Command(name).description(GROUPS[name] ?? '').helpCommand(false), screen);
  program.addCommand(group);
  return group;
}

function buildCommand(
  name: string,
  spec: AnyCommand,
  program: Command,
  screen: Parameters<typeof configure>[1],
  onRun: (run: Invocation) => void,
): Command {
  const command = configure(new Command(name), screen)
    .summary(spec.summary)
    .description([spec.summary + '.', spec.description].filter(Boolean).join('\n\n'))
    .configureHelp({ showGlobalOptions: true });
  const specified = spec.arguments ?? [];
  for (const each of specified) {
    const words = each.variadic === true ? `${each.name}...` : each.name;
    command.argument(each.optional === true ? `[${words}]` : `<${words}>`, each.description);
  }
  for (const each of spec.options ?? []) command.addOption(option(each));
  const examples = spec.examples.map(({ says, command: line }) => `  # ${says}\n  $ ${line}`).join('\n');
  command.addHelpText('after', `\nExamples:\n${examples}\n`);
  return command.action(() => {
    const values = specified.map((each, i) => {
      const value: unknown = command.processedArgs[i];
      return [each.name, typeof value === 'string' && each.parse !== undefined ? each.parse(value) : value] as const;
    });
    const input = { ...Object.fromEntries(values), ...command.opts() };
    onRun({ does: 'run', command: spec, input, globals: globalsOf(program) });
  });
}

function option(spec: OptionSpec): Option {
  const built = new Option(spec.flags, spec.description);
  if (spec.default !== undefined) {
    built.default(spec.default, spec.shownDefault);
  }
  const { parse } = spec;
  if (parse !== undefined) {
    built.argParser((text: string, before: unknown) => parse(text, before === spec.default ? undefined : before));
  }
  return spec.conflicts === undefined ? built : built.conflicts([...spec.conflicts]);
}

function globalsOf(program: Command): Globals {
  const { json, wait, ...values } = program.opts<Globals & { json?: boolean; wait: boolean }>();
  return {
    ...OFF,
    ...values,
    output: json === true ? 'json' : values.output,
    maxWait: wait ? values.maxWait : 0,
    saidTimeout: program.getOptionValueSource('timeout') === 'cli',
  };
}

function isHelp(error: CommanderError): boolean {
  return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(error.code);
}

/** `petstore help inventory set` is `petstore inventory set --help`. */
function helpOf(invocation: Invocation, program: Command): Invocation | undefined {
  if (invocation.does !== 'run' || invocation.command.path !== 'help') return undefined;
  const { topic } = invocation.input as { topic: readonly string[] };
  let command: Command | undefined = program;
  for (const word of topic) command = command?.commands.find((each) => each.name() === word);
  if (command === undefined) return undefined;
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more) });
  command.outputHelp();
  return { does: 'print', text };
}
