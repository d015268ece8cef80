/** `inventory import`, in this process, on the built-in sandbox. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { STAGING_ENV } from '../support/in-process.ts';
import { error } from '../support/replies.ts';
import { sandboxShop, TERMINAL } from '../support/sandbox-shop.ts';
import { stockService } from '../support/stock-service.ts';
import type { TestContextOptions } from '../support/test-context.ts';

const shop = () => sandboxShop({ areNamed: false });

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
    '\u001b[38;5;231m\u001b[48;5;160m999\u001b[49m\u001b[39m',
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
  const all = await run(command, { terminal: true, env: { NO_COLOR: '1' } });
  expect(all.stdout).toContain('Run 1 (import) in sandbox: 1 applied, 1 conflict.\n');
  expect(all.stderr).toContain('0 of 2 applied, 1 conflict');
  const { stdout } = await run(['inventory', 'runs', '--json']);
  expect(JSON.parse(stdout)).toMatchObject([{ done: 1, left: 0, conflicts: 1, failed: 0 }]);
  const table = await run(['inventory', 'runs']);
  expect(table.stdout).toMatch(/ Left +Conflicts +Source\n.* 0 +1 +stock\.csv\n$/);
});

it.each([
  [5, ''],
  [6, 'warning: Not applied either: 1 more row.\n'],
  [8, 'warning: Not applied either: 3 more rows.\n'],
])('of %i conflicts that no plan has shown, it names five, and how many more there are', async (conflicts, more) => {
  const { run, file } = shop();
  const rows = Array.from({ length: conflicts }, (_, i) => `${i + 1},998,999`);
  const path = file(['petId,quantity,current', ...rows].join('\n'));
  const { code, stderr } = await run(['inventory', 'import', path, '--yes', '--quiet']);
  const [after] = stderr.split(/(?:warning: Pet \d: .*\n){5}/).slice(1);
  expect([code, after]).toEqual([11, expect.stringMatching(new RegExp(`^${more}error: Not everything was applied`))]);
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

it('says that the report could not be written, and why; the run is done', async () => {
  const { home, run, file } = shop();
  mkdirSync(join(home.state, 'petstore'), { recursive: true });
  writeFileSync(join(home.state, 'petstore', 'reports'), '');
  const command = ['inventory', 'import', file('petId,quantity\n7,12\n8,1\n'), '--yes', '--json'];
  const { code, stdout, stderr } = await run(command);
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { applied: 2, report: null }]);
  expect(stderr).toContain('There is no report of this run. Could not write ');
});

it('adds a delivery, shows it first, and adds the same rows again only with --again, unless they were undone', async () => {
  const { run, stock, quantity, file } = shop();
  const command = ['inventory', 'import', '--yes', file('petId,delta\n7,+3\n8,4\n7,2\n')];
  const first = await run(command);
  expect([first.code, first.stdout]).toEqual([0, 'Run 1 (import) in sandbox: 2 applied.\n']);
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

it.each([
  ['8,2\n', '9,1\n', [13, 8, 1]],
  ['7,2\n', '8,1\n', [15, 7, 0]],
])('a delivery that gets the rows %j, then %j: those of earlier versions are not added again', async (...rows) => {
  const [second, third, expected] = rows;
  const { run, stock, file } = shop();
  const path = file('petId,delta\n7,3\n');
  const command = ['inventory', 'import', path];
  expect((await run([...command, '--yes'])).code).toBe(0);
  for (const more of [second, third]) {
    appendFileSync(path, more);
    expect((await run(command, { ...TERMINAL, answers: [true] })).code).toBe(0);
    const again = await run([...command, '--yes', '--resume']);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('has added these rows already')]);
  }
  await run(['inventory', 'undo', '--yes']);
  expect((await run([...command, '--yes', '--resume'])).code).toBe(0);
  expect(await stock(7, 8, 9)).toEqual(expected);
});

it('a delivery with more rows, of which only some were added since: those before are not added again', async () => {
  const { run, stock, file } = shop();
  const path = file('petId,delta\n7,3\n8,2\n');
  const command = ['inventory', 'import', path];
  expect((await run([...command, '--yes'])).code).toBe(0);
  appendFileSync(path, '8,4\n9,1\n');
  expect((await run(command, { ...TERMINAL, answers: [true] })).code).toBe(0);
  expect((await run(['inventory', 'undo', '3', '--yes'])).stdout).toContain('Pet 8');
  appendFileSync(path, '7,1\n');
  expect((await run([...command, '--yes'])).code).toBe(2);
  expect((await run(command, { ...TERMINAL, answers: [true] })).code).toBe(0);
  expect(await stock(7, 8, 9)).toEqual([14, 12, 1]);
});

it('an earlier version of a delivery: a row that was added with a later version is not added again', async () => {
  const { run, stock, file } = shop();
  const text = 'petId,delta\n7,3\n8,-10\n';
  const path = file(text);
  expect((await run(['inventory', 'import', path, '--yes'])).code).toBe(11);
  await run(['inventory', 'set', '8', '21']);
  appendFileSync(path, '9,1\n');
  expect((await run(['inventory', 'import', path], { ...TERMINAL, answers: [true] })).code).toBe(0);
  const { code, stderr } = await run(['inventory', 'import', file(text), '--yes', '--resume']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('has added these rows already; nothing was sent')]);
  expect(await stock(7, 8, 9)).toEqual([13, 11, 1]);
});

it('a delivery that was added, and has a line more of a pet now, is not added twice', async () => {
  const { run, stock, file } = shop();
  const path = file('petId,delta\n7,1\n7,2\n8,2\n');
  expect((await run(['inventory', 'import', path, '--yes'])).code).toBe(0);
  appendFileSync(path, '7,2\n');
  // However its path is spelled.
  const { code, stderr } = await run(['inventory', 'import', path.replace(/(?=[^/]*$)/, './x/../'), '--yes']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('has added part of these rows already; nothing was')]);
  expect((await run(['inventory', 'import', path], { ...TERMINAL, answers: [true] })).code).toBe(0);
  expect(await stock(7, 8)).toEqual([15, 8]);
});

it.each([
  ['undo', 'runs resume', 0, 13],
  ['undo', 'runs discard 2', 2, 10],
  ['redo', 'runs resume', 2, 13],
  ['redo', 'runs discard 3', 2, 13],
])('a delivery whose %s was applied without an answer is not added before %s', async (direction, end, exit, pets) => {
  const { run, file } = shop();
  let loses = false;
  let isDown = false;
  const { stock, ports } = stockService(new Map([[7, 10]]), {}, ({ body }, update) => {
    if (isDown) return error(401);
    isDown = loses && update > 0;
    if (isDown) stock.set(7, (JSON.parse(String(body)) as { quantity: number }).quantity);
    return isDown ? error(500) : undefined;
  });
  const inStaging = (...args: string[]) =>
    run(['--env', 'staging', 'inventory', ...args, '--yes'], { env: STAGING_ENV, ...ports });
  const delivery = ['import', file('petId,delta\n7,3\n'), '--resume'];
  for (const command of [delivery, ...(direction === 'redo' ? [['undo']] : [])])
    expect(await inStaging(...command)).toMatchObject({ code: 0 });
  loses = true;
  expect((await inStaging(direction)).code).toBe(9);
  isDown = loses = false;
  const { code, stderr } = await inStaging(...delivery);
  const unfinished = `error: The ${direction} of run 1, run ${direction === 'undo' ? 2 : 3} (${direction}), is unfinished;`;
  expect([code, stderr]).toEqual([2, expect.stringContaining(unfinished)]);
  await inStaging(...end.split(' '));
  expect([(await inStaging(...delivery)).code, stock.get(7)]).toEqual([exit, pets]);
});

it('another delivery of the same name is added, although it has more of the same pets', async () => {
  const { run, stock, file } = shop();
  const path = file('petId,delta\n7,1\n7,2\n8,1\n');
  expect((await run(['inventory', 'import', path, '--yes'])).code).toBe(0);
  for (const next of ['7,4\n8,1\n', '7,1\n7,1\n7,3\n8,1\n', '8,1\n8,1\n7,3\n']) {
    file(`petId,delta\n${next}`);
    expect((await run(['inventory', 'import', path, '--yes'])).code).toBe(0);
  }
  expect(await stock(7, 8)).toEqual([25, 11]);
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
  await run(['catalog', 'set', '9', '--name=-Koi']);
  const names = ['inventory', 'import', '--yes', file("petId;Name;delta\n;guppy;2\n;'-Koi;4\n", 'names.csv')];
  expect((await run(names)).code).toBe(0);
  const stdin = { text: '[{"name":"Guppy","delta":3}]' };
  expect((await run(['inventory', 'import', '--yes', '-'], { stdin })).code).toBe(0);
  expect(await stock(7, 8, 9)).toEqual([12, 11, 4]);
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
  ['a workbook', WORKBOOK, [], /^error: .*\.csv is a spreadsheet; nothing was sent\.\nhint: Save it as CSV first\.$/m],
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
    expect((await run(['runs', 'resume', '--dry-run', '--json'])).stdout).toBe(stdout);
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
    expect(stderr).toContain('warning: Run 1 keeps the cause and note that it began with.\n');
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
      /^hint: Apply only those: petstore --env staging inventory import ('.+'|\S+) --resume$/m,
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
