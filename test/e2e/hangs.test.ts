/** The program never hangs: the deadline and the first signal end it, whatever a file, a pipe or stdin does. */
import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { exits, inBash, runPetstore, startPetstore } from '../support/binary.ts';
import { catchesSignals, makeFifo, stateOf } from '../support/fifo.ts';
import { createHome, type Home } from '../support/home.ts';
import { staging } from '../support/staging.ts';

const SANDBOX = ['--env', 'sandbox'];
const ROWS = 'petId,quantity\n1,5\n';
const open = { open: true } as const;
const NOWHERE = staging('http://127.0.0.1:9/v1');

/** Returns the arguments of a command line on the sandbox, in which FIFO stands for one that no program has opened. */
function argsOf(line: string, home: Home): string[] {
  const words = line.split(' ').map((word) => word.replace('FIFO', () => makeFifo(home)));
  return line.includes('--env') ? words : [...SANDBOX, ...words];
}

// Both abort one signal of the command: one of them shows that its input ends with that.
describe('fault 122: a command to which nothing comes', () => {
  it.each([
    'login --env staging --base-url http://127.0.0.1:9/v1 --no-verify --key-stdin',
    'inventory count --yes',
    'api PATCH /inventory/1 --input FIFO',
    'sandbox serve --port 0 --seed FIFO',
  ])('%s ends at its deadline', async (line) => {
    const home = createHome();
    const command = [...argsOf(line, home), '--deadline', '300ms', '--json'];
    expect(await runPetstore(command, { home, stdin: open })).toMatchObject(exits(7, '"kind":"deadline"'));
  });

  it.each([
    ['inventory import - --yes', 'SIGTERM', 143],
    ['api PATCH /inventory/1 --input -', 'SIGHUP', 129],
    ['inventory import FIFO --yes', 'SIGINT', 130],
    ['sandbox seed --file FIFO', 'SIGINT', 130],
  ] as const)('%s ends on the first %s', async (line, signal, exitCode) => {
    const home = createHome();
    const running = startPetstore(argsOf(line, home), { home, stdin: open });
    await catchesSignals(running);
    expect(await running.end(signal)).toMatchObject({ code: exitCode, signal: null });
  });
});

describe('a pipe is read like a file', () => {
  const importing = [...SANDBOX, 'inventory', 'import', '--dry-run', '-o', 'csv'];
  const isRead = { code: 0, stdout: expect.stringContaining('\n1,14,5,') as string };

  it('a FIFO whose writer comes later', async () => {
    const home = createHome();
    const fifo = makeFifo(home);
    const running = startPetstore([...importing, fifo], { home });
    await catchesSignals(running);
    createWriteStream(fifo).end(ROWS);
    expect(await running.exited).toMatchObject(isRead);
  });

  it.each([
    ['a command that takes its time', `"$@" <(printf '${ROWS}'; read -t 0.2 < <(:); :)`],
    ['a pipe by its name', `printf '${ROWS}' | "$@" /dev/stdin`],
    ['a file by the name of stdin', `"$@" /dev/stdin < "$HOME/rows.csv"`],
  ])('%s', async (_, script) => {
    const home = createHome();
    writeFileSync(join(home.path, 'rows.csv'), ROWS);
    expect(await runPetstore(importing, { home, command: inBash(script) })).toMatchObject(isRead);
  });
});

describe('fault 122: a file to write that is a FIFO', () => {
  it.each(['smoke --only list-status --out tap=FIFO', 'sandbox serve --port 0 --log FIFO'])(
    'without a reader is an error: %s',
    async (line) => {
      const home = createHome();
      expect(await runPetstore([...argsOf(line, home), '--json'], { home })).toMatchObject(
        exits(3, /Could not write \S.*: no program reads from it \(ENXIO\)\./),
      );
    },
  );
});

describe('a report for our own output', () => {
  const reportTo = (path: string): string[] => [
    ...'--env sandbox smoke --quiet --only list-status --format json --out'.split(' '),
    `tap=${path}`,
  ];
  const tap = expect.stringContaining('TAP version 14') as string;
  const noTap = expect.not.stringContaining('TAP') as string;

  it.each([
    ['/dev/stdout', tap, ''],
    ['/dev/fd/2', noTap, tap],
    ['/dev/null', noTap, ''],
  ])('%s is written to', async (path, stdout, stderr) => {
    expect(await runPetstore(reportTo(path))).toMatchObject({ code: 0, stdout, stderr });
  });

  it('/dev/stdout is written to where it is a file', async () => {
    const home = createHome();
    const out = join(home.path, 'out');
    expect((await runPetstore(reportTo('/dev/stdout'), { home, stdout: { file: out } })).code).toBe(0);
    expect(readFileSync(out, 'utf8')).toMatch(/^TAP version 14[^]*"list-status"/);
  });
});

