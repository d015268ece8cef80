/** How bulk runs end, wait and cope with a failing service, in this process, on virtual time. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HttpFailure, type HttpRequest } from '../../src/ports.ts';
import { shellWord, withEnvironment } from '../../src/session/run-commands.ts';
import { fileIn } from '../support/home.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json, type Limits, type PlainReply, tooMany } from '../support/replies.ts';
import { type Answering, stockService } from '../support/stock-service.ts';
import { createTestContext, type TestContext, type TestContextOptions } from '../support/test-context.ts';

const IMPORT = ['inventory', 'import', '-', '--json', '--yes'] as const;

/** Rows for pets 1 to `count`, each with its hundredfold. */
const rows = (count: number): string =>
  ['petId,quantity', ...Array.from({ length: count }, (_, i) => `${i + 1},${100 * (i + 1)}`)].join('\n');

const list = (count: number, limits: Partial<Limits>): PlainReply =>
  json(
    Array.from({ length: count }, (_, i) => item(i + 1, 1)),
    { limits },
  );

/** A shop of `count` pets of one each. */
function service(
  count: number,
  limits: Partial<Limits>,
  answer?: Answering,
  options: TestContextOptions = {},
): { context: TestContext; stock: Map<number, number>; underWay: readonly number[]; updates: () => HttpRequest[] } {
  const pets = new Map(Array.from({ length: count }, (_, i) => [i + 1, 1]));
  const { stock, underWay, ports } = stockService(pets, limits, answer);
  const context = createTestContext({ env: STAGING_ENV, stdin: { text: rows(count) }, ...options, ...ports });
  return { context, stock, underWay, updates: () => context.sent.filter(({ method }) => method === 'PATCH') };
}

const AMPLE = { limit: 1_000, remaining: 900, resetsIn: 60 };

describe('fault 125: with several causes the exit code is that of the first in the order, whichever came first', () => {
  const refusals: Readonly<Record<number, PlainReply>> = {
    429: tooMany(3_600),
    401: error(401),
    403: error(403),
    400: error(400),
  };
  it.each([
    // The first row may find the ban that the second has caused.
    [[429, 403], 12, expect.stringMatching(/^(forbidden|banned)$/) as string],
    [[403, 429], 12, 'forbidden'],
    [[429, 401], 4, 'unauthorized'],
    [[401, 429], 4, 'unauthorized'],
    [[401, 403], 12, 'forbidden'],
    [[403, 401], 12, 'forbidden'],
    [[400, 429], 6, 'rate-limited'],
    [[400, 400], 11, 'run-incomplete'],
  ])('%j: %i', async (statuses, exit, kind) => {
    const arrived = Promise.withResolvers<undefined>();
    const { context } = service(3, AMPLE, async (request, update) => {
      if (request.method === 'GET') return undefined;
      // A service that is this slow is asked for two rows at once from then on.
      if (update === 1) return context.clock.sleep(2_000).then(() => undefined);
      if (update === 3) arrived.resolve(undefined);
      // Both are under way before the first is answered; the second comes after it.
      await arrived.promise;
      if (update === 3) await context.clock.sleep(1_000);
      return refusals[statuses[update - 2] ?? 0];
    });
    const { code, stderr } = await runIn(context, ...IMPORT, '--max-wait', '10s');
    expect([code, JSON.parse(stderr.trim().split('\n').at(-1) ?? '')]).toMatchObject([exit, { error: { kind } }]);
  });
});

describe('a row that could not be sent is tried again at the end of the run', () => {
  const refused = (): never => {
    const at = { phase: 'connect', peer: 'staging.example:443', code: 'ECONNREFUSED', detail: '' } as const;
    throw new HttpFailure({ ...at, mayHaveBeenSent: false });
  };

  it.each([
    ['and done', 3, 0],
    ['and ends the run if it still cannot', 1_000, 7],
  ])('%s', async (_name, failing, exit) => {
    let left = failing;
    const { context, stock } = service(20, AMPLE, ({ url }) =>
      url.pathname.endsWith('/inventory/2') && left-- > 0 ? refused() : undefined,
    );
    expect((await runIn(context, ...IMPORT)).code).toBe(exit);
    const wrong = [...stock].filter(([petId, quantity]) => quantity !== 100 * petId);
    expect(wrong).toEqual(exit === 0 ? [] : [[2, 1]]);
  });
});

