/** The program as used by a person, on a real pty. */
import { describe, expect, it } from 'vitest';
import { petstoreCommand, runPetstore, startPetstore } from '../support/binary.ts';
import { never } from '../support/faults.ts';
import { startPty } from '../support/pty.ts';
import { tooMany } from '../support/replies.ts';
import { screenOf } from '../support/screen.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, staging } from '../support/staging.ts';

const LIST = ['inventory', 'list'];

it.each([[LIST], [['doctor']]])('%j: a request that takes long is shown, and Ctrl-C ends it', async (args) => {
  const server = await scriptedServer([never()]);
  const terminal = startPty(args, { env: staging(server.baseUrl) });
  await terminal.waitFor(/[Ww]aiting for 127\.0\.0\.1:\d+[;,] for at most \d+ s\. Ctrl-C stops\./);
  terminal.write('\x03');
  expect((await terminal.exited).code).toBe(130);
});

describe('a rate limit', () => {
  it('fault 82: Ctrl-C ends the countdown with 130, and nothing more is sent', async () => {
    const server = await scriptedServer([tooMany(40)]);
    const terminal = startPty(LIST, { env: staging(server.baseUrl) });
    await terminal.waitFor(/Ctrl-C/);
    terminal.write('\x03');
    expect((await terminal.exited).code).toBe(130);
    expect(terminal.plain()).toMatch(/(?<!: )Stopped\./);
    expect(server.log()).toEqual(['GET /v1/inventory']);
  });
});

it('fault 84: a second Ctrl-C does not wait for the write in flight', async () => {
  const server = await scriptedServer([never()]);
  // The time for the answer, of some seconds, does not end.
  const patient = 'const{setTimeout:s}=globalThis;globalThis.setTimeout=(f,ms,...a)=>s(f,ms>1e3?1e9:ms,...a)';
  const env = { ...staging(server.baseUrl), NODE_OPTIONS: `--import=data:text/javascript,${patient}` };
  const running = startPetstore(['inventory', 'set', '7', '12', '--env', 'staging'], { env });
  await server.received(1);
  running.kill('SIGINT');
  running.kill('SIGINT');
  // Two signals of one kind may arrive as one: repeat until the process is gone.
  const again = setInterval(() => running.kill('SIGINT'), 20);
  const { code, stderr } = await running.exited;
  clearInterval(again);
  expect(code).toBe(130);
  expect(stderr).toContain('the outcome is unknown, pet 7 may or may not be 12');
});

describe('fault 89: a prompt that cannot be answered', () => {
  it.each([
    ['an empty pipe', { stdin: '' }],
    ['/dev/null', { stdin: null }],
    ['an open pipe', { stdin: { open: true } as const }],
  ])('on %s fails and says what to do', async (_name, options) => {
    const { code, stderr } = await runPetstore(
      ['login', '--env', 'staging', '--base-url', 'http://127.0.0.1:9/v1'],
      options,
    );
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'error: Cannot ask for the API key without a terminal or with --no-input.\n' +
        'hint: Pass it on stdin: petstore --env staging login --base-url http://127.0.0.1:9/v1 --key-stdin < FILE\n',
    });
  });

  it.each([
    ['the environment', 'Environment', []],
    ['the key', 'API key of staging', ['--env', 'staging', '--base-url', 'http://127.0.0.1:9/v1']],
  ])('fault 122: asked for %s, nothing is typed: it ends at its deadline', async (_, question, args) => {
    const terminal = startPty(['login', '--deadline', '5s', ...args]);
    await terminal.waitFor(question);
    expect((await terminal.exited).code).toBe(7);
    expect(terminal.plain()).toContain('did not finish within its deadline of 5 s');
  });

  it('is not asked with --no-input', async () => {
    const terminal = startPty(['login', '--no-input']);
    expect((await terminal.exited).code).toBe(2);
    expect(terminal.plain()).toContain('Cannot ask for the environment');
  });
});

