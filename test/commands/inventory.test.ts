/** Whole invocations in this process, on a terminal and in a pipe, against the sandbox's handler, without sockets. */
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Plan, PLANS } from '../../src/sandbox/plans.ts';
import { Failure } from '../../src/errors.ts';
import { callOne, type LockedPet } from '../../src/stock/write-one.ts';
import { commandContext } from '../support/command-context.ts';
import { runIn as run, STAGING_ENV as ENV, withReplies } from '../support/in-process.ts';
import { error, item, json, tooMany, type PlainReply } from '../support/replies.ts';
import { answerFrom, newStore } from '../support/sandbox.ts';
import { stockService } from '../support/stock-service.ts';
import { createTestContext, type TestContext, type TestContextOptions } from '../support/test-context.ts';
import { httpReply, mulberry32 } from '../support/test-ports.ts';
import { START } from '../support/virtual-clock.ts';
import { jsonLines } from '../support/staging.ts';

/** The service is the sandbox's handler, with a store in memory. */
async function withSandbox(options: TestContextOptions = {}, plan: Plan = PLANS.free): Promise<TestContext> {
  const store = await newStore();
  const context: TestContext = createTestContext({
    env: ENV,
    ...options,
    http: (request) => answerFrom(store, plan, context, request),
  });
  return context;
}