describe('only --max-wait decides how long a run waits', () => {
  const slow = (options: TestContextOptions = {}) =>
    service(40, { limit: 10, remaining: 9, resetsIn: 60 }, undefined, options);

  it.each([[[]], [['--no-wait']], [['--max-wait', '2s']]])(
    'fault 99: %j: too long, 6, and nothing is written',
    async (args) => {
      const { context, updates } = slow();
      const { code, stderr } = await runIn(context, ...IMPORT, ...args);
      const { error: reported } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: object };
      expect([code, updates()]).toEqual([6, []]);
      expect(reported).toMatchObject({
        kind: 'run-too-long',
        message: expect.stringMatching(
          /^This takes about 4 min.* \(41 requests\), longer than --max-wait \(\w+.*\); nothing was sent\.$/,
        ) as string,
        hint: expect.stringMatching(/^Add --max-wait forever: it will finish at about /) as string,
        retryable: true,
      });
    },
  );

  it.each([
    ['--yes agrees to the change, not to the wait', ['--yes'], [], 6, 0],
    ['yes to the question that names the time agrees to it', [], [true], 0, 40],
  ])('at a terminal, %s', async (_name, args, answers, exit, count) => {
    const { context, updates } = slow({ terminal: true, answers });
    const file = fileIn(context.home, 'stock.csv', rows(40));
    const { code } = await runIn(context, 'inventory', 'import', file, ...args);
    expect([code, updates().length]).toEqual([exit, count]);
  });

  it.each([[['--wait']], [['--max-wait', 'forever']], [['--max-wait', '1h']]])('%j: done', async (args) => {
    // A window that opens again: each answer has room.
    const { context, updates } = service(40, { limit: 10, remaining: 9, resetsIn: 1 });
    const { code } = await runIn(context, ...IMPORT, ...args);
    expect([code, updates().length]).toEqual([0, 40]);
  });
});

describe('what is written between the plan and the yes is a conflict, and stays', () => {
  it.each([
    ['fault 121: by this machine', 0, ['1=100', '2=200', '3=9'], 'changed since by this machine: change 1'],
    ['fault 100, 139: by another', 9, ['1=100', '2=200'], 'someone else has changed it'],
  ])('%s', async (_name, elsewhere, expected, why) => {
    const confirm = async (): Promise<boolean> => {
      if (elsewhere === 0) expect((await runIn(context, 'inventory', 'set', '3', '9')).code).toBe(0);
      else stock.set(3, elsewhere);
      await context.clock.sleep(120_000);
      return true;
    };
    const { context, stock, updates } = service(3, AMPLE, undefined, { terminal: true, answers: [confirm] });
    const file = fileIn(context.home, 'stock.csv', rows(3));
    expect((await runIn(context, 'inventory', 'import', file)).code).toBe(11);
    // Rows are sent side by side: their order is not fixed.
    const sent = updates().map(
      ({ url, body }) => `${url.pathname.split('/').at(-1)}=${String(body).replace(/\D/g, '')}`,
    );
    expect([sent.toSorted(), stock.get(3)]).toEqual([expected, 9]);
    const report = readFileSync(join(context.home.state, 'petstore', 'reports', 'import-1.csv'), 'utf8');
    expect(report).toContain(why);
  });
});

it.each([
  [6, 2, [json(item(2, 200), { limits: { limit: 60, remaining: 0, resetsIn: 3_600 } })]],
  // The last one is for the catalog of the gateway.
  [
    8,
    1,
    [error(503, 'No.', 'paused', { headers: { 'Petstore-Gateway': 'refused', 'Retry-After': '600' } }), error(404)],
  ],
])('after rows were written, exit %i does not say that nothing was sent', async (exit, applied, replies) => {
  const limits = { limit: 60, remaining: 59, resetsIn: 60 };
  const before = [list(applied + 1, limits), json(item(1, 100), { limits: { ...limits, remaining: 58 } })];
  const context = withReplies([...before, ...replies], { stdin: { text: rows(applied + 1) } });
  const { code, stdout, stderr } = await runIn(context, ...IMPORT);
  expect([code, JSON.parse(stdout), stderr]).toMatchObject([
    exit,
    { applied, left: 1 },
    expect.stringContaining('; nothing more was sent.'),
  ]);
  expect(stderr).not.toContain('nothing was sent');
});