describe('fault 122: state that is not a plain file', () => {
  it.each<[name: string, kind: string, make: (path: string) => unknown]>([
    ['state.db', 'FIFO', (path) => execFileSync('mkfifo', [path])],
    ['state.db.lock', 'special file', (path) => symlinkSync('/dev/zero', path)],
  ])('%s is a %s: an import is refused', async (name, _kind, make) => {
    const home = createHome();
    const folder = join(home.state, 'petstore');
    mkdirSync(folder, { recursive: true });
    make(join(folder, name));
    const refused = await runPetstore([...SANDBOX, 'inventory', 'import', '-', '--yes'], { home, stdin: ROWS });
    expect(refused).toMatchObject(exits(3, `${join(folder, name)} is not a plain file.`));
  });

  it.each(['sandbox serve --port 0 --data FIFO', 'sandbox status --data FIFO'])('%s is refused', async (line) => {
    const home = createHome();
    expect(await runPetstore(argsOf(line, home), { home })).toMatchObject(exits(3, 'is not a plain file.'));
  });
});

describe('fault 122: a folder that cannot be made below one that is there', () => {
  it.each(['/proc/1', '/proc', '/dev/fd'])('HOME=%s', async (HOME) => {
    const none = { XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined };
    expect(await runPetstore([...SANDBOX, 'inventory', 'list'], { env: { HOME, ...none } })).toMatchObject(
      exits(3, `Could not create ${HOME}/.local/state/petstore`),
    );
  });

  it('XDG_STATE_HOME=/proc: rate limits are not shared, a read continues, and no write begins', async () => {
    const { code, stderr } = await runPetstore(['inventory', 'list'], { env: { ...NOWHERE, XDG_STATE_HOME: '/proc' } });
    expect({ code, stderr }).toEqual({
      code: 7,
      stderr: expect.stringContaining('its state folder cannot be used') as string,
    });
    const patch = ['api', 'PATCH', '/inventory/3', '-f', 'quantity=1'];
    const refused = await runPetstore(patch, { env: { ...NOWHERE, XDG_STATE_HOME: '/proc' } });
    expect([refused.code, refused.stderr]).toEqual([3, expect.not.stringContaining('Sending')]);
  });
});

describe('fault 132: a file without an end', () => {
  it.each(['inventory import /dev/zero', 'sandbox seed --file /dev/zero', 'api PATCH /inventory/1 --input /dev/zero'])(
    '%s stops at a bound',
    async (text) => {
      expect(await runPetstore([...SANDBOX, ...text.split(' ')])).toMatchObject(
        exits(2, /\/dev\/zero is larger than \d+ bytes\./),
      );
    },
  );

  it.each(['inventory count --yes', 'inventory browse --plain'])(
    'fault 145: %s of a line without an end stops at a bound',
    async (text) => {
      const command = inBash('"$@" < /dev/zero');
      expect(await runPetstore([...SANDBOX, ...text.split(' ')], { command })).toMatchObject(
        exits(2, 'A line of stdin is longer than 64 KiB.'),
      );
    },
  );

  it('a pipe that drips ends at the deadline', async () => {
    const home = createHome();
    const command = inBash(`"$@" <(while printf '1,5\\n'; do read -t 0.01 < <(:); done)`);
    const args = [...SANDBOX, '--deadline', '500ms', 'inventory', 'import', '--yes'];
    expect((await runPetstore(args, { home, command })).code).toBe(7);
  });
});

describe('a reader that stops reading', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('fault 122: %s ends a list', async (signal, code) => {
    const home = createHome();
    const seeded = await runPetstore([...SANDBOX, 'sandbox', 'seed', '--pets', '20000'], { home });
    expect(seeded.code).toBe(0);
    const running = startPetstore([...SANDBOX, 'inventory', 'list', '--json'], { home });
    await running.waitFor(/\[/, 'stdout');
    running.pauseStdout();
    running.kill(signal);
    await expect.poll(() => stateOf(running.pid)).toMatch(/Z|gone/);
    running.resumeStdout();
    expect((await running.exited).code).toBe(code);
  });
});

describe('the end of the process', () => {
  it.each([0, 143])('fault 122: does not wait for a thread that the system holds up (%i)', async (code) => {
    const fifo = makeFifo(createHome());
    const ours = fileURLToPath(new URL('../../src/node/process.ts', import.meta.url));
    const script = `
      const { exit } = await import(${JSON.stringify(ours)});
      process.getBuiltinModule('node:fs').promises.open(${JSON.stringify(fifo)});
      setImmediate(() => exit(${code}));`;
    const ended = await runPetstore(['--input-type=module', '-e', script], { command: [process.execPath] });
    expect(ended).toMatchObject({ code, signal: null });
  });
});
