import { describe, expect, it } from 'vitest';
import { item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { runIn as run, withReplies } from '../support/in-process.ts';
import type { TestContext, TestContextOptions } from '../support/test-context.ts';

const STOCK = json([item(7, 10)]);

describe('limits', () => {
  it('shows, without a request, that nothing is known, and then what is', async () => {
    const context = withReplies([STOCK]);
    expect((await run(context, 'limits')).stdout).toBe(
      [
        'environment  staging',
        'rate limit   unknown',
        'block        none',
        'in flight    none',
        'others       none seen',
        'known since  never',
        '',
      ].join('\n'),
    );
    expect(context.sent).toEqual([]);
    await run(context, 'inventory', 'list');
    await context.clock.advance(5_000);
    const { stdout } = await run(context, 'limits');
    expect(stdout).toContain('rate limit   59/60 left, resets in 56 s (14:04:21)\n');
    expect(stdout).toContain('known since  5 s ago\n');
    expect(context.sent).toHaveLength(1);
  });

  it('is the service’s own shape for programs, with null for what is not known', async () => {
    const context = withReplies([tooMany(600)]);
    await run(context, 'inventory', 'list');
    const { code, stdout } = await run(context, 'limits', '--json');
    expect({ code, limits: JSON.parse(stdout) as unknown }).toEqual({
      code: 0,
      limits: {
        environment: 'staging',
        limit: 60,
        remaining: 0,
        resetAt: '2026-03-02T14:04:21.000Z',
        block: {
          why: 'rate-limited',
          strikes: 1,
          until: expect.stringMatching(/^2026-03-02T14:13:2\d/) as string,
          over: false,
        },
        inFlight: [],
        othersSeen: false,
        knownAt: '2026-03-02T14:03:20.000Z',
      },
    });
  });

  it('--refresh asks the service once', async () => {
    const context = withReplies([STOCK]);
    expect((await run(context, 'limits', '--refresh')).stdout).toContain('59/60 left');
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
    expect({ code: declined.code, risk: declined.stderr.includes('may get the key banned') }).toEqual({
      code: 2,
      risk: true,
    });
    expect((await run(clerk, 'inventory', 'list')).code).toBe(6);
    expect((await run(clerk, 'limits', '--clear-block')).stdout).toContain('block        none');
    expect((await run(clerk, 'inventory', 'list')).code).toBe(0);

    const cron = await blocked({});
    expect((await run(cron, 'limits', '--clear-block')).code).toBe(2);
    expect((await run(cron, 'limits', '--clear-block', '--yes')).code).toBe(0);
    expect((await run(cron, 'inventory', 'list')).code).toBe(0);
  });
});

describe('--reserve and --no-wait', () => {
  it('leave requests to others, and do not wait for the next window', async () => {
    const left = (remaining: number): PlainReply => json([item(7, 10)], { limits: { remaining } });
    const context = withReplies([left(3), left(2)]);
    const call = ['inventory', 'list', '--reserve', '2', '--no-wait'];
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await run(context, ...call)).code);
    expect({ codes, sent: context.sent.length }).toEqual({ codes: [0, 0, 6], sent: 2 });
  });

  it('--no-wait does not go with --max-wait', async () => {
    expect((await run(withReplies([]), 'inventory', 'list', '--no-wait', '--max-wait', '5s')).code).toBe(2);
  });
});
