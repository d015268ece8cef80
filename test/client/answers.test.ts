/** Answers outside the service's contract, and how commands handle them. */
import { describe, expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { error, item, json, type PlainReply, tooMany } from '../support/replies.ts';
import { type JsonRun, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const SET = ['inventory', 'set', '7', '12'];
const STOCK = [item(1, 5), item(7, 10)];
const html: PlainReply = { body: '<html>Sign in to the airport</html>', headers: { 'Content-Type': 'text/html' } };

/** Runs a command against these replies. `log`: the methods of its requests. */
async function run(replies: readonly PlainReply[], ...args: string[]): Promise<JsonRun & { readonly log: string[] }> {
  const context = withReplies(replies);
  const ran = takeApart(await runIn(context, '--json', ...args));
  return { ...ran, log: context.sent.map(({ method }) => method) };
}

const moved = (status: number): PlainReply => ({
  status,
  headers: { Location: 'https://evil.example/v1/inventory?x=1' },
});
const text = (pattern: RegExp): string => expect.stringMatching(pattern) as string;
const refused = { outcome: 'not-applied' };
const outdated = { hint: text(/^Update petstore\./) };

const banned = error(403, 'Key suspended', 'banned');
const ban = 'Staging forbids this (403, banned: Key suspended): the key may be banned.';
const invalidKey = error(401, 'Invalid API key', 'unauthorized');
const newKey = 'Staging refused the API key from PETSTORE_API_KEY (401, unauthorized: Invalid API key).';

it.each<[name: string, args: string[], reply: PlainReply, expected: Readonly<Record<string, unknown>>]>([
  [
    'fault 14: a captive portal',
    LIST,
    html,
    { exitCode: 8, kind: 'contract', message: text(/is a web page, not the API/), hint: text(/^Check the base URL/) },
  ],
  [
    'fault 13: a redirect to nowhere',
    LIST,
    { status: 302, body: '' },
    { exitCode: 8, message: 'The service answers with a redirect (302) that names no address.' },
  ],
  [
    'fault 13: a 304, which no request of petstore asks for',
    LIST,
    { status: 304, body: '' },
    {
      exitCode: 8,
      message: 'The service answers 304 (not modified), which petstore never asks for.',
      hint: 'Check the base URL.',
    },
  ],
  [
    'fault 20: 404 on an update',
    SET,
    error(404),
    { exitCode: 5, message: 'Pet 7 was not found in staging (404, error: No).' },
  ],
  [
    'fault 22: 403, perhaps a ban',
    LIST,
    banned,
    { exitCode: 12, kind: 'forbidden', message: ban, retryAt: text(/Z$/) },
  ],
  ['fault 22: 403, perhaps a ban', SET, banned, { exitCode: 12, kind: 'forbidden', message: ban, ...refused }],
  ['fault 23: 405, perhaps outdated', LIST, error(405), { exitCode: 8, message: text(/service \(405/), ...outdated }],
  [
    'fault 23: 410, perhaps outdated',
    SET,
    error(410),
    { exitCode: 8, message: text(/service \(410/), ...outdated, ...refused },
  ],
  [
    'fault 63: 401',
    LIST,
    invalidKey,
    { exitCode: 4, kind: 'unauthorized', message: newKey, hint: 'Correct or unset PETSTORE_API_KEY.' },
  ],
  [
    'fault 29: 429 for longer than --max-wait',
    SET,
    tooMany(3_600),
    {
      exitCode: 6,
      message: text(
        /^This key is rate limited \(429\) until 15:03:2\d \(1 h 1 min\), longer than --max-wait \(1 min 15 s\); nothing more was sent\.$/,
      ),
      hint: text(/^Run the command again after 15:03:2\d/),
      ...refused,
    },
  ],
  ['fault 63: 401', SET, invalidKey, { exitCode: 4, kind: 'unauthorized', message: newKey, ...refused }],
  [
    'fault 13: a redirect',
    LIST,
    moved(308),
    {
      exitCode: 8,
      kind: 'redirected',
      status: 308,
      message: text(/^The service redirects \(308\) to https:\/\/evil.example; .* did not send the key there\.$/),
    },
  ],
  [
    'fault 18: a 503 for longer than --max-wait',
    LIST,
    error(503, 'Closed for stocktaking', 'closed', { headers: { 'Retry-After': '3600' } }),
    {
      exitCode: 8,
      message: text(
        /^The service failed \(503, closed: Closed for stocktaking\) after 1 attempt\. .* available at [-: \d]+\.$/,
      ),
      retryable: true,
      status: 503,
      code: 'closed',
      retryAt: text(/^\d{4}-\d\d-\d\dT/),
    },
  ],
  [
    'fault 19: a refused value',
    SET,
    error(400, 'too\u001b[2J many\u202e', 'invalid_quantity'),
    {
      exitCode: 10,
      message: 'The service refused the value (400, invalid_quantity: too\u001b[2J many\u202e).',
      code: 'invalid_quantity',
      outcome: 'not-applied',
    },
  ],
  [
    'fault 21: 404 on the list',
    LIST,
    error(404),
    {
      exitCode: 3,
      status: 404,
      message: 'No inventory at https://pets.example/v1/inventory (404).',
      hint: text(/\/v1/),
    },
  ],
])('%s (%s) is not sent again', async (_name, args, reply, expected) => {
  const { code, stdout, error: reported, log } = await run([reply], ...args);
  expect([code, stdout, log.length]).toEqual([expected.exitCode, '', 1]);
  expect(reported).toMatchObject(expected);
});

it('fault 130: an update that is redirected is looked up, and not sent again: it would be redirected again', async () => {
  expect(await run([moved(302), json([item(7, 12)])], ...SET)).toMatchObject({ code: 0, log: ['PATCH', 'GET'] });
  const { code, error: reported, log } = await run([moved(302), json([item(7, 10)])], ...SET);
  expect([code, reported?.kind, reported?.outcome, log]).toEqual([8, 'redirected', 'not-applied', ['PATCH', 'GET']]);
  expect(await run([moved(302), moved(302)], ...SET)).toMatchObject({
    code: 9,
    error: { outcome: 'unknown', message: text(/the stock could not be read/) },
  });
});

describe('a write always has an outcome', () => {
  const POST = ['api', 'POST', '/404', '-f', 'a=1'];
  const WRITES = [SET, ['api', 'PATCH', '/inventory/7', '-f', 'quantity=12'], POST];

  it.each([
    [404, 5],
    [401, 4],
    [403, 12],
    [409, 8],
  ])('of a raw call that is refused with %i: not applied', async (status, exit) => {
    const { code, error: reported } = await run([error(status)], ...POST);
    expect([code, reported?.outcome]).toEqual([exit, 'not-applied']);
  });

  it('of a raw call that reads: none', async () => {
    const { code, error: reported } = await run([error(404)], 'api', '/404');
    expect([code, reported]).toEqual([5, expect.not.objectContaining({ outcome: expect.anything() as unknown })]);
  });

  it.each(WRITES.map((args) => [args.join(' '), args]))('%s during a block: not sent', async (_words, args) => {
    const context = withReplies([tooMany(3_600)]);
    await runIn(context, '--json', ...LIST);
    const { code, error: reported } = takeApart(await runIn(context, '--json', ...args));
    expect([code, reported]).toMatchObject([6, { message: text(/; nothing was sent\.$/), outcome: 'not-sent' }]);
  });
});

describe('a write that may have been applied', () => {
  const OLD = json(STOCK);
  const NEW = json([item(1, 5), item(7, 12)]);
  const DONE = json(item(7, 12));

  it.each<[string, PlainReply, RegExp]>([
    ['fault 15: 204', { status: 204 }, /Unexpected status from the service \(204\)/],
    ...[500, 502, 503, 504].map((status): [string, PlainReply, RegExp] => [
      `fault 17: ${status}`,
      error(status),
      new RegExp(`The service failed \\(${status}, error: No\\) after 2 attempts`),
    ]),
    ['fault 130: a web page', html, /is a web page, not the API/],
    ['fault 60: invalid UTF-8', { body: new Uint8Array([0x7b, 0xff, 0x7d]) }, /is not valid UTF-8/],
    ['fault 61: another quantity', json(item(7, 13)), /the service stored 13 for pet 7/],
    ['fault 61: another pet', json(item(8, 12)), /the service stored 12 for pet 8/],
    ['no JSON', { body: 'done', headers: { 'Content-Type': 'text/plain' } }, /is not JSON/],
    ['an empty body', { body: '' }, /is not JSON/],
    ['a missing field', json({ petId: 7, quantity: 12 }), /lacks the field status/],
  ])('%s: is looked up, and sent again once if it was not applied', async (_name, reply, why) => {
    const found = await run([reply, NEW], ...SET);
    expect([found.code, JSON.parse(found.stdout), found.log]).toEqual([0, item(7, 12), ['PATCH', 'GET']]);
    expect(await run([reply, OLD, DONE], ...SET)).toMatchObject({ code: 0, log: ['PATCH', 'GET', 'PATCH'] });
    expect(await run([reply, OLD, reply, NEW], ...SET)).toMatchObject({
      code: 0,
      log: ['PATCH', 'GET', 'PATCH', 'GET'],
    });
    expect(await run([reply, OLD, reply, OLD], ...SET)).toMatchObject({
      code: 9,
      stdout: '',
      error: {
        kind: 'outcome-unknown',
        exitCode: 9,
        outcome: 'unknown',
        message: expect.stringMatching(why) as string,
      },
      log: ['PATCH', 'GET', 'PATCH', 'GET'],
    });
  });

  const later = error(503, 'Later', 'later', { headers: { 'Retry-After': '3600' } });
  it.each([
    ['is not looked after where the service wants longer than --max-wait', [later], ['PATCH']],
    [
      'that the look meets a ban is told with the time until which nothing is sent',
      [error(503), error(403)],
      ['PATCH', 'GET'],
    ],
  ])('%s', async (_name, replies, log) => {
    const hint = expect.stringMatching(/^After \d\d:\d\d:\d\d: check before you run it again: /) as string;
    expect(await run(replies, ...SET)).toMatchObject({ code: 9, error: { kind: 'outcome-unknown', hint }, log });
  });
});

describe('an Error body', () => {
  it('fault 24: that gives another status is overruled by the response', async () => {
    const reply = json({ code: 'x', message: 'y', status: 404 }, { status: 400 });
    const { code, notes, error: reported } = await run([reply], '--debug', ...SET);
    expect({ code, status: reported?.status }).toEqual({ code: 10, status: 400 });
    expect(notes.join('\n')).toContain('The Error body says status 404, the response 400');
  });

  it.each([
    ['a page', { status: 400, body: `<h1>Bad\u001b[31m</h1>${'x'.repeat(500)}` }],
    ['nothing', { status: 400, body: '' }],
    ['an array', { status: 400, body: '[1]' }],
    ['an object without its fields', { status: 400, body: '{"code":7}' }],
  ])('fault 25: that is %s leaves the status alone, and its first 200 bytes under --debug', async (_name, reply) => {
    expect(await run([reply], ...SET)).toMatchObject({
      code: 10,
      error: { message: 'The service refused the value (400).' },
      notes: [],
    });
    const { notes } = await run([reply], '--debug', ...SET);
    const shown = notes.find((line) => line.includes('is not an Error body')) ?? '';
    expect(shown.includes('not an Error body')).toBe(reply.body !== '');
    expect(shown.length).toBeLessThan(300);
    expect(shown).not.toContain('\u001b');
  });
});

describe('a problem document (RFC 9457)', () => {
  const problem = (body: unknown, type = 'application/problem+json', status = 400): PlainReply =>
    json(body, { status, headers: { 'Content-Type': type } });
  const words = { title: 'Out of quota.', detail: 'The quota of the day is used up.' };

  it.each([
    ['title and detail', problem(words), ', Out of quota: The quota of the day is used up'],
    [
      'of another charset',
      problem(words, 'Application/Problem+JSON; charset=utf-8'),
      ', Out of quota: The quota of the day is used up',
    ],
    ['both the same', problem({ title: 'Bad pet', detail: 'Bad pet.' }), ', Bad pet'],
    ['a title alone', problem({ title: 'Bad pet' }), ', Bad pet'],
    ['a detail alone', problem({ type: 'about:blank', detail: 'No such bowl' }), ', No such bowl'],
    ['members of other types', problem({ title: 7, detail: ['x'], status: 400 }), ''],
    ['an array', problem([words]), ''],
    ['members of an Error too', problem({ ...words, code: 'x', message: 'y', status: 400 }), ', x: y'],
    ['a long detail', problem({ title: 'Bad', detail: 'x'.repeat(500) }), `, Bad: ${'x'.repeat(195)}…`],
    ['another media type', problem(words, 'application/json'), ''],
  ])('fault 25: %s', async (_name, reply, shown) => {
    const { code, error: reported, notes } = await run([reply], ...SET);
    const message = `The service refused the value (400${shown}).`;
    expect({ code, message: reported?.message, notes }).toEqual({ code: 10, message, notes: [] });
  });
});

describe('a list that a cache in front of the service has kept', () => {
  const cached = (quantity: number, Age = '12'): PlainReply => json([item(7, quantity)], { headers: { Age } });
  const old = 'he list comes from a cache and is 12 s old, so it may lack changes';
  const hint = text(/^Ask the owners of the service to exclude/);

  it.each<[string, string[]]>([
    ['adjust', ['inventory', 'adjust', '7', '2']],
    ['set --expect', [...SET, '--expect', '10']],
  ])('decides no change: %s', async (_name, args) => {
    const { code, error: reported, log } = await run([cached(10)], ...args);
    expect([code, reported, log]).toMatchObject([8, { message: `Invalid response: t${old}.`, hint }, ['GET']]);
    expect(await run([cached(10, '0'), json(item(7, 12))], ...args)).toMatchObject({ code: 0, notes: [] });
  });

  it('does not tell what became of an update', async () => {
    const { code, error: reported, log } = await run([error(502), cached(12)], ...SET);
    expect([code, reported?.kind, log]).toEqual([9, 'outcome-unknown', ['PATCH', 'GET']]);
  });

  it.each([[LIST], [['inventory', 'get', '7']], [['wait', '--pet', '7', '--min', '1']]])(
    'is shown with a warning: %s',
    async (args) => {
      expect(await run([cached(10)], ...args)).toMatchObject({ code: 0, notes: [`warning: T${old}.`] });
    },
  );

  it('is warned about once', async () => {
    const { code, notes } = await run([cached(0), cached(0), cached(1)], 'wait', '--pet', '7', '--min', '1');
    expect([code, notes.filter((note) => note.includes('cache'))]).toEqual([0, [`warning: T${old}.`]]);
  });
});

describe('a service that says it goes away', () => {
  const Sunset = 'Sun, 30 Jun 2030 23:59:59 GMT';

  it.each([
    [{ Deprecation: '@1735689600' }, 'is deprecated as of 2025-01-01.'],
    [{ Deprecation: '@1735689600', Sunset }, 'is deprecated as of 2025-01-01 and will be removed on 2030-06-30.'],
    [{ Sunset }, 'will be removed on 2030-06-30.'],
    // An unknown form is ignored.
    [{ Deprecation: 'true', Sunset: 'soon' }, undefined],
  ])('fault 26: is quoted once, on stderr: %o', async (headers, words) => {
    const { code, notes } = await run([json(STOCK, { headers })], ...LIST);
    const warnings = words === undefined ? [] : [`warning: The service says that GET /inventory ${words}`];
    expect([code, notes]).toEqual([0, warnings]);
  });

  it('fault 26: of each operation once', async () => {
    const headers = { Deprecation: '@1735689600' };
    const replies = [json(STOCK, { headers }), error(503), json(STOCK, { headers }), json(item(7, 12), { headers })];
    const { code, log, notes } = await run(replies, 'inventory', 'adjust', '7', '2', '--retry-for', '1m');
    const deprecated = notes.filter((note) => note.includes('is deprecated'));
    expect([code, log, deprecated]).toEqual([
      0,
      ['GET', 'PATCH', 'GET', 'PATCH'],
      [
        'warning: The service says that GET /inventory is deprecated as of 2025-01-01.',
        'warning: The service says that PATCH /inventory/{id} is deprecated as of 2025-01-01.',
      ],
    ]);
  });
});
