import { Command, CommanderError, Option } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildTree } from '../../src/commands/tree.ts';
import { commandsOf, grammarOf, optionsAt, type TreeOption } from '../../src/cli/help/tree.ts';
import { type Line, scan, shapeOf } from '../../src/cli/scan.ts';
import { scaled } from '../support/scale.ts';

const TREE = await buildTree();
const GRAMMAR = grammarOf(TREE);
const scanLine = (line: string) => scan(GRAMMAR, line.split(' ').filter(Boolean));

/** Each use of an option with its value, `true` without one; of a variadic, one for each value. */
function usesIn({ tokens }: Pick<Line<TreeOption>, 'tokens'>): [string, string | true][] {
  return tokens.flatMap((token, i): [string, string | true][] => {
    if (token.role === 'value') return [[token.option.flags, token.text]];
    const next = tokens[i + 1];
    const hasValue = next?.role === 'value';
    return token.role === 'option' && !hasValue ? [[token.option.flags, true]] : [];
  });
}

const argumentsIn = ({ tokens }: Line<TreeOption>): string[] =>
  tokens.flatMap(({ role, text }) => (role === 'argument' ? [text] : []));

describe('the command that a line names', () => {
  it.each([
    ['', ''],
    ['inventory', 'inventory'],
    ['inventory list', 'inventory list'],
    ['--env sandbox inventory list', 'inventory list'],
    ['-qe sandbox inventory set 7 12', 'inventory set'],
    ['-esandbox limits', 'limits'],
    ['--env=sandbox limits', 'limits'],
    ['inventory --env sandbox list', 'inventory list'],
    ['--env inventory list', ''],
    ['-- inventory list', 'inventory list'],
    ['help inventory set', 'help'],
    ['nope inventory', ''],
    ['inventory nope list', 'inventory'],
    ['constructor', ''],
  ])('petstore %s: %s', (line, path) => {
    expect(scanLine(line).path).toBe(path);
  });
});

describe('what the words after it are', () => {
  it.each<[string, [string, string | true][], string[]]>([
    ['inventory list --sort -quantity', [['--sort <field>', '-quantity']], []],
    ['inventory list --pet -h', [['--pet <id...>', '-h']], []],
    [
      'inventory list --pet 7 8 -q 9',
      [
        ['--pet <id...>', '7'],
        ['--pet <id...>', '8'],
        ['-q, --quiet', true],
      ],
      ['9'],
    ],
    ['inventory list --pet=7 8', [['--pet <id...>', '7']], ['8']],
    ['inventory list --watch 5s', [['--watch [interval]', '5s']], []],
    [
      'inventory list --watch --desc',
      [
        ['--watch [interval]', true],
        ['--desc', true],
      ],
      [],
    ],
    ['inventory adjust 7 -3', [], ['7', '-3']],
    ['inventory adjust 7 -1.5e3', [], ['7', '-1.5e3']],
    ['inventory set 7 -- -x', [], ['7', '-x']],
    ['limits -- --json -h', [], ['--json', '-h']],
    ['api GET -', [], ['GET', '-']],
    [
      '-qv5 limits',
      [
        ['-q, --quiet', true],
        ['-v, --verbose', true],
      ],
      [],
    ],
    [
      'limits -qv5',
      [
        ['-q, --quiet', true],
        ['-v, --verbose', true],
      ],
      ['5'].map((digit) => `-${digit}`),
    ],
  ])('petstore %s', (line, uses, rest) => {
    expect([usesIn(scanLine(line)), argumentsIn(scanLine(line))]).toEqual([uses, rest]);
  });
});

describe('help, version and format', () => {
  it.each<[string, Partial<Line<TreeOption>>]>([
    ['-h', { help: '-h', version: false }],
    ['inventory set --help', { help: '--help' }],
    ['-qh', { help: '-h' }],
    ['-qe sandbox inventory set --help', { help: '--help', path: 'inventory set' }],
    ['--env staging --version', { version: true }],
    ['limits -V', { version: true }],
    ['-qo json inventory lst', { format: 'json' }],
    ['-ojson inventory lst', { format: 'json' }],
    ['--output=ndjson inventory lst', { format: 'ndjson' }],
    ['-o csv -o json', { format: 'json' }],
    ['inventory lst --json', { format: 'json' }],
  ])('petstore %s', (line, expected) => {
    expect(scanLine(line)).toMatchObject(expected);
  });

  it.each(['limits -- -h --version --json', '--env -h', 'inventory list --pet --json', '-o --version'])(
    'petstore %s asks for none',
    (line) => {
      const { help, version, format } = scanLine(line);
      expect([help, version, format === 'json']).toEqual([undefined, false, false]);
    },
  );
});

describe('the first unknown word', () => {
  it.each<[string, Line<TreeOption>['unknown']]>([
    ['-h nope', { kind: 'command', text: 'nope', path: '' }],
    ['inventory lst --bogus', { kind: 'command', text: 'lst', path: 'inventory' }],
    ['--bogus lst', { kind: 'option', text: '--bogus', path: '' }],
    ['inventory list --json=x', { kind: 'option', text: '--json=x', path: 'inventory list' }],
    ['--sort quantity inventory list', { kind: 'option', text: '--sort', path: '' }],
    ['limits -qx', { kind: 'option', text: '-x', path: 'limits' }],
    ['inventory -5', { kind: 'option', text: '-5', path: 'inventory' }],
    ['inventory list more', undefined],
  ])('petstore %s', (line, unknown) => {
    expect(scanLine(line).unknown).toEqual(unknown);
  });

  it('differs from a missing value', () => {
    expect(scanLine('inventory list --sort')).toMatchObject({ pending: { flags: '--sort <field>' } });
    expect(scanLine('inventory list --pet 7')).toMatchObject({ variadic: { flags: '--pet <id...>' } });
    expect(scanLine('inventory list --pet 7 --')).toMatchObject({ isOver: true });
    expect(scanLine('inventory list --pet 7 --').variadic).toBeUndefined();
  });
});

