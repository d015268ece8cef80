/** Where output goes wrong, or must not do harm, through the built program. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { endless, longList } from '../support/faults.ts';
import { createHome } from '../support/home.ts';
import { error, head, item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { runJson, staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = [item(1, 5), item(7, 10)];
/** ESC, C1, CR, a bidi override: what could rewrite a line that a person reads. */
const EVIL = 'a\u001b[2Jb\u009bc\rd\u202ee';

describe('fault 57, 59: a hostile body', () => {
  it.each([
    [
      'a duplicate key',
      '[{"petId":1,"petId":2,"quantity":1,"status":"sold"}]',
      'row 1 of the list is not JSON: duplicate key "petId"',
    ],
    ['depth 100k', '['.repeat(100_000), 'row 1 of the list is not JSON: nested deeper than 128 levels'],
    ['an endless row', `[{"petId":1,"x":"${'y'.repeat(2_000_000)}`, 'has a row of more than 1048576 characters'],
  ])('fault 57: %s is refused', async (_name, body, message) => {
    const server = await scriptedServer([{ body }]);
    const { code, stdout, error: reported } = await runJson(server.baseUrl, LIST);
    expect({ code, stdout, message: reported?.message }).toEqual({
      code: 8,
      stdout: '',
      message: expect.stringContaining(message) as string,
    });
  });

  it('fault 57: __proto__ is a field like any other', async () => {
    const body = '[{"petId":1,"quantity":2,"status":"sold","__proto__":{"status":"available"}}]';
    const server = await scriptedServer([{ body }]);
    const { code, stdout } = await runPetstore([...LIST, '-o', 'ndjson'], { env: staging(server.baseUrl) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${body.slice(1, -1)}\n` });
  });

  it.each([{ gzip: false }, { gzip: true }])('fault 59: an endless body (%o) stops at --max-body', async (how) => {
    const reply = endless(how);
    const server = await scriptedServer([reply]);
    const {
      code,
      stdout,
      error: reported,
    } = await runJson(server.baseUrl, ['--max-body', '4MiB', ...LIST, '--max', '0']);
    expect({ code, stdout, message: reported?.message }).toEqual({
      code: 8,
      stdout: '',
      message: 'Invalid response: the response is larger than the 4194304 bytes that --max-body allows.',
    });
    // Decoded bytes count, while they come: little more was taken in than the system's own buffers hold.
    expect(reply.bytesSent).toBeLessThan(64 * 2 ** 20);
  });
});

describe('fault 86: a reader that goes away', () => {
  it.each(['ndjson', 'json', 'csv'])('ends a %s list quietly, with success', async (format) => {
    const server = await scriptedServer([
      { body: longList(3_000_000), headers: { 'Content-Type': 'application/json' } },
    ]);
    const { code, stdout, stderr } = await runPetstore([], {
      env: staging(server.baseUrl),
      command: [
        '/bin/bash',
        '-c',
        'set -o pipefail; "$@" | head -n 1; exit "${PIPESTATUS[0]}"',
        'bash',
        ...petstoreCommand(),
        ...LIST,
        '-o',
        format,
      ],
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

it.each(['table', 'json', 'ndjson', 'csv'])('fault 87: a full disk under stdout is an error (%s)', async (format) => {
  const server = await scriptedServer([json(STOCK)]);
  const { code, stderr } = await runPetstore([...LIST, '-o', format], {
    env: staging(server.baseUrl),
    stdout: { file: '/dev/full' },
  });
  expect({ code, isReported: stderr.includes('The output could not be written: the disk is full (ENOSPC).') }).toEqual({
    code: 3,
    isReported: true,
  });
});

describe.runIf(process.platform === 'linux')('fault 131: stdout', () => {
  const shell = (script: string): { readonly command: readonly [string, ...string[]] } => ({
    command: ['/bin/bash', '-c', `${script}; exit $?`, 'bash', ...petstoreCommand()],
  });

  it('opened for reading alone is an error', async () => {
    const server = await scriptedServer([json(STOCK), json(item(7, 12))]);
    const options = { env: staging(server.baseUrl), ...shell('"$@" 1</dev/null') };
    const failed = {
      code: 3,
      stderr: expect.stringContaining('The output could not be written: it is closed (EBADF).') as string,
    };
    expect(await runPetstore([...LIST, '--json'], options)).toMatchObject(failed);
    expect(await runPetstore(['inventory', 'set', '7', '12'], options)).toMatchObject(failed);
    expect(server.log()).toEqual(['GET /v1/inventory', 'PATCH /v1/inventory/7']);
    expect((await runPetstore(['--version'], options)).code).toBe(3);
  });

  it('that is /dev/null is none', async () => {
    const server = await scriptedServer([json(STOCK)]);
    const options = { env: staging(server.baseUrl), ...shell('"$@" >/dev/null') };
    expect((await runPetstore([...LIST], options)).code).toBe(0);
  });
});

it.each(['json', 'ndjson', 'csv', 'table'])(
  'fault 88: 5 MB to a reader that pauses arrive whole (%s)',
  async (format) => {
    const body = longList(5_000_000);
    const count = (JSON.parse(body) as unknown[]).length;
    const server = await scriptedServer([{ body, headers: { 'Content-Type': 'application/json' } }]);
    const running = startPetstore([...LIST, '-o', format], { env: staging(server.baseUrl) });
    running.pauseStdout();
    await server.received(1);
    running.resumeStdout();
    const { code, stdout } = await running.exited;
    const ids = format === 'json' ? (JSON.parse(stdout) as unknown[]).length : stdout.split('\n').length - 1;
    const header = { json: 0, ndjson: 0, csv: 1, table: 1 }[format] ?? 0;
    expect({ code, rows: ids - header }).toEqual({ code: 0, rows: count });
  },
);

it.each(['json', 'ndjson', 'csv', 'table'])(
  'of a list beyond 10,000 rows the first are shown before the last have come (%s)',
  async (format) => {
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
  },
);

describe('fault 101: what a service sends is shown, not obeyed', () => {
  it.each(['table', 'csv', 'json', 'ndjson'])('in a %s', async (format) => {
    const server = await scriptedServer([json([item(1, 5, EVIL)])]);
    const { code, stdout, stderr } = await runPetstore([...LIST, '-o', format], { env: staging(server.baseUrl) });
    expect(code).toBe(0);
    // eslint-disable-next-line no-control-regex -- controls are what must not be there
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(stdout).toMatch(
      format.endsWith('json') ? /a\\u001b\[2Jb\\u009bc\\rd\\u202ee/ : /a\\x1b\[2Jb\\x9bc\\x0dd\\u202ee/,
    );
  });

  it('in an error', async () => {
    const server = await scriptedServer([error(400, EVIL, EVIL)]);
    const { stderr } = await runPetstore(['inventory', 'set', '7', '12'], { env: staging(server.baseUrl) });
    // eslint-disable-next-line no-control-regex -- controls are what must not be there
    expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(stderr).toContain('a\\x1b[2Jb\\x9bc\\x0dd\\u202ee');
  });
});

it('fault 102: a CSV cell that a spreadsheet would run is prefixed; numbers are not', async () => {
  const texts = ['=1+1', '+1', '-1', '@x', 'safe=1'];
  const server = await scriptedServer([json(texts.map((status, i) => item(i, -5, status)))]);
  const { stdout } = await runPetstore([...LIST, '-o', 'csv'], { env: staging(server.baseUrl) });
  expect(stdout).toBe("petId,quantity,status\n0,-5,'=1+1\n1,-5,'+1\n2,-5,'-1\n3,-5,'@x\n4,-5,safe=1\n");
});

describe('fault 103: no escapes in a pipe, nor where colour is off', () => {
  it.each([
    [[], {}],
    [[], { NO_COLOR: '1' }],
    [[], { TERM: 'dumb' }],
    [['--color', 'never'], { FORCE_COLOR: '1' }],
    [[], { FORCE_COLOR: '0' }],
  ])('%s %o', async (flags, env) => {
    const server = await scriptedServer([json(STOCK), error(400)]);
    const where = { env: { ...staging(server.baseUrl), ...env } };
    const list = await runPetstore([...flags, ...LIST, '--show-limits'], where);
    const set = await runPetstore([...flags, 'inventory', 'set', '7', '12'], where);
    expect(JSON.stringify([list, set])).not.toContain('\\u001b');
  });

  it.each([
    [['--color', 'always'], { NO_COLOR: '1' }],
    [[], { FORCE_COLOR: '1' }],
  ])('and escapes where they are asked for: %s %o', async (flags, env) => {
    const { stderr } = await runPetstore([...flags, ...LIST], { env });
    expect(stderr).toContain('\u001b[');
  });
});

it('fault 104: warnings go to stderr, and stdout stays JSON', async () => {
  const server = await scriptedServer([
    json([item(1, 5, 'odd')], { headers: { Sunset: 'Sun, 30 Jun 2030 23:59:59 GMT' } }),
  ]);
  const { code, stdout, stderr } = await runPetstore([...LIST, '--json', '--verbose', '--show-limits'], {
    env: staging(server.baseUrl),
  });
  expect({ code, rows: JSON.parse(stdout) as unknown, lines: stderr.split('\n').length - 1 }).toEqual({
    code: 0,
    rows: [{ petId: 1, quantity: 5, status: 'odd' }],
    lines: 4,
  });
  expect(stderr).toMatch(
    /^\{"info":\{"message":"GET http:\/\/127\.0\.0\.1:\d+\/v1\/inventory 200 in \d+ ms, 59\/60 left"\}\}$/m,
  );
  expect(stderr).toMatch(/^\{"rateLimit":\{"limit":60,"remaining":59,"resetAt":"[^"]+Z"\}\}$/m);
});

it('an answer of any bytes is printed by api as it came', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const server = await scriptedServer([{ body: bytes, headers: { 'Content-Type': 'application/octet-stream' } }]);
  const home = createHome();
  const { code } = await runPetstore(['api', 'GET', '/pets/7'], {
    home,
    env: staging(server.baseUrl),
    command: ['/bin/sh', '-c', `"$@" > '${home.path}/out'`, 'sh', ...petstoreCommand()],
  });
  expect(code).toBe(0);
  expect(readFileSync(join(home.path, 'out')).equals(bytes)).toBe(true);
});

it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'])(
  '%s is an unknown command, not a bug',
  async (name) => {
    const ended = [await runPetstore([name]), await runPetstore(['help', name]), await runPetstore([name, '--help'])];
    expect(ended.map(({ code }) => code)).toEqual([2, 2, 2]);
  },
);

it('a change that was made says so where its output cannot be written: it is not to be made again', async () => {
  const home = createHome();
  const set = await runPetstore(['--env', 'sandbox', 'inventory', 'adjust', '7', '1', '--json'], {
    home,
    stdout: { file: '/dev/full' },
  });
  expect(JSON.parse(set.stderr)).toMatchObject({
    error: { kind: 'output', exitCode: 3, hint: 'The command has done its work: do not run it again for its output.' },
  });
  const { stdout } = await runPetstore(['--env', 'sandbox', 'inventory', 'get', '7', '--json'], { home });
  expect(JSON.parse(stdout)).toMatchObject({ quantity: 11 });
});