describe('stopped, and then continued with fg', () => {
  const LOGIN = `login --env staging --base-url http://127.0.0.1:9/v1`;
  const BROWSE = '--env sandbox inventory browse';
  it.each([
    ['Ctrl-Z, a question of a script', LOGIN, 'API key of staging', '\x1a', `${KEY}\r`, 'Cannot connect'],
    ['SIGSTOP, a question', LOGIN, 'API key of staging', undefined, `${KEY}\r`, 'Cannot connect'],
    ['SIGSTOP, the full screen', BROWSE, 'Type to search.', undefined, 'gold', '1 of 25 pets'],
    ['SIGTSTP, the full screen', BROWSE, 'Type to search.', undefined, 'gold', '1 of 25 pets'],
    ['Ctrl-Z, lines', '--env sandbox inventory browse --plain', 'next shows more.', '\x1a', 'next\r', '11 to 20 of 25'],
  ])('%s: it is shown again, and the terminal echoes no key', async (name, line, shown, key, typed, then) => {
    const signal = name.split(',')[0] as NodeJS.Signals;
    // The screen is to be drawn just when petstore is stopped.
    const drawing = `--import=data:text/javascript,process.once('SIGTSTP',()=>process.emit('SIGWINCH','SIGWINCH'))`;
    const env = signal === 'SIGTSTP' ? { NODE_OPTIONS: drawing } : {};
    const terminal = startPty(['--norc', '-i'], { command: ['bash'], cols: 120, env });
    // Ctrl-Z stops a script that waits for petstore, too.
    const started = `${key === undefined ? 'exec ' : ''}${petstoreCommand().join(' ')} ${line}`;
    terminal.write(`sh -c 'echo "pid $$"; ${started}; exit $?'\r`);
    await terminal.waitFor(shown);
    if (key === undefined) process.kill(Number(/pid (\d+)/.exec(terminal.plain())![1]), signal);
    else terminal.write(`ne${key}`);
    await terminal.waitFor('Stopped');
    // The shell is not on the screen of a program that was asked to stop.
    if (signal === 'SIGTSTP') expect(terminal.output).toContain('\u001b[?1049l');
    if (line === BROWSE) terminal.resize(40, 24);
    await terminal.type('fg\r', key === undefined || typed.includes(KEY) ? shown : /\nne/);
    // Drawn for the new size.
    if (line === BROWSE) await terminal.waitForFrame(/\^C leave(?! )/);
    if (key !== undefined) terminal.write('\b\b');
    await terminal.type(typed, then);
    // Nothing is drawn on the shell's own screen, which is the third.
    const screens = terminal.output.split(/\[\?1049[hl]/);
    if (signal === 'SIGTSTP') expect(screens[2]).not.toContain('[?2026h');
    expect(terminal.output).not.toContain(KEY);
    // Each time, the terminal echoes keys for a moment before. On a busy machine, the shell's signal may come after our own.
    if (typed.includes(KEY)) expect([3, 4]).toContain(terminal.plain().split(shown).length);
  });

  it('a countdown fits the width that the terminal has got meanwhile', async () => {
    const terminal = startPty(['--norc', '-i'], { command: ['bash'], cols: 120 });
    terminal.write(`${petstoreCommand().join(' ')} --env sandbox wait --pet 7 --quantity 99 --for 1h\r`);
    await terminal.waitFor('Next check in');
    await terminal.type('\x1a', 'Stopped');
    terminal.resize(30, 24);
    await terminal.type('fg\r', /Next check in \d+ m?s\. [^.\r]*…/);
  });

  it.each([
    ['a question', LOGIN, 'API key of staging', 'API key of staging', `${KEY}\r`, 'Cannot connect'],
    ['lines', '--env sandbox inventory count', 'Stocktake 1', 'inventory count', '7\r', '1 counted'],
  ])('Ctrl-Z at %s: the terminal echoes in a shell that leaves its modes as they are', async (_name, ...rest) => {
    const [line, shown, again, typed, then] = rest;
    const terminal = startPty(['-i'], { command: ['sh'] });
    terminal.write(`${petstoreCommand().join(' ')} ${line}\r`);
    await terminal.waitFor(shown);
    await terminal.type('\x1a', 'Stopped');
    await terminal.type('stty -a\r', / icanon [^]* echo /);
    await terminal.type('fg\r', again);
    await terminal.type(typed, then);
    expect(terminal.output).not.toContain(KEY);
  });

  it.each([
    ['a question', LOGIN, 'API key of staging'],
    ['lines', '--env sandbox inventory count', 'Stocktake 1'],
    ['the full screen', BROWSE, 'Type to search.'],
  ])('SIGQUIT at %s ends it, and the terminal echoes again', async (_name, line, shown) => {
    const script = `ulimit -c 0; sh -c 'echo "pid $$"; exec "$0" "$@"' "$0" "$@"; stty -a`;
    const terminal = startPty(line.split(' '), { command: ['sh', '-c', script, ...petstoreCommand()] });
    await terminal.waitFor(shown);
    process.kill(Number(/pid (\d+)/.exec(terminal.plain())![1]), 'SIGQUIT');
    await terminal.waitFor(/ icanon [^]* echo /);
    expect(terminal.output.lastIndexOf('\u001b[?1049h')).toBeLessThanOrEqual(
      terminal.output.lastIndexOf('\u001b[?1049l'),
    );
  });

  it('goes on at once after Ctrl-Z where no shell could continue it, as with ssh -t', async () => {
    const terminal = startPty(LOGIN.split(' '));
    await terminal.waitFor('API key of staging');
    await terminal.type('\x1a', 'API key of staging');
    await terminal.type(`${KEY}\r`, 'Cannot connect');
    expect(terminal.output).not.toContain(KEY);
    const size = { cols: 20, rows: 24 };
    const narrow = startPty(['login', '--env', 'staging'], size);
    await narrow.waitFor('Base URL of');
    await narrow.type('\x1a', 'Base URL of');
    narrow.write('\x04');
    await narrow.exited;
    // Drawn once each time, though it has several rows.
    expect(narrow.plain().split('Base URL of')).toHaveLength(3);
    // Not above the row where it was typed: a shell prints below that.
    const rows = ['Base URL of', '  staging', '  (https://…/v1):'];
    expect((await screenOf(narrow.output, size)).slice(0, 5)).toEqual([...rows.slice(0, 2), ...rows]);
  });
});

describe('long help', () => {
  const help = async (args: readonly string[], env: Record<string, string | undefined>, rows = 24) => {
    // A terminal names itself and its size: only another program in between can say less of it.
    const named = env.TERM === undefined ? '' : `TERM=${env.TERM} `;
    const less = `${rows === 0 ? 'stty cols 0 rows 0; ' : ''}${named}exec "$0" "$@"`;
    const pty = startPty(args, { env, rows: rows || 24, command: ['sh', '-c', less, ...petstoreCommand()] });
    const { code } = await pty.exited;
    return { code, lines: pty.plain().split('\n').length, output: pty.output };
  };

  it.each([
    ['--help', ['inventory', 'list', '--help'], 'head -n 3'],
    ['help COMMAND', ['help', 'inventory', 'list'], 'head -n 3'],
    ['Ctrl-C in less, of which its shell dies later', ['help', 'inventory', 'list'], 'head -n 3; kill -INT $$'],
  ])('goes through PAGER: %s', async (_name, args, pager) => {
    expect(await help(args, { PAGER: pager })).toMatchObject({ code: 0, lines: 4 });
  });

  it.each([
    ['where it fits the screen', ['inventory', 'list', '--help'], { PAGER: 'head -n 3' }, 200],
    ['with --no-pager', ['inventory', 'list', '--help', '--no-pager'], { PAGER: 'head -n 3' }, 24],
    ['of -h', ['inventory', 'list', '-h'], { PAGER: 'head -n 3' }, 24],
    ['where PAGER is empty', ['inventory', 'list', '--help'], { PAGER: '' }, 24],
    ['where there is no such pager', ['inventory', 'list', '--help'], { PAGER: 'nosuch-pager' }, 24],
    ['on a terminal without abilities', ['inventory', 'list', '--help'], { PAGER: 'head -n 3', TERM: 'dumb' }, 24],
  ])('is printed at once %s', async (_name, args, env, rows) => {
    const { code, lines } = await help(args, env, rows);
    expect({ code, isWhole: lines > 20 }).toEqual({ code: 0, isWhole: true });
  });

  it('has 80 columns and 24 rows on a terminal that does not know its size, as a serial line', async () => {
    const known = await help(['inventory', 'set', '--help'], { PAGER: 'head -n 20' });
    expect(await help(['inventory', 'set', '--help'], { PAGER: 'head -n 20' }, 0)).toEqual(known);
    const list = ['--env', 'sandbox', 'inventory', 'list', '--quiet'];
    expect(await help(list, {}, 0)).toEqual(await help(list, {}));
  });

  it('has bold headings, unless without colour', async () => {
    expect((await help(['--help', '--no-pager'], {})).output).toContain('\u001b[1mStock:\u001b[22m');
    expect((await help(['--help', '--no-pager'], { NO_COLOR: '1' })).output).not.toContain('\u001b[1m');
  });
});
