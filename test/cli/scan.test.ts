import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/errors.ts';
import { LOADERS } from '../../src/commands/index.ts';
import { buildTree } from '../../src/commands/command-tree.ts';
import { commandsOf, grammarOf } from '../../src/cli/help/tree.ts';
import { readRequest, resolveRequest } from '../../src/cli/parse.ts';
import { argumentsIn, Line } from '../../src/cli/scan.ts';
import { scaled } from '../support/scale.ts';

const TREE = await buildTree();
const GRAMMAR = grammarOf(TREE);
const scanLine = (line: string) => new Line(GRAMMAR, line.split(' ').filter(Boolean));

// Which command and options other lines name is in usage.test.ts, and whether commander sees the same below.
it.each([
  ['proxy --read-only token', 'proxy', ['token']],
  ['inventory adjust 7 -3', 'inventory adjust', ['7', '-3']],
  ['inventory adjust 7 -1.5e3', 'inventory adjust', ['7', '-1.5e3']],
  ['inventory list --pet=7 8', 'inventory list', ['8']],
  ['inventory list --pet 7 8 -q 9', 'inventory list', ['9']],
  ['limits -- --json -h', 'limits', ['--json', '-h']],
  ['api GET -', 'api', ['GET', '-']],
])('petstore %s: %s with %j', (line, path, rest) => {
  const scanned = scanLine(line);
  expect([scanned.path, argumentsIn(scanned)]).toEqual([path, rest]);
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

const ODD_WORDS = ['', '-', '--', '-5', '-1.5e3', '-.5', '-5x', '-qv', '-qe', '-qo', '-qx', '-q5', '-q-', '-esandbox', '-ojson', '-o=json', '-e=x', '--env=', '--env=staging', '--json=x', '--=x', '--bogus', '-x', '-quantity', '7', 'nope', 'a b']; // prettier-ignore
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
