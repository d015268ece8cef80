/** `petstore catalog` and uses of its names and barcodes, in this process. Tests send no request unless they say so. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { withoutSandboxNames } from '../support/catalog.ts';
import { runIn as run, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { createTestContext, type TestContext, type TestContextOptions } from '../support/test-context.ts';

const FILE =
  'Pet ID;Name;Barcode;Price;Min\r\n7;Goldfish, small;4006381333931 73513537;1\r\n7;;036000291452\r\n12;=Tom;;;3\r\n';
const CSV = `petId,name,barcode,min,target\n7,"Goldfish, small",73513537 036000291452 4006381333931,,\n12,'=Tom,,3,\n`;

/** Without an address of the service, and without a network. */
function offline(stdin = ''): Promise<TestContext> {
  return withoutSandboxNames(sandbox(stdin));
}

/** With the names that the sandbox brings along. */
function sandbox(stdin = '', options: TestContextOptions = {}): TestContext {
  return createTestContext({ env: { PETSTORE_ENV: 'sandbox' }, stdin: { text: stdin }, ...options });
}

async function imported(): Promise<TestContext> {
  const context = await offline();
  writeFileSync(join(context.home.path, 'catalog.csv'), FILE);
  expect(await run(context, 'catalog', 'import', join(context.home.path, 'catalog.csv'))).toEqual({
    code: 0,
    stdout: '2 pets imported into the catalog of sandbox.\n',
    stderr: 'Column "Price" is not used.\n',
  });
  return context;
}

