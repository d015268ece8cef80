/** Values on the command line and in answers are exact or rejected. */
import { describe, expect, it } from 'vitest';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';
import { takeApart } from '../support/staging.ts';
import type { TestContext } from '../support/test-context.ts';

const MAX = 9223372036854775807n;
const LIST = ['inventory', 'list'];

const runJson = async (context: TestContext, ...args: string[]) => takeApart(await runIn(context, '--json', ...args));

describe('fault 51: an int64 goes through digit for digit', () => {
  // What each format does with it is in test/view/view.test.ts.
  it('through filters, sorting and paths', async () => {
    const context = withReplies([
      json([item(MAX, 1), item(MAX - 1n, 2), item(MAX - 2n, 3)]),
      json([item(MAX, 1), item(MAX - 2n, 3), item(MAX - 1n, 2)]),
      json(item(MAX - 1n, 5)),
    ]);
    const one = await runIn(context, ...LIST, '--pet', `${MAX - 1n}`, '-o', 'ndjson');
    const sorted = await runIn(context, ...LIST, '--sort', 'petId', '--columns', 'petId', '--no-header', '-o', 'csv');
    const set = await runIn(context, 'inventory', 'set', `${MAX - 1n}`, '5', '--json');
    expect(one.stdout).toBe('{"petId":9223372036854775806,"quantity":2,"status":"available"}\n');
    expect(sorted.stdout).toBe('9223372036854775805\n9223372036854775806\n9223372036854775807\n');
    expect(set.stdout).toBe('{"petId":9223372036854775806,"quantity":5,"status":"available"}\n');
    expect(context.sent[2]?.url.pathname).toBe('/v1/inventory/9223372036854775806');
  });
});

describe('fault 52: a petId that is not an int64 breaks the contract', () => {
  it.each(['9223372036854775808', '-9223372036854775809', '1.0', '1e3', '-0', '"7"', 'null'])('%s', async (id) => {
    const body = `[{"petId":1,"quantity":2,"status":"sold"},{"petId":${id},"quantity":2,"status":"sold"}]`;
    const context = withReplies([{ body }]);
    const { code, error } = await runJson(context, ...LIST);
    expect([code, error?.kind, context.sent.length]).toEqual([8, 'contract', 1]);
    expect(error?.message).toBe(`Invalid response: row 2 of the list has ${id} as its petId, which is not an int64.`);
  });
});

