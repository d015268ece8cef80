/** Rate limits in the forms that a service may send, over real sockets, through the built program. */
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { error, item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];
const DAY = 86_400;

const httpDate = (secondsFromNow: number): string => new Date(Date.now() + secondsFromNow * 1_000).toUTCString();
/** A 429 whose other headers promise nothing. */
const limited = (retryAfter: string | undefined, headers: Record<string, string | undefined> = {}): PlainReply =>
  tooMany(retryAfter, { limits: false, headers });

// Seconds: what the service asked for and 1 s, to which jitter adds at most 10 % and 5 s. The other forms of these
// headers are in test/rate-limit/headers.test.ts.
it.each<readonly [name: string, reply: () => PlainReply, least: number, most: number]>([
  ['fault 29: seconds', () => limited('600'), 601, 606],
  ['fault 30: a date, by a clock a day ahead', () => limited(httpDate(600 + DAY), { Date: httpDate(DAY) }), 600, 607],
])('%s: nothing more is sent, and the wait is announced', async (_name, reply, least, most) => {
  const server = await scriptedServer([reply()]);
  const { code, error: reported } = await runJson(server.baseUrl, ['--max-wait', '0', ...LIST]);
  expect([code, reported?.kind, server.requests.length]).toEqual([6, 'rate-limited', 1]);
  // The answer is a moment old by now, and whole seconds are sent.
  const wait = (Date.parse(String(reported?.retryAt)) - Date.now()) / 1_000;
  expect(wait).toBeGreaterThan(least - 15);
  expect(wait).toBeLessThan(most + 2);
});

it('fault 28: a short wait is waited out, and one probe answered', async () => {
  const server = await scriptedServer([limited('0'), json(STOCK)]);
  const { code, stdout, stderr } = await runPetstore([...LIST, '-o', 'csv'], { env: staging(server.baseUrl) });
  expect({ code, rows: stdout.split('\n').length - 2, log: server.log() }).toEqual({
    code: 0,
    rows: 2,
    log: ['GET /v1/inventory', 'GET /v1/inventory'],
  });
  expect(stderr).toMatch(
    /^Rate limited \(429\); continuing at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d \(\d s\), try 2\/2\.\n$/,
  );
});

it('fault 28: a second 429 ends the command', async () => {
  const server = await scriptedServer([limited('0'), limited('0')]);
  const { code, error: reported } = await runJson(server.baseUrl, LIST);
  expect({ code, reported, log: server.log().length }).toMatchObject({
    code: 6,
    log: 2,
    reported: {
      kind: 'rate-limited',
      exitCode: 6,
      retryable: true,
      retryAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      message: expect.stringMatching(
        /^The service is rate limiting this key \(429\) until (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d \(\d s\); nothing more was sent\.$/,
      ) as string,
      // The wait is not what ended it.
      hint: expect.stringMatching(/^Run the command again after (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.$/) as string,
    },
  });
});

it('a spent window is not overdrawn: the write that follows the last request is not sent', async () => {
  const server = await scriptedServer([json(STOCK, { limits: { remaining: 0, resetsIn: 600 } })]);
  const { code, error: reported } = await runJson(server.baseUrl, ['inventory', 'set', '7', '12', '--expect', '10']);
  expect({ code, message: reported?.message, log: server.log() }).toEqual({
    code: 6,
    message: expect.stringMatching(/^The rate limit is used up until .* \(10 min/) as string,
    log: ['GET /v1/inventory'],
  });
});

describe('fault 44, 45: limits that are missing or make no sense', () => {
  it.each([
    ['missing', { limits: false }],
    ['fault 45: given twice', { headers: { 'X-RateLimit-Remaining': ['5', '6'] } }],
  ] as const)('%s: the next request waits its turn, and no limit is shown', async (_name, init) => {
    const server = await scriptedServer([json(STOCK, init), json(item(7, 12), init)]);
    const args = ['--show-limits', 'inventory', 'set', '7', '12', '--expect', '10'];
    const { code, notes } = await runJson(server.baseUrl, args);
    expect([code, server.log()]).toEqual([0, ['GET /v1/inventory', 'PATCH /v1/inventory/7']]);
    expect(notes.join()).not.toContain('rateLimit');
  });
});

describe('the line about the rate limit', () => {
  it.each([
    [[], false],
    [['--show-limits'], true],
    [['--show-limits', '--quiet'], false],
  ])('off a terminal, with %j: %s', async (flags, shown) => {
    const server = await scriptedServer([json(STOCK)]);
    const { stderr } = await runPetstore([...flags, ...LIST], { env: staging(server.baseUrl) });
    expect(/^59 of 60 requests left, resets in .+ \((\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\)\n$/.test(stderr)).toBe(shown);
    if (!shown) expect(stderr).toBe('');
  });

  it('is there with an error too, before it', async () => {
    const server = await scriptedServer([error(401)]);
    const { stderr } = await runPetstore(['--show-limits', ...LIST], { env: staging(server.baseUrl) });
    expect(stderr.split('\n').map((line) => line.split(' ')[0])).toEqual(['59', 'error:', 'hint:', '']);
  });
});