it('a run that is done is not resumed: its hint is what can be done', async () => {
  const { context } = service(2, AMPLE, (_request, update) => (update === 1 ? error(400) : undefined));
  const file = fileIn(context.home, 'stock.csv', rows(2));
  const done = await runIn(context, 'inventory', 'import', file, '--yes');
  expect(done.code).toBe(11);
  const resumed = await runIn(context, 'inventory', 'runs', 'resume', '1');
  expect([resumed.code, resumed.stderr]).toEqual([
    2,
    'error: Run 1 is done, and 1 of its rows could not be applied; nothing was sent.\n' +
      `hint: Apply only those: petstore --env staging inventory import ${file} --resume\n`,
  ]);
  // What the hint says, done.
  expect(await runIn(context, 'inventory', 'import', file, '--resume', '--yes')).toMatchObject({
    code: 0,
    stdout: 'Run 2 (import) in staging: 1 applied, 1 unchanged.\n',
  });
});

it('a dry run of --resume exits 13 for a row that could not be applied', async () => {
  const { context, stock } = service(2, AMPLE, (_request, update) => (update === 2 ? error(401) : undefined));
  const line = ['inventory', 'import', join(context.home.path, 'stock.csv'), '--json'];
  writeFileSync(line[2]!, `${rows(2)}\n99,1`);
  expect((await runIn(context, ...line, '--yes')).code).toBe(4);
  stock.set(2, 200);
  const { code, stdout } = await runIn(context, ...line, '--resume', '--dry-run', '--exit-code');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    13,
    [{ petId: 99, problem: 'the service does not have this pet' }],
  ]);
});

it('a refusal that stops it is not the outcome of the rows before: applied', async () => {
  const { context } = service(5, AMPLE, (_request, update) => (update > 1 ? error(405) : undefined));
  const { code, stdout, stderr } = await runIn(context, ...IMPORT);
  const failed = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: object };
  expect([code, JSON.parse(stdout), failed.error]).toMatchObject([8, { applied: 1 }, { kind: 'unexpected-status' }]);
  expect(failed.error).not.toHaveProperty('outcome');
});

it.each([
  [401, 4, 'unauthorized'],
  [403, 12, 'forbidden'],
])('a refusal that stops it (%i) does not hide a row of unknown outcome before', async (status, exit, kind) => {
  const { context } = service(3, AMPLE, ({ url }, update) =>
    update > 0 && !url.pathname.endsWith('/3') ? error(url.pathname.endsWith('/1') ? 500 : status) : undefined,
  );
  const { code, stdout, stderr } = await runIn(context, ...IMPORT);
  const failed = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: object };
  expect([code, JSON.parse(stdout)]).toMatchObject([exit, { unknown: 1, left: 2 }]);
  expect(failed.error).toMatchObject({ kind, outcome: 'unknown' });
});

it('a delivery that was replaced before a row of it was added is named', async () => {
  const { context } = service(3, AMPLE, (_request, update) => (update === 1 ? error(401) : undefined));
  const file = join(context.home.path, 'delivery.csv');
  const line = ['inventory', 'import', file, '--resume', '--yes'];
  writeFileSync(file, 'petId,delta\n1,2\n');
  expect((await runIn(context, ...line)).code).toBe(4);
  writeFileSync(file, 'petId,delta\n2,3\n');
  for (const dry of [['--dry-run'], []]) {
    const { code, stderr } = await runIn(context, ...line, ...dry);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^warning: Import 1 of \S+ is unfinished: .* discard 1$/m),
    ]);
  }
});

it('a run that another process has resumed during the question is discarded with the rows that are still left', async () => {
  const { home } = createTestContext();
  const run = (fails: number, ...line: string[]) =>
    runIn(
      service(3, AMPLE, (_request, update) => (update === fails ? error(401) : undefined), {
        home,
        stdin: { text: rows(3) },
      }).context,
      ...['inventory', ...line, '--yes'],
    );
  expect((await run(1, 'import', '-')).code).toBe(4);
  const resumed = async (): Promise<boolean> => (await run(3, 'runs', 'resume', '1')).code === 4;
  const { context } = service(3, AMPLE, undefined, { home, terminal: true, answers: [resumed] });
  const { stdout } = await runIn(context, 'inventory', 'runs', 'discard', '1');
  expect(stdout).toBe('Run 1 (import) is discarded: 1 row left out.\n');
});

