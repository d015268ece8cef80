/** Output that fails, or that must not do harm, through the built program. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FORMATS } from '../../src/view/view.ts';
import { inBash, petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { endless, longList } from '../support/faults.ts';
import { createHome } from '../support/home.ts';
import { head, item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];

it.each([{ gzip: false }, { gzip: true }])('fault 59: an endless body (%o) stops at --max-body', async (how) => {
  const reply = endless(how);
  const server = await scriptedServer([reply]);
  const { code, stdout, error } = await runJson(server.baseUrl, ['--max-body', '4MiB', ...LIST, '--max', '0']);
  expect({ code, stdout, message: error?.message, hint: error?.hint }).toEqual({
    code: 8,
    stdout: '',
    message: 'Invalid response: the response is larger than the 4194304 bytes that --max-body allows.',
    hint: 'If the list is really this long, allow more with --max-body.',
  });
  // Decoded bytes count, while they come: little more was taken in than the system's own buffers hold.
  expect(reply.bytesSent).toBeLessThan(64 * 2 ** 20);
});

describe('fault 86: a reader that goes away', () => {
  it.each(['ndjson', 'json', 'csv'])('ends a %s list quietly, with success', async (format) => {
    const server = await scriptedServer([
      { body: longList(3_000_000), headers: { 'Content-Type': 'application/json' } },
    ]);
    const { code, stdout, stderr } = await runPetstore([...LIST, '-o', format], {
      env: staging(server.baseUrl),
      command: inBash('"$@" | head -n 1; exit "${PIPESTATUS[0]}"'),
    });
    expect({ code, lines: stdout.split('\n').length - 1, stderr }).toEqual({ code: 0, lines: 1, stderr: '' });
  });

  it('a write is made all the same', async () => {
    const server = await scriptedServer([json(item(7, 12))]);
    const running = startPetstore(['--env', 'staging', 'inventory', 'set', '7', '12'], {
      env: staging(server.baseUrl),
    });
    running.closeStdout();
    expect((await running.exited).code).toBe(0);
    expect(server.log()).toEqual(['PATCH /v1/inventory/7']);
  });
});

it.each(['table', 'ndjson'])('fault 87: a full disk under stdout is an error (%s)', async (format) => {
  const server = await scriptedServer([json(STOCK)]);
  const options = { env: staging(server.baseUrl), stdout: { file: '/dev/full' } };
  const stderr = expect.stringContaining('The output could not be written: the disk is full (ENOSPC).') as string;
  expect(await runPetstore([...LIST, '-o', format], options)).toMatchObject({ code: 3, stderr });
});

describe.runIf(process.platform === 'linux')('fault 131: stdout', () => {
  const isClosed = {
    code: 3,
    stderr: expect.stringContaining('The output could not be written: it is closed (EBADF).') as string,
  };

  it.each(['"$@" >&-', '("$@") >&-; exit $?', 'exec >&-; "$@"', 'timeout 20 "$@" >&-'])(
    'closed by %s is an error',
    async (script) => {
      const server = await scriptedServer([json(STOCK), json(item(7, 12))]);
      const options = { env: staging(server.baseUrl), command: inBash(`${script}; exit $?`) };
      expect(await runPetstore([...LIST, '--json'], options)).toMatchObject(isClosed);
      expect(await runPetstore(['inventory', 'set', '7', '12'], options)).toMatchObject(isClosed);
      expect(server.log()).toEqual(['GET /v1/inventory', 'PATCH /v1/inventory/7']);
      expect((await runPetstore(['--version'], options)).code).toBe(3);
    },
  );

  // Node gives /dev/null for "ignore" as it does for a stdout that is closed: open for both.
  const IGNORING = `
    const { spawnSync } = require('node:child_process');
    const [file, ...args] = process.argv.slice(1);
    process.exit(spawnSync(file, args, { stdio: 'ignore' }).status);`;
  const ignored = (command: readonly string[]) => [process.execPath, '-e', IGNORING, ...command] as const;

  it.each([
    ['> /dev/null', inBash('"$@" >/dev/null; exit $?')],
    ['a script > /dev/null', inBash('(: ; "$@"; exit $?) >/dev/null')],
    ['what another program ignores', ignored(petstoreCommand())],
    ['a script that another program ignores', ignored(inBash('"$@"; exit $?'))],
  ])('%s exits 0', async (_, command) => {
    const server = await scriptedServer([json(STOCK)]);
    expect((await runPetstore(LIST, { env: staging(server.baseUrl), command })).code).toBe(0);
  });
});

it.each(['json', 'table'] as const)('fault 88: 5 MB to a reader that pauses arrive whole (%s)', async (format) => {
  const body = longList(5_000_000);
  const count = (JSON.parse(body) as unknown[]).length;
  const server = await scriptedServer([{ body, headers: { 'Content-Type': 'application/json' } }]);
  const running = startPetstore([...LIST, '-o', format], { env: staging(server.baseUrl) });
  running.pauseStdout();
  await server.received(1);
  running.resumeStdout();
  const { code, stdout } = await running.exited;
  const ids = format === 'json' ? (JSON.parse(stdout) as unknown[]).length : stdout.split('\n').length - 1;
  expect({ code, rows: format === 'json' ? ids : ids - 1 }).toEqual({ code: 0, rows: count });
});

it.each(FORMATS)('of a list beyond 10,000 rows the first are shown before the last have come (%s)', async (format) => {
  const body = longList(1_000_000);
  let send = (): void => undefined;
  const isShown = new Promise<void>((resolve) => (send = resolve));
  const server = await scriptedServer([
    async (exchange) => {
      head({ headers: { 'Content-Type': 'application/json' } }, exchange, { 'Content-Length': `${body.length}` });
      exchange.res.write(body.slice(0, -100_000));
      await isShown;
      exchange.res.end(body.slice(-100_000));
    },
  ]);
  const running = startPetstore([...LIST, '-o', format], { env: staging(server.baseUrl) });
  await running.waitFor(/available/, 'stdout');
  send();
  const { code, stdout } = await running.exited;
  const count = (JSON.parse(body) as unknown[]).length;
  expect({ code, rows: stdout.match(/available/g)?.length }).toEqual({ code: 0, rows: count });
});

it('an answer of any bytes is printed by api as it came', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const server = await scriptedServer([{ body: bytes, headers: { 'Content-Type': 'application/octet-stream' } }]);
  const file = join(createHome().path, 'out');
  const options = { env: staging(server.baseUrl), stdout: { file } };
  expect((await runPetstore(['api', 'GET', '/pets/7'], options)).code).toBe(0);
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

it('a change that was made says so where its output cannot be written: it is not to be made again', async () => {
  const home = createHome();
  const set = await runPetstore(['--env', 'sandbox', 'inventory', 'adjust', '7', '1', '--json'], {
    home,
    stdout: { file: '/dev/full' },
  });
  expect(JSON.parse(set.stderr)).toMatchObject({
    error: { kind: 'output', exitCode: 3, hint: 'The command has taken effect: do not run it again for its output.' },
  });
  const { stdout } = await runPetstore(['--env', 'sandbox', 'inventory', 'get', '7', '--json'], { home });
  expect(JSON.parse(stdout)).toMatchObject({ quantity: 11 });
});

it('an installed completion says so where its output cannot be written', async () => {
  const home = createHome();
  const line = ['completion', 'bash', '--install'];
  const { code, stderr } = await runPetstore(line, { home, stdout: { file: '/dev/full' } });
  expect([code, stderr]).toEqual([3, expect.stringContaining('hint: The command has taken effect')]);
});

describe('what happened outranks an output that cannot be written', () => {
  const onFullDisk = async (answer: Parameters<typeof scriptedServer>[0][number], ...command: string[]) => {
    const server = await scriptedServer([answer]);
    const line = ['--env', 'staging', ...command, '--json', '--max-wait', '0'];
    return takeApart(await runPetstore(line, { env: staging(server.baseUrl), stdout: { file: '/dev/full' } })).error;
  };
  const PATCH = ['api', 'PATCH', '/inventory/7', '-f', 'quantity=12'];

  it('a write whose outcome is unknown', async () => {
    const error = { kind: 'outcome-unknown', exitCode: 9, outcome: 'unknown' };
    expect(await onFullDisk({ status: 502 }, ...PATCH)).toMatchObject(error);
  });

  it.each([PATCH, ['smoke']])('a ban: %s', async (...command) => {
    expect(await onFullDisk({ status: 403 }, ...command)).toMatchObject({ kind: 'forbidden', exitCode: 12 });
  });

  it('a raw write that was applied is not to be sent again', async () => {
    const hint = 'The command has taken effect: do not run it again for its output.';
    const error = { kind: 'output', exitCode: 3, outcome: 'applied', hint };
    expect(await onFullDisk(json(item(7, 12)), ...PATCH)).toMatchObject(error);
  });
});
