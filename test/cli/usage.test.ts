/** Lines that people type and commander alone would read otherwise. */
import { describe, expect, it } from 'vitest';
import { buildTree } from '../../src/commands/tree.ts';
import { helpText } from '../../src/cli/help/render.ts';
import { VERSION } from '../../src/version.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

const TREE = await buildTree();
const run = (line: string) => runIn(createTestContext(), ...line.split(' '));
const printed = (stdout: string) => ({ code: 0, stdout, stderr: '' });

describe('help and version', () => {
  it.each([
    ['-qe sandbox inventory set --help', 'inventory set'],
    ['--env sandbox inventory list --max 3 -h', 'inventory list'],
    ['inventory -qh', 'inventory'],
    ['--', ''],
    ['--env=sandbox', ''],
  ])('petstore %s prints the help of "%s"', async (line, path) => {
    expect(await run(line)).toEqual(printed(helpText(TREE, path, 80)));
  });

  it.each(['--env staging --version', 'inventory list -V', '-qV', 'nope --version', 'version'])(
    'petstore %s prints the version',
    async (line) => {
      expect(await run(line)).toEqual(printed(`${VERSION}\n`));
    },
  );
});

describe('what is refused', () => {
  it.each([
    ['-h nope', "Unknown command 'nope'.", 'See petstore --help.'],
    ['-h inventori', "Unknown command 'inventori'.", 'Did you mean inventory?'],
    ['inventory lst', "Unknown command 'lst'.", 'Did you mean list?'],
    ['inventory bogus list', "Unknown command 'bogus'.", 'See petstore inventory --help.'],
    ['--vresion', "Unknown option '--vresion'.", 'Did you mean --version?'],
    ['--sort quantity inventory list', "Unknown option '--sort'.", 'See petstore inventory list --help.'],
    ['limits --refrsh', "Unknown option '--refrsh'.", 'Did you mean --refresh?'],
    ['limits -qx', "Unknown option '-x'.", 'See petstore limits --help.'],
    ['inventory list --sort', "Option '--sort <field>' argument missing.", 'See petstore inventory list --help.'],
    ['inventory list -- --sort', "Too many arguments for 'list'. Expected 0 arguments but got 1.", 'See petstore inventory list --help.'],
    ['inventory set 7', "Missing required argument 'quantity'.", 'See petstore inventory set --help.'],
    ['inventory list --sort -qantity', '--sort is "-qantity", but must be one of petId, quantity, status, -petId, -quantity, -status.', undefined],
    ['limits --json=x', "Option '--json' takes no value.", 'See petstore limits --help.'],
  ])('petstore %s', async (line, problem, hint) => {
    const { code, stdout, stderr } = await run(line);
    const hints = hint === undefined ? '' : `hint: ${hint}\n`;
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${problem}\n${hints}` });
  }); // prettier-ignore

  it.each(['-qo json inventory lst', '-ojson nope', 'limits --bogus --output=ndjson', '--json --env nowhere limits'])(
    'petstore %s: as JSON',
    async (line) => {
      const { code, stderr } = await run(line);
      expect([code, JSON.parse(stderr)]).toEqual([2, { error: expect.objectContaining({ exitCode: 2 }) as unknown }]);
    },
  );
});

it('a value may look like an option', async () => {
  const context = createTestContext({ env: { PETSTORE_ENV: 'sandbox' } });
  const { code, stderr } = await runIn(context, 'inventory', 'import', '--journal', '-q', '--', '-v.csv');
  expect([code, stderr]).toEqual([3, expect.stringContaining('-v.csv')]);
});