it.each(['https://other.example/v1', 'https://pets.example/other/v1'])(
  'a file that sets, imported at another base URL of the environment (%s), leaves the run at the first as it is',
  async (url) => {
    const { context } = service(2, AMPLE, (_request, update) => (update === 1 ? error(401) : undefined));
    const file = fileIn(context.home, 'stock.csv', rows(2));
    const line = ['inventory', 'import', file, '--yes'];
    expect((await runIn(context, ...line)).code).toBe(4);
    const other = ['--base-url', url];
    for (const dry of [[], ['--dry-run']])
      expect((await runIn(context, ...line, ...other, '--resume', ...dry)).stderr).toMatch(/^error: Run 1 is for .*/);
    expect((await runIn(context, ...line, ...other)).code).toBe(0);
    expect((await runIn(context, 'inventory', 'runs', '--unfinished', '--json')).stdout).toContain('"run":1,');
  },
);

it('--resume means a run of this shop, also where another shop has a newer one', async () => {
  const { home } = createTestContext();
  let status = 401;
  const run = async (text: string, ...line: string[]) => {
    const answer = (_request: HttpRequest, update: number) => (update > 0 && status === 401 ? error(401) : undefined);
    const { code, stdout, stderr } = await runIn(
      service(2, AMPLE, answer, { home, stdin: { text } }).context,
      ...['inventory', ...line, '--yes'],
    );
    return [code, stdout || stderr];
  };
  const berlin = ['--profile', 'berlin'];
  // Newer than the one with rows: counts without, and imports.
  await run('2 5\n', 'count');
  for (const shop of [[], berlin]) await run('1 5\nq\n', 'count', ...shop);
  for (const shop of [[], berlin]) await run(rows(2), 'import', '-', ...shop);
  expect((await run('', 'count'))[1]).toMatch(
    /^warning: Stocktake 1 is not applied yet \(1 row left\)\. .*: petstore --env staging inventory runs resume 1\n/,
  );
  const { stdout } = await runIn(createTestContext({ home, env: STAGING_ENV }), 'status', ...berlin);
  expect(stdout).toMatch(/run 4 .* give up: PETSTORE_PROFILE= petstore --env staging inventory runs discard 4\)\n/);
  status = 200;
  expect(await run('1\n', 'count', '--resume')).toEqual([0, 'Run 2 (count) in staging: 1 applied.\n']);
  expect(await run('', 'runs', 'resume')).toEqual([0, 'Run 4 (import) in staging: 2 applied.\n']);
  expect(await run('', 'runs', 'resume')).toEqual([0, 'Run 1 (count) in staging: 1 applied.\n']);
  expect(readFileSync(join(home.state, 'petstore/reports/count-1.csv'), 'utf8')).toContain('\n,1,1,,not scanned,,,');
  expect(await run('', 'runs', 'resume')).toEqual([2, expect.stringContaining('Run 5 is for berlin/staging')]);
});

const FILE = shellWord("/x/petstore inventory/it's in petstore status.csv");

it.each([
  ['sandbox', 'login', 'petstore login'],
  ['sandbox', 'limits', 'petstore --env sandbox limits'],
  ['berlin/', 'login', 'petstore --profile berlin login'],
  ['berlin/production', 'config set output VALUE', 'petstore --profile berlin config set output VALUE'],
  ['berlin/production', 'login --env staging', 'petstore --profile berlin login --env staging'],
  ['berlin/production', '--env berlin/staging status', 'petstore --env berlin/staging status'],
  ['berlin/production', '--env production status', 'PETSTORE_PROFILE= petstore --env production status'],
  // A file's name is no command.
  ['staging', `inventory import ${FILE}`, `petstore --env staging inventory import ${FILE}`],
])('in %s a hint to %s is to %s', (place, command, hint) => {
  expect(withEnvironment(`petstore ${command}`, place)).toBe(hint);
});

it('a command quotes the name of a file for the shell', () => {
  const word = "/x/a'b $(c) \\.csv";
  expect(execFileSync('bash', ['-c', `printf %s ${shellWord(word)}`]).toString()).toBe(word);
});

it('rows whose pets share a lock wait for each other, however slow the service is', async () => {
  const text = 'petId,quantity\n1,5\n65,5\n129,5\n';
  const slow: Answering = (_request, _update, clock) => clock.sleep(6_000).then(() => undefined);
  const { context, stock } = service(130, AMPLE, slow, { stdin: { text } });
  const { code, stdout } = await runIn(context, ...IMPORT, '--no-wait');
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { applied: 3, left: 0 }]);
  expect([1, 65, 129].map((petId) => stock.get(petId))).toEqual([5, 5, 5]);
});

