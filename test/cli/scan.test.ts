import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/errors.ts';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { commandsOf, grammarOf, type TreeOption } from '../../src/cli/help/tree.ts';
import { readRequest, resolveRequest } from '../../src/cli/parse.ts';
import { argumentsIn, Line } from '../../src/cli/scan.ts';
import { scaled } from '../support/scale.ts';

const TREE = await buildTree();
const GRAMMAR = grammarOf(TREE);
const scanLine = (line: string) => new Line(GRAMMAR, line.split(' ').filter(Boolean));

/** Each use of an option with its value, `true` without one; of a variadic, one for each value. */
function usesIn({ tokens }: Pick<Line<TreeOption>, 'tokens'>): [string, string | true][] {
  return tokens.flatMap((token, i): [string, string | true][] => {
    if (token.role === 'value') return [[token.option.flags, token.text]];
    const next = tokens[i + 1];
    const hasValue = next?.role === 'value';
    return token.role === 'option' && !hasValue ? [[token.option.flags, true]] : [];
  });
}

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
    ['proxy', 'proxy'],
    ['proxy token', 'proxy token'],
    ['proxy token add till-1', 'proxy token add'],
    ['proxy --read-only token', 'proxy'],
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

it.each(['limits -- -h --version --json', '--env -h', 'inventory list --pet --json', '-o --version'])(
  'petstore %s asks for neither help nor version nor JSON',
  (line) => {
    const scanned = scanLine(line);
    expect(['--help', '--version', '--json'].filter((name) => scanned.used(name) !== undefined)).toEqual([]);
  },
);

describe('a value that is missing', () => {
  it('is known, and so is that more may follow', () => {
    expect(scanLine('inventory list --sort')).toMatchObject({ pending: { flags: '--sort <field>' } });
    expect(scanLine('inventory list --pet 7')).toMatchObject({ variadic: { flags: '--pet <id...>' } });
    expect(scanLine('inventory list --pet 7 --')).toMatchObject({ isOver: true });
    expect(scanLine('inventory list --pet 7 --').variadic).toBeUndefined();
  });
});

const ODD_WORDS = ['', '-', '--', '-5', '-1.5e3', '-.5', '-5x', '-qv', '-qe', '-qo', '-qx', '-q5', '-q-', '-esandbox', '-ojson', '-e=x', '--env=', '--env=staging', '--json=x', '--=x', '--bogus', '-x', '-quantity', '7', 'nope', 'a b']; // prettier-ignore
const VALUES = ['sandbox', 'json', '7', '12', 'sold', 'quantity', '5s'];

/** Lines that name a command first, then have options of this and other commands, values and oddities. */
const LINES = fc.constantFrom(...commandsOf(TREE)).chain(({ path, options }) => {
  const names = [...options, ...TREE.globals].flatMap((option) => option.names);
  const word = fc.oneof(fc.constantFrom(...names), fc.constantFrom(...VALUES), fc.constantFrom(...ODD_WORDS));
  const common = fc.constantFrom('-q', '-qv', '--env=staging', '--json', '-esandbox', '--');
  return fc
    .tuple(fc.array(common, { maxLength: 2 }), fc.array(word, { maxLength: 5 }))
    .map(([before, after]) => [...before, ...path.split(' '), ...after]);
});

it('commander sees the options that the scanner sees', async () => {
  const commands = { loaders: LOADERS, tree: () => Promise.resolve(TREE) };
  const seen = { read: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(LINES, async (argv) => {
      const request = await readRequest(commands, argv);
      const { line } = request;
      const isRead = [line.unknown, line.pending, line.used('--help'), line.used('--version')].every((each) => each === undefined); // prettier-ignore
      if (!isRead) return;
      seen.read++;
      try {
        await resolveRequest(request, commands, 80);
      } catch (error) {
        if (!isFailure(error)) throw error;
        seen.refused++;
        expect(JSON.stringify(error.details)).not.toMatch(/[Uu]nknown option|needs a value|argument missing/);
      }
    }),
    { numRuns: scaled(5_000) },
  );
  expect(Math.min(seen.read - seen.refused, seen.refused)).toBeGreaterThan(scaled(200));
});
