import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exits, runPetstore, startPetstore } from '../support/binary.ts';
import { createHome, fileIn } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { ask, control, patch, type Served, serveSandbox } from '../support/served.ts';
import { jsonLines } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';

const LIST = ['--env', 'sandbox', 'inventory', 'list', '--json'];

describe('the sandbox’s own commands', () => {
  it('status, before there is anything, makes nothing', async () => {
    const context = createTestContext();
    const file = `${context.home.state}/petstore/sandbox.db`;
    expect(await runIn(context, 'sandbox', 'status')).toEqual({
      code: 0,
      stdout:
        `file        ${file} (not there yet: the first command creates it)\n` +
        'pets        0\nadded keys  0\nbytes       -\n',
      stderr: '',
    });
    expect(await context.files.facts(file)).toBeUndefined();
  });

  it('seed and reset', async () => {
    const context = createTestContext();
    const run = async (...args: string[]) => (await runIn(context, ...args, '--json')).stdout;
    const file = `${context.home.state}/petstore/sandbox.db`;
    expect(await run('sandbox', 'seed', '--pets', '30')).toBe(`{"pets":30,"file":"${file}"}\n`);
    const thirty = await run('--env', 'sandbox', 'inventory', 'list');
    expect(JSON.parse(thirty)).toHaveLength(30);
    await run('sandbox', 'seed', '--pets', '0');
    expect(await run('--env', 'sandbox', 'inventory', 'list')).toBe('[]\n');
    writeFileSync(join(context.home.path, 'stock.json'), thirty);
    await run('sandbox', 'seed', '--file', join(context.home.path, 'stock.json'));
    expect(await run('--env', 'sandbox', 'inventory', 'list')).toBe(thirty);
    expect(await runIn(context, 'sandbox', 'reset')).toEqual({
      code: 0,
      stdout: 'Sandbox reset: 25 pets, no usage, no bans, no added keys, no history.\n',
      stderr: '',
    });
    expect(JSON.parse(await run('sandbox', 'status'))).toMatchObject({ pets: 25, addedKeys: 0 });
    // The history is that of --env sandbox, and stays.
    const other = await runIn(context, 'sandbox', 'reset', '--data', join(context.home.path, 'other.db'));
    expect(other.stdout).toBe('Sandbox reset: 25 pets, no usage, no bans, no added keys.\n');
  });

  it.each([
    ['[{"petId":1,"quantity":2}]', 'It has no pet in line 1: status is missing or wrong.'],
    [
      '{"petId":1,"quantity":2,"status":"sold"}\n{"petId":1,"quantity":3,"status":"sold"}',
      'It has pet 1 twice: line 1 and line 2.',
    ],
    ['{"petId":1', 'It is not JSON in line 1:'],
    ['{"petId":1,"quantity":9223372036854775808,"status":"sold"}', 'It has a quantity in line 1 that is too large.'],
  ])('seed: a file that holds %j changes nothing', async (text, problem) => {
    const context = createTestContext();
    const path = fileIn(context.home, 'pets', text);
    expect(await runIn(context, 'sandbox', 'seed', '--file', path)).toMatchObject(exits(2, `hint: ${problem}`));
  });

  it('keys: added, used, removed', async () => {
    const context = createTestContext();
    const keys = async (...args: string[]) => (await runIn(context, 'sandbox', 'keys', ...args, '-o', 'csv')).stdout;
    await keys('--add', 'sandbox');
    expect(await keys('--add', 'till-2')).toBe(
      'key,minuteUsed,dayUsed,early,blockedUntil,bannedUntil\nsandbox,0,0,0,,\ntill-2,0,0,0,,\n',
    );
    await runIn(context, ...LIST);
    expect(await keys('--remove', 'till-2')).toContain('\nsandbox,1,1,0,,\n');
    expect((await runIn(context, 'sandbox', 'keys', '--remove', 'till-2')).code).toBe(2);
  });

  it('another environment does not go with them', async () => {
    const reset = await runIn(createTestContext(), '--env', 'staging', 'sandbox', 'reset');
    expect(reset).toMatchObject(exits(2, '--env staging cannot be used with it.'));
  });
});

