/** Answers outside the service's contract, and how commands handle them. */
import { describe, expect, it } from 'vitest';
import { runIn, withReplies } from '../support/in-process.ts';
import { error, item, json, type PlainReply } from '../support/replies.ts';
import { type JsonRun, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const SET = ['inventory', 'set', '7', '12'];
const STOCK = [item(1, 5), item(7, 10)];
const html: PlainReply = { body: '<html>Sign in to the airport</html>', headers: { 'Content-Type': 'text/html' } };

/** Runs a command against these replies. `log`: the methods of its requests. */
async function run(replies: readonly PlainReply[], ...args: string[]): Promise<JsonRun & { readonly log: string[] }> {
  const context = withReplies(replies);
  const ran = takeApart({ ...(await runIn(context, '--json', ...args)), signal: null });
  return { ...ran, log: context.sent.map(({ method }) => method) };
}

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly reply: PlainReply;
  readonly exitCode: number;
  readonly kind: string;
  readonly message: string | RegExp;
  readonly more?: Readonly<Record<string, unknown>>;
}

const moved = (status: number): PlainReply => ({
  status,
  headers: { Location: 'https://evil.example/v1/inventory?x=1' },
});

const FINAL: Case[] = [
  ...[301, 302, 303, 307, 308].map((status) => ({
    name: `fault 13: a redirect ${status} is not followed`,
    args: LIST,
    reply: moved(status),
    exitCode: 8,
    kind: 'redirected',
    message: `The service redirects (${status}) to https://evil.example; petstore does not follow redirects and did not send the key there.`,
  })),
  {
    name: 'fault 14: a captive portal is not the API',
    args: LIST,
    reply: html,
    exitCode: 8,
    kind: 'contract',
    message: /is a web page, not the API/,
  },
  {
    name: 'fault 18: a 503 for longer than --max-wait is not waited for',
    args: LIST,
    reply: error(503, 'Closed for stocktaking', 'closed', { headers: { 'Retry-After': '3600' } }),
    exitCode: 8,
    kind: 'service-failed',
    message:
      /^The service failed \(503, closed: Closed for stocktaking\) after 1 attempt\. It expects to be available at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.$/,
    more: {
      retryable: true,
      status: 503,
      code: 'closed',
      retryAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    },
  },
  {
    name: 'fault 19: a 400 is passed on, sanitised',
    args: SET,
    reply: error(400, 'too\u001b[2J many\u202e', 'invalid_quantity'),
    exitCode: 10,
    kind: 'rejected',
    message: 'The service refused the value (400, invalid_quantity: too\u001b[2J many\u202e).',
    more: { status: 400, code: 'invalid_quantity', outcome: 'not-applied' },
  },
  {
    name: 'fault 20: a 404 on an update names the pet',
    args: SET,
    reply: error(404, 'No such pet', 'not_found'),
    exitCode: 5,
    kind: 'pet-not-found',
    message: 'Pet 7 was not found in staging (404, not_found: No such pet).',
  },
  {
    name: 'fault 21: a 404 on the list asks for the base URL',
    args: LIST,
    reply: error(404),
    exitCode: 3,
    kind: 'not-the-service',
    message: 'No inventory at https://pets.example/v1/inventory (404).',
    more: { hint: expect.stringContaining('/v1') as string },
  },
  ...[LIST, SET].map((args) => ({
    name: 'fault 22: a 403 may be a ban',
    args,
    reply: error(403, 'Key suspended', 'banned'),
    exitCode: 12,
    kind: 'forbidden',
    message: 'Staging forbids this (403, banned: Key suspended): the key may be banned.',
  })),
  ...[405, 410].flatMap((status) =>
    [LIST, SET].map((args) => ({
      name: `fault 23: a ${status} means that the program may be outdated`,
      args,
      reply: error(status),
      exitCode: 8,
      kind: 'unexpected-status',
      message: new RegExp(`^Unexpected status from the service \\(${status}`),
      more: { hint: expect.stringContaining('Update petstore.') as string },
    })),
  ),
  ...[LIST, SET].map((args) => ({
    name: 'fault 63: a 401 asks for a new key',
    args,
    reply: error(401, 'Invalid API key', 'unauthorized'),
    exitCode: 4,
    kind: 'unauthorized',
    message: 'Staging refused the API key from PETSTORE_API_KEY (401, unauthorized: Invalid API key).',
  })),
];

describe.each<readonly [string, PlainReply]>([
  ['a redirect', moved(302)],
  ['a web page', html],
])('fault 130: an update that is answered with %s is looked up', (_name, reply) => {
  const stock = (quantity: number) => json([item(7, quantity)]);

  it('it was applied; looking fails too; it was not applied', async () => {
    expect(await run([reply, stock(12)], ...SET)).toMatchObject({ code: 0, log: ['PATCH', 'GET'] });
    expect(await run([reply, reply], ...SET)).toMatchObject({
      code: 9,
      error: { kind: 'outcome-unknown', outcome: 'unknown' },
      log: ['PATCH', 'GET'],
    });
    const isPage = reply === html;
    expect(await run([reply, stock(10), ...(isPage ? [json(item(7, 12))] : [])], ...SET)).toMatchObject(
      // A redirect would be one again.
      isPage
        ? { code: 0, log: ['PATCH', 'GET', 'PATCH'] }
        : { code: 8, error: { kind: 'redirected' }, log: ['PATCH', 'GET'] },
    );
  });
});

