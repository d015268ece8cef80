/** Undoes, lists, resumes and discards changes and runs, in this process, on the built-in sandbox. */
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fileIn } from '../support/home.ts';
import { type Ran, runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { sandboxShop, TERMINAL } from '../support/sandbox-shop.ts';
import { serveSandbox } from '../support/served.ts';
import { stockService } from '../support/stock-service.ts';
import { createTestContext, type TestContext, type TestContextOptions } from '../support/test-context.ts';

const OF_TEN = () => new Map([7, 8, 9].map((petId) => [petId, 10]));
/** For longer than a command with --deadline 9s waits. */
const DOWN = error(503, 'down', 'down', { headers: { 'retry-after': '20' } });

function shop() {
  const { home, run: runAll, quantity, file } = sandboxShop({ areNamed: true });
  const at = async (args: readonly string[], options: TestContextOptions = {}) => {
    const ran = await runAll(['inventory', ...args], options);
    // The rate limit of the last line is not what these tests are about.
    return { ...ran, stderr: ran.stderr.replace(/^\d+ of \d+ requests left, .*\n/m, '') };
  };
  const run = (...args: string[]) => at(args);
  /** At a terminal, with these answers. */
  const ask = (answers: readonly boolean[], ...args: string[]) => at(args, { ...TERMINAL, answers });
  return { home, run, ask, quantity, file: (...rows: string[]) => file(['petId,quantity', ...rows].join('\n')) };
}

describe('set', () => {
  it('in a profile, undo names it', async () => {
    const { run } = service({ terminal: true, env: { PETSTORE_PROFILE: 'berlin' } });
    const { stdout } = await run('set', '7', '12');
    expect(stdout).toContain('Undo: petstore --env berlin/staging inventory undo\n');
  });

  it.each([
    ['in a pipe: one request, and no old quantity', false, [], ['PATCH']],
    ['in a pipe with --read-first', false, ['--read-first'], ['GET', 'PATCH']],
    ['in a pipe with --expect', false, ['--expect', '10'], ['GET', 'PATCH']],
    ['at a terminal', true, [], ['GET', 'PATCH']],
    ['at a terminal with --no-read-first', true, ['--no-read-first'], ['PATCH']],
    ['at a terminal with --no-input', true, ['--no-input'], ['PATCH']],
  ])('%s', async (_name, terminal, options, methods) => {
    const { context, run } = service({ terminal });
    expect((await run('set', '7', '12', ...options)).code).toBe(0);
    expect(context.sent.map(({ method }) => method)).toEqual(methods);
    const undone = await run('undo', '--yes');
    expect(undone).toMatchObject(
      methods.length === 2
        ? { code: 0, stdout: 'Pet 7: 12 → 10. Undone.\n' }
        : {
            code: 11,
            stderr: expect.stringContaining(
              'error: Pet 7: cannot undo: the earlier quantity was not recorded.\n',
            ) as string,
          },
    );
  });
});

describe('--dry-run sends no write', () => {
  it.each([
    [
      ['set', '7', '12', '--expect', '10'],
      'Pet 7 (Goldfish): 10 → 12 (+2) in sandbox.\nDry run in sandbox: no write is sent.\n',
    ],
    [['set', '7', '12', '--expect', '9'], ''],
    [['adjust', '7', '-1'], 'Pet 7 (Goldfish): 10 → 9 (-1) in sandbox.\nDry run in sandbox: no write is sent.\n'],
    [['undo', '--dry-run'], 'Pet  Name        Before  After  Change\n  8  Budgerigar       5      6      +1\n'],
    [['count', '--dry-run'], 'Pet  Name      Before  After  Change\n  7  Goldfish      10      1      -9\n'],
  ])('%j', async (args, shown) => {
    const { home, run, quantity } = shop();
    await run('adjust', '8', '-1');
    const context = createTestContext({ home, stdin: { text: '7\n' } });
    const { stdout } = await runIn(context, '--env', 'sandbox', 'inventory', ...args, '--dry-run');
    expect([stdout.slice(0, shown.length), shown === '' ? stdout : '']).toEqual([shown, '']);
    expect([await quantity(7), await quantity(8)]).toEqual([10, 5]);
  });

  it('edit', async () => {
    const { home, quantity } = shop();
    const editor = (path: string): void => {
      writeFileSync(path, 'petId,quantity\n7,12\n');
    };
    const context = createTestContext({ home, editor, env: { EDITOR: 'ed' } });
    const edit = ['--env', 'sandbox', 'inventory', 'edit', '--dry-run'];
    expect(await runIn(context, ...edit)).toMatchObject({
      code: 0,
      stdout: 'Pet  Name      Before  After  Change\n  7  Goldfish      10     12      +2\n',
    });
    expect(await quantity(7)).toBe(10);
    const unedited = createTestContext({ home, editor: () => undefined, env: { EDITOR: 'ed' } });
    for (const filter of [[], ['--pet', '99']]) {
      const { stdout } = await runIn(unedited, ...edit, '--json', ...filter);
      expect(stdout).toBe('[]\n');
    }
  });
});

it.each([
  ['adjust 7 +0', 'Nothing to do: the adjustment is 0.\n'],
  ['set 7 10 --read-first', 'Nothing to do: pet 7 (Goldfish) already has 10 in sandbox.\n'],
])('%s does nothing', async (line, stdout) => {
  const { run } = shop();
  expect(await run(...line.split(' '))).toMatchObject({ code: 0, stdout });
  expect((await run('history')).stdout).toBe('');
});

describe('undo and redo', () => {
  it('go one command back and one forward, as often as there are commands; a new change ends the redo', async () => {
    const { run, ask, quantity } = shop();
    const said = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args, '--yes');
      return code === 0 ? stdout.trim() : `${code} ${/^error: (.*)/m.exec(stderr)?.[1]}`;
    };
    await run('adjust', '7', '+5');
    await run('adjust', '12', '-1');
    expect(await said('redo')).toBe(
      '2 There is nothing to redo in sandbox: nothing was undone after the newest change; nothing was sent.',
    );
    expect(await said('undo')).toBe('Pet 12 (Hamster): 4 → 5. Undone.');
    expect(await said('undo')).toBe('Pet 7 (Goldfish): 15 → 10. Undone.');
    expect(await said('undo')).toBe('2 There is nothing left to undo in sandbox; nothing was sent.');
    expect(await said('redo')).toBe('Pet 7 (Goldfish): 10 → 15. Redone.');
    expect(await said('redo')).toBe('Pet 12 (Hamster): 5 → 4. Redone.');
    expect(await said('redo')).toContain('nothing to redo');
    expect(await said('undo')).toBe('Pet 12 (Hamster): 4 → 5. Undone.');
    expect(await ask([false], 'redo')).toMatchObject({ code: 2, questions: ['Redo change 2 (adjust) in sandbox?'] });
    await run('adjust', '8', '+1');
    expect(await said('redo')).toContain('nothing to redo');
    expect(await said('undo')).toBe('Pet 8 (Budgerigar): 7 → 6. Undone.');
    expect(await said('undo')).toBe('Pet 7 (Goldfish): 15 → 10. Undone.');
    expect([await quantity(7), await quantity(8), await quantity(12)]).toEqual([10, 6, 5]);
    expect(await said('undo', '3')).toBe('2 Change 3 is an undo; nothing was sent.');
    expect(await said('undo', '--run', '3')).toBe('2 Run 3 is a redo; nothing was sent.');
    const refused = async (id: string) => (await run('undo', '--run', id, '--yes')).stderr;
    expect(await refused('7')).toMatch(/Run 7 is an undo.*\nhint: Reverse it with: petstore .* redo\n/);
    expect(await refused('2')).toMatch(/Run 2 is an undo.*\nhint: See what was changed: petstore .* history\n/);
  });

  it('of an import: what it leaves is named by the next undo, which takes the command before, and undone by number', async () => {
    const { context, stock } = service({ stdin: { text: 'petId,quantity\n7,12\n8,20\n' } });
    const run = (...args: string[]) => runIn(context, 'inventory', ...args, '--yes');
    const said = async (...args: string[]) => (await run(...args)).stdout;
    await run('adjust', '9', '-1');
    await run('import', '-');
    stock.set(8, 19);
    expect(await run('undo')).toMatchObject({ code: 11, stdout: 'Run 2 (undo) in staging: 1 applied, 1 conflict.\n' });
    const { stdout, stderr } = await run('undo');
    expect([stdout, stderr.split('\n')[0]]).toEqual([
      'Pet 9: 9 → 10. Undone.\n',
      'The undo of run 1 left out pet 8. If it has the quantity from run 1, take it back with: petstore --env staging inventory undo --run 1',
    ]);
    expect([...stock.values()]).toEqual([10, 19, 10]);
    expect(await said('redo')).toBe('Pet 9: 10 → 9. Redone.\n');
    stock.set(8, 20);
    expect(await said('undo', '--run', '1')).toBe('Pet 8: 20 → 10. Undone.\n');
    // Each of the two undos is one step, and only what it has changed comes back.
    for (const pet of ['Pet 8: 10 → 20', 'Pet 7: 10 → 12']) expect(await said('redo')).toBe(`${pet}. Redone.\n`);
    expect((await run('redo')).stderr).toContain('nothing to redo');
    for (const pet of ['Pet 7: 12 → 10', 'Pet 8: 20 → 10', 'Pet 9: 9 → 10'])
      expect(await run('undo')).toMatchObject({ stdout: `${pet}. Undone.\n`, stderr: '' });
  });

  it('of one change spends what bulk work leaves to the till, as the change did', async () => {
    const { ports } = stockService(OF_TEN(), { limit: 60, remaining: 6, resetsIn: 60 });
    const context = createTestContext({ env: STAGING_ENV, ...ports });
    for (const line of ['adjust 7 +1', 'undo --yes', 'redo --yes'])
      expect((await runIn(context, 'inventory', ...line.split(' '), '--no-wait')).code).toBe(0);
  });

  it.each(['undo', 'redo'] as const)(
    '%s leaves a pet that others have brought back to the quantity from before, as any other that they have changed',
    async (command) => {
      const { context, stock } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n' } });
      const run = (...args: string[]) => runIn(context, 'inventory', ...args, '--yes');
      await run('adjust', '9', '+1');
      await run('adjust', '7', '+1');
      if (command === 'redo') await run('undo');
      const [from, to] = command === 'undo' ? [11, 10] : [10, 11];
      stock.set(7, to);
      for (const _twice of [1, 2])
        expect(await run(command)).toMatchObject({
          code: 11,
          stdout: '',
          stderr: expect.stringContaining(
            `error: Pet 7: cannot ${command}: there are ${to} now, no longer the ${from} that were written: someone else has changed it.\nhint: See what was changed`,
          ) as string,
        });
      expect((await run('undo', '1')).stdout).toBe('Pet 9: 11 → 10. Undone.\n');
      stock.set(7, 10);
      await run('import', '-');
      if (command === 'redo') await run('undo');
      stock.set(8, command === 'undo' ? 10 : 13);
      expect(await run(command)).toMatchObject({
        code: 11,
        stdout: expect.stringMatching(/: 1 applied, 1 conflict\.\n$/) as string,
      });
    },
  );

  it('fault 139: leaves a pet that others have brought back to the quantity from before during the question', async () => {
    const bringBack = async (): Promise<boolean> => stock.set(7, 10).size > 0;
    const { stock, run } = service({ terminal: true, answers: [bringBack] });
    await run('adjust', '7', '+1');
    const undone = await run('undo');
    expect(undone).toMatchObject({ code: 11, stdout: 'Run 1 (undo) in staging: 0 applied, 1 conflict.\n' });
    expect(undone.stderr).toContain('Pet 7: there are 10 now, no longer 11: someone else has changed it.\n');
    expect((await run('undo', '--yes')).stderr).toContain('Pet 7: cannot undo');
  });

  it.each(['discarded', 'resumed'])(
    'an undo that was applied and had no answer is no conflict when %s',
    async (end) => {
      const { stock, ports } = stockService(OF_TEN(), {}, (_request, update) => {
        if (update !== 2) return undefined;
        stock.set(7, 10);
        throw new Error('killed');
      });
      const context = createTestContext({ ...ports, env: STAGING_ENV });
      await runIn(context, 'inventory', 'adjust', '7', '+1');
      await runIn(context, 'inventory', 'undo', '--yes');
      const then = end === 'resumed' ? ['resume'] : ['discard', '1', '--yes'];
      expect((await runIn(context, 'inventory', 'runs', ...then)).code).toBe(0);
      expect((await runIn(context, 'inventory', 'undo', '1', '--yes')).code).toBe(0);
    },
  );

  it('of a redo counts a pet as undone that was undone by its number since', async () => {
    const { context } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n' } });
    const run = async (...args: string[]) => (await runIn(context, 'inventory', ...args, '--yes')).stdout;
    await run('import', '-');
    for (const args of [['undo'], ['redo'], ['undo', '1']]) await run(...args);
    expect(await run('undo')).toBe('Pet 8: 13 → 10. Undone.\n');
  });

  it('what is undone already is not taken back twice, and can still be redone', async () => {
    const { run, file, quantity } = shop();
    await run('import', file('7,12', '8,9'), '--yes');
    for (const _twice of [1, 2]) expect(await run('undo', '1', '--yes')).toMatchObject({ code: 0 });
    expect(await run('redo', '--yes')).toMatchObject({ stdout: 'Pet 7 (Goldfish): 10 → 12. Redone.\n' });
    await run('undo', '1', '--yes');
    await run('adjust', '7', '+2');
    expect(await run('undo', '--run', '1', '--yes')).toMatchObject({
      code: 11,
      stderr: expect.stringContaining('pet 7: conflict, it was undone already\n') as string,
    });
    expect([await quantity(7), await quantity(8)]).toEqual([12, 6]);
    expect(await run('undo', '--yes')).toMatchObject({ stdout: 'Pet 7 (Goldfish): 12 → 10. Undone.\n', stderr: '' });
  });

  it('undo takes first what was done last, be it a redo, and only what that has changed', async () => {
    const { context, stock } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n' } });
    const run = async (...args: string[]) => (await runIn(context, 'inventory', ...args, '--yes')).stdout;
    await run('import', '-');
    await run('adjust', '9', '+1');
    await run('undo', '--run', '1');
    stock.set(8, 9);
    await run('redo');
    expect(await run('undo')).toBe('Pet 7: 12 → 10. Undone.\n');
    expect(await run('undo')).toBe('Pet 9: 11 → 10. Undone.\n');
    expect(await run('redo')).toBe('Pet 9: 10 → 11. Redone.\n');
    expect(await run('redo')).toBe('Pet 7: 10 → 12. Redone.\n');
    // The redo of a row ends with its run.
    await run('undo', '1');
    await run('redo');
    await run('undo', '--run', '1');
    stock.set(7, 50);
    expect(await run('undo')).toBe('Pet 9: 11 → 10. Undone.\n');
  });

  it('an undo without an answer, of a pet that someone else has set, is left by undo and offered by redo', async () => {
    const lost = [json([item(7, 11)]), error(500), json([item(7, 55)]), json([item(7, 55)])];
    const context = withReplies([json([item(7, 10)]), json(item(7, 11)), ...lost, json([item(7, 55)])]);
    await runIn(context, 'inventory', 'adjust', '7', '+1');
    expect((await runIn(context, 'inventory', 'undo', '--yes')).code).toBe(11);
    expect((await runIn(context, 'inventory', 'undo', '--yes')).stderr).toContain('There is nothing left to undo');
    expect((await runIn(context, 'inventory', 'redo', '--yes')).stderr).toContain('Pet 7: cannot redo: there are 55');
  });

  it('what is undone is in no sum, and once where it is redone', async () => {
    const { run } = shop();
    const sums = async () => (await run('history', '--by', 'cause', '-o', 'csv')).stdout.split('\n').slice(1, -1);
    await run('adjust', '7', '-2', '--cause', 'died', '--note', 'tank 4');
    await run('adjust', '8', '-1', '--cause', 'died');
    await run('adjust', '9', '+4', '--cause', 'received');
    const all = ['received,sandbox,1,4,0,4', 'died,sandbox,2,0,3,-3'];
    expect((await sums()).toSorted()).toEqual(all.toSorted());
    await run('undo', '--yes', '--note', 'counted twice');
    expect(await sums()).toEqual(all.slice(1));
    await run('undo', '--yes');
    expect(await sums()).toEqual(['died,sandbox,1,0,2,-2']);
    await run('redo', '--yes');
    await run('redo', '--yes');
    expect((await sums()).toSorted()).toEqual(all.toSorted());
  });

  it('single writes are in the history; one that failed cannot be undone', async () => {
    const { run } = shop();
    for (const line of ['set 7 12', 'adjust 7 -2', 'set 999 1']) await run(...line.split(' '));
    const facts = { who: 'clerk', environment: 'sandbox', run: null };
    const reason = 'the service does not have this pet';
    expect(JSON.parse((await run('history', '--json')).stdout)).toMatchObject([
      { change: 3, petId: 999, before: null, after: 1, outcome: 'failed', reason, ...facts },
      { change: 2, petId: 7, before: 12, after: 10, outcome: 'applied', command: 'inventory adjust', ...facts },
      { change: 1, petId: 7, before: null, after: 12, outcome: 'applied', command: 'inventory set', ...facts },
    ]);
    const [asked, failed] = [await run('undo'), await run('undo', '3', '--yes')];
    expect([asked.code, failed.code]).toEqual([2, 2]);
    expect(asked.stderr).toContain('To change without a question, add --yes.');
    expect(failed.stderr).toContain('Change 3 does not exist or was not applied');
  });

  it('the last one is that of the environment', async () => {
    const { home, run } = shop();
    const { baseUrl } = await serveSandbox();
    const context = createTestContext({ home, env: { PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: 'sandbox' } });
    await run('adjust', '7', '1');
    expect(await runIn(context, '--env', 'staging', 'inventory', 'adjust', '7', '1')).toMatchObject({ code: 0 });
    const { code, stderr } = await run('undo', '2', '--yes');
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('Change 2 is for staging, and the environment is sandbox'),
    ]);
    expect(await run('undo', '--yes')).toMatchObject({ code: 0 });
    const { stdout } = await run('history', '--json', '--limit', '1');
    expect(JSON.parse(stdout)).toMatchObject([{ environment: 'sandbox', command: 'undo of change 1' }]);
  });

  it.each([
    [['undo', '999'], 'Change 999 does not exist or was not applied'],
    [['undo', '--run', '99'], 'Run 99 does not exist or was not applied'],
    [
      ['undo'],
      'This machine has not changed any stock in sandbox yet',
      'See changes of every environment: .*-environments',
    ],
    [
      ['redo'],
      'This machine has not changed any stock in sandbox yet',
      'See changes of every environment: .*-environments',
    ],
    [['runs', 'discard', '99'], 'Run 99 does not exist'],
  ])('%j is refused before anything is asked', async (args, problem, hint = '') => {
    const { code, stderr } = await shop().run(...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(`^error: ${problem}; nothing was sent.\nhint: ${hint}`)]);
  });

  it('an undo that was stopped is said to be unfinished before anything older is offered', async () => {
    const { stock, run } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n9,14\n' } }, 6);
    await run('adjust', '7', '+1');
    await run('import', '-', '--yes');
    expect((await run('undo', '--yes')).code).toBe(4);
    expect(await run('undo', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'error: The newest command, run 2 (undo), is unfinished; nothing was sent.\n',
      ) as string,
    });
    expect(await run('runs', 'resume')).toMatchObject({
      code: 0,
      stdout: 'Run 2 (undo) in staging: 3 applied. Undone.\n',
    });
    expect(await run('undo', '--yes')).toMatchObject({ stdout: 'Pet 7: 11 → 10. Undone.\n' });
    expect([...stock.values()]).toEqual([10, 10, 10]);
  });

  it.each([
    ['was refused', [error(401)], 4, 'unfinished and has changed nothing yet'],
    ['may have been applied', [error(500), error(401), error(401)], 9, 'unfinished'],
  ])('an undo whose only update %s is unfinished', async (_what, answers, exit, words) => {
    const context = withReplies([json([item(7, 10)]), json(item(7, 11)), json([item(7, 11)]), ...answers]);
    await runIn(context, 'inventory', 'adjust', '7', '+1');
    context.clock.stepWall(-86_400_000);
    expect((await runIn(context, 'inventory', 'undo', '--yes')).code).toBe(exit);
    const titles = { 'newest command': [], 'undo of change 1': ['1'] };
    for (const [title, named] of Object.entries(titles)) {
      const { stderr } = await runIn(context, 'inventory', 'undo', ...named, '--yes');
      expect(stderr).toContain(`error: The ${title}, run 1 (undo), is ${words}; nothing was sent.\n`);
    }
  });

  it('of a change without an answer: it was applied if a later one has found its quantity', async () => {
    const lost = [json([item(7, 10)]), error(500), error(401)];
    const sold = [json([item(7, 11)]), json(item(7, 10))];
    const backTo = (quantity: number) => [json(item(7, quantity)), json([item(7, quantity)])];
    const undone = [json([item(7, 10)]), json([item(7, 10)]), ...backTo(11), json([item(7, 11)]), ...backTo(10)];
    const context = withReplies([...lost, ...sold, ...undone]);
    expect((await runIn(context, 'inventory', 'adjust', '7', '+1')).code).toBe(9);
    expect((await runIn(context, 'inventory', 'adjust', '7', '-1')).code).toBe(0);
    expect((await runIn(context, 'inventory', 'undo', '1', '--yes')).stderr).toContain(
      'Pet 7: cannot undo: there are 10 now, no longer the 11 that were written: changed since by this machine: change 2.',
    );
    for (const change of ['2', '1']) expect((await runIn(context, 'inventory', 'undo', change, '--yes')).code).toBe(0);
    const { stdout } = await runIn(context, 'inventory', 'history', '--json');
    const rows = JSON.parse(stdout) as { after: number; outcome: string }[];
    expect(rows.map(({ after, outcome }) => [after, outcome])).toEqual([
      [10, 'applied'],
      [11, 'applied'],
      [10, 'applied'],
      [11, 'applied'],
    ]);
  });

  it.each([
    ['only its row is undone', ['undo', '1', '--yes'], 10, ['discarded']],
    ['its undo is killed', ['undo', '--yes'], 12, ['unknown', 'applied']],
    ['its file is imported anew', ['import', '-', '--yes'], 12, ['applied']],
    ['its new import is killed', ['import', '-', '--yes'], 10, ['unknown', 'discarded']],
  ])('a run whose row has no answer ends, and knows the outcome, where %s', async (_how, then, found, outcomes) => {
    let isKilling = false;
    const { stock, ports } = stockService(OF_TEN(), {}, (_request, update) => {
      if (update > 0 && isKilling) throw new Error('killed');
      return update > 0 ? error(503) : undefined;
    });
    const stdin = { text: 'petId,quantity\n7,12\n' };
    const context = createTestContext({ ...ports, env: STAGING_ENV, stdin });
    expect((await runIn(context, 'inventory', 'import', '-', '--yes', '--no-wait')).code).toBe(9);
    stock.set(7, found);
    isKilling = true;
    await runIn(context, 'inventory', ...then);
    const { stdout } = await runIn(context, 'inventory', 'history', '--json');
    const rows = JSON.parse(stdout) as { outcome: string }[];
    expect(rows.map(({ outcome }) => outcome)).toEqual(outcomes);
    const left = await runIn(context, 'inventory', 'runs', '--unfinished', '--json');
    expect(left.stdout).not.toContain('"run":1,');
  });

  it.each([3, -3])('takes the newest command first, also if one ran with a clock %i years off', async (years) => {
    const { home, run, quantity } = shop();
    await run('adjust', '7', '+2');
    const context = createTestContext({ home });
    context.clock.stepWall(years * 365 * 86_400_000);
    await runIn(context, '--env', 'sandbox', 'inventory', 'adjust', '8', '+1');
    await run('adjust', '7', '+5');
    await run('undo', '--yes');
    expect([await quantity(7), await quantity(8)]).toEqual([12, 7]);
    await run('undo', '--yes');
    expect([await quantity(7), await quantity(8)]).toEqual([12, 6]);
    await run('redo', '--yes');
    expect([await quantity(7), await quantity(8)]).toEqual([12, 7]);
  });

  it('of a pet that someone else sets while it waits for the rate limit: a conflict', async () => {
    const now50 = json([item(7, 50)]);
    const stock = json([item(7, 11)]);
    const soon = tooMany(20, { limits: false });
    const context = withReplies([json([item(7, 10)]), json(item(7, 11)), stock, soon, now50, now50]);
    await runIn(context, 'inventory', 'adjust', '7', '+1');
    const { code, stderr } = await runIn(context, 'inventory', 'undo', '--yes');
    expect([code, stderr]).toEqual([11, expect.stringContaining('there are 50 now, no longer 11')]);
  });

  it('on a narrow terminal, the question is wrapped between words', async () => {
    const { home, run } = shop();
    await run('adjust', '7', '+1');
    const context = createTestContext({ home, terminal: true, stderr: { isTTY: true, columns: 34 }, answers: [true] });
    expect(await runIn(context, '--env', 'sandbox', 'inventory', 'undo')).toMatchObject({ code: 0 });
    expect(context.questions).toEqual([{ kind: 'confirm', question: 'Undo change 1 (adjust) in\n  sandbox?' }]);
  });

  it('conventions 21: names the change of this machine that came later, whatever the clock said', async () => {
    const { home, run, file } = shop();
    await run('import', file('7,12'), '--yes');
    const context = createTestContext({ home });
    context.clock.stepWall(-86_400_000);
    await runIn(context, '--env', 'sandbox', 'inventory', 'import', file('7,15'), '--yes');
    expect(await run('undo', '1', '--yes')).toMatchObject({
      code: 11,
      stderr: expect.stringContaining(
        'cannot undo: there are 15 now, no longer the 12 that were written: changed since by this machine: change 2.',
      ) as string,
    });
  });

  it('of a run that was stopped takes back what was done, and discards the rest', async () => {
    const { stock, run } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n9,14\n' } }, 2);
    expect((await run('import', '-', '--yes')).code).toBe(4);
    expect([...stock.values()]).toEqual([12, 10, 10]);
    const shown = await run('undo', '--dry-run');
    expect(shown.stderr).toMatch(
      /^Would undo run 1 \(import -\) in staging\.\nRun 1 is unfinished; the 2 rows left would be /m,
    );
    const undone = await run('undo', '--yes');
    expect(undone).toMatchObject({ code: 0, stdout: 'Pet 7: 12 → 10. Undone.\n' });
    expect(undone.stderr).toContain('Run 1 is unfinished; the 2 rows left will be discarded.\n');
    expect((await run('runs', '--unfinished')).stdout).toBe('');
  });

  it('of a run that is resumed during the question sends nothing', async () => {
    const resume = async (): Promise<boolean> => (await run('runs', 'resume')).code === 0;
    const { context, stock, run } = service({ terminal: true, answers: [resume] }, 2);
    const file = fileIn(context.home, 'stock.csv', 'petId,quantity\n7,12\n8,13\n9,14\n');
    expect((await run('import', file, '--yes')).code).toBe(4);
    const undone = await run('undo');
    expect(undone).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error: Run 1 was resumed meanwhile') as string,
    });
    expect([...stock.values()]).toEqual([12, 13, 14]);
  });

  it('of an import: what it leaves is named also after a redo and another undo', async () => {
    const { context, stock } = service({ stdin: { text: 'petId,quantity\n7,12\n8,20\n' } });
    const run = (...args: string[]) => runIn(context, 'inventory', ...args, '--yes');
    await run('adjust', '9', '-1');
    await run('import', '-');
    stock.set(8, 19);
    for (const command of ['undo', 'redo', 'undo']) await run(command);
    expect((await run('undo')).stderr).toContain('The undo of run 1 left out pet 8. If it has the quantity from run 1');
    expect([...stock.values()]).toEqual([10, 19, 10]);
  });

  it('of a run that was stopped ends that run, also where the undo is stopped in turn', async () => {
    const { run } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n9,14\n' } }, 2, error(401), true);
    expect((await run('import', '-', '--yes')).code).toBe(4);
    expect((await run('undo', '--yes')).code).toBe(4);
    const { stdout } = await run('runs', '--unfinished', '--json');
    expect(JSON.parse(stdout)).toMatchObject([{ run: 2, kind: 'undo' }]);
  });

  it('that was stopped is what a redo names as unfinished', async () => {
    const { run } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n' } }, 4);
    expect((await run('import', '-', '--yes')).code).toBe(0);
    expect((await run('undo', '--yes')).code).toBe(4);
    const { stderr } = await run('redo', '--dry-run');
    expect(stderr).toMatch(
      /^Would redo run 1 \(import -\) in staging\.\nRun 2 is unfinished; the 1 row left would be discarded\.\n/,
    );
    await run('runs', 'discard', '2', '--yes');
    const next = await run('undo', '--yes');
    expect(next.stderr).toMatch(/^The undo of run 1 left out pet 8\. .* undo --run 1\nerror: There is nothing left/);
  });

  it('of a delivery whose last row has no answer: the row can be added again, also beside a conflict', async () => {
    const { context, stock, run } = service({}, 3, DOWN, false);
    const file = fileIn(context.home, 'delivery.csv', 'petId,delta\n7,2\n8,3\n9,4\n');
    expect((await run('import', file, '--yes', '--deadline', '9s')).code).toBe(9);
    stock.set(7, 11);
    expect((await run('undo', '--yes')).code).toBe(11);
    expect((await run('import', file, '--yes', '--resume')).code).toBe(0);
    expect([...stock.values()]).toEqual([11, 13, 14]);
  });

  it.each([
    ['quantity', 12, 0, 0],
    ['delta', 2, 11, 1],
  ])(
    'a row (%s) without an answer is not the one that another command has applied since',
    async (column, value, exit, conflicts) => {
      const { context, run } = service({}, 1, DOWN, false);
      const file = fileIn(context.home, 'stock.csv', `petId,${column}\n7,${value}\n`);
      expect((await run('import', file, '--yes', '--deadline', '9s')).code).toBe(9);
      await context.clock.advance(20_000);
      await run('adjust', '7', '+2');
      const { code, stdout } = await run('import', file, '--resume', '--yes', '--json');
      expect([code, JSON.parse(stdout)]).toMatchObject([exit, { applied: 0, conflicts, unknown: 0 }]);
      const sums = await run('history', '--by', 'pet', '--json');
      expect(JSON.parse(sums.stdout)).toMatchObject([{ petId: 7, changes: 1, net: 2 }]);
    },
  );

  it('of a change without an answer leaves what another profile has set since, be it the same quantity', async () => {
    const { context, stock, run } = service({}, 1, DOWN, false);
    expect((await run('adjust', '7', '+2', '--deadline', '9s')).code).toBe(9);
    await context.clock.advance(20_000);
    expect((await runIn(context, '--profile', 'berlin', 'inventory', 'adjust', '7', '+2')).code).toBe(0);
    expect((await run('undo', '--yes')).stdout).toBe(
      'Nothing to change in staging: change 1 (adjust) was not applied.\n',
    );
    expect((await run('undo', '--yes')).stderr).toContain('There is nothing left to undo');
    expect(stock.get(7)).toBe(12);
  });

  it('of a run whose only row may have been applied ends the run: it cannot apply the row again', async () => {
    const { run } = service({ stdin: { text: 'petId,quantity\n7,12\n' } }, 1, error(503));
    expect((await run('import', '-', '--yes', '--no-wait')).code).toBe(9);
    expect(await run('undo', '--yes')).toMatchObject({
      code: 0,
      stdout: 'Nothing to change in staging: run 1 (import -) was not applied.\n',
    });
    expect(await run('runs', 'resume')).toMatchObject({ code: 2 });
    const { stdout } = await run('runs', '--json');
    expect(JSON.parse(stdout)).toMatchObject([
      { run: 2, kind: 'undo', state: 'finished' },
      { run: 1, state: 'discarded', left: 0 },
    ]);
  });
});