describe('sandbox serve', () => {
  /** The texts of stderr's JSON lines. */
  const messages = ({ stderr }: Served): string[] =>
    jsonLines<{ info: { message: string } }>(stderr).map(({ info }) => info.message);

  it('says where it is, which key it takes, and what to paste', async () => {
    const home = createHome();
    const running = await serveSandbox([], { home });
    const { baseUrl } = running;
    expect(JSON.parse(running.stdout)).toEqual({
      baseUrl,
      apiKey: 'sandbox',
      command: `curl -H 'Authorization: Bearer sandbox' ${baseUrl}/inventory`,
      login: `petstore login --env staging --base-url ${baseUrl}`,
      page: baseUrl.replace(/v1$/, ''),
    });
    const { command } = JSON.parse(running.stdout) as { command: string };
    const pasted = await runPetstore(['-c', command], { command: ['sh'] });
    expect(JSON.parse(pasted.stdout)).toHaveLength(25);
  });

  it('on a terminal or in a file: how to log in, and how to stop', async () => {
    const running = startPetstore(['sandbox', 'serve', '--port', '0']);
    await running.waitFor(/Press Ctrl-C to stop\.\n/, 'stdout');
    const { code, stdout } = await running.end('SIGINT');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Log in {4}petstore login --env staging --base-url http/m);
  });

  it('--seed replaces no stock where the log or the port cannot be used', async () => {
    const home = createHome();
    const data = ['--data', join(home.path, 'shop.db')];
    const { port } = await serveSandbox(data, { home });
    const serve = (...args: string[]) => runPetstore(['sandbox', 'serve', ...data, '--seed', '3', ...args], { home });
    expect((await serve('--port', String(port))).code).toBe(3);
    expect((await serve('--port', '0', '--log', join(home.path, 'no', 'folder'))).code).toBe(3);
    expect((await control(port, 'GET', '/pets')) as unknown[]).toHaveLength(25);
  });

  it('one line on stderr for each request; with --json only with -v', async () => {
    const served = await serveSandbox(['-v', '--fault', 'status=503,path=/inventory']);
    await patch(served, 7, 3);
    // The fault is named only where it was applied: this one has no key.
    await ask(served.port, '/v1/inventory');
    await ask(served.port, '/v1/inventory', { headers: { authorization: 'Bearer sandbox' } });
    await ask(served.port, '/v1/nowhere\u001b[31m'.replace(/[^ -~]/g, '%1b'));
    await served.waitFor(/nowhere.*\n/, 'stderr');
    expect(messages(served)).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}200 {2}PATCH {2}\/v1\/inventory\/7 {2}[0-9.]+ ms {2}59\/60 left$/),
      expect.stringMatching(/ 401 {2}GET (?!.*fault)/),
      expect.stringMatching(/ 503 {2}GET .*fault: status$/),
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}401 {2}GET {2}\/v1\/nowhere%1b\[31m {2}[0-9.]+ ms {2}58\/60 left$/),
    ]);
  });

  it('--log: objects in a file, in place of the lines', async () => {
    const home = createHome();
    const path = join(home.path, 'requests.ndjson');
    const served = await serveSandbox(['--log', path, '--fault', 'status=429,retry-after=7,nth=2'], { home });
    for (const quantity of [1, 2]) await patch(served, 7, quantity);
    const { code, stderr } = await served.end('SIGTERM');
    expect([code, stderr]).toEqual([0, '']);
    expect(jsonLines(readFileSync(path, 'utf8'))).toMatchObject([
      { id: 1, method: 'PATCH', target: '/v1/inventory/7', status: 200, limit: 60, remaining: 59 },
      { id: 2, status: 429, retryAfter: 7, faults: ['status'] },
    ]);
  });

  it.each([
    [['--plan', 'custom'], 'The custom plan needs both its limits: --per-minute and --per-day.'],
    [['--plan', 'gold'], '--plan must be one of free, pro, business, custom, not "gold".'],
    [['--port', '70000'], '--port must be a whole number from 0 to 65535, not "70000".'],
    [['--fault', ''], 'The fault "" must have exactly one effect: status, reset, delay,'],
    [['--fault', 'p=0.1'], 'The fault "p=0.1" must have exactly one effect'],
    [['--fault', 'reset,delay=1s'], 'The fault "reset,delay=1s" must have exactly one effect'],
    [['--fault', 'status=503,status=500'], 'The fault "status=503,status=500" has status twice.'],
    [
      ['--fault', 'reset,colour=red'],
      'The fault "reset,colour=red" has "colour", which is not a setting of this rule.',
    ],
    [['--fault', 'truncate,after'], 'The fault "truncate,after" has "after", which is not a setting of this rule.'],
    [['--fault', 'delay=1s,retry-after=3'], 'The fault "delay=1s,retry-after=3" has "retry-after", which'],
    ...[
      ['status=200', 'status', 'a whole number from 400 to 599, not "200"'],
      ['status=4e2', 'status', 'a whole number'],
      ['status=503,p=1.5', 'p', 'a share from 0 to 1, not "1.5"'],
      ['status=503,p=', 'p', 'a share'],
      ['status=503,nth=0', 'nth', 'a whole number from 1'],
      ['status=503,method=patch', 'method', 'a method in capitals'],
      ['status=503,path=inventory', 'path', 'a path such as'],
      ['delay=soon', 'delay', 'a duration'],
      ['reset=1', 'reset', 'without a value, not "1"'],
      ['reset,after=1', 'after', 'without a value'],
      ['truncate=x', 'truncate', 'a whole number'],
    ].map(([rule = '', name, expected]): [string[], string] => [
      ['--fault', rule],
      `${name} in the fault "${rule}" must be ${expected}`,
    ]),
    [['--quantity', '5..1'], '--quantity must be a range'],
    [['--quantity', '0..9223372036854775808'], '--quantity must be a range'],
    [['--host', '', '--key', 'mine'], '--host must be an address, not "".'],
    [['--clock-skew', 'late'], '--clock-skew must be a duration'],
    [['--seed', '1000001'], '--seed must be a whole number from 0 to 1000000, not "1000001".'],
    [['--key', 'two words'], '--key must be printable characters without spaces, not "two words".'],
  ])('%j: one sentence, exit 2', async (args, sentence) => {
    const { code, stdout, stderr } = await runIn(createTestContext(), 'sandbox', 'serve', '--port', '0', ...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(`error: ${sentence}`)]);
  });

  it('its plan, its clock, its range and its forms are what was asked for', async () => {
    const limits = '--plan business --ban-after 1 --ban-for 1h --ban-status 401 --retry-after-format date';
    const others = '--clock-skew -1h --quantity -5..5 --with-undocumented';
    const served = await serveSandbox(`${limits} ${others}`.split(' '));
    const { headers, status } = await patch(served, 7, -5);
    const behind = (Date.now() - Date.parse(String(headers.date))) / 3_600_000;
    const reset = Number(headers['x-ratelimit-reset']) * 1_000 - Date.parse(String(headers.date));
    expect([status, headers['x-ratelimit-limit']]).toEqual([200, '1000']);
    expect([Math.round(behind), Math.round(reset / 60_000)]).toEqual([1, 1]);
    expect((await patch(served, 7, 6)).status).toBe(400);
    const authorization = { headers: { authorization: 'Bearer sandbox' } };
    expect((await ask(served.port, '/v1/store/orders', authorization)).status).toBe(501);
    await control(served.port, 'PUT', '/faults', ['status=429,retry-after=60,times=1']);
    const refused = await patch(served, 7, 1);
    expect([refused.status, Date.parse(String(refused.headers['retry-after'])) > 0]).toEqual([429, true]);
    const statuses = [(await patch(served, 7, 1)).status];
    for (const advance of ['59m', '1m']) {
      await control(served.port, 'POST', '/clock', { advance });
      statuses.push((await patch(served, 7, 1)).status);
    }
    expect(statuses).toEqual([401, 401, 200]);
  });

  it('begins with the pets it is given, and shares them with --env sandbox', async () => {
    const home = createHome();
    const served = await serveSandbox(['--seed', '3'], { home });
    await patch(served, 2, 77);
    const { stdout } = await runPetstore([...LIST, '--pet', '2'], { home });
    expect(JSON.parse(stdout)).toEqual([{ petId: 2, quantity: 77, status: 'available' }]);
  });

  it('tells its state, its stock and its requests', async () => {
    const served = await serveSandbox(['--key', 'made-up-and-long']);
    await patch(served, 7, 1);
    expect(await control(served.port, 'GET', '/state')).toMatchObject({
      baseUrl: served.baseUrl,
      skewMs: 0,
      plan: { perMinute: 60, perDay: 1_000 },
      pets: 25,
      keys: [{ key: 'made…', minute: { limit: 60, used: 1 }, early: 0, bannedUntil: null }],
      faults: [],
    });
    const pets = (await control(served.port, 'GET', '/pets')) as unknown[];
    expect([pets.length, pets[6]]).toEqual([25, { petId: 7, quantity: 1, status: 'available', name: 'Goldfish' }]);
    expect(await control(served.port, 'GET', '/requests')).toEqual([
      expect.objectContaining({ id: 1, method: 'PATCH', target: '/v1/inventory/7', status: 200 }),
    ]);
    expect(await control(served.port, 'GET', '/requests?after=1')).toEqual([]);
    expect(await control(served.port, 'POST', '/reset')).toEqual({ pets: 25 });
  });

  it('refuses what its controls do not have', async () => {
    const { port } = await serveSandbox();
    const refused = [
      ['GET', '/nothing', undefined, 404],
      ['POST', '/state', {}, 404],
      ['PUT', '/faults', {}, 400],
      ['PUT', '/faults', [1], 400],
      ['POST', '/clock', { advance: 'soon' }, 400],
      ['POST', '/clock', { advance: '999999d' }, 400],
    ] as const;
    for (const [method, path, body, status] of refused) {
      await expect(control(port, method, path, body)).rejects.toThrow(`${status}: {"code":`);
    }
  });
});