it.each(FINAL)('$name ($args)', async ({ args, reply, exitCode, kind, message, more }) => {
  const { code, stdout, error: reported, log } = await run([reply], ...args);
  expect({ code, stdout, reported, requests: log.length }).toEqual({
    code: exitCode,
    stdout: '',
    requests: 1,
    reported: expect.objectContaining({
      kind,
      exitCode,
      message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
      ...more,
    }) as unknown,
  });
});

describe('fault 16: a server error', () => {
  it.each([500, 502, 503, 504])('%i to a read is tried three times, and forgotten if it passes', async (status) => {
    expect(await run([error(status), error(status), error(status)], ...LIST)).toMatchObject({
      code: 8,
      error: { message: `The service failed (${status}, error: No) after 3 attempts.` },
      log: ['GET', 'GET', 'GET'],
    });
    expect(await run([error(status), json(STOCK)], ...LIST)).toMatchObject({ code: 0, error: undefined });
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
      new RegExp(`The service failed \\(${status}`),
    ]),
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
    expect(await run([reply, OLD, reply], ...SET)).toMatchObject({
      code: 9,
      stdout: '',
      error: {
        kind: 'outcome-unknown',
        exitCode: 9,
        outcome: 'unknown',
        message: expect.stringMatching(why) as string,
      },
      log: ['PATCH', 'GET', 'PATCH'],
    });
  });

  it('is not looked after where the service wants longer than --max-wait', async () => {
    const later = error(503, 'Later', 'later', { headers: { 'Retry-After': '3600' } });
    expect(await run([later], ...SET)).toMatchObject({ code: 9, error: { kind: 'outcome-unknown' }, log: ['PATCH'] });
  });
});

it('a pet that the list has twice is not changed', async () => {
  const twice = json([item(7, 10), item(7, 11)]);
  expect(await run([twice], 'inventory', 'adjust', '7', '1')).toMatchObject({
    code: 8,
    error: { kind: 'contract', message: 'Invalid response: the list has pet 7 more than once.' },
    log: ['GET'],
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
    ['a long detail', problem({ title: 'Bad', detail: 'x'.repeat(500) }), `, Bad: ${'x'.repeat(195)}`],
    ['another media type', problem(words, 'application/json'), ''],
  ])('fault 25: %s', async (_name, reply, shown) => {
    const { code, error: reported, notes } = await run([reply], ...SET);
    const message = `The service refused the value (400${shown}).`;
    expect({ code, message: reported?.message, notes }).toEqual({ code: 10, message, notes: [] });
  });

  it('fault 25: control characters are shown escaped', async () => {
    const { stderr } = await runIn(withReplies([problem({ title: 'Bad\u001b[31m pet' })]), ...SET);
    expect(stderr).toContain('error: The service refused the value (400, Bad\\x1b[31m pet).');
  });

  it('fault 22: of a gateway that forbids', async () => {
    const reply = problem({ title: 'Blocked' }, 'application/problem+json', 403);
    expect(await run([reply], ...LIST)).toMatchObject({
      code: 12,
      error: { message: 'Staging forbids this (403, Blocked): the key may be banned.' },
    });
  });
});

describe('a service that says it goes away', () => {
  it.each([
    [{ Deprecation: '@1735689600' }, 'The service says that GET /inventory is deprecated since 2025-01-01.'],
    [{ Deprecation: '@4102444800' }, 'The service says that GET /inventory is deprecated from 2100-01-01.'],
    [
      { Deprecation: '@1735689600', Sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' },
      'The service says that GET /inventory is deprecated since 2025-01-01 and goes away on 2030-06-30.',
    ],
    [{ Sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' }, 'The service says that GET /inventory goes away on 2030-06-30.'],
  ])('fault 26: is quoted once, on stderr: %o', async (headers, sentence) => {
    const { code, notes } = await run([json(STOCK, { headers })], ...LIST);
    expect({ code, notes }).toEqual({ code: 0, notes: [`warning: ${sentence}`] });
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
        'warning: The service says that GET /inventory is deprecated since 2025-01-01.',
        'warning: The service says that PATCH /inventory/{id} is deprecated since 2025-01-01.',
      ],
    ]);
  });

  it('fault 26: in an unknown form is ignored', async () => {
    const reply = json(STOCK, { headers: { Deprecation: 'true', Sunset: 'soon' } });
    expect(await run([reply], ...LIST)).toMatchObject({ code: 0, notes: [] });
  });
});
