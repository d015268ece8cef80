import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runPetstore, startPetstore } from './binary.ts';
import { createHome } from './home.ts';
import { startPty } from './pty.ts';

const node = (script: string): { command: [string, string, string] } => ({ command: [process.execPath, '-e', script] });

test('a process sees a clean environment and an empty stdin, and all it says comes back', async () => {
  const home = createHome();
  const script = `
    process.stdin.on('data', () => process.exit(9)).on('end', () => {
      console.error('to stderr');
      console.log(JSON.stringify({ ...process.env, PATH: undefined, args: process.argv.slice(1) }));
      process.exitCode = 3;
    });`;
  const finished = await runPetstore(['a b', '--c'], { ...node(script), home, env: { EXTRA: '1', LANG: undefined } });
  expect({ ...finished, stdout: JSON.parse(finished.stdout) as unknown }).toEqual({
    code: 3,
    signal: null,
    stdout: {
      ...home.env,
      XDG_CACHE_HOME: process.env.PETSTORE_TEST_CACHE,
      TZ: 'UTC',
      EXTRA: '1',
      args: ['a b', '--c'],
    },
    stderr: 'to stderr\n',
  });
});

test('stdin is given, or left open until the test ends it', async () => {
  const echo = node(`process.stdin.pipe(process.stdout)`);
  expect((await runPetstore([], { ...echo, stdin: 'Grüße\n' })).stdout).toBe('Grüße\n');
  const running = startPetstore([], { ...echo, stdin: { open: true } });
  running.write('one');
  await running.waitFor(/one/);
  running.endInput();
  expect(await running.exited).toEqual({ code: 0, signal: null, stdout: 'one', stderr: '' });
});

test('a signal is sent once the output matches', async () => {
  const script = `
    process.on('SIGTERM', () => { console.log('term'); process.exit(143); });
    console.error('ready'); setInterval(() => {}, 1000);`;
  const signalAfter = { match: /ready/, signal: 'SIGTERM' } as const;
  expect(await runPetstore([], { ...node(script), signalAfter })).toEqual({
    code: 143,
    signal: null,
    stdout: 'term\n',
    stderr: 'ready\n',
  });
});

test('waitFor rejects when the process ends without', async () => {
  const running = startPetstore(['x'], node(`console.log('other')`));
  await expect(running.waitFor(/never said/)).rejects.toThrow('"x" ended without /never said/.\nstdout: other');
});

test('a closed stdout is EPIPE to the writer', async () => {
  const script = `
    process.stdout.on('error', (error) => { console.error(error.code); process.exit(5); });
    process.stdin.on('end', () => process.stdout.write('x'.repeat(1e6))).resume();`;
  const running = startPetstore([], { ...node(script), stdin: { open: true } });
  running.closeStdout();
  running.endInput();
  expect(await running.exited).toMatchObject({ code: 5, stderr: 'EPIPE\n' });
});

test.skipIf(!existsSync('/dev/full'))('stdout may be a full device', async () => {
  const script = `try { require('node:fs').writeSync(1, 'x') } catch (error) { console.error(error.code) }`;
  const finished = await runPetstore([], { ...node(script), stdout: { file: '/dev/full' } });
  expect(finished).toEqual({ code: 0, signal: null, stdout: '', stderr: 'ENOSPC\n' });
});

test('a terminal is one to the process: size, keys, Ctrl-C', async () => {
  const script = `
    const size = () => console.log('size ' + process.stdout.columns + 'x' + process.stdout.rows);
    process.stdout.on('resize', size);
    process.on('SIGINT', () => { console.log('interrupted'); process.exit(130); });
    process.stdin.on('data', (line) => console.log('\\x1b[31mgot\\x1b[0m ' + line));
    size();`;
  const terminal = startPty([], { ...node(script), cols: 20, rows: 5 });
  await terminal.waitFor('size 20x5');
  terminal.resize(100, 30);
  await terminal.waitFor(/size \d{3}x30/);
  terminal.write('pets\r');
  await terminal.waitFor('got pets');
  terminal.write('\x03');
  expect(await terminal.exited).toEqual({ code: 130, signal: undefined });
  expect(terminal.output).toContain('\x1b[31mgot');
  expect(terminal.plain()).toMatch(/^size 20x5\nsize 100x30\npets\ngot pets\n\n\^Cinterrupted\n$/);
  await expect(terminal.waitFor('size')).rejects.toThrow('The program ended without size.');
});