describe('catalog', () => {
  it.each([
    ['', 'petstore catalog import FILE'],
    ['--env sandbox ', 'petstore --env sandbox catalog import FILE'],
  ])('is empty at first: %scatalog list', async (options, hint) => {
    expect(await run(await offline(), ...`${options}catalog list`.split(' '))).toEqual({
      code: 0,
      stdout: '',
      stderr: `The catalog of sandbox is empty. Import one: ${hint}\n`,
    });
  });

  it('is as before if a signal ends a long import', async () => {
    const stop = new AbortController();
    const context = sandbox(`petId,min\n7,1\n${Array.from({ length: 999 }, (_, i) => `${i + 1000},1`).join('\n')}`);
    const turn = (): Promise<void> => {
      stop.abort(new Failure('interrupted', { signal: 'SIGINT' }));
      return Promise.resolve();
    };
    const clock = Object.assign(context.clock, { turn });
    const before = await run(context, 'catalog', 'list');
    const stopped = await run({ ...context, clock, signal: stop.signal }, 'catalog', 'import', '-');
    expect(stopped).toEqual({ code: 130, stdout: '', stderr: 'Stopped.\n' });
    expect(await run(context, 'catalog', 'list')).toEqual(before);
  });

  it('that cannot be read is an error, not an empty list', async () => {
    const context = createTestContext({ env: STAGING_ENV });
    await context.files.makePrivateFolder(`${context.home.state}/petstore`);
    writeFileSync(`${context.home.state}/petstore/state.db`, 'x'.repeat(8_192));
    expect(await run(context, 'catalog', 'list', '-o', 'csv')).toMatchObject({ code: 3, stdout: '' });
  });

  it('list -o csv writes what import reads', async () => {
    const context = await imported();
    const { stdout } = await run(context, 'catalog', 'list', '-o', 'csv');
    expect(stdout).toBe(CSV);
    const other = await offline(stdout);
    await run(other, 'catalog', 'import', '-');
    expect((await run(other, 'catalog', 'list', '-o', 'csv')).stdout).toBe(CSV);
    expect((await run(other, 'catalog', 'list', '-o', 'ndjson')).stdout.split('\n')).toEqual([
      '{"petId":7,"name":"Goldfish, small","barcodes":["73513537","036000291452","4006381333931"],"min":null,"target":null,"source":"local"}',
      '{"petId":12,"name":"=Tom","barcodes":[],"min":3,"target":null,"source":"local"}',
      '',
    ]);
  });

  it.each(["'=a", "''=a", "'-5", "'x", '=a'])('list -o csv and import keep the name %s', async (name) => {
    const context = await offline('');
    await run(context, 'catalog', 'set', '7', '--name', name);
    const other = await offline((await run(context, 'catalog', 'list', '-o', 'csv')).stdout);
    await run(other, 'catalog', 'import', '-');
    expect(JSON.parse((await run(other, 'catalog', 'list', '--json')).stdout)).toMatchObject([{ petId: 7, name }]);
  });

  it('set replaces what is given, and remove removes a pet', async () => {
    const context = await imported();
    await run(context, 'catalog', 'set', '7', '--min', '5', '--target', '20');
    await run(context, 'catalog', 'set', '7', '--name', 'Koi');
    await run(context, 'catalog', 'set', '8', '--barcode', '2012345678903,0212345012345', '--min', '0');
    await run(context, 'catalog', 'set', '9', '--name', 'Mia', '--min', '7', '--target', '8');
    await run(context, 'catalog', 'set', '9', '--min', 'none');
    expect(await run(context, 'catalog', 'remove', '12', '--json')).toEqual({
      code: 0,
      stdout: '{"environment":"sandbox","petId":12}\n',
      stderr: '',
    });
    expect((await run(context, 'catalog', 'list', '-o', 'csv')).stdout).toBe(
      'petId,name,barcode,min,target\n7,Koi,73513537 036000291452 4006381333931,5,20\n8,,212345012345 2012345678903,0,\n9,Mia,,,8\n',
    );
  });

  it('import names the first ten of the columns that it does not use', async () => {
    const unused = Array.from({ length: 11 }, (_, i) => `Shelf ${i + 1}`);
    const context = await offline(`petId,name,${unused.join(',')}\n7,Rex\n`);
    const { stderr } = await run(context, 'catalog', 'import', '-');
    expect(stderr).toBe(
      unused
        .slice(0, 10)
        .map((column) => `Column "${column}" is not used.\n`)
        .join(''),
    );
  });

  it('a file with a bad row changes nothing, and each bad row is named', async () => {
    const context = await offline('petId,name,barcode\n1,Rex,\n2,,4006381333932\n3,,73513537\n4,,73513537\nx,Tom,\n');
    expect(await run(context, 'catalog', 'import', '-')).toEqual({
      code: 2,
      stdout: '',
      stderr: [
        'error: 3 rows of stdin cannot be used; the catalog is unchanged.',
        '  line 3: barcode 4006381333932 has the wrong check digit: it ends in 2 and should end in 1',
        '  line 5: barcode 73513537 belongs to pet 3 (line 4)',
        '  line 6: petId is "x", but must be a whole number, such as 7',
        'hint: Fix the file and run the command again.',
        '',
      ].join('\n'),
    });
    expect((await run(context, 'catalog', 'list', '--json')).stdout).toBe('[]\n');
  });

  it.each([
    ['set 7', 'Set what? Use --name, --barcode, --min or --target.'],
    ['set 7 --min -1', '--min must be a whole number from 0 up, or none, not "-1".'],
    ['set 12 --target 2', 'Target is 2, below min, which is 3; the catalog is unchanged.'],
    ['set 7 --name=', '--name must be a name, not "".'],
    ['set 8 --barcode 73513537', 'Barcode 73513537 belongs to pet 7; the catalog is unchanged.'],
    ['set 73513537 --name x', /^PetId 73513537 is also a barcode of pet 7; to have both, add --force; the catalog is/],
    ['remove 99', 'Pet 99 is not in the catalog of sandbox.'],
    ['import missing.csv', /^Could not read .*missing.csv/],
  ])('%s is refused', async (line, message) => {
    const { code, stdout, stderr } = await run(await imported(), 'catalog', ...line.split(' '));
    expect([code, stdout]).toEqual([line.startsWith('import') ? 3 : 2, '']);
    expect(stderr.replace(/^error: /, '').split('\n')[0]).toMatch(message);
  });

  it('is kept for each address', async () => {
    const context = await imported();
    const { home } = context;
    const other = withReplies([], { home });
    expect((await run(other, 'catalog', 'list', '-o', 'csv')).stdout).toBe('petId,name,barcode,min,target\n');
    await run(other, 'catalog', 'set', '7', '--name', 'Rex');
    expect((await run(other, 'catalog', 'list', '-o', 'csv')).stdout).toBe('petId,name,barcode,min,target\n7,Rex,,,\n');
    expect((await run(context, 'catalog', 'list', '-o', 'csv')).stdout).toBe(CSV);
  });
});

