/** Imports that set and that add, through the binary: what is read, what is refused, and what a second run does. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { control, serveSandbox } from '../support/served.ts';

/** The built-in sandbox: pet 3 has 0, pet 7 has 10, pet 8 has 6, pet 12 has 5. */
function shop() {
  const home = createHome();
  const env = { PETSTORE_ENV: 'sandbox' };
  const run = (args: readonly string[], stdin = '') => runPetstore(args, { home, env, stdin, cwd: home.path });
  return {
    home,
    env,
    run,
    /** Imports a file with that content. */
    import(content: string | Uint8Array, ...args: readonly string[]) {
      writeFileSync(join(home.path, 'file.csv'), content);
      return run(['inventory', 'import', 'file.csv', '--yes', ...args]);
    },
    async quantity(petId: number) {
      const { stdout } = await run(['inventory', 'list', '--pet', String(petId), '--json']);
      return (JSON.parse(stdout) as { quantity: number }[])[0]?.quantity;
    },
  };
}

describe('adding', () => {
  it('adds a delivery, shows it first, and adds it again when it is imported again', async () => {
    const at = shop();
    const delivery = 'petId,delta\n7,+3\n8,4\n7,2\n';
    const first = await at.import(delivery);
    expect([first.code, first.stdout]).toEqual([0, 'Run 1 (import) in sandbox: 2 applied.\n']);
    expect(first.stderr).toContain('Several lines added together: pet 7 (lines 2, 4).\n');
    expect(first.stderr).toContain('  pet 7  10 → 15  +5\n  pet 8   6 → 10  +4\n');
    await at.import(delivery);
    expect([await at.quantity(7), await at.quantity(8)]).toEqual([20, 14]);
    await at.run(['inventory', 'undo', '--run', '2', '--yes']);
    expect([await at.quantity(7), await at.quantity(8)]).toEqual([15, 10]);
  });

  it('with --add and other headings, and from JSON', async () => {
    const at = shop();
    const order = '\ufeffArticle;Name;Pieces\r\n7;"a; ""b""";3\r\n;;\r\n';
    const maps = ['--map', 'Article=petId', '--map', 'pieces=quantity'];
    expect(await at.import(order, ...maps, '--add')).toMatchObject({ code: 0 });
    expect(await at.quantity(7)).toBe(13);
    expect(await at.run(['inventory', 'import', '-', '--yes'], '{"petId":7,"delta":-3}\n')).toMatchObject({ code: 0 });
    expect(await at.quantity(7)).toBe(10);
  });

  it('takes away no more than there is', async () => {
    const at = shop();
    const { code, stderr } = await at.import('petId,delta\n7,-11\n8,-1\n');
    expect([code, await at.quantity(7), await at.quantity(8)]).toEqual([11, 10, 5]);
    expect(stderr).toContain('pet 7 (line 2): conflict, there are 10, and taking away 11 would leave -1');
  });
});

describe('a file that cannot be used: exit 2, nothing is sent', () => {
  it.each([
    ['more cells than the header', 'petId,quantity\n3,1,200\n', [], /line 2: has 3 cells, the header has 2/],
    [
      'a workbook',
      'PK\u0003\u0004\0\0[Content_Types].xml',
      [],
      /^error: file\.csv is an Excel workbook; nothing was sent\.\nhint: Save it as CSV first\.$/m,
    ],
    ['nothing', '', [], /^error: file\.csv is empty; nothing was sent\./m],
    ['no header', '7,13\n', [], /line 1: the first line must be a header such as petId,quantity/],
    [
      'another header',
      'Article;Pieces\n7;13\n',
      [],
      /the columns are "Article", "Pieces"; name one with --map "Article=petId"/,
    ],
    ['a pet twice', 'petId,quantity\n7,1\n7,1\n', [], /line 3: pet 7 is already on line 2/],
    [
      'a thousands separator',
      'petId;quantity\n7;1.200\n',
      [],
      /line 2: quantity is "1\.200": remove the thousands separator/,
    ],
    [
      '--exit-code without --dry-run',
      'petId,quantity\n7,13\n',
      ['--exit-code'],
      /^error: --exit-code needs --dry-run; nothing was sent\.$/m,
    ],
    [
      'a --map without a column',
      'petId,quantity\n7,13\n',
      ['--map', 'petId'],
      /--map must be HEADING=COLUMN, .*not "petId"/,
    ],
  ])('%s', async (_name, content, args, message) => {
    const at = shop();
    const { code, stdout, stderr } = await at.import(content, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/bug in petstore/);
    expect([await at.quantity(3), await at.quantity(7)]).toEqual([0, 10]);
  });
});

it('UTF-16, as Excel writes Unicode text', async () => {
  const at = shop();
  const text = Buffer.from('\ufeffPet ID\tQuantity\r\n7\t13\r\n', 'utf16le');
  expect(await at.import(text)).toMatchObject({ code: 0 });
  expect(await at.quantity(7)).toBe(13);
});

