/** Lines that people type and that commander alone would misread. */
import { describe, expect, it } from 'vitest';
import { buildTree } from '../../src/commands/command-tree.ts';
import { helpText } from '../../src/cli/help/render.ts';
import { commandsOf } from '../../src/cli/help/tree.ts';
import { suggestCommand } from '../../src/cli/usage-errors.ts';
import { VERSION } from '../../src/version.ts';
import { runIn } from '../support/in-process.ts';
import { createTestContext } from '../support/test-context.ts';

const TREE = await buildTree();
const run = (line: string) => runIn(createTestContext(), ...line.split(' ').filter(Boolean));
const printed = (stdout: string) => ({ code: 0, stdout, stderr: '' });

describe('help and version', () => {
  it.each([
    ['', { path: '' }],
    ['-h', { path: '', isShort: true }],
    ['-h --env', { path: '' }],
    ['--env inventory', { path: '' }],
    ['-qe sandbox inventory set --help', { path: 'inventory set' }],
    ['--env sandbox inventory list --max 3 -h', { path: 'inventory list', isShort: true }],
    ['-h inventory list', { path: 'inventory list', isShort: true }],
    ['inventory list --watch -h', { path: 'inventory list', isShort: true }],
    ['smoke --help --bogus', { path: 'smoke' }],
    ['inventory', { path: 'inventory' }],
    ['inventory -qh', { path: 'inventory' }],
    ['--', { path: '' }],
    ['--env=sandbox', { path: '' }],
    ['help', { path: '' }],
    ['help inventory', { path: 'inventory' }],
    ['help inventory set', { path: 'inventory set' }],
    ['-q help inventory set', { path: 'inventory set' }],
    ['help options', { path: 'options' }],
  ])('petstore %s prints the help of $path', async (line, wanted) => {
    expect(await run(line)).toEqual(printed(helpText(TREE, wanted, 80)));
  });

  it.each(['--env staging --version', 'inventory --version', 'inventory list -V', '-qV', 'nope --version', 'version'])(
    'petstore %s prints the version',
    async (line) => {
      expect(await run(line)).toEqual(printed(`${VERSION}\n`));
    },
  );
});

