/** A service repeats the key in everything it sends; no command may pass the key on. */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openNetwork } from '../../src/node/network.ts';
import { FORMATS } from '../../src/view/view.ts';
import { type PetstoreOptions, runPetstore } from '../support/binary.ts';
import { CANARY, echoService, filesBelow, filesWithPieces, type Mode, piecesIn, rawControls } from '../support/echo.ts';
import { configPath, createHome } from '../support/home.ts';
import { runIn, STAGING_ENV, withReplies } from '../support/in-process.ts';
import { startPty } from '../support/pty.ts';
import { createTestContext } from '../support/test-context.ts';

type Shop = Awaited<ReturnType<typeof shop>>;

/** A home whose staging environment is a service that repeats everything, and all that was printed so far. */
async function shop() {
  const home = createHome();
  const service = await echoService();
  const env = { PETSTORE_ENV: 'staging', PETSTORE_BASE_URL: service.baseUrl, PETSTORE_API_KEY: CANARY };
  const printed: string[] = [];
  const runBuilt = async (mode: Mode, args: readonly string[], more: PetstoreOptions = {}): Promise<number | null> => {
    service.mode = mode;
    const { code, stdout, stderr } = await runPetstore(args, { home, ...more, env: { ...env, ...more.env } });
    printed.push(`${args.join(' ')} (${mode}): ${stdout}${stderr}`);
    return code;
  };
  /** Runs in this process; on a terminal, if it has columns. */
  const runHere = async (mode: Mode, args: readonly string[], columns?: number): Promise<number> => {
    service.mode = mode;
    const screen = columns === undefined ? {} : { isTTY: true, columns };
    const network = openNetwork({}, { timeoutMs: 5_000, signal: new AbortController().signal });
    const context = createTestContext({ home, env, network, stdout: screen, stderr: screen });
    const { code, stdout, stderr } = await runIn(context, ...args);
    printed.push(`${args.join(' ')} (${mode}): ${stdout}${stderr}`);
    return code;
  };
  return { home, service, env, printed, run: runBuilt, runHere };
}

function loginTo(baseUrl: string): string[] {
  return ['login', '--env', 'staging', '--base-url', baseUrl, '--key-stdin'];
}

/** Nothing printed, and no file, has a piece of the key. */
function expectNoKey({ home, printed }: Shop): void {
  expect(printed.filter((text) => piecesIn(text).length > 0)).toEqual([]);
  expect(filesWithPieces(home.path)).toEqual([]);
}