it('with --no-wait a row waits for the answer to another row of its run', async () => {
  const slow: Answering = (_request, _update, clock) => clock.sleep(300).then(() => undefined);
  const { context, underWay } = service(40, AMPLE, slow);
  const { code, stdout } = await runIn(context, ...IMPORT, '--no-wait');
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { applied: 40, left: 0 }]);
  // Still several at the same time, once the first update has shown its rate limit.
  expect(Math.max(...underWay)).toBeGreaterThan(4);
});

it.each([
  ['leaves a tenth of the limit to the till', [], 48, 6, { applied: 40, left: 0 }],
  ['is not begun if it needs more', [], 47, 46, { error: { kind: 'run-too-long' } }],
  ['uses its window to the last request with --reserve 0', ['--reserve', '0'], 42, 0, { applied: 40, left: 0 }],
])('with --no-wait a run %s', async (_name, options, remaining, after, result) => {
  // The list, 40 updates, and the list once more.
  const limits = { limit: 60, remaining, resetsIn: 60 };
  const { context } = service(40, limits, async (_request, _update, clock) => {
    await clock.sleep(300);
    limits.remaining--;
    return undefined;
  });
  const { code, stdout, stderr } = await runIn(context, ...IMPORT, '--no-wait', ...options);
  const output = stdout || stderr.trim().split('\n').at(-1)!;
  expect([code, JSON.parse(output), limits.remaining]).toMatchObject(['error' in result ? 6 : 0, result, after]);
});

it('what a killed command had sent before the run read the stock, and what arrived after it, is a conflict', async () => {
  let lists = 0;
  const { context, stock, updates } = service(1, AMPLE, ({ method }) => {
    if (method === 'PATCH') throw new Error('killed');
    if (++lists !== 2) return undefined;
    stock.set(1, 44);
    return list(1, AMPLE);
  });
  await runIn(context, 'inventory', 'list');
  await runIn(context, 'inventory', 'set', '1', '44');
  expect([(await runIn(context, ...IMPORT)).code, stock.get(1), updates().length]).toEqual([11, 44, 1]);
});

it('what a killed command had sent costs a run no request, once a later change of the pet was applied', async () => {
  const { context, stock, updates } = service(1, AMPLE, ({ method }) => {
    if (method === 'PATCH' && updates().length === 1) throw new Error('killed');
    return undefined;
  });
  await runIn(context, 'inventory', 'set', '1', '44');
  await runIn(context, 'inventory', 'set', '1', '45');
  const before = context.sent.length;
  // As without the killed command: the list, the update, and the list at the end.
  expect([(await runIn(context, ...IMPORT)).code, stock.get(1), context.sent.length - before]).toEqual([0, 100, 3]);
});

it('stopped while it reads the stock once more at the end: the run is done, and its summary is shown', async () => {
  let lists = 0;
  const { context } = service(2, AMPLE, (request) => {
    if (request.method === 'GET' && ++lists === 2) context.interrupt('SIGINT');
    return undefined;
  });
  const { code, stdout } = await runIn(context, ...IMPORT);
  expect([code, JSON.parse(stdout)]).toMatchObject([130, { applied: 2, left: 0 }]);
  expect((await runIn(context, 'inventory', 'runs', '--unfinished')).stdout).toBe('');
});

describe('fault 135: 503s in a bulk run', () => {
  const failing = error(503, undefined, undefined, { limits: AMPLE });

  it('one at a time asks while the service fails; no storm', async () => {
    let isFailing = false;
    const { context, underWay, updates } = service(400, AMPLE, async (_request, update) => {
      isFailing ||= update > 320;
      const answer = isFailing ? failing : undefined;
      await context.clock.sleep(100);
      return answer;
    });
    const { code, stdout } = await runIn(context, ...IMPORT);
    expect([code, JSON.parse(stdout)]).toMatchObject([9, { applied: 320, failed: 0 }]);
    expect(Math.max(...underWay.slice(0, 321))).toBe(8);
    // Those that were under way when it began to fail; then one after the other, until the third row without an answer.
    expect(Math.max(...underWay.slice(330))).toBe(1);
    expect(updates().length).toBeLessThanOrEqual(328);
    expect(context.sent.length).toBeLessThanOrEqual(345);
  });

  it('once the service is well again, more are under way again', async () => {
    const { context, underWay } = service(400, AMPLE, async (_request, update) => {
      await context.clock.sleep(100);
      return update === 9 ? failing : undefined;
    });
    const { code } = await runIn(context, ...IMPORT);
    expect(code).toBe(0);
    expect(Math.max(...underWay.slice(20, 30))).toBeLessThanOrEqual(5);
    expect(Math.max(...underWay.slice(-50))).toBe(8);
  });
});