describe('what is refused', () => {
  it.each([
    ['-h nope', "Unknown command 'nope'.", 'See: petstore --help'],
    ['-h inventori', "Unknown command 'inventori'.", 'Did you mean petstore inventory?'],
    ['set 7 12', "Unknown command 'set'.", 'Did you mean petstore inventory set?'],
    ['config edit', "Unknown command 'edit'.", 'See: petstore config --help'],
    ['catalog undo', "Unknown command 'undo'.", 'See: petstore catalog --help'],
    ['inventory bogus list', "Unknown command 'bogus'.", 'See: petstore inventory --help'],
    ['--sort quantity inventory list', "Unknown option '--sort'.", 'Put --sort after the command, inventory list.'],
    ['inventory adjust 7 -.5x', '-.5x is not a whole number.', 'See: petstore inventory adjust --help'],
    ['inventory adjust 7 -1O', '-1O is not a whole number.', 'See: petstore inventory adjust --help'],
    ['limits -q=1', "Option '-q' takes no value.", 'See: petstore limits --help'],
    ['limits -qx', "Unknown option '-x'.", 'See: petstore limits --help'],
    ['inventory adjust 7 -qy3', "Unknown option '-y3'.", 'See: petstore inventory adjust --help'],
    ['inventory list --sort', "Option '--sort' needs a value.", 'See: petstore inventory list --help'],
    ['inventory adjust 7 -1 --note --dry-run', "Option '--note' needs a value.", 'See: petstore inventory adjust --help'],
    ['inventory adjust 7 -1 --log -y', "Option '--log' needs a value.", 'See: petstore inventory adjust --help'],
    ['--env', "Option '--env' needs a value.", 'See: petstore --help'],
    ['-e= limits', "Option '--env' needs a value.", 'See: petstore limits --help'],
    ['inventory -o', "Option '--output' needs a value.", 'See: petstore inventory --help'],
    ['inventory list -- --sort', 'petId must be a pet ID such as 7 (a name goes with --name), not "--sort".', undefined],
    ['inventory set 7', "Missing required argument 'quantity'.", 'See: petstore inventory set --help'],
    ['inventory list --sort -qantity', '--sort must be one of petId, quantity, status, -petId, -quantity, -status, name, -name, not "-qantity".', undefined],
    ['limits --json=x', "Option '--json' takes no value.", 'See: petstore limits --help'],
    ['inventory list --no-header=1', "Option '--no-header' takes no value.", 'See: petstore inventory list --help'],
    ['-e sandbox inventory list --quantity 5', "Unknown option '--quantity'.", 'See: petstore inventory list --help'],
    ['inventory list --log=', '--log must be a path, not "".', undefined],
    ['proxy --log=', '--log must be a path, not "".', undefined],
    ['sandbox serve --seed=', '--seed must be a path, not "".', undefined],
    ['inventory history --person=', '--person must be a name, not "".', undefined],
    ['inventory list --env s', '--env must be one of production, staging, sandbox, not "s".', undefined],
    ['inventory list --env ST', '--env must be one of production, staging, sandbox, not "ST".', 'Did you mean staging?'],
    ['inventory history --since 2026', '--since must be a date, a date and time, or a duration such as 2h or 7d, not "2026".', undefined],
    ['inventory history --since 2026-03-02T25:00', '--since must be a date, a date and time, or a duration such as 2h or 7d, not "2026-03-02T25:00".', undefined],
    ['wait --interval 99ms', '--interval must be a duration such as 30s, 5m or 2h, of at least 100ms, not "99ms".', undefined],
    ['inventory list --max-wait=', '--max-wait must be a duration such as 30s, 5m or 2h, or forever, not "".', undefined],
    ['inventory list --wait --max-wait 1h', '--wait and --max-wait cannot be used together.', 'See: petstore inventory list --help'],
    ['inventory list --no-wait --max-wait 5s', '--no-wait and --max-wait cannot be used together.', 'See: petstore inventory list --help'],
    ['inventory set 7 12 --expect 10 --no-read-first', '--expect and --no-read-first cannot be used together.', 'See: petstore inventory set --help'],
    ['api get /x --jq .', "Unknown option '--jq'.", 'See: petstore api --help'],
  ])('petstore %s', async (line, problem, hint) => {
    const { code, stdout, stderr } = await run(line);
    const hints = hint === undefined ? '' : `hint: ${hint}\n`;
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `error: ${problem}\n${hints}` });
  }); // prettier-ignore

  it.each(['-qo json inventory lst', '-o=json nope', 'limits --bogus --output=ndjson', '--json --env nowhere limits'])(
    'petstore %s: as JSON',
    async (line) => {
      const { code, stderr } = await run(line);
      expect([code, JSON.parse(stderr)]).toEqual([2, { error: expect.objectContaining({ exitCode: 2 }) as unknown }]);
    },
  );
});

