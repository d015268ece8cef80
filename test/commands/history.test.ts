/** `petstore inventory history` in this process: which changes, names from the catalog, sums, and the chart. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openStateFile } from '../../src/state/database.ts';
import { commandWords } from '../../src/stock/history-view.ts';
import { type Ran, runIn as run } from '../support/in-process.ts';
import { withoutSandboxNames } from '../support/catalog.ts';
import { takeApart } from '../support/staging.ts';
import { sandboxShop } from '../support/sandbox-shop.ts';
import { createTestContext, type TestContext, type TestContextOptions } from '../support/test-context.ts';
import { START } from '../support/virtual-clock.ts';

const STAGING = 'https://pets.example';
const MAX = 9223372036854775807n;

interface Row {
  readonly petId?: bigint;
  readonly run?: bigint;
  readonly before?: bigint;
  readonly after?: bigint;
  readonly state?: string;
  readonly environment?: string;
  readonly origin?: string;
  readonly command?: string;
  readonly person?: string;
  readonly cause?: string;
  readonly note?: string;
  /** In ms before now. */
  readonly ago?: number;
}

/** A machine with these changes, oldest first, and with names. */
async function shop(
  rows: readonly Row[],
  names: Readonly<Record<string, string>> = {},
  options: TestContextOptions = {},
): Promise<TestContext> {
  const env = { PETSTORE_ENV: 'sandbox' };
  const context = await withoutSandboxNames(createTestContext({ env, ...options }));
  for (const [id, name] of Object.entries(names)) await run(context, 'catalog', 'set', id, '--name', name);
  await context.files.makePrivateFolder(`${context.home.state}/petstore`);
  using state = await openStateFile(context, `${context.home.state}/petstore/state.db`);
  for (const id of new Set(rows.flatMap((row) => row.run ?? []))) {
    state.database.run(
      "INSERT INTO run (id, kind, startedAt, environment, origin) VALUES (?, 'import', 1, '', '')",
      id,
    );
  }
  for (const [i, row] of rows.entries()) {
    state.database.run(
      `INSERT INTO change (run, environment, origin, command, person, cause, note, petId, before, after, state, sentAt)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row.run ?? null,
      row.environment ?? 'sandbox',
      row.origin ?? 'sandbox',
      row.command ?? 'inventory set',
      row.person ?? 'clerk',
      row.cause ?? null,
      row.note ?? null,
      row.petId ?? 7n,
      row.before?.toString() ?? null,
      (row.after ?? 1n).toString(),
      row.state ?? 'applied',
      BigInt(START - (row.ago ?? (rows.length - i) * 60_000)),
    );
  }
  return context;
}

const history = (context: TestContext, ...args: string[]): Promise<Ran> =>
  run(context, 'inventory', 'history', ...args);

it('a profile has a history of its own, also where its config names no environment', async () => {
  const context = await shop([{ environment: 'berlin/production' }, { environment: 'production' }], {}, { env: {} });
  const { stdout } = await history(context, '--profile', 'berlin', '-o', 'csv');
  expect(stdout).toMatch(/^change,.*\n1,.*,berlin\/production,.*\n$/);
});

describe.each(['history', 'runs', 'runs --unfinished'])('a profile that does not exist: inventory %s', (words) => {
  const command = ['inventory', ...words.split(' ')];
  const named = (rows: readonly Row[], env = {}) => shop(rows, {}, { env: { PETSTORE_PROFILE: 'berlni', ...env } });

  it('does not look like a new shop', async () => {
    const context = await named([{ environment: 'berlin/production' }]);
    expect(takeApart(await run(context, ...command, '--json'))).toMatchObject({
      code: 3,
      stdout: '',
      error: {
        kind: 'no-profile',
        message: 'There is no profile berlni.',
        hint: 'See the profiles: petstore config profiles',
      },
    });
    expect(await run(context, ...command, '--all-environments')).toMatchObject({ code: 0 });
  });

  it('is a shop if variables make it one, now or earlier', async () => {
    const now = await named([], { PETSTORE_BASE_URL: 'https://pets.example/v1' });
    const earlier = await named([{ environment: 'berlni/staging' }]);
    const codes = [await run(now, ...command), await run(earlier, ...command)].map(({ code }) => code);
    expect(codes).toEqual([0, 0]);
  });
});

describe('names', () => {
  const rows: readonly Row[] = [
    { petId: 7n, after: 3n, before: 1n },
    { petId: 12n, after: 5n, before: 6n },
    { petId: MAX, after: 1n },
  ];
  const WITHOUT = [
    'Change  Run  When                      Pet  Before  After  Outcome  Command',
    '     3       14:02:20  9223372036854775807              1  applied  set',
    '     2       14:01:20                   12       6      5  applied  set',
    '     1       14:00:20                    7       1      3  applied  set',
    '',
  ].join('\n');

  it('are in the table, after the ids', async () => {
    const context = await shop(rows, { 7: 'Goldfish', [String(MAX)]: 'Zebra' });
    expect((await history(context)).stdout).toBe(
      [
        'Change  Run  When                      Pet  Name      Before  After  Outcome  Command',
        '     3       14:02:20  9223372036854775807  Zebra                 1  applied  set',
        '     2       14:01:20                   12                 6      5  applied  set',
        '     1       14:00:20                    7  Goldfish       1      3  applied  set',
        '',
      ].join('\n'),
    );
  });

  it('of other pets alone leave the table as it is', async () => {
    expect((await history(await shop(rows, { 8: 'Koi' }))).stdout).toBe(WITHOUT);
  });

  it.each(['-n 1', '--pet 7 --since 1h', '-o json', '-o ndjson', '-o csv'])('are not in %s', async (line) => {
    const context = await shop(rows, { 12: 'Hamster' });
    const { stdout } = await history(context, ...line.split(' '));
    expect(stdout).toBe((await history(await shop(rows), ...line.split(' '))).stdout);
    expect(stdout).not.toContain('Hamster');
  });

  it('are those of the service of each change', async () => {
    const env = { PETSTORE_BASE_URL: `${STAGING}/v1`, PETSTORE_ENV: 'staging' };
    const mixed = [
      ...rows.slice(0, 2),
      { environment: 'staging', origin: STAGING },
      { environment: 'production', origin: 'https://real.example' },
      { environment: 'staging', origin: 'https://old.example', petId: 12n },
    ];
    const context = await shop(mixed, { 7: 'Dog', 12: 'Cat' }, { env });
    await run(context, '--env', 'sandbox', 'catalog', 'set', '7', '--name', 'Goldfish');
    const { stdout } = await history(context, '--all-environments');
    const named = stdout.split('\n').map((line) => /(staging|production|sandbox) +(\d+) {2}(Goldfish|Dog|Cat)?/.exec(line)?.slice(1)); // prettier-ignore
    expect(named).toEqual([
      undefined,
      ['staging', '12', undefined],
      ['production', '7', undefined],
      ['staging', '7', 'Dog'],
      ['sandbox', '12', undefined],
      ['sandbox', '7', 'Goldfish'],
      undefined,
    ]);
    expect((await history(context, '--env', 'production')).stdout).not.toContain('Name');
    const practice = await shop(rows, {}, { env: {} });
    const words = 'These changes were made in the sandbox.\n';
    expect([(await history(context)).stderr, (await history(practice)).stderr]).toEqual(['', words]);
  });
});

describe('names on a screen of 80 columns', () => {
  const SET: Row = { before: 10n, after: 12n };
  const IMPORT: Row = { ...SET, run: 3n, command: 'inventory import /home/clerk/delivery.csv' };

  const header = (stdout: string): string => (/│ (Change .*?) +│$/m.exec(stdout)?.[1] ?? '').replace(/ +│ +/g, ' ');

  it.each([
    ['changes of today', [SET, SET], 'Change When Pet Name Before After Outcome Command'],
    ['one run', [IMPORT, IMPORT], 'Change When Pet Name Before After Command'],
    [
      'a change of unknown outcome',
      [SET, { ...SET, run: 3n, state: 'sent' }],
      'Change Run When Pet Before After Outcome Command',
    ],
  ] as const)('of %s fit, between borders', async (_what, rows, columns) => {
    const context = await shop(rows, { 7: 'Goldfish, small' }, { terminal: true });
    const { stdout } = await history(context, '--all-environments', '--color', 'never');
    expect(header(stdout)).toBe(columns);
    expect(header(stdout).includes('Name')).toBe(stdout.includes('Goldfish'));
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('of two environments fit without borders', async () => {
    const row = { ...SET, petId: 12345n };
    const names = { 12345: 'Goldfish, small' };
    const context = await shop([row, { ...row, environment: 'staging' }], names, { terminal: true });
    const { stdout } = await history(context, '--all-environments', '--color', 'never');
    const [first = '', ...lines] = stdout.split('\n');
    expect(first.split(/ +/).join(' ')).toBe('Change When Environment Pet Name Before After Command');
    expect(lines).toHaveLength(3);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('leave out nothing where there is room', async () => {
    const options = { terminal: true, stdout: { isTTY: true, columns: 120 } };
    const { stdout } = await history(await shop([IMPORT], { 7: 'Goldfish' }, options), '--color', 'never');
    expect(header(stdout)).toBe('Change Run When Pet Name Before After Outcome Command');
  });
});

describe('why and who', () => {
  it('who made the changes is in the table where they are several people', async () => {
    const tableOf = async (...people: string[]): Promise<string> =>
      (await history(await shop(people.map((person) => ({ person }))))).stdout;
    expect(await tableOf('ann', 'bob')).toMatch(/^Change +Run +When +Who +Pet .*\n.* bob .*\n.* ann .*\n$/);
    expect(await tableOf('ann', 'ann')).toMatch(/^Change +Run +When +Pet /);
  });

  const DAY = 86_400_000;
  const rows: readonly Row[] = [
    { before: 10n, after: 4n, cause: 'died', note: 'cold tank', person: 'ann', ago: DAY },
    { before: 4n, after: 9n, cause: 'received', run: 3n },
    { petId: 8n, before: 3n, after: 1n, cause: 'died', run: 3n },
    { petId: 8n, after: 5n },
    { petId: 8n, before: 5n, after: 50n, state: 'failed', cause: 'lost' },
    { petId: 8n, before: 5n, after: 60n, state: 'sent', cause: 'lost' },
  ];
  const by = async (...args: string[]): Promise<Ran> => history(await shop(rows), '-o', 'csv', '--by', ...args);

  it('are in every row for programs, and in the table where they were said', async () => {
    const context = await shop(rows);
    const { stdout } = await history(context, '-o', 'csv', '--cause', 'died');
    expect(stdout.split('\n').map((line) => line.split(',').slice(-4).join())).toEqual([
      'outcome,cause,note,command',
      'applied,died,,set',
      'applied,died,cold tank,set',
      '',
    ]);
    const json: unknown = JSON.parse((await history(context, '--json', '--person', 'ann')).stdout);
    expect(json).toEqual([expect.objectContaining({ who: 'ann', cause: 'died', note: 'cold tank' })]);
    expect((await history(context, '--cause', 'lost')).stdout).not.toContain('note');
    expect((await history(await shop([{}]))).stdout).not.toContain('cause');
  });

  it.each<[string, string[]]>([
    ['cause', ['died,sandbox,2,0,8,-8', 'received,sandbox,1,5,0,5', ',sandbox,1,0,0,0']],
    ['pet', ['7,sandbox,2,5,6,-1', '8,sandbox,2,0,2,-2']],
    ['person', ['ann,sandbox,1,0,6,-6', 'clerk,sandbox,3,5,2,3']],
    ['pet --run 3', ['7,sandbox,1,5,0,5', '8,sandbox,1,0,2,-2']],
    ['pet --cause died --since 1h', ['8,sandbox,1,0,2,-2']],
    ['cause -n 1', ['died,sandbox,2,0,8,-8']],
  ])('--by %s', async (line, sums) => {
    expect((await by(...line.split(' '))).stdout.split('\n').slice(1, -1)).toEqual(sums);
  });

  it('--by sums up each environment by itself, and has names only of pets', async () => {
    const mixed = await shop(
      [
        { environment: 'staging', cause: 'died', before: 2n, after: 1n },
        { cause: 'sold', before: 9n, after: 1n },
        { cause: 'died', before: 3n, after: 1n, origin: 'https://pets.example' },
        { cause: 'died', before: 5n, after: 1n },
      ],
      { 7: 'Goldfish' },
    );
    const { stdout } = await history(mixed, '--all-environments', '--by', 'cause', '-o', 'csv');
    expect(stdout.split('\n').slice(1, -1)).toEqual([
      'died,sandbox,2,0,6,-6',
      'sold,sandbox,1,0,8,-8',
      'died,staging,1,0,1,-1',
    ]);
    const table = await history(mixed, '--all-environments', '--by', 'cause');
    expect([/^Cause +Environment +Changes /.test(table.stdout), table.stderr]).toEqual([true, '']);
  });

  it('--by day has the days of the calendar in order', async () => {
    const days = (await by('day')).stdout.split('\n').slice(1, -1);
    expect(days.map((line) => line.slice(10))).toEqual([',sandbox,1,0,6,-6', ',sandbox,3,5,2,3']);
    expect(days).toEqual(days.toSorted());
    expect((await by('day', '-n', '1')).stdout).toContain(`\n${days[1]}\n`);
  });

  it('sums name the pet, and say what is in none', async () => {
    const { stdout, stderr } = await history(await shop(rows, { 7: 'Goldfish' }), '--by', 'pet');
    expect(stdout).toMatch(/Pet +Name +Changes +Plus +Minus +Net\n +7 +Goldfish +2 +5 +6 +-1\n/);
    expect(stderr).toMatch(/1 change without an old quantity.*\n.*1 change of unknown outcome/);
  });

  it('of a single change and of a raw request are what their options and the variable say', async () => {
    const context = createTestContext({ env: { PETSTORE_ENV: 'sandbox', PETSTORE_PERSON: 'eve ' } });
    const set = (...args: string[]): Promise<Ran> => run(context, 'inventory', 'set', '7', ...args);
    const note = 'x'.repeat(200);
    expect((await set('12', '--cause', 'died', '--note', `${note} `, '--person', ' ann')).code).toBe(0);
    expect((await run(context, 'api', 'PATCH', '/inventory/7', '-f', 'quantity=3', '--cause', 'lost')).code).toBe(0);
    const refused = await Promise.all([
      set('1', '--cause', 'dead'),
      set('1', '--note', 'a\nb'),
      set('1', '--note', `${note}x`),
      set('1', '--person', ''),
      run(context, 'api', '/inventory', '--cause', 'lost'),
      run({ ...context, env: { ...context.env, PETSTORE_PERSON: 'a\nb' } }, 'smoke', '--write', '--pet', '7'),
    ]);
    expect(refused.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2]);
    const json: unknown = JSON.parse((await history(context, '--json')).stdout);
    expect(json).toMatchObject([
      { who: 'eve', cause: 'lost', note: null },
      { who: 'ann', cause: 'died', note },
    ]);
    expect(json).toHaveLength(2);
  });
});

describe('--chart', () => {
  const chart = (context: TestContext, ...args: string[]): Promise<Ran> => history(context, '--chart', ...args);

  it('draws the quantity after each change, oldest first; no bar for what may not have been applied', async () => {
    const states = ['failed', 'sent', 'unknown', 'conflict', 'discarded', 'failed'];
    const context = await shop([
      { after: 10n },
      { petId: 8n, after: 900n },
      { after: 5n },
      { after: -2n },
      ...states.map((state, i) => ({ after: 100n + BigInt(i), state })),
    ]);
    expect(await chart(context, '--pet', '7')).toEqual({
      code: 0,
      stdout: [
        'When      Quantity  ',
        `13:53:20        10  ${'█'.repeat(20)}`,
        `13:55:20         5  ${'█'.repeat(10)}`,
        '13:56:20        -2  ',
        '13:57:20       100  failed',
        '13:58:20       101  unknown',
        '13:59:20       102  unknown',
        '14:00:20       103  conflict',
        '14:01:20       104  discarded',
        '14:02:20       105  failed',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('counts the newest changes of --limit', async () => {
    const rows = [{ after: 900n }, { after: 1n }, { state: 'conflict' }, { after: 2n }];
    const { stdout } = await chart(await shop(rows), '--pet', '7', '--limit', '3');
    expect(stdout.match(/ \d {2}█+$/gm)).toEqual([` 1  ${'█'.repeat(10)}`, ` 2  ${'█'.repeat(20)}`]);
  });

  it('names the services of several', async () => {
    const rows = [{ after: 1n }, { environment: 'staging', origin: STAGING, after: 50n }];
    const { stdout } = await chart(await shop(rows), '--pet', '7', '--all-environments');
    expect(stdout).toMatch(new RegExp(` sandbox, .* 1  \\S\\n.* staging, ${STAGING} +50  █{20}\\n$`));
  });

  const NONE_HERE = 'No change in sandbox matches. To see other environments, add --all-environments.\n';
  it.each([
    ['nothing was changed at all', [], 'This machine has not changed any stock yet.\n'],
    ['another pet was', [{ petId: 8n }], NONE_HERE],
  ])('says so where %s', async (_what, rows, stderr) => {
    expect(await chart(await shop(rows), '--pet', '7')).toEqual({ code: 0, stdout: '', stderr });
  });

  const ONE = 'Name one pet: petstore inventory history --pet 7 --chart';
  it.each([
    ['', '--chart needs --pet <id...>.', 'See: petstore inventory history --help'],
    [' --pet 7 8,7 9', '--chart draws one pet, and --pet names 3.', ONE],
    [
      ' --pet 7 -o csv',
      '--chart cannot be used with csv, which is for programs.',
      'Add -o table, or leave out --chart.',
    ],
  ])('--chart%s is refused', async (rest, problem, hint) => {
    const stderr = `error: ${problem}\nhint: ${hint}\n`;
    const ran = await history(await shop([{}]), ...`--chart${rest}`.split(' '));
    expect(ran).toEqual({ code: 2, stdout: '', stderr });
  });
});

describe('of the sandbox', () => {
  it('is that of the environment that is named, by flag or variable alike', async () => {
    const { home, run: runHere } = sandboxShop({ areNamed: true });
    await runHere(['inventory', 'set', '7', '12']);
    const lines = async (env: Record<string, string>, ...args: string[]): Promise<number> => {
      const { stdout } = await run(createTestContext({ home, env }), ...args, '-o', 'ndjson');
      return stdout.split('\n').length - 1;
    };
    const history = ['inventory', 'history'];
    expect([
      await lines({ PETSTORE_ENV: 'staging' }, ...history),
      await lines({}, '--env', 'staging', ...history),
      await lines({ PETSTORE_ENV: 'sandbox' }, ...history),
      await lines({ PETSTORE_ENV: 'staging' }, ...history, '--all-environments'),
      await lines({}, ...history),
    ]).toEqual([0, 0, 1, 1, 1]);
  });

  it('--since and --until: a date, a time, or a duration before now', async () => {
    const { run } = sandboxShop({ areNamed: true });
    await run(['inventory', 'set', '7', '12']);
    // The tests' clock begins at 2026-03-02T14:03:20 here.
    const shown = async (...args: string[]) =>
      (await run(['inventory', 'history', ...args, '-o', 'ndjson'])).stdout !== '';
    expect([
      await shown('--since', '2026-03-02'),
      await shown('--since', '2026-03-03'),
      await shown('--until', '2026-03-02'),
      await shown('--until', '2026-03-01'),
      await shown('--since', '2026-03-02T14:03:20Z', '--until', '2026-03-02T14:04:00Z'),
      await shown('--since', '2h'),
      await shown('--until', '2h'),
    ]).toEqual([true, false, true, false, true, true, false]);
    for (const wrong of ['yesterday', '2026-02-31', '2026-13-01', '12', '28.11', '2026-03-02T25:00']) {
      expect([wrong, (await run(['inventory', 'history', '--since', wrong])).code]).toEqual([wrong, 2]);
    }
  });

  it.each(['2026-03-03 2026-03-01', '2026-03-03 2026-03-02', '1h 2h', '2h 2h'])(
    '--since and --until that no time meets are refused: %s',
    async (times) => {
      const { run } = sandboxShop({ areNamed: true });
      const [since = '', until = ''] = times.split(' ');
      const { code, stderr } = await run(['inventory', 'history', '--since', since, '--until', until]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --since must be before --until\.$/m)]);
    },
  );

  it('--until a day whose first hour summer time skips: nothing of the next day', async () => {
    vi.stubEnv('TZ', 'America/Havana');
    onTestFinished(() => void vi.unstubAllEnvs());
    const context = await shop(['2026-03-08T23:59', '2026-03-09T00:30'].map((at) => ({ ago: START - Date.parse(at) })));
    const { stdout } = await history(context, '--until', '2026-03-08', '--by', 'day', '-o', 'csv');
    expect(stdout).toMatch(/^day,.*\n2026-03-08,sandbox,1,.*\n$/);
  });

  it('of the sandbox is gone after its reset, and so is what undo could take back', async () => {
    const { run } = sandboxShop({ areNamed: true });
    await run(['inventory', 'adjust', '7', '2']);
    await run(['sandbox', 'reset']);
    expect((await run(['inventory', 'history'])).stdout).toBe('');
    expect(await run(['inventory', 'undo', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('This machine has not changed any stock in sandbox yet') as string,
    });
  });
});

it.each([
  ['set', 'set'],
  ['inventory import /data/stock.csv', 'import stock.csv'],
  ['inventory import --add /data/stock.csv', 'import --add stock.csv'],
  ['inventory import -', 'import -'],
  ['inventory import --add /data/of the shop/stock.csv', 'import --add stock.csv'],
  ['inventory import of the shop/may stock.csv', 'import may stock.csv'],
  ['inventory import C:\\Users\\Jo Doe\\stock.csv', 'import stock.csv'],
  ['inventory import /data/a\\b.csv', 'import a\\b.csv'],
  ['inventory import C:\\data\\stock.csv', 'import stock.csv'],
  ['inventory import --add C:\\shop\\data/stock.csv', 'import --add stock.csv'],
  ['inventory import \\\\server\\data\\stock.csv', 'import stock.csv'],
])('%s is shown as %s', (command, words) => {
  expect(commandWords(command)).toBe(words);
});
