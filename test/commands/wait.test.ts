import { describe, expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { error, item, json } from '../support/replies.ts';

describe('wait', () => {
  it('looks until it holds', async () => {
    const replies = [json([item(7, 1)]), json([item(7, 1), item(8, 12)]), json([item(7, 12)])];
    const context = withReplies(replies);
    expect(await runIn(context, 'wait', '--pet', '7', '--quantity', '12', '--json')).toMatchObject({
      code: 0,
      stdout: '{"petId":7,"quantity":12,"status":"available"}\n',
    });
    expect(context.sent).toHaveLength(3);
  });

  it.each(['--for', '--timeout'])('not within %s, with a last look at the end: 13', async (option) => {
    const context = withReplies(Array.from({ length: 4 }, () => json([item(7, 1)])));
    const { code, stderr } = await runIn(context, 'wait', '--pet', '7', '--max', '0', option, '12s');
    expect(code).toBe(13);
    expect(stderr).toContain('Timed out after 12 s: pet 7 has a quantity of 1 and is available.');
  });

  it('looks at the end of a time that is shorter than the interval', async () => {
    const context = withReplies([json([item(7, 1)]), json([item(7, 0)])]);
    const started = context.clock.now();
    const { code } = await runIn(context, 'wait', '--pet', '7', '--max', '0', '--for', '4s');
    expect([code, context.clock.now() - started]).toEqual([0, 4_000]);
  });

  it('a pet that is not in the list: 5 at once', async () => {
    const missing = withReplies([json([item(8, 1)])]);
    expect(await runIn(missing, 'wait', '--pet', '7', '--min', '0')).toEqual({
      code: 5,
      stdout: '',
      stderr: 'error: Pet 7 was not found in staging.\nhint: See all pets: petstore --env staging inventory list\n',
    });
  });

  it.each([
    ['a refused key', error(401, 'no'), 4],
    ['a 429 for longer than allowed', { ...error(429, 'no'), headers: { 'retry-after': '3600' } }, 6],
    ['a service that fails', error(501, 'no'), 8],
    ['a ban', error(403, 'no'), 12],
  ])('%s, also later on, exits as every command does', async (_what, reply, exit) => {
    for (const before of [[], [json([item(7, 1)])]]) {
      const context = withReplies([...before, reply]);
      expect((await runIn(context, 'wait', '--pet', '7', '--max', '0')).code).toBe(exit);
    }
  });

  it.each([[['--quantity', '1']], [['--pet', '7']]])('%j says too little: 2', async (args) => {
    const context = withReplies([]);
    expect([(await runIn(context, 'wait', ...args)).code, context.sent.length]).toEqual([2, 0]);
  });
});
