/** Keys printed by a command: through the built program, with scripts and with a real password manager. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../src/node/user-programs.ts';
import { runPetstore } from '../support/binary.ts';
import { onCleanup } from '../support/cleanup.ts';
import { filesBelow } from '../support/echo.ts';
import { stateOf } from '../support/fifo.ts';
import { createHome, fileIn, type Home, writeConfig } from '../support/home.ts';
import { startPty } from '../support/pty.ts';
import { item, json } from '../support/replies.ts';
import { scriptedServer } from '../support/scripted-server.ts';
import { KEY, takeApart } from '../support/staging.ts';

const LIST = ['inventory', 'list'];
const STOCK = json([item(7, 10)]);

/** A home that is logged in to staging with a key command; `script`: of sh, to be run as `./key`. */
function withCommand(baseUrl: string, command: string, script = ''): Home {
  const home = createHome();
  writeConfig(home, { environment: 'staging', 'staging.base-url': baseUrl, 'staging.key-command': command });
  fileIn(home, 'key', `#!/bin/sh\n${script}\n`, 0o700);
  return home;
}

describe('a key command', () => {
  it('is run without a shell, its words as they are; its stderr is shown, its key nowhere', async () => {
    const server = await scriptedServer([STOCK]);
    const script = `echo "args: $*; key ${KEY}" >&2; echo second >&2; printf '\\357\\273\\277${KEY}\\r\\n'`;
    const home = withCommand(server.baseUrl, `./key 'a b' "$HOME" ; id`, script);
    const { code, stderr, stdout } = await runPetstore(['--debug', ...LIST], { home, cwd: home.path });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(
        'warning: ./key: args: a b $HOME ; id; key [redacted]\nwarning: ./key: second\n',
      ) as string,
    });
    expect(`${stdout}${stderr}`).not.toContain(KEY);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    const holders = filesBelow(home.path).filter((path) => readFileSync(path).includes(KEY));
    expect(holders).toEqual([join(home.path, 'key')]);
  });

  it('leaves stdin to petstore, and keeps the secrets of petstore to itself', async () => {
    const server = await scriptedServer([STOCK, STOCK, json(item(7, 3)), json([item(7, 3)])]);
    const script = `cat >&2; echo "redis: \${PETSTORE_LEDGER-none}" >&2; echo ${KEY}`;
    const home = withCommand(server.baseUrl, './key', script);
    const { code, stderr } = await runPetstore(['inventory', 'count', '--yes'], {
      home,
      cwd: home.path,
      env: { PETSTORE_LEDGER: '' },
      stdin: '7 3\n',
    });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('pet 7: 3 counted') as string });
    expect(stderr).toContain('warning: ./key: redis: none\n');
  });

  const STORED = 'staging.key-command of the config must be a command whose quotes are closed, not "\'unclosed".';
  const REFUSED = 'The API key from the key command contains a line break, so it cannot be sent';
  it.each<[name: string, code: number, message: string, command: string, hint?: string]>([
    ['fails', 4, 'The key command ended with exit code 3: ', "sh -c 'exit 3'"],
    ['is killed', 4, 'The key command was ended by SIGKILL: ', "sh -c 'kill -9 $$'"],
    ['prints nothing', 4, 'The key command printed no key: ', 'true'],
    ['prints a line end only', 4, 'The key command printed no key: ', 'echo'],
    ['does not exist', 3, 'The key command was not found: ', 'no-such-program x'],
    ['may not be run', 3, 'The key command could not be run (EACCES): ', '/dev/null'],
    ['is below a file', 3, 'The key command could not be run (ENOTDIR): ', '/dev/null/pass'],
    ['prints without end', 4, 'The key command printed more than 16384 bytes: ', 'head -c 100000 /dev/zero'],
    ['has an open quote', 3, STORED, "'unclosed", 'Correct it: petstore config set staging.key-command VALUE'],
    ['prints two lines', 4, `${REFUSED}; its value is not shown.`, "printf 'some-key\\nuser: x\\n'"],
  ])('that %s is one clear error, and nothing is sent', async (_name, code, message, command, hint) => {
    const server = await scriptedServer([]);
    const finished = await runPetstore(['--json', ...LIST], { home: withCommand(server.baseUrl, command) });
    const { code: exit, error } = takeApart(finished);
    expect([exit, error?.message]).toEqual([code, message.endsWith(': ') ? message + command : message]);
    if (hint !== undefined) expect(error?.hint).toBe(hint);
  });

  it('Ctrl-C ends it; what it asks for is shown at once', async () => {
    const home = withCommand('http://127.0.0.1:9/v1', "sh -c 'echo touch the key >&2; exec sleep 600'");
    const terminal = startPty(LIST, { home });
    await terminal.waitFor('warning: sh: touch the key');
    terminal.write('\x03');
    expect((await terminal.exited).code).toBe(130);
  });

  it('is over when it has ended, whatever it leaves behind', async () => {
    const server = await scriptedServer([STOCK]);
    const home = withCommand(server.baseUrl, './key', `echo ${KEY}; sleep 600 & echo $! > pid`);
    const { code } = await runPetstore(LIST, { home, cwd: home.path });
    const pid = Number(readFileSync(join(home.path, 'pid'), 'utf8'));
    onCleanup(() => void process.kill(pid));
    expect([code, stateOf(pid)]).toEqual([0, 'S']);
  });

  it('is killed, with what it has started, when its time is over', async () => {
    const file = join(createHome().path, 'pid');
    const command = `sleep 600 & echo $! > '${file}'; echo begun >&2; exec sleep 600`;
    const fail = (problem: string): Error => new Error(problem);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onCleanup(() => void vi.useRealTimers());
    const begun = Promise.withResolvers<string>();
    const options = { timeoutMs: 500, signal: new AbortController().signal, onLine: begun.resolve, fail };
    const run = runCommand(process.env, ['sh', '-c', command], options);
    await begun.promise;
    vi.advanceTimersByTime(500);
    await expect(run).rejects.toThrow('did not end within 0.5 s and was stopped');
    const pid = Number(readFileSync(file, 'utf8'));
    // The signal takes a moment to arrive; then it is a zombie until this process has noticed its end.
    await expect.poll(() => stateOf(pid)).toMatch(/Z|gone/);
  });
});

function missing(...programs: string[]): string[] {
  const lost = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  if (lost.length > 0) process.stderr.write(`Skipped: key commands with ${lost.join(', ')}, not installed.\n`);
  return lost;
}

it.skipIf(missing('pass', 'gpg').length > 0)('pass', async () => {
  const server = await scriptedServer([STOCK, STOCK]);
  const home = createHome();
  const env = { GNUPGHOME: join(home.path, 'gnupg') };
  mkdirSync(env.GNUPGHOME, { mode: 0o700 });
  const sh = (script: string) =>
    spawnSync('sh', ['-ec', script], { env: { ...process.env, ...home.env, ...env }, encoding: 'utf8' });
  onCleanup(() => void sh('gpgconf --kill all'));
  const prepared = sh(
    `gpg --batch --quiet --passphrase '' --quick-gen-key petstore default default never
     pass init petstore; printf '%s\\n' ${KEY} | pass insert --multiline petstore/staging`,
  );
  expect(prepared).toMatchObject({ status: 0 });
  const args = ['--env', 'staging', '--base-url', server.baseUrl, '--key-command', 'pass show petstore/staging'];
  expect(await runPetstore(['login', ...args], { home, env })).toMatchObject({ code: 0 });
  expect(await runPetstore(LIST, { home, env })).toMatchObject({ code: 0 });
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
});
