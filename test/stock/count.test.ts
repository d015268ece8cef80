/** `inventory count`, in this process, on the built-in sandbox. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';
import { sandboxShop, TERMINAL } from '../support/sandbox-shop.ts';
import { createTestContext } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const shop = () => sandboxShop({ areNamed: false });

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
      '  line 6: 4006381333931 is a barcode: scan it on a line of its own\n' +
      'hint: The other lines are saved. Correct these and scan only them: petstore --env sandbox inventory count --resume 1\n',
  );
  expect(stderr).not.toContain('Your count is saved');
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
  expect((await run(['inventory', 'count', '--yes'], { stdin: { text: '7\n.\nseven\n' } })).stderr).toContain(
    '\n1 scan of 1 pet.\n',
  );
});

it('a stocktake whose rows are all conflicts is finished: nobody has discarded it', async () => {
  const { run } = shop();
  await run(['inventory', 'count', '--yes'], { stdin: { text: '7 9\nq\n' } });
  await run(['inventory', 'adjust', '7', '-3', '--yes']);
  expect((await run(['inventory', 'count', '--resume', '--yes'], { stdin: { text: '' } })).code).toBe(11);
  const { stdout } = await run(['inventory', 'runs', '--json']);
  expect(JSON.parse(stdout)).toMatchObject([{ run: 1, state: 'finished', conflicts: 1 }]);
});

it('a sale to the number that was counted is a conflict as any other, also while the question is open', async () => {
  const { run, quantity } = shop();
  await run(['inventory', 'count', '--yes'], { stdin: { text: '7 9\nq\n' } });
  const sell = async (petId: string) => (await run(['inventory', 'adjust', petId, '-1'])).code === 0;
  await sell('7');
  const options = { ...TERMINAL, stdin: { text: '8 5\n', isTTY: true }, answers: [() => sell('8')] };
  const { code, stdout, stderr } = await run(['inventory', 'count', '--resume'], options);
  expect([code, stdout]).toEqual([11, 'Run 1 (count) in sandbox: 0 applied, 2 conflicts.\n']);
  expect(stderr).toContain('pet 7: conflict, there were 10 when it was first scanned');
  expect([await quantity(7), await quantity(8)]).toEqual([9, 5]);
});

it('that was stopped while it was applied: --resume names what applies the rest', async () => {
  const list = json([item(7, 10), item(8, 6)]);
  const stdin = { text: '7 4\n8 2\ndone\n' };
  const context = withReplies([list, list, json(item(7, 4)), error(401)], { stdin });
  expect((await runIn(context, 'inventory', 'count', '--yes')).code).toBe(4);
  for (const which of [[], ['1']]) {
    const { code, stderr } = await runIn(context, 'inventory', 'count', '--yes', '--resume', ...which);
    expect([code, stderr]).toEqual([
      2,
      'error: Stocktake 1 is not applied yet (1 row left); nothing was sent.\n' +
        'hint: Resume it with: petstore --env staging inventory runs resume 1\n',
    ]);
  }
});

it.each([
  ['runs', 'discard', '1'],
  ['count', '--resume'],
])('does not continue a stocktake that another window ends during the question (%s %s)', async (...other) => {
  const { run, quantity } = shop();
  await run(['inventory', 'count', '--yes'], { stdin: { text: '7 9\nq\n' } });
  const end = async () => (await run(['inventory', ...other, '--yes'], { stdin: { text: '' } })).code === 0;
  const stdin = { text: '8 5\nq\n', isTTY: true };
  const { code, stderr } = await run(['inventory', 'count'], { ...TERMINAL, stdin, answers: [end] });
  expect([code, stderr]).toEqual([2, expect.stringContaining('error: Run 1 is not an unfinished stocktake; nothing')]);
  expect(await quantity(7)).toBe(other[0] === 'count' ? 9 : 10);
});

it('tells that the scans are saved where the stock cannot be read before they are applied', async () => {
  const stdin = { text: '7 4\ndone\n' };
  const context = withReplies([json([item(7, 10)]), error(401)], { stdin });
  const { code, stderr } = await runIn(context, 'inventory', 'count', '--yes');
  expect(code).toBe(4);
  expect(stderr).toContain('\nYour count is saved. Continue: petstore --env staging inventory count --resume 1\n');
});

it.each([[], [['inventory', 'import', '-', '--yes']]])(
  'a stocktake that a reset of the sandbox removes is not said to be saved, nor mixed with the next run (%j)',
  async (...next) => {
    const { home, run } = shop();
    const context = createTestContext({ home });
    async function* lines() {
      yield '7 9';
      await run(['sandbox', 'reset', '--yes']);
      for (const args of next) await run(args, { stdin: { text: 'petId,quantity\n8,2\n' } });
      yield '8 5';
    }
    const stdin = { ...context.stdin, lines };
    const { code, stderr } = await runIn({ ...context, stdin }, '--env', 'sandbox', 'inventory', 'count', '--yes');
    expect([code, stderr]).toEqual([3, expect.stringContaining('no longer holds this run')]);
    expect(stderr).not.toContain('saved');
    const { stdout } = await run(['inventory', 'runs', '--json']);
    expect(JSON.parse(stdout)).toMatchObject(next.map(() => ({ kind: 'import', done: 1 })));
  },
);

it('leaves nothing behind without a scan', async () => {
  const { run } = shop();
  const { stdout } = await run(['inventory', 'count', '--yes'], { stdin: { text: 'Quit\n7\n' } });
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

it('reports every pet, and lists those that were not scanned; --rest zero sets them to 0', async () => {
  const { home, run, stock, quantity } = shop();
  const counted = await run(['inventory', 'count', '--yes'], { stdin: { text: '7 10\n8 5\n' } });
  expect(counted).toMatchObject({ code: 0, stdout: 'Run 1 (count) in sandbox: 1 applied, 1 unchanged.\n' });
  expect(counted.stderr).toMatch(
    /^Not scanned, left as they are: \d+ pets \(--rest zero sets them to 0\)\.\n {2}pet +1 +14\b(?:.*\n {2}pet.*){9}\n {2}and \d+ more$/m,
  );
  const report = readFileSync(join(home.state, 'petstore/reports/count-1.csv'), 'utf8');
  expect(report).toContain('\n,7,10,10,unchanged,,0,');
  expect(report).toContain(',8,6,5,applied,,-1,');
  expect(report).toContain(',1,14,,not scanned,,,');
  expect(await quantity(1)).toBe(14);
  const zeroed = await run(['inventory', 'count', '--rest', 'zero', '--yes'], { stdin: { text: '7 10\n' } });
  expect([zeroed.code, zeroed.stdout]).toEqual([0, expect.stringMatching(/^Run 2 .*: \d\d applied, 1 unch/)]);
  expect(zeroed.stderr).not.toContain('Not scanned');
  expect(await stock(1, 7, 8)).toEqual([0, 10, 0]);
  expect(await run(['inventory', 'undo', '--yes'])).toMatchObject({ code: 0 });
  expect(await stock(1, 7, 8)).toEqual([14, 10, 5]);
});

it('--rest zero asks, and leaves a pet that is sold meanwhile as a conflict', async () => {
  const { run, quantity } = shop();
  const sell = async () => (await run(['inventory', 'adjust', '1', '-1'])).code === 0;
  const options = { ...TERMINAL, stdin: { text: '7 10\n', isTTY: true }, answers: [sell] };
  const { code, stdout, questions } = await run(['inventory', 'count', '--rest', 'zero'], options);
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
  expect((await due(start, '2026-03-03', '-o', 'csv')).stdout).toContain('\n7,');
  expect((await due(start, '90')).code).toBe(2);
});
