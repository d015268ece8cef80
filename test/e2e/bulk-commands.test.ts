/** Commands that write several pets or read before they write, in this process, on the built-in sandbox. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { staging } from '../support/staging.ts';
import { createHome } from '../support/home.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';
import { sandboxShop, TERMINAL } from '../support/sandbox-shop.ts';
import { serveSandbox } from '../support/served.ts';
import { stockService } from '../support/stock-service.ts';
import { createTestContext, type TestContextOptions } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const shop = () => sandboxShop({ areNamed: false });

it.each([
  ['set', '4006381333931', ['--read-first']],
  ['adjust', '-96385074', []],
  // After 12, which was typed before.
  ['set', '1273513537', ['--read-first']],
])(
  '%s: a barcode that is scanned in place of the quantity is refused at a terminal',
  async (command, scanned, more) => {
    const { run, quantity } = shop();
    await run(['catalog', 'set', '8', '--barcode', '73513537']);
    const { code, stderr } = await run(['inventory', command, '7', scanned], TERMINAL);
    const hint = ['add --no-input', ...more].join(' ');
    expect([code, await quantity(7)]).toEqual([2, 10]);
    expect(stderr).toContain(`If it is the quantity, ${hint}.`);
    // As the hint says, and as scripts do.
    const args = ['inventory', command, '7', scanned, '--no-input', ...more];
    expect((await run(args, TERMINAL)).code).not.toBe(2);
  },
);

describe('inventory adjust', () => {
  it.each([
    ['+3', 13],
    ['3', 13],
    ['-10', 0],
    ['0', 10],
  ])('by %s', async (delta, after) => {
    const { run, quantity } = shop();
    const { code, stdout } = await run(['inventory', 'adjust', '7', delta, '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { petId: 7, quantity: after, status: 'available', before: 10 }]);
    expect(await quantity(7)).toBe(after);
  });

  it.each([
    [['7', '-11'], 13, 'Pet 7 has only 10; taking away 11 would leave -1.'],
    [['7', '1', '--expect', '9'], 13, 'Pet 7 has a quantity of 10, not the expected 9; nothing was changed.'],
    [['999', '1'], 5, 'Pet 999 was not found in sandbox.'],
    [['7', '+-1'], 2, 'delta must be a whole number'],
    [['7', '1.5'], 2, 'delta must be a whole number'],
  ])('%j: exit %i, nothing changed', async (args, exit, sentence) => {
    const { run, quantity } = shop();
    const { code, stderr } = await run(['inventory', 'adjust', ...args, '--json']);
    const outcome = exit === 13 ? { outcome: 'not-applied' } : {};
    expect([code, JSON.parse(stderr)]).toMatchObject([
      exit,
      { error: { message: expect.stringContaining(sentence) as string, ...outcome } },
    ]);
    expect(await quantity(7)).toBe(10);
  });
});

describe('inventory history and undo', () => {
  it('of single writes', async () => {
    const { run } = shop();
    await run(['inventory', 'set', '7', '12']);
    await run(['inventory', 'adjust', '7', '-2']);
    await run(['inventory', 'set', '999', '1']);
    const { stdout } = await run(['inventory', 'history', '--json']);
    const facts = { who: 'clerk', environment: 'sandbox', run: null };
    const reason = 'the service does not have this pet';
    expect(JSON.parse(stdout)).toMatchObject([
      { change: 3, petId: 999, before: null, after: 1, outcome: 'failed', reason, ...facts },
      { change: 2, petId: 7, before: 12, after: 10, outcome: 'applied', command: 'inventory adjust', ...facts },
      { change: 1, petId: 7, before: null, after: 12, outcome: 'applied', command: 'inventory set', ...facts },
    ]);
    const [asked, failed] = [await run(['inventory', 'undo']), await run(['inventory', 'undo', '3', '--yes'])];
    expect([asked.code, failed.code]).toEqual([2, 2]);
    expect(asked.stderr).toContain('To change without a question, add --yes.');
    expect(failed.stderr).toContain('Change 3 does not exist or was not applied');
  });

  it('the last one is that of the environment', async () => {
    const { run } = shop();
    const { baseUrl } = await serveSandbox();
    const env = { PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: 'sandbox' };
    await run(['inventory', 'adjust', '7', '1']);
    expect(await run(['--env', 'staging', 'inventory', 'adjust', '7', '1'], { env })).toMatchObject({ code: 0 });
    const { code, stderr } = await run(['inventory', 'undo', '2', '--yes']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('Change 2 is for staging, and the environment is sandbox'),
    ]);
    expect(await run(['inventory', 'undo', '--yes'])).toMatchObject({ code: 0 });
    const { stdout } = await run(['inventory', 'history', '--json', '--limit', '1']);
    expect(JSON.parse(stdout)).toMatchObject([{ environment: 'sandbox', command: 'undo of change 1' }]);
  });
});

describe('inventory import', () => {
  it.each([
    ['petId,barcode,delta\n8,4006381333931,3\n', 'petId is of pet 8, but barcode of pet 7'],
    ['petId,name,delta\n8,Goldfish,3\n', 'petId is of pet 8, but name of pet 7'],
    ['name,delta\n,1\n', 'name is missing'],
    ['barcode,delta\n,1\n', 'barcode is missing'],
    ['delta,petId\n1,\n', 'petId is missing'],
  ])('refuses a row of no certain pet: %j', async (text, reason) => {
    const { run, file } = shop();
    await run(['catalog', 'set', '7', '--name', 'Goldfish', '--barcode', '4006381333931']);
    const { code, stderr } = await run(['inventory', 'import', file(text), '--yes']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`line 2: ${reason}\n`)]);
  });

  it('a name that the catalog does not have is no contradiction', async () => {
    const { run, quantity, file } = shop();
    const text = 'petId,name,barcode,delta\n7,Supplier fish,123,2\n';
    expect((await run(['inventory', 'import', file(text), '--yes'])).code).toBe(0);
    expect(await quantity(7)).toBe(12);
  });

  it('--map takes a heading for the barcode or the name', async () => {
    const { run, quantity, file } = shop();
    await run(['catalog', 'set', '7', '--name', 'Goldfish', '--barcode', '4006381333931']);
    const slip = file('Bezeichnung;EAN;Menge\nGoldfish;4006381333931;2\n');
    for (const pet of ['Bezeichnung=name', 'EAN=barcode']) {
      const maps = ['--map', pet, '--map', 'Menge=delta'];
      expect((await run(['inventory', 'import', slip, '--yes', '--again', ...maps])).code).toBe(0);
    }
    expect(await quantity(7)).toBe(14);
  });

  it('at a terminal: shows the difference, asks, does it', async () => {
    const { run, quantity, file } = shop();
    const path = file('petId,quantity,shelf\n7,12,A\n9223372036854775807,100,B\n1,14,C\n999,1,D\n');
    const declined = await run(['inventory', 'import', path], { ...TERMINAL, answers: [false] });
    expect([declined.code, await quantity(7)]).toEqual([2, 10]);
    const { code, stdout, stderr } = await run(['inventory', 'import', path], { ...TERMINAL, answers: [true] });
    const undo = 'Undo: petstore --env sandbox inventory undo\n';
    expect([code, stdout]).toEqual([11, `Run 1 (import) in sandbox: 2 applied, 1 unchanged, 1 failed.\n${undo}`]);
    const lines = stderr.replace(/\r[^\n]*\r/g, '');
    expect(lines).not.toContain('warning: Pet 999');
    expect(lines).toContain(
      'Column "shelf" is not used.\n' +
        '  pet                   7  10 →  12   +2\n' +
        '  pet 9223372036854775807   1 → 100  +99\n' +
        '  pet 999 (line 5): the service does not have this pet\n' +
        '2 pets to change (+101 in all), 1 unchanged, 1 that cannot be changed.\n',
    );
  });

  it('says where its report is: in the last lines, or where rows have failed, in the error', async () => {
    const { home, run, file } = shop();
    const done = await run(['inventory', 'import', '--yes', file('petId,quantity\n7,12\n8,7\n')]);
    const report = /^Report: ~(.+)$/m.exec(done.stderr)?.[1] ?? '';
    expect(readFileSync(join(home.path, report), 'utf8')).toBe(
      'line,petId,before,after,state,reason,difference,name\n2,7,10,12,applied,,2,\n3,8,6,7,applied,,1,\n',
    );
    const failed = await run(['inventory', 'import', '--yes', file('petId,quantity\n7,13\n999,1\n')]);
    expect(failed.stderr).toMatch(/^hint: See the report: .+import-2\.csv$/m);
    expect(failed.stderr).not.toContain('Report:');
  });

  it('--dry-run sends nothing; with --exit-code it tells by 13', async () => {
    const { run, quantity, file } = shop();
    const path = file('petId,quantity,current\n7,12,10\n8,1,5\n');
    const { code, stdout } = await run(['inventory', 'import', path, '--dry-run', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [
        { petId: 7, before: 10, after: 12, line: 2, problem: null },
        { petId: 8, before: 6, after: 1, line: 3, problem: 'the file expects 5, but there are 6' },
      ],
    ]);
    expect((await run(['inventory', 'import', path, '--dry-run', '--exit-code'])).code).toBe(13);
    expect(await quantity(7)).toBe(10);
    const check = async (row: string) => {
      const checked = file(`petId,quantity,current\n${row}\n`);
      return run(['inventory', 'import', checked, '--dry-run', '--exit-code']);
    };
    expect((await check('7,10,')).code).toBe(0);
    // It is so already, whatever the file expects.
    expect((await check('7,10,77')).code).toBe(0);
    // A row that cannot be applied keeps the shop from being as the file says, too.
    expect(await check('999,3,')).toMatchObject({
      code: 13,
      stderr: expect.stringContaining('0 pets would be changed, and 1 row cannot be applied.') as string,
    });
    expect((await check('7,3,77')).code).toBe(13);
  });

  it('--dry-run at a terminal ends with a sum, and rows that cannot be applied look different', async () => {
    const { run, file } = shop();
    const path = file('petId,quantity,current\n7,12,\n8,1,5\n999,1,\n');
    const terminal = { terminal: true, env: { FORCE_COLOR: '1' } };
    const { stdout, stderr } = await run(['inventory', 'import', path, '--dry-run'], terminal);
    const pets = stdout.split('\n').map((line) => /^\S+ +(\S*\d+\S*) /.exec(line)?.[1]);
    const [conflict, failed] = [
      '\u001b[30m\u001b[103m8\u001b[49m\u001b[39m',
      '\u001b[97m\u001b[41m999\u001b[49m\u001b[39m',
    ];
    expect(pets.filter((pet) => pet !== undefined).slice(1)).toEqual(['7', conflict, failed]);
    const text = stripVTControlCharacters(stderr).replaceAll(/\s+/g, ' ');
    expect(text).toContain(
      '1 pet to change (+2 in all), 0 unchanged, 2 that cannot be changed. Dry run in sandbox: no write is sent.',
    );
    // A crontab's mail has only what went wrong.
    expect((await run(['inventory', 'import', path, '--dry-run'])).stderr).toBe('');
  });

  it('a run counts conflicts and failures apart, as its summary does', async () => {
    const { run, file } = shop();
    const command = ['inventory', 'import', file('petId,quantity,current\n7,12,\n8,1,5\n'), '--yes'];
    expect((await run(command)).stdout).toBe('Run 1 (import) in sandbox: 1 applied, 1 conflict.\n');
    const { stdout } = await run(['inventory', 'runs', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ done: 1, left: 0, conflicts: 1, failed: 0 }]);
    const table = await run(['inventory', 'runs']);
    expect(table.stdout).toMatch(/ Left +Conflicts +Source\n.* 0 +1 +stock\.csv\n$/);
  });

  it('--dry-run as CSV: what changes is a number, for a spreadsheet to sum', async () => {
    const { run, file } = shop();
    const path = file('petId,quantity\n7,12\n8,1\n999,4\n');
    const { stdout } = await run(['inventory', 'import', path, '--dry-run', '-o', 'csv']);
    expect(stdout.split('\n').map((line) => line.split(',').slice(0, 4).join())).toEqual([
      'petId,before,after,change',
      '7,10,12,2',
      '8,6,1,-5',
      '999,,4,',
      '',
    ]);
  });

  it('says that nothing differs in one line, without a run and a report', async () => {
    const { home, run } = shop();
    const same = ['inventory', 'import', '-', '--yes'];
    const { code, stdout, stderr } = await run(same, { stdin: { text: 'petId,quantity\n7,10\n' } });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Nothing to change.*: 1 pet already matches\.\n$/);
    expect(existsSync(join(home.state, 'petstore', 'reports'))).toBe(false);
    const { stdout: json } = await run([...same, '--json'], { stdin: { text: 'petId,quantity\n7,10\n8,6\n' } });
    expect(JSON.parse(json)).toMatchObject({ run: null, applied: 0, unchanged: 2, report: null });
  });

  it('adds a delivery, shows it first, and adds the same rows again only with --again, unless they were undone', async () => {
    const { run, stock, quantity, file } = shop();
    const command = ['inventory', 'import', '--yes', file('petId,delta\n7,+3\n8,4\n7,2\n')];
    const first = await run(command);
    expect([first.code, first.stdout]).toEqual([0, 'Run 1 (import) in sandbox: 2 applied.\n']);
    expect(first.stderr).toContain('Several lines added together: pet 7 (lines 2, 4).\n');
    expect(first.stderr).toContain('  pet 7  10 → 15  +5\n  pet 8   6 → 10  +4\n');
    const same = ['inventory', 'import', '--yes', file('Delta;pet id\r\n4;8\r\n5;7\r\n', 'again.csv')];
    const second = await run(same);
    expect([second.code, await quantity(7)]).toEqual([2, 15]);
    expect(second.stderr).toMatch(
      /^error: Run 1 of .* added these rows already; nothing was sent\.\nhint: .* --again\.$/m,
    );
    await run([...same, '--again']);
    expect(await stock(7, 8)).toEqual([20, 14]);
    await run(['inventory', 'undo', '--run', '2', '--yes']);
    await run(['inventory', 'undo', '--run', '1', '--yes']);
    expect((await run(same)).code).toBe(0);
    expect(await stock(7, 8)).toEqual([15, 10]);
  });

  it('rows of a delivery that could not be added: --resume adds them alone, as a terminal offers', async () => {
    const { run, stock, file } = shop();
    const command = ['inventory', 'import', file('petId,delta\n7,3\n8,-10\n9,2\n')];
    expect((await run([...command, '--yes'])).code).toBe(11);
    const refused = await run([...command, '--yes']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /^error: Run 1 of \S.* has added 2 of these 3 rows already; nothing was sent\.\nhint: To add only the others, add --resume\.$/m,
    );
    expect((await run([...command, '--yes', '--resume'])).code).toBe(11);
    await run(['inventory', 'set', '8', '11']);
    const shown = await run([...command, '--resume', '--dry-run', '--json']);
    expect(JSON.parse(shown.stdout)).toEqual([expect.objectContaining({ petId: 8, before: 11, after: 1 })]);
    const { code, stderr } = await run(command, { ...TERMINAL, answers: [true] });
    expect(stderr).toMatch(/has added 2 of these 3 rows already: only the others are\s+added\./);
    expect([code, await stock(7, 8, 9)]).toEqual([0, [13, 1, 2]]);
    const done = await run([...command, '--yes', '--resume']);
    expect([done.code, done.stderr]).toEqual([2, expect.stringContaining('has added these rows already')]);
  });

  it('a delivery whose row could not be added and was corrected: only that row is added', async () => {
    const { run, stock, file } = shop();
    const path = file('petId,delta\n7,3\n8,-10\n');
    const command = ['inventory', 'import', path];
    expect((await run([...command, '--yes'])).code).toBe(11);
    writeFileSync(path, 'petId,delta\n7,3\n8,-1\n');
    for (const option of ['--resume', '--yes']) {
      const { code, stderr } = await run([...command, '--yes', option]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('has added 1 of these 2 rows already; nothing was')]);
    }
    expect((await run(command, { ...TERMINAL, answers: [true] })).code).toBe(0);
    expect(await stock(7, 8)).toEqual([13, 5]);
    // The next delivery has the same name.
    writeFileSync(path, 'petId,delta\n7,3\n8,2\n');
    expect((await run([...command, '--yes'])).code).toBe(0);
    expect(await stock(7, 8)).toEqual([16, 7]);
  });

  it('a delivery that was added, and has a row more now, is not added twice', async () => {
    const { run, stock, file } = shop();
    const path = file('petId,delta\n7,3\n');
    expect((await run(['inventory', 'import', path, '--yes'])).code).toBe(0);
    appendFileSync(path, '8,2\n');
    const { code, stderr } = await run(['inventory', 'import', path, '--yes']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('has added 1 of these 2 rows already; nothing was')]);
    expect((await run(['inventory', 'import', path], { ...TERMINAL, answers: [true] })).code).toBe(0);
    expect(await stock(7, 8)).toEqual([13, 8]);
  });

  it('a file with a header alone is nothing to do', async () => {
    const { home, run, file } = shop();
    const { code, stdout } = await run(['inventory', 'import', file('petId,delta\n'), '--yes', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ run: null, applied: 0, left: 0 })]);
    for (const option of ['--exit-code', '--resume']) {
      const planned = ['inventory', 'import', join(home.path, 'stock.csv'), '--dry-run', option];
      expect(await run([...planned, '--json'])).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
    }
  });

  it('finds pets by the barcodes and names of the catalog', async () => {
    const { run, stock, file } = shop();
    await run(['catalog', 'set', '7', '--name', 'Goldfish', '--barcode', '4006381333931']);
    await run(['catalog', 'set', '8', '--name', 'Guppy']);
    const scans = ['inventory', 'import', '--yes', file('Barcode;Quantity\n4006381333931;12,00\n')];
    expect((await run(scans)).code).toBe(0);
    const names = ['inventory', 'import', '--yes', file('name;delta\nguppy;2\n', 'names.csv')];
    expect((await run(names)).code).toBe(0);
    expect(await stock(7, 8)).toEqual([12, 8]);
    const unknown = file('barcode;name;delta\n;Dodo;2\n96385074;;2\n4.00638E+12;;2\n', 'unknown.csv');
    const { code, stderr } = await run(['inventory', 'import', '--yes', unknown]);
    expect(code).toBe(2);
    expect(stderr).toContain('line 2: no pet in the catalog is named "Dodo"');
    expect(stderr).toContain('line 3: no pet in the catalog has the barcode 96385074');
    expect(stderr).toContain('line 4: barcode 4.00638E+12 was shortened by a spreadsheet');
  });

  describe('of a file with other headings', () => {
    const TEXT = 'Supplier;Article;Pieces\nA;2;3\n';

    it('asks at a terminal which columns they are, and remembers the answers', async () => {
      const { run, quantity, file } = shop();
      const path = file(TEXT);
      const asked = await run(['inventory', 'import', path], {
        ...TERMINAL,
        answers: ['7', 'article', 'petId', '2', '3', 'add', true, true],
      });
      expect([asked.code, await quantity(2)]).toEqual([0, 6]);
      expect(asked.stderr).toContain('  1  Supplier\n  2  Article\n  3  Pieces\n');
      expect(asked.stderr).toContain('  1  Supplier\n  3  Pieces\n');
      const next = file(TEXT.replace('3\n', '4\n'), 'next.csv');
      const again = await run(['inventory', 'import', next, '--yes']);
      expect([again.code, await quantity(2)]).toEqual([0, 10]);
      expect(again.stderr).toContain(
        'As remembered for files with this header: "Article" is petId, "Pieces" is delta.\n',
      );
      const changed = await run(['inventory', 'import', next, '--dry-run', '--json'], {
        ...TERMINAL,
        answers: [false, '2', 'petId', '3', 'quantity', true],
      });
      expect([changed.code, JSON.parse(changed.stdout)]).toMatchObject([0, [{ petId: 2, after: 4 }]]);
    });

    it('elsewhere it names them, and --map', async () => {
      const { run, file } = shop();
      const { code, stderr } = await run(['inventory', 'import', file(TEXT), '--yes']);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^error: .*stock\.csv: no column is named petId or quantity \(or delta\); the columns are "Supplier", "Article", "Pieces"; name them with --map "HEADING=petId" --map "HEADING=quantity"; nothing was sent\.$/m,
      );
    });
  });

  it('adds with --add and other headings, and from JSON', async () => {
    const { run, quantity, file } = shop();
    const order = file('\ufeffArticle;Name;Pieces\r\n7;"a; ""b""";3\r\n;;\r\n');
    const maps = ['--map', 'Article=petId', '--map', 'pieces=quantity'];
    expect(await run(['inventory', 'import', order, '--yes', ...maps, '--add'])).toMatchObject({ code: 0 });
    expect(await quantity(7)).toBe(13);
    const stdin = { text: '{"petId":7,"delta":-3}\n' };
    expect(await run(['inventory', 'import', '-', '--yes'], { stdin })).toMatchObject({ code: 0 });
    expect(await quantity(7)).toBe(10);
  });

  const GOOD = 'petId,quantity\n7,13\n';
  const WORKBOOK = 'PK\u0003\u0004\0\0[Content_Types].xml';

  it.each([
    [
      'a workbook',
      WORKBOOK,
      [],
      /^error: .*\.csv is a spreadsheet; nothing was sent\.\nhint: Save it as CSV first\.$/m,
    ],
    [
      'fault 97: a bad row, the 9,999th',
      `petId,quantity\n${Array.from({ length: 9_998 }, (_, i) => `${i + 1},5\n`).join('')}9999,many\n`,
      [],
      /line 10000: quantity is "many", but must be a whole number/,
    ],
    ['--exit-code without --dry-run', GOOD, ['--exit-code'], /^error: --exit-code needs --dry-run\.$/m],
    ['a --map without a column', GOOD, ['--map', 'petId'], /--map must be HEADING=COLUMN, .*not "petId"/],
  ])('refuses %s: 2, and nothing is sent', async (_name, content, args, message) => {
    const { run, quantity, file } = shop();
    const { code, stdout, stderr } = await run(['inventory', 'import', file(content), '--yes', ...args]);
    expect([code, stdout, stderr, await quantity(7)]).toEqual([2, '', expect.stringMatching(message), 10]);
  });

  describe('of a file whose import is unfinished', () => {
    /** An import of pets 1 to 4, which have ten each, that has stopped after two of them. */
    async function stopped(column: 'quantity' | 'delta') {
      const { run, file } = shop();
      let isRefused = true;
      const pets = new Map([1, 2, 3, 4, 7].map((pet) => [pet, 10]));
      const { stock, ports } = stockService(pets, {}, (_request, update) =>
        isRefused && update === 3 ? error(401) : undefined,
      );
      const env = { ...STAGING_ENV, NO_COLOR: '1' };
      const inStaging = (args: readonly string[], options: TestContextOptions = {}) =>
        run(['--env', 'staging', 'inventory', ...args], { ...options, env, ...ports });
      const delivery = ['import', file(`petId,${column}\n1,100\n2,100\n3,100\n4,100\n`)];
      expect((await inStaging([...delivery, '--yes'])).code).toBe(4);
      isRefused = false;
      return { run: inStaging, stock: () => [...stock.values()].slice(0, 4), delivery, file };
    }

    it.each(['\n', '\r\n'])('and adds: --resume --dry-run plans what is left, also of a copy: %j', async (end) => {
      const { run, delivery, file } = await stopped('delta');
      await run(['set', '4', '77']);
      const copy = file(readFileSync(delivery[1]!, 'utf8').replaceAll('\n', end), 'copy.csv');
      const { code, stdout } = await run(['import', copy, '--resume', '--dry-run', '--exit-code', '--json']);
      expect([code, JSON.parse(stdout)]).toEqual([
        13,
        [
          { line: 4, petId: 3, before: 10, after: 110, problem: null },
          {
            line: 5,
            petId: 4,
            before: 77,
            after: 110,
            problem: 'there are 77 now, no longer 10: changed since by this machine: change 5',
          },
        ],
      ]);
    });

    it.each([
      ['under another name, also where the first one has other rows now', '\n'],
      ['with other line ends', '\r\n'],
    ])('and adds: its rows are resumed %s', async (_name, lineEnd) => {
      const { run, delivery, stock, file } = await stopped('delta');
      const copy = file(readFileSync(delivery[1]!, 'utf8').replaceAll('\n', lineEnd), 'copy.csv');
      writeFileSync(delivery[1]!, 'petId,delta\n');
      expect((await run(['import', copy, '--yes'])).stderr).toMatch(
        /^hint: Resume it with: .* import ('.+copy\.csv'|\S+copy\.csv) --resume$/m,
      );
      expect((await run(['import', copy, '--resume', '--yes'])).code).toBe(0);
      expect(stock()).toEqual([110, 110, 110, 110]);
    });

    it('and adds: what it began with stays its cause', async () => {
      const { run, delivery } = await stopped('delta');
      const { stderr } = await run([...delivery, '--resume', '--yes', '--cause', 'died']);
      expect(stderr).toContain('warning: Run 1 keeps the cause and the note that it began with.\n');
    });

    it('and sets: a warning, and it is set, which closes the unfinished one', async () => {
      const { run, delivery, stock } = await stopped('quantity');
      const { code, stderr } = await run([...delivery, '--yes']);
      expect([code, stock()]).toEqual([0, [100, 100, 100, 100]]);
      expect(stderr).toMatch(
        /^warning: Import 1 of this file is unfinished \(2 left\)\. Resume it with: petstore --env staging inventory import ('.+'|\S+) --resume$/m,
      );
      expect((await run(['runs', '--unfinished', '--json'])).stdout).toBe('[]\n');
    });

    it('and sets: --resume continues it, and so does a run that is done close it', async () => {
      const { run, delivery, stock } = await stopped('quantity');
      expect((await run([...delivery, '--resume', '--yes'])).stdout).toBe('Run 1 (import) in staging: 4 applied.\n');
      expect(stock()).toEqual([100, 100, 100, 100]);
      expect((await run([...delivery, '--resume', '--yes'])).stdout).toContain('Nothing to change in staging');
      expect((await run(['runs', '--unfinished', '--json'])).stdout).toBe('[]\n');
    });

    it('and adds: refused, for it would add twice; resumed, it adds what is left', async () => {
      const { run, delivery, stock } = await stopped('delta');
      const { code, stderr } = await run([...delivery, '--yes']);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^error: Import 1 of this file is unfinished \(2 left\); nothing was sent\.$/m);
      expect(stderr).toMatch(/^hint: Resume it with: petstore --env staging inventory import ('.+'|\S+) --resume$/m);
      expect((await run(['runs', 'resume', '1', '--yes'])).code).toBe(0);
      expect(stock()).toEqual([110, 110, 110, 110]);
      // Done: the same rows are added once more only if the user says so.
      const again = await run([...delivery, '--yes']);
      expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/^error: Run 1 .* has added these rows/m)]);
      expect(stock()).toEqual([110, 110, 110, 110]);
      expect((await run([...delivery, '--yes', '--again'])).code).toBe(0);
      expect(stock()).toEqual([210, 210, 210, 210]);
    });

    it('and adds: a pet that another delivery has brought to the same number is a conflict', async () => {
      const { run, stock } = await stopped('delta');
      await run(['set', '4', '110']);
      const { code, stderr } = await run(['runs', 'resume', '--json', '--yes']);
      expect([code, stock()]).toEqual([11, [110, 110, 110, 110]]);
      expect(stderr).toContain('1 conflict');
      const again = await run(['runs', 'resume', '1', '--yes']);
      expect(again.code).toBe(2);
      expect(again.stderr).toMatch(
        /^hint: Add only those: petstore --env staging inventory import ('.+'|\S+) --resume$/m,
      );
    });

    it('and adds, and has been changed since: refused with --resume too, unless --again', async () => {
      const { run, delivery, stock } = await stopped('delta');
      appendFileSync(delivery[1]!, '7,1\n');
      for (const option of ['--resume', '--yes']) {
        const { code, stderr } = await run([...delivery, '--yes', option]);
        expect(code).toBe(2);
        expect(stderr).toMatch(
          /^error: Import 1 of \S.* is unfinished, has added rows, and its file has been changed since; nothing was sent\.\nhint: Restore the file and resume, or give up what is left \(petstore --env staging inventory runs discard 1\) and import/m,
        );
      }
      expect(stock()).toEqual([110, 110, 10, 10]);
      expect((await run([...delivery, '--yes', '--again'])).code).toBe(0);
    });

    it('and adds: another delivery with a row like one of its own is none of it', async () => {
      const { run, stock } = await stopped('delta');
      const stdin = { text: 'petId,delta\n1,100\n3,1\n' };
      expect((await run(['import', '-', '--yes'], { stdin })).code).toBe(0);
      expect(stock()[0]).toBe(210);
    });

    it('and sets, and has been changed since: it is set, and the unfinished run is closed', async () => {
      const { run, delivery, stock } = await stopped('quantity');
      writeFileSync(delivery[1]!, 'petId,quantity\n1,100\n2,100\n3,100\n4,90\n');
      expect((await run([...delivery, '--yes', '--resume'])).code).toBe(0);
      expect(stock()).toEqual([100, 100, 100, 90]);
      expect((await run(['runs', '--unfinished', '--json'])).stdout).toBe('[]\n');
    });

    it.each([
      ['yes', [true], [110, 110, 110, 110]],
      ['no, and then yes', [false, true], [210, 210, 110, 110]],
    ])('at a terminal it is offered to resume: %s', async (_name, answers, after) => {
      const { run, delivery, stock } = await stopped('delta');
      const { code, stderr, questions } = await run(delivery, { terminal: true, answers });
      expect([code, stock()]).toEqual([0, after]);
      expect(questions[0]).toBe('Import 1 of this file is unfinished (2 left). Resume it in staging?');
      if (answers.length > 1) expect(stderr).toContain('the rows that it has added already are added again');
    });
  });
});