describe('fault 66, 70, 118: the key is in no output and no file, whatever the service says', () => {
  it.each(FORMATS)('reads and single writes as %s', async (format) => {
    const here = await shop();
    // One of them by the built program.
    const runs = format === 'json' ? here.run : here.runHere;
    const run = (mode: Mode, ...args: string[]): Promise<number | null> =>
      runs(mode, ['--debug', '--no-wait', '-o', format, ...args]);
    const codes = [
      await run('echo', 'inventory', 'list'),
      await run('echo', 'inventory', 'list', '--pet', '7', '--columns', 'petId,status,more'),
      await run('bad-row', 'inventory', 'list'),
      await run('no-list', 'inventory', 'list'),
      await run('page', 'inventory', 'list'),
      await run('redirect', 'inventory', 'list'),
      await run('echo', 'inventory', 'set', '7', '12', '--yes'),
      await run('refuse', 'inventory', 'set', '7', '13', '--yes'),
      await run('page', 'inventory', 'set', '7', '13', '--yes'),
      await run('echo', 'inventory', 'adjust', '7', '+1', '--yes'),
      await run('echo', 'inventory', 'set', '77', '1', '--yes'),
      await run('echo', 'wait', '--pet', '7', '--quantity', '13', '--for', '1s'),
      await run('echo', 'api', 'GET', '/inventory', '-i'),
      await run('page', 'api', 'GET', '/inventory', '-i'),
      await run('refuse', 'api', 'PATCH', '/inventory/7', '-f', 'quantity=14'),
      await run('echo', 'inventory', 'history'),
      await run('echo', 'limits'),
      await run('echo', 'status'),
      await run('echo', 'doctor'),
    ];
    expect(codes).toEqual([0, 0, 8, 8, 8, 8, 0, 10, 10, 0, 5, 0, 0, 10, 10, 0, 0, 0, 0]);
    expectNoKey(here);
    expect(here.printed[0]).toContain('[redacted]');
  });

  it('bulk runs: journal, reports, and what an editor is given', async () => {
    const here = await shop();
    const { home } = here;
    const rows = join(home.path, 'rows.csv');
    const copy = join(home.path, 'copy.csv');
    const editor = join(home.path, 'editor.sh');
    writeFileSync(rows, 'petId,quantity\n7,70\n8,80\n');
    writeFileSync(editor, `#!/bin/sh\ncp "$1" '${copy}'\nsed -i 's/^9,9,/9,90,/' "$1"\n`);
    chmodSync(editor, 0o700);
    const run = (mode: Mode, ...args: string[]): Promise<number | null> =>
      here.run(mode, ['--verbose', '--yes', ...args], { env: { EDITOR: `'${editor}'` } });
    const codes = [
      await run('refuse', 'inventory', 'import', rows, '--yes'),
      await run('page', 'inventory', 'import', rows, '--yes'),
      await run('echo', 'inventory', 'import', rows, '--yes'),
      await run('echo', 'inventory', 'undo', '--run', '2', '--yes'),
      await run('refuse', 'inventory', 'edit', '--yes'),
      await run('echo', 'inventory', 'history', '-o', 'json'),
      await run('echo', 'inventory', 'runs', '--unfinished'),
    ];
    expect(codes).toEqual([11, 8, 0, 0, 11, 0, 0]);
    expectNoKey(here);
    const reports = filesBelow(join(home.state, 'petstore', 'reports'));
    const refused = reports.find((path) => path.endsWith('import-1.csv')) ?? '';
    expect(readFileSync(refused, 'utf8')).toMatch(/^1?2,7,.*failed,.*\[redacted\]/m);
    expect(reports.map((path) => statSync(path).mode & 0o777)).toEqual(reports.map(() => 0o600));
    const edited = readFileSync(copy, 'utf8');
    expect(edited).toMatch(/^9,9,"?'=1\+1 /m);
    // fault 131
    expect([...reports.map((path) => readFileSync(path, 'utf8')), edited].flatMap(rawControls)).toEqual([]);
  });

  it('smoke: every report', async () => {
    const here = await shop();
    const folder = join(here.home.path, 'out');
    mkdirSync(folder);
    const outs = ['r.xml', 'r.tap', 'r.json', 'r.txt'].map((name) => join(folder, name));
    const others = ['github', 'markdown'].map((format) => `${format}=${join(folder, format)}`);
    const all = [...outs, ...others].flatMap((out) => ['--out', out]);
    const codes: (number | null)[] = [];
    for (const mode of ['echo', 'page', 'redirect', 'bad-row'] as const) {
      for (const format of ['text', 'junit', 'tap', 'json', 'github']) {
        const runs = format === 'text' ? here.run : here.runHere;
        codes.push(await runs(mode, ['smoke', '--format', format, '--write', '--pet', '7', ...all]));
      }
      expectNoKey(here);
      expect(filesBelow(folder).flatMap((path) => rawControls(readFileSync(path, 'utf8')))).toEqual([]);
    }
    // The service closes the connection at a body that is not JSON.
    expect(codes.filter((_code, i) => i % 5 === 0)).toEqual([7, 13, 8, 7]);
    expect(readFileSync(outs[0] ?? '', 'utf8')).toContain('[redacted]');
  });

  it('what ends a command: 401, 403, 500; and a login that fails', async () => {
    for (const mode of ['unauthorized', 'forbidden', 'fail'] as const) {
      const here = await shop();
      await here.run(mode, ['--debug', '--no-wait', 'inventory', 'list']);
      await here.run(mode, ['--debug', '--no-wait', 'doctor']);
      await here.run(mode, ['limits']);
      expectNoKey(here);
      const stranger = await shop();
      const login = ['--debug', '--no-wait', ...loginTo(stranger.service.baseUrl)];
      const code = await stranger.run(mode, login, { stdin: `${CANARY}\n`, env: { PETSTORE_API_KEY: '' } });
      expect(code).toBe({ unauthorized: 4, forbidden: 12, fail: 8 }[mode]);
      expectNoKey(stranger);
    }
  });

  it('fault 71: after a login it is in the config file alone, after a logout nowhere', async () => {
    const here = await shop();
    const run = (...args: string[]) =>
      here.run('echo', ['--debug', ...args], { stdin: `${CANARY}\n`, env: { PETSTORE_API_KEY: '' } });
    const shown = [['inventory', 'list'], ['status'], ['config', 'list'], ['config', 'get', 'staging.api-key']];
    for (const args of [loginTo(here.service.baseUrl), ...shown]) expect(await run(...args)).toBe(0);
    expect(filesWithPieces(here.home.path)).toEqual([configPath(here.home)]);
    const modes = [configPath(here.home), join(here.home.config, 'petstore')].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o700]);
    expect(await run('logout')).toBe(0);
    expectNoKey(here);
  });

  it.each([20, 27, 40, 50, 64, 80, 120, 200])('on a terminal of %d columns', async (cols) => {
    const here = await shop();
    const calls: readonly (readonly [Mode, ...string[]])[] = [
      ['echo', 'inventory', 'list'],
      ['echo', 'inventory', 'list', '--columns', `petId,more,status`],
      ['echo', 'inventory', 'set', '7', '12', '--yes'],
      ['refuse', '--verbose', 'inventory', 'set', '7', '13', '--yes'],
      ['redirect', 'inventory', 'list'],
      ['redirect', 'doctor'],
      ['echo', 'smoke'],
      ['echo', 'inventory', 'history'],
      ['echo', 'api', 'GET', '/inventory', '-i'],
    ];
    for (const [mode, ...args] of calls) await here.runHere(mode, args, cols);
    expectNoKey(here);
    expect(here.printed[0]?.replace(/[\s│]/g, '')).toContain('[redacted]');
    if (cols !== 50) return;
    // And on a real one.
    for (const [mode, ...args] of calls) {
      here.service.mode = mode;
      const terminal = startPty(args, { home: here.home, env: here.env, cols });
      await terminal.exited;
      here.printed.push(terminal.plain());
    }
    expectNoKey(here);
  });
});