describe('inventory list', () => {
  it('in a pipe: columns on stdout, nothing on stderr', async () => {
    const context = await withSandbox();
    expect(
      await run(context, 'inventory', 'list', '--max', '1', '--status', 'available', '--sort', 'quantity', '--desc'),
    ).toEqual({
      code: 0,
      stdout: [
        '                Pet  Quantity  Status',
        '                 14         1  available',
        '9223372036854775807         1  available',
        '                 19         0  available',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('on a terminal: a table, and what is left of the allowance', async () => {
    const context = await withSandbox({ terminal: true });
    expect(
      await run(context, 'inventory', 'list', '--pet', '7,8', '--columns', 'petId,quantity', '--color', 'never'),
    ).toEqual({
      code: 0,
      stdout:
        '┌───────┬──────────┐\n│ petId │ quantity │\n├───────┼──────────┤\n│     7 │       10 │\n│     8 │        6 │\n└───────┴──────────┘\n',
      stderr: '2 of 25 pets\n59 of 60 requests left, resets in 1 min 1 s (14:04:21)\n',
    });
  });

  it.each([
    [[], '25 pets'],
    [['--max', '1'], '7 of 25 pets'],
    [['--limit', '2'], '2 pets'],
    [['--limit', '2', '--sort', 'quantity'], '2 of 25 pets'],
  ])('on a terminal %j ends with: %s', async (options, summary) => {
    const context = await withSandbox({ terminal: true });
    const { stderr } = await run(context, 'inventory', 'list', ...options);
    expect(stderr.split('\n')[0]).toBe(summary);
  });

  it('says which pets are not there, and when nothing matches', async () => {
    const context = await withSandbox();
    expect(await run(context, 'inventory', 'list', '--pet', '77', '78')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'warning: Not in the list: pet 77, 78.\nNo pet matches.\n',
    });
  });
});

it.each([
  'list --no-header --json',
  'list --sort price',
  'list --desc',
  'list -o xml',
  'list --json -o csv',
  'list extra',
])('%s: 2, before anything is sent', async (line) => {
  expect((await run(withReplies([]), 'inventory', ...line.split(' '))).code).toBe(2);
});

describe('inventory set', () => {
  it('names the environment, and what was stored', async () => {
    const context = await withSandbox();
    expect(await run(context, 'inventory', 'set', '7', '12')).toEqual({
      code: 0,
      stdout: 'Pet 7 in staging: quantity set to 12 (status available).\n',
      stderr: '',
    });
    expect((await run(context, 'inventory', 'list', '--pet', '7', '-o', 'ndjson')).stdout).toBe(
      '{"petId":7,"quantity":12,"status":"available"}\n',
    );
  });

  it('--expect reads first, and sends nothing when the stock is another', async () => {
    const context = await withSandbox();
    expect(await run(context, 'inventory', 'set', '7', '12', '--expect', '9')).toEqual({
      code: 13,
      stdout: '',
      stderr:
        'error: Pet 7 has a quantity of 10, not the expected 9; nothing was changed.\n' +
        'hint: To change it anyway, leave out --expect.\n',
    });
    expect((await run(context, 'inventory', 'set', '7', '12', '--expect', '10')).stdout).toBe(
      'Pet 7: 10 → 12 (+2) in staging.\n',
    );
    expect(context.sent.map(({ method }) => method)).toEqual(['GET', 'GET', 'PATCH']);
  });

  it('--dry-run shows the request, as that of api does, needs no key, and sends nothing', async () => {
    const context = await withSandbox({ env: { ...ENV, PETSTORE_API_KEY: undefined } });
    expect(await run(context, 'inventory', 'set', '9223372036854775807', '12', '--dry-run')).toEqual({
      code: 0,
      stdout:
        'Dry run in staging: nothing is sent.\nPATCH https://pets.example/v1/inventory/9223372036854775807\n{"quantity":12}\n',
      stderr: '',
    });
    expect((await run(context, 'inventory', 'set', '7', '12', '--dry-run', '--json')).stdout).toBe(
      '{"dryRun":true,"environment":"staging","method":"PATCH","url":"https://pets.example/v1/inventory/7","body":{"quantity":12}}\n',
    );
    expect(await run(context, 'api', 'PATCH', '/inventory/7', '-f', 'quantity=12', '--dry-run')).toMatchObject({
      code: 0,
      stdout: 'Dry run in staging: nothing is sent.\nPATCH https://pets.example/v1/inventory/7\n{"quantity":12}\n',
    });
    expect(context.sent).toEqual([]);
  });
});

describe('--log', () => {
  it('adds start, attempts and end with one run id, private, without values or the key', async () => {
    const context = withReplies([json([item(7, 10)]), error(503), json([item(7, 10)])]);
    const path = join(context.home.path, 'petstore.log');
    expect((await run(context, 'inventory', 'get', '7', '--log', path)).code).toBe(0);
    // As by a full disk.
    appendFileSync(path, '"cut');
    expect((await run(context, 'inventory', 'get', '8', '--log', path)).code).toBe(5);
    const text = readFileSync(path, 'utf8');
    const lines = jsonLines<Record<string, unknown>>(text.replace('\n"cut\n', '\n'));
    const url = 'https://pets.example/v1/inventory';
    expect(lines).toMatchObject([
      { event: 'start', command: 'inventory get', options: ['--log'] },
      { event: 'attempt', method: 'GET', url, status: 200, limit: 60, remaining: 59 },
      { event: 'end', exitCode: 0 },
      { event: 'start' },
      { event: 'attempt', status: 503 },
      { event: 'attempt', status: 200 },
      { event: 'end', exitCode: 5, error: 'pet-not-found' },
    ]);
    expect(lines.map((line) => line.run)).toEqual(lines.map(() => expect.stringMatching(/^[0-9a-f]{16}$/) as string));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(text).not.toContain(ENV.PETSTORE_API_KEY);
  });

  it('that cannot be written ends the command with 3 before anything is sent', async () => {
    const context = withReplies([]);
    const log = ['--log', join(context.home.path, 'no/such/log')];
    const ran = await run(context, 'inventory', 'set', '7', '12', ...log);
    expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('no/such/log')]);
  });
});

describe('a base URL that is a gateway', () => {
  const HEADERS = { 'Petstore-Gateway': '1' };
  const refused = (quantity: number, headers = HEADERS): PlainReply =>
    json({ code: 'precondition_failed', message: 'No.', status: 412, quantity }, { status: 412, headers });

  /** Gives these replies, and notes each request with its condition. */
  function gateway(replies: readonly PlainReply[], options: TestContextOptions = {}) {
    const left = [...replies];
    const sent: string[] = [];
    const context: TestContext = createTestContext({
      env: ENV,
      ...options,
      http: ({ method, headers, url }) => {
        const isCatalog = url.pathname.startsWith('/__petstore/');
        if (!isCatalog) sent.push(`${method} ${headers['if-match'] ?? ''}`.trim());
        const reply = isCatalog ? { status: 404 } : left.shift()!;
        return httpReply({ ...reply, headers: { ...HEADERS, ...reply.headers } }, context.clock.now());
      },
    });
    return { context, sent };
  }
  const has = (quantity: number): PlainReply => json([item(7, quantity)]);

  it('adjust reads and writes again when another machine was first', async () => {
    const { context, sent } = gateway([has(10), refused(9), has(9), json(item(7, 8))]);
    expect(await run(context, 'inventory', 'adjust', '7', '-1')).toEqual({
      code: 0,
      stdout: 'Pet 7: 9 → 8 (-1) in staging.\n',
      stderr: '',
    });
    expect(sent).toEqual(['GET', 'PATCH "10"', 'GET', 'PATCH "9"']);
  });

  it('adjust does so for as long as --max-wait', async () => {
    const { context } = gateway([has(10), refused(9)]);
    expect(await run(context, 'inventory', 'adjust', '7', '-1', '--no-wait')).toEqual({
      code: 6,
      stdout: '',
      stderr: expect.stringContaining('Another change of pet 7 is still running; nothing was sent.') as string,
    });
  });

  it.each([
    ['inventory set 7 12 --expect 10', 13, 'Pet 7 has a quantity of 9, not the expected 10'],
    ['inventory import - --yes', 11, 'there are 9 now, no longer 10: someone else has changed it'],
    ['smoke --write --pet 7 --only write-set', 13, 'expected status 200, got 412'],
  ])('%s changes nothing then', async (line, code, message) => {
    const { context, sent } = gateway([has(10), refused(9), has(9)], { stdin: { text: 'petId,quantity\n7,12\n' } });
    const { code: found, stdout, stderr } = await run(context, ...line.split(' '));
    expect([found, stdout + stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(sent.slice(0, 2)).toEqual(['GET', 'PATCH "10"']);
    expect((await run(context, 'inventory', 'history', '--json')).stdout).toBe('[]\n');
  });

  it.each([
    ['applied', 12, 0, 'Pet 7: 10 → 12 (+2) in staging.'],
    ['unknown', 15, 9, 'was to be set to 12, and it has 15 now: someone else has changed it'],
  ])(
    'a lost update that arrives just before it is sent again is %s, as the list then says',
    async (_, then, code, says) => {
      const { context, sent } = gateway([has(10), error(502), has(10), refused(then), has(then)]);
      const { code: found, stdout, stderr } = await run(context, 'inventory', 'adjust', '7', '+2');
      expect([found, stdout + stderr]).toEqual([code, expect.stringContaining(says)]);
      expect(sent).toEqual(['GET', 'PATCH "10"', 'GET', 'PATCH "10"', 'GET']);
    },
  );

  it('a set that reads nothing has no condition', async () => {
    const { context, sent } = gateway([json(item(7, 12))]);
    expect((await run(context, 'inventory', 'set', '7', '12')).code).toBe(0);
    expect(sent).toEqual(['PATCH']);
  });

  it('a service that is none is sent no condition, and its 412 is an unexpected status', async () => {
    const none: PlainReply['headers'] = { 'Petstore-Gateway': undefined };
    const { context, sent } = gateway([{ ...has(10), headers: none }, refused(9, none as never)]);
    const { code, stderr } = await run(context, 'inventory', 'adjust', '7', '-1');
    expect([code, stderr]).toEqual([8, expect.stringContaining('Unexpected status from the service (412')]);
    expect(sent).toEqual(['GET', 'PATCH']);
  });
});

describe('--retry-for', () => {
  const down = error(503, 'unavailable', 'Restarting');
  const list = json([item(7, 10)]);

  it('a read: one line when the service goes, one when it is back', async () => {
    const context = withReplies([down, down, down, down, down, list]);
    const ran = await run(context, 'inventory', 'get', '7', '--retry-for', '1h');
    expect(ran.code).toBe(0);
    expect(ran.stderr).toMatch(
      /^Service failed \(503\); retrying until \d\d:\d\d:\d\d \(1 h\)\.\nThe service answers again, after \d+ (s|ms) \(6 tries\)\.\n$/,
    );
  });

  it('is not ended by --max-wait, where the service names a time', async () => {
    const context = withReplies([{ ...down, headers: { 'Retry-After': '30' } }, list]);
    const ran = await run(context, 'inventory', 'get', '7', '--retry-for', '1h', '--max-wait', '0');
    expect([ran.code, context.clock.now() - START]).toEqual([0, 31_000]);
  });

  it('a write is looked up before each repeat, and conflicts with what came meanwhile', async () => {
    const env = { ...ENV, PETSTORE_RETRY_FOR: '1h' };
    const done = withReplies([down, list, down, list, down, list, down, list, json(item(7, 12))], { env });
    const ran = await run(done, 'inventory', 'set', '7', '12');
    expect([ran.code, ran.stderr.match(/It is not known|retrying|answers again/g)]).toEqual([
      0,
      ['retrying', 'It is not known', 'answers again'],
    ]);
    const applied = withReplies([down, list, down, down, down, json([item(7, 12)])], { env });
    expect((await run(applied, 'inventory', 'set', '7', '12')).code).toBe(0);
    const changed = withReplies([list, down, json([item(7, 11)])], { env });
    expect((await run(changed, 'inventory', 'set', '7', '12', '--expect', '10')).code).toBe(9);
  });

  it('a write that is repeated to the end says how often it was sent, and once that the list is read', async () => {
    const context: TestContext = createTestContext({
      env: { ...ENV, PETSTORE_RETRY_FOR: '10m' },
      http: ({ method }) => httpReply(method === 'GET' ? list : down, context.clock.now()),
    });
    const ran = await run(context, 'inventory', 'set', '7', '12');
    expect([ran.code, ran.stderr.match(/reading the list to check/g)]).toEqual([9, [expect.anything()]]);
    const updates = context.sent.filter(({ method }) => method === 'PATCH').length;
    expect(updates).toBeGreaterThan(5);
    expect(ran.stderr).toContain(`after ${updates} attempts`);
  });

  it('is not for a service that answers a write with anything but a failure: two tries, as without it', async () => {
    const env = { ...ENV, PETSTORE_RETRY_FOR: '1h' };
    for (const answer of [json(item(7, 13)), { status: 204 }, { body: 'done' }]) {
      const context = withReplies([answer, list, answer, list], { env });
      const { code, stderr } = await run(context, 'inventory', 'set', '7', '12');
      expect([code, context.sent.map(({ method }) => method)]).toEqual([9, ['PATCH', 'GET', 'PATCH', 'GET']]);
      expect(stderr).not.toContain('retrying until');
    }
  });

  it('a run waits for it once, not for each row, as long as nothing is answered', async () => {
    const pets = [1, 2, 3, 4, 5];
    let updates = 0;
    const { ports } = stockService(new Map(pets.map((pet) => [pet, 10])), {}, ({ url }, update) => {
      updates = Math.max(updates, update);
      return update > 0 && !url.pathname.endsWith('/1') ? down : undefined;
    });
    const stdin = { text: `petId,quantity\n${pets.map((pet) => `${pet},12\n`).join('')}` };
    const context = createTestContext({ env: { ...ENV, PETSTORE_RETRY_FOR: '10m' }, stdin, ...ports });
    expect((await run(context, 'inventory', 'import', '-', '--yes')).code).toBe(9);
    const waited = context.clock.now() - START;
    expect(waited).toBeGreaterThanOrEqual(600_000);
    expect(waited).toBeLessThan(700_000);
    expect(updates).toBeGreaterThan(5);
  });

  it('ends with its time, or the deadline, with the code of the failure', async () => {
    const context: TestContext = createTestContext({ env: ENV, http: () => httpReply(down, context.clock.now()) });
    const ran = await run(context, 'inventory', 'get', '7', '--retry-for', '10m');
    expect(ran.code).toBe(8);
    expect(ran.stderr.match(/retrying/g)).toHaveLength(1);
    expect(context.clock.now() - START).toBeGreaterThanOrEqual(600_000);
    expect((await run(context, 'inventory', 'get', '7', '--retry-for', '1h', '--deadline', '1m')).code).toBe(7);
  });
});

describe('a pet that someone else sets while the write waits for the rate limit is read again', () => {
  const now20 = json([item(7, 20)]);
  it.each([
    ['adjust', ['adjust', '7', '-1'], [now20, json(item(7, 19))], 0],
    ['set --expect', ['set', '7', '12', '--expect', '10'], [now20], 13],
    [
      'once only, if the limit is one request at a time',
      ['adjust', '7', '-1'],
      [now20, tooMany(30), json(item(7, 19))],
      0,
    ],
  ])('%s', async (_how, args, replies, exit) => {
    const context = withReplies([json([item(7, 10)]), tooMany(30), ...replies]);
    expect((await run(context, 'inventory', ...args, '--wait')).code).toBe(exit);
  });
});

describe('fault 83: a signal while a write is in flight', () => {
  it('waits up to 2 s for its answer, and says what became of it', async () => {
    const answered = Promise.withResolvers<PlainReply>();
    const context: TestContext = createTestContext({
      env: ENV,
      http: async () => httpReply(await answered.promise, context.clock.now()),
    });
    const running = run(context, 'inventory', 'set', '7', '12', '--json');
    await expect.poll(() => context.sent.length).toBe(1);
    context.interrupt('SIGTERM');
    answered.resolve(json(item(7, 12)));
    const { code, stderr } = await running;
    expect(code).toBe(143);
    expect(JSON.parse(stderr.split('\n').at(-2) ?? '')).toMatchObject({
      error: {
        kind: 'interrupted',
        outcome: 'applied',
        message: 'Stopped by SIGTERM; pet 7 had been set to 12 by then.',
      },
    });
  });

  it('exits with the outcome unknown where none comes, and says how to look', async () => {
    const context: TestContext = createTestContext({ env: ENV, http: () => new Promise<never>(() => undefined) });
    const running = run(context, 'inventory', 'set', '7', '12', '--json');
    await expect.poll(() => context.sent.length).toBe(1);
    context.interrupt('SIGINT');
    await context.clock.advance(2_000);
    const { code, stderr } = await running;
    expect(code).toBe(130);
    expect(JSON.parse(stderr.split('\n').at(-2) ?? '')).toMatchObject({
      error: {
        kind: 'interrupted',
        outcome: 'unknown',
        hint: 'Check before you run it again: petstore --env staging inventory list --pet 7',
      },
    });
  });

  it('finds a conflict after a lost answer of unknown outcome until that is recorded', async () => {
    const context = commandContext();
    const settle = async (): Promise<void> => {
      expect([...context.openWrites]).toMatchObject([{ petId: 7n, outcome: 'unknown' }]);
    };
    const journal = { send: async () => 1n, settle };
    const pet = { context, session: { environment: 'staging' }, journal } as unknown as LockedPet;
    const because = new Failure('interrupted', { signal: 'SIGTERM' });
    const write = { petId: 7n, quantity: 13n, environment: 'staging' };
    const lost = new Failure('outcome-unknown', { ...write, because, looked: true, found: 99n });
    const sent = callOne(pet, { command: 'x', petId: 7n, before: 10n, after: 13n }, () => Promise.reject(lost));
    await expect(sent).rejects.toBe(lost);
    expect(context.openWrites.size).toBe(0);
  });
});

describe('errors', () => {
  it('that are unexpected are a bug, with a stack and how to report it', async () => {
    const context = createTestContext({
      env: ENV,
      http: () => {
        throw new RangeError('surprise');
      },
    });
    const { code, stderr } = await run(context, 'inventory', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(/RangeError: surprise\n\s+at /);
    expect(stderr).toMatch(
      /error: This is a bug in petstore: surprise\nhint: Report it to the person who gave you petstore/,
    );
  });
});

it('help exit-codes is a table like any other', async () => {
  const { stdout } = await run(createTestContext(), 'help', 'exit-codes', '-o', 'csv');
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'code,meaning,then',
    '0,"done (also: an empty list, a reader that closed the pipe)",continue',
    '1,a bug in petstore,report it',
  ]);
});

describe('a long output', () => {
  it('is interrupted between two pieces of it, although nothing has to be waited for', async () => {
    const items = Array.from({ length: 20_000 }, (_, i) => ({ petId: i + 1, quantity: 1, status: 'sold' }));
    const context = withReplies([{ json: items }]);
    const { stdout } = context;
    const write = stdout.write.bind(stdout);
    stdout.write = async (text) => {
      await write(text);
      // Each piece takes as long as ten of them do on a slow machine.
      context.clock.suspend(20, 'runs');
      if (stdout.writes.length === 1) setImmediate(() => context.interrupt());
    };
    const { code, stderr } = await run(context, 'inventory', 'list', '--sort', 'quantity', '-o', 'csv');
    expect([code, stderr]).toEqual([130, expect.stringMatching(/^Stopped/)]);
    expect(stdout.writes.length).toBeLessThan(20);
  });
});

describe('secrets', () => {
  it('a long key that was given as a value is not repeated, not even its end', async () => {
    const random = mulberry32(3);
    const key = Array.from({ length: 250 }, () => 'kqxzjvwyKQXZJVWY'.charAt(Math.floor(random() * 16))).join('');
    const context = createTestContext({ env: { ...ENV, PETSTORE_API_KEY: key } });
    const { code, stderr } = await run(context, 'inventory', 'get', key);
    expect(code).toBe(2);
    for (let at = 0; at + 12 <= key.length; at++) expect(stderr).not.toContain(key.slice(at, at + 12));
  });
});

describe('--events', () => {
  it('Ctrl-C ends the run by its own rules: the last event says how far it is', async () => {
    const { ports } = stockService(new Map([1, 2].map((pet) => [pet, 1])));
    const context = createTestContext({ env: ENV, stdin: { text: 'petId,quantity\n1,5\n2,6\n' }, ...ports });
    const { stdout } = context;
    const write = stdout.write.bind(stdout);
    stdout.write = async (text) => {
      await write(text);
      context.clock.suspend(100, 'runs');
      context.interrupt();
    };
    const { code, stdout: text } = await run(context, 'inventory', 'import', '-', '--yes', '--wait', '--events');
    const events = jsonLines<{ event: string; state?: string }>(text);
    expect([code, events.map(({ event, state }) => state ?? event)]).toEqual([130, ['applied', 'end']]);
  });
});
