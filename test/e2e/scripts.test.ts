/** Scripts without a terminal: refusals with a command to type, signals, deadlines and conflicting options. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPetstore, startPetstore } from '../support/binary.ts';
import { createHome } from '../support/home.ts';
import { runIn } from '../support/in-process.ts';
import { error, item, json, type Reply } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { jsonLines, runJson, staging, takeApart } from '../support/staging.ts';
import { createTestContext } from '../support/test-context.ts';

const hangs: Reply = () => undefined;
const CSV = ['-o', 'csv'];
const down = error(503, 'Down', 'unavailable', { headers: { 'Retry-After': '0' } });
const SANDBOX = ['--env', 'sandbox'];

it('a write to production that is refused: the hint is the whole line, fit for a shell', async () => {
  const home = createHome();
  const login = ['login', '--env', 'production', '--base-url', 'http://127.0.0.1:9/v1', '--key-stdin', '--no-verify'];
  expect(await runPetstore(login, { home, stdin: 'a-key-of-the-shop\n' })).toMatchObject({ code: 0 });
  const note = "it's 2 of 3; $HOME";
  const args = ['inventory', 'adjust', '7', '-1', '--cause', 'died', '--note', note, '-o', 'json'];
  const { code, error: failure } = takeApart(await runPetstore(args, { home }));
  expect([code, failure?.hint]).toEqual([
    2,
    `Run petstore --env production inventory adjust 7 -1 --cause died --note 'it'\\''s 2 of 3; $HOME' -o json`,
  ]);
});

describe.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s while api waits for an answer', (signal, code) => {
  it.each([
    [['api', 'PATCH', '/inventory/7', '-f', 'quantity=1'], 'unknown'],
    [['api', 'PUT', '/inventory/7', '-f', 'quantity=1'], 'unknown'],
    [['api', 'GET', '/inventory'], undefined],
  ])('%j has its code', async (args, outcome) => {
    const server = await scriptedServer([hangs]);
    const running = startPetstore([...args, '--json'], { env: staging(server.baseUrl) });
    await server.received(1);
    const ended = await running.end(signal);
    expect([ended.code, takeApart(ended).error]).toMatchObject([code, { kind: 'interrupted', exitCode: code }]);
    expect(takeApart(ended).error?.outcome).toBe(outcome);
  });
});

it('a smoke test that is late has its report all the same', async () => {
  const home = createHome();
  const server = await scriptedServer([hangs]);
  const report = join(home.path, 'smoke.xml');
  const context = createTestContext({ home, env: staging(server.baseUrl) });
  const running = runIn(context, 'smoke', '--deadline', '1s', '--format', 'junit', '--out', `junit=${report}`);
  await server.received(1);
  await context.clock.advance(1_000);
  const { code, stdout } = await running;
  expect([code, stdout]).toEqual([7, expect.stringContaining('<testsuite')]);
  expect(readFileSync(report, 'utf8')).toBe(stdout);
});

it('low stock that is watched has how many to order', async () => {
  const home = createHome();
  const list = [...SANDBOX, 'inventory', 'list', '--low', '--pet', '2', '-o', 'ndjson'];
  const { order } = JSON.parse((await runPetstore(list, { home })).stdout) as { order: number };
  const running = startPetstore([...list, '--watch'], { home });
  await running.waitFor(/\n/, 'stdout');
  const { stdout } = await running.end('SIGTERM');
  expect(order).toBeGreaterThan(0);
  expect(JSON.parse(stdout)).toMatchObject({ event: 'listed', petId: 2, order });
});

it.each([
  [
    ['--profile', 'bonn', '--env', 'berlin/staging', 'inventory', 'list'],
    {},
    'The profile is named twice: berlin and bonn.',
  ],
  [['inventory', 'list'], { PETSTORE_ENV: 'berlin/staging', PETSTORE_PROFILE: 'bonn' }, 'The profile is named twice'],
  [['inventory', 'list', '--watch', ...CSV], {}, '--watch cannot be used with csv.'],
  [['smoke', ...CSV], {}, 'A smoke test has no csv.'],
  [['api', ''], {}, 'path must be a path, not "".'],
  [['inventory', 'list', '--watch', '--no-header'], {}, '--watch and --no-header cannot be used together.'],
  [['catalog', 'set', '7', '--name', 'X', '--force'], {}, '--force needs --barcode <code...>.'],
  [['smoke', '--list', '--only', 'clock'], {}, '--list and --only cannot be used together.'],
  [['inventory', 'import', 'FILE', '--events', ...CSV], {}, '--events cannot be used with csv.'],
  [['inventory', 'runs', 'resume', '-n', '3'], {}, 'inventory runs resume takes no --limit.'],
  [['inventory', 'count', '--due', '1d', '--cause', 'sold'], {}, '--due and --cause cannot be used together.'],
])('%j with %j is refused, and nothing is sent', async (args, env, says) => {
  const server = await scriptedServer([]);
  const { code, stdout, stderr } = await runPetstore(args, { env: { ...staging(server.baseUrl), ...env } });
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(says)]);
  expect(server.connections).toBe(0);
});

it('--env names an environment of its own profile, whatever PETSTORE_ENV says', async () => {
  const env = { PETSTORE_ENV: 'berlin/staging' };
  const { code, stdout } = await runPetstore([...SANDBOX, 'inventory', 'get', '7', '-o', 'csv'], { env });
  expect([code, stdout]).toEqual([0, expect.stringContaining('7,10,available')]);
});

it.each([['api', 'GET', '/inventory/7'], ['smoke', '--only', 'list-status'], ['doctor']])(
  '--retry-for has reads of %s sent again',
  async (...args) => {
    const server = await scriptedServer([down, json([item(7, 10)])]);
    const { code } = await runJson(server.baseUrl, [...args, '--retry-for', '1m']);
    expect([code, server.requests.length]).toEqual([0, 2]);
  },
);

it('--log has a line that was refused', async () => {
  const home = createHome();
  const log = join(home.path, 'log');
  expect((await runPetstore(['inventory', 'list', '--min', 'few', '--log', log], { home })).code).toBe(2);
  expect(jsonLines(readFileSync(log, 'utf8'))).toMatchObject([
    { event: 'start', command: 'inventory list' },
    { event: 'end', exitCode: 2 },
  ]);
});

it('--no-wait does not wait for another process that changes the pet', async () => {
  const home = createHome();
  const server = await scriptedServer([hangs]);
  const env = staging(server.baseUrl);
  const first = startPetstore(['inventory', 'set', '7', '5'], { home, env });
  await server.received(1);
  const second = await runJson(server.baseUrl, ['inventory', 'set', '7', '6', '--no-wait'], { home });
  expect(second).toMatchObject({ code: 6, notes: [], error: { kind: 'run-locked', outcome: 'not-sent' } });
  await first.end('SIGKILL');
  expect(server.requests).toHaveLength(1);
});
