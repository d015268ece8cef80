import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { type Redis, RedisFailure } from '../../src/ports.ts';
import { sharingWords } from '../../src/session/limit-words.ts';
import { RedisScript, type Store } from '../simulation/lua.ts';
import { error, item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { runIn as run, STAGING_ENV, withReplies } from '../support/in-process.ts';
import type { TestContext, TestContextOptions } from '../support/test-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const STOCK = json([item(7, 10)]);

describe('limits', () => {
  it('shows, without a request, that nothing is known, and then what is', async () => {
    const context = withReplies([STOCK]);
    expect((await run(context, 'limits')).stdout).toBe(
      [
        'environment  staging',
        'rate limit   unknown',
        'block        none',
        'requests     none under way',
        'last answer  none',
        '',
      ].join('\n'),
    );
    expect(context.sent).toEqual([]);
    await run(context, 'inventory', 'list');
    await context.clock.advance(5_000);
    const { stdout } = await run(context, 'limits');
    expect(stdout).toContain('rate limit   59 of 60 requests left, resets in 56 s (14:04:21)\n');
    expect(stdout).toContain('last answer  5 s ago\n');
    expect(context.sent).toHaveLength(1);
  });

  it('is the service’s own shape for programs, with null for what is not known', async () => {
    const context = withReplies([tooMany(600)]);
    await run(context, 'inventory', 'list');
    const { code, stdout } = await run(context, 'limits', '--json');
    expect(code).toBe(0);
    const until = expect.stringMatching(/^2026-03-02T14:13:2\d/) as string;
    expect(JSON.parse(stdout)).toEqual({
      environment: 'staging',
      limit: 60,
      remaining: 0,
      resetAt: '2026-03-02T14:04:21.000Z',
      windows: [{ operation: 'GET /inventory', limit: 60, remaining: 0, resetAt: '2026-03-02T14:04:21.000Z' }],
      block: { why: 'rate-limited', strikes: 1, until, over: false },
      inFlight: [],
      ledger: null,
      knownAt: '2026-03-02T14:03:20.000Z',
    });
  });

  it.each([
    [
      'are on one line where they may share a window',
      { remaining: 58 },
      ['58 of 60 requests left, resets in 1 min 1 s (14:04:21)'],
    ],
    [
      'have a line each where the limits differ',
      { limit: 6, remaining: 5, resetsIn: 3 },
      [
        '5 of 6 requests left, resets in 4 s (14:03:24) for PATCH /inventory/{id}',
        '59 of 60 requests left, resets in 1 min 1 s (14:04:21) for GET /inventory',
      ],
    ],
  ])('operations %s', async (_name, limits, lines) => {
    const context = withReplies([STOCK, json(item(7, 12), { limits })]);
    await run(context, 'inventory', 'set', '7', '12', '--expect', '10');
    const { stdout } = await run(context, 'limits');
    expect(stdout.split('\n').filter((line) => line.startsWith('rate limit'))).toEqual(
      lines.map((line) => `rate limit   ${line}`),
    );
    const { windows } = JSON.parse((await run(context, 'limits', '--json')).stdout) as { windows: unknown };
    expect(windows).toMatchObject([
      { operation: 'PATCH /inventory/{id}', remaining: limits.remaining },
      { operation: 'GET /inventory', limit: 60, remaining: 59 },
    ]);
  });

  it('of another address with the same key are not shown', async () => {
    const context = withReplies([json([], { limits: { limit: 5, remaining: 2 } }), STOCK]);
    await run(context, 'inventory', 'list');
    const there = { ...context, env: { ...context.env, PETSTORE_BASE_URL: 'https://other.example/v1' } };
    expect((await run(there, 'limits')).stdout).toContain('rate limit   unknown\n');
    await run(there, 'inventory', 'list');
    expect(JSON.parse((await run(there, 'limits', '--json')).stdout)).toMatchObject({ limit: 60, remaining: 59 });
    expect((await run(context, 'status')).stdout).not.toContain('of 60');
  });

  it('--refresh asks the service once', async () => {
    const context = withReplies([STOCK]);
    expect((await run(context, 'limits', '--refresh')).stdout).toContain('59 of 60 requests left');
    expect(context.sent).toHaveLength(1);
  });

  it('--refresh does not ask while the key is blocked', async () => {
    const context = withReplies([tooMany(600)]);
    await run(context, 'inventory', 'list');
    expect((await run(context, 'limits', '--refresh')).code).toBe(6);
    expect(context.sent).toHaveLength(1);
  });

  it('--clear-block needs the word, or --yes, and says what is risked', async () => {
    const blocked = async (options: TestContextOptions): Promise<TestContext> => {
      const context = withReplies([tooMany(600), STOCK], options);
      await run(context, 'inventory', 'list');
      return context;
    };
    const clerk = await blocked({ terminal: true, answers: ['yes', 'clear'] });
    const declined = await run(clerk, 'limits', '--clear-block', '--color', 'never');
    expect(declined.code).toBe(2);
    expect(declined.stderr).toMatch(/may\s+get\s+the\s+key\s+banned/);
    expect((await run(clerk, 'inventory', 'list')).code).toBe(6);
    expect((await run(clerk, 'limits', '--clear-block')).stdout).toContain('block        none');
    expect((await run(clerk, 'inventory', 'list')).code).toBe(0);

    const cron = await blocked({});
    expect((await run(cron, 'limits', '--clear-block')).code).toBe(2);
    expect((await run(cron, 'limits', '--clear-block', '--yes')).code).toBe(0);
    expect((await run(cron, 'inventory', 'list')).code).toBe(0);
  });
});

describe('a command at its limit', () => {
  const LIST = ['inventory', 'list'];
  const SET = ['inventory', 'set', '7', '12', '--expect', '10'];

  it('fault 28: waits a short time, with one line; a second 429 ends it', async () => {
    const soon = tooMany(0, { limits: false });
    const context = withReplies([soon, STOCK, soon, soon]);
    expect(await run(context, ...LIST, '-o', 'csv')).toEqual({
      code: 0,
      stdout: 'petId,quantity,status\n7,10,available\n',
      stderr: expect.stringMatching(/^Rate limited \(429\); continuing at 14:03:2\d \(\d s\), try 2\/2\.\n$/) as string,
    });
    const { code, stderr } = await run(context, ...LIST, '--json');
    expect([code, JSON.parse(stderr.split('\n').at(-2) ?? '')]).toMatchObject([
      6,
      {
        error: {
          kind: 'rate-limited',
          retryable: true,
          retryAt: expect.stringMatching(/^2026-03-02T14:03:[\d.]+Z$/) as string,
          message: expect.stringMatching(
            /^This key is rate limited \(429\) until 14:03:\d\d \(\d s\); nothing more was sent\.$/,
          ) as string,
          // The wait is not what ended it.
          hint: expect.stringMatching(/^Run the command again after 14:03:\d\d\.$/) as string,
        },
      },
    ]);
  });

  it('does not overdraw a spent window: the write that follows the last request is not sent', async () => {
    const context = withReplies([json([item(7, 10)], { limits: { remaining: 0, resetsIn: 600 } })]);
    const { code, stderr } = await run(context, ...SET);
    expect([code, stderr]).toEqual([6, expect.stringMatching(/^error: The rate limit is used up until .* \(10 min/)]);
  });

  it.each([
    ['fault 44: missing', { limits: false }],
    ['fault 45: more left than the limit', { headers: { 'X-RateLimit-Remaining': '61' } }],
  ] as const)('%s: the next request waits its turn, and no limit is shown', async (_name, init) => {
    const context = withReplies([json([item(7, 10)], init), json(item(7, 12), init)]);
    const { code, stderr } = await run(context, '--show-limits', ...SET);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('requests left')]);
  });

  it('fault 44: an import without limits says so once, not before each row', async () => {
    const pets = [1, 2, 3, 4, 5, 6, 7, 8];
    const [before, after] = [pets.map((pet) => item(pet, 0)), pets.map((pet) => item(pet, 5))];
    const replies = [before, ...after, after].map((body) => json(body, { limits: false }));
    const stdin = { text: `petId,quantity\n${pets.map((pet) => `${pet},5\n`).join('')}` };
    const args = ['inventory', 'import', '-', '--yes', '--wait', '--reserve', '0'];
    const { code, stderr } = await run(withReplies(replies, { stdin }), ...args);
    expect(code).toBe(0);
    const notes = stderr.split('\n').filter((line) => /unknown|pace|one a second/i.test(line));
    expect(notes.length).toBeLessThanOrEqual(2);
  });

  const SHOWN = '59 of 60 requests left, resets in 1 min 1 s (14:04:21)\n';
  it.each([
    [[], ''],
    [['--show-limits'], SHOWN],
    [['--show-limits', '--quiet'], ''],
  ])('off a terminal, with %j: %j', async (flags, stderr) => {
    expect(await run(withReplies([STOCK]), ...flags, ...LIST)).toMatchObject({ code: 0, stderr });
    if (stderr === '') return;
    const failed = await run(withReplies([error(401)]), ...flags, ...LIST);
    expect(failed.stderr.startsWith(`${stderr}error: `)).toBe(true);
  });
});