describe('runs', () => {
  it.each([
    ['last row is under way: no failure', 2, 0, /^Run 1 \(import\) in staging: 2 applied\.\n/m, 13],
    [
      'first is: to be resumed',
      1,
      7,
      /^error: The command did not finish within its deadline of 3500 ms\.\nhint: Continue: petstore --env staging inventory runs resume 1\n/m,
      10,
    ],
  ])('a deadline that passes while the %s', async (_name, late, exit, words, quantity) => {
    const { stock, ports } = stockService(OF_TEN(), {}, (_request, update, clock) =>
      update === late ? clock.advance(4_000).then(() => undefined) : undefined,
    );
    const stdin = { text: 'petId,quantity\n7,12\n8,13\n' };
    const context = createTestContext({ env: STAGING_ENV, stdin, ...ports });
    const ran = await runIn(context, 'inventory', 'import', '-', '--yes', '--deadline', '3500ms');
    expect([ran.code, ran.stdout + ran.stderr, stock.get(8)]).toEqual([exit, expect.stringMatching(words), quantity]);
  });

  it('a stocktake that is still counting shows its scans', async () => {
    const { home, run } = shop();
    const context = createTestContext({ home, stdin: { text: '7\n8 2\nq\n' } });
    await runIn(context, '--env', 'sandbox', 'inventory', 'count', '--yes');
    expect((await run('runs')).stdout).toMatch(/^ +1 {2}count {2}sandbox .* unfinished +0 +0 {2}2 scans$/m);
  });

  it.each([
    [['runs', 'list', '9'], 'inventory runs list takes no number.'],
    [['runs', 'resume', '--unfinished'], 'inventory runs resume takes no --unfinished.'],
    [['undo', '1', '--run', '1', '--yes'], 'Name one thing to undo: a change, or --run.'],
    [['undo', '9223372036854775808'], 'changeId must be a number such as 3, not "9223372036854775808".'],
  ])('%j is refused', async (line, problem) => {
    const { run } = shop();
    expect(await run(...line)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`error: ${problem}\n`) as string,
    });
  });

  it('are listed, resumed and discarded; status names the commands', async () => {
    const { context, stock, run } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n9,14\n' } }, 2);
    await run('import', '-', '--yes');
    const { stdout } = await run('runs', '--json');
    expect(JSON.parse(stdout)).toMatchObject([
      { run: 1, kind: 'import', environment: 'staging', state: 'unfinished', done: 1, left: 2 },
    ]);
    const resume = 'petstore --env staging inventory runs resume 1';
    const discard = 'petstore --env staging inventory runs discard 1';
    const status = (await runIn(context, 'status')).stdout;
    expect([status.includes(resume), status.includes(discard)]).toEqual([true, true]);
    const resumed = await runIn(context, ...resume.split(' ').slice(1));
    expect([resumed.code, stock.get(8)]).toEqual([0, 13]);
    expect((await run('runs')).stdout).toMatch(/1 {2}import {2}staging .* finished +3 +0/);
    // One that is finished is not asked about.
    const stderr = 'error: Run 1 is done; nothing was sent.\nhint: See all runs: petstore inventory runs\n';
    const refused = { code: 2, stdout: '', stderr };
    for (const yes of [[], ['--yes']]) expect(await run('runs', 'discard', '1', ...yes)).toEqual(refused);
  });

  it('discard asks, and ends a run; its rows are not applied', async () => {
    const { stock, run } = service({ stdin: { text: 'petId,quantity\n7,12\n8,13\n9,14\n' } }, 2);
    await run('import', '-', '--yes');
    expect(await run('runs', 'discard', '1')).toMatchObject({ code: 2 });
    expect(await run('runs', 'discard', '1', '--yes')).toMatchObject({
      code: 0,
      stdout: 'Run 1 (import) is discarded: 2 rows left out.\n',
    });
    expect((await run('runs')).stdout).toContain('discarded');
    expect(await run('runs', 'resume', '1')).toMatchObject({ code: 2 });
    expect(stock.get(8)).toBe(10);
  });

  it('discard is for a run of the environment, also at another address; the question names it', async () => {
    const stdin = { text: 'petId,quantity\n7,12\n8,13\n9,14\n' };
    const { context, run } = service({ stdin, terminal: true, answers: [false] }, 2);
    await run('import', '-', '--yes');
    const discard = (...args: string[]) => run('runs', 'discard', '1', ...args);
    expect(await discard('--yes', '--env', 'hamburg/staging')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^error: Run 1 is for staging, and the environment is hamburg\/staging; .*\s+.*\nhint: Name the environment: .* --env staging inventory\s+runs discard 1\n$/,
      ) as string,
    });
    const moved = ['--base-url', 'https://moved.example/v1'];
    expect((await discard(...moved)).code).toBe(2);
    expect(context.questions).toMatchObject([{ question: 'Discard the 2 rows left of run 1 in staging?' }]);
    expect(await discard('--yes', ...moved)).toMatchObject({ code: 0 });
  });

  it('discard of a stocktake that was being applied counts its rows, not its scans', async () => {
    const { run } = service({ stdin: { text: '7 12\n8 6\n8 7\n' } }, 2);
    expect((await run('count', '--yes')).code).toBe(4);
    const { stdout } = await run('runs', 'discard', '1', '--yes');
    expect(stdout).toBe('Run 1 (count) is discarded: 1 row left out.\n');
  });

  it('discard shows a row whose outcome is unknown', async () => {
    const { run } = service({ stdin: { text: 'petId,quantity\n7,12\n' } }, 1, error(503));
    expect((await run('import', '-', '--yes', '--no-wait')).code).toBe(9);
    expect((await run('runs', 'discard', '1', '--yes')).stderr).toContain(
      'warning: Pet 7 may or may not have been set to 12. To find out, resume the run instead.\n',
    );
  });
});

