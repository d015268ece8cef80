/** Rate limits in the forms that a service may send, over real sockets, through the built program. */
import { describe, expect, it } from 'vitest';
import { runPetstore } from '../support/binary.ts';
import { error, item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];
const DAY = 86_400;

/** The wait that an exit 6 announces, in seconds from now. */
async function announced(
  reply: PlainReply,
): Promise<{ code: number | null; kind: unknown; wait: number; requests: number }> {
  const server = await scriptedServer([reply]);
  const { code, error: reported } = await runJson(server.baseUrl, ['--max-wait', '0', ...LIST]);
  const wait = (Date.parse(String(reported?.retryAt)) - Date.now()) / 1_000;
  return { code, kind: reported?.kind, wait, requests: server.requests.length };
}

const httpDate = (secondsFromNow: number): string => new Date(Date.now() + secondsFromNow * 1_000).toUTCString();
/** A 429 whose other headers promise nothing. */
const limited = (retryAfter: string | undefined, headers: Record<string, string | undefined> = {}): PlainReply =>
  tooMany(retryAfter, { limits: false, headers });

interface Row {
  readonly name: string;
  readonly reply: () => PlainReply;
  /** Seconds: what the service asked for and 1 s, to which jitter adds at most 10 % and 5 s. */
  readonly least: number;
  readonly most: number;
}

const ROWS: Row[] = [
  { name: 'fault 29: seconds', reply: () => limited('600'), least: 601, most: 606 },
  { name: 'fault 30: a date', reply: () => limited(httpDate(600)), least: 600, most: 607 },
  ...[DAY, -DAY].map((skew) => ({
    name: `fault 30: a date, by a clock ${skew} s away`,
    reply: () => limited(httpDate(600 + skew), { Date: httpDate(skew) }),
    least: 600,
    most: 607,
  })),
  {
    name: 'fault 30: the obsolete forms of a date',
    reply: () => limited('Wednesday, 01-Jan-20 00:10:00 GMT', { Date: 'Wed Jan  1 00:00:00 2020' }),
    least: 601,
    most: 606,
  },
  ...['-1', '10 sec', '', '0x10', 'soon', 'soon, 5'].map((junk) => ({
    name: `fault 31: junk: ${JSON.stringify(junk)}`,
    reply: () => limited(junk),
    least: 61,
    most: 67,
  })),
  { name: 'fault 31: nothing', reply: () => limited(undefined), least: 61, most: 67 },
  { name: 'fault 32: zero', reply: () => limited('0'), least: 3, most: 4 },
  { name: 'fault 33: a month', reply: () => limited('2592000'), least: DAY - 1, most: DAY },
  { name: 'fault 33: 40 digits', reply: () => limited('9'.repeat(40)), least: DAY - 1, most: DAY },
  { name: 'fault 34: a date that is past', reply: () => limited(httpDate(-600)), least: 61, most: 67 },
  {
    name: 'fault 35: a Reset that is past',
    reply: () => tooMany(undefined, { limits: { remaining: 0, resetsIn: -600 } }),
    least: 61,
    most: 67,
  },
  {
    name: 'fault 35: a Reset in ms',
    reply: () =>
      tooMany(undefined, { limits: { remaining: 0 }, headers: { 'X-RateLimit-Reset': `${Date.now() + 600_000}` } }),
    least: 600,
    most: 608,
  },
  {
    name: 'fault 35: a Reset that is a number of seconds',
    reply: () => tooMany(undefined, { limits: { remaining: 0 }, headers: { 'X-RateLimit-Reset': '600' } }),
    least: 602,
    most: 607,
  },
  {
    name: 'fault 35: a Reset in a hundred years',
    reply: () => tooMany(undefined, { limits: { remaining: 0, resetsIn: 100 * 365 * DAY } }),
    least: 61,
    most: 67,
  },
  {
    name: 'fault 36: no Date: this machine’s clock serves',
    reply: () => tooMany(undefined, { limits: { remaining: 0, resetsIn: 600 }, headers: { Date: undefined } }),
    least: 600,
    most: 608,
  },
  {
    name: 'fault 36: an invalid Date, and a Reset that is past by this machine’s clock',
    reply: () => tooMany(undefined, { limits: { remaining: 0, resetsIn: -5 }, headers: { Date: 'yesterday' } }),
    least: 61,
    most: 67,
  },
];

it.each(ROWS)('$name: nothing more is sent, and the wait is announced', async ({ reply, least, most }) => {
  const { code, kind, wait, requests } = await announced(reply());
  expect({ code, kind, requests }).toEqual({ code: 6, kind: 'rate-limited', requests: 1 });
  // The answer is a moment old by now, and whole seconds are sent.
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

it('fault 43: a 429 counts, whatever Remaining says', async () => {
  const server = await scriptedServer([tooMany('600', { limits: { remaining: 50 } })]);
  const { code } = await runJson(server.baseUrl, ['--max-wait', '10s', ...LIST]);
  expect({ code, requests: server.requests.length }).toEqual({ code: 6, requests: 1 });
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
    ['fault 45: more left than there is', { limits: { limit: 60, remaining: 61 } }],
    ['fault 45: negative', { headers: { 'X-RateLimit-Remaining': '-1' } }],
    ['fault 45: not a number', { headers: { 'X-RateLimit-Remaining': 'NaN' } }],
    ['fault 45: given twice', { headers: { 'X-RateLimit-Remaining': ['5', '6'] } }],
  ] as const)('%s: the next request waits its turn, and no limit is shown', async (_name, init) => {
    const server = await scriptedServer([json(STOCK, init), json(item(7, 12), init)]);
    const { code, notes } = await runJson(server.baseUrl, [
      '--show-limits',
      'inventory',
      'set',
      '7',
      '12',
      '--expect',
      '10',
    ]);
    expect({
      code,
      log: server.log(),
    }).toEqual({
      code: 0,
      log: ['GET /v1/inventory', 'PATCH /v1/inventory/7'],
    });
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