describe('a pet by its name or barcode', () => {
  const NAMES = 'petId,name,barcode\n7,Goldfish,4006381333931\n8,"Goldfish, small",73513537\n12,Hamster,\n99,Gone,\n';

  async function shop(): Promise<TestContext> {
    const context = await offline(NAMES);
    await run(context, 'catalog', 'import', '-');
    return context;
  }

  it.each([
    // The whole name comes before a part of another.
    ['get --name goldfish -o csv', 'petId,quantity,status\n7,10,available\n'],
    ['get --name SMALL --json', '{"petId":8,"quantity":6,"status":"available"}\n'],
    ['get --barcode 073513537 -o csv', 'petId,quantity,status\n8,6,available\n'],
    ['get 12', 'Pet       12\nName      Hamster\nQuantity  5\nStatus    pending\n'],
    ['get 3', 'Pet       3\nQuantity  0\nStatus    sold\n'],
    ['set --name hamster 9 --json', '{"petId":12,"quantity":9,"status":"pending"}\n'],
    ['adjust --barcode 4006381333931 -1 --json', '{"petId":7,"quantity":9,"status":"available","before":10}\n'],
    ['adjust -1 --name hamster --json', '{"petId":12,"quantity":4,"status":"pending","before":5}\n'],
  ])('inventory %s', async (line, stdout) => {
    expect(await run(await shop(), 'inventory', ...line.split(' '))).toMatchObject({ code: 0, stdout });
  });

  it('says which pet it has found', async () => {
    expect((await run(await shop(), 'inventory', 'get', '--name', 'goldfish')).stderr).toBe(
      'Found pet 7 (Goldfish).\n',
    );
  });

  const SEE = 'hint: See the catalog: petstore catalog list\n';
  const TWICE = 'error: The pet is named more than once; use its id, --name or --barcode.\n';
  it.each([
    ['get --name dog', 2, `error: No pet in the catalog is named "dog".\n${SEE}`],
    [
      'set --name fish 1',
      2,
      'error: "fish" matches 2 pets: 7 (Goldfish), 8 (Goldfish, small).\nhint: Use the whole name, or the id.\n',
    ],
    ['get --barcode 96385074', 2, `error: No pet in the catalog has the barcode 96385074.\n${SEE}`],
    [
      'get --barcode 96385075',
      2,
      'error: Barcode 96385075 has the wrong check digit: it ends in 5 and should end in 4.',
    ],
    ['get 7 --name hamster', 2, TWICE],
    ['get --name x --barcode 1', 2, TWICE],
    ['get', 2, "error: Missing required argument 'petId'.\nhint: See: petstore inventory get --help\n"],
    ['get --name gone', 5, 'Found pet 99 (Gone).\nerror: '],
  ])('inventory %s is refused', async (line, code, stderr) => {
    const ran = await run(await shop(), 'inventory', ...line.split(' '));
    expect([ran.code, ran.stdout]).toEqual([code, '']);
    expect(ran.stderr.startsWith(stderr), ran.stderr).toBe(true);
  });

  it('needs a catalog for that address', async () => {
    expect(await run(await offline(), 'inventory', 'get', '--name', 'x')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: --name needs a catalog, and sandbox does not have one on this machine.\nhint: Import one: petstore catalog import FILE. Behind a gateway, petstore inventory list gets its catalog.\n',
    });
  });
});