it.each([
  ['as the file says', 'petId,quantity\n7,10\n', 0],
  ['a change', 'petId,quantity\n7,11\n', 13],
  ['an unknown pet', 'petId,quantity\n999,3\n', 13],
  ['a conflict', 'petId,quantity,current\n3,3,77\n', 13],
  ['an addition', 'petId,delta\n7,1\n', 13],
])('--dry-run --exit-code: %s', async (_name, content, exit) => {
  const at = shop();
  expect((await at.import(content, '--dry-run', '--exit-code')).code).toBe(exit);
});

it('where nothing differs: one line, no run and no report', async () => {
  const at = shop();
  const { code, stdout, stderr } = await at.import('petId,quantity\n7,10\n');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Nothing to change.*: 1 pet already matches\.\n$/);
  expect(existsSync(join(at.home.state, 'petstore', 'reports'))).toBe(false);
  expect(JSON.parse((await at.import('petId,quantity\n7,10\n8,6\n', '--json')).stdout)).toMatchObject({
    run: null,
    applied: 0,
    unchanged: 2,
    report: null,
  });
});

/** An import of pets 1 to 4 that has stopped after two of them. */
async function stopped(column: 'quantity' | 'delta') {
  const home = createHome();
  const { baseUrl, port } = await serveSandbox(['--fault', 'status=401,method=PATCH,nth=3'], { home });
  const env = { PETSTORE_ENV: 'staging', PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: 'sandbox' };
  const run = (args: readonly string[]) => runPetstore(args, { home, env, cwd: home.path });
  const stock = async (): Promise<number[]> => {
    const { stdout } = await run(['inventory', 'list', '--pet', '1,2,3,4', '--sort', 'petId', '--json']);
    return (JSON.parse(stdout) as { quantity: number }[]).map(({ quantity }) => quantity);
  };
  const before = await stock();
  writeFileSync(join(home.path, 'delivery.csv'), `petId,${column}\n1,100\n2,100\n3,100\n4,100\n`);
  const IMPORT = ['inventory', 'import', 'delivery.csv'];
  expect((await run([...IMPORT, '--yes'])).code).toBe(4);
  await control(port, 'DELETE', '/faults');
  return { home, env, run, stock, before, IMPORT, args: [...IMPORT, '--yes'] };
}

describe('the file of an unfinished import', () => {
  it('that sets: a warning, and it is set', async () => {
    const { run, args, stock } = await stopped('quantity');
    const { code, stderr } = await run(args);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^warning: Import 1 of this file is unfinished \(2 left\)\. Resume it with: petstore --env staging inventory .*resume 1$/m,
    );
    expect(await stock()).toEqual([100, 100, 100, 100]);
  });

  it('that adds: refused, for it would add twice; resumed, it adds what is left', async () => {
    const { run, args, before, stock } = await stopped('delta');
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: Import 1 of this file is unfinished \(2 left\); nothing was sent\.$/m);
    expect(stderr).toMatch(/^hint: Resume it with: petstore --env staging inventory .*resume 1$/m);
    expect((await run(['inventory', 'runs', 'resume', '1', '--yes'])).code).toBe(0);
    expect(await stock()).toEqual(before.map((quantity) => quantity + 100));
    // Done: the same file adds once more.
    expect((await run(args)).code).toBe(0);
    expect(await stock()).toEqual(before.map((quantity) => quantity + 200));
  });

  it('that adds: a pet that another delivery has brought to the same number is a conflict', async () => {
    const { env, run, before, stock } = await stopped('delta');
    const goal = String(before[3]! + 100);
    await runPetstore(['inventory', 'set', '4', goal], { env });
    const { code, stderr } = await run(['inventory', 'runs', 'resume', '--json', '--yes']);
    expect([code, await stock()]).toEqual([11, before.map((quantity) => quantity + 100)]);
    expect(stderr).toContain('1 conflict');
    const again = await run(['inventory', 'runs', 'resume', '1', '--yes']);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('Import a file with only those rows')]);
  });

  it.each([
    ['\r', 1],
    ['n\r', 2],
  ])('at a terminal it is offered to resume: %j', async (answer, times) => {
    const { home, env, IMPORT, before, stock } = await stopped('delta');
    const pty = startPty(IMPORT, { home, env, cwd: home.path });
    await pty.waitFor(/Import 1 of this file is unfinished \(2 left\)\. Resume it\? \(Y\/n\)/);
    pty.write(answer);
    if (times === 2) {
      await pty.waitFor(/Change 4 pets in staging\?/);
      pty.write('y\r');
    }
    expect((await pty.exited).code).toBe(0);
    const added = times === 1 ? [100, 100, 100, 100] : [200, 200, 100, 100];
    expect(await stock()).toEqual(before.map((quantity, i) => quantity + added[i]!));
  });
});