describe('what is suggested', () => {
  it.each([
    ['inventory lst', 'petstore inventory list'],
    ['--help inventory lst', 'petstore inventory list'],
    ['list', 'petstore inventory list'],
    ['inventory export', 'petstore inventory list'],
    ['catalog export', 'petstore catalog list'],
    ['ls', 'petstore inventory list'],
    ['show', 'petstore inventory list'],
    ['get 7', 'petstore inventory get'],
    ['inventory gte 7', 'petstore inventory get'],
    ['invetory lst', 'petstore inventory list'],
    ['confg list', 'petstore config list'],
    ['invetory sett 7 12', 'petstore inventory set'],
    ['invetory nonsense', 'petstore inventory'],
    ['config show', 'petstore config list'],
    ['-e sandbox set 7 12 --json', 'petstore --env sandbox inventory set'],
    ['set --help', 'petstore inventory set'],
    ['set 7 sk_12 --env sandbox', 'petstore --env sandbox inventory set'],
    ['-e berlin/staging inventroy undo', 'petstore --env berlin/staging inventory undo'],
    ['--profile a;b inventory lst', 'petstore inventory list'],
    ['--base-url https://a:b@pets.example/v1 set 7 12', 'petstore inventory set'],
    ['inventory sett 7 12', 'petstore inventory set'],
    ['sandbox set 7 12', 'petstore --env sandbox inventory set'],
    ['inventory limits', 'petstore limits'],
    ['inventory help', 'petstore help inventory'],
    ['inventory help set', 'petstore help inventory set'],
    ['inventory help sk_12', 'petstore help inventory'],
    ['lgoin', 'petstore login'],
    ['--vresion', '--version'],
    ['--vers', '--version'],
    ['limits --refrsh', '--refresh'],
    ['inventory list --colums petId', '--columns'],
    ['help exit-code', 'petstore help exit-codes'],
    ['help rate limits', 'petstore help rate-limits'],
    ['help set', 'petstore help inventory set'],
    ['help inventory lst', 'petstore help inventory list'],
    ['help inventori', 'petstore help inventory'],
  ])('petstore %s: %s', async (line, suggestion) => {
    const { code, stdout, stderr } = await run(line);
    const hint = line.includes('json') ? (JSON.parse(stderr) as { error: { hint: string } }).error.hint : stderr.split('hint: ')[1]?.trimEnd(); // prettier-ignore
    expect([code, stdout, hint]).toEqual([2, '', `Did you mean ${suggestion}?`]);
  });

  it.each(['inventory test', 'inventory add 7 3', 'inventory view', 'inventory set --pet 7', 'st', 'help nonsense'])(
    'petstore %s: nothing',
    async (line) => {
      const { code, stderr } = await run(line);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^hint: See: petstore (inventory )?(set )?--help$/m)]);
    },
  );

  it('a write for nothing but a write with a single slip', () => {
    const writes = commandsOf(TREE).flatMap(({ path, experimental }) => (experimental ? [path] : []));
    const reads = ['get', 'gett', 'gt', 'list', 'lit', 'lest', 'show', 'shwo', 'ls', 'hist', 'histroy', 'export', 'test', 'edt', 'view', 'cat', 'find', 'print', 'count-all']; // prettier-ignore
    const suggested = reads.map((word) => [word, suggestCommand(TREE, 'inventory', word)] as const);
    expect(suggested.filter(([, path]) => path !== undefined && writes.includes(path))).toEqual([
      ['edt', 'inventory edit'],
    ]);
  });
});

it('--no-color is --color never', async () => {
  const env = { PETSTORE_ENV: 'sandbox', FORCE_COLOR: '1' };
  const runs = [['--no-color', 'inventory', 'list'], ['inventory', 'list', '--color', 'always', '--no-color'], ['inventory', 'lst', '--no-color']]; // prettier-ignore
  for (const line of runs) {
    const { stdout, stderr } = await runIn(createTestContext({ env }), ...line);
    expect(stdout + stderr).not.toContain('\x1b[');
  }
  const { stderr } = await runIn(createTestContext({ env }), 'inventory', 'lst');
  expect(stderr).toContain('\x1b[');
});

it.each([
  ['a value', ['api', 'PATCH', '/inventory/7', '--input', '-v.csv']],
  ['an argument after --', ['inventory', 'import', '--', '-v.csv']],
])('%s may look like an option', async (_what, words) => {
  const context = createTestContext({ env: { PETSTORE_ENV: 'sandbox' } });
  const { code, stderr } = await runIn(context, ...words);
  expect([code, stderr]).toEqual([3, expect.stringContaining('-v.csv')]);
});