describe('--reserve and --no-wait', () => {
  it('leave requests to others, and do not wait for the next window', async () => {
    const left = (remaining: number): PlainReply => json([item(7, 10)], { limits: { remaining } });
    const context = withReplies([left(3), left(2)]);
    const call = ['inventory', 'list', '--reserve', '2', '--no-wait'];
    const ran = [await run(context, ...call), await run(context, ...call), await run(context, ...call)];
    expect({ codes: ran.map(({ code }) => code), sent: context.sent.length }).toEqual({ codes: [0, 0, 6], sent: 2 });
    expect(ran[2]?.stderr).toContain('error: The rate limit is used up but for --reserve (2) until ');
  });
});

describe('with PETSTORE_LEDGER', () => {
  /** Machines that share a Redis server, which fails while `failure` is set. */
  function chain() {
    const clock = new VirtualClock({ autoAdvance: true });
    const store: Store = new Map();
    const server: { failure?: RedisFailure } = {};
    let machines = 0;
    const redis: Redis = {
      run: (script, key, args) =>
        server.failure === undefined
          ? Promise.resolve(new RedisScript(script).run(store, clock.now(), key, args))
          : Promise.reject(server.failure),
      close: () => undefined,
    };
    const machine = (replies: readonly PlainReply[] = []): TestContext => {
      const number = ++machines;
      const env = { ...STAGING_ENV, PETSTORE_LEDGER: 'redis://shop.example' };
      return {
        ...withReplies(replies, { clock, env }),
        randomBytes: (count) => new Uint8Array(count).fill(number),
        openRedis: () => Promise.resolve(redis),
      };
    };
    return { clock, machine, server };
  }
  const refused = (): RedisFailure => new RedisFailure(new Error('ECONNREFUSED'));

  it('limits and status show with how many machines the key is shared, without a request', async () => {
    const { machine } = chain();
    const [first, second] = [machine([STOCK]), machine()];
    await run(first, 'inventory', 'list');
    const shown = await run(second, 'limits');
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain('shared       with 1 other machine; 0 requests lent to this one\n');
    // What another machine was told.
    expect(shown.stdout).toContain('rate limit   59 of 60 requests left');
    expect(JSON.parse((await run(second, 'limits', '--json')).stdout)).toMatchObject({
      ledger: { machines: 2, lent: 0, lost: null },
    });
    expect((await run(first, 'status')).stdout).toContain('shared       with 1 other machine; ');
  });

  it('they show since when the server has not worked, and that it works again', async () => {
    const { clock, machine, server } = chain();
    const context = machine();
    await run(context, 'limits');
    server.failure = refused();
    await clock.advance(10_000);
    const words = 'shared       Redis has not worked since 14:03:30 (ECONNREFUSED); next try at 14:03:';
    const shown = await run(context, 'limits');
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain(`${words}31\n`);
    await clock.advance(10_000);
    expect((await run(context, 'status')).stdout).toContain(`${words}51\n`);
    const { ledger } = JSON.parse((await run(context, 'limits', '--json')).stdout) as { ledger: unknown };
    expect(ledger).toEqual({
      machines: 1,
      lent: 0,
      lost: { since: '2026-03-02T14:03:30.000Z', says: 'ECONNREFUSED', nextTry: '2026-03-02T14:03:51.000Z' },
    });
    // Before the next try is due: whoever asks wants to know how it is now.
    delete server.failure;
    expect((await run(context, 'status')).stdout).toContain('shared       with no other machine now; ');
  });

  it.each(['limits', 'status'])('%s ends at a signal while the server does not answer yet', async (command) => {
    const { clock, machine, server } = chain();
    const stop = new AbortController();
    const { promise, reject } = Promise.withResolvers<string>();
    const slow: Redis = {
      run() {
        stop.abort(new Failure('interrupted', { signal: 'SIGINT' }));
        return promise;
      },
      close: () => {
        reject(refused());
      },
    };
    const context = machine();
    const stopped = { ...context, signal: stop.signal, openRedis: () => Promise.resolve(slow) };
    expect(await run(stopped, command)).toMatchObject({ code: 130, stdout: '' });
    // That is no sign of a lost server.
    await clock.advance(10_000);
    server.failure = refused();
    expect((await run(context, 'status')).stdout).toContain('Redis has not worked since 14:03:30');
  });

  it('fault 172: a server that refuses fails limits, and not status', async () => {
    const { machine, server } = chain();
    const context = machine();
    server.failure = new RedisFailure(new Error('WRONGPASS invalid password'), 'settings');
    const says = 'The Redis server of PETSTORE_LEDGER cannot be used: WRONGPASS invalid password.';
    expect(await run(context, 'limits')).toMatchObject({ code: 3, stderr: expect.stringContaining(says) as string });
    const status = await run(context, 'status');
    expect(status).toMatchObject({ code: 0, stderr: '' });
    expect(status.stdout).toContain(`shared       ${says}`);
  });

  it('fault 114: a command that may not send without it names it, what it said and one next step', async () => {
    const { machine, server } = chain();
    const context = machine();
    server.failure = refused();
    expect(await run(context, 'inventory', 'list', '--no-wait')).toEqual({
      code: 6,
      stdout: '',
      stderr: [
        'warning: The Redis server of PETSTORE_LEDGER does not work (ECONNREFUSED). Until it does, this machine sends only what it was lent.',
        "error: The Redis server of PETSTORE_LEDGER does not work (ECONNREFUSED), and other machines share this key's rate limit; nothing was sent.",
        'hint: See what is wrong with it: petstore doctor',
        '',
      ].join('\n'),
    });
    expect(context.sent).toEqual([]);
  });

  it.each([
    ['NOAUTH Authentication required', /user and password/],
    ['WRONGPASS invalid username-password pair', /user and password/],
    ['NOPERM this user has no permissions', /rights/],
    ['DENIED Redis is in protected mode because no password is set', /rights/],
  ])('fault 172: the hint is about what the server refused: %s', async (says, hint) => {
    const { machine, server } = chain();
    server.failure = new RedisFailure(new Error(says), 'settings');
    expect((await run(machine(), 'limits')).stderr).toMatch(new RegExp(`^hint: .*${hint.source}`, 'm'));
  });

  it('names what is left of what was lent while the server is lost', () => {
    const lost = { since: 0, says: 'no answer within 2000 ms', next: 31_000 };
    const permits = { 'GET /inventory': { many: 3, lent: 3, at: 0, until: 2_000 } };
    expect(sharingWords({ machine: 'a', server: 'b', holds: {}, permits, machines: 2, lost }, 1_000)).toMatch(
      /^Redis has not worked since \S+ \(no answer within 2000 ms\); next try at \S+; 3 requests lent to this one left$/,
    );
  });
});