describe('fault 53, 54: what is not a canonical integer is refused before anything is sent', () => {
  it.each(['1e3', '0x10', '+7', ' 7', '7 ', '-0', '007', '12.5', 'NaN', '', '٣', '9223372036854775808'])(
    'petId %j',
    async (id) => {
      const context = withReplies([]);
      const { code, error } = await runJson(context, 'inventory', 'set', '--', id, '5');
      const message = `petId must be a pet ID such as 7 (a name goes with --name), not ${JSON.stringify(id)}.`;
      expect([code, error?.message]).toEqual([2, message]);
      expect((await runJson(context, ...LIST, `--pet=${id}`)).code).toBe(2);
    },
  );

  it.each(['1e3', '0x10', '+7', ' 7', '-0', '007', '12.5', 'NaN', '', 'ten'])('quantity %j', async (quantity) => {
    const context = withReplies([]);
    const { code, error } = await runJson(context, 'inventory', 'set', '7', '--', quantity);
    expect([code, error?.kind]).toEqual([2, 'invalid-value']);
    expect(error?.message).toMatch(/^quantity must be a whole number such as 12, without separators, not "/);
  });

  it('fault 54: a negative quantity is refused with a hint, and sent with --allow-negative', async () => {
    const context = withReplies([json(item(7, -5))]);
    const { code, error } = await runJson(context, 'inventory', 'set', '7', '-5');
    expect([code, error?.message]).toEqual([2, 'quantity must be zero or more, not "-5".']);
    expect(error?.hint).toMatch(/--allow-negative.*petstore inventory adjust 7 -5$/);
    const sent = await runJson(context, 'inventory', 'set', '7', '-5', '--allow-negative');
    expect([sent.code, context.sent[0]?.body]).toEqual([0, '{"quantity":-5}']);
    expect(sent.stdout).toBe('{"petId":7,"quantity":-5,"status":"available"}\n');
  });
});

describe('fault 55: what the contract does not list is shown, with one warning', () => {
  it('in JSON whole, in a table its own columns', async () => {
    const rows = [
      { ...item(1, 2, 'on loan'), shelf: 'A\u001b[2J', price: 12.5 },
      { ...item(2, 3, 'on loan'), shelf: 'B' },
    ];
    const context = withReplies([json(rows), json(rows), json(rows)]);
    const ndjson = await runIn(context, ...LIST, '-o', 'ndjson');
    const csv = await runIn(context, ...LIST, '-o', 'csv', '--columns', 'petId,shelf');
    const table = await runIn(context, ...LIST);
    const sentences = [
      'The service sent a status that its contract does not list: on loan.',
      'The service sent fields that its contract does not list: shelf, price (-o json shows them).',
    ];
    const warnings = sentences.map((each) => `warning: ${each}\n`).join('');
    const objects = sentences.map((message) => `${JSON.stringify({ warning: { message } })}\n`).join('');
    expect(ndjson).toEqual({
      code: 0,
      stdout:
        '{"petId":1,"quantity":2,"status":"on loan","shelf":"A\\u001b[2J","price":12.5}\n' +
        '{"petId":2,"quantity":3,"status":"on loan","shelf":"B"}\n',
      stderr: objects,
    });
    expect(csv).toEqual({ code: 0, stdout: 'petId,shelf\n1,A\\x1b[2J\n2,B\n', stderr: warnings });
    expect(table).toEqual({ code: 0, stdout: expect.not.stringContaining('shelf') as string, stderr: warnings });
  });
});

it('CSV: an empty cell alone in its line is quoted, since readers skip empty lines', async () => {
  const rows = [{ ...item(1, 2), shelf: 'A' }, item(2, 3), { ...item(3, 4), shelf: '' }];
  const { stdout } = await runIn(withReplies([json(rows)]), ...LIST, '-o', 'csv', '--columns', 'shelf');
  expect(stdout).toBe('shelf\nA\n""\n""\n');
});

it.each(['', '  '])('fault 55: the warning quotes a status without letters: "%s"', async (status) => {
  const { code, stderr } = await runIn(withReplies([json([item(1, 2, status)])]), ...LIST);
  const warning = `warning: The service sent a status that its contract does not list: "${status}".\n`;
  expect([code, stderr]).toEqual([0, warning]);
});

it('fault 55: the warning marks a status that it cuts, and that there are more', async () => {
  const rows = ['🐟'.repeat(61), ...Array.from({ length: 10 }, (_, i) => `s${i}`)].map((each, i) => item(i, 1, each));
  const { stderr } = await runIn(withReplies([json(rows)]), ...LIST);
  expect(stderr).toContain(` list: ${'🐟'.repeat(60)}…, s0, s1, s2, s3, s4, s5, s6, s7, s8, ….\n`);
});

const ODD = { ...item(7, 3), shelf: 'B' };

it.each([
  ['inventory get 7', 0, [json([item(1, 2, 'on loan'), ODD])]],
  ['inventory set 7 3', 0, [json(ODD)]],
  ['inventory adjust 7 1', 0, [json([item(7, 2)]), json(ODD)]],
  ['inventory list --watch --pet 7', 4, [json([ODD]), error(401)]],
  ['inventory list --watch', 4, [json([item(7, 3)]), json([ODD]), json([{ ...ODD, quantity: 4 }]), error(401)]],
  ['wait --pet 7 --min 3', 0, [json([item(1, 2, 'on loan'), ODD])]],
])('fault 55: %s warns once of what its pet has beyond the contract', async (line, exitCode, replies) => {
  const { code, stderr } = await runIn(withReplies(replies), ...line.split(' '));
  const warning = 'warning: The service sent fields that its contract does not list: shelf (-o json shows them).';
  expect([code, stderr.split('\n').filter((each) => each.startsWith('warning'))]).toEqual([exitCode, [warning]]);
});

it.each(['adjust 7 1', 'set 7 9 --read-first', 'set 7 9 --expect 3', 'import - --yes'])(
  'a list that has the pet twice: no decision is made from it: %s',
  async (words) => {
    const stdin = { text: 'petId,quantity\n7,9\n' };
    const context = withReplies([json([item(7, 3), item(1, 2), item(7, 4)])], { stdin });
    const { code, stderr } = await runIn(context, 'inventory', ...words.split(' '));
    expect([code, context.sent.length]).toEqual([8, 1]);
    expect(stderr).toContain('Invalid response: the list has pet 7 more than once.');
  },
);

describe('fault 56: a bad row', () => {
  const rows =
    '{"petId":1,"quantity":2,"status":"sold"},{"petId":2,"quantity":3,"status":"sold"},{"petId":3,"status":"sold"}';

  it.each([
    ['table', ''],
    ['ndjson', '{"petId":1,"quantity":2,"status":"sold"}\n{"petId":2,"quantity":3,"status":"sold"}\n'],
    ['csv', 'petId,quantity,status\n1,2,sold\n2,3,sold\n'],
  ])('in %s', async (format, printed) => {
    const context = withReplies([{ body: `[${rows}]` }]);
    const { code, stdout, stderr } = await runIn(context, ...LIST, '-o', format);
    expect([code, stdout]).toEqual([8, printed]);
    expect(stderr).toContain('row 3 of the list lacks the field quantity');
  });

  it('leaves a JSON array unclosed', async () => {
    const { code, stdout } = await runIn(withReplies([{ body: `[${rows}]` }]), ...LIST, '-o', 'json');
    expect([code, stdout.match(/"petId":\d/g)]).toEqual([8, ['"petId":1', '"petId":2']]);
    expect(stdout).not.toContain(']');
  });
});

describe('fault 58: an empty list', () => {
  it.each([
    ['json', '[]\n', ''],
    ['ndjson', '', ''],
    ['csv', 'petId,quantity,status\n', ''],
    ['table', '', 'The store tracks no pets.\n'],
  ])('in %s', async (format, stdout, stderr) => {
    const context = withReplies([json([])]);
    const finished = await runIn(context, ...LIST, '-o', format);
    expect(finished).toEqual({ code: 0, stdout, stderr });
  });
});

describe('--fail-if-any, --fail-if-none', () => {
  it.each([
    [['--max', '0', '--fail-if-any'], 13],
    [['--max', '-1', '--fail-if-any'], 0],
    [['--max', '-1', '--fail-if-none'], 13],
    [['--max', '0', '--fail-if-none'], 0],
    [['--fail-if-none', '--fail-if-any'], 2],
  ])('%s exits %i', async (args, code) => {
    const context = withReplies(code === 2 ? [] : [json([item(1, 0), item(2, 5)])]);
    const finished = await runJson(context, ...LIST, ...args);
    expect(finished.code).toBe(code);
    if (code === 13) expect(finished.error).toMatchObject({ kind: 'check-failed', exitCode: 13 });
  });

  it.each([
    ['-n 3', '2 pets match'],
    ['-n 1', 'At least 1 pet matches'],
    ['-n 1 --sort petId', '2 pets match'],
  ])('count the pets that match, not those that %s shows', async (options, counted) => {
    const context = withReplies([json([item(1, 0), item(2, 5), item(3, 0)])]);
    const { error: failed } = await runJson(context, ...LIST, '--max', '0', '--fail-if-any', ...options.split(' '));
    expect(failed?.message).toBe(`${counted} (--fail-if-any).`);
  });
});

it.each(['list', 'summary', 'list --watch', 'edit --dry-run', 'browse --plain --dry-run'])(
  'bounds that no quantity meets are refused by %s',
  async (words) => {
    const context = withReplies([], { env: { ...STAGING_ENV, EDITOR: 'true' } });
    const finished = await runJson(context, 'inventory', ...words.split(' '), '--min', '5', '--max', '3');
    expect(finished.error).toMatchObject({ kind: 'usage', message: 'No quantity is at least 5 and at most 3.' });
  },
);

describe('a write to production', () => {
  const write = ['inventory', 'set', '7', '12'];

  it.each([
    ['without a terminal, by the default', {}, [], []],
    ['without a terminal, by --yes', {}, ['--yes'], [item(7, 12)]],
    ['without a terminal, by the flag', {}, ['--env', 'production'], [item(7, 12)]],
    ['without a terminal, by the variable', { PETSTORE_ENV: 'production' }, [], [item(7, 12)]],
    ['at a terminal', { terminal: true }, [], [[item(7, 10)], item(7, 12)]],
  ])(
    '%s',
    async (_name, { terminal = false, ...added }: { terminal?: boolean; PETSTORE_ENV?: string }, flags, replies) => {
      const env = { ...STAGING_ENV, PETSTORE_ENV: undefined, ...added };
      const context = withReplies(
        replies.map((each) => json(each)),
        { env, terminal },
      );
      const finished = await runIn(context, ...flags, ...write);
      const code = replies.length === 0 ? 2 : 0;
      expect(finished.code).toBe(code);
      if (code === 2) expect(finished.stderr).toContain('petstore --env production inventory set 7 12');
      else expect(finished.stdout).toContain('in production');
    },
  );
});