describe('the progress of a run is shown with its wait', () => {
  const slow = error(429, 'slow', 'rate_limited', { headers: { 'retry-after': '30' } });
  const line = /2 of 3 applied; rate limited \(429\), continuing at \d\d:\d\d:\d\d \(\d+ s\)/g;

  it.each([
    ['without a terminal: one line for each wait, and no other', false],
    ['at a terminal: on the live line, with a countdown', true],
  ])('%s', async (_name, terminal) => {
    const { context, run } = service({ terminal }, 3, slow);
    const file = fileIn(context.home, 'stock.csv', 'petId,quantity\n7,12\n8,13\n9,14\n');
    const { code, stderr } = await run('import', file, '--yes');
    const waits = stderr.match(line) ?? [];
    expect([code, stderr.includes('0 of 3 applied'), waits.length > 1]).toEqual([0, terminal, terminal]);
    expect(waits.length).toBeGreaterThan(0);
  });
});

/** A shop of three pets with ten each, in staging, and a way to run `inventory` there. The update with the number `failing` gets the refusal; those after it too where that lasts. */
function service(
  options: TestContextOptions,
  failing = 0,
  refusal: PlainReply = error(401),
  isLasting = (refusal.status ?? 0) >= 500,
): { context: TestContext; stock: Map<number, number>; run: (...args: string[]) => Promise<Ran> } {
  const isRefused = (update: number): boolean => update === failing || (isLasting && failing > 0 && update > failing);
  const { stock, ports } = stockService(OF_TEN(), {}, (_request, update) =>
    update > 0 && isRefused(update) ? refusal : undefined,
  );
  const env = { ...STAGING_ENV, NO_COLOR: '1', ...options.env };
  const context = createTestContext({ ...options, ...ports, env });
  return { context, stock, run: (...args) => runIn(context, 'inventory', ...args) };
}
