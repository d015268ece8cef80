import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileIn } from '../support/home.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { error, item, json, tooMany } from '../support/replies.ts';
import { createTestContext, type TestContext } from '../support/test-context.ts';
import { httpReply } from '../support/test-ports.ts';

const API = ['api'];

describe('api', () => {
  it('prints the answer as it came, bytes and digits', async () => {
    const body = '[ {"petId":9223372036854775807 ,"quantity":1.50} ]\n';
    const context = createTestContext({
      env: STAGING_ENV,
      http: () => httpReply({ status: 200, body }, context.clock.now()),
    });
    expect(await runIn(context, ...API, 'GET', '/inventory?x=1')).toEqual({ code: 0, stdout: body, stderr: '' });
    expect(context.sent[0]?.url.href).toBe('https://pets.example/v1/inventory?x=1');
  });

  it('names the server that a redirect leads to', async () => {
    const headers = { location: 'https://other.example/v1/inventory' };
    const context = createTestContext({
      env: STAGING_ENV,
      http: () => httpReply({ status: 307, headers }, context.clock.now()),
    });
    const { code, stderr } = await runIn(context, ...API, 'GET', '/inventory');
    expect([code, stderr]).toEqual([8, expect.stringContaining('redirects (307) to https://other.example;')]);
  });

  it.each([
    ['inventory', '/v1/inventory'],
    ['/inventory#top', '/v1/inventory'],
    ['https://pets.example/v1/inventory/7', '/v1/inventory/7'],
  ])('takes %s for a path below the base URL', async (given, path) => {
    const context = withReplies([json(item(7, 1))]);
    await runIn(context, ...API, 'get', given);
    expect(context.sent.map(({ url }) => url.pathname)).toEqual([path]);
  });

  it.each([
    'https://evil.example/v1/inventory',
    'http://pets.example/v1/inventory',
    '../admin',
    '/../../admin',
    'https://pets.example/v2/inventory',
    'https://a:b@pets.example/v1/inventory',
    'file:///etc/passwd',
  ])('sends the key nowhere else: %s', async (given) => {
    const context = withReplies([]);
    const { code, stderr } = await runIn(context, ...API, 'GET', given);
    expect([code, context.sent.length]).toEqual([2, 0]);
    expect(stderr).toContain('the key is sent nowhere else.');
  });

  it.each(['/inventory/1\n2', '/inventory/1\r\n2', '/inventory/1\t2', '/inventory\\12'])(
    'does not make another path of %j',
    async (given) => {
      const context = withReplies([]);
      const { code, stderr } = await runIn(context, ...API, 'PATCH', given, '-f', 'quantity=0');
      expect([code, context.sent.length]).toEqual([2, 0]);
      expect(stderr).toContain('path must be a path without line breaks, tabs and backslashes, not');
    },
  );

  it('sends a GET where no method is named', async () => {
    const context = withReplies([json([item(7, 1)])]);
    const { code, stdout } = await runIn(context, 'api', '/inventory');
    expect([code, JSON.parse(stdout)]).toEqual([0, [item(7, 1)]]);
    expect(context.sent).toMatchObject([{ method: 'GET' }]);
    for (const args of [['GET'], ['/x', '-f', 'a=1'], ['https://elsewhere.example/v1/x']]) {
      expect((await runIn(context, 'api', ...args)).code).toBe(2);
    }
    expect(context.sent).toHaveLength(1);
  });

  it('names the environment of a write, and where it comes from', async () => {
    const context = withReplies([json(item(7, 12))]);
    const { stderr } = await runIn(context, ...API, 'PATCH', '/inventory/7', '-f', 'quantity=12');
    expect(stderr).toBe('Sending PATCH /inventory/7 to staging (environment from PETSTORE_ENV).\n');
  });

  it.each([
    [['-f', 'quantity=12'], '{"quantity":12}'],
    [['-f', 'quantity=9223372036854775808', '-f', 'note=a=b, c'], '{"quantity":9223372036854775808,"note":"a=b, c"}'],
    [['-f', 'a=true', '-f', 'b=null', '-f', 'c=007', '-f', 'd='], '{"a":true,"b":null,"c":"007","d":""}'],
  ])('a body from fields: %j', async (fields, body) => {
    const context = withReplies([json(item(7, 12))]);
    expect((await runIn(context, ...API, 'POST', '/inventory/7', ...fields)).code).toBe(0);
    expect(context.sent[0]).toMatchObject({ method: 'POST', body, headers: { 'content-type': 'application/json' } });
  });

  it('a body from a file, or stdin, as it is', async () => {
    const context = withReplies([json(item(7, 12)), json(item(7, 12))], { stdin: { text: '{"quantity" : 12}' } });
    const path = fileIn(context.home, 'update.json', '{ "quantity":12 }\n');
    await runIn(context, ...API, 'PATCH', '/inventory/7', '--input', path);
    await runIn(context, ...API, 'PATCH', '/inventory/7', '--input', '-');
    expect(context.sent.map(({ body }) => body)).toEqual(['{ "quantity":12 }\n', '{"quantity" : 12}']);
  });

  it('a body that is not UTF-8 is refused, rather than sent as another', async () => {
    const context = withReplies([]);
    const path = fileIn(context.home, 'update.json', Buffer.from('{"note":"caf\u00e9"}', 'latin1'));
    const { code, stderr } = await runIn(context, ...API, 'POST', '/x', '--input', path);
    expect([code, stderr, context.sent.length]).toEqual([2, expect.stringContaining('The body is not UTF-8'), 0]);
  });

  it.each([
    [400, 10],
    [401, 4],
    [403, 12],
    [404, 5],
    [409, 8],
    [503, 9, 8],
  ])('%i exits %i, the body printed all the same', async (status, exit, ofRead = exit) => {
    const read = await runIn(withReplies([error(status)]), ...API, '/x');
    expect([read.code, JSON.parse(read.stdout)]).toMatchObject([ofRead, { status }]);
    const context = withReplies([error(status)]);
    const { code, stdout, stderr } = await runIn(context, ...API, 'PATCH', '/inventory/7', '-f', 'quantity=1');
    expect([code, JSON.parse(stdout)]).toMatchObject([exit, { status }]);
    expect(stderr.includes('hint: Check the method, the path and the body: petstore ')).toBe(status === 409);
    expect(context.sent).toHaveLength(1);
  });

  it('a 429 is waited out as everywhere, and never sent again too soon', async () => {
    const context = withReplies([tooMany(1), json([])]);
    expect((await runIn(context, ...API, 'GET', '/inventory')).code).toBe(0);
    const blocked = withReplies([tooMany(3_600)]);
    const { code, stdout } = await runIn(blocked, ...API, 'GET', '/inventory');
    expect([code, stdout, blocked.sent.length]).toEqual([6, '', 1]);
  });

  it('-i prints the head first; on a terminal what would move the cursor is escaped', async () => {
    const context = withReplies([{ status: 200, headers: { 'x-note': 'a' }, body: '"\u001b[2J"' }], {
      terminal: true,
      env: { ...STAGING_ENV, NO_COLOR: '1' },
    });
    const { stdout } = await runIn(context, ...API, 'GET', '/inventory', '-i');
    expect(stdout).toMatch(/^HTTP 200\n[^]*x-note: a\n[^]*\n\n?"(\\x1b|\\u001b|␛|\\e)/i);
    expect(stdout).not.toContain('\u001b');
  });

  it('fault 26: a deprecated operation gets one warning', async () => {
    const headers = { deprecation: '@1767225600', sunset: 'Fri, 31 Dec 2027 00:00:00 GMT' };
    const context = withReplies([{ status: 501, headers, body: '{"code":"x","message":"y","status":501}' }]);
    const { code, stderr } = await runIn(context, ...API, 'GET', '/pets/7');
    expect([code, stderr.match(/warning:/g)?.length]).toEqual([8, 1]);
  });

  it('without a terminal, a write to production must be explicit', async () => {
    const { PETSTORE_ENV: _default, ...env } = STAGING_ENV;
    const context = withReplies([], { env });
    const { code } = await runIn(context, ...API, 'PATCH', '/inventory/7', '-f', 'quantity=1');
    expect([code, context.sent.length]).toEqual([2, 0]);
  });

  it.each([
    ['BREW /x', 'method must be one of GET, PATCH,'],
    ['PATCH /x -f quantity', '--field must be a name and a value'],
    ['GET /x -f a=1', 'A GET has no body'],
    ['PATCH /x -f a=1 -f a=2', '-f names a member of the body twice'],
    ['PATCH /x --input /nowhere', 'Could not read /nowhere'],
  ])('%s: one sentence, nothing sent', async (line, sentence) => {
    const context = withReplies([]);
    const { code, stderr } = await runIn(context, ...API, ...line.split(' '));
    expect([code, context.sent.length]).toEqual([expect.toBeOneOf([2, 3]), 0]);
    expect(stderr).toContain(sentence);
  });
});

describe('an update through api', () => {
  const outcomes = async (context: TestContext) => {
    const { stdout } = await runIn(context, 'inventory', 'history', '--json');
    return (JSON.parse(stdout) as { command: string; petId: number; after: number; outcome: string }[]).map(
      ({ command, petId, after, outcome }) => [command, petId, after, outcome],
    );
  };

  it.each([
    ['applied', json(item(7, 12)), 'applied', 0],
    ['refused', error(400, 'no'), 'failed', 10],
    ['refused in a way that is not documented', error(409, 'no'), 'failed', 8],
    ['for no pet', error(404, 'no'), 'failed', 5],
    ['of unknown fate', error(500, 'no'), 'unknown', 9],
    ['accepted, and perhaps done later', json(item(7, 12), { status: 202 }), 'unknown', 9],
    ['answered by what is no JSON', { body: '{"petId":7,' }, 'unknown', 9],
    ['stored with another quantity', json(item(7, 13)), 'unknown', 9],
    ['answered by a login page', { headers: { 'content-type': 'text/html' }, body: '<html>' }, 'unknown', 9],
  ] as const)('%s: is in the history', async (_what, reply, state, exit) => {
    const context = withReplies([reply]);
    const { code } = await runIn(context, ...API, 'PATCH', '/inventory/7', '-f', 'quantity=12');
    expect([code, await outcomes(context)]).toEqual([exit, [['api', 7, 12, state]]]);
  });

  it('is there with each integer, however it is written, and is not otherwise', async () => {
    const integers = ['9.0', '1e1', '1200E-2', '-0.0'].map((number) => `{"quantity":${number}}`);
    const others = ['{"quantity":5e-1}', '{"quantity":1e99}', '{"quantity":1,"quantity":2}', '[1]'];
    const bodies = ['\ufeff{"quantity":4}', ...integers, ...others];
    const context = withReplies(bodies.map(() => json(item(7, 12))));
    const input = join(context.home.path, 'body.json');
    for (const body of bodies) {
      writeFileSync(input, body);
      await runIn(context, ...API, 'PATCH', '/inventory/7', '--input', input);
    }
    expect(context.sent.map(({ body }) => String(body))).toEqual(bodies);
    expect((await outcomes(context)).map(([, , after]) => after)).toEqual([0, 12, 10, 9, 4]);
  });

  it('not answered by the deadline: names the deadline', async () => {
    const context = createTestContext({ env: STAGING_ENV, http: () => new Promise<never>(() => undefined) });
    const running = runIn(context, ...API, 'PATCH', '/inventory/7', '-f', 'quantity=12', '--deadline', '1s');
    await expect.poll(() => context.sent.length).toBe(1);
    await context.clock.advance(3_000);
    const { code, stderr } = await running;
    expect([code, stderr]).toEqual([9, expect.stringContaining('did not finish within its deadline of 1 s.')]);
  });

  it.each([
    ['POST', '/inventory/7', 'quantity=12'],
    ['PATCH', '/inventory', 'quantity=12'],
    ['PATCH', '/inventory/7', 'quantity=1.5'],
    ['PATCH', '/inventory/7', 'name=x'],
  ])('%s %s -f %s is not recorded as one', async (method, path, field) => {
    const context = withReplies([json(item(7, 12))]);
    await runIn(context, ...API, method, path, '-f', field);
    expect(await outcomes(context)).toEqual([]);
  });
});