describe('fault 118: a key that is a number', () => {
  it.each(FORMATS)('is redacted in texts, and no id or quantity is, as %s', async (format) => {
    const key = '1234567';
    const item = { petId: 1_234_567, quantity: 1_234_567, status: `for ${key}`, note: 91_234_567 };
    const context = withReplies([{ json: [item, { petId: 7, quantity: 1_234_567, status: 'sold' }] }], {
      env: { ...STAGING_ENV, PETSTORE_API_KEY: key },
    });
    const { code, stdout } = await runIn(context, 'inventory', 'list', '-o', format);
    expect(code).toBe(0);
    const numbers = stdout.match(/\d+/g);
    const rows = [key, key, ...(/json/.test(format) ? ['91234567'] : []), '7', key];
    expect(numbers).toEqual(rows);
    expect(stdout).toContain('for [redacted]');
  });
});

describe('fault 64: a key from a file that Windows wrote', () => {
  const login = (baseUrl: string): string[] => ['--json', ...loginTo(baseUrl)];

  it('does not include the BOM before it', async () => {
    const here = await shop();
    expect(await here.run('echo', login(here.service.baseUrl), { stdin: `\ufeff${CANARY}\r\n` })).toBe(0);
    const config = readFileSync(configPath(here.home), 'utf8');
    expect(config).toContain(`"staging.api-key": ${JSON.stringify(CANARY)}`);
  });

  it.each([
    ['contains a line break', `${Array.from(CANARY).join('\0')}\0\n\0`],
    ['contains a character that is not plain ASCII', `\ufeff${CANARY}\u00e9\n`],
  ])('%s: it is refused unseen', async (problem, stdin) => {
    const here = await shop();
    expect(await here.run('echo', login(here.service.baseUrl), { stdin })).toBe(4);
    expect(here.printed.join('')).toContain(`The API key from stdin ${problem}, so it cannot be sent`);
    expectNoKey(here);
  });
});