describe('inventory list', () => {
  const NAMES = 'petId,name\n7,Goldfish\n8,"Goldfish, small"\n12,Hamster\n99,Gold ring\n';
  const list = async (...args: string[]) => {
    const context = await offline(NAMES);
    await run(context, 'catalog', 'import', '-');
    return run(context, 'inventory', 'list', ...args);
  };

  it.each([
    ['7 3', 'Pet  Name      Quantity  Status\n  3                   0  sold\n  7  Goldfish        10  available\n'],
    // CSV and JSON have names only where they are asked for.
    ['7 -o csv', 'petId,quantity,status\n7,10,available\n'],
    ['7 -o ndjson', '{"petId":7,"quantity":10,"status":"available"}\n'],
    ['7 3 -o csv --columns name,petId', 'name,petId\n,3\nGoldfish,7\n'],
    ['7 -o ndjson --columns petId,name', '{"petId":7,"name":"Goldfish"}\n'],
    ['--name GOLD -o csv --sort -petId', 'petId,quantity,status\n8,6,available\n7,10,available\n'],
    ['8 12 --name gold --no-header', '8  Goldfish, small  6  available\n'],
  ])('%s', async (line, stdout) => {
    expect(await list(...line.split(' '))).toMatchObject({ code: 0, stdout });
  });

  it('says when no name matches', async () => {
    expect(await list('--name', 'cat')).toEqual({ code: 0, stdout: '', stderr: 'No pet matches.\n' });
  });

  it('without a catalog has no such column', async () => {
    expect((await run(await offline(), 'inventory', 'list', '7')).stdout).toBe(
      'Pet  Quantity  Status\n  7        10  available\n',
    );
    expect((await run(await offline(), 'inventory', 'list', '--columns', 'name')).stderr).toMatch(
      'Unknown column "name"',
    );
    expect((await run(await offline(), 'inventory', 'list', '--name', 'x')).stderr).toMatch('--name needs a catalog');
  });
});