it.each([
  ['-e, --env <name>', { names: ['-e', '--env'], valueName: 'name', value: { optional: false, variadic: false } }],
  ['--watch [interval]', { names: ['--watch'], valueName: 'interval', value: { optional: true, variadic: false } }],
  ['--pet <id...>', { names: ['--pet'], valueName: 'id', value: { optional: false, variadic: true } }],
  ['--no-header', { names: ['--no-header'] }],
])('the flags %s', (flags, shape) => {
  expect(shapeOf(flags)).toEqual(shape);
});

interface Reading {
  readonly path?: string;
  readonly uses: readonly [string, string | true][];
  readonly rest: readonly string[];
  readonly error?: string;
  readonly message?: string;
}

/** Commander's own tree of commands, where the options after a command are that command's; it can read many lines. */
function commanderReader(): (argv: readonly string[]) => Reading {
  let reading: { path?: string; uses: [string, string | true][]; rest: readonly string[] };
  const dress = (command: Command, at: string): Command => {
    command.helpOption(false).helpCommand(false).exitOverride().enablePositionalOptions();
    command.configureOutput({ writeErr: () => undefined, outputError: () => undefined });
    for (const { flags } of optionsAt(TREE, at)) {
      const option = new Option(flags);
      command.addOption(option);
      command.on(`option:${option.name()}`, (value: string | null | undefined) => {
        reading.uses.push([flags, value ?? true]);
      });
    }
    return command;
  };
  const program = dress(new Command('petstore'), '');
  const groups = new Map<string, Command>([['', program]]);
  for (const { path } of commandsOf(TREE)) {
    const [name = '', group = ''] = path.split(' ').reverse();
    const parent = groups.get(group) ?? dress(program.command(group), group);
    groups.set(group, parent);
    dress(parent.command(name), path)
      .allowExcessArguments()
      .action(function (this: Command) {
        reading = { ...reading, path, rest: this.args };
      });
  }
  return (argv) => {
    reading = { uses: [], rest: [] };
    try {
      program.parse(argv, { from: 'user' });
      return reading;
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      return { ...reading, error: error.code, message: error.message };
    }
  };
}

/** mulberry32: the same lines for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let a = seed;
  return (below) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const ODD_WORDS = ['', '-', '--', '-5', '-1.5e3', '-.5', '-5x', '-qv', '-qe', '-qo', '-qh', '-qx', '-q5', '-q-', '-esandbox', '-ojson', '-e=x', '--env=', '--env=staging', '--json=x', '--=x', '-h', '--help', '-V', '--bogus', '-x', '-quantity', '7', 'nope', 'a b']; // prettier-ignore

/** Lines of commands, options of any command, values and oddities; most name a command first. */
function randomLine(random: (below: number) => number): string[] {
  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!;
  const commands = commandsOf(TREE);
  const { path, options } = pick(commands);
  const word = (): string => {
    switch (random(8)) {
      case 0:
      case 1:
        return pick([...pick([options, options, pick(commands).options]), TREE.globals[0]!]).names[0]!;
      case 2:
        return pick(TREE.globals).names.at(-1)!;
      case 3:
        return pick(pick(commands).path.split(' '));
      case 4:
      case 5:
        return pick(['sandbox', 'json', '7', '12', 'sold', 'quantity', '5s']);
      default:
        return pick(ODD_WORDS);
    }
  };
  const some = (most: number): string[] => Array.from({ length: random(most + 1) }, word);
  const [first = '', second] = path.split(' ');
  if (random(10) === 0) return some(6);
  return [...(random(2) === 0 ? some(2) : []), first, ...(random(4) === 0 ? some(1) : []), ...(second === undefined ? [] : [second]), ...some(5)]; // prettier-ignore
}

it('reads a line as commander does', () => {
  const random = randomFrom(Number(process.env.PETSTORE_FUZZ_SEED ?? 1));
  const readWithCommander = commanderReader();
  const seen = { accepted: 0, refused: 0 };
  for (let i = 0; i < scaled(10_000); i++) {
    const argv = randomLine(random);
    const reading = readWithCommander(argv);
    const line = scan(GRAMMAR, argv);
    const input = JSON.stringify(argv);
    if (reading.path !== undefined) {
      seen.accepted++;
      expect([input, line.path, line.isCommand, line.unknown, line.pending]).toEqual([input, reading.path, true, undefined, undefined]); // prettier-ignore
      expect([input, usesIn(line), argumentsIn(line)]).toEqual([input, reading.uses, reading.rest]);
    } else {
      seen.refused++;
      const { pending, unknown, isCommand } = line;
      const reasons = [
        ...(pending === undefined ? [] : ['commander.optionMissingArgument']),
        ...(unknown === undefined ? [] : [`commander.unknown${unknown.kind === 'option' ? 'Option' : 'Command'}`]),
        ...(isCommand || pending !== undefined || unknown !== undefined ? [] : ['commander.help']),
      ];
      expect([input, reasons]).not.toEqual([input, []]);
      // What follows an unknown word is read for help and format, where commander stops or reads another command.
      if (unknown === undefined) expect([input, reasons]).toEqual([input, [reading.error]]);
      else if (reading.error !== 'commander.optionMissingArgument') {
        expect([input, reasons.at(-1)]).toEqual([input, reading.error]);
        expect(reading.message).toContain(`'${unknown.text}'`);
      }
    }
  }
  expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(scaled(1_000));
}, 120_000);