describe('inventory count', () => {
  it('tallies, takes back, shows the difference and sets it', async () => {
    const { run, stock } = shop();
    const stdin = { text: '7\nPET-7\n\n8 5\n9\n-\n7,3\n' };
    const { code, stdout, stderr } = await run(['inventory', 'count', '--yes', '--prefix', 'PET-'], { stdin });
    expect([code, stdout]).toEqual([0, 'Run 1 (count) in sandbox: 2 applied.\n']);
    expect(await stock(7, 8, 9)).toEqual([5, 5, 0]);
    expect(stderr.split('\n').slice(1, 7)).toEqual([
      'pet 7: 1 counted (stock: 10)',
      'pet 7: 2 counted (stock: 10)',
      'pet 8: 5 counted (stock: 6)',
      'pet 9: 1 counted (stock: 0)',
      'pet 9: taken back, 0 counted',
      'pet 7: 5 counted (stock: 10)',
    ]);
  });

  it('from a pipe, a line that is no scan keeps the others and applies nothing', async () => {
    const { run, stock, quantity } = shop();
    const { code, stdout, stderr } = await run(['inventory', 'count', '--yes'], {
      stdin: { text: '7\n999\nseven\n-\n-\n8 4006381333931\n8 5\n' },
    });
    expect([code, stdout, await quantity(8)]).toEqual([2, '', 6]);
    expect(stderr).toContain(
      'error: 4 rows of stdin cannot be used; nothing was sent.\n' +
        '  line 2: pet 999 does not exist\n' +
        '  line 3: "seven" is not an id, or an id and a quantity\n' +
        '  line 5: there is nothing to take back\n' +
        '  line 6: "8 4006381333931" is not an id, or an id and a quantity\n' +
        'hint: The other lines are saved. Correct these, and scan them alone: petstore --env sandbox inventory count --resume 1\n',
    );
    const resumed = await run(['inventory', 'count', '--yes', '--resume', '1'], { stdin: { text: '7 2\n' } });
    expect([resumed.code, ...(await stock(7, 8))]).toEqual([0, 2, 5]);
  });

  it.each(['seven\n', '7\n-\n-\n'])(
    'from a pipe without a scan in the end (%j), it offers to continue nothing',
    async (text) => {
      const { run } = shop();
      const { code, stderr } = await run(['inventory', 'count', '--yes'], { stdin: { text } });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/\nhint: Fix the file and run the command again\.\n$/)]);
      expect((await run(['inventory', 'runs', '--json'])).stdout).toBe('[]\n');
    },
  );

  it('takes ids padded with zeros, and shows its commands and the tally', async () => {
    const { run, quantity } = shop();
    const stdin = { text: '0000007\n007 2\n?\nlist\ndone\n' };
    const { code, stderr } = await run(['inventory', 'count', '--yes'], { stdin });
    expect([code, await quantity(7)]).toEqual([0, 3]);
    expect(stderr).toContain('  q          stops; the count can be kept for later\n');
    expect(stderr).toContain('pet 7: 3 counted (stock: 10)\n2 scans of 1 pet.\n');
    expect((await run(['inventory', 'count', '--yes'], { stdin: { text: '7\n' } })).stderr).toContain(
      '\n1 scan of 1 pet.\n',
    );
  });

  it('at a terminal: a bell for what is not known, "done", a question', async () => {
    const { run, stock } = shop();
    const stdin = { isTTY: true, text: '7\n999\ndone\n8\n' };
    const { code, stderr } = await run(['inventory', 'count'], { ...TERMINAL, stdin, answers: [true] });
    expect([code, stderr.includes('\u0007'), ...(await stock(7, 8))]).toEqual([0, true, 1, 6]);
  });

  it('a pet that changed since its first scan is a conflict, and is left as it is', async () => {
    const { run, stock } = shop();
    await run(['inventory', 'count', '--yes'], { stdin: { text: '7 9\n8 2\nq\n' } });
    await run(['inventory', 'adjust', '7', '-3', '--yes']);
    const { code, stdout, stderr } = await run(['inventory', 'count', '--resume', '--yes'], { stdin: { text: '7\n' } });
    expect([code, stdout]).toEqual([11, 'Run 1 (count) in sandbox: 1 applied, 1 conflict.\n']);
    expect(await stock(7, 8)).toEqual([7, 2]);
    expect(stderr).toContain(
      'pet 7 (line 1): conflict, there were 10 when it was first scanned, and there are 7 now: count it again\n',
    );
  });

  it('tells that the scans are saved where the stock cannot be read before they are applied', async () => {
    const stdin = { text: '7 4\ndone\n' };
    const context = withReplies([json([item(7, 10)]), error(401)], { stdin });
    const { code, stderr } = await runIn(context, 'inventory', 'count', '--yes');
    expect(code).toBe(4);
    expect(stderr).toContain('\nYour count is saved. Continue: petstore --env staging inventory count --resume 1\n');
  });

  it('leaves nothing behind without a scan', async () => {
    const { run } = shop();
    const { stdout } = await run(['inventory', 'count', '--yes'], { stdin: { text: 'q\n' } });
    expect(stdout).toBe('Nothing was counted.\n');
    const errorOf = async (...options: string[]) => {
      const { code, stderr } = await run(['inventory', 'count', '--yes', ...options], { stdin: { text: '' } });
      return [code, /^error: .*/m.exec(stderr)?.[0]];
    };
    expect(await errorOf()).toEqual([2, 'error: Nothing was scanned; nothing was changed.']);
    expect(await errorOf('--resume')).toEqual([2, expect.stringContaining('No stocktake was left unfinished')]);
    expect((await run(['inventory', 'runs', '--json'])).stdout).toBe('[]\n');
  });

  it('a stocktake that does not exist is refused before the stock is read', async () => {
    const context = withReplies([], { stdin: { text: '7\n' } });
    const { code, stderr } = await runIn(context, 'inventory', 'count', '--resume', '99', '--yes');
    expect([code, stderr]).toEqual([2, expect.stringContaining('Run 99 is not an unfinished stocktake')]);
  });

  it('a pet that was sold here before its first scan is no conflict; one that was sold after it is', async () => {
    const home = createHome();
    const inventory = ['--env', 'sandbox', 'inventory'];
    const counting = startPetstore([...inventory, 'count', '--yes'], { home, stdin: { open: true } });
    counting.write('8 5\n');
    await counting.waitFor(/pet 8 .*: 5 counted \(stock: 6\)/, 'stderr');
    for (const pet of ['7', '8']) await runPetstore([...inventory, 'adjust', pet, '-2'], { home });
    counting.write('7 7\ndone\n');
    const { stdout, stderr } = await counting.exited;
    expect(stderr).toContain('pet 7 (Goldfish): 7 counted (stock: 8)');
    expect(stderr).toContain('pet 8 (line 1): conflict, there were 6 when it was first scanned, and there are 4 now');
    expect(stdout).toBe('Run 1 (count) in sandbox: 1 applied, 1 conflict.\n');
  });

  it('reports every pet, and lists those that were not scanned; --rest zero sets them to 0', async () => {
    const { home, run, stock, quantity } = shop();
    const counted = await run(['inventory', 'count', '--yes'], { stdin: { text: '7 10\n8 5\n' } });
    expect(counted).toMatchObject({ code: 0, stdout: 'Run 1 (count) in sandbox: 1 applied, 1 unchanged.\n' });
    expect(counted.stderr).toMatch(
      /^Not scanned, left as they are: \d+ pets \(--rest zero sets them to 0\)\.\n {2}pet +1 +14\b/m,
    );
    const report = readFileSync(join(home.state, 'petstore/reports/count-1.csv'), 'utf8');
    expect(report).toContain('1,7,10,10,unchanged,,0,');
    expect(report).toContain('2,8,6,5,applied,,-1,');
    expect(report).toContain(',1,14,,not scanned,,,');
    expect(await quantity(1)).toBe(14);
    const zeroed = await run(['inventory', 'count', '--rest', 'zero', '--yes'], { stdin: { text: '7 10\n' } });
    expect([zeroed.code, zeroed.stdout]).toEqual([0, expect.stringMatching(/^Run 2 .*: \d\d applied, 1 unch/)]);
    expect(await stock(1, 7, 8)).toEqual([0, 10, 0]);
    expect(await run(['inventory', 'undo', '--yes'])).toMatchObject({ code: 0 });
    expect(await stock(1, 7, 8)).toEqual([14, 10, 5]);
  });

  it('--rest zero asks, and leaves a pet that is sold meanwhile as a conflict', async () => {
    const { home, run, quantity } = shop();
    const questions: string[] = [];
    const context = createTestContext({ home, ...TERMINAL, stdin: { text: '7 10\n', isTTY: true } });
    const prompt = {
      ...context.prompt,
      async confirm(question: string) {
        questions.push(question);
        await run(['inventory', 'adjust', '1', '-1']);
        return true;
      },
    };
    const count = ['--env', 'sandbox', 'inventory', 'count', '--rest', 'zero'];
    const { code, stdout } = await runIn({ ...context, prompt }, ...count);
    expect(questions).toEqual([
      expect.stringMatching(/^Change \d\d pets, and set to 0 those that were not scanned \(\d\d\), in\s+sandbox\?$/),
    ]);
    expect([code, stdout, await quantity(1)]).toEqual([11, expect.stringContaining('1 conflict'), 13]);
  });

  it('--due lists what was not counted for that long, never counted first', async () => {
    const { run } = shop();
    await run(['inventory', 'count', '--yes'], { stdin: { text: '7 10\n8 5\n' } });
    const due = (now: number, ...args: string[]) =>
      run(['inventory', 'count', '--due', ...args], { clock: new VirtualClock({ now, autoAdvance: true }) });
    const start = Date.parse('2026-03-02T14:03:20Z');
    const soon = await due(start, '90d', '-o', 'csv');
    expect(soon.stdout).toMatch(/^petId,name,quantity,counted\n1,.*,14,\n/);
    expect(soon.stdout).not.toMatch(/^[78],/m);
    const later = await due(start + 91 * 86_400_000, '90d', '-o', 'csv');
    expect(later.stdout).toMatch(/\n7,.*,10,2026-03-02T14:\d\d:\d\d\.\d+Z\n8,.*,5,2026-[^\n]+\n$/);
    expect((await due(start, '1ms', '--json')).code).toBe(0);
  });
});