describe('low stock', () => {
  const NAMES =
    'petId,name,min,target\n7,Goldfish,10,25\n8,Guppy,2,9\n11,Gecko,2,\n12,Hamster,9,9\n19,Newt,,6\n1,,,3\n';
  const low = async (...args: string[]) => {
    const context = await offline(NAMES);
    await run(context, 'catalog', 'import', '-');
    return run(context, ...args);
  };

  it.each([
    [
      '',
      'Pet  Name      Quantity  Status     Order\n  7  Goldfish        10  available     15\n' +
        ' 11  Gecko            2  available      0\n 12  Hamster          5  pending        4\n',
    ],
    [' -o csv --status pending', 'petId,quantity,status,order\n12,5,pending,4\n'],
    [' -o ndjson --name gold', '{"petId":7,"quantity":10,"status":"available","order":15}\n'],
    [' -o csv --columns name,order --sort name --desc', 'name,order\nHamster,4\nGoldfish,15\nGecko,0\n'],
    // A minimum for pets without one.
    ['=0 19 3 8 -o csv --columns petId,order', 'petId,order\n3,0\n19,6\n'],
    ['=20 1 -o csv --columns quantity,order', 'quantity,order\n14,0\n'],
  ])('inventory list --low%s', async (rest, stdout) => {
    expect(await low('inventory', 'list', ...`--low${rest}`.split(' '))).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('fails a check, and needs a minimum', async () => {
    expect((await low('inventory', 'list', '--low', '--fail-if-any')).code).toBe(13);
    expect((await low('inventory', 'list', '--low', '--name', 'guppy', '--fail-if-any')).code).toBe(0);
    expect((await run(await offline(), 'inventory', 'list', '--low')).stderr).toMatch('--low needs a catalog');
    expect((await run(await offline(), 'inventory', 'list', '--low=2', '7', '8')).stderr).toBe('No pet matches.\n');
  });

  it('is what wait waits for', async () => {
    expect(await low('wait', '--name', 'hamster', '--low')).toMatchObject({
      code: 0,
      stdout: 'Pet 12 (Hamster): 5 (pending).\n',
    });
    expect((await low('inventory', 'list', '--watch', '--pet', '12', '--deadline', '1s')).stdout).toMatch(
      /^..:..:.. {2}pet 12 \(Hamster\): 5 \(pending\)\n$/,
    );
    expect(await low('wait', '--pet', '8', '--low', '--for', '0')).toMatchObject({ code: 13 });
    expect(await low('wait', '--pet', '19', '--low')).toMatchObject({
      code: 2,
      stderr: 'error: Pet 19 has no minimum in the catalog.\n' + 'hint: Set one: petstore catalog set 19 --min 5\n',
    });
  });
});

describe('several pets with a name, at a terminal', () => {
  const get = async (answers: string[], ...args: string[]) => {
    const context = sandbox('', { terminal: true, answers });
    await run(context, 'catalog', 'set', '8', '--name', 'Goldfish, small');
    return {
      ...(await run(context, 'inventory', 'get', '--name', 'gold', '--json', ...args)),
      asked: context.questions,
    };
  };

  it('are offered as a list', async () => {
    const { code, stdout, asked } = await get(['3', '2']);
    expect([code, stdout]).toEqual([0, '{"petId":8,"quantity":6,"status":"available"}\n']);
    expect(asked.map(({ question }) => question)).toEqual(
      Array(2).fill(
        '"gold" matches 2 pets:\n   1  Goldfish (pet 7)\n   2  Goldfish, small (pet 8)\nWhich one? (Enter cancels)',
      ),
    );
  });

  it('are left with Enter, and refused with --yes', async () => {
    expect((await get([''])).stderr).toContain('"kind":"cancelled"');
    expect(await get([], '--yes')).toMatchObject({ code: 2 });
  });
});

describe('the names of the sandbox', () => {
  const names = async (context: TestContext) =>
    (await run(context, 'catalog', 'list', '-o', 'csv')).stdout.split('\n').slice(1, 4);
  const SEEDS = ['1,Canary,2000000000015,5,15', '2,Guppy,2000000000022,10,30', '3,Red macaw,,,'];

  it('are there at once, for a list, a name and a barcode', async () => {
    expect(await names(sandbox())).toEqual(SEEDS);
    expect((await run(sandbox(), 'inventory', 'list', '16')).stdout).toMatch(' 16  Löwchen         0  pending\n');
    expect((await run(sandbox(), 'inventory', 'get', '--name', 'LOWCHEN', '-o', 'csv')).stdout).toMatch('16,0,pending');
    expect((await run(sandbox(), 'inventory', 'get', '--barcode', '2000000000077', '-o', 'csv')).stdout).toMatch(
      '7,10',
    );
  });

  it('give way to those of the user, and come back with a reset', async () => {
    const context = sandbox('petId,name,barcode\n2,Platy,2000000000015\n');
    await run(context, 'catalog', 'import', '-');
    await run(context, 'catalog', 'remove', '3');
    const own = ['1,Canary,,5,15', '2,Platy,2000000000015,10,30'];
    expect(await names(context)).toEqual([...own, '4,Dwarf rabbit,,,']);
    await run(context, 'sandbox', 'reset');
    expect(await names(context)).toEqual([...own, '3,Red macaw,,,']);
    await context.files.replace(`${context.home.path}/pets.json`, '{"petId":1,"quantity":2,"status":"sold"}\n');
    await run(context, 'sandbox', 'seed', '--file', `${context.home.path}/pets.json`);
    expect(await names(context)).toEqual([own[1], '']);
  });
});

describe('a plan', () => {
  it('names pets in its table, and nowhere else', async () => {
    const context = await offline();
    writeFileSync(join(context.home.path, 'stock.csv'), 'petId,quantity\n7,12\n12,6\n');
    const dryRun = (...args: string[]) =>
      run(context, 'inventory', 'import', join(context.home.path, 'stock.csv'), '--dry-run', ...args);
    expect((await dryRun()).stdout).not.toContain('Name');
    await run(context, 'catalog', 'set', '7', '--name', 'Goldfish');
    expect((await dryRun()).stdout).toMatch(/Pet +Name +Before.*\n +7 +Goldfish +10 +12 +\+2/);
    expect((await dryRun('-o', 'csv')).stdout).toMatch(/^petId,before,after,change,problem\n/);
    const { stderr } = await run(context, 'inventory', 'import', join(context.home.path, 'stock.csv'), '--yes');
    expect(stderr).toMatch(/^ {2}pet {2}7 {2}10 → 12 {2}\+2 {2}Goldfish\n {2}pet 12 {3}5 → {2}6 {2}\+1\n/);
  });
});