describe('inventory edit', () => {
  it('shows the names of the catalog', async () => {
    const { run } = shop();
    await run(['catalog', 'set', '8', '--name', 'Guppy']);
    let shown = '';
    const keep = editing((text) => (shown = text));
    await run(['inventory', 'edit', '--pet', '7,8'], keep);
    expect(shown).toMatch(/\npetId,quantity,status,pet name\n7,10,available,\n8,6,available,Guppy\n$/);
  });

  const editing = (change: (text: string) => string) => ({
    ...TERMINAL,
    editor: (path: string) => {
      writeFileSync(path, change(readFileSync(path, 'utf8')));
    },
  });

  it.each(['utf8', 'utf16le'] as const)('sets what was changed, after a question: %s with a BOM', async (encoding) => {
    const { run, stock } = shop();
    const editor = (path: string): void => {
      const text = `\ufeff${readFileSync(path, 'utf8')}`;
      writeFileSync(path, text.replace('\n7,10,', '\n7,11,').replace(/\n8,.*/, ''), encoding);
    };
    const { code, stdout } = await run(['inventory', 'edit'], { ...editing(String), editor, answers: [true] });
    const done = 'Run 1 (edit) in sandbox: 1 applied.\nUndo: petstore --env sandbox inventory undo\n';
    expect([code, stdout, await stock(7, 8)]).toEqual([0, done, [11, 6]]);
  });

  it('does nothing where nothing was changed, and shows what the filters leave', async () => {
    const { run } = shop();
    let shown = '';
    const keep = editing((text) => (shown = text));
    const { code, stdout } = await run(['inventory', 'edit', '--pet', '7'], keep);
    expect([code, stdout]).toEqual([0, 'Nothing was changed.\n']);
    expect(shown.split('\n').slice(2)).toEqual(['petId,quantity,status', '7,10,available', '']);
  });

  it('keeps the file where it cannot be used', async () => {
    const { run, quantity } = shop();
    const wrong = editing((text) => text.replace('\n7,10,', '\n7,ten,'));
    const edit = () => run(['inventory', 'edit'], { ...wrong, answers: [false] });
    const { code, stderr } = await edit();
    expect([code, stderr, await quantity(7)]).toEqual([2, expect.stringContaining('quantity is "ten"'), 10]);
    const keptIn = (text: string): string | undefined => /file is\s+kept:\s+(\S+)/.exec(text)?.[1];
    expect(readFileSync(keptIn(stderr)!, 'utf8')).toContain('\n7,ten,');
    // Also from the next one, which in a container has the same process number.
    expect(keptIn((await edit()).stderr)).not.toBe(keptIn(stderr));
    expect(stderr).toContain('hint: To start again from the current stock, run the command again.');
  });

  it.each([
    () => {
      throw new Failure('editor', { command: 'vi', problem: 'was not found' });
    },
    rmSync,
  ])('leaves no file that the editor has not changed, or has removed', async (editor) => {
    const { home, run } = shop();
    const { code, stderr } = await run(['inventory', 'edit'], { ...TERMINAL, editor });
    expect([code, readdirSync(join(home.state, 'petstore/edit'))]).toEqual([3, []]);
    expect(stderr).not.toContain('kept');
  });

  it('does not block other commands while the editor is open', async () => {
    const { home, run } = shop();
    const stock = join(home.path, 'meanwhile.csv');
    writeFileSync(stock, 'petId,quantity\n8,3\n');
    const program = petstoreCommand()
      .map((word) => `'${word}'`)
      .join(' ');
    const script = join(home.path, 'editor');
    const meanwhile = `${program} --env sandbox inventory import --yes '${stock}' && sed -i s/^7,10,/7,11,/ "$1"`;
    writeFileSync(script, `#!/bin/sh\n${meanwhile}\n`, { mode: 0o755 });
    const edit = ['--env', 'sandbox', 'inventory', 'edit', '--yes'];
    expect(await runPetstore(edit, { home, env: { EDITOR: `'${script}'` } })).toMatchObject({
      code: 0,
      stdout: 'Run 2 (edit) in sandbox: 1 applied.\n',
    });
    expect((await run(['inventory', 'history', '--json'])).stdout.match(/"applied"/g)).toHaveLength(2);
  });

  it('gives the editor no key and no ledger’s password', async () => {
    const home = createHome();
    const seen = join(home.path, 'seen');
    const secret = { PETSTORE_API_KEY: 'not-for-editors', PETSTORE_LEDGER: '' };
    const env = { ...secret, EDITOR: `env > '${seen}' #`, OTHER: 'kept' };
    const { code } = await runPetstore(['--env', 'sandbox', 'inventory', 'edit', '--yes'], { home, env });
    const names = readFileSync(seen, 'utf8').match(/^\w+(?==)/gm);
    expect({ code, secrets: names?.filter((name) => name.startsWith('PETSTORE_')) }).toEqual({ code: 0, secrets: [] });
    expect(names).toContain('OTHER');
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('fault 122: %s ends the editor, and the command', async (signal, code) => {
    const home = createHome();
    const script = join(home.path, 'editor');
    // KILL: a child that is about to run sleep would lose a TERM.
    const steps = ["trap 'kill -9 $!; echo closed >&2' TERM", 'sleep 60 >/dev/null 2>&1 &', 'echo open >&2', 'wait'];
    writeFileSync(script, `#!/bin/sh\n${steps.join('\n')}\n`, { mode: 0o755 });
    const env = { EDITOR: `'${script}'` };
    const running = startPetstore(['--env', 'sandbox', 'inventory', 'edit', '--yes'], { home, env });
    await running.waitFor(/open/, 'stderr');
    running.kill(signal);
    expect((await running.exited).code).toBe(code);
    // The editor first, which restores the terminal. It has changed nothing.
    expect(running.stderr.startsWith('open\nclosed\n')).toBe(true);
    expect([running.stderr.includes('kept'), readdirSync(join(home.state, 'petstore/edit'))]).toEqual([false, []]);
  });

  it('opens what cannot be used once more, if that is wanted', async () => {
    const { run, quantity } = shop();
    const texts = ['ten', '11'];
    const { code, stderr } = await run(['inventory', 'edit'], {
      ...editing((text) => text.replace(/\n7,\w+,/, `\n7,${texts.shift()},`)),
      answers: [true, true],
    });
    expect([code, stderr, await quantity(7)]).toEqual([0, expect.stringContaining('warning: line 10: quantity'), 11]);
  });

  it('leaves alone what is below zero already, and takes no other count below zero without --allow-negative', async () => {
    const home = createHome();
    const { baseUrl, apiKey } = await serveSandbox(['--quantity=-100..100'], { home });
    const env = staging(baseUrl, apiKey);
    const run = (args: string[], editor = 'false') => runPetstore(args, { home, env: { ...env, EDITOR: editor } });
    const edit = (from: string, to: string, ...args: string[]) =>
      run(['inventory', 'edit', '--yes', ...args], `sed -i s/^${from},/${to},/`);
    expect(await run(['inventory', 'set', '7', '-3', '--allow-negative'])).toMatchObject({ code: 0 });
    expect(await edit('8,6', '8,5')).toMatchObject({ code: 0 });
    const refused = await edit('8,5', '8,-5');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('line 11: quantity is -5, below zero')]);
    expect(await edit('8,5', '8,-5', '--allow-negative')).toMatchObject({ code: 0 });
    const { stdout } = await run(['inventory', 'list', '--pet', '7', '8', '-o', 'csv', '--no-header']);
    expect(stdout).toBe('7,-3,available\n8,-5,available\n');
    // The refused rows are kept so that they can be fixed; the finished ones are not.
    expect(readdirSync(join(home.state, 'petstore', 'edit'))).toHaveLength(1);
  });

  it('needs a terminal, or an editor that was named', async () => {
    const { home, run } = shop();
    expect((await run(['inventory', 'edit'])).code).toBe(2);
    const script = join(home.path, 'editor');
    writeFileSync(script, '#!/bin/sh\nsed -i s/^7,10,/7,11,/ "$1"\n', { mode: 0o755 });
    const edit = (...args: string[]) =>
      runPetstore(['--env', 'sandbox', 'inventory', 'edit', ...args], { home, env: { EDITOR: `'${script}'` } });
    expect(await edit('--no-input')).toMatchObject({ code: 2 });
    expect(await edit()).toMatchObject({ code: 2 });
    expect(await edit('--yes')).toMatchObject({ code: 0, stdout: 'Run 1 (edit) in sandbox: 1 applied.\n' });
  });
});
